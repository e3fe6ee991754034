"""Ways to take less memory: each, and all together, gives the bits of the usual plan."""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import PropertyMock, patch

from ostinato.certificate.slots import Misplaced
from ostinato.certificate.timeline import layouts_of, timeline_of
from ostinato.certificate.transfer_proof import check_transfers
from ostinato.codegen.planning import block_moves
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.transfers import Movable
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.functions import Array
from ostinato.runtime.cache.programs import Later
from tests.property.judge import Bench, Disagreement, outermost, records_of, within
from tests.property.tolerance import unlike

WAYS: Mapping[str, dict[str, Any]] = {
    "computing again": {"without": ("late readers", "segments")},
    "late readers": {"without": ("computing again", "segments")},
    "segments": {"without": ("computing again", "late readers")},
    "a file": {"spill": True, "without": ("computing again", "late readers", "segments")},
    "all ways": {"spill": True},
}
SHARES = (0.0, 0.0, 0.3, 0.6, 0.9)  # of the usual peak
POINTS = (1 << 17, 1 << 17, 200, 40)  # of a plan that is written out: others have parts
FINE_BYTES = 64  # of a page, so that small histories have many blocks


def in_little_memory(bench: Bench, options: Mapping[str, Any]) -> None:
    """Run a program in two ways at random limits, and read it as a stream of few records.

    Errors: Disagreement.
    """
    chance = random.Random(bench.trial.seed)
    given = bench.given(chance.choice(bench.trial.extents))
    at = {name: given[name] for name in bench.program.extents if name in given}
    checks = chance.choice((False, False, "addresses"))
    base: dict[str, Any] = {**options, "exact": True, "checks": checks, "hints": at}
    usual = bench.program.compile(**base)
    expected = bench.run(usual, given)
    peak = usual.explain(**at).memory.predicted_peak_bytes
    for name in chance.sample(sorted(WAYS), 2):
        way = WAYS[name]
        limit = 1 + int(chance.choice(SHARES) * peak)
        without = *options.get("without", ()), *way.get("without", ())
        with fine_blocks(chance) if way.get("spill") else nullcontext():
            made = within(limit, bench.program, **{**base, **way, "without": without})
            require_same(f"{name} within {limit} bytes", bench.run(made, given), expected)
            require_bytes(name, made, at)
            require_proof(name, made, at)
    require_records(usual, bench, given, chance.randint(1, 3))


@contextmanager
def fine_blocks(chance: random.Random) -> Generator[None]:
    """Plans are made for small pages, and some of them as if their lists were long."""
    page, points = chance.choice((FINE_BYTES, FINE_BYTES, 4096)), chance.choice(POINTS)
    small = patch.object(Movable, "_page", new_callable=PropertyMock, return_value=page)
    with small, patch.object(block_moves, "MOST_POINTS", points):
        yield


def require_proof(what: str, made: Compiled, at: Mapping[str, int]) -> None:
    """The transfers of a plan are proved, by code that shares none with the planner."""
    kept = made.executable.artifact.place  # of a plan, of which it is a function
    place: Any = kept.function if isinstance(kept, Later) else kept
    plan, most = place.args[0], place.keywords["most_in_memory"]
    assert isinstance(plan, Plan), "a layout is that of a plan"
    for workers in (1, 2):
        (layout,) = layouts_of(plan, workers, [at], most)
        try:
            check_transfers(timeline_of(plan), layout, workers)
        except Misplaced as refused:
            raise Disagreement(f"the transfers of {what} are refused: {refused}") from refused


def require_same(what: str, found: Mapping[str, Array], expected: Mapping[str, Array]) -> None:
    wrong = unlike(found, expected, sorted(expected))
    if wrong:
        raise Disagreement(f"{what} changes bits: {'; '.join(wrong)}")


def require_bytes(what: str, made: Compiled, at: Mapping[str, int]) -> None:
    """The memory of the last run is what was predicted, and no more than the limit."""
    use, executable = made.explain(**at).memory, made.executable
    limit, frame = executable.artifact.memory_limit, executable.frame(dict(at))
    taken = frame.arena.size - use.file_bytes
    whole = frame.layout.total_bytes - use.file_bytes
    if use.predicted_peak_bytes > limit or taken > whole or whole > limit + 2**16:
        fact = f"takes {taken} bytes and predicts {use.predicted_peak_bytes}, of {limit}"
        raise Disagreement(f"{what} {fact}")


def require_records(made: Compiled, bench: Bench, given: Mapping[str, Any], keep: int) -> None:
    """A stream of which few records have room has the records of one that keeps all."""
    names = outermost(made, bench.program.outputs)
    if names:
        few, whole = (records_of(made, bench, given, n, names) for n in (keep, "all"))
        require_same(f"a stream that keeps {keep}", few, whole)
