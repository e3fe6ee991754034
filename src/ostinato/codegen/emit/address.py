"""Where an element lies: offsets in elements, split into a hoisted base and an inner part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ostinato.codegen.emit.index_arithmetic import Names, expression
from ostinato.codegen.ir.system import Clamp
from ostinato.codegen.loops.expression import Constant, Expression, binary, call
from ostinato.codegen.memory.storage import Slot, Storage
from ostinato.pdg.index import Atom, Dim, Expr, dims_of, expr


@dataclass(frozen=True, slots=True)
class Part:
    """One summand of an offset: an index, perhaps computed at run time, times a stride."""

    index: Expression
    stride: Expr
    is_inner: bool  # depends on an axis of the nest: stays in the loop


def slot_parts(
    storage: Storage, dims: Sequence[Expr], inner: frozenset[Dim], names: Names, clamp: Clamp
) -> list[Part]:
    """The summands for a tensor's slots."""
    out: list[Part] = []
    steps = storage.strides[: len(storage.slots)]
    for slot, stride, at in zip(storage.slots, steps, dims, strict=True):
        if slot.kind == "one":
            continue
        if slot.kind == "full" and not clamp:
            out.extend(_affine(at, stride, inner, names))
        else:
            index = _stored(slot, at, names)
            out.append(Part(index, stride, bool(dims_of(at) & inner)))
    return out


def _stored(slot: Slot, at: Expr, names: Names) -> Expression:
    index, extent = expression(at, names), expression(slot.extent, names)
    if slot.kind == "circular":
        return binary("%", index, extent)
    return clamped(index, slot.extent, names)


def clamped(index: Expression, size: Expr, names: Names) -> Expression:
    """The nearest index inside ``0 <= index < size``; 0 where there is none."""
    return call("max", call("min", index, expression(size - 1, names)), 0)


def _affine(at: Expr, stride: Expr, inner: frozenset[Dim], names: Names) -> list[Part]:
    """Separate the terms that move in the nest from those that stand still."""
    moving = Expr(tuple((a, k) for a, k in at.terms if dims_of(_term(a)) & inner), 0)
    still = at - moving
    parts = [Part(expression(moving, names), stride, True)] if moving.terms else []
    return parts + ([] if still == expr(0) else [Part(expression(still, names), stride, False)])


def _term(atom: Atom) -> Expr:
    return Expr(((atom, 1),), 0)


def axis_parts(
    storage: Storage, axes: Sequence[Expr], names: Names, clamp: Clamp
) -> Iterator[Part]:
    """The summands for a tensor's axes: all of them stay in the loop."""
    steps = storage.strides[len(storage.slots) :]
    for axis, stride, at in zip(storage.axes, steps, axes, strict=True):
        if at != expr(0):
            index = expression(at, names)
            yield Part(clamped(index, axis.pad, names) if clamp == "all" else index, stride, True)


def total(parts: Sequence[Part], start: Expression | None, names: Names) -> Expression:
    """The sum of the parts, after ``start``."""
    out = start
    for part in parts:
        term = scaled(part.index, part.stride, names)
        out = term if out is None else binary("+", out, term)
    return out if out is not None else Constant(0)


def scaled(index: Expression, stride: Expr, names: Names) -> Expression:
    if stride == expr(1):
        return index
    if stride.is_const and isinstance(index, Constant) and index.value >= 0:
        return Constant(int(index.value) * stride.as_int())
    return binary("*", index, expression(stride, names))
