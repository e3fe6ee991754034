"""Refuse what 64-bit indices and 32-bit positions cannot count, or memory cannot hold.

Compiled code computes indices in int64 and gives positions as int32, the interpreter in integers of
any size. They agree because nothing leaves these types: a program is checked when it is made, for
dimensions of up to `LONGEST` steps, and each run checks its extents and what it multiplies them to.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ostinato.pdg.condition import Compare, Cond, Negation, compared
from ostinato.pdg.errors import AffineError, DomainError, MemoryLimitError, ShapeError
from ostinato.pdg.index import Dim, Expr, Extent, Slice, evaluate, expr, product
from ostinato.pdg.intervals import LARGEST, LONGEST, depth, interval, magnitude
from ostinato.pdg.naming import called, show_shape
from ostinato.pdg.node import Affine, Along, Case, Iota, Node, Part, Pdg, Read
from ostinato.pdg.upper_bound import upper_bound

DEEPEST = 100
"""The most functions in each other that an index or a condition of a user has: Python recurses."""

MOST_POSITIONS = 2**31 - 1
"""The most positions of one axis: each has a number of type int32."""

MOST_DIMS = 60
"""The most dimensions of a program, and dimensions and axes of a tensor.

Sets of them are masks of 64 bits, of which the compiler needs some for dimensions of its own.
"""


@dataclass(frozen=True, slots=True)
class Count:
    """What a run counts, and the most that it may be."""

    what: str
    size: Expr
    most: int


def check_limits(pdg: Pdg) -> None:
    """Refuse index expressions that int64 may not hold, and axes that are too long or too many.

    Errors: AffineError, ShapeError.
    """
    places = _places(pdg)
    _check_dims(pdg, places)
    for node in pdg.nodes():
        for e in _expressions(node):
            require_small(e, places[node])
        if isinstance(node.op, Read):
            _check_distance(node, node.op, places[node])
        for size in node.shape:
            if size.is_const and size.const > MOST_POSITIONS:
                fact = f"{called(node)} of shape {show_shape(node.shape)} has too long an axis"
                raise ShapeError(fact, "An axis has at most 2**31 - 1 positions.", places[node])
    for equation in pdg.equations.values():
        for k, (cond, _) in enumerate(equation.cases):
            where = equation.where[k] if k < len(equation.where) else equation.rec.where
            for e in compared(cond):
                require_small(e, where)


def _check_dims(pdg: Pdg, places: Mapping[Node, str]) -> None:
    found = set[Dim]()
    for node in pdg.nodes():
        if node.rank + len(node.domain) > MOST_DIMS:
            fact = f"{called(node)} has {len(node.domain)} dimensions and {node.rank} axes"
            raise ShapeError(fact, f"A tensor has at most {MOST_DIMS} of them.", places[node])
        found.update(node.domain)
        if len(found) > MOST_DIMS:
            fact = f"with {called(node)} the program is over more than {MOST_DIMS} dimensions"
            remedy = "Use one dimension for all that has as many steps, or write two programs."
            raise AffineError(fact, remedy, places[node])


def _check_distance(node: Node, op: Read, where: str) -> None:
    """Refuse a position further from either end than a dimension can have steps."""
    for dim, index in op.at:
        for end in _ends(index):
            for e in (end, end - expr(dim.extent)):
                if e.is_const and abs(e.const) > LONGEST:
                    fact = f"{called(node.args[0])} is read at {dim} = {end}"
                    remedy = "A dimension has at most 2**30 steps; read one of those."
                    raise DomainError(fact, remedy, where)


def require_small(e: Expr, where: str, most: int = LARGEST) -> Expr:
    """Return an index expression that int64 holds with all that it is computed from.

    Errors: AffineError.
    """
    if magnitude(e) > most:
        fact = f"the index `{e}` may leave the 64 bits that it is computed in"
        remedy = "Use smaller constants: where all dimensions have 2**30 steps, 2**60 is the most."
        raise AffineError(fact, remedy, where)
    return e


def require_shallow(e: Expr, where: str) -> Expr:
    """Return an index expression in which few functions stand one within the other.

    Errors: AffineError.
    """
    if depth(e) > DEEPEST:
        fact = f"an index of more than {DEEPEST} functions (//, %, minimum, maximum) in each other"
        remedy = "Write it with fewer, or as an int32 tensor: ot.index(t)."
        raise AffineError(fact, remedy, where)
    return e


def require_plain(cond: Cond, where: str) -> Cond:
    """Return a condition that is made of index expressions within limits, and not nested deeply.

    Errors: AffineError.
    """
    todo = [(cond, 0)]
    while todo:
        one, level = todo.pop()
        if level > DEEPEST:
            fact = f"a condition of more than {DEEPEST} and, or, not in each other"
            remedy = "Choose in turn: ot.where(one, x, ot.where(another, y, z))."
            raise AffineError(fact, remedy, where)
        match one:
            case Compare(of):
                require_shallow(require_small(of, where), where)
            case Negation(inner):
                todo.append((inner, level + 1))
            case several:
                todo += [(each, level + 1) for each in several.of]
    return cond


def _expressions(node: Node) -> Iterator[Expr]:
    """The index expressions of an operator and its shape."""
    yield from node.shape
    match node.op:
        case Affine(of):
            yield of
        case Iota(size) | Along(size=size):
            yield size
        case Read(at):
            for _, index in at:
                yield from _ends(index)
        case Part(_, at_):
            yield from _ends(at_)
        case Case(cond):
            yield from compared(cond)
        case _:
            pass


def _ends(index: Expr | Slice) -> tuple[Expr, ...]:
    if isinstance(index, Slice):
        return (index.lo, index.hi, index.size * index.step)
    return (index,)


def _places(pdg: Pdg) -> dict[Node, str]:
    """The user's line of every node: its own, or that of what reads it."""
    out = {node: node.where for node in pdg.nodes()}
    for node in reversed(pdg.nodes()):
        for arg in node.args:
            out[arg] = out[arg] or out[node]
    return out


