"""The most that one core can do: vectors of multiply-adds that never leave their registers."""

from __future__ import annotations

import time

from ostinato.codegen.cpu.flags import lanes
from ostinato.codegen.cpu.llvm import Builder, alloca, emit_loop
from ostinato.codegen.cpu.llvm_text import Value
from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.primitive import in_llvm
from ostinato.codegen.cpu.vector import Vector

CHAINS = 10  # each waits for itself: more than the latency times the units of today's processors
LANES = lanes("float32")
COUNT = 2_000_000
RUNS = 5


@in_llvm("float32", "int64", "float32", "float32")
def multiply_adds(builder: Builder, args: list[Value]) -> Value:
    """``count`` times ``x * scale + shift`` in every chain, and the sum of all."""
    count, scale, shift = args
    vector = Vector(builder, "float32", LANES)
    by, plus = vector.splat(scale), vector.splat(shift)
    chains = [alloca(builder, vector.type) for _ in range(CHAINS)]
    for k, chain in enumerate(chains):
        builder.store(vector.const(float(k)), chain)

    def body(_: Value) -> None:
        for chain in chains:
            builder.store(vector.fma(builder.load(chain), by, plus), chain)

    emit_loop(builder, count, body)
    total = vector.const(0.0)
    for chain in chains:
        total = builder.fadd(total, builder.load(chain))
    return vector.sum_lanes(total)


@njit()
def chained(count: int, scale: float, shift: float) -> float:
    total: float = multiply_adds(count, scale, shift)
    return total


def peak_flops(runs: int = RUNS, count: int = COUNT) -> float:
    """Return the multiplications and additions of float32 that one core does in a second.

    The best of a few runs of some milliseconds: what takes away time is not the core.
    """
    chained(1, 0.5, 0.5)
    taken: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        chained(count, 0.5, 0.5)
        taken.append(time.perf_counter() - start)
    return 2.0 * LANES * CHAINS * count / min(taken)
