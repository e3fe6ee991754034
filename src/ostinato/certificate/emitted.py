"""The driver as it was emitted, read as text: its calls and barriers are those of the schedule.

The text is Python; anything in it but loops, calls of kernels, barriers, the end of a published
iteration and work that one worker does alone is refused. Ranges are read as index expressions and
compared with those of the schedule. Where a worker does the work between some barriers alone, these
are left out: that loses nothing if a barrier stands before and behind, for then every other event
is on one side of both, and the first worker does what is between in the order of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.certificate.memory import Timeline
from ostinato.certificate.order import Loop, Moment
from ostinato.certificate.waits import Cut, Event, filled, written
from ostinato.pdg.index import (
    Expr,
    Extent,
    expr,
    floordiv,
    maximum,
    minimum,
    mod,
    product,
)

ENTRY, GIVEN = "main", 9  # the parameters before the extents
BEGIN = ("local = tid * stride", "key = fold_seed(seed)")
PUBLISHED = "if tid == 0:\n    control[last] = load_acquire(control, 0)"
LAST = "last = 16 + 8 * ("
LEFT = "if control[last] != 0:\n    return"
MEET = "barrier(bar, nt)"
FIRST = "tid == 0"


class Misemitted(Exception):
    """The driver is not that of the schedule; the text shows the line."""


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
    """A loop of the driver."""

    loop: Loop
    body: tuple[Item, ...]


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
    numbers = {time: k for k, time in enumerate(sorted(events, key=_places))}
    return tuple(_body((), times, events, numbers))


def _places(time: tuple[Moment, ...]) -> tuple[int, ...]:
    return tuple(moment for moment in time if isinstance(moment, int))


def _body(
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
            body = tuple(_body((*here, loop.dim), times, events, numbers))
            yield Looped(loop, body)


def check_driver(source: str, order: Timeline, extents: Sequence[str]) -> str:
    """Compare the driver in a generated module with the schedule, for any number of workers.

    Errors: Misemitted.
    """
    functions = [x for x in ast.parse(source).body if isinstance(x, ast.FunctionDef)]
    (driver,) = (x for x in functions if x.name == ENTRY)
    names = [argument.arg for argument in driver.args.args][GIVEN:]
    if names != list(extents) or [ast.unparse(x) for x in driver.body[:2]] != list(BEGIN):
        raise Misemitted("the driver does not begin as drivers do")
    reader = _Reader({name: expr(Extent(name)) for name in names}, tuple(names))
    reader.body(driver.body[2:], expected(order), True)
    if any(reader.published[:-1]) or not all(reader.published[-1:]):
        raise Misemitted("another loop than the last one says how many steps are done")
    return f"{reader.calls} calls and {reader.barriers} barriers, {reader.alone} left out at times"


@dataclass
class _Reader:
    """The statements of a driver beside what a schedule asks for."""

    names: dict[str, Expr]
    extents: tuple[str, ...]
    loops: tuple[str, ...] = ()  # the driver's loops around, by their names in the text
    calls: int = 0
    barriers: int = 0
    alone: int = 0
    published: list[bool] = field(default_factory=list[bool])  # of loops that may be left

    def body(
        self,
        text: Sequence[ast.stmt],
        wanted: Sequence[Item],
        meets: bool,
        loop: Loop | None = None,
    ) -> None:
        """Read a body; ``meets``: all that was before it is done, at every time it begins."""
        items, rest = list(wanted), list(self.unpublished(text, loop))
        while rest:
            here = rest.pop(0)
            if isinstance(here, ast.If) and here.orelse:
                meets = self.apart(here, items, rest, meets)
                continue
            if not items:
                raise _refused(here, "the schedule has nothing more here")
            item = items.pop(0)
            match item:
                case Met():
                    self.barrier(here)
                    meets = True
                case Called():
                    self.call(here, rest, item)
                    meets = False
                case Looped(loop, inner):
                    self.loop(here, loop, inner, meets)
                    meets = meets and _ends(inner)
        if items:
            raise Misemitted(f"the driver ends before the schedule: {items[0]} is missing")

    def unpublished(self, text: Sequence[ast.stmt], loop: Loop | None) -> Iterator[ast.stmt]:
        """A body without the statements that publish an iteration, which stand around a barrier."""
        for k, here in enumerate(text):
            if not ast.unparse(here).startswith(LAST):
                yield here
                continue
            rest, fact = text[k + 1 :], "an iteration ends in another way than all workers expect"
            begin, end = [ast.unparse(x) for x in rest[:2]], [ast.unparse(x) for x in rest[2:]]
            if loop is None or ast.unparse(here) != f"{LAST}{self.loops[-1]} & 1)":
                raise _refused(here, fact)
            if begin != [PUBLISHED, MEET] or end[-1:] != [LEFT] or len(end) > 2:
                raise _refused(here, fact)
            yield rest[1]
            self.published.append(len(end) == 2)
            if len(end) == 2:
                done = loop.hi - loop.dim if loop.reverse else loop.dim + expr(1) - loop.lo
                self.stored(rest[2], done)
            return

    def stored(self, here: ast.stmt, done: Expr) -> None:
        """What the first worker says of the steps that are done."""
        match here:
            case ast.If(
                test=test,
                body=[ast.Expr(value=ast.Call(func=ast.Name(id="store_release"), args=args))],
                orelse=[],
            ) if ast.unparse(test) == FIRST and len(args) == 3:
                said = self.read(args[2])
                if said == done and [ast.unparse(x) for x in args[:2]] == ["control", "8"]:
                    return
                raise _refused(here, f"{done} steps are done")
            case _:
                raise _refused(here, "the schedule publishes the steps that are done here")

    def barrier(self, here: ast.stmt) -> None:
        if ast.unparse(here) != MEET:
            raise _refused(here, "a barrier is missing")
        self.barriers += 1

    def loop(self, here: ast.stmt, loop: Loop, inner: tuple[Item, ...], meets: bool) -> None:
        name, found, body = _for(here)
        lo, hi = loop.lo, loop.hi
        wanted = [hi - 1, lo - 1, expr(-1)] if loop.reverse else [lo, hi]
        self.equal(here, found, wanted)
        self.names[name], around = expr(loop.dim), self.loops
        self.loops = (*around, name)
        self.body(body, inner, meets and _ends(inner), loop)
        self.loops = around
        del self.names[name]

    def equal(self, here: ast.stmt, found: Sequence[ast.expr], wanted: Sequence[Expr]) -> None:
        if len(found) == 1:
            given = [expr(0), self.read(found[0])]
        else:
            given = [self.read(x) for x in found]
        if given != list(wanted):
            raise _refused(here, f"the schedule has the range {', '.join(map(str, wanted))}")

    def call(self, here: ast.stmt, rest: list[ast.stmt], item: Called) -> None:
        """A call, whoever does it: the first worker, every worker a part, or some of the tiles."""
        match item.worker:
            case Cut():
                self.invoked(here, item, (), ("tid", "nt"))
            case ():
                if not isinstance(here, ast.If) or ast.unparse(here.test) != FIRST:
                    raise _refused(here, "the schedule leaves it to the first worker")
                self.invoked(_only(here.body), item, (), ())
            case (loop,):
                self.shared(here, item, loop, ("tid", "nt"), ())
            case (loop, _):
                tiles = _shared(here)
                if self.read(tiles) != loop.hi - loop.lo or not rest:
                    raise _refused(here, "workers are shared out among other tiles")
                parts = "tid // shared", "nt // shared"
                self.shared(rest.pop(0), item, loop, parts, ("tid % shared", "shared"))
            case more:
                raise Misemitted(f"three loops share out the work of a call: {more}")
        self.calls += 1

    def shared(
        self,
        here: ast.stmt,
        item: Called,
        loop: Loop,
        mine: tuple[str, str],
        parts: tuple[str, ...],
    ) -> None:
        """A loop of which a worker does its iterations."""
        name, found, body = _for(here)
        first, by = (ast.parse(text, mode="eval").body for text in mine)
        if len(found) != 3 or ast.unparse(found[2]) != ast.unparse(by):
            raise _refused(here, "its iterations are not shared out among the workers")
        start, lo = found[0], expr(0)
        if isinstance(start, ast.BinOp) and isinstance(start.op, ast.Add):
            lo, start = self.read(start.left), start.right
        if ast.unparse(start) != ast.unparse(first) or (lo, self.read(found[1])) != (
            loop.lo,
            loop.hi,
        ):
            raise _refused(here, f"the schedule has the range {loop.lo}, {loop.hi}")
        self.invoked(_only(body), item, (name,), parts)

    def invoked(
        self, here: ast.stmt, item: Called, own: tuple[str, ...], parts: tuple[str, ...]
    ) -> None:
        given = ("local", "key", *self.extents, *self.loops, *own, *parts)
        wanted = f"invoke(kernels[{item.number}], arena, at, ({', '.join(given)}))"
        if ast.unparse(here) != wanted:
            raise _refused(here, f"the schedule has `{wanted}`")

    def apart(self, here: ast.If, items: list[Item], rest: Sequence[ast.stmt], meets: bool) -> bool:
        """What the first worker does alone where extents leave little, or else all do."""
        mine = here.body[0]
        used = {x.id for x in ast.walk(here.test) if isinstance(x, ast.Name)}
        is_little = isinstance(here.test, ast.Compare) and used <= {*self.extents, "min", "max"}
        is_first = isinstance(mine, ast.If) and ast.unparse(mine.test) == FIRST
        if not is_little or not is_first or len(here.body) > 1 or not isinstance(mine, ast.If):
            raise _refused(here, "workers may decide differently")
        if not meets or not rest or ast.unparse(rest[0]) != MEET:
            raise _refused(here, "no barrier stands before and behind what one worker does alone")
        count, start = _length(here.orelse), self.calls
        wanted = [items.pop(0) for _ in range(min(count, len(items)))]
        inside = [item for item in wanted if isinstance(item, Called)]
        if any(isinstance(item, Looped) for item in wanted) or len(mine.body) != len(inside):
            raise _refused(here, "one worker alone does not do what all do together")
        for statement, item in zip(mine.body, inside, strict=True):
            self.by_itself(statement, item)
        self.body(here.orelse, wanted, True)
        self.alone += len(wanted) - (self.calls - start)
        return False

    def by_itself(self, here: ast.stmt, item: Called) -> None:
        """A call of which the first worker does all."""
        match item.worker:
            case ():
                self.invoked(here, item, (), ())
            case (loop,) if not isinstance(loop, Cut):
                name, found, body = _for(here)
                self.equal(here, found, [loop.lo, loop.hi])
                self.invoked(_only(body), item, (name,), ())
            case _:
                raise _refused(here, "work in parts cannot be left to one worker")

    def read(self, of: ast.expr) -> Expr:
        """An index expression."""
        match of:
            case ast.Constant(value=int() as value):
                return expr(value)
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=value):
                return -self.read(value)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operation(op, self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id="min"), args=values):
                return minimum(*map(self.read, values))
            case ast.Call(func=ast.Name(id="max"), args=values):
                return maximum(*map(self.read, values))
            case _:
                raise Misemitted(f"`{ast.unparse(of)}` is no index expression")

    def operation(self, op: ast.operator, left: Expr, right: Expr) -> Expr:
        match op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return product((left, right))
            case ast.FloorDiv():
                return floordiv(left, right.as_int())
            case ast.Mod():
                return mod(left, right.as_int())
            case _:
                raise Misemitted(f"{type(op).__name__} is no operation on indices")


def _ends(body: Sequence[Item]) -> bool:
    return bool(body) and isinstance(body[-1], Met)


def _length(text: Sequence[ast.stmt]) -> int:
    """How many calls and barriers a body without loops has."""
    return sum(not isinstance(x, ast.Assign) for x in text)


def _for(here: ast.stmt) -> tuple[str, list[ast.expr], list[ast.stmt]]:
    match here:
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Call(func=ast.Name(id="range"), args=found),
            body=body,
            orelse=[],
        ):
            return name, found, body
        case _:
            raise _refused(here, "the schedule has a loop here")


def _shared(here: ast.stmt) -> ast.expr:
    """The tiles among which ``shared = max(1, nt // max(1, tiles))`` shares out workers."""
    match here:
        case ast.Assign(
            targets=[ast.Name(id="shared")],
            value=ast.Call(
                args=[
                    ast.Constant(value=1),
                    ast.BinOp(
                        left=ast.Name(id="nt"),
                        op=ast.FloorDiv(),
                        right=ast.Call(args=[ast.Constant(value=1), tiles]),
                    ),
                ]
            ),
        ):
            return tiles
        case _:
            raise _refused(here, "the schedule shares out the steps of tiles here")


def _only(body: Sequence[ast.stmt]) -> ast.stmt:
    if len(body) != 1:
        raise _refused(body[1], "the schedule has one call here")
    return body[0]


def _refused(here: ast.stmt, fact: str) -> Misemitted:
    line = ast.unparse(here).splitlines()[0]
    return Misemitted(f"the driver has `{line}`, but {fact}")
