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
"""

import platform
import sys

from ostinato.codegen.cpu.affinity import bring, core, leave, own_thread, ran_ns
from ostinato.codegen.cpu.flags import host_is_x86
from ostinato.codegen.cpu.llvm import Builder, declare
from ostinato.codegen.cpu.llvm_text import I32, I64, VOID, Value, constant, i64
from ostinato.codegen.cpu.primitive import Primitive, inner, primitive, subroutine
from ostinato.codegen.loops.shared_words import OPEN, SHARED_WORDS, WORKER_WORDS

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


def _emit_add(b: Builder, args: list[Value]) -> Value:
    pointer, index, amount = args
    return b.atomic_rmw("add", b.gep(pointer, index), amount, "seq_cst")


def _emit_load(b: Builder, args: list[Value]) -> Value:
    pointer, index = args
    return b.load_atomic(b.gep(pointer, index), "acquire", 8)


def _emit_store(b: Builder, args: list[Value]) -> None:
    pointer, index, value = args
    b.store_atomic(value, b.gep(pointer, index), "release", 8)


def _emit_exchange(b: Builder, args: list[Value]) -> Value:
    pointer, index, old, new = args
    return b.compare_exchange(b.gep(pointer, index), old, new)


def _emit_pause(b: Builder, args: list[Value]) -> None:
    if host_is_x86():
        b.call(declare(b, "llvm.x86.sse2.pause", VOID, []), [])
    else:
        b.call(declare(b, "sched_yield", I32, []), [])


def _emit_futex(b: Builder, word: Value, operation: int, value: Value) -> None:
    system = declare(b, "syscall", I64, [I64, word.type, *[I64] * 5])
    none = i64(0)
    b.call(system, [i64(_FUTEX), word, i64(operation), value, none, none, none])


def _emit_sleep(b: Builder, args: list[Value]) -> None:
    pointer, index, seen = args
    if _HAS_FUTEX:  # it compares the lower half of the word
        _emit_futex(b, b.gep(pointer, index), _WAIT, b.and_(seen, i64(_HALF - 1)))
    else:
        b.call(declare(b, "usleep", I32, [I32]), [constant(I32, 50)])


def _emit_wake(b: Builder, args: list[Value]) -> None:
    pointer, index = args
    if _HAS_FUTEX:
        _emit_futex(b, b.gep(pointer, index), _WAKE, i64(_ALL))


atomic_add: Primitive = primitive("atomic_add", "int64", ("array", "int64", "int64"), _emit_add)
"""``atomic_add(words, i, x)`` adds to an int64 and returns what it was."""
load_acquire: Primitive = primitive("load_acquire", "int64", ("array", "int64"), _emit_load)
store_release: Primitive = primitive(
    "store_release", "void", ("array", "int64", "int64"), _emit_store
)
exchange: Primitive = primitive(
    "exchange", "bool", ("array", "int64", "int64", "int64"), _emit_exchange
)
"""``exchange(words, i, old, new)`` stores ``new`` if it finds ``old``, and says whether it did."""
pause: Primitive = primitive("pause", "void", (), _emit_pause)
sleep_while: Primitive = primitive("sleep_while", "void", ("array", "int64", "int64"), _emit_sleep)
"""``sleep_while(words, i, seen)`` sleeps if the word is what was seen; it may wake at any time."""
wake_all: Primitive = primitive("wake_all", "void", ("array", "int64"), _emit_wake)


@inner
def claim(words: object, phase: int, worker: int, workers: int, items: int, done: int) -> int:
    """Claim an item of a phase, and return its number; -1 where none is left.

    ``done`` are the items that this worker has done in this phase.
    """
    found = -1
    if workers > 1:
        found = _claim(words, phase, worker, workers, items)
    elif done < items:
        found = done
    return found


@subroutine
def _claim(words: object, phase: int, worker: int, workers: int, items: int) -> int:
    """Claim an item that several workers may claim."""
    found = -1
    left = min(workers, items)  # shares with items in them
    owner = worker
    if worker >= left:
        owner = 0
    last = left - 1
    patience = _PATIENCE
    while left > 0:
        place = _OWN + WORKER_WORDS * owner
        old = load_acquire(words, place)
        first = (phase & _NUMBERS) * _HALF
        number = old - first
        if number < 0 or number >= _HALF:
            number = 0
        item = owner + number * workers
        is_awaited = 0
        if number == 0 and patience > 0 and owner != worker:
            is_awaited = load_acquire(words, place + LOOKS_FOR) - phase
        if load_acquire(words, OPEN) != phase:
            left = 0
        elif item >= items:
            left -= 1
            owner += 1
            if owner > last:
                owner = 0
        elif is_awaited == 1:
            patience -= 1
            pause()
        elif exchange(words, place, old, first + number + 1):
            found = item
            left = 0
    return found


@inner
def finish(words: object, workers: int, items: int, done: int) -> int:
    """Count items as done; 1 if all items of the phase are, who then has to open the next one."""
    last = 0
    if workers == 1:
        last = 1
    elif done > 0:
        if atomic_add(words, _DONE, done) + done == items:
            store_release(words, _DONE, 0)
            last = 1
    return last


@inner
def open_next(words: object, workers: int) -> None:
    """Open the next phase, and wake those who sleep until it is open."""
    if workers == 1:
        store_release(words, OPEN, load_acquire(words, OPEN) + 1)
    else:
        atomic_add(words, OPEN, 1)
        if load_acquire(words, _SLEEPERS) > 0:
            wake_all(words, OPEN)


@inner
def rest(words: object, phase: int, worker: int, workers: int) -> None:
    """Wait until a phase is open or over; what was written before it is visible then."""
    if workers > 1:
        if load_acquire(words, OPEN) < phase:
            _rest(words, phase, worker, workers)


@subroutine
def _rest(words: object, phase: int, worker: int, workers: int) -> int:
    """Look for a phase a while, then sleep until it is open.

    Meanwhile look at the others, one after the other: one that does not run may hold an item, and
    gets this worker's processor.
    """
    own = _OWN + WORKER_WORDS * worker
    store_release(words, own + LOOKS_FOR, phase + 1)
    looks = 0
    most = _LOOKS
    other = worker
    watched = 0
    ran = 0
    left = -1
    seen = load_acquire(words, OPEN)
    while seen < phase and looks < most:
        pause()
        looks += 1
        if looks % _FEW_LOOKS == 0:
            if watched == 0:
                other = (other + 1) % workers
                watched = awaited(words, phase, worker, other)
                if watched > 0:
                    ran = ran_ns(watched)
            else:
                if ran_ns(watched) == ran:
                    left = _hand_over(words, watched)
                    most = looks
                watched = 0
        seen = load_acquire(words, OPEN)
    if seen < phase:
        store_release(words, own + LOOKS_FOR, -(phase + 1))
        atomic_add(words, _SLEEPERS, 1)
        seen = load_acquire(words, OPEN)
        while seen < phase:
            sleep_while(words, OPEN, seen)
            seen = load_acquire(words, OPEN)
        atomic_add(words, _SLEEPERS, -1)
        if left >= 0:
            _move_away(words, left)
    return 0


@inner
def awaited(words: object, phase: int, worker: int, other: int) -> int:
    """The thread of another worker that does not wait for the same phase; 0 if there is none."""
    thread = 0
    place = _OWN + WORKER_WORDS * other
    looks_for = load_acquire(words, place + LOOKS_FOR)
    if other != worker and looks_for != phase + 1 and looks_for + phase + 1 != 0:
        thread = load_acquire(words, place + THREAD)
    return thread


@inner
def _hand_over(words: object, thread: int) -> int:
    """Bring a thread to this processor, and return its number; -1 if another one is moving threads.

    Two that move one thread at once would leave it with the affinity of the moment.
    """
    here = -1
    if exchange(words, _MOVER, 0, 1):
        here = core()
        bring(thread, here)
        store_release(words, _MOVER, 0)
    return here


@inner
def _move_away(words: object, left: int) -> None:
    """Leave the processor that was handed over, so that its worker has it alone."""
    if core() == left:
        if exchange(words, _MOVER, 0, 1):
            leave(left)
            store_release(words, _MOVER, 0)


@inner
def enter(words: object, worker: int, workers: int) -> None:
    """Say which thread a worker is."""
    if workers > 1:
        store_release(words, _OWN + WORKER_WORDS * worker + THREAD, own_thread())
