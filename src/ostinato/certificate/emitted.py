"""The driver as it was emitted, as loop IR: its calls and phases are those of the schedule.

Anything in it but loops, phases, calls of kernels and the end of an iteration that may be the last
one is refused. Ranges and numbers of items are read as index expressions and compared with those
of the schedule.

A phase has all that stands between two barriers, or between one and a loop that has phases. What
one worker has to do, by `ostinato.certificate.happens_before`, is one item: the serial kernels,
those of one tile in all loops from and to the same bounds, those of one part of arrays. All items
of a phase are done before any of the next one begins, so the end of a phase is a barrier. One may
be left out only inside of a phase that is one item: one worker does all of it, in the order of the
statements.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ostinato.certificate.fitted import Misemitted, Scope, fit, refused, same
from ostinato.certificate.happens_before import Cut, Event, filled, written
from ostinato.certificate.offset_rows import Table
from ostinato.certificate.order import Loop, Moment, Timeline, places_in
from ostinato.certificate.phased import Chain, Phase, check_items, check_tile, read_phase
from ostinato.codegen.loops.expression import (
    Call,
    Compare,
    Constant,
    Expression,
    Name,
    Tuple,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.expression import item as word
from ostinato.codegen.loops.statements import Body, Do, For, Function, If, Let, Return, Statement
from ostinato.pdg.index import Expr, Extent, expr

ENTRY = "main"
GIVEN = {
    "tid": "int64",
    "nt": "int64",
    "bar": "int64[::1]",
    "kernels": "int64[::1]",
    "arena": "uint8[::1]",
    "at": "int64[::1]",
    "stride": "int64",
    "seed": "int64",
    "control": "int64[::1]",
}
"""The parameters before the extents, and their types."""
OWN = ("local", "key", "phase", "item", "items", "ended")
BEGIN = (
    Let(("local",), binary("*", "tid", "stride")),
    Let(("key",), call("seed_key", "seed")),
    Let(("phase",), Constant(0)),
    Do(call("enter", "bar", "tid", "nt")),
    Do(call("__steps")),
)
DONE = Do(call("store_release", "control", 8, "__done"))
DECIDED = Do(call("store_release", "control", 16, call("load_acquire", "control", 0)))
LEFT = If(compare("!=", call("load_acquire", "control", 16), 0), (Return(),))


@dataclass(frozen=True)
class Met:
    """A barrier."""


@dataclass(frozen=True)
class Called:
    """The call of a kernel: the loops around it that are the call's own, and who does what."""

    number: int
    worker: tuple[Loop, ...] | Cut


@dataclass(frozen=True)
class Looped:
    """A loop of the driver, and whether its iterations write results over its dimension."""

    loop: Loop
    body: tuple[Item, ...]
    records: bool


Item = Met | Called | Looped


def expected(order: Timeline) -> tuple[Item, ...]:
    """The driver that a schedule asks for: calls are numbered in the order of its text."""
    events: dict[tuple[Moment, ...], Event] = {}
    steps = {step.name: step for step in order.steps}
    for event in (
        *map(written, order.steps),
        *(filled(fill, steps[fill.of]) for fill in order.memory.fills),
    ):
        known = events.setdefault(event.time[: event.call], event)
        if known.worker != event.worker:
            raise Misemitted(f"who computes `{event.step.name}` is not who does the call it is in")
    times = {*events, *order.memory.barriers}
    numbers = {time: k for k, time in enumerate(sorted(events, key=places_in))}
    return tuple(_body(order, (), times, events, numbers))


def _body(
    order: Timeline,
    around: tuple[Moment, ...],
    times: set[tuple[Moment, ...]],
    events: Mapping[tuple[Moment, ...], Event],
    numbers: Mapping[tuple[Moment, ...], int],
) -> Iterator[Item]:
    level = len(around)
    inside = [time for time in times if time[:level] == around and len(time) > level]
    for place in sorted({moment for t in inside if isinstance(moment := t[level], int)}):
        here = (*around, place)
        if here in numbers:
            yield Called(numbers[here], events[here].worker)
        elif here in times:
            yield Met()
        else:
            deeper = next(t for t in events if t[: level + 1] == here)
            loop = next(x for x in events[deeper].loops if x.dim == deeper[level + 1])
            within = (*here, loop.dim)
            steps = (s for s in order.steps if s.time[: level + 2] == within)
            results = [s for s in steps if s.name in order.memory.kept]
            records = any(s.kept[:1] == (loop.dim,) for s in results)
            yield Looped(loop, tuple(_body(order, within, times, events, numbers)), records)


