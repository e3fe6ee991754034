"""Layout: the order of axes in memory.

The innermost axis decides whether a loop vectorises. Rows of a tile are innermost where the other
axes are few elements (a state of four numbers is four vectors of rows), outermost otherwise (a
layer of 64 units is rows of 64). Tiny axes come first: they are unrolled, not loops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostinato.codegen.axes import is_tiny
from ostinato.codegen.system import Load, Statement
from ostinato.codegen.values import Rewrite
from ostinato.pdg.index import Dim, dims_of

FEW = 16  # elements per row up to which rows are the innermost axis


def lay_out(statements: Mapping[str, Statement]) -> dict[str, Statement]:
    """Reorder the axes of every computed statement, and the loads of it."""
    orders = {name: _order(s) for name, s in statements.items()}
    return {name: _ordered(s, statements, orders) for name, s in statements.items()}


def _order(s: Statement) -> tuple[int, ...]:
    """The new order of the axes, as old positions."""
    numbers = range(len(s.axes))
    own = {a.index for a in s.axes}
    if s.kind == "input" or any(dims_of(a.size) & own for a in s.axes):
        return tuple(numbers)
    late = s.reduced if s.fold.startswith("arg") else frozenset[Dim]()
    few = _is_few(s)

    def rank(k: int) -> tuple[bool, bool, bool, int]:
        axis = s.axes[k]
        is_lane = axis.index in s.lanes
        return (axis.index in late, not is_tiny(axis), is_lane == few, k)

    return tuple(sorted(numbers, key=rank))


def _is_few(s: Statement) -> bool:
    """Whether a row has few elements; a fold lies like what it folds, a product by itself."""
    count = 1
    for axis in s.result_axes if s.kind == "matmul" else s.axes:
        if axis.index in s.lanes:
            continue
        if not axis.pad.is_const:
            return False
        count *= axis.pad.const
    return count <= FEW


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