def counts(pdg: Pdg) -> tuple[Count, ...]:
    """What a run must count because some extents of up to `LONGEST` would make it too many.

    >>> from ostinato.pdg import build
    >>> x = build.iota(3 * expr(Extent("T")))
    >>> [(str(each.size), each.most) for each in counts(Pdg((("x", x),), {}))]
    [('3*T', 2147483647)]
    """
    out: dict[tuple[Expr, int], Count] = {}
    done: set[tuple[Expr, ...]] = set()
    for node in pdg.nodes():
        if not any(size.terms for size in node.shape) or node.shape in done:
            continue
        done.add(node.shape)
        sizes = [upper_bound(size) for size in node.shape]
        limits = [(size, MOST_POSITIONS) for size in sizes] + [(product(sizes), LARGEST)]
        for size, most in limits:
            if interval(size).high > most:
                what = f"{called(node)} of shape {show_shape(node.shape)}"
                out.setdefault((size, most), Count(what, size, most))
    return tuple(out.values())


POINT_BYTES = 100  # of a memoised point of the interpreter: a tuple and the header of an array
ELEMENT_BYTES = 8  # of the widest type


@cache
def physical_bytes() -> int:
    """Return the memory of this machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_memory(needed_bytes: int, extents: Mapping[str, int]) -> None:
    """Refuse a run that no memory of this machine can hold.

    Errors: MemoryLimitError.
    """
    if needed_bytes > physical_bytes():
        raise too_large(needed_bytes, extents)


def too_large(needed_bytes: int, extents: Mapping[str, int], why: str = "") -> MemoryLimitError:
    """Return the error of a run that gets no memory: of this machine, unless ``why`` says it."""
    at = ", ".join(f"{name}={n}" for name, n in sorted(extents.items()))
    here = f"the run at {at}" if at else "the run"
    if not why and needed_bytes > physical_bytes():
        why = f"this machine has {physical_bytes():,}"
    fact = f"{here} takes {needed_bytes:,} bytes, {why or 'which the system refuses'}"
    return MemoryLimitError(fact, "Run it with smaller sizes.")


def interpreted_bytes(pdg: Pdg, extents: Mapping[str, int]) -> int:
    """Return the least memory that the interpreter takes: its outputs, or its largest value."""
    env: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    largest = points = 0
    for node in pdg.nodes():
        if not any(size.dims for size in node.shape):
            elements = math.prod(max(0, evaluate(size, env)) for size in node.shape)
            largest = max(largest, elements * ELEMENT_BYTES)
    for _, node in pdg.results:
        steps = math.prod(evaluate(expr(dim.extent), env) for dim in node.domain)
        points = max(points, steps * POINT_BYTES)
    return max(largest, points)
