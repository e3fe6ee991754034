"""Judge invented programs for as long as asked: ``python -m tests.property.fuzz --minutes 60``.

Every worker is a process of its own, so that a crash or a program that never ends is a recorded
failure like any other. Failures become ready tests in a folder, one per symptom. With ``--quick``
each program is small, is judged by two judges, and is compiled once.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from ostinato.pdg.errors import OptionError
from tests.property.worker import Mode, Outcome, serve

LIMIT_S = 300.0  # one trial, its shrinking included
QUICK_LIMIT_S = 120.0
RETIRES_AFTER = 150  # trials of one process: machine code is never unloaded
QUICK_RETIRES_AFTER = 400
CHECKED = "addresses of compiled code; loop IR, which is interpreted; or ways to take less memory"
MALLOC = {"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165"}  # glibc checks its heap, and fills it
MALLOC_DEBUG = "libc_malloc_debug.so.0"  # where glibc from 2.34 on keeps these checks


@dataclass
class Tally:
    """What a session of fuzzing has seen."""

    trials: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    constructs: Counter[str] = field(default_factory=Counter[str])
    checks: Counter[str] = field(default_factory=Counter[str])
    unsteady: int = 0
    unproved: int = 0
    refusals: Counter[str] = field(default_factory=Counter[str])
    symptoms: Counter[str] = field(default_factory=Counter[str])

    def add(self, outcome: Outcome) -> bool:
        """Count a trial; tell whether its failure is new."""
        self.trials += 1
        self.kinds.update(outcome.kinds)
        self.constructs.update(outcome.constructs)
        self.checks.update(outcome.checks)
        self.unsteady += outcome.unsteady
        self.unproved += outcome.unproved
        if outcome.refused:
            self.refusals[outcome.refused] += 1
        if outcome.symptom:
            self.symptoms[outcome.symptom] += 1
        return bool(outcome.symptom) and self.symptoms[outcome.symptom] == 1

    def line(self, known: int, minutes: float) -> str:
        return (
            f"{minutes:6.1f} min  {self.trials} programs, {self.refusals.total()} refused  "
            f"{len(self.constructs)}/{known} constructs  "
            f"{sum(self.symptoms.values())} failures, {len(self.symptoms)} symptoms"
        )

    def table(self, known: int, minutes: float) -> str:
        """A summary in Markdown."""
        rows = [("programs", self.trials), ("minutes", f"{minutes:.0f}")]
        rows += [(f"programs with {kind}", n) for kind, n in sorted(self.kinds.items())]
        rows += [(f"programs checked by {name}", n) for name, n in sorted(self.checks.items())]
        rows += [("programs judged", self.trials - self.refusals.total())]
        rows += [(f"programs refused by {name}", n) for name, n in sorted(self.refusals.items())]
        rows += [
            ("constructs used", f"{len(self.constructs)} of {known}"),
            ("least used construct", min(self.constructs.values(), default=0)),
            ("programs that enlarge rounding", self.unsteady),
            ("programs of which no form was proved to be defined", self.unproved),
            ("failures", sum(self.symptoms.values())),
            ("different symptoms", len(self.symptoms)),
        ]
        lines = [f"| {name} | {value} |" for name, value in rows]
        lines += [f"| failure: {text} | {n} |" for text, n in self.symptoms.most_common()]
        return "\n".join(["| what | count |", "|---|---|", *lines])


class Worker:
    """A process that judges one seed at a time."""

    def __init__(self, cache: Path, mode: Mode) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, str(cache), mode), daemon=False)
        self.process.start()
        theirs.close()
        self.seed, self.began, self.served = -1, 0.0, 0

    def give(self, seed: int) -> None:
        """Ask for the outcome of a seed; a negative one has crashed a process before."""
        self.seed, self.began = seed, time.monotonic()
        self.served += 1
        self.pipe.send(seed)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Fuzzer:
    """Keeps workers busy, counts, and writes failures down."""

    def __init__(
        self, workers: int, first_seed: int, folder: Path, cache: Path, mode: Mode
    ) -> None:
        self.next_seed, self.folder, self.cache, self.mode = first_seed, folder, cache, mode
        self.tally, self.again = Tally(), list[int]()
        self.limit_s = QUICK_LIMIT_S if mode.quick else LIMIT_S
        self.retires_after = QUICK_RETIRES_AFTER if mode.quick else RETIRES_AFTER
        self.workers = [self.hire() for _ in range(workers)]

    def hire(self) -> Worker:
        worker = Worker(self.cache, self.mode)
        self.assign(worker)
        return worker

    def assign(self, worker: Worker) -> None:
        if self.again:
            worker.give(~self.again.pop())
            return
        worker.give(self.next_seed)
        self.next_seed += 1

    def step(self) -> None:
        """Take what has come; replace what has died or takes too long."""
        pipes: dict[Connection, int] = {w.pipe: k for k, w in enumerate(self.workers)}
        for ready in wait(list(pipes), timeout=1.0):
            assert isinstance(ready, Connection)
            k = pipes[ready]
            try:
                self.record(ready.recv())
            except (EOFError, OSError):
                self.lost(k, "Crash: the process died")
                continue
            if self.workers[k].served >= self.retires_after:
                self.workers[k].end()
                self.workers[k] = self.hire()
            else:
                self.assign(self.workers[k])
        for k, worker in enumerate(self.workers):
            if time.monotonic() - worker.began > self.limit_s:
                self.lost(k, f"Hang: no result after {self.limit_s:.0f} s")

    def lost(self, k: int, symptom: str) -> None:
        """A crash of a quick trial is made smaller by the next worker; others are recorded."""
        worker = self.workers[k]
        worker.end()
        code, seed = worker.process.exitcode, worker.seed
        if self.mode.quick and symptom.startswith("Crash") and seed >= 0:
            self.again.append(seed)
        else:
            seed = seed if seed >= 0 else ~seed
            self.record(Outcome.of_lost(seed, f"{symptom} ({code})", self.mode))
        self.workers[k] = self.hire()

    def record(self, outcome: Outcome) -> None:
        if self.tally.add(outcome):
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"test_found_{outcome.seed}.py"
            path.write_text(outcome.as_test(), encoding="utf-8")
            print(f"\n{outcome.symptom}\n  seed {outcome.seed}, kept as {path}", flush=True)

    def close(self) -> None:
        for worker in self.workers:
            worker.end()


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.property.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--programs", type=int, default=0, help="end after so many")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=int(time.time()) * 1000 % 10**9)
    parser.add_argument("--folder", type=Path, default=Path("runs/fuzz"))
    parser.add_argument("--quick", action="store_true", help="two judges, one compilation each")
    parser.add_argument("--malloc-check", action="store_true", help="glibc checks the heap")
    parser.add_argument(
        "--checks", choices=("", "addresses", "loops", "memory"), default="", help=CHECKED
    )
    return parser.parse_args(arguments)


def check_heap() -> None:
    """Have glibc check and fill the heap of every process that starts from now on.

    Errors: FileNotFoundError where the library that holds these checks is missing.
    """
    os.environ.update(MALLOC)
    library = os.confstr("CS_GNU_LIBC_VERSION") or "another 0"
    version = tuple(map(int, library.split()[-1].split(".")))
    if version >= (2, 34):
        try:
            ctypes.CDLL(MALLOC_DEBUG)
        except OSError as missing:
            raise FileNotFoundError(f"{MALLOC_DEBUG} is needed by --malloc-check") from missing
        os.environ["LD_PRELOAD"] = MALLOC_DEBUG


def require_checks(watched: str) -> None:
    """Compile with the checks that are asked for, so that a missing option is no silent one.

    Errors: OptionError.
    """
    import ostinato as ot

    if watched not in ("", "loops", "memory"):
        ot.Program(y=ot.input("x") * 2.0).compile(checks=watched)


def fuzz(chosen: argparse.Namespace, cache: Path) -> Tally:
    """Keep the workers busy until the time is over."""
    from tests.property.constructs import TABLE, TAME

    began, told = time.monotonic(), 0.0
    known = len(TABLE if chosen.quick else TAME)
    mode = Mode(chosen.quick, chosen.checks)
    fuzzer = Fuzzer(chosen.workers, chosen.seed, chosen.folder, cache, mode)
    most = chosen.programs or float("inf")
    try:
        while time.monotonic() - began < 60 * chosen.minutes and fuzzer.tally.trials < most:
            fuzzer.step()
            if time.monotonic() - told > 10:
                told = time.monotonic()
                print(fuzzer.tally.line(known, (told - began) / 60), flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        fuzzer.close()
    unused = sorted((TABLE if chosen.quick else TAME).keys() - fuzzer.tally.constructs.keys())
    print(f"\n{fuzzer.tally.table(known, (time.monotonic() - began) / 60)}")
    print(f"\nconstructs never used: {', '.join(unused) or 'none'}")
    return fuzzer.tally


def main(arguments: list[str]) -> int:
    """Fuzz; the result is 1 if anything failed."""
    chosen = parsed(arguments)
    print(f"seeds from {chosen.seed}, {chosen.workers} workers, {chosen.minutes:g} minutes")
    if chosen.checks and not chosen.quick:
        raise SystemExit("--checks is for --quick")
    try:
        require_checks(chosen.checks)
    except OptionError as error:
        print(f"this compiler has no checks={chosen.checks!r}: {error}")
        return 2
    if chosen.malloc_check:
        check_heap()
    with tempfile.TemporaryDirectory(prefix="ostinato-fuzz-") as cache:
        return 1 if fuzz(chosen, Path(cache)).symptoms else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
