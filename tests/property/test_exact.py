"""``compile(exact=True)`` gives the bits of the interpreter wherever the language defines them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.functions import Array
from tests.property.exactness import BOUNDED, has_defined_bits
from tests.property.judge import Bench, trial_of

SEEDS = range(24)


def defined(bench: Bench) -> list[str]:
    """The outputs whose bits are defined."""
    outputs = dict(bench.program.pdg.outputs)
    pdg = bench.program.pdg
    return [n for n in bench.program.outputs if has_defined_bits(pdg, outputs[n])]


def unlike(
    found: Mapping[str, Array], expected: Mapping[str, Array], names: list[str]
) -> list[str]:
    """The names of arrays that differ in a bit; a NaN is one value, and 0.0 and -0.0 are two."""
    out: list[str] = []
    for name in names:
        a, b = np.asarray(found[name]), np.asarray(expected[name])
        wide = "float64" if a.dtype.name == "bfloat16" else a.dtype
        nan = np.isnan(a.astype(wide)) & np.isnan(b.astype(wide)) if a.dtype.kind != "b" else None
        bits = [np.where(nan, np.asarray(0, x.dtype), x) if nan is not None else x for x in (a, b)]
        if a.dtype != b.dtype or bits[0].tobytes() != bits[1].tobytes():
            out.append(name)
    return out


@pytest.mark.parametrize("part", range(4))
def test_invented_programs_have_the_bits_of_the_interpreter(part: int) -> None:
    warnings.simplefilter("ignore")
    for seed in SEEDS[part::4]:
        bench = Bench(trial_of(seed))
        names = defined(bench)
        if not names:
            continue
        run = bench.program.compile(exact=True, **bench.options)
        for k in bench.trial.extents:
            given = bench.given(k)
            assert unlike(bench.run(run, given), bench.reference(given), names) == [], seed


def test_a_fair_part_of_the_invented_programs_has_defined_bits() -> None:
    benches = [Bench(trial_of(seed)) for seed in SEEDS]
    assert sum(bool(defined(bench)) for bench in benches) >= len(benches) // 4


def wave() -> tuple[ot.Program, dict[str, Any]]:
    """A recurrence of products and sums, which one fused operation would round otherwise."""
    t = ot.dims("t")
    x, g = ot.input("x", over=t), ot.input("g")
    h = ot.recurrent("h", over=t)
    h[0] = x[0]
    h[t + 1] = g * h + x[t + 1] * x
    rng = np.random.default_rng(0)
    return ot.Program(h=h, y=x * g + h), {"x": rng.normal(size=200), "g": 0.7}


def test_a_recurrence_has_the_bits_of_the_interpreter() -> None:
    program, given = wave()
    run, expected = program.compile(exact=True), program.interpret(**given)
    assert unlike(run(**given), expected, ["h", "y"]) == []


def test_without_the_option_products_and_sums_are_one_operation() -> None:
    program, given = wave()
    assert unlike(program.compile()(**given), program.interpret(**given), ["h", "y"]) != []


def test_the_sign_of_a_zero_is_kept() -> None:
    x = ot.input("x", over=ot.dims("t"))
    program = ot.Program(y=-(x - x), z=x + 0.0, w=0.0 - x)
    given = {"x": [1.0, -0.0, 0.0]}
    assert (
        unlike(program.compile(exact=True)(**given), program.interpret(**given), ["y", "z"]) == []
    )
    assert np.signbit(program.compile(exact=True)(**given)["y"]).all()


def test_running_sums_along_an_axis_have_the_bits_of_the_interpreter() -> None:
    t = ot.dims("t")
    x = ot.input("x", (300,), over=t)
    program = ot.Program(sums=ot.cumsum(x, 0), lin=ot.linear_recurrence(x * 0.1, x, 0))
    given = {"x": np.random.default_rng(0).normal(size=(3, 300))}
    run = program.compile(exact=True)
    assert unlike(run(**given), program.interpret(**given), ["sums", "lin"]) == []


def test_only_exact_rules_fire() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    program = ot.Program(total=x[: t + 1].sum(0))
    fired = program.compile(exact=True).explain().rules
    assert {ot.rules[name].exact for name in fired} == {"exact"}
    assert "incremental/prefix-sum" in program.compile().explain().rules


def test_the_functions_with_error_bounds_are_the_ones_the_language_names() -> None:
    from tests.docs.page import read, sections

    page = sections(read("language.md"))["What is promised"]
    assert [fn for fn in sorted(BOUNDED) if f"`{fn}`" not in page] == []
