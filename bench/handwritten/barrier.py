"""The barrier at which the workers of the programs written by hand meet: it spins, then yields."""

from ostinato.codegen.cpu.llvm import Builder, declare
from ostinato.codegen.cpu.llvm_text import I32, Value
from ostinato.codegen.cpu.phase_workers import atomic_add, load_acquire, pause, store_release
from ostinato.codegen.cpu.primitive import in_llvm, inner
from ostinato.codegen.loops.expression import Name, call, compare
from ostinato.codegen.loops.statements import Block

BARRIER_WORDS = 32
"""Length of the zeroed int64 array that a barrier needs: arrivals and generation, far apart."""

_ARRIVED, _GENERATION = 0, 16  # 128 bytes apart: never one cache line
_SPINS = 20_000  # about as long as a switch of threads takes


@in_llvm("void")
def sched_yield(b: Builder, args: list[Value]) -> None:
    b.call(declare(b, "sched_yield", I32, []), [])


_CALLS: dict[str, object] = {
    each.name: each for each in (load_acquire, store_release, atomic_add, pause, sched_yield)
}


@inner("void", {"words": "array", "workers": "int64"}, _CALLS)
def barrier(out: Block) -> None:
    """Wait until all workers are here; what each wrote before is visible to all after.

    ``words`` is the int64 array of `BARRIER_WORDS` zeros that the workers share.
    """
    words, workers, spins = Name("words"), Name("workers"), Name("spins")
    with out.when(workers > 1):
        generation = out.let("generation", call("load_acquire", words, _GENERATION))
        arrived = call("atomic_add", words, _ARRIVED, 1)
        with out.when(compare("==", arrived, workers - 1)):
            out.do(call("store_release", words, _ARRIVED, 0))
            out.do(call("atomic_add", words, _GENERATION, 1))
        with out.otherwise():
            out.let("spins", 0)
            now = call("load_acquire", words, _GENERATION)
            with out.repeat(compare("==", now, generation)):
                out.do(call("pause"))
                out.let("spins", spins + 1)
                with out.when(spins > _SPINS):
                    out.do(call("sched_yield"))
