"""The process that judges trials for the fuzzer, and what it sends back."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
import traceback
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from tests.property.constructs import TABLE
from tests.property.judge import Bench, Trial, judge, trial_of
from tests.property.poison import poison_arenas
from tests.property.shrink import shrink, symptom


@dataclass(frozen=True)
class Outcome:
    """The result of one seed; ``symptom`` is empty if every check passed."""

    seed: int
    constructs: tuple[str, ...]
    kinds: tuple[str, ...]
    checks: tuple[str, ...]
    unsteady: bool = False
    symptom: str = ""
    trial: Trial | None = None
    report: str = ""

    @staticmethod
    def of_lost(seed: int, symptom: str) -> Outcome:
        """A trial whose process died or was ended."""
        trial = trial_of(seed)
        return _outcome(seed, trial, symptom=symptom, report=symptom)

    def as_test(self) -> str:
        """A test file that fails as long as the failure is there."""
        note = textwrap.indent(self.report.strip(), "    # ", lambda _: True)
        return (
            f'"""Found by fuzzing: {_plain(self.symptom)}."""\n\n'
            "from tests.property.judge import Trial, judge\n"
            "from tests.property.programs import Recipe, Step\n\n\n"
            f"def test_found_{self.seed}() -> None:\n{note}\n"
            f"    trial = {self.trial!r}\n    judge(trial)\n"
        )


def _plain(text: str) -> str:
    return re.sub(r'["\\]', "'", text)


def _outcome(seed: int, trial: Trial, bench: Bench | None = None, **more: str) -> Outcome:
    names = {step.op for step in trial.recipe.steps}
    kinds = {TABLE[name].kind for name in names}
    if trial.recipe.mode != "values":
        kinds.add(f"{trial.recipe.mode} of a loss" if trial.recipe.mode == "gradient" else
                  "second gradient of a loss")  # fmt: skip
    return Outcome(
        seed, tuple(sorted(names)), tuple(sorted(kinds)), trial.checks,
        unsteady=bool(bench and bench.unsteady),
        trial=trial, **more,
    )  # fmt: skip


def failure(trial: Trial) -> str | None:
    """The symptom of a trial, if it fails."""
    try:
        judge(trial)
    except Exception as error:
        return symptom(error)
    return None


def outcome(seed: int) -> Outcome:
    """Judge the trial of a seed; make a failing one smaller."""
    try:
        trial = trial_of(seed)
    except Exception as error:
        where = f"trial_of({seed}): {traceback.format_exc(limit=-6)}"
        return Outcome(seed, (), (), (), symptom=symptom(error), report=where)
    try:
        return _outcome(seed, trial, judge(trial))
    except Exception as error:
        report = f"{error}\n{traceback.format_exc(limit=-6)}"
        text = symptom(error)
        small = shrink(trial, failure)
        used = "+".join(sorted(step.op for step in small.recipe.steps))
        if text.startswith("Disagreement"):  # what differs says little: where it does says more
            text = f"{text} in {used}"
        made = _outcome(seed, trial, symptom=text, report=report)
        return replace(made, trial=small)


def serve(pipe: Connection, cache: str) -> None:
    """Answer seeds with outcomes until the other end closes."""
    warnings.simplefilter("ignore")
    poison_arenas()
    own = Path(cache, str(os.getpid()))
    os.environ["OSTINATO_CACHE_DIR"] = str(own)
    while True:
        try:
            seed = pipe.recv()
        except EOFError:
            return
        pipe.send(outcome(seed))
        shutil.rmtree(own, ignore_errors=True)
