"""``compile(exact=True)`` gives the bits of the interpreter wherever the language defines them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from tests.property.exactness import BOUNDED, has_defined_bits
from tests.property.judge import Bench, trial_of
from tests.property.tolerance import unlike

SEEDS = range(24)


def defined(bench: Bench) -> list[str]:
    """The outputs whose bits are defined."""
    outputs = dict(bench.program.pdg.outputs)
    pdg = bench.program.pdg
    return [n for n in bench.program.outputs if has_defined_bits(pdg, outputs[n])]


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
    assert {ot.rules.exact()[name].exact for name in fired} == {"exact"}
    assert "incremental/running" in program.compile().explain().rules


def test_the_functions_with_error_bounds_are_the_ones_the_language_names() -> None:
    from tests.docs.page import read, sections

    page = sections(read("language.md"))["What is promised"]
    assert [fn for fn in sorted(BOUNDED) if f"`{fn}`" not in page] == []


EDGES = [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 3.0, 1e-42, 1e30, -1e38, np.inf, -np.inf, np.nan]


def arithmetic(x: ot.Tensor, y: ot.Tensor) -> dict[str, ot.Tensor]:
    two = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "floordiv": x // y, "mod": x % y}
    chosen = {"min": ot.minimum(x, y), "max": ot.maximum(x, y), "where": ot.where(x < y, x, y)}
    one = {"abs": ot.abs(x), "neg": -x, "sqrt": ot.sqrt(x), "sign": ot.sign(x), "relu": ot.relu(x)}
    whole = {"floor": ot.floor(x), "ceil": ot.ceil(x), "round": ot.round(x), "trunc": ot.trunc(x)}
    made = {"square": ot.square(x), "rsqrt": ot.rsqrt(x), "fmod": ot.fmod(x, y), "both": x * y + x}
    casts = {"int": x.cast("int32"), "wide": x.cast("int64"), "half": x.cast("float16")}
    tests = {"less": x < y, "same": x == y, "finite": ot.isfinite(x), "clip": ot.clip(x, -1.0, 2.0)}
    return {**two, **chosen, **one, **whole, **made, **casts, **tests}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementwise_functions_have_the_bits_of_the_interpreter_at_edges(dtype: str) -> None:
    b = ot.dims("b")
    made = arithmetic(*(ot.input(name, dtype=dtype, over=b) for name in "xy"))
    program = ot.Program(**made)
    grid = ((p, q) for p in EDGES for q in EDGES)
    pairs = np.array([(p, q) for p, q in grid if p or q or str(p) == str(q)], dtype)
    given = {"x": pairs[:, 0], "y": pairs[:, 1]}  # of 0.0 and -0.0 either is the largest
    run = program.compile(exact=True)
    assert unlike(run(**given), program.interpret(**given), list(made)) == []


def test_additions_at_positions_have_the_bits_of_the_interpreter() -> None:
    rng = np.random.default_rng(0)
    updates, index = ot.input("updates", (400,)), ot.input("index", (400,), "int32")
    program = ot.Program(sums=ot.scatter_add(updates, index, 7))
    given = {"updates": rng.normal(size=400), "index": rng.integers(0, 7, 400)}
    run = program.compile(exact=True)
    assert unlike(run(**given), program.interpret(**given), ["sums"]) == []