def check_driver(
    functions: Sequence[Function], order: Timeline, extents: Sequence[str], table: Sequence[str]
) -> str:
    """Compare the driver of some kernels with the schedule, for any number of workers.

    ``table`` has the tensors of the entries in the offset table.

    Errors: Misemitted.
    """
    driver, kernels = _entry(functions), [each for each in functions if not each.is_driver]
    kinds = (*GIVEN.items(), *((name, "int64") for name in extents))
    if driver.parameters != kinds or (begun := fit(BEGIN, driver.body)) is None:
        raise Misemitted("the driver does not begin as drivers do")
    known = (*GIVEN, *OWN, *extents)
    if len(set(known)) < len(known):
        raise Misemitted("two parameters of the driver have one name")
    scope = Scope(known, {n: expr(Extent(n)) for n in extents})
    reader = _Reader(scope, tuple(extents), kernels, Table(order, table))
    reader.body(begun.bodies["__steps"], expected(order))
    told = [says for says, _ in reader.published]
    last = max((k for k, (_, records) in enumerate(reader.published) if records), default=-1)
    if told != [k == last % len(told) for k in range(len(told))]:
        raise Misemitted("another loop than the last one with records says how many are done")
    return (
        f"{reader.calls} calls in {reader.phases} phases, {reader.barriers} barriers between them, "
        f"{reader.alone} left out at times"
    )


def _entry(functions: Sequence[Function]) -> Function:
    """The driver: all that it calls are primitives."""
    found = [each for each in functions if each.is_driver]
    if len(found) != 1:
        raise Misemitted(f"{len(found)} drivers are there")
    (driver,) = found
    if driver.name != ENTRY or driver.definitions:
        raise Misemitted("drivers define nothing, and have a name that is known")
    return driver


