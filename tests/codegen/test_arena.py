"""Offsets: disjoint where they must be, shared where they may be."""

import itertools
import pickle
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.memory.storage import Slot
from ostinato.codegen.planning.arena import layout, sizes_bytes
from ostinato.pdg.index import Extent, expr
from tests.codegen.on_cpu import plan
from tests.codegen.programs import reinforce

PLAN = plan(reinforce({"B": 7, "I": 3, "T": 5}).system())


@given(st.integers(1, 99), st.integers(1, 9), st.integers(1, 50), st.integers(1, 4))
def test_tensors_in_use_together_never_overlap(b: int, i: int, t: int, workers: int) -> None:
    extents = {"B": b, "I": i, "T": t}
    place, sizes = layout(PLAN, extents, workers), sizes_bytes(PLAN, extents)
    for x, y in itertools.combinations(PLAN.lives, 2):
        apart = not PLAN.lives[x].meets(PLAN.lives[y])
        first, second = place.offsets[x], place.offsets[y]
        assert apart or first + sizes[x] <= second or second + sizes[y] <= first, (x, y)


def test_local_copies_stay_apart_from_everything_else() -> None:
    extents = {"B": 70, "I": 3, "T": 5}
    place, sizes = layout(PLAN, extents, 3), sizes_bytes(PLAN, extents)
    local = [n for n, s in PLAN.storage.items() if s.place == "local" and not s.shares]
    low = min(place.offsets[n] for n in local)
    high = low + 3 * place.local_stride
    assert all(low <= place.offsets[n] < low + place.local_stride for n in local)
    shared = [(place.offsets[n], sizes[n]) for n in PLAN.lives]
    assert all(at + size <= low or at >= high for at, size in shared)


@pytest.mark.parametrize("name", ["x0", "lg"])  # of all workers, and of each
def test_a_tensor_with_less_than_no_rows_takes_no_memory_from_others(name: str) -> None:
    """Of ``B`` rows the first ``B-8`` are none, also where ``B`` is 1: its bytes were negative."""
    whole = PLAN.storage[name]
    few = replace(whole, slots=(Slot(whole.slots[-1].dim, "full", expr(Extent("B")) - 8),))
    changed = replace(PLAN, storage={**PLAN.storage, name: few})
    usual = sizes_bytes(PLAN, {"B": 1, "I": 3, "T": 5})
    assert sizes_bytes(changed, {"B": 1, "I": 3, "T": 5}) == {**usual, name: 0}
    assert sizes_bytes(changed, {"B": 9, "I": 3, "T": 5})[name] > 0


def test_memory_is_reused_between_phases() -> None:
    extents = {"B": 512, "I": 3, "T": 50}
    place, sizes = layout(PLAN, extents, 1), sizes_bytes(PLAN, extents)
    assert place.lower_bound_bytes <= place.total_bytes < sum(sizes[n] for n in place.offsets)


def test_offsets_are_whole_cache_lines() -> None:
    assert all(
        o % CPU.line_bytes == 0 for o in layout(PLAN, {"B": 7, "I": 3, "T": 5}, 2).offsets.values()
    )


def test_most_tensors_of_whole_pages_start_at_different_places_of_a_page() -> None:
    extents = {"B": 512, "I": 3, "T": 512}
    place, sizes = layout(PLAN, extents, 1), sizes_bytes(PLAN, extents)
    large = [n for n in PLAN.lives if sizes[n] % CPU.page_bytes == 0]
    starts = {place.offsets[n]: place.offsets[n] % CPU.page_bytes for n in large}
    assert len({*starts.values()}) > 0.8 * len(starts) > 2


def test_a_plan_is_loaded_without_the_integer_sets() -> None:
    text = pickle.dumps(PLAN).hex()
    code = (
        "import pickle, sys; from ostinato.codegen.planning.arena import layout;"
        f"layout(pickle.loads(bytes.fromhex('{text}')), dict(B=7, I=3, T=5), 2);"
        "assert 'islpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-"], input=code.encode(), check=True)
