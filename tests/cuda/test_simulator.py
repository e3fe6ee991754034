"""The simulator traps what a device would do without a word."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.cuda.device_functions import fma
from tests.cuda.programs import Made, network, sums
from tests.cuda.simulator import Fault, Grid, Memory, launch, simulated

pytestmark = pytest.mark.cuda_sim

SUM = """
@kernel
def main(arena, count):
    thread = block_thread()
    threads = block_threads()
    block = grid_block()
    arena.float32[block * threads + thread] = f32(1.0)
    {inner}
    if thread == 0:
        total = f32(0.0)
        for k in range(threads):
            total = total + arena.float32[block * threads + k]
        arena.float32[count + block] = total
    {outer}
    if block == 0 and thread == 0:
        arena.float32[count + 8] = arena.float32[count] + arena.float32[count + 1]
"""
BOTH = {"inner": "block_barrier()", "outer": "grid_barrier()"}


def run(source: str, *args: int, blocks: int = 2, threads: int = 3) -> npt.NDArray[np.float32]:
    arena = np.full(256, 0xFF, np.uint8)
    memory = Memory(arena)
    given: Sequence[object] = (memory.views(), *args)
    launch(simulated(source)["main"], blocks, threads, memory, given, random.Random(1))
    return arena.view(np.float32)


def test_blocks_meet_at_a_barrier_of_the_grid() -> None:
    assert run(SUM.format(**BOTH), 10)[18] == 6.0


@pytest.mark.parametrize(
    ("missing", "fact"),
    [
        ({"inner": "pass"}, "without a barrier|writes what"),
        ({"outer": "block_barrier()"}, "barrier"),
    ],
)
def test_a_missing_barrier_is_a_race(missing: dict[str, str], fact: str) -> None:
    with pytest.raises(Fault, match=fact):
        run(SUM.format(**{**BOTH, **missing}), 10)


EXCHANGE = """
@kernel
def main(arena):
    thread = block_thread()
    if thread == 0:
        arena.int32[0] = -1
    block_barrier()
    arena.int32[8 + thread] = exchange(arena.int32, 0, i64(thread))
    {then}
"""


def test_threads_may_exchange_in_any_order() -> None:
    then = "block_barrier()\n    arena.int32[20 + thread] = arena.int32[0]"
    found = run(EXCHANGE.format(then=then), blocks=1).view(np.int32)
    assert sorted([found[0], *found[8:11]]) == [-1, 0, 1, 2]
    assert found[20:23].tolist() == [found[0]] * 3


@pytest.mark.parametrize(
    ("then", "fact"),
    [
        (
            "arena.int32[20 + thread] = arena.int32[0]",
            "(exchanges|reads) what .* (reads|exchanges)",
        ),
        ("if thread == 1:\n        arena.int32[0] = 5", "writes what .* exchanges|wrote it"),
    ],
)
def test_no_thread_uses_what_others_exchange(then: str, fact: str) -> None:
    with pytest.raises(Fault, match=fact):
        run(EXCHANGE.format(then=then), blocks=1)


def test_threads_that_wait_for_different_things_are_told() -> None:
    source = "@kernel\ndef main(arena):\n    if block_thread() > 0:\n        block_barrier()"
    with pytest.raises(Fault, match="wait for different things: .'block_barrier', 'end'."):
        run(source)


@pytest.mark.parametrize("place", [-1, 64])
def test_no_access_leaves_the_arena(place: int) -> None:
    source = "@kernel\ndef main(arena, at):\n    block_barrier()\n    arena.float32[at] = f32(1.0)"
    with pytest.raises(Fault, match=f"element {place} of 64"):
        run(source, place)


SHARED = """
SHARED = {bytes}
PHASES, REPEATS = 1, False

@kernel
def main(arena, at, control, stride, seed):
    thread = block_thread()
    parts = cuda.shared.array(0, f64)
    parts[thread] = f64(thread + 10 * grid_block())
    {barrier}
    if thread == 0:
        arena.float64[grid_block()] = parts[1]
"""


def share(size: int, barrier: str) -> list[float]:
    arena = np.full(64, 0xFF, np.uint8)
    grid = Grid(SHARED.format(bytes=size, barrier=barrier))
    grid.run(arena, (), np.zeros(1, np.int64), 0, 0, 2, ())
    return [float(x) for x in arena.view(np.float64)[:2]]


def test_threads_share_the_memory_of_their_block() -> None:
    assert share(32, "block_barrier()") == [1.0, 11.0]
    with pytest.raises(Fault, match="byte 24 of 24 that a block shares"):
        share(24, "block_barrier()")
    with pytest.raises(Fault, match="without a barrier|writes what"):
        share(32, "pass")


def test_what_was_never_written_is_no_number() -> None:
    source = "@kernel\ndef main(arena, at):\n    block_barrier()\n"
    source += "    if block_thread() == 0 and grid_block() == 0:\n"
    source += "        arena.float32[0] = arena.float32[at] + f32(1.0)"
    assert np.isnan(run(source, 1)[0])


@pytest.mark.parametrize("barrier", ["block_barrier()", "grid_barrier(arena)"])
@pytest.mark.parametrize("made", [network, sums])
def test_generated_kernels_need_their_barriers(
    made: Callable[[], Made], barrier: str, simulate: Callable[..., None]
) -> None:
    program, given = made()
    simulate()
    run = program.compile(target="cuda", threads=2)
    module: Any = run.executable
    module.module.source = module.module.source.replace(barrier, "pass")
    with pytest.raises(Fault, match="without a barrier|writes what"):
        run(seed=3, **given)


def test_a_fused_product_and_sum_is_rounded_once() -> None:
    one = np.float32(1)
    middle = one + np.float32(2.0**-12)  # its square is 1 + 2^-11 + 2^-24: between two float32
    low, high = np.float32(1 + 2.0**-11), np.float32(1 + 2.0**-11 + 2.0**-23)
    tiny = np.float32(2.0**-80)  # what float64 does not hold beside it
    assert [fma(middle, middle, z) for z in (-tiny, tiny * 0, tiny)] == [low, low, high]
    assert fma(-middle, middle, -tiny) == -high
    drawn = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    for x, y, z in drawn:
        found = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        near = fma(x, y, z)
        beside = [np.nextafter(near, np.float32(to)) for to in (-np.inf, np.inf)]
        far = [abs(Fraction(float(other)) - found) for other in (near, *beside)]
        assert min(far) == far[0]
