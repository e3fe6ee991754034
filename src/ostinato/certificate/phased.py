"""The phases of a driver: their items, and what is done for those of each chain.

A phase counts its items, and workers claim them one after the other. A chain has the items from
``first`` to the next chain's, which may be more than it counts: a guard then leaves the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.certificate.fitted import Misemitted, Scope, fit, fit_value, refused, same
from ostinato.certificate.happens_before import Cut
from ostinato.certificate.order import Loop
from ostinato.codegen.loops.expression import (
    Binary,
    Call,
    Compare,
    Constant,
    Expression,
    Item,
    Name,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.statements import Add, Block, Body, Do, If, Let, Statement, every
from ostinato.pdg.index import Expr, expr

ITEM, ITEMS, ONE = Name("item"), Name("items"), Constant(1)

LAST = call("max", 0, "__count")
ROUNDED = binary("*", binary("//", binary("-", binary("+", LAST, "nt"), 1), "nt"), "nt")
PARTS = Let(("__name",), call("max", 1, binary("//", "nt", call("max", 1, "__tiles"))))
LEAST = Let(("items",), call("max", 1, "items"))
SOME = If(compare(">", "items", 0), (Do(call("__core")),))
LENGTH = 3  # statements of the core


def _core() -> Body:
    """What workers do in a phase whose items are counted."""
    out, claim = Block(), call("claim", "bar", "phase", "tid", "nt", "items", "ended")
    with out.when(compare("==", call("load_acquire", "bar", 0), "phase")):
        out.let("ended", 0)
        out.let("item", claim)
        with out.repeat(compare(">=", "item", 0)):
            out.do(call("__done"))
            out.add(Add("ended", ONE))
            out.let("item", claim)
        with out.when(compare("==", call("finish", "bar", "nt", "items", "ended"), 1)):
            out.do(call("__closing"))
            out.do(call("open_next", "bar", "nt"))
    out.add(Add("phase", ONE))
    out.do(call("rest", "bar", "phase", "tid", "nt"))
    return out.body


CORE = _core()


def is_sliced(count: Expression) -> bool:
    """Whether it is a number of parts of arrays: no more than workers, and at least one."""
    match count:
        case Call("min", (Name("nt"), Constant(int() as slices))):
            return slices > 0
        case _:
            return False


@dataclass(frozen=True)
class Chain:
    """What is done for an item; ``own`` is its number within the chain.

    There are as many items as there are workers if no ``count`` is given. Without ``spare`` items
    every one is of the count.
    """

    own: Expression
    count: Expression | None
    guard: Expression | None
    spare: bool
    body: Body

    @property
    def calls(self) -> frozenset[int]:
        """The numbers of the kernels that are called in it."""
        return called(self.body)

    @property
    def length(self) -> int:
        """How many calls and loops of calls one item is."""
        return sum(not isinstance(x, Let) for x in self.body)

    @property
    def is_certain(self) -> bool:
        """Whether it has an item for any extents."""
        if self.count is None:
            return True
        return same(self.count, ONE) or is_sliced(self.count)


@dataclass(frozen=True)
class Phase:
    """A phase.

    ``least``: it has an item even where nothing is counted; ``asks``: without items it is left out.
    ``parts`` are the numbers of parts of tiles by their names, each given by that of the tiles.
    """

    head: Statement
    chains: tuple[Chain, ...]
    parts: Mapping[str, Expr]
    closing: Body
    least: bool
    asks: bool


def called(body: Body) -> frozenset[int]:
    """The numbers of the kernels that statements call."""
    found = set[int]()
    for statement in every(body):
        match statement:
            case Do(Call("invoke", (Item(Name("kernels"), Constant(int(number))), *_))):
                found.add(number)
            case _:
                pass
    return frozenset(found)


def read_phase(rest: list[Statement], scope: Scope) -> Phase:
    """Take a phase from the beginning of some statements."""
    head, parts, ends = rest[0], dict[str, Expr](), list[tuple[Name, Expression]]()
    while True:
        if not rest:
            raise refused(head, "no phase follows")
        here = rest.pop(0)
        if found := fit([PARTS], [here]):
            tiles = scope.read(found["__tiles"])
            parts[scope.bind(here, found["__name"])] = tiles
            continue
        match here:
            case Let(("items",), end):
                ends.append((ITEMS, end))
                break
            case Let((name,), end):
                ends.append((Name(scope.bind(here, Name(name))), end))
            case _:
                raise refused(here, "a phase begins with the number of its items")
    least = same(rest[:1], [LEAST])
    del rest[:least]
    asked = fit([SOME], rest[:1])
    core = asked.bodies["__core"] if asked else rest[:LENGTH]
    del rest[: 1 if asked else LENGTH]
    inside = fit(CORE, core)
    if inside is None:
        raise refused(head, "workers do not claim the items of a phase, and end it, behind that")
    chains = tuple(_chains(head, ends, inside.bodies["__done"], least))
    return Phase(head, chains, parts, inside.bodies["__closing"], least, asked is not None)


def _chains(
    head: Statement, ends: Sequence[tuple[Name, Expression]], done: Body, least: bool
) -> Sequence[Chain]:
    """The chains of a phase: their items follow each other, and none is in two."""
    if not done:
        if len(ends) > 1 or not same(ends[0][1], Constant(0)):
            raise refused(head, "nothing is done for an item")
        return ()
    if len(ends) == 1:
        return (_chain(None, ends[0][1], done, least),)
    out, first = list[Chain](), None
    for name, end in ends:
        is_last = name == ITEMS
        more = _behind(first, end)
        found = fit_value(LAST if is_last else ROUNDED, more) if more else None
        is_room = not is_last and more == Name("nt")
        match done:
            case (If(Compare("<", item, bound), mine, others),) if (
                (item, bound) == (ITEM, name) and bool(others) != is_last and (found or is_room)
            ):
                count = found["__count"] if found else None
                out.append(_chain(first, count, mine, least or not is_last))
                first, done = name, others
            case _:
                raise refused(head, f"it is not clear which items come before `{name}`")
    return out


def _behind(first: Name | None, end: Expression) -> Expression | None:
    """How many items stand between a chain's first one and its end."""
    if first is None:
        return end
    match end:
        case Binary("+", left, more) if left == first:
            return more
        case _:
            return None


