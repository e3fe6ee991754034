"""Layout: the order of axes in memory.

The innermost axis decides whether a loop vectorises. Rows of a tile are innermost where the other
axes are few elements (a state of four numbers is four vectors of rows), outermost otherwise (a
layer of 64 units is rows of 64). Tiny axes come first: they are unrolled, not loops. A map lies as
most of what it reads does: channels that a product leaves innermost stay so until one reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from ostinato.codegen.ir.system import Load, Statement, loads, readers
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.axes import JUMPING, coefficient, is_tiny, long_axes
from ostinato.codegen.target import Target
from ostinato.pdg.functions import POSITIONS
from ostinato.pdg.index import Dim


def lay_out(
    statements: Mapping[str, Statement], target: Target, outputs: Set[str] = frozenset()
) -> dict[str, Statement]:
    """Reorder the axes of every computed statement, and the loads of it.

    The loops of a fold then follow what it reads: adding vectors beats adding numbers. What a user
    asked for follows nothing: it would be turned around again.
    """
    few = {n: _is_few(s, target.lanes) for n, s in statements.items()}
    orders = {n: _order(s, few[n]) for n, s in statements.items() if s.kind != "along"}
    for name, s in statements.items():
        if s.kind == "along":
            orders[name] = _order(s, few[name] or _is_beside(s, statements, orders))
    followed = set[str]()
    for name, s in statements.items():
        if name not in outputs and (last := _followed(s, statements, orders)) is not None:
            orders[name] = _order(s, few[name], last)
            followed.add(name)
    for name in _turned_back(statements, followed):
        orders[name] = _order(statements[name], few[name])
    out = {name: _ordered(s, statements, orders) for name, s in statements.items()}
    return {name: _contiguous(s, target) for name, s in out.items()}


def _order(s: Statement, few: bool, last: Dim | None = None) -> tuple[int, ...]:
    """The new order of the axes, as old positions; lanes are innermost where rows are ``few``.

    Else ``last`` is, if it is given.
    """
    numbers = range(len(s.axes))
    own = {a.index for a in s.axes}
    if s.kind in ("input", "host") or any(a.size.dims & own for a in s.axes):
        return tuple(numbers)
    late = s.reduced if s.fold.startswith("arg") else frozenset[Dim]()

    def rank(k: int) -> tuple[bool, bool, bool, bool, int]:
        axis = s.axes[k]
        is_lane = axis.index in s.lanes
        return (axis.index in late, not is_tiny(axis), is_lane == few, axis.index == last, k)

    return tuple(sorted(numbers, key=rank))


def _is_few(s: Statement, lanes: int) -> bool:
    """Whether a row is at most a vector; a fold lies like what it folds, others by themselves."""
    count = 1
    for axis in s.result_axes if s.kind in ("matmul", "along") else s.axes:
        if axis.index in s.lanes:
            continue
        if not axis.pad.is_const:
            return False
        count *= axis.pad.const
    return count <= lanes


def _is_beside(
    s: Statement, statements: Mapping[str, Statement], orders: Mapping[str, tuple[int, ...]]
) -> bool:
    """Whether what a function of whole axes reads in order has rows as neighbours."""
    lanes = [a.index for a in s.axes if a.index in s.lanes]
    found = [
        _permuted(x, statements[x.tensor], orders[x.tensor])
        for x in loads(s.clauses[0][1])
        if x.tensor in orders
    ]
    return s.fold not in JUMPING and any(_contiguity(lane, found) > 0 for lane in lanes)


def _turned_back(statements: Mapping[str, Statement], followed: Set[str]) -> Iterator[str]:
    """Maps that follow what they read, and that only maps read which do not follow them.

    One loop computes them and their readers, if they lie as these do.
    """
    by, left = readers(statements.values()), set(followed)
    for name in reversed([*statements]):
        own = [reader for reader, _ in by.get(name, ())]
        if name in left and all(r.kind == "map" and r.name not in left for r in own):
            left.remove(name)
            yield name


def _followed(
    s: Statement, statements: Mapping[str, Statement], orders: Mapping[str, tuple[int, ...]]
) -> Dim | None:
    """The axis along which more of what a map reads lies in memory than along its own last one.

    A fold of unrolled axes is one, too.
    """
    if s.kind not in ("map", "fold") or any(a.index in s.reduced for a in long_axes(s)):
        return None
    found = [
        _permuted(x, statements[x.tensor], orders[x.tensor])
        for x in s.reads
        if x.tensor in orders and x.tensor != s.name
    ]
    own = [a.index for a in long_axes(s) if a.index not in s.lanes]
    scores = [_contiguity(index, found) for index in own]
    if len(own) < 2 or max(scores) <= scores[-1]:
        return None
    return own[scores.index(max(scores))]


def _ordered(
    s: Statement, statements: Mapping[str, Statement], orders: Mapping[str, tuple[int, ...]]
) -> Statement:
    def load(x: Load) -> Load:
        return _permuted(x, statements[x.tensor], orders[x.tensor])

    moved = replace(s, axes=tuple(s.axes[k] for k in orders[s.name]))
    return Rewrite({}, load).clauses(moved)


def _permuted(load: Load, producer: Statement, order: tuple[int, ...]) -> Load:
    """The same element under the producer's new order of axes."""
    at = dict(zip((a.index for a in producer.result_axes), load.axes, strict=True))
    axes = tuple(at[producer.axes[k].index] for k in order if producer.axes[k].index in at)
    return replace(load, axes=axes)


def _contiguous(s: Statement, target: Target) -> Statement:
    """A fold with a kept axis innermost, where its loads are contiguous along that axis.

    A position goes with the best value so far, which only lanes keep beside it.
    """
    own = {a.index for a in s.axes}
    if s.kind != "fold" or any(a.size.dims & own for a in s.axes):
        return s
    if s.fold in POSITIONS and not target.keeps_parts:
        return s
    found = s.reads
    last = s.result_axes[-1] if s.result_axes else None  # the stored order stays
    if last is None or last not in long_axes(s) or _contiguity(last.index, found) <= 0:
        return s
    return replace(s, axes=(*(a for a in s.axes if a is not last), last))


def _contiguity(index: Dim, found: Sequence[Load]) -> int:
    """Loads that are contiguous along an axis, less those that are strided along it."""
    score = 0
    for load in found:
        along = [e for e in (*load.dims, *load.axes) if index in e.dims]
        if along:
            is_last = bool(load.axes) and along == [load.axes[-1]]
            score += 1 if is_last and coefficient(along[0], index) == 1 else -1
    return score
