"""Sums over all steps as an axis, taken step by step in a loop instead.

One product over all steps of two histories is fast, and needs both whole. As a sum over the dim it
takes one step at a time, in the loop that computes them. It adds up in another order, so that it
rounds otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Literal_,
    Load,
    Statement,
    System,
    Value,
    fresh,
    loads,
)
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.prepare import is_product
from ostinato.pdg.condition import ALWAYS, Cond, at_least, every
from ostinato.pdg.index import Dim, Expr, expr

Statements = Mapping[str, Statement]


def step_by_step(system: System, dim: Dim) -> System:
    """Return the system whose sums over all steps of a dim run over the dim itself.

    What a product takes is a new statement then, of one load.
    """
    out: dict[str, Statement] = {}
    for s in system.statements.values():
        axis = next((a for a in s.axes if _is_over(s, a, dim, system.statements)), None)
        made = [s] if axis is None else _summed(s, axis, dim, system.statements)
        out |= {each.name: each for each in made}
    return replace(system, statements=out)


def _is_over(s: Statement, axis: Axis, dim: Dim, statements: Statements) -> bool:
    """Whether an axis runs over steps of a dim: every load that mentions it is of one step."""
    is_sum = s.kind in ("fold", "matmul") and s.fold == "sum" and dim not in s.dims
    if not is_sum or axis.index not in s.reduced or axis.size.dims:
        return False
    if any(axis.index in a.size.dims for a in s.axes):
        return False
    found = s.reads
    own = [x for x in found if any(axis.index in e.dims for e in (*x.dims, *x.axes))]
    if s.kind == "matmul" and not (is_product(s) and len(own) == 2):
        return False
    return bool(own) and all(_shift(x, axis, dim, statements) is not None for x in own)


def _shift(x: Load, axis: Axis, dim: Dim, statements: Statements) -> int | None:
    """How many steps behind its position on an axis a load reads; None if it reads otherwise."""
    dims = statements[x.tensor].result_dims
    if dim not in dims or x.picks or x.clamp:
        return None
    at = dict(zip(dims, x.dims, strict=True))
    gap = at.pop(dim) - axis.index
    is_alone = not any(axis.index in e.dims for e in (*at.values(), *x.axes))
    is_here = all(e.as_dim() == d for d, e in at.items())
    return gap.const if gap.is_const and is_alone and is_here else None


def _summed(s: Statement, axis: Axis, dim: Dim, statements: Statements) -> Iterator[Statement]:
    """The statement as a sum over the dim, after what a product of it takes."""
    every_load = s.reads
    shifts = (_shift(x, axis, dim, statements) for x in every_load)
    shift = next(k for k in shifts if k is not None)
    position = expr(dim) - shift
    moved = Rewrite({axis.index: position}).clauses(
        replace(
            s,
            dims=tuple(sorted((*s.dims, dim), key=lambda d: d.serial)),
            axes=tuple(a for a in s.axes if a is not axis),
            reduced=s.reduced - {axis.index} | {dim},
        )
    )
    inside = _inside(position, axis, dim)
    if s.kind == "fold" and inside != ALWAYS:
        unit = Literal_(0, s.dtype)
        moved = replace(
            moved, clauses=tuple((c, Choice(inside, v, unit, s.dtype)) for c, v in moved.clauses)
        )
    elif inside != ALWAYS:
        ((cond, value),) = moved.clauses
        assert isinstance(value, Call), f"{s.name} is no product"
        copies = [_or_zero(x, inside, statements, s) for x in loads(value)]
        yield from (copy for copy, _ in copies)
        args = tuple(load for _, load in copies)
        moved = replace(moved, clauses=((cond, replace(value, args=args)),))
    yield moved


def _inside(position: Expr, axis: Axis, dim: Dim) -> Cond:
    """Where the dim has a position of the axis."""
    low = [] if position == expr(dim) else [at_least(position, 0)]
    last = axis.size - 1 - position + dim
    high = [] if last == expr(dim.extent) - 1 else [at_least(axis.size - 1, position)]
    return every(*low, *high)


def _or_zero(
    x: Load, inside: Cond, statements: Statements, reader: Statement
) -> tuple[Statement, Load]:
    """A load as a statement that is 0 elsewhere, and a load of that."""
    source = statements[x.tensor]
    name = fresh(f"{x.tensor}_of_{reader.name}", statements)
    here = tuple(map(expr, source.result_dims))
    value: Value = replace(x, axes=source.here.axes)
    made = Statement(
        name, "map", source.result_dims, source.result_axes,
        ((inside, value), (ALWAYS, Literal_(0, x.dtype))), x.dtype,
        source.lanes & frozenset(source.result_dims), where=reader.where,
    )  # fmt: skip
    return made, replace(x, tensor=name, dims=here)
