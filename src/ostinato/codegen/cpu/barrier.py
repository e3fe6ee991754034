"""Atomic words and the barrier that separates phases of the compiled workers."""

from ostinato.codegen.cpu.flags import host_is_x86
from ostinato.codegen.cpu.llvm import (
    I32,
    VOID,
    Builder,
    Primitive,
    Value,
    declare,
    inner,
    primitive,
)

BARRIER_WORDS = 32
"""Length of the zeroed int64 array that a barrier needs: arrivals and generation, far apart."""

_ARRIVED, _GENERATION = 0, 16  # 128 bytes apart: never one cache line
_SPINS = 20_000  # about as long as a switch of threads takes


def _emit_add(b: Builder, args: list[Value]) -> Value:
    pointer, index, amount = args
    return b.atomic_rmw("add", b.gep(pointer, [index]), amount, "seq_cst")


def _emit_load(b: Builder, args: list[Value]) -> Value:
    pointer, index = args
    return b.load_atomic(b.gep(pointer, [index]), "acquire", 8)


def _emit_store(b: Builder, args: list[Value]) -> None:
    pointer, index, value = args
    b.store_atomic(value, b.gep(pointer, [index]), "release", 8)


def _emit_yield(b: Builder, args: list[Value]) -> None:
    b.call(declare(b, "sched_yield", I32, []), [])


def _emit_pause(b: Builder, args: list[Value]) -> None:
    if host_is_x86():
        b.call(declare(b, "llvm.x86.sse2.pause", VOID, []), [])
    else:
        _emit_yield(b, args)


atomic_add: Primitive = primitive("atomic_add", "int64", ("array", "int64", "int64"), _emit_add)
"""``atomic_add(words, i, x)`` adds to an int64 and returns what it was."""
load_acquire: Primitive = primitive("load_acquire", "int64", ("array", "int64"), _emit_load)
store_release: Primitive = primitive(
    "store_release", "void", ("array", "int64", "int64"), _emit_store
)
pause: Primitive = primitive("pause", "void", (), _emit_pause)
sched_yield: Primitive = primitive("sched_yield", "void", (), _emit_yield)


@inner
def barrier(words: object, workers: int) -> None:
    """Wait until all workers are here; what each wrote before is visible to all after.

    ``words`` is the int64 array of `BARRIER_WORDS` zeros that the workers share.
    """
    if workers > 1:
        generation = load_acquire(words, _GENERATION)
        if atomic_add(words, _ARRIVED, 1) == workers - 1:
            store_release(words, _ARRIVED, 0)
            atomic_add(words, _GENERATION, 1)
        else:
            spins = 0
            while load_acquire(words, _GENERATION) == generation:
                pause()
                spins += 1
                if spins > _SPINS:
                    sched_yield()
