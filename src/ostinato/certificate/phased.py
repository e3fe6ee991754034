"""The text of a phase: its items, and what is done for those of each chain.

A phase counts its items, and workers claim them one after the other. A chain has the items from
``first`` to the next chain's, which may be more than it counts: a guard then leaves the others.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.certificate.fitted import Fit, Misemitted, Scope, fit, fit_value, refused
from ostinato.certificate.happens_before import Cut
from ostinato.certificate.order import Loop
from ostinato.pdg.index import Expr, expr

SLICES = "min(nt, 8)"  # items of the parts of arrays
ROUNDED = "(max(0, __count) + nt - 1) // nt * nt"
PARTS = "__name = max(1, nt // max(1, __tiles))"
SOME = "if items > 0:\n    __core"
CORE = """
if load_acquire(bar, 0) == phase:
    ended = 0
    item = claim(bar, phase, tid, nt, items, ended)
    while item >= 0:
        __done
        ended += 1
        item = claim(bar, phase, tid, nt, items, ended)
    if finish(bar, nt, items, ended) == 1:
        __closing
        open_next(bar, nt)
phase += 1
rest(bar, phase, tid, nt)
"""
LENGTH = 3  # statements of that


@dataclass(frozen=True)
class Chain:
    """The text of what is done for an item; ``own`` is its number within the chain.

    There are as many items as there are workers if no ``count`` is given. Without ``spare`` items
    every one is of the count.
    """

    own: str
    count: ast.expr | None
    guard: ast.expr | None
    spare: bool
    body: tuple[ast.stmt, ...]

    @property
    def calls(self) -> frozenset[int]:
        """The numbers of the kernels that are called in it."""
        found = set[int]()
        for node in (x for statement in self.body for x in ast.walk(statement)):
            match node:
                case ast.Subscript(
                    value=ast.Name(id="kernels"), slice=ast.Constant(value=int() as number)
                ):
                    found.add(number)
                case _:
                    pass
        return frozenset(found)

    @property
    def length(self) -> int:
        """How many calls and loops of calls one item is."""
        return sum(not isinstance(x, ast.Assign) for x in self.body)

    @property
    def is_certain(self) -> bool:
        """Whether it has an item for any extents."""
        if self.count is None:
            return True
        return any(fit_value(one, self.count) is not None for one in ("1", SLICES))


@dataclass(frozen=True)
class Phase:
    """The text of a phase.

    ``least``: it has an item even where nothing is counted; ``asks``: without items it is left out.
    ``parts`` are the numbers of parts of tiles by their names, each given by that of the tiles.
    """

    head: ast.stmt
    chains: tuple[Chain, ...]
    parts: Mapping[str, Expr]
    closing: tuple[ast.stmt, ...]
    least: bool
    asks: bool


def read_phase(rest: list[ast.stmt], scope: Scope) -> Phase:
    """Take the text of a phase from the beginning of a text."""
    head, parts, ends = rest[0], dict[str, Expr](), list[tuple[str, ast.expr]]()
    while True:
        if not rest:
            raise refused(head, "no phase follows")
        here = rest.pop(0)
        if found := fit("items = __items", [here]):
            ends.append(("items", found["__items"]))
            break
        if found := fit(PARTS, [here]):
            tiles = scope.read(found["__tiles"])
            parts[scope.bind(here, found["__name"])] = tiles
        elif found := fit("__name = __end", [here]):
            ends.append((scope.bind(here, found["__name"]), found["__end"]))
        else:
            raise refused(here, "a phase begins with the number of its items")
    least = fit("items = max(1, items)", rest[:1]) is not None
    del rest[:least]
    asked = fit(SOME, rest[:1])
    core = asked.bodies["__core"] if asked else rest[:LENGTH]
    del rest[: 1 if asked else LENGTH]
    inside = fit(CORE, core)
    if inside is None:
        raise refused(head, "workers do not claim the items of a phase, and end it, behind that")
    done, closing = inside.bodies["__done"], tuple(inside.bodies["__closing"])
    chains = tuple(_chains(head, ends, done, least))
    return Phase(head, chains, parts, closing, least, asked is not None)


def _chains(
    head: ast.stmt, ends: Sequence[tuple[str, ast.expr]], done: list[ast.stmt], least: bool
) -> Sequence[Chain]:
    """The chains of a phase: their items follow each other, and none is in two."""
    if not done:
        if len(ends) > 1 or fit_value("0", ends[0][1]) is None:
            raise refused(head, "nothing is done for an item")
        return ()
    if len(ends) == 1:
        return (_chain("", fit_value("__count", ends[0][1]), done, least),)
    out, first = list[Chain](), ""
    for name, end in ends:
        is_last = name == "items"
        other = "" if is_last else "\nelse:\n    __others"
        branch = fit(f"if item < {name}:\n    __mine{other}", done)
        shift = f"{first} + " if first else ""
        room = fit_value(f"{shift}nt", end) if not is_last else None
        count = fit_value(f"{shift}{'max(0, __count)' if is_last else ROUNDED}", end)
        if branch is None or (room is None and count is None):
            raise refused(head, f"it is not clear which items of the phase come before `{name}`")
        spare = least or not is_last
        out.append(_chain(first, None if room else count, branch.bodies["__mine"], spare))
        first, done = name, branch.bodies.get("__others", [])
    return out


def _chain(first: str, found: Fit | None, body: list[ast.stmt], spare: bool) -> Chain:
    own = f"item - {first}" if first else "item"
    count = found["__count"] if found is not None else None
    guarded = fit(f"if {own} < __count:\n    __body", body)
    if guarded is not None:
        return Chain(own, count, guarded["__count"], spare, tuple(guarded.bodies["__body"]))
    return Chain(own, count, None, spare, tuple(body))


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
    if len(names) != 1:
        raise refused(phase.head, "an item is done in two ways")
    return names.pop()


def _counted(phase: Phase, count: ast.expr, worker: tuple[Loop, ...] | Cut, scope: Scope) -> str:
    """Check the number of a chain's items; the name of the number of parts of a tile."""
    match worker:
        case Cut():
            if fit_value(SLICES, count) is not None:
                return ""
        case ():
            if fit_value("1", count) is not None:
                return ""
        case (loop,):
            if scope.read(count) == loop.hi - loop.lo:
                return ""
        case (loop, _):
            found = fit_value("__tiles * __parts", count)
            name = ast.unparse(found["__parts"]) if found else ""
            tiles = loop.hi - loop.lo
            if found and scope.read(found["__tiles"]) == tiles == phase.parts.get(name):
                return name
        case more:
            raise Misemitted(f"three loops share out the work of a call: {more}")
    raise refused(phase.head, f"`{ast.unparse(count)}` is not the number of a chain's items")


def check_tile(phase: Phase, chain: Chain, loop: Loop, parts: str, scope: Scope) -> str:
    """Check which tile an item is; its name.

    Errors: Misemitted.
    """
    if not chain.body:
        raise refused(phase.head, "nothing is done for an item")
    here, which = chain.body[0], f"({chain.own}){f' // {parts}' if parts else ''}"
    if found := fit(f"__name = {which}", [here]):
        lo = expr(0)
    elif found := fit(f"__name = __lo + {which}", [here]):
        lo = scope.read(found["__lo"])
    else:
        raise refused(here, "an item is another tile")
    if lo != loop.lo:
        raise refused(here, f"the tiles begin at {loop.lo}")
    return scope.bind(here, found["__name"])
