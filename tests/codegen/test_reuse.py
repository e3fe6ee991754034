"""The proof of storage rejects slots that are reused too early."""

from dataclasses import replace

import pytest

from ostinato.codegen.memory import reuse
from ostinato.codegen.memory.reuse import check_storage, overwritten, prover
from ostinato.codegen.memory.storage import Slot, Storage, place_tensors
from ostinato.codegen.planning.scheduler import Scheduled
from ostinato.codegen.scheduling.legality import check_schedule
from ostinato.codegen.systems.partial_folds import with_fills
from ostinato.codegen.systems.tile import Tiled
from ostinato.pdg.condition import ALWAYS, at_least
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.isl import Relation
from tests.codegen.builder import Builder, number
from tests.codegen.invented import invent
from tests.codegen.on_cpu import schedule, tile


def window() -> tuple[Tiled, Scheduled, dict[str, Storage]]:
    """``y[t] = x[t] - x[t - 3]``, whose ``x`` has four slots."""
    p = Builder("t", {})
    t = p.d["t"]
    p.add("x", "t", "", number(t))
    p.add("y", "t", "", [(at_least(2, t), p("x")), (ALWAYS, p("x") - p("x", t=t - expr(3)))])
    p.outputs = ["y"]
    tiled = tile(p.system(), {}, 1)
    found = schedule(tiled, frozenset({"y"}))
    storage = place_tensors(found.trees, found.units, found.deps, frozenset({"y"}), tiled.spans)
    return tiled, found, storage


def test_the_chosen_slots_are_proved() -> None:
    _, found, storage = window()
    assert storage["x"].slots[0].extent == expr(4)
    check_storage(prover(found.trees), storage, found.deps)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_fewer_slots_are_rejected(count: int) -> None:
    _, found, storage = window()
    x = storage["x"]
    slot = Slot(x.slots[0].dim, "one" if count == 1 else "circular", expr(count))
    with pytest.raises(AssertionError, match="x is overwritten before y reads it"):
        check_storage(prover(found.trees), storage | {"x": replace(x, slots=(slot,))}, found.deps)


def test_what_another_plan_asked_is_known_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found, storage = window()
    asked: list[object] = []

    def counted(*of: Relation) -> Relation:
        asked.append(tuple(each.key for each in of))
        return overwritten(*of)

    monkeypatch.setattr(reuse, "_KEPT", {})
    monkeypatch.setattr(reuse, "overwritten", counted)
    for _ in range(2):
        check_storage(prover(found.trees, by_isl=True), storage, found.deps)
    answered, x = len(asked), storage["x"]
    fewer = storage | {"x": replace(x, slots=(Slot(x.slots[0].dim, "one", expr(1)),))}
    with pytest.raises(AssertionError):
        check_storage(prover(found.trees, by_isl=True), fewer, found.deps)
    assert 0 < answered == len({*asked[:answered]}) < len(asked)


def test_when_a_value_is_read_decides_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_KEPT", {})
    _, found, storage = window()
    (far,) = (d for d in found.deps if d.gap(d.consumer.dims[0]) == (3, 3))
    x, usual = storage["x"], prover(found.trees, by_isl=True)
    three = replace(x, slots=(Slot(x.slots[0].dim, "circular", expr(3)),))
    moment = usual.when["y"]
    place = moment.time.index(moment.path[-1]) + 1
    first = replace(moment, time=(*moment.time[:place], -1))  # reads before the write of its step
    earlier = replace(usual, when={**usual.when, "y": first}, known={})
    assert not usual.is_safe(far, three) and earlier.is_safe(far, three)


def slots(dim: Dim) -> list[Slot]:
    """Fewer and more than a window needs."""
    return [Slot(dim, "one", expr(1)), *(Slot(dim, "circular", expr(n)) for n in (2, 3, 4))]


@pytest.mark.parametrize("seed", range(6))
def test_what_the_loops_alone_show_isl_proves(seed: int) -> None:
    system, _ = invent(seed)
    outputs = frozenset(system.outputs.values())
    tiled = tile(system, {"b": 3}, 2)
    found = schedule(tiled, outputs)
    storage = place_tensors(found.trees, found.units, found.deps, outputs, tiled.spans)
    trees = with_fills(found.trees, found.statements)
    quick, slow = prover(trees), prover(trees, by_isl=True)
    check_schedule(found.trees, found.units, found.deps, by_isl=True)
    for dep in (d for d in found.deps if d.tensor in storage):
        chosen = storage[dep.tensor]
        for k, slot in enumerate(chosen.slots):
            for other in slots(slot.dim):
                tried = replace(chosen, slots=(*chosen.slots[:k], other, *chosen.slots[k + 1 :]))
                assert slow.is_safe(dep, tried) or not quick.is_evident(dep, tried)
