"""The barrier at which the workers of the programs written by hand meet: it spins, then yields."""

from ostinato.codegen.cpu.llvm import Builder, declare
from ostinato.codegen.cpu.llvm_text import I32, Value
from ostinato.codegen.cpu.phase_workers import atomic_add, load_acquire, pause, store_release
from ostinato.codegen.cpu.primitive import Primitive, inner, primitive

BARRIER_WORDS = 32
"""Length of the zeroed int64 array that a barrier needs: arrivals and generation, far apart."""

_ARRIVED, _GENERATION = 0, 16  # 128 bytes apart: never one cache line
_SPINS = 20_000  # about as long as a switch of threads takes


def _emit_yield(b: Builder, args: list[Value]) -> None:
    b.call(declare(b, "sched_yield", I32, []), [])


_yield: Primitive = primitive("sched_yield", "void", (), _emit_yield)


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
                    _yield()
