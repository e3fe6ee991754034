"""A program has few variants: which one runs follows from its extents alone."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.compiler.compiled import Compiled
from ostinato.compiler.options import Request
from ostinato.compiler.variants import Look, Variant, Variants, power_of_two, short_extents
from ostinato.pdg.errors import ArgumentError
from ostinato.runtime.run.executor import Executable

T = 400


def generation() -> ot.Program:
    """What a step attends to depends on the steps before it."""
    b, t = ot.dims("b t")
    token = ot.recurrent("token", (32,), over=(b, t))
    key = ot.tanh(token @ ot.random.normal((32, 32)))
    score = ot.softmax((key[b, : t + 1] @ token[..., None])[..., 0])
    token[b, 0] = ot.random.normal((32,), over=b)
    token[b, t + 1] = ot.tanh(token + (score[..., None] * key[b, : t + 1]).sum(0))
    return ot.Program(last=token[b, t.size - 1])


@pytest.fixture(scope="module")
def run() -> Compiled:
    return generation().compile(threads=1)


def taken(run: Compiled, **extents: int) -> tuple[str, int]:
    found = run.explain(**extents)
    return found.variant, found.memory.predicted_peak_bytes


def test_few_rows_take_no_room_of_more(run: Compiled) -> None:
    whole = run.executable.layout({"B": 1, "T": T}).total_bytes
    variant, small = taken(run, B=1, T=T)
    assert variant.startswith("one for B <= 1: ") and small < whole / 16


@pytest.mark.parametrize(("rows", "most"), [(1, 1), (3, 4), (5, 8)])
def test_variants_equal_the_interpreter(run: Compiled, rows: int, most: int) -> None:
    assert taken(run, B=rows, T=T)[0].startswith(f"one for B <= {most}: ")
    short, long = run(B=rows, T=T, seed=3)["last"], run.executable
    expected = long.run(run._bind({"B": rows, "T": T, "seed": 3}, ""))["last"]  # pyright: ignore[reportPrivateUsage]
    np.testing.assert_allclose(short, expected, rtol=1e-3, atol=1e-4)


def test_a_variant_that_is_only_explained_has_no_machine_code(
    run: Compiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("machine code that nobody runs")

    with monkeypatch.context() as patch:
        patch.setattr("ostinato.runtime.run.executor.load_module", refuse)
        assert taken(run, B=2, T=T)[0].startswith("one for B <= 2: ")
    assert np.isfinite(run(B=2, T=T)["last"]).all()


def test_the_variant_of_a_run_to_come_is_compiled_beforehand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    run = generation().compile(threads=1, extents={"B": 2, "T": T})
    assert run.explain().variant.startswith("one for B <= 2: ")

    def refuse(*_: object) -> None:
        raise AssertionError("this was to be done already")

    with monkeypatch.context() as patch:
        for late in ("compiler.compiled.build", "runtime.run.executor.load_module"):
            patch.setattr(f"ostinato.{late}", refuse)
        found = run(B=2, T=T)["last"]
    np.testing.assert_array_equal(found, generation().compile(threads=1)(B=2, T=T)["last"])
    assert run(B=40, T=9)["last"].shape == (40, 32)  # by the usual one, which had no code yet


def test_a_run_to_come_without_a_variant_of_its_own_uses_the_usual_one(run: Compiled) -> None:
    for extents in ({"B": 64, "T": T}, {"B": 1, "T": 2}):
        known = generation().compile(threads=1, extents=extents)
        assert known.explain().variant.startswith("one for any extents")
        assert known.executable.artifact.source == run.executable.artifact.source
        np.testing.assert_array_equal(known(**extents)["last"], run(**extents)["last"])


@pytest.mark.parametrize(
    ("extents", "text"),
    [
        ({"B": 2}, "the extent `T` is missing"),
        ({"B": 2, "T": 3, "S": 4}, "the program has no extent `S`"),
        ({"B": 0, "T": 3}, "`B` is 0"),
        (3, "`compile` gets 3 for `extents`\n  Give a dictionary or None."),
    ],
)
def test_extents_that_no_run_could_have_are_refused(extents: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=f"^test_variants.py:[0-9]+: {re.escape(text)}"):
        generation().compile(extents=extents)


def test_variants_of_one_step_equal_the_interpreter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))  # it notes what is better, too
    for name, value in {"WORTH_NS": 0.0, "GAIN": 100.0, "LESS": 0.0}.items():
        monkeypatch.setattr(f"ostinato.compiler.variants.{name}", value)
    program = generation()
    run = program.compile(threads=2)
    for rows in (1, 2, 7):
        expected = program.interpret(B=rows, T=6)["last"]
        assert run.explain(B=rows, T=6).variant.startswith("one for B <= ")
        np.testing.assert_allclose(run(B=rows, T=6)["last"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("extents", "why"),
    [
        ({"B": 33, "T": T}, "one for any extents"),
        ({"B": 1, "T": 2}, "one for any extents: with B <= 1 it takes less than 0.1 ms"),
    ],
)
def test_long_extents_and_brief_runs_have_none(
    run: Compiled, extents: Mapping[str, int], why: str
) -> None:
    assert run.explain(**extents).variant == why
    run(**extents)
    assert run.explain().variant == why and why in str(run.explain())


WANTED, NEEDLESS = "one for B <= 4: tiles", "one for any extents: one for B <= 4 is predicted to"


@pytest.mark.parametrize(
    ("ns", "peak_bytes", "why"),
    [
        (0.8e6, 1000, WANTED),
        (0.95e6, 1000, NEEDLESS),  # for so little it is not compiled
        (1.04e6, 400, WANTED),  # it takes less memory
        (1.1e6, 400, NEEDLESS),
    ],
)
def test_a_variant_is_compiled_only_if_its_plan_is_better(
    tmp_path: Path, ns: float, peak_bytes: int, why: str
) -> None:
    asked, plans = list[int](), list[float]()

    def artifact(ns: float, peak_bytes: int) -> SimpleNamespace:
        def price(_: Mapping[str, int], workers: int) -> Mapping[str, float]:
            asked.append(workers)
            return {"predicted_ns": ns}

        def place(*_: object) -> SimpleNamespace:
            return SimpleNamespace(peak_bytes=peak_bytes)

        return SimpleNamespace(price=price, place=place, short={"B": 32})

    def variant(artifact: SimpleNamespace) -> Variant:
        executable = SimpleNamespace(artifact=artifact, directory=tmp_path, key="k")
        return Variant(cast(Executable, executable), cast(Request, None))

    def make(_: Mapping[str, int], look: Look) -> Variant:
        plans.append(ns)
        short = artifact(ns, peak_bytes)
        look(short.price, short.place)
        return variant(short)

    def stepping(dim: str) -> Variant:
        raise AssertionError(f"nobody streams over {dim}")

    variants = Variants(variant(artifact(1e6, 1000)), make, stepping, 2)
    taken = variants.at({"B": 3, "T": 5})
    assert taken.why.startswith(why)
    assert {*asked} == {2}  # of the machine, whatever the threads
    variants.at({"B": 3, "T": 50})
    assert len(plans) == 1  # it is planned once for all other extents
    again = Variants(variants.usual, make, stepping, 2)
    assert again.at({"B": 4, "T": 8}).why == taken.why  # extents of the same classes


def test_a_batch_that_is_faster_in_common_tiles_stays_there() -> None:
    """Gradients of rows add up in one worker where each has few: a tile of many is faster."""
    program = rl.ppo(rl.CartPole()).program
    run = program.compile()
    variant = run.explain(B=4, T=128, I=10, E=4).variant
    assert variant == "one for any extents: one for B <= 4 is predicted to gain too little"


def test_hints_and_widths_are_left_as_they_are() -> None:
    program = generation()
    hinted = program.compile(threads=1, hints={"B": 64})
    for run in (hinted, program.compile(threads=1, widths={"b": 32})):
        assert run.explain(B=1, T=T).variant == "" and not run.executable.artifact.short


def test_the_number_of_threads_decides_nothing(run: Compiled) -> None:
    several = generation().compile(threads=4)
    assert several.explain(B=3, T=T).source == run.explain(B=3, T=T).source


def test_a_variant_that_cannot_be_compiled_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run = generation().compile(threads=1)

    def refused(*_: object) -> None:
        raise ot.OstinatoError("no order", "", "")

    monkeypatch.setattr(run._variants, "_make", refused)  # pyright: ignore[reportPrivateUsage]
    assert (
        run.explain(B=1, T=T).variant == "one for any extents: for B <= 1 there is none, no order"
    )
    assert run(B=1, T=T)["last"].shape == (1, 32)


def test_another_process_finds_the_variants(run: Compiled) -> None:
    run(B=1, T=T)
    code = (
        "import sys; from tests.pipeline.test_variants import generation, T;"
        "run = generation().compile(threads=1); run(B=1, T=T);"
        "assert run.explain().variant.startswith('one for B <= 1');"
        "assert not {'egglog', 'numba', 'ostinato.codegen.planning.plan'} & {*sys.modules}"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_classes_are_powers_of_two() -> None:
    assert [power_of_two(n) for n in (1, 2, 3, 5, 8)] == [1, 2, 4, 8, 8]
    assert short_extents({"B": 8, "K": 1}, {"B": 5, "K": 2, "T": 1}) == {"B": 8}
