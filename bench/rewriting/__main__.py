"""``python -m bench.rewriting``: predicted against measured time over the corpus."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.harness.machine import machine
from bench.rewriting.compiling import compile_forms, compiled_forms
from bench.rewriting.corpus import CORPUS, Case
from bench.rewriting.judging import Summary, Verdict, summary, verdicts
from bench.rewriting.timing import Sampling, Timed, time_forms, use_new_memory
from ostinato.machine.profile_store import current, profile_in_use

QUICK = ("returns, recurrence", "mlp, forward")
QUICK_EXTENT = 16


def main(arguments: Sequence[str] | None = None) -> None:
    """Run both phases, or the one that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.rewriting", description=__doc__)
    parser.add_argument("--json", type=Path, help="also write every figure here")
    parser.add_argument("--table", type=Path, help="also write a table for RESULTS.md here")
    parser.add_argument("--quick", action="store_true", help="two programs at tiny sizes")
    parser.add_argument("--compile-only", action="store_true", help="only the first phase")
    parser.add_argument("--time-only", action="store_true", help="only the second phase")
    parser.add_argument("--only", nargs="*", help="words of the names of programs")
    parser.add_argument("--alternatives", type=int, default=6, help="other forms per program")
    parser.add_argument("--samples", type=int, default=9, help="samples per form")
    parser.add_argument(
        "--processor-time", action="store_true", help="one worker on a machine that others use"
    )
    parser.add_argument("--threads", type=int, default=1, help="workers")
    given = parser.parse_args(arguments)
    cases, console = chosen_cases(given.only, given.quick), Console()
    console.print(f"profile: {current()}", markup=False, soft_wrap=True)
    if not given.time_only:
        compile_forms(cases, given.alternatives, given.threads, console.print)
    if given.compile_only:
        return
    about, by_name = machine(), {case.name: case for case in cases}
    clock = time.process_time if given.processor_time else time.perf_counter
    sampling = Sampling(given.samples, clock)
    if not use_new_memory():
        console.print("the allocator keeps freed memory: equal forms may differ")
    records = compiled_forms(given.threads, console.print)
    timed = time_forms(records, by_name, given.threads, sampling, profile_in_use(), console.print)
    found, total = verdicts(timed), summary(timed)
    show(found, total, console)
    console.print(", ".join(f"{name} {value}" for name, value in about.items()))
    if given.table is not None:
        given.table.write_text(markdown(found, total))
    if given.json is not None:
        given.json.write_text(json.dumps(as_json(timed, found, total, about), indent=1) + "\n")


def chosen_cases(words: Sequence[str] | None, quick: bool) -> list[Case]:
    """The programs whose names hold a word; for a quick look two of them, tiny."""
    if quick:
        found = [case for case in CORPUS if case.name in QUICK]
        return [replace(c, extents=dict.fromkeys(c.extents, QUICK_EXTENT)) for c in found]
    return [c for c in CORPUS if not words or any(word in c.name for word in words)]


def as_json(
    timed: Sequence[Timed], found: Sequence[Verdict], total: Summary, about: dict[str, object]
) -> dict[str, object]:
    """Every figure, for other programs."""
    return {
        "machine": about,
        "profile": profile_in_use().name,
        "summary": asdict(total),
        "programs": [asdict(v) for v in found],
        "forms": [asdict(t) for t in timed],
    }


HEADINGS = ("program", "forms", "chosen ms", "predicted", "over best", "best", "rank", "error")


def show(found: Sequence[Verdict], total: Summary, console: Console) -> None:
    """One line per program, then the figures of the corpus."""
    table = Table(title="predicted against measured", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("program", "best") else "right")
    for verdict in found:
        table.add_row(*row(verdict))
    console.print(table)
    console.print(in_words(total), soft_wrap=True)


def markdown(found: Sequence[Verdict], total: Summary) -> str:
    """The same as a table of bench/RESULTS.md."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *map(row, found)]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", in_words(total), ""])


def row(v: Verdict) -> tuple[str, ...]:
    """One program; times are milliseconds."""
    return (
        v.program,
        str(v.forms),
        f"{v.chosen.measured_ns / 1e6:.2f}",
        f"{v.chosen.predicted_ns / 1e6:.2f}",
        f"{v.over_best:.2f}",
        v.best.form,
        f"{v.rank:.2f}",
        f"{v.error:.0%}",
    )


def in_words(total: Summary) -> str:
    return (
        f"{total.forms} forms: rank correlation {total.rank:.3f} over all, {total.rank_within:.2f} "
        f"within a program (median); median error {total.error:.0%}, of chosen forms "
        f"{total.error_of_chosen:.0%}; the chosen form is within 10 % of the best for "
        f"{total.good:.0%} of programs; e-graph prices alone rank {total.rank_rewritten:.3f}."
    )


if __name__ == "__main__":
    main()
