"""Conditions and quasi-affine expressions as isl objects, and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias, assert_never

import islpy

from ostinato.pdg.condition import (
    Compare,
    Cond,
    Every,
    Negation,
    Some,
    at_least,
    compared,
    equal,
    every,
)
from ostinato.pdg.index import (
    Atom,
    Dim,
    Expr,
    Extent,
    Extremum,
    FloorDiv,
    Mod,
    Product,
    expr,
    floordiv,
    parts_of,
)

Dims: TypeAlias = tuple[Dim, ...]
PARAM, IN, OUT = islpy.dim_type.param, islpy.dim_type.in_, islpy.dim_type.out
SET, DIV = islpy.dim_type.set, islpy.dim_type.div
CONTEXT = islpy.DEFAULT_CONTEXT


@dataclass(frozen=True, slots=True)
class Frame:
    """The isl space of a tuple of dims with some extents as parameters."""

    dims: Dims
    extents: tuple[str, ...]
    space: islpy.Space = field(compare=False)
    local: islpy.LocalSpace = field(compare=False)

    def zero(self) -> islpy.Aff:
        return islpy.Aff.zero_on_domain(self.local)


@lru_cache(maxsize=4096)
def frame_for(dims: Dims, extents: tuple[str, ...]) -> Frame:
    assert len(set(dims)) == len(dims), f"a dimension stands twice in {dims}"
    space = islpy.Space.set_alloc(CONTEXT, len(extents), len(dims))
    for k, name in enumerate(extents):
        space = space.set_dim_name(PARAM, k, name)
    return Frame(dims, extents, space, islpy.LocalSpace.from_space(space))


def frame_of(dims: Dims, cond: Cond) -> Frame:
    mentioned = cond.symbols
    strange = [s.name for s in mentioned if isinstance(s, Dim) and s not in dims]
    assert not strange, (
        f"{cond} mentions {', '.join(strange)}, not in ({', '.join(map(str, dims))})"
    )
    return frame_for(dims, tuple(sorted(parameters(cond))))


_products: dict[str, Product] = {}


def _name_of(size: Product) -> str:
    """A product of extents is a number of its own to isl, under this name."""
    varies = Expr(((size, 1),), 0).dims
    assert not varies, f"{size} is a product: legal in a size, not in an index"
    _products[str(size)] = size
    return str(size)


def parameters(cond: Cond) -> set[str]:
    """The names of the extents in a condition, and of their products."""
    return set[str]().union(*map(_parameters, compared(cond)))


def _parameters(e: Expr) -> set[str]:
    out: set[str] = set()
    for atom, _ in e.terms:
        match atom:
            case Extent(name):
                out.add(name)
            case Product():
                out.add(_name_of(atom))
            case _:
                out = out.union(*map(_parameters, parts_of(atom)))
    return out


@lru_cache(maxsize=4096)
def places_of(dims: Dims) -> dict[Dim, int]:
    return {d: k for k, d in enumerate(dims)}


def _linear(e: Expr, frame: Frame) -> tuple[islpy.Aff, list[tuple[Atom, int]]]:
    """The affine part of an expression, and its compound terms."""
    aff = frame.zero()
    places, compound = places_of(frame.dims), list[tuple[Atom, int]]()
    for atom, k in e.terms:
        if isinstance(atom, Dim):
            aff = aff.set_coefficient_val(IN, places[atom], k)
        elif isinstance(atom, Extent | Product):
            name = atom.name if isinstance(atom, Extent) else _name_of(atom)
            aff = aff.set_coefficient_val(PARAM, frame.extents.index(name), k)
        else:
            compound.append((atom, k))
    return aff.set_constant_val(e.const), compound


def _value(e: Expr, frame: Frame) -> islpy.PwAff:
    """A quasi-affine expression as an isl function."""
    aff, compound = _linear(e, frame)
    total = islpy.PwAff.from_aff(aff)
    for atom, k in compound:
        total = total.add(_atom(atom, frame).scale_val(k))
    return total


def _atom(atom: Atom, frame: Frame) -> islpy.PwAff:
    match atom:
        case FloorDiv(of, by):
            return _value(of, frame).scale_down_val(by).floor()
        case Mod(of, by):
            return _value(of, frame).mod_val(by)
        case Extremum(kind, of_):
            first, *rest = (_value(e, frame) for e in of_)
            for other in rest:
                first = first.min(other) if kind == "min" else first.max(other)
            return first
        case Dim() | Extent() | Product():
            return _value(Expr(((atom, 1),), 0), frame)
        case other:
            assert_never(other)


@lru_cache(maxsize=16384)
def raw_set(cond: Cond, frame: Frame) -> islpy.Set:
    match cond:
        case Compare(of, kind):
            value = _value(of, frame)
            return value.nonneg_set() if kind == "ge" else value.zero_set()
        case Every(of_):
            whole = islpy.Set.universe(frame.space)
            for c in of_:
                whole = whole.intersect(raw_set(c, frame))
            return whole
        case Some(of_):
            none = islpy.Set.empty(frame.space)
            for c in of_:
                none = none.union(raw_set(c, frame))
            return none
        case Negation(of__):
            return raw_set(of__, frame).complement()
        case other:
            assert_never(other)


def integer(value: islpy.Val) -> int | None:
    return int(value.to_python()) if value.is_int() else None


def _extent_at(aff: islpy.Aff, k: int) -> Expr:
    name = aff.get_domain_space().get_dim_name(PARAM, k)
    assert name is not None, "an extent without a name"
    return Expr(((_products.get(name, Extent(name)), 1),), 0)


def expression(aff: islpy.Aff, dims: Dims) -> Expr:
    """An isl function as an expression, rounded down where it is a fraction."""
    denominator = integer(aff.get_denominator_val()) or 1
    whole = aff.scale_val(denominator)

    def times(kind: islpy.dim_type, k: int) -> int:
        return integer(whole.get_coefficient_val(kind, k)) or 0

    total = expr(integer(whole.get_constant_val()) or 0)
    for k, dim in enumerate(dims):
        total = total + expr(dim) * times(IN, k)
    for k in range(whole.dim(PARAM)):
        if times(PARAM, k):
            total = total + _extent_at(whole, k) * times(PARAM, k)
    for k in range(whole.dim(DIV)):
        if times(DIV, k):
            total = total + expression(whole.get_div(k), dims) * times(DIV, k)
    return floordiv(total, denominator) if denominator > 1 else total


def conjunction(basic: islpy.BasicSet, dims: Dims) -> Cond:
    kept: list[Cond] = []
    for constraint in basic.remove_redundancies().get_constraints():
        if constraint.is_div_constraint():
            continue
        e = expression(constraint.get_aff(), dims)
        kept.append(equal(e, 0) if constraint.is_equality() else at_least(e, 0))
    return every(*kept)
