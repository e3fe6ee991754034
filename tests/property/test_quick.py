"""The quick mode: both judges agree on programs of all kinds, and what fails is recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

import ostinato as ot
from ostinato.certificate.machine import Emission
from ostinato.codegen.loops.memory import Trap
from ostinato.pdg.errors import ArgumentError, OptionError
from ostinato.pdg.functions import Array
from tests.codegen.loops.test_interpreter import without_stores
from tests.property import fuzz, sparing, worker
from tests.property.constructs import TABLE, TAME
from tests.property.judge import Disagreement, Trial
from tests.property.programs import Recipe, Step
from tests.property.quick import FEW_POINTS, QuickBench, Refused, quick, quick_trial_of, sizes
from tests.property.sparing import require_same
from tests.property.worker import Mode, Outcome, crashed, outcome

LINE = Recipe((((0,), ()),), (Step("tanh"),), 1, 1, wild=True)


def line(*steps: Step, **options: object) -> Trial:
    made = Trial(replace(LINE, steps=steps), extents=(0,), threads=1, quick=True)
    return replace(made, **options)  # type: ignore[arg-type]


def always(monkeypatch: pytest.MonkeyPatch, trial: Trial) -> None:
    """Make one trial of every seed."""

    def made(mode: Mode, seed: int) -> Trial:
        return trial

    monkeypatch.setattr(Mode, "trial", made)


def test_a_quick_trial_passes_and_counts_no_rounding_as_wrong() -> None:
    warnings.simplefilter("ignore")
    assert not quick(line(Step("tanh"), Step("prefix"), exact=True)).trial.special


@pytest.mark.parametrize("part", range(4))
def test_both_judges_agree_on_tame_programs_with_special_values(part: int) -> None:
    for seed in range(part, 60, 4):
        trial = replace(quick_trial_of(seed), special=True)
        if any(TABLE[step.op].wild for step in trial.recipe.steps):
            continue
        bench = QuickBench(trial)
        for k in trial.extents:
            bench.settled(bench.given(k))


def test_the_second_judge_refuses_a_wrong_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostinato.pdg import functions

    wrong = replace(functions.FUNCTIONS["neg"], numpy=np.positive)
    monkeypatch.setitem(functions.FUNCTIONS, "neg", wrong)
    with pytest.raises(Disagreement, match="second judge, in bits, differs: y0"):
        quick(line(Step("neg")))


def test_checks_must_refuse_a_position_that_is_clamped(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe((((0,), (3,)),), (Step("take_several", c=1),), 1, 1, wild=True)
    trial = replace(line(), recipe=recipe, watched="steps")
    assert quick(trial).trial == trial  # at positions 2, 0, 1 and -1

    def unchecked(bench: QuickBench, compiled: object, given: dict[str, object]) -> object:
        return bench.reference(given)

    monkeypatch.setattr(QuickBench, "run", unchecked)
    with pytest.raises(Disagreement, match="outside its axis passes the checks"):
        quick(trial)


def test_little_memory_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings.simplefilter("ignore")
    trial = line(Step("running_sum"), Step("tanh", a=1), watched="memory")
    assert quick(trial).trial == trial

    def wrong(what: str, found: dict[str, Array], expected: dict[str, Array]) -> None:
        require_same(what, {n: -np.asarray(v) for n, v in found.items()}, expected)

    monkeypatch.setattr(sparing, "require_same", wrong)
    with pytest.raises(Disagreement, match="changes bits: y0"):
        quick(trial)


def test_loop_ir_is_interpreted_and_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings.simplefilter("ignore")
    monkeypatch.setattr(ot.Program, "compile", None)
    steps = (Step("running_sum"), Step("called", a=1), Step("prefix", a=2), Step("normal"))
    trial = line(*steps, widths={"b": 2}, threads=3, watched="loops")
    assert quick(trial).trial == trial


def test_loop_ir_that_misses_a_store_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    emit = QuickBench.emission

    def wrong(bench: QuickBench) -> Emission:
        made = emit(bench)
        return replace(made, functions=tuple(without_stores(made.functions)))

    monkeypatch.setattr(QuickBench, "emission", wrong)
    with pytest.raises(Trap, match="`y0` was never written"):
        quick(line(Step("tanh"), watched="loops"))


def test_loop_ir_is_judged_at_few_points_and_often_in_several_tiles() -> None:
    made = [quick_trial_of(seed, "loops") for seed in range(50)]
    found = [sizes(k) for trial in made for k in trial.extents]
    assert all(one["B"] * one["S"] * one["T"] <= FEW_POINTS for one in found)
    assert sum(1 in trial.widths.values() for trial in made) > 5
    assert [quick_trial_of(7, "loops")] == [quick_trial_of(7, "loops")]


def test_only_integers_that_no_float_decides_have_bits_in_every_compilation() -> None:
    def kept(*steps: Step) -> tuple[set[str], set[str]]:
        bench = QuickBench(line(*steps))
        told = bench.settled(bench.given(0))
        return told.exact(True), told.exact(False)

    assert kept(Step("zero_minus"), Step("wraps_product", a=1)) == ({"y0"}, set())
    assert kept(Step("to_int64"), Step("wraps_product", a=1)) == ({"y0"}, set())
    assert kept(Step("integer_step", c=2), Step("bits_or", a=1, b=1)) == ({"y0"}, {"y0"})


def test_a_refusal_of_a_wild_program_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    backwards = line(Step("reversed_by_one"))
    with pytest.raises(Refused, match="ShapeError"):
        quick(backwards)
    always(monkeypatch, backwards)
    found = outcome(0, Mode(quick=True))
    assert (found.refused, found.symptom) == ("ShapeError", "")


def test_wild_constructs_are_in_quick_programs_only() -> None:
    quick_ones = {s.op for n in range(400) for s in quick_trial_of(n).recipe.steps}
    kinds = {TABLE[name].kind for name in quick_ones}
    assert {TABLE[name].kind for name in TABLE} == kinds
    assert quick_ones - TAME.keys()


def test_a_crash_is_made_smaller_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(trial: Trial) -> None:
        if any(step.op == "flip" for step in trial.recipe.steps):
            os.kill(os.getpid(), signal.SIGKILL)

    recipe = replace(LINE, inputs=(((0,), (3,)),), steps=(Step("tanh"), Step("flip", a=1)))
    monkeypatch.setattr(worker, "run", dies)
    always(monkeypatch, replace(line(), recipe=recipe))
    found = crashed(3, Mode(quick=True))
    assert found.symptom == "Crash: the process died (-9) in flip"
    assert "quick(trial)" in found.as_test() and "op='tanh'" not in found.as_test()


def test_what_never_ends_is_told_by_its_constructs(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch, line(Step("tanh"), Step("prefix")))
    lost = Outcome.of_lost(5, "Hang: no result after 120 s (-9)", Mode(quick=True))
    assert lost.symptom == "Hang: no result after 120 s (-9) in prefix+tanh"


def test_checks_of_compiled_code_that_are_not_there_are_no_silent_ones() -> None:
    with pytest.raises(OptionError):
        fuzz.require_checks("no such checks")


def test_the_heap_of_workers_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = dict(os.environ)
    monkeypatch.setattr(os, "environ", environ)
    fuzz.check_heap()
    too_far = (
        "import ctypes, numpy as n; a = n.empty(1001); ctypes.memset(a.ctypes.data + 8008, 7, 1)"
    )
    ended = subprocess.run([sys.executable, "-c", f"{too_far}; del a"], env=environ, check=False)
    assert ended.returncode == -signal.SIGABRT and int(environ["MALLOC_PERTURB_"])


def test_extents_of_quick_trials_hold_squares_ones_and_more_than_a_vector() -> None:
    made = [sizes(k) for k in range(1000)]
    assert any(one["B"] == one["S"] == one["T"] > 1 for one in made)
    assert {1, 2, 3, 17, 37, 67} <= {n for one in made for n in one.values()}


def test_an_extent_of_0_is_refused_by_every_call() -> None:
    program = ot.Program(y=ot.index(ot.dims("t")))
    for run in (program.interpret, program.compile()):
        with pytest.raises(ArgumentError):
            run(T=0)
