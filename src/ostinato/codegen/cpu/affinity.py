"""Moving threads between processors: what workers do about one that was taken off its processor.

The system leaves a thread on the processor of a busy neighbour for milliseconds although another
one is about to be idle, as it takes moving for dear. A thread is moved by an affinity that it has
for a moment only. Where the system has none of this, threads have the number 0 and nothing moves.
"""

import platform
import sys

from ostinato.codegen.cpu.llvm import Builder, declare, emit_loop, local_array
from ostinato.codegen.cpu.llvm_text import I32, I64, Value, i64
from ostinato.codegen.cpu.primitive import Primitive, primitive

_GETTID = {"x86_64": 186, "aarch64": 178, "riscv64": 178}.get(platform.machine().lower(), 0)
_IS_LINUX = sys.platform == "linux" and _GETTID > 0
_MASK_WORDS = 128  # 8192 processors, as many as Linux may have
_THREAD_CLOCK = 6  # the kind of clock that a number below zero asks for: what one thread has run


def _emit_thread(b: Builder, args: list[Value]) -> Value:
    if not _IS_LINUX:
        return i64(0)
    return b.call(declare(b, "syscall", I64, [I64]), [i64(_GETTID)])


def _emit_ran(b: Builder, args: list[Value]) -> Value:
    if not _IS_LINUX:
        return i64(0)
    time = local_array(b, I64, 2, 8)
    for k in range(2):
        b.store(i64(0), b.gep(time, i64(k)))
    clock = b.or_(b.shl(b.xor(args[0], i64(-1)), i64(3)), i64(_THREAD_CLOCK))
    b.call(declare(b, "clock_gettime", I32, [I32, time.type]), [b.trunc(clock, I32), time])
    seconds, rest = (b.load(b.gep(time, i64(k))) for k in range(2))
    return b.add(b.mul(seconds, i64(10**9)), rest)


def _emit_with_mask(b: Builder, thread: Value, here: Value, only: bool) -> None:
    """Give a thread for a moment an affinity to only this processor, or to all but this one."""
    before, moment = (local_array(b, I64, _MASK_WORDS, 8) for _ in range(2))

    def fill(k: Value) -> None:
        b.store(i64(-1), b.gep(before, k))
        b.store(i64(0), b.gep(moment, k))

    emit_loop(b, i64(_MASK_WORDS), fill)
    of = [b.trunc(thread, I32), i64(8 * _MASK_WORDS)]
    kinds = [I32, I64, before.type]
    b.call(declare(b, "sched_getaffinity", I32, kinds), [*of, before])
    bit = b.shl(i64(1), b.and_(here, i64(63)))
    word = b.and_(b.lshr(here, i64(6)), i64(_MASK_WORDS - 1))
    if only:
        b.store(bit, b.gep(moment, word))
    else:

        def copy(k: Value) -> None:
            b.store(b.load(b.gep(before, k)), b.gep(moment, k))

        emit_loop(b, i64(_MASK_WORDS), copy)
        place = b.gep(moment, word)
        b.store(b.and_(b.load(place), b.xor(bit, i64(-1))), place)
    for mask in (moment, before):
        b.call(declare(b, "sched_setaffinity", I32, kinds), [*of, mask])


def _emit_bring(b: Builder, args: list[Value]) -> None:
    if _IS_LINUX:
        _emit_with_mask(b, args[0], args[1], only=True)


def _emit_leave(b: Builder, args: list[Value]) -> None:
    if _IS_LINUX:
        _emit_with_mask(b, i64(0), args[0], only=False)


def _emit_core(b: Builder, args: list[Value]) -> Value:
    if not _IS_LINUX:
        return i64(-1)
    return b.sext(b.call(declare(b, "sched_getcpu", I32, []), []), I64)


core: Primitive = primitive("core", "int64", (), _emit_core)
"""``core()`` is the number of the processor that runs this; -1 where that is not known."""
own_thread: Primitive = primitive("own_thread", "int64", (), _emit_thread)
"""``own_thread()`` is the system's number of the thread that runs this."""
ran_ns: Primitive = primitive("ran_ns", "int64", ("int64",), _emit_ran)
"""``ran_ns(thread)`` is how long a thread has run: it stands still while the thread does not."""
bring: Primitive = primitive("bring", "void", ("int64", "int64"), _emit_bring)
"""``bring(thread, core)`` moves a thread that waits for a processor to this one."""
leave: Primitive = primitive("leave", "void", ("int64",), _emit_leave)
"""``leave(core)`` moves the thread that runs this to another processor, if it may use one."""
