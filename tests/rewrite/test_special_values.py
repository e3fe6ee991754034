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

SAME = "(= (shape x) (shape lhs))"
NOTHING = ("(= 0.0 (value z))", "(= (shape z) (shape lhs))")


def m1(fn: str, x: str) -> str:
    return f'(map1 "{fn}" {x})'


def m2(fn: str, x: str, y: str) -> str:
    return f'(map2 "{fn}" {x} {y})'


def where(c: str, x: str, y: str) -> str:
    return f'(map3 "where" {c} {x} {y})'


def rule(left: str, right: str, *when: str, **claims: Any) -> Rule:
    return Rule("mine/law", "a law", "a test", left, right, when, **claims)


_CUBE_ROOTS = m2("mul", m2("pow", "x", "y"), m2("pow", "x", "z"))
NEVER: dict[str, tuple[str, ...]] = {
    "exp of log": (m1("exp", m1("log", "x")), "x"),
    "exp2 of log2": (m1("exp2", m1("log2", "x")), "x"),
    "square of a root": (m2("pow", m1("sqrt", "x"), "y"), "x", "(= 2.0 (value y))", SAME),
    "root times root": (m2("mul", m1("sqrt", "x"), m1("sqrt", "x")), "x"),
    "expm1 of log1p": (m1("expm1", m1("log1p", "x")), "x"),
    "quotient by itself": (
        m2("div", "x", "x"), "u", "(= 0 (rank x))", "(unit (dtype x) u)"),
    "quotient times divisor": (m2("mul", m2("div", "x", "y"), "y"), "x", SAME),
    "sum of exponents": (_CUBE_ROOTS, m2("pow", "x", m2("add", "y", "z"))),
    "product of exponents": (
        m2("pow", m2("pow", "x", "y"), "z"), m2("pow", "x", m2("mul", "y", "z"))),
    "times nothing": (m2("mul", "x", "z"), "z", *NOTHING),
    "less itself": (m2("sub", "x", "x"), "z", "(= 0 (rank x))", "(zero (dtype x) z)"),
    "plus and minus": (m2("sub", m2("add", "x", "y"), "y"), "x", SAME),
    "sine and cosine": (
        m2("add", m2("mul", m1("sin", "x"), m1("sin", "x")),
           m2("mul", m1("cos", "x"), m1("cos", "x"))),
        "u", "(= 0 (rank x))", "(unit (dtype x) u)"),
    "log of a product": (m1("log", m2("mul", "x", "y")), m2("add", m1("log", "x"), m1("log", "y"))),
    "a choice as a factor": (
        where("c", m2("mul", "w", "y"), "z"), m2("mul", where("c", "w", "z"), "y"),
        "(= 0.0 (value z))"),
    "a factor out of a choice": (
        where("c", m2("mul", "w", "y"), "z"), m2("mul", "w", where("c", "y", "z")),
        "(= 0.0 (value z))"),
    "a mask as a choice": (
        m2("mul", "w", m1("cast:float32", "b")), where("b", "w", "z"),
        '(= "bool" (dtype b))', "(= 0.0 (value z))", "(= (shape w) (shape lhs))"),
    "a factor out of a sum of nothing": (
        f'(red "sum" 1 {m2("mul", "x", "y")})', m2("mul", '(red "sum" 1 x)', "(part 1 0 y)"),
        "(axis y 1 (size 1))"),
    "greatest by comparison": (m2("maximum", "x", "y"), where(m2("gt", "x", "y"), "x", "y")),
    "quotient of negatives": (
        m2("floordiv", m1("neg", "x"), "y"), m1("neg", m2("floordiv", "x", "y"))),
    "remainder of negatives": (m2("mod", m1("neg", "x"), "y"), m1("neg", m2("mod", "x", "y"))),
    "a distance is not negative": (m2("maximum", m1("abs", "x"), "z"), m1("abs", "x"), *NOTHING),
    "an order of differences": (m2("gt", m2("sub", "x", "y"), "z"), m2("gt", "x", "y"), *NOTHING),
}  # fmt: skip


@pytest.mark.parametrize("exact", get_args(Exactness))
@pytest.mark.parametrize("name", NEVER)
def test_no_class_of_exactness_takes_the_law(name: str, exact: Exactness) -> None:
    left, right, *when = NEVER[name]
    verdict = prove(rule(left, right, *when, exact=exact))
    assert verdict.outcome == "failed", str(verdict)


def test_a_law_without_overflow_may_replace_one_that_overflows_and_not_the_reverse() -> None:
    inner = m1("log", m1("exp", "x"))
    assert prove(rule(inner, "x", exact="reassociates")).outcome == "proved"
    assert prove(rule('(map1 "neg" x)', m1("neg", inner), exact="skips zeros")).outcome == "failed"


def test_a_running_fold_serves_a_range_only_where_it_has_elements() -> None:
    for name in ("incremental/until", "incremental/until-rounded"):
        known = every_rule()[name]
        assert prove(known).outcome == "proved"
        verdict = prove(replace(known, right="(at d a (scan f d x))"))
        assert verdict.outcome == "failed" and "differs" in verdict.why
    for name in ("incremental/prefix-sum", "incremental/prefix-max", "incremental/suffix"):
        assert prove(every_rule()[name]).outcome == "proved"
        assert prove(replace(every_rule()[name], valid="everywhere")).outcome == "failed"


X_IS_R = ("(= x (rec r))", "(neighbour r d i b)", "(body r c s y)", "(affine r y g a)",
          "(only c d b)", "(= e (shape x))", "(= 0 (& d (sdom s)))")  # fmt: skip
UNFOUNDED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "closed, though x is no recurrence": ("x", ("(neighbour r d i b)",), "(closed r)"),
    "closed, though the factor reads it": (
        "(lin d b w (case c (bcast e s) (bcast e a)))", (*X_IS_R, "(= w (map1 \"neg\" v))"),
        "(closed r)"),
    "a factor of another type": ("x", ('(= x (map2 "lt" y w))', "(factor e x)"), "(factor e y)"),
    "a factor of any type": ("x", ("(= x (map2 f y w))", "(factor e x)"), "(factor e y)"),
    "a factor of a type from elsewhere": (
        "x", ("(= e (dtype y))", "(= x (map1 f y))"), "(factor e x)"),
    "a ray whose factor reads the recurrence": (
        "x", ('(= x (map2 "mul" y w))', "(scaled r y g)"), '(scaled r x (map2 "mul" g w))'),
    "a line with another sign": (
        "x", ('(= x (map1 "neg" y))', "(affine r y g a)"), '(affine r x (map1 "neg" g) a)'),
    "a definition of another case": (
        "x", ("(define r k x)", "(batch r d q)", "(live q)", "(= s (full d))"),
        "(define q (+ k 1) (sl d s x))"),
    "what no law may say": ("x", ("(neighbour r d i b)", '(= x (map1 "neg" y))'), "(gone r x)"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFOUNDED)
def test_a_fact_that_does_not_follow_is_refused(name: str) -> None:
    right, when, fact = UNFOUNDED[name]
    verdict = prove(
        rule("x", right, *when, also=(fact,), exact="skips zeros", valid="inside the box")
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
