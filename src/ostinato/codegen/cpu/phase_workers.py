"""Phases of the compiled workers: a phase ends when its items are done, whoever does them.

A phase is a number of independent items. Item ``k`` lies in the share of worker ``k % workers``;
a worker claims the items of its own share, then those that are left in the others' shares. Who
finishes the last item opens the next phase. So nobody waits for a worker that has no core, but for
the one item that it may hold; such a worker finds later that its phase is over and goes on to the
one that is open. Who waits looks for a while, then sleeps in the kernel. Who sees that a worker it
waits for is not running brings that worker to its own processor, and sleeps.

All phases of a run have numbers, from 0 on. The words that workers share are zeros when a run
begins: the number of the open phase, its finished items, how many workers sleep, and whether one
moves threads; then for each worker the next item of its share, with the phase for which that holds
in the upper half, the phase that it looks for, plus 1 (below zero while it sleeps), and the number
of its thread. Words of different workers share no cache line.

The system leaves a thread on the processor of a busy neighbour for milliseconds although another
one is about to be idle, as it takes moving for dear. A thread is moved by an affinity that it has
for a moment only. Where the system has none of this, threads have the number 0 and nothing moves.
"""

import platform
import sys

from ostinato.codegen.cpu.flags import host_is_x86
from ostinato.codegen.cpu.llvm import Builder, declare, emit_loop, local_array
from ostinato.codegen.cpu.llvm_text import I32, I64, VOID, Value, constant, i64
from ostinato.codegen.cpu.primitive import Argument, in_llvm, inner
from ostinato.codegen.loops.expression import (
    Call,
    Constant,
    Expression,
    Given,
    Logic,
    Name,
    Negative,
    call,
    compare,
)
from ostinato.codegen.loops.shared_words import OPEN, SHARED_WORDS, WORKER_WORDS
from ostinato.codegen.loops.statements import Block

_GETTID = {"x86_64": 186, "aarch64": 178, "riscv64": 178}.get(platform.machine().lower(), 0)
_IS_LINUX = sys.platform == "linux" and _GETTID > 0
_MASK_WORDS = 128  # 8192 processors, as many as Linux may have
_THREAD_CLOCK = 6  # the kind of clock that a number below zero asks for: what one thread has run


@in_llvm("int64")
def own_thread(b: Builder, args: list[Value]) -> Value:
    """``own_thread()`` is the system's number of the thread that runs this."""
    if not _IS_LINUX:
        return i64(0)
    return b.call(declare(b, "syscall", I64, [I64]), [i64(_GETTID)])


@in_llvm("int64", "int64")
def ran_ns(b: Builder, args: list[Value]) -> Value:
    """``ran_ns(thread)`` is how long a thread has run: it stands still while that does."""
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


@in_llvm("void", "int64", "int64")
def bring(b: Builder, args: list[Value]) -> None:
    """``bring(thread, core)`` moves a thread that waits for a processor to this one."""
    if _IS_LINUX:
        _emit_with_mask(b, args[0], args[1], only=True)


@in_llvm("void", "int64")
def leave(b: Builder, args: list[Value]) -> None:
    """``leave(core)`` moves the thread that runs this to another processor, if it may use one."""
    if _IS_LINUX:
        _emit_with_mask(b, i64(0), args[0], only=False)


@in_llvm("int64")
def core(b: Builder, args: list[Value]) -> Value:
    """``core()`` is the number of the processor that runs this; -1 where that is not known."""
    if not _IS_LINUX:
        return i64(-1)
    return b.sext(b.call(declare(b, "sched_getcpu", I32, []), []), I64)


_DONE, _SLEEPERS, _MOVER, _OWN = 16, 32, 33, SHARED_WORDS
LOOKS_FOR, THREAD = 1, 2  # among the words of a worker

_HALF = 2**32
_NUMBERS = 2**31 - 1  # phases so far apart have one number: no worker is ever so late
_FEW_LOOKS = 300  # between two looks at whether another worker runs: some microseconds
_LOOKS = 20_000  # before any worker sleeps: several times as long as waking it takes
_PATIENCE = 100  # looks for the owner of a share, who is about to begin: a microsecond or two

_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}.get(platform.machine().lower(), 0)
_HAS_FUTEX = _FUTEX > 0 and sys.platform == "linux"
_WAIT, _WAKE, _ALL = 128, 129, 2**31 - 1  # private to the process


@in_llvm("int64", "array", "int64", "int64")
def atomic_add(b: Builder, args: list[Value]) -> Value:
    """``atomic_add(words, i, x)`` adds to an int64 and returns what it was."""
    pointer, index, amount = args
    return b.atomic_add(b.gep(pointer, index), amount)


@in_llvm("int64", "array", "int64")
def load_acquire(b: Builder, args: list[Value]) -> Value:
    pointer, index = args
    return b.load_acquire(b.gep(pointer, index))


