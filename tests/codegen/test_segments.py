"""Later loops that compute the steps of a segment again, from what is kept at its start."""

import random

import pytest

from ostinato.codegen.ir.system import Kind
from ostinato.codegen.planning import segmented_plan
from ostinato.codegen.planning.long_lived import Kept, kept
from ostinato.codegen.planning.plan import Plan, plan
from ostinato.codegen.planning.rematerialise import Unavailable, is_read_by_step
from ostinato.codegen.planning.segmented_plan import Search, fewest_again
from ostinato.codegen.planning.segments import Segmented, in_segments, segments_of
from ostinato.codegen.planning.step_by_step import step_by_step
from ostinato.codegen.planning.within_limit import Room, fitted
from ostinato.codegen.systems.value_numbering import joined
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal, holds
from ostinato.pdg.index import Dim, Extent, evaluate, expr
from tests.codegen.builder import Builder
from tests.codegen.compare import assert_computes
from tests.codegen.invented import invent
from tests.codegen.judge import Point
from tests.codegen.on_cpu import options
from tests.codegen.test_lighter import SIZES, WIDTHS, alone, there_and_back


@pytest.mark.parametrize("seed", [7, 14, 22, 40, 42, 51])
def test_segments_keep_the_meaning_of_invented_systems(seed: int) -> None:
    system, arrays = invent(seed)
    chance = random.Random(seed)
    sizes = {"B": 5, "I": chance.choice([3, 5]), "T": chance.choice([4, 7, 9])}
    given, made, inner = system, plan(system, options(WIDTHS)), chance.choice([1, 2])
    dims = {d for k in kept(made, sizes, 1) for d in k.dims if d not in made.tiles}
    dim = max(dims, key=lambda d: d.serial)
    for length, last in ((2 * inner, chance.choice([0, 1, 2])), (inner, 0)):
        given = joined(given, made.same)
        found = kept(made, sizes, 1)
        wanted = [k.tensor for k in found if dim in k.dims and is_read_by_step(given, k)]
        changed = in_segments(given, found, segments_of(dim, length), wanted, last)
        given, dim = changed.system, changed.segments.place
        made = plan(given, options(WIDTHS))
        assert_computes(system, sizes, arrays, made, seed)


def in_two(steps: int, length: int, last: int = 0) -> tuple[Builder, Segmented, Plan]:
    """A recurrence there and back whose loop of steps is in segments; the results are right."""
    p = there_and_back()
    p.arrays = {}
    sizes = {"B": 5, "T": steps}
    p.input("x", "b t", "h", sizes)
    made = plan(p.system(), options(WIDTHS))
    found = kept(made, sizes, 1)
    wanted = [k.tensor for k in found]
    changed = in_segments(p.system(), found, segments_of(p.d["t"], length), wanted, last)
    planned = plan(changed.system, options(WIDTHS))
    assert_computes(p.system(), sizes, p.arrays, planned)
    return p, changed, planned


def slots(planned: Plan, name: str) -> list[str]:
    """How many points are stored of each dim that more than one is stored of."""
    return [str(s.extent) for s in planned.storage[name].slots if s.kind != "one"]


@pytest.mark.parametrize(("steps", "length"), [(1, 3), (6, 3), (7, 3), (7, 8)])
def test_the_first_loop_keeps_the_starts_of_segments_only(steps: int, length: int) -> None:
    _, _, planned = in_two(steps, length)
    assert slots(planned, "e") == slots(planned, "f") == []
    assert slots(planned, "e_before1") == [f"(T+{length - 1}) // {length}"]
    assert slots(planned, "e_again") == [str(length)]


