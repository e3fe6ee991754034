"""What rules keep of infinities, NaN, signs of zeros, integers, empty ranges and points outside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

import ostinato as ot
from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.terms import *

a, b, c, d, e, f, g, i, k, m, q, r, s = variables("a b c d e f g i k m q r s")
u, v, w, x, y, z = variables("u v w x y z")

SAME = eq(shape(x), shape(LHS))
NOTHING = (eq(0.0, value(z)), eq(shape(z), shape(LHS)))


def rule(left: Expression, right: Expression, *when: Fact, **claims: Any) -> Rule:
    return Rule("mine/law", "a law", "a test", left, right, when, **claims)


_CUBE_ROOTS = mul(power(x, y), power(x, z))
NEVER: dict[str, tuple[Expression, Expression, *tuple[Fact, ...]]] = {
    "exp of log": (exp(map1("log", x)), x),
    "exp2 of log2": (map1("exp2", map1("log2", x)), x),
    "square of a root": (power(map1("sqrt", x), y), x, eq(2.0, value(y)), SAME),
    "root times root": (mul(map1("sqrt", x), map1("sqrt", x)), x),
    "expm1 of log1p": (map1("expm1", map1("log1p", x)), x),
    "quotient by itself": (
        div(x, x), u, eq(0, rank(x)), unit(dtype(x), u)),
    "quotient times divisor": (mul(div(x, y), y), x, SAME),
    "sum of exponents": (_CUBE_ROOTS, power(x, add(y, z))),
    "product of exponents": (
        power(power(x, y), z), power(x, mul(y, z))),
    "times nothing": (mul(x, z), z, *NOTHING),
    "less itself": (sub(x, x), z, eq(0, rank(x)), zero(dtype(x), z)),
    "plus and minus": (sub(add(x, y), y), x, SAME),
    "sine and cosine": (
        add(mul(map1("sin", x), map1("sin", x)),
           mul(map1("cos", x), map1("cos", x))),
        u, eq(0, rank(x)), unit(dtype(x), u)),
    "log of a product": (map1("log", mul(x, y)), add(map1("log", x), map1("log", y))),
    "a choice as a factor": (
        where(c, mul(w, y), z), mul(where(c, w, z), y),
        eq(0.0, value(z))),
    "a factor out of a choice": (
        where(c, mul(w, y), z), mul(w, where(c, y, z)),
        eq(0.0, value(z))),
    "a mask as a choice": (
        mul(w, map1("cast:float32", b)), where(b, w, z),
        eq("bool", dtype(b)), eq(0.0, value(z)), eq(shape(w), shape(LHS))),
    "a factor out of a sum of nothing": (
        red("sum", 1, mul(x, y)), mul(red("sum", 1, x), part(1, 0, y)),
        axis(y, 1, 1)),
    "greatest by comparison": (map2("maximum", x, y), where(map2("gt", x, y), x, y)),
    "quotient of negatives": (
        map2("floordiv", neg(x), y), neg(map2("floordiv", x, y))),
    "remainder of negatives": (map2("mod", neg(x), y), neg(map2("mod", x, y))),
    "a distance is not negative": (map2("maximum", map1("abs", x), z), map1("abs", x), *NOTHING),
    "an order of differences": (map2("gt", sub(x, y), z), map2("gt", x, y), *NOTHING),
}  # fmt: skip


@pytest.mark.parametrize("exact", get_args(Exactness))
@pytest.mark.parametrize("name", NEVER)
def test_no_class_of_exactness_takes_the_law(name: str, exact: Exactness) -> None:
    left, right, *when = NEVER[name]
    verdict = prove(rule(left, right, *when, exact=exact))
    assert verdict.outcome == "failed", str(verdict)


def test_a_law_without_overflow_may_replace_one_that_overflows_and_not_the_reverse() -> None:
    inner = map1("log", exp(x))
    assert prove(rule(inner, x, exact="reassociates")).outcome == "proved"
    assert prove(rule(neg(x), neg(inner), exact="skips zeros")).outcome == "failed"


def test_a_running_fold_serves_a_range_only_where_it_has_elements() -> None:
    known = every_rule()["incremental/range-elsewhere"]
    assert prove(known).outcome == "proved"
    verdict = prove(replace(known, right=at(d, a, red(f, m, sl(d, q, x)))))
    assert verdict.outcome == "failed" and "differs" in verdict.why
    running = every_rule()["incremental/running"]
    assert prove(running).outcome == "proved"
    assert prove(replace(running, valid="everywhere")).outcome == "failed"


X_IS_R = (eq(x, rec(r)), neighbour(r, d, i, b), body(r, c, s, y), affine(r, y, g, a),
          only(c, d, b), eq(e, shape(x)), not_in(d, sdom(s)))  # fmt: skip
UNFOUNDED: dict[str, tuple[Expression, tuple[Fact, ...], Fact]] = {
    "closed, though x is no recurrence": (x, (neighbour(r, d, i, b),), closed(r)),
    "closed, though the factor reads it": (
        lin(d, b, w, case(c, bcast(e, s), bcast(e, a))), (*X_IS_R, eq(w, neg(v))),
        closed(r)),
    "a factor of another type": (x, (eq(x, map2("lt", y, w)), factor(e, x)), factor(e, y)),
    "a factor of any type": (x, (eq(x, map2(f, y, w)), factor(e, x)), factor(e, y)),
    "a factor of a type from elsewhere": (
        x, (eq(e, dtype(y)), eq(x, map1(f, y))), factor(e, x)),
    "a ray whose factor reads the recurrence": (
        x, (eq(x, mul(y, w)), scaled(r, y, g)), scaled(r, x, mul(g, w))),
    "a line with another sign": (
        x, (eq(x, neg(y)), affine(r, y, g, a)), affine(r, x, neg(g), a)),
    "a definition of another case": (
        x, (define(r, k, x), batch(r, d, q), live(q), eq(s, full(d))),
        define(q, k + 1, sl(d, s, x))),
    "what no law may say": (x, (neighbour(r, d, i, b), eq(x, neg(y))), gone(r, x)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFOUNDED)
def test_a_fact_that_does_not_follow_is_refused(name: str) -> None:
    right, when, fact = UNFOUNDED[name]
    verdict = prove(
        rule(x, right, *when, also=(fact,), exact="skips zeros", valid="inside the box")
    )
    assert verdict.outcome in ("failed", "unproved"), str(verdict)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_mask_that_hides_a_value_hides_its_infinity_and_nan(value: float) -> None:
    t = ot.dims("t")
    x, done = ot.input("x", over=t), ot.input("done", dtype="bool", over=t)
    y = ot.recurrent("y", over=t)
    y[-1] = x[-1]
    y[t] = x + 0.9 * ot.where(done, 0.0, y[t + 1])
    program = ot.Program(y=y)
    given = {"x": np.array([1.0, 2.0, 3.0, value]), "done": np.array([0, 1, 0, 0], bool)}
    for exact in (False, True):
        found = program.compile(exact=exact)(**given)["y"]
        np.testing.assert_allclose(found, program.interpret(**given)["y"], rtol=1e-6)
        assert np.isfinite(found[:2]).all() and not np.isfinite(found[2:]).any()


@pytest.mark.parametrize("gain", [np.inf, np.nan, 0.5])
def test_a_mask_that_multiplies_keeps_the_nan_of_an_infinite_gain(gain: float) -> None:
    t = ot.dims("t")
    x, g = ot.input("x", over=t), ot.input("g", over=t)
    done = ot.input("done", dtype="bool", over=t)
    y = ot.recurrent("y", over=t)
    y[-1] = x[-1]
    y[t] = x + g * (~done).cast("float32") * y[t + 1]
    given = {
        "x": np.array([1.0, 2.0, 3.0]), "g": np.full(3, gain), "done": np.array([1, 0, 0], bool)
    }  # fmt: skip
    program = ot.Program(y=y)
    expected = program.interpret(**given)["y"]
    np.testing.assert_allclose(program.compile()(**given)["y"], expected, rtol=1e-6)
    assert np.isnan(expected[0]) == (gain != 0.5)


def test_a_recurrence_that_begins_again_does_not_see_what_was_before() -> None:
    t = ot.dims("t")
    x, y = ot.input("x", over=t), ot.recurrent("y", over=t)
    y[t % 2 == 0] = x
    y[True] = x + 0.5 * y[t - 1]
    given = {"x": np.array([np.inf, 1.0, 2.0, 3.0])}
    found = ot.Program(y=y).compile()(**given)["y"]
    assert found.tolist() == [np.inf, np.inf, 2.0, 4.0]


def test_an_infinite_factor_of_a_sum_of_nothing_is_not_read() -> None:
    t = ot.dims("t")
    x, g = ot.input("x", over=t), ot.input("g")
    program = ot.Program(y=(g * x[:t]).sum(0))
    given = {"x": np.array([1.0, 2.0, 3.0]), "g": np.inf}
    assert program.compile()(**given)["y"].tolist() == [0.0, np.inf, np.inf]
