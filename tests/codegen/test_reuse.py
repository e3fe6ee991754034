"""The proof of storage rejects slots that are reused too early."""

from dataclasses import replace

import pytest

from ostinato.codegen.memory.reuse import check_storage, prover
from ostinato.codegen.memory.storage import Slot, Storage, place_tensors
from ostinato.codegen.planning.scheduler import Scheduled
from ostinato.codegen.systems.tile import Tiled
from ostinato.pdg.condition import ALWAYS, at_least
from ostinato.pdg.index import expr
from tests.codegen.builder import Builder, number
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