@dataclass
class _Reader:
    """The statements of a driver beside what a schedule asks for."""

    scope: Scope
    extents: tuple[str, ...]
    kernels: Sequence[Function]
    table: Table
    loops: tuple[str, ...] = ()  # the driver's loops around, by their names in it
    calls: int = 0
    phases: int = 0
    barriers: int = 0
    alone: int = 0
    # of loops that may be left: whether they say how many steps are done, and have records
    published: list[tuple[bool, bool]] = field(default_factory=list[tuple[bool, bool]])

    def body(self, text: Sequence[Statement], wanted: Sequence[Item]) -> None:
        """Read all that is done in a body."""
        items = list(wanted)
        closing = self.steps(text, items)
        if closing:
            raise refused(closing[0], "nobody leaves a loop here")
        self.ended(items)

    def ended(self, items: list[Item]) -> None:
        self.met(items)
        if items:
            raise Misemitted(f"the driver ends before the schedule: {items[0]} is missing")

    def met(self, items: list[Item]) -> None:
        """Pass by barriers between phases: the end of each phase is one."""
        while items and isinstance(items[0], Met):
            del items[0]
            self.barriers += 1

    def steps(self, text: Sequence[Statement], items: list[Item]) -> Body:
        """Read loops and phases, and take what they do; how the last phase is closed.

        All that was before is done when they begin, and all of it is done behind them.
        """
        rest = list(text)
        while rest:
            self.met(items)
            here = rest[0]
            if isinstance(here, For):
                self.loop(rest.pop(0), items)
            elif isinstance(here, If):
                self.apart(rest.pop(0), items)
            else:
                phase = read_phase(rest, self.scope)
                self.phase(phase, items, rest)
                if phase.closing and rest:
                    raise refused(phase.closing[0], "an iteration does not end here")
                if phase.closing:
                    return phase.closing
        return ()

    def loop(self, here: Statement, items: list[Item]) -> None:
        """A loop of which each iteration has phases."""
        item = items.pop(0) if items else None
        if not isinstance(item, Looped):
            raise refused(here, "the schedule has no loop here")
        with self.inside(here, item.loop) as text:
            steps, wanted = text, list(item.body)
            leaves = len(self.loops) == 1 and same(steps[-1:], (LEFT,))
            closing = self.steps(steps[:-1] if leaves else steps, wanted)
            self.ended(wanted)
            if leaves:
                self.published.append((self.closed(here, item.loop, closing), item.records))
            elif closing:
                raise refused(closing[0], "nobody leaves the loop then")

    def closed(self, here: Statement, loop: Loop, closing: Sequence[Statement]) -> bool:
        """Whether the end of an iteration says how many are done; all leave there or none."""
        if not same(closing[-1:], (DECIDED,)) or len(closing) > 2:
            raise refused(here, "an iteration ends in another way than all workers expect")
        if len(closing) == 1:
            return False
        found = fit([DONE], closing[:1])
        done = loop.hi - loop.dim if loop.reverse else loop.dim + expr(1) - loop.lo
        if found is None or self.scope.read(found["__done"]) != done:
            raise refused(closing[0], f"{done} steps are done")
        return True

    @contextmanager
    def inside(self, here: Statement, loop: Loop) -> Generator[Body]:
        """The body of a loop, which has the range of one of the schedule."""
        if not isinstance(here, For):
            raise refused(here, "the schedule has a loop here")
        lo, hi = loop.lo, loop.hi
        wanted = [hi - 1, lo - 1, expr(-1)] if loop.reverse else [lo, hi]
        found = [self.scope.read(x) for x in here.bounds]
        if (found if len(found) > 1 else [expr(0), *found]) != wanted:
            raise refused(here, f"the schedule has the range {', '.join(map(str, wanted))}")
        name, around = self.scope.bind(here, Name(here.index)), self.loops
        self.scope.values[name] = expr(loop.dim)
        self.loops = (*around, name)
        yield here.body
        self.loops = around
        del self.scope.values[name]

    def phase(self, phase: Phase, items: list[Item], rest: Sequence[Statement]) -> None:
        """A phase: all that the schedule has here up to a barrier, or to a loop with phases."""
        groups = _groups(self.segment(phase, items, rest))
        for chain in phase.chains:
            calls = chain.calls
            key = next((k for k, found in groups.items() if calls & _numbers(found)), None)
            if key is None:
                raise refused(phase.head, f"the schedule has no calls of {sorted(calls)} here")
            self.chain(phase, chain, groups.pop(key))
        if groups:
            raise refused(phase.head, f"{next(iter(groups.values()))[0]} is missing")
        self.certain(phase)
        self.phases += 1

    def segment(
        self, phase: Phase, items: list[Item], rest: Sequence[Statement]
    ) -> list[Called | Looped]:
        """What the schedule has up to a barrier, or to the loop that follows in the text."""
        found: list[Called | Looped] = []
        count = sum(chain.length for chain in phase.chains)
        while items and len(found) < count:
            item = items[0]
            if isinstance(item, Met) or (isinstance(item, Looped) and not _is_serial(item)):
                break
            found.append(item)
            del items[0]
        if not found and not phase.closing:
            raise refused(phase.head, "the schedule has nothing more here")
        if items and not isinstance(items[0], Met):
            is_loop = isinstance(items[0], Looped) and rest and isinstance(rest[0], For)
            if not is_loop:
                raise refused(phase.head, "the schedule has more before the next barrier")
        if len(_groups(found)) > 1 and any(map(_meets, found)):
            raise refused(phase.head, "a barrier in a loop that one worker runs is missing")
        self.alone += sum(map(_meets, found))
        return found

    def certain(self, phase: Phase) -> None:
        """A phase without items is never ended: it has some, or is left out then."""
        certain = phase.least or any(chain.is_certain for chain in phase.chains)
        if not certain and not phase.asks:
            raise refused(phase.head, "nobody ends the phase if it has no items")
        if phase.asks and phase.closing:
            raise refused(phase.head, "nobody ends the iteration if the phase has no items")

    def chain(self, phase: Phase, chain: Chain, wanted: Sequence[Called | Looped]) -> None:
        """What is done for an item of a chain."""
        first = wanted[0]
        worker = first.worker if isinstance(first, Called) else ()
        parts = check_items(phase, chain, worker, self.scope)
        own, shared, text = tuple[str, ...](), tuple[Expression, ...](), chain.body
        if isinstance(worker, Cut):
            parted = chain.count if chain.count is not None else chain.guard
            assert parted is not None, "an item of a chain is counted or guarded"
            shared = (chain.own, parted)
        elif not worker:
            self.serial(phase.head, text, wanted)
            return
        else:
            own = (check_tile(phase, chain, worker[0], parts, self.scope),)
            shared = (binary("%", chain.own, parts), Name(parts)) if parts else ()
            text = text[1:]
        if len(text) != len(wanted):
            raise refused(phase.head, "an item has other calls in the schedule")
        for here, item in zip(text, wanted, strict=True):
            assert isinstance(item, Called), "loops are done by one worker"
            self.invoked(here, item, own, shared)

    def serial(
        self, head: Statement, text: Sequence[Statement], items: Sequence[Item], alone: bool = False
    ) -> None:
        """Calls and loops that one worker does; all tiles of a kernel if it is ``alone``."""
        wanted = [item for item in items if not isinstance(item, Met)]
        if len(text) != len(wanted):
            raise refused(head, "one worker has other calls and loops in the schedule")
        for here, item in zip(text, wanted, strict=True):
            if isinstance(item, Looped):
                with self.inside(here, item.loop) as body:
                    self.serial(here, body, item.body, alone)
                continue
            assert isinstance(item, Called), "barriers were left out"
            match item.worker:
                case ():
                    self.invoked(here, item, (), ())
                case (Loop() as loop,) if alone:
                    with self.inside(here, loop) as body:
                        own, self.loops = self.loops[-1:], self.loops[:-1]
                        if len(body) != 1:
                            raise refused(here, "the schedule has one call here")
                        self.invoked(body[0], item, own, ())
                case _:
                    raise refused(here, "this work cannot be left to one worker")

    def invoked(
        self, here: Statement, called: Called, own: tuple[str, ...], parts: tuple[Expression, ...]
    ) -> None:
        """The call of a kernel, which takes as many numbers as it is given.

        The last ones may be constants: numbers of draws, of which the loops are compared.
        """
        names = ("local", "key", "entry", *self.extents)
        read = (*self.extents, *self.loops, *own)
        first = _first_entry(here)
        numbers = (Name("local"), Name("key"), first, *map(Name, read), *parts)
        numbers += _draws(here, len(numbers))
        wanted = call("invoke", word("kernels", called.number), "arena", "at", Tuple(numbers))
        if not isinstance(here, Do) or not same(here.call, wanted):
            raise refused(here, f"the schedule has `{wanted}`")
        takes = self.kernels[called.number : called.number + 1]
        if not takes or len(takes[0].parameters) != len(numbers) + 2:
            raise refused(here, "the kernel takes other numbers")
        if tuple(name for name, _ in takes[0].parameters[2:][: len(names)]) != names:
            raise refused(here, "the kernel takes the extents in another order")
        if not self.table.begins(called.number, takes[0], first.value):
            raise refused(here, "the kernel counts from other tensors than the schedule's")
        self.calls += 1

    def apart(self, here: Statement, items: list[Item]) -> None:
        """What one worker does alone where extents leave little, or else all do."""
        match here:
            case If(Compare("<=", little, most), mine, others) if mine and others:
                pass
            case _:
                raise refused(here, "workers may decide differently")
        extents = Scope((), {name: expr(Extent(name)) for name in self.extents})
        for side in (little, most):
            extents.read(side)
        before = list(items)
        if self.steps(others, items):
            raise refused(here, "an iteration does not end here")
        wanted, calls = before[: len(before) - len(items)], self.calls
        rest = list(mine)
        phase = read_phase(rest, self.scope)
        if rest or len(phase.chains) != 1 or phase.closing:
            raise refused(here, "one worker alone has one phase")
        check_items(phase, phase.chains[0], (), self.scope)
        self.serial(here, phase.chains[0].body, wanted, alone=True)
        self.calls = calls
        self.alone += sum(map(_meets, wanted))