@in_llvm("void", "array", "int64", "int64")
def store_release(b: Builder, args: list[Value]) -> None:
    pointer, index, value = args
    b.store_release(value, b.gep(pointer, index))


@in_llvm("bool", "array", "int64", "int64", "int64")
def exchange(b: Builder, args: list[Value]) -> Value:
    """``exchange(words, i, old, new)`` stores ``new`` if it finds ``old``; whether it did."""
    pointer, index, old, new = args
    return b.compare_exchange(b.gep(pointer, index), old, new)


@in_llvm("void")
def pause(b: Builder, args: list[Value]) -> None:
    if host_is_x86():
        b.call(declare(b, "llvm.x86.sse2.pause", VOID, []), [])
    else:
        b.call(declare(b, "sched_yield", I32, []), [])


def _emit_futex(b: Builder, word: Value, operation: int, value: Value) -> None:
    system = declare(b, "syscall", I64, [I64, word.type, *[I64] * 5])
    none = i64(0)
    b.call(system, [i64(_FUTEX), word, i64(operation), value, none, none, none])


@in_llvm("void", "array", "int64", "int64")
def sleep_while(b: Builder, args: list[Value]) -> None:
    """``sleep_while(words, i, seen)`` sleeps if the word is what was seen; may wake any time."""
    pointer, index, seen = args
    if _HAS_FUTEX:  # it compares the lower half of the word
        _emit_futex(b, b.gep(pointer, index), _WAIT, b.and_(seen, i64(_HALF - 1)))
    else:
        b.call(declare(b, "usleep", I32, [I32]), [constant(I32, 50)])


@in_llvm("void", "array", "int64")
def wake_all(b: Builder, args: list[Value]) -> None:
    pointer, index = args
    if _HAS_FUTEX:
        _emit_futex(b, b.gep(pointer, index), _WAKE, i64(_ALL))


_PRIMITIVES: dict[str, object] = {
    each.name: each
    for each in (
        *(atomic_add, load_acquire, store_release, exchange, pause, sleep_while, wake_all),
        *(bring, core, leave, own_thread, ran_ns),
    )
}
_NAMES = "words", "phase", "worker", "workers", "items", "done", "other", "thread", "left"
words, phase, worker, workers, items, done, other, thread, left = map(Name, _NAMES)


def _taking(*numbers: Name) -> dict[str, Argument]:
    """The parameters of a function of the words and of int64 numbers."""
    return {"words": "array", **{each.id: "int64" for each in numbers}}


def _load(place: Given) -> Call:
    return call("load_acquire", words, place)


def _of(number: Expression) -> Expression:
    """Where the words of a worker begin."""
    return Constant(_OWN) + Constant(WORKER_WORDS) * number


def _store(place: Given, value: Given) -> Call:
    return call("store_release", words, place, value)


@inner("int64", _taking(phase, worker, workers, items), _PRIMITIVES, is_subroutine=True)
def _claim(out: Block) -> Expression:
    """Claim an item that several workers may claim."""
    found = out.let("found", -1)
    shares = out.let("left", call("min", workers, items))  # with items in them
    owner = out.let("owner", worker)
    with out.when(worker >= shares):
        out.let("owner", 0)
    last = out.let("last", shares - 1)
    patience = out.let("patience", _PATIENCE)
    with out.repeat(shares > 0):
        place = out.let("place", _of(owner))
        old = out.let("old", _load(place))
        first = out.let("first", (phase & _NUMBERS) * _HALF)
        number = out.let("number", old - first)
        with out.when(Logic("or", (number < 0, number >= _HALF))):
            out.let("number", 0)
        item = out.let("item", owner + number * workers)
        awaits = out.let("is_awaited", 0)
        theirs = compare("!=", owner, worker)
        with out.when(Logic("and", (compare("==", number, 0), patience > 0, theirs))):
            out.let("is_awaited", _load(place + LOOKS_FOR) - phase)
        with out.when(compare("!=", _load(OPEN), phase)):
            out.let("left", 0)
        with out.otherwise(item >= items):
            out.let("left", shares - 1)
            out.let("owner", owner + 1)
            with out.when(owner > last):
                out.let("owner", 0)
        with out.otherwise(compare("==", awaits, 1)):
            out.let("patience", patience - 1)
            out.do(call("pause"))
        with out.otherwise(call("exchange", words, place, old, first + number + 1)):
            out.let("found", item)
            out.let("left", 0)
    return found


@inner("int64", _taking(phase, worker, workers, items, done), {"_claim": _claim})
def claim(out: Block) -> Expression:
    """Claim an item of a phase, and return its number; -1 where none is left.

    ``done`` are the items that this worker has done in this phase.
    """
    found = out.let("found", -1)
    with out.when(workers > 1):
        out.let("found", call("_claim", words, phase, worker, workers, items))
    with out.otherwise(done < items):
        out.let("found", done)
    return found


