"""Folds over slices as sums with bound steps: the element that is folded, and its ranges."""

from __future__ import annotations

from collections.abc import Container

from ostinato.pdg.build import affine, part, read, reduce_node, union_domain
from ostinato.pdg.index import Dim, Expr, FloorDiv, Index, Slice, expr, floordiv
from ostinato.pdg.node import Iota, Map, Node, Read, Reduce, Reshape, intern
from ostinato.report.drawing.points import At, index_text, moved

Named = Container[Node]


def bound(x: Node, axes: tuple[int, ...], at: At, named: Named) -> tuple[Node, list[str]] | None:
    """An element of what a fold over slices folds, and the ranges of the dims that it binds."""
    if axes != tuple(range(-x.rank, -x.rank + len(axes))):
        return None
    found = slices(x, len(axes), named)
    if any(isinstance(i, Slice) for i in at.values()):
        return None
    places: list[Expr] = []
    ranges: list[str] = []
    for each in found:
        if each is None:
            return None
        dim, index = each
        is_full = index == dim.whole
        free = is_full and dim not in x.domain and dim not in at
        own = dim if free else Dim(f"{dim.name}′", dim.serial, dim.symbol.name, dim.size)
        places.append(floordiv(expr(own) - index.lo, index.step))
        text = f"{own} = {index_text(moved(index.lo, at))} … {index_text(moved(index.hi - 1, at))}"
        ranges.append(dim.name if free else text + f", step {index.step}" * (index.step > 1))
    return at_place(x, tuple(places), named), ranges


def slices(x: Node, count: int, named: Named) -> list[tuple[Dim, Slice] | None]:
    """For each of the leading axes the steps that it stands for, if it stands for any."""
    if x in named or not count:
        return [None] * count
    match x.op:
        case Read(pairs):
            own = [(d, i) for d, i in pairs if isinstance(i, Slice)]
            return [*own, *slices(x.args[0], count - len(own), named)][:count]
        case Map():
            several = [slices(a, count, named) for a in x.args]
            return [
                next((s for s in each if s is not None), None)
                for each in zip(*several, strict=True)
            ]
        case Reshape() if lost := _padding(x):
            return [*[None] * lost, *slices(x.args[0], count - lost, named)][:count]
        case Reshape() if _trailing(x) and count <= x.args[0].rank:
            return slices(x.args[0], count, named)
        case Reduce(_, axes):
            inner = slices(x.args[0], x.args[0].rank, named)
            return [i for k, i in enumerate(inner) if k - len(inner) not in axes][:count]
        case _:
            return [None] * count


def at_place(x: Node, places: tuple[Expr, ...], named: Named) -> Node:
    """The rest of an array at positions of its leading axes."""
    if not places:
        return x
    if x not in named:
        match x.op:
            case Read(pairs):
                own = [d for d, i in pairs if isinstance(i, Slice)]
                known = zip(own, places, strict=False)
                steps = {d: i for d, i in pairs if isinstance(i, Slice)}
                points: dict[Dim, Index] = dict(pairs)
                points |= {d: _step(steps[d], k) for d, k in known}
                return read(at_place(x.args[0], places[len(own) :], named), list(points.items()))
            case Map():
                args = tuple(at_place(a, places, named) for a in x.args)
                shape = x.shape[len(places) :]
                return intern((x.op, args, union_domain(args), shape, x.dtype))
            case Iota():
                return affine(places[0])
            case Reshape() if lost := _padding(x):
                return at_place(x.args[0], places[lost:], named)
            case Reshape() if _trailing(x) and len(places) <= x.args[0].rank:
                return at_place(x.args[0], places, named)
            case Reduce(fn, axes) if axes[0] + x.args[0].rank >= len(places):
                return reduce_node(fn, at_place(x.args[0], places, named), axes)
            case _:
                pass
    for place in places:
        x = part(x, 0, expr(0) if x.shape[0] == expr(1) else place)
    return x


def _step(steps: Slice, place: Expr) -> Expr:
    """The step at a place of a slice; ``place`` may say which step it belongs to."""
    if steps.step > 1 and len(place.terms) == 1 and isinstance(place.terms[0][0], FloorDiv):
        return place.terms[0][0].of + steps.lo
    return steps.lo + place * steps.step


def _padding(x: Node) -> int:
    """How many axes of size 1 a reshape only puts in front."""
    count = x.rank - x.args[0].rank
    is_padded = count > 0 and x.shape == (expr(1),) * count + x.args[0].shape
    return count if is_padded else 0


def _trailing(x: Node) -> bool:
    """Whether a reshape only appends axes of size 1."""
    old = x.args[0].shape
    return x.shape[: len(old)] == old and set(x.shape[len(old) :]) <= {expr(1)}
