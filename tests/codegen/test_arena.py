"""Offsets: disjoint where they must be, shared where they may be."""

import itertools
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.memory.storage import Slot
from ostinato.codegen.planning.arena import layout, sizes_bytes
from ostinato.codegen.planning.skyline import packed, tries
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
    local = [n for n, s in PLAN.storage.items() if s.place == "local"]
    low = min(place.offsets[n] for n in local)
    high = low + 3 * place.local_stride
    assert all(low <= place.offsets[n] < low + place.local_stride for n in local)
    shared = [(place.offsets[n], sizes[n]) for n in PLAN.lives]
    assert all(at + size <= low or at >= high for at, size in shared)


@pytest.mark.parametrize("name", ["x0", "r"])  # of all workers, and of each
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


HEIGHT = 1 << 20


@dataclass(frozen=True)
class Part:
    """A part of a full arena."""

    name: str
    size: int
    first: int
    last: int


def cut(count: int, seed: int, wheels: float = 0.0, phases: int = 200) -> list[Part]:
    """An arena that is full at all times, cut into so many blocks: its height is the optimum.

    Of the cuts a share are ``wheels``, five blocks around each other that no straight cut parts.
    Source: the instances without slack of Moffitt 2023, MiniMalloc.
    """
    chance = random.Random(seed)
    boxes = [(0, phases, 0, HEIGHT)]
    while len(boxes) < count:
        few = chance.sample(range(len(boxes)), min(4, len(boxes)))
        k = max(few, key=lambda k: (boxes[k][1] - boxes[k][0]) * (boxes[k][3] - boxes[k][2]))
        start, end, low, high = boxes[k]
        phase, place = range(start + 1, end), range(low + 64, high, 64)
        if wheels and chance.random() < wheels and len(phase) > 1 and len(place) > 1:
            (a, b), (c, d) = sorted(chance.sample(phase, 2)), sorted(chance.sample(place, 2))
            around = [(start, b, low, c), (b, end, low, d), (a, end, d, high), (start, a, c, high)]
            boxes[k : k + 1] = [*around, (a, b, c, d)]
        elif phase and chance.random() < 0.5:
            at = chance.choice(phase)
            boxes[k : k + 1] = [(start, at, low, high), (at, end, low, high)]
        elif place:
            at = chance.choice(place)
            boxes[k : k + 1] = [(start, end, low, at), (start, end, at, high)]
    return [Part(f"t{k}", d - c, a, b - 1) for k, (a, b, c, d) in enumerate(boxes)]


@pytest.mark.parametrize("wheels", [0.0, 0.3])
@pytest.mark.parametrize(("count", "most"), [(30, 1.0), (100, 1.0), (300, 1.22), (1000, 1.25)])
def test_full_arenas_in_pieces_are_put_together_again(
    count: int, most: float, wheels: float
) -> None:
    for seed in range(3):
        parts = cut(count, seed, wheels)
        offsets, total = packed(parts, HEIGHT)
        assert HEIGHT <= total <= most * HEIGHT
        for phase in range(200):
            now = [p for p in parts if p.first <= phase <= p.last]
            rows = sorted((offsets[p.name], offsets[p.name] + p.size) for p in now)
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(rows))


def layers(seed: int, count: int = 60) -> list[Part]:
    """Layers whose values are read again in the reverse order, and values between two phases."""
    chance, out = random.Random(seed), list[Part]()
    for k in range(count):
        size = 64 * chance.choice([1, 2, 4, 8, 16, 64, chance.randint(1, 200)])
        out.append(Part(f"layer{k}", size, k, 2 * count - k))
        for j in range(chance.randint(0, 3)):
            at = chance.randrange(2 * count - 2)
            out.append(Part(f"{k}.{j}", 64 * chance.randint(1, 300), at, at + chance.randint(0, 2)))
    return out


def test_what_has_no_size_takes_no_room_between_others() -> None:
    full = [Part(f"f{k}", 64, k, k) for k in range(9)]
    none = [Part(f"n{k}", 0, k % 9, k % 9 + k % 2) for k in range(8)]
    offsets, total = packed([*full, *none], 64)
    assert total == 64 and len(offsets) == 17


def test_a_long_block_is_found_behind_many_short_ones() -> None:
    """Chains are looked for among the first lives of a stretch; a long one may be better."""
    long = [Part(f"long{k}", 64, 0, 999) for k in range(3)]
    short = [Part(f"s{k}", 64 * (k % 5 + 1), k, k) for k in range(1000)]
    offsets, total = packed([*long, *short], 64 * 8)
    assert total == 64 * 8 and {offsets[p.name] for p in long} == {0, 64, 128}


def test_layers_and_their_gradients_take_the_least_that_is_possible() -> None:
    for seed in range(6):
        parts = layers(seed)
        now = (sum(p.size for p in parts if p.first <= k <= p.last) for k in range(121))
        bound = max(now)
        assert packed(parts, bound)[1] <= 1.01 * bound


def pieces(count: int) -> list[Part]:
    return cut(count, 0, phases=count // 5)


def deep(count: int) -> list[Part]:
    return layers(0, count // 3)


@pytest.mark.parametrize("made", [pieces, deep])
def test_the_time_of_packing_grows_little_faster_than_the_number_of_tensors(
    made: Callable[[int], list[Part]],
) -> None:
    def seconds(count: int) -> float:
        parts = made(count)
        started = time.process_time()
        packed(parts, 0)
        return (time.process_time() - started) / tries(count)

    assert seconds(8000) < 3 * 8 * 1.3 * seconds(1000)  # n log n; as its square it were 64