def _first_entry(call: Statement) -> Constant:
    """Where a kernel's entries in the offset table are said to begin."""
    match call:
        case Do(Call("invoke", (_, _, _, Tuple((_, _, Constant(int(entry)), *_))))) if entry >= 0:
            return Constant(entry)
        case _:
            return Constant(0)


def _draws(call: Statement, place: int) -> tuple[Constant, ...]:
    """The constants that a call passes from a place on."""
    match call:
        case Do(Call("invoke", (_, _, _, Tuple(numbers)))):
            given = [x for x in numbers[place:] if isinstance(x, Constant)]
            return tuple(x for x in given if isinstance(x.value, int) and x.value >= 0)
        case _:
            return ()


def _is_serial(item: Item) -> bool:
    """Whether one worker does all of it."""
    match item:
        case Met():
            return True
        case Called():
            return item.worker == ()
        case Looped():
            return all(map(_is_serial, item.body))


def _meets(item: Item) -> int:
    """How many barriers the schedule has in an item."""
    return sum(map(_meets, item.body)) if isinstance(item, Looped) else isinstance(item, Met)


Key = Cut | tuple[tuple[Expr, Expr], ...]


def _groups(items: Sequence[Called | Looped]) -> dict[Key, list[Called | Looped]]:
    """What one worker has to do for an item, in the order of the schedule."""
    out: dict[Key, list[Called | Looped]] = {}
    for item in items:
        worker = item.worker if isinstance(item, Called) else ()
        key = worker if isinstance(worker, Cut) else tuple((x.lo, x.hi) for x in worker)
        out.setdefault(key, []).append(item)
    return out


def _numbers(items: Sequence[Item]) -> frozenset[int]:
    """The kernels that are called."""
    found = (
        frozenset({x.number})
        if isinstance(x, Called)
        else _numbers(x.body)
        if isinstance(x, Looped)
        else frozenset[int]()
        for x in items
    )
    return frozenset[int]().union(*found)