@pytest.mark.parametrize("last", [1, 2])
def test_the_last_segments_keep_all_steps_in_a_ring(last: int) -> None:
    _, changed, planned = in_two(7, 2, last)
    assert slots(planned, "e") == [str(last)] * (last > 1) + ["2"]
    seg = changed.segments
    clauses = planned.statements["f_again"].clauses
    points: list[Point] = [{Extent("T"): 7, seg.number: t // 2, seg.place: t % 2} for t in range(7)]
    again = [t for t, point in enumerate(points) if not holds(clauses[0][0], point)]
    assert again == list(range(7))[: 2 * (4 - last)]


def test_segments_of_a_place_end_with_the_longer_segment() -> None:
    t = Dim("t")
    outer = segments_of(t, 6)
    inner = segments_of(outer.place, 2)
    steps: list[int] = []
    for k in range(evaluate(outer.number.extent, {Extent("T"): 15})):
        at: Point = {Extent("T"): 15, outer.number: k}
        for n in range(evaluate(inner.number.extent, at)):
            at[inner.number] = n
            for u in range(evaluate(inner.place.extent, at)):
                steps.append(6 * k + 2 * n + u)
    assert steps == list(range(15))


def test_a_limit_chooses_the_lengths_and_the_levels() -> None:
    p = there_and_back()
    sizes = {"B": 5, "T": 1000}
    usual = plan(p.system(), options(WIDTHS))
    p.outputs = ["first"]
    p.add("first", "b", "h", p("r", t=0))
    usual = plan(p.system(), options(WIDTHS))
    free = Room(0, sizes, alone)
    extents = free.bytes_of(usual)
    given = 5 * 1000 * 3 * 8  # the argument takes that, whatever is done
    for share, levels in ((0.1, 1), (0.03, 2)):
        limit = given + int(share * (extents - given))
        made = fitted(p.system(), options(WIDTHS), Room(limit, sizes, alone))
        assert free.bytes_of(made) <= limit
        assert made.changes[0].count("in segments of") == levels


def shifted(k: int) -> Builder:
    """A recurrence, and one that goes back and reads the first some steps ahead."""
    p = Builder("b t", {"h": 3})
    t, last = expr(p.d["t"]), expr(Extent("T")) - 1
    p.input("x", "b t", "h", {"B": 3, "T": 11})
    p.add("f", "b t", "h", 0.0)
    p.add("f", "b t", "h", [(equal(t, 0), p("x")), (ALWAYS, p("f", t=t - 1) * 0.5 + p("x"))])
    p.add("r", "b t", "h", 0.0)
    inside: Cond = at_least(t + k, 0) if k < 0 else at_least(last, t + k)
    step = p("r", t=t + 1) * p("f") + p("x")
    p.add(
        "r",
        "b t",
        "h",
        [(equal(t, last), p("f")), (inside, step + p("f", t=t + k)), (ALWAYS, step)],
    )
    p.outputs = ["r"]
    return p


def in_fours(p: Builder) -> Segmented:
    found = kept(plan(p.system(), options(WIDTHS)), SIZES, 1)
    return in_segments(p.system(), found, segments_of(p.d["t"], 4), ["f"])


@pytest.mark.parametrize("k", [-3, -1, 2, 4])
def test_reads_across_the_ends_of_segments_find_their_values(k: int) -> None:
    planned = plan(in_fours(shifted(k)).system, options(WIDTHS))
    assert_computes(shifted(k).system(), {"B": 3, "T": 11}, shifted(k).arrays, planned)


def test_what_is_read_farther_than_a_segment_stays_in_memory() -> None:
    with pytest.raises(Unavailable, match="f"):
        in_fours(shifted(5))


@pytest.mark.parametrize(("kind", "ahead"), [("matmul", 0), ("matmul", 1), ("map", 1)])
def test_a_sum_over_all_steps_is_taken_step_by_step(kind: Kind, ahead: int) -> None:
    p = there_and_back()
    steps = expr(Extent("T")) - ahead
    p.axes = {"h": 3, "m": 3, "k": steps}
    p.a |= {n: Dim(n) for n in "mk"}
    k = expr(p.a["k"])
    body = p("e", "m", t=k) * p("r", "h", t=k + ahead)
    p.add("s", "b", "m h k", body, kind, over="k")
    p.outputs = ["s"]
    system = step_by_step(p.system(), p.d["t"])
    assert p.d["t"] in system.statements["s"].reduced
    planned = plan(system, options(WIDTHS))
    assert_computes(p.system(), SIZES, p.arrays, planned)
    assert slots(planned, "r") == ["2"] * ahead


@pytest.mark.parametrize("seed", [8, 17, 31])
def test_the_least_memory_that_is_found_keeps_the_meaning(seed: int) -> None:
    system, arrays = invent(seed)
    sizes = {"B": 5, "I": 4, "T": 9}
    planned = fitted(system, options(WIDTHS), Room(1, sizes, alone))
    assert_computes(system, sizes, arrays, planned, seed)


def test_values_that_can_be_computed_again_are_found_in_few_trials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    t, trials = Dim("t"), list[tuple[str, ...]]()
    found = [Kept(f"v{n}", 8, {}, frozenset(), frozenset({t})) for n in range(64)]

    def trial(system: object, kept: object, segments: object, wanted: tuple[str, ...]) -> None:
        trials.append(wanted)
        if "v9" in wanted or {"v20", "v50"} <= {*wanted}:
            raise Unavailable("v9")

    monkeypatch.setattr(segmented_plan, "in_segments", trial)
    monkeypatch.setattr(segmented_plan, "is_read_by_step", _always)
    p = there_and_back()
    usual = plan(p.system(), options(WIDTHS))
    search = Search(p.system(), usual, options(WIDTHS), {"T": 99}, 1, _unranked, _no_bytes, 0)
    assert search.wanted(found, t) == tuple(
        k.tensor for k in found if k.tensor not in {"v9", "v50"}
    )
    assert len(trials) < 32


def _always(*_: object) -> bool:
    return True


def _unranked(_: Plan) -> tuple[float, float]:
    return 0.0, 0.0


def _no_bytes(_: Plan) -> int:
    return 0


def test_no_scheme_computes_fewer_steps_again() -> None:
    best: dict[tuple[int, int], int] = {}  # steps, states that may be kept: by every first choice
    for steps in range(1, 15):
        best[steps, 1] = steps * (steps - 1) // 2
        for s in range(2, 6):
            split = (at + best[steps - at, s - 1] + best[at, s] for at in range(1, steps))
            best[steps, s] = min(split, default=0)
    for (steps, s), evaluated in best.items():
        assert fewest_again(steps, s) == evaluated - (steps - 1)
