"""The process that judges trials for the fuzzer, and what it sends back."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import textwrap
import traceback
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from tests.property.constructs import TABLE
from tests.property.judge import Bench, Trial, judge, trial_of
from tests.property.poison import poison_arenas
from tests.property.quick import Refused, quick, quick_trial_of
from tests.property.shrink import Fails, shrink, symptom

SHRINK_S, SHRINK_QUICK_S = 60.0, 15.0
CRASH_LIMIT_S = 60  # of one attempt to crash again


@dataclass(frozen=True)
class Mode:
    """How trials are made: see the options of `tests.property.fuzz`."""

    quick: bool = False
    watched: str = ""

    def trial(self, seed: int) -> Trial:
        return quick_trial_of(seed, self.watched) if self.quick else trial_of(seed)


@dataclass(frozen=True)
class Outcome:
    """The result of one seed; ``symptom`` is empty if every check passed."""

    seed: int
    constructs: tuple[str, ...]
    kinds: tuple[str, ...]
    checks: tuple[str, ...]
    unsteady: bool = False
    unproved: bool = False
    refused: str = ""
    symptom: str = ""
    trial: Trial | None = None
    report: str = ""

    @staticmethod
    def of_lost(seed: int, symptom: str, mode: Mode) -> Outcome:
        """A trial whose process died or was ended; what it is made of tells it from others."""
        trial = mode.trial(seed)
        text = f"{symptom} in {'+'.join(sorted(step.op for step in trial.recipe.steps))}"
        return _outcome(seed, trial, symptom=text, report=text)

    def as_test(self) -> str:
        """A test file that fails as long as the failure is there."""
        note = textwrap.indent(self.report.strip(), "    # ", lambda _: True)
        module, judging = ("quick", "quick") if self.trial and self.trial.quick else ("judge",) * 2
        imports = [f"from tests.property.{module} import {judging}"] if module == "quick" else []
        imports = ["from tests.property.judge import Trial" + ("" if imports else ", judge"),
                   "from tests.property.programs import Recipe, Step", *imports]  # fmt: skip
        return (
            f'"""Found by fuzzing: {_plain(self.symptom)}."""\n\n'
            + "\n".join(imports)
            + f"\n\n\ndef test_found_{self.seed}() -> None:\n{note}\n"
            f"    trial = {self.trial!r}\n    {judging}(trial)\n"
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
        unsteady=bool(bench and bench.unsteady), unproved=bool(bench and bench.unproved),
        trial=trial, **more,
    )  # fmt: skip


def run(trial: Trial) -> Bench:
    """Judge a trial by the mode it was made for."""
    return quick(trial) if trial.quick else judge(trial)


def failure(trial: Trial) -> str | None:
    """The symptom of a trial, if it fails."""
    try:
        run(trial)
    except Refused:
        return None
    except Exception as error:
        return symptom(error)
    return None


def failure_of_another(trial: Trial) -> str | None:
    """The symptom of a trial that may end its process: that of a fork of this one."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(CRASH_LIMIT_S)
        os.write(theirs, (failure(trial) or "").encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return f"Crash: the process died ({-os.WTERMSIG(status)})" if status else said or None


def outcome(seed: int, mode: Mode = Mode()) -> Outcome:
    """Judge the trial of a seed; make a failing one smaller."""
    try:
        trial = mode.trial(seed)
    except Exception as error:
        where = f"trial_of({seed}): {traceback.format_exc(limit=-6)}"
        return Outcome(seed, (), (), (), symptom=symptom(error), report=where)
    try:
        return _outcome(seed, trial, run(trial))
    except Refused as refusal:
        return replace(_outcome(seed, trial), refused=str(refusal))
    except Exception as error:
        report = f"{error}\n{traceback.format_exc(limit=-6)}"
        return _smaller(seed, trial, symptom(error), report, failure)


def _smaller(seed: int, trial: Trial, text: str, report: str, fails: Fails) -> Outcome:
    """The outcome of a failure, with the smallest trial that was found to fail in this way."""
    small = shrink(trial, fails, SHRINK_QUICK_S if trial.quick else SHRINK_S)
    used = "+".join(sorted(step.op for step in small.recipe.steps))
    if text.startswith(("Disagreement", "Crash")):  # where it differs says more than what does
        text = f"{text} in {used}"
    return replace(_outcome(seed, trial, symptom=text, report=report), trial=small)


def crashed(seed: int, mode: Mode) -> Outcome:
    """The outcome of a seed that ended the process of another worker."""
    trial = mode.trial(seed)
    text = failure_of_another(trial)
    if text is None or not text.startswith("Crash"):
        again = "Crash: the process died, and not again when the seed was judged alone"
        return _outcome(seed, trial, symptom=again, report=again)
    return _smaller(seed, trial, text, text, failure_of_another)


def serve(pipe: Connection, cache: str, mode: Mode) -> None:
    """Answer seeds with outcomes until the other end closes; negative ones have crashed before."""
    warnings.simplefilter("ignore")
    poison_arenas()
    own = Path(cache, str(os.getpid()))
    os.environ["OSTINATO_CACHE_DIR"] = str(own)
    sys.setrecursionlimit(10_000)  # as deeply nested programs are told to
    while True:
        try:
            seed = pipe.recv()
        except EOFError:
            return
        pipe.send(outcome(seed, mode) if seed >= 0 else crashed(~seed, mode))
        shutil.rmtree(own, ignore_errors=True)
