"""Bind a driver to a grid: blocks do the items of each phase, one after the other.

There are two forms. In the *cooperative* one a single kernel runs the whole driver, and all blocks
meet at a barrier of the grid after each phase; it needs a grid that is resident. In the *launched*
one the host runs the driver, and each phase is a kernel of its own.

Who does which item is decided by its number, so that nothing is counted at run time: of the words
by which workers of a CPU share items none are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.codegen.cuda.dealt import THREAD
from ostinato.codegen.cuda.one_thread import ARENA
from ostinato.codegen.cuda.rewriting import exchanged, given, indices, names, rewritten
from ostinato.codegen.cuda.shared_sums import BARRIER
from ostinato.codegen.cuda.whole_grid import GRID_BARRIER, name_of
from ostinato.codegen.loops.expression import (
    Call,
    Compare,
    Constant,
    Expression,
    Logic,
    Name,
    Tuple,
    call,
    item,
)
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    Do,
    For,
    Function,
    If,
    Let,
    Statement,
    While,
    Write,
    every,
)

BLOCK, BLOCKS = "block", "blocks"
COUNTED = frozenset(("phase", "ended"))  # what workers of a CPU count
LOCAL, KEY = "local", "key"  # where a block's own memory begins; the key of all draws


@dataclass(frozen=True)
class Launched:
    """A phase as a kernel of its own: what it takes besides memory, and its statements."""

    name: str
    parameters: tuple[str, ...]
    body: Body


@dataclass(frozen=True)
class Bound:
    """The two forms of a driver, and the extents that it takes."""

    cooperative: Body
    host: Body
    launched: tuple[Launched, ...]
    extents: tuple[str, ...]


def extents(driver: Function) -> tuple[str, ...]:
    """The extents that a driver takes."""
    names = tuple(name for name, _ in driver.parameters)
    return names[names.index("control") + 1 :]


def bound(driver: Function, of_grid: Mapping[str, Expression]) -> Bound:
    """Bind a driver; ``of_grid`` says of kernels when all threads of the grid should run them."""
    together = _Grid(of_grid).body(driver.body)
    apart = _Host({})
    host = apart.body(driver.body)
    return Bound(together, host, tuple(apart.launched), extents(driver))


@dataclass
class _Grid:
    """Writes the cooperative form."""

    of_grid: Mapping[str, Expression]
    count: Expression | None = None  # the items of the phase

    def body(self, body: Body) -> Body:
        out: list[Statement] = []
        for statement in body:
            out += self.statement(statement)
        return tuple(out)

    def statement(self, of: Statement) -> Iterator[Statement]:
        match of:
            case Let((name,), _) | Add(name, _) if name in COUNTED:
                pass
            case Let((name,), Call("claim")):
                pass  # the loop over items says which
            case Let((name,), _) if name == LOCAL:
                yield self.plain(of)
            case Do(Call("enter")):
                pass
            case Do(Call("rest")):
                yield from self.ended()
            case Let(("items",), count):
                self.count = count
                yield self.plain(of)
            case If(Compare("==", Call("load_acquire", (Name("bar"), _)), _), then, _):
                yield from self.phase(then)
            case Do(Call("invoke", (_, _, _, Tuple(integers))), kernel):
                yield self.called(kernel, integers)
                yield BARRIER  # the next kernel may be for the same rows
            case Do(Call("store_release", (array, index, value))):
                yield Write(array, index, self.value(value))
            case Do(Call(function)):
                raise AssertionError(f"a driver calls `{function}`")
            case For(_, _, body):
                made = self.plain(of)
                assert isinstance(made, For)
                yield replace(made, body=self.body(body))
            case If(test, then, other):
                yield If(self.value(test), self.body(then), self.body(other))
            case While():
                raise AssertionError(f"a driver has a loop while `{of.test}`")
            case _:
                yield self.plain(of)

    def ended(self) -> Iterator[Statement]:
        """All blocks have done their items."""
        yield GRID_BARRIER

    def phase(self, body: Body) -> Iterator[Statement]:
        """The items of a phase, and what is done once at its end."""
        for statement in body:
            match statement:
                case While(Compare(">=", Name(index), _), inner):
                    yield from self.among_all(inner, self.items(index, inner))
                case If(Compare("==", Call("finish"), _), closing, _):
                    yield from self.closed(closing)
                case _:
                    yield from self.statement(statement)

    def called(self, kernel: str, integers: Sequence[Expression]) -> Statement:
        return Do(Call(kernel, (Name(ARENA), Name("at"), *map(self.value, integers))))

    def among_all(self, body: Body, items: Statement) -> Iterator[Statement]:
        """The one item of a phase by all threads of the grid, where these have something to do."""
        calls = [s for s in body if not _counts(s)]
        kernels = [s.remark for s in calls if isinstance(s, Do) and s.call.function == "invoke"]
        tests = tuple(self.of_grid[name] for name in kernels if name in self.of_grid)
        if self.count != Constant(1) or len(kernels) < len(calls) or not tests:
            yield items
            return
        made: list[Statement] = []
        for each in calls:
            assert isinstance(each, Do), "an item is calls"
            integers = each.call.args[3]
            assert isinstance(integers, Tuple), "a kernel takes integers"
            made += [GRID_BARRIER] if made else []
            made.append(self.by_all(each.remark, integers.of))
        test = tests[0] if len(tests) == 1 else Logic("or", tests)
        yield If(test, tuple(made), (items,))

    def by_all(self, kernel: str, integers: Sequence[Expression]) -> Statement:
        """A kernel by all threads, or by the first block if it has few lanes; in its memory."""
        if kernel in self.of_grid:
            own = [Constant(0) if x == Name(LOCAL) else x for x in integers]
            return self.called(name_of(kernel), own)
        return If(Compare("==", Name(BLOCK), Constant(0)), (self.called(kernel, integers),))

    def items(self, index: str, body: Body) -> Statement:
        """A block does every item whose number it has, modulo the number of blocks."""
        bounds = (Name(BLOCK), Name("items"), Name(BLOCKS))
        return For(index, bounds, self.body(body))

    def closed(self, closing: Body) -> Iterator[Statement]:
        """What is done once, when all items of a phase are."""
        body = _without_opening(closing)
        if not body:
            return
        first = Logic("and", tuple(Compare("==", Name(x), Constant(0)) for x in (BLOCK, THREAD)))
        yield GRID_BARRIER
        yield If(first, self.body(body))

    def plain(self, of: Statement) -> Statement:
        return rewritten(of, self.change)

    def value(self, of: Expression) -> Expression:
        return exchanged(of, self.change)

    def change(self, of: Expression) -> Expression:
        match of:
            case Call("load_acquire", (array, index)):
                return item(array, index)
            case Name("tid"):
                return Name(BLOCK)
            case Name("nt"):
                return Name(BLOCKS)
            case _:
                return of


@dataclass
class _Host(_Grid):
    """Writes the launched form: the host's statements, and kernels that it launches."""

    launched: list[Launched] = field(default_factory=list[Launched])

    def statement(self, of: Statement) -> Iterator[Statement]:
        match of:
            case Let((name,), _) if name in (LOCAL, KEY):
                pass  # each block has its own memory; the host gives the key
            case _:
                yield from super().statement(of)

    def ended(self) -> Iterator[Statement]:
        """A launch begins when those before it have ended."""
        return iter(())

    def items(self, index: str, body: Body) -> Statement:
        bounds = (Name(BLOCK), Name("items"), Name("grid"))
        inner = For(index, bounds, _Grid({}).body(body))
        given_here = {*given((inner,)), *indices((inner,))}
        taken = {BLOCK, THREAD, ARENA, "at", "grid", LOCAL, "stride", *given_here}
        free = dict.fromkeys(x for x in names((inner,)) if x not in taken)
        name = f"phase_{len(self.launched)}"
        self.launched.append(Launched(name, tuple(free), (inner,)))
        args = Tuple(tuple(map(Name, free)))
        return Do(call("launch", Name(name), "items", args))

    def closed(self, closing: Body) -> Iterator[Statement]:
        body = _without_opening(closing)
        if body:
            yield Do(Call("wait", ()))
            yield from self.body(body)


def _counts(of: Statement) -> bool:
    """Whether a statement counts items, as workers of a CPU do."""
    match of:
        case Add(name, _):
            return name in COUNTED
        case Let(_, Call("claim")):
            return True
        case _:
            return False


def _without_opening(closing: Body) -> Body:
    """What is done at the end of a phase, but for what lets workers of a CPU into the next one."""
    return tuple(s for s in closing if not (isinstance(s, Do) and s.call.function == "open_next"))


def repeats(of: Bound) -> bool:
    """Whether a loop of the driver repeats a phase."""
    loops = (s for s in every(of.cooperative) if isinstance(s, For))
    return any(GRID_BARRIER in every(each.body) for each in loops)