@inner("int64", _taking(workers, items, done), _PRIMITIVES)
def finish(out: Block) -> Expression:
    """Count items as done; 1 if all items of the phase are, who then has to open the next one."""
    last = out.let("last", 0)
    with out.when(compare("==", workers, 1)):
        out.let("last", 1)
    with out.otherwise(done > 0):
        counted = call("atomic_add", words, _DONE, done) + done
        with out.when(compare("==", counted, items)):
            out.do(_store(_DONE, 0))
            out.let("last", 1)
    return last


@inner("void", _taking(workers), _PRIMITIVES)
def open_next(out: Block) -> None:
    """Open the next phase, and wake those who sleep until it is open."""
    with out.when(compare("==", workers, 1)):
        out.do(_store(OPEN, _load(OPEN) + 1))
    with out.otherwise():
        out.do(call("atomic_add", words, OPEN, 1))
        with out.when(_load(_SLEEPERS) > 0):
            out.do(call("wake_all", words, OPEN))


@inner("int64", _taking(phase, worker, other), _PRIMITIVES)
def awaited(out: Block) -> Expression:
    """The thread of another worker that does not wait for the same phase; 0 if there is none."""
    out.let("thread", 0)
    place = out.let("place", _of(other))
    looks_for = out.let("looks_for", _load(place + LOOKS_FOR))
    here = compare("!=", looks_for, phase + 1)
    asleep = compare("!=", looks_for + phase + 1, 0)
    with out.when(Logic("and", (compare("!=", other, worker), here, asleep))):
        out.let("thread", _load(place + THREAD))
    return thread


@inner("int64", _taking(thread), _PRIMITIVES)
def _hand_over(out: Block) -> Expression:
    """Bring a thread to this processor, and return its number; -1 if another one is moving threads.

    Two that move one thread at once would leave it with the affinity of the moment.
    """
    here = out.let("here", -1)
    with out.when(call("exchange", words, _MOVER, 0, 1)):
        out.let("here", call("core"))
        out.do(call("bring", thread, here))
        out.do(_store(_MOVER, 0))
    return here


@inner("void", _taking(left), _PRIMITIVES)
def _move_away(out: Block) -> None:
    """Leave the processor that was handed over, so that its worker has it alone."""
    with out.when(compare("==", call("core"), left)):
        with out.when(call("exchange", words, _MOVER, 0, 1)):
            out.do(call("leave", left))
            out.do(_store(_MOVER, 0))


@inner(
    "int64",
    _taking(phase, worker, workers),
    {**_PRIMITIVES, "awaited": awaited, "_hand_over": _hand_over, "_move_away": _move_away},
    is_subroutine=True,
)
def _rest(out: Block) -> Expression:
    """Look for a phase a while, then sleep until it is open.

    Meanwhile look at the others, one after the other: one that does not run may hold an item, and
    gets this worker's processor.
    """
    own = out.let("own", _of(worker))
    out.do(_store(own + LOOKS_FOR, phase + 1))
    looks = out.let("looks", 0)
    most = out.let("most", _LOOKS)
    out.let("other", worker)
    watched = out.let("watched", 0)
    ran = out.let("ran", 0)
    out.let("left", -1)
    seen = out.let("seen", _load(OPEN))
    with out.repeat(Logic("and", (seen < phase, looks < most))):
        out.do(call("pause"))
        out.let("looks", looks + 1)
        with out.when(compare("==", looks % _FEW_LOOKS, 0)):
            with out.when(compare("==", watched, 0)):
                out.let("other", (other + 1) % workers)
                out.let("watched", call("awaited", words, phase, worker, other))
                with out.when(watched > 0):
                    out.let("ran", call("ran_ns", watched))
            with out.otherwise():
                with out.when(compare("==", call("ran_ns", watched), ran)):
                    out.let("left", call("_hand_over", words, watched))
                    out.let("most", looks)
                out.let("watched", 0)
        out.let("seen", _load(OPEN))
    with out.when(seen < phase):
        out.do(_store(own + LOOKS_FOR, Negative(phase + 1)))
        out.do(call("atomic_add", words, _SLEEPERS, 1))
        out.let("seen", _load(OPEN))
        with out.repeat(seen < phase):
            out.do(call("sleep_while", words, OPEN, seen))
            out.let("seen", _load(OPEN))
        out.do(call("atomic_add", words, _SLEEPERS, -1))
        with out.when(left >= 0):
            out.do(call("_move_away", words, left))
    return Constant(0)


@inner("void", _taking(phase, worker, workers), {**_PRIMITIVES, "_rest": _rest})
def rest(out: Block) -> None:
    """Wait until a phase is open or over; what was written before it is visible then."""
    with out.when(workers > 1), out.when(_load(OPEN) < phase):
        out.do(call("_rest", words, phase, worker, workers))


@inner("void", _taking(worker, workers), _PRIMITIVES)
def enter(out: Block) -> None:
    """Say which thread a worker is."""
    with out.when(workers > 1):
        out.do(_store(_of(worker) + THREAD, call("own_thread")))