def _chain(first: Name | None, count: Expression | None, body: Body, spare: bool) -> Chain:
    own = Binary("-", ITEM, first) if first is not None else ITEM
    match body:
        case (If(Compare("<", left, guard), inner, ()),) if left == own:
            return Chain(own, count, guard, spare, inner)
        case _:
            return Chain(own, count, None, spare, body)


def check_items(phase: Phase, chain: Chain, worker: tuple[Loop, ...] | Cut, scope: Scope) -> str:
    """Check that each item of a schedule's chain is done once; the name of its number of parts.

    Errors: Misemitted.
    """
    names = set[str]()
    if chain.count is not None:
        names.add(_counted(phase, chain.count, worker, scope))
    elif worker != () and not isinstance(worker, Cut):
        raise refused(phase.head, "a chain may have more items than there are workers")
    if chain.guard is not None:
        names.add(_counted(phase, chain.guard, worker, scope))
    elif chain.spare or chain.count is None:
        raise refused(phase.head, "a chain has items that are not its own")
    is_cut = isinstance(worker, Cut) and chain.count is not None and chain.guard is not None
    if len(names) != 1 or (is_cut and not same(chain.count, chain.guard)):
        raise refused(phase.head, "an item is done in two ways")
    return names.pop()


def _counted(phase: Phase, count: Expression, worker: tuple[Loop, ...] | Cut, scope: Scope) -> str:
    """Check the number of a chain's items; the name of the number of parts of a tile."""
    match worker:
        case Cut():
            if is_sliced(count):
                return ""
        case ():
            if same(count, ONE):
                return ""
        case (loop,):
            if scope.read(count) == loop.hi - loop.lo:
                return ""
        case (loop, _):
            match count:
                case Binary("*", tiles, Name(parts)):
                    if scope.read(tiles) == loop.hi - loop.lo == phase.parts.get(parts):
                        return parts
                case _:
                    pass
        case more:
            raise Misemitted(f"three loops share out the work of a call: {more}")
    raise refused(phase.head, f"`{count}` is not the number of a chain's items")


def check_tile(phase: Phase, chain: Chain, loop: Loop, parts: str, scope: Scope) -> str:
    """Check which tile an item is; its name.

    Errors: Misemitted.
    """
    if not chain.body:
        raise refused(phase.head, "nothing is done for an item")
    here, which = chain.body[0], Binary("//", chain.own, Name(parts)) if parts else chain.own
    match here:
        case Let((name,), Binary("+", lo, tile)) if same(tile, which):
            begins = scope.read(lo)
        case Let((name,), tile) if same(tile, which):
            begins = expr(0)
        case _:
            raise refused(here, "an item is another tile")
    if begins != loop.lo:
        raise refused(here, f"the tiles begin at {loop.lo}")
    return scope.bind(here, Name(name))
