"""Operators on tensors of a proof: shapes, and elements in terms of the operands' elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ostinato.pdg.functions import FUNCTIONS, POSITIONS
from ostinato.pdg.node import Const, Input, Map, Node, postorder
from ostinato.rewrite.prove.application import Call, Choice, Fold, Number, Value, free, key, rename
from ostinato.rewrite.prove.element_counts import same_count
from ostinato.rewrite.prove.integers import Apply, Opaque, Poly, Var, divide, poly
from ostinato.rewrite.prove.normal import exact
from ostinato.rewrite.prove.setting import Fixed, Impossible, Point, Setting, Size, Unsupported, one

Element = tuple[Poly, ...]


@dataclass(frozen=True)
class Tensor:
    """Sizes (without those of a point), and the element at a point and position."""

    shape: tuple[Size, ...]
    at: Callable[[Point, Element], Value]

    @property
    def rank(self) -> int:
        return len(self.shape)


def broadcast(setting: Setting, args: Sequence[Tensor], axes: Sequence[int]) -> tuple[Size, ...]:
    """The common sizes of the given axes (negative)."""
    out: list[Size] = []
    for axis in axes:
        found = [a.shape[axis] for a in args]
        thick = [s for s in found if not s.is_one] or found
        for size in thick[1:]:
            setting.unify(thick[0], size)
        out.append(thick[0])
    return tuple(out)


def mapped(setting: Setting, fn: str, args: Sequence[Tensor]) -> Tensor:
    equal_ranks(args)
    shape = broadcast(setting, args, range(-args[0].rank, 0))
    return Tensor(shape, lambda point, at: _applied(fn, [a.at(point, thin(a, at)) for a in args]))


def _applied(fn: str, args: Sequence[Value]) -> Value:
    """A function of values; an operator that a program added as the expression that it is."""
    match fn, args:
        case "where", [Choice(test, a, b), x, y]:
            return Choice(test, _applied(fn, (a, x, y)), _applied(fn, (b, x, y)))
        case "where", [Number(Fraction() as of), x, y]:
            return x if of else y
        case _, [Choice(test, a, b)] if fn.startswith("cast:") or fn == "not":
            return Choice(test, _applied(fn, (a,)), _applied(fn, (b,)))
        case _:
            pass
    codes = FUNCTIONS[fn].code if fn in FUNCTIONS else None
    if not codes:
        return Call(fn, tuple(args))
    code = next(iter(codes.values()))
    found: dict[Node, Value] = {}
    for node in postorder((code,)):
        match node.op:
            case Input(name):
                found[node] = args[int(name)]
            case Const((value,)) if math.isfinite(value) and str(value) != "-0.0":
                found[node] = Number(Fraction(value))
            case Map(part):
                name = f"cast:{node.dtype}" if part == "cast" else part
                found[node] = Call(name, tuple(found[arg] for arg in node.args))
            case _:
                raise Unsupported(f"{node} in the code of {fn}")
    return found[code]


def folded(setting: Setting, fn: str, mask: int, x: Tensor) -> Tensor:
    axes = [k for k in range(x.rank) if mask >> (x.rank - k - 1) & 1]
    if mask >> x.rank or not axes or (fn in POSITIONS and len(axes) > 1):
        raise Impossible(f"axes {mask:b} of {x.rank}")
    kept = tuple(s for k, s in enumerate(x.shape) if k not in axes)

    def at(point: Point, element: Element) -> Value:
        rest, over, full = iter(element), list[Var](), list[Poly]()
        for k, size in enumerate(x.shape):
            if k in axes:
                index, variables = positions(setting, size, point)
                over += variables
                full.append(index)
            else:
                full.append(next(rest))
        return Fold(fn, tuple(over), x.at(point, tuple(full)))

    return Tensor(kept, at)


def positions(setting: Setting, size: Size, point: Point) -> tuple[Poly, list[Var]]:
    """An index into an axis; an axis of size ``n * k`` takes one variable for each."""
    index, variables = poly(0), list[Var]()
    for factor in factors(size):
        length = setting.size(factor, point)
        variables.append(setting.fresh(length))
        index = index * length + variables[-1]
    return index, variables


def factors(size: Size) -> list[Size]:
    fixed = size.root().fixed
    if fixed is None or fixed.kind != "times":
        return [size]
    return [part for factor in fixed.factors for part in factors(factor)]


def product(setting: Setting, x: Tensor, y: Tensor) -> Tensor:
    equal_ranks([x, y])
    if x.rank < 2:
        raise Impossible("a product of vectors")
    setting.unify(x.shape[-1], y.shape[-2])
    lead = broadcast(setting, [x, y], range(-x.rank, -2))

    def at(point: Point, element: Element) -> Value:
        k, over = positions(setting, x.shape[-1], point)
        *rows, i, j = element
        left = x.at(point, (*thin(x, rows), i, k))
        right = y.at(point, (*thin(y, rows), k, j))
        return Fold("dot", tuple(over), Call("mul", (left, right)))

    return Tensor((*lead, x.shape[-2], y.shape[-1]), at)


def permuted(setting: Setting, x: Tensor, k: int, to: int) -> Tensor:
    """Axis ``-k`` as axis ``-to``."""
    if not (1 <= k <= x.rank and 1 <= to <= x.rank):
        raise Impossible(f"axis {k} moved to {to} of {x.rank}")
    order = [j for j in range(x.rank) if j != x.rank - k]
    order.insert(x.rank - to, x.rank - k)
    return reordered([j - x.rank for j in order], x)


def reordered(order: Sequence[int], x: Tensor) -> Tensor:
    """The trailing axes in an order that is known."""
    if len(order) > x.rank:
        raise Impossible(f"an order of {len(order)} axes of {x.rank}")
    keep = x.rank - len(order)
    places = (*range(keep), *(x.rank + a for a in order))

    def at(point: Point, element: Element) -> Value:
        inner = dict(zip(places, element, strict=True))
        return x.at(point, tuple(inner[j] for j in range(x.rank)))

    return Tensor(tuple(x.shape[j] for j in places), at)


def in_any_order(name: str, x: Tensor) -> Tensor:
    """The trailing axes in another order: all of them are one axis here, whose index is mapped."""
    if not x.rank:
        raise Impossible("no axes to permute")

    def at(point: Point, element: Element) -> Value:
        return x.at(point, (*element[:-1], poly(Apply(name, element[-1:]))))

    return Tensor(x.shape, at)


def reshaped(setting: Setting, count: int, shape: list[Size], x: Tensor) -> Tensor:
    keep = x.rank - count
    if not 0 <= keep <= x.rank:
        raise Impossible(f"{count} of {x.rank} axes")
    whole = (*x.shape[:keep], *shape)
    first = _in_front(x.shape[keep:], shape)
    stays = [*range(keep), *(k if k is None else k + keep for k in first)]
    before, after = x.shape[len(stays) :], whole[_end(stays) :]
    same_count(setting, before, after)

    def at(point: Point, element: Element) -> Value:
        inner = [setting.size(s, point) for s in before]
        outer = [setting.size(s, point) for s in after]
        flat = poly(0)
        for size, i in zip(outer, element[_end(stays) :], strict=True):
            flat = flat * size + i
        found: list[Poly] = []
        for size in reversed(inner[1:]):
            flat, rest = divide(flat, size)
            found.append(rest)
        first = [flat] if inner else []
        kept = (poly(0) if k is None else element[k] for k in stays)
        return x.at(point, (*kept, *first, *reversed(found)))

    return Tensor(whole, at)


def _in_front(before: Sequence[Size], after: Sequence[Size]) -> list[int | None]:
    """Where the first axes are after a reshape that keeps them, among new axes of size 1."""
    found: list[int | None] = []
    to = 0
    for size in before:
        while to < len(after) and after[to].is_one and not size.is_one:
            to += 1
        if to < len(after) and after[to].is_same(size):
            found.append(to)
            to += 1
        elif size.is_one:
            found.append(None)
        else:
            break
    return found


def _end(stays: Sequence[int | None]) -> int:
    """Where the axes begin that do not stay in front."""
    return 1 + max((k for k in stays if k is not None), default=-1)


def repeated(setting: Setting, shape: list[Size], x: Tensor) -> Tensor:
    keep = x.rank - len(shape)
    if keep < 0:
        raise Impossible(f"{len(shape)} of {x.rank} axes")
    for new, old in zip(shape, x.shape[keep:], strict=True):
        if not old.is_one:
            setting.unify(new, old)
    return Tensor((*x.shape[:keep], *shape), lambda point, at: x.at(point, thin(x, at)))


def gathered(setting: Setting, axis: int, x: Tensor, index: Tensor) -> Tensor:
    equal_ranks([x, index])
    place = place_of(axis, x)
    shape = list(_others(setting, [x, index], place))
    shape.insert(place, index.shape[place])

    def at(point: Point, element: Element) -> Value:
        found = exact(index.at(point, thin(index, element, place)))
        steps, over = positions(setting, x.shape[place], point)
        inner = [*thin(x, element)]
        inner[place] = steps
        body = x.at(point, tuple(inner))
        size = setting.size(x.shape[place], point)
        if not setting.signs and _is_greatest(found, size, Fold("row", tuple(over), body)):
            return Fold("max", tuple(over), body)
        position = poly(_clamped(found, size))
        inner[place] = position
        return x.at(point, tuple(inner))

    return Tensor(tuple(shape), at)


def _is_greatest(found: Value, size: Poly, row: Fold) -> bool:
    """Whether a position is that of the last element of a row in order, or of the first on top.

    So no element is greater, and NaN stands for all if there is one.
    """
    match found:
        case Call(("along argsort" | "along top") as fn, (at, _, _, of)):
            first = size - 1 if fn == "along argsort" else poly(0)
            return key(at) == key(exact(Number(first))) and key(of) == key(exact(row))
        case _:
            return False


def whole(setting: Setting, fn: str, axis: int, size: str, args: Sequence[Tensor]) -> Tensor:
    """A running fold, or any function of the rows of all operands, their sizes and the position."""
    equal_ranks(args)
    place = place_of(axis, args[0])
    shape = list(_others(setting, args, place))
    shape.insert(place, length_of(setting, size))

    def row(x: Tensor, point: Point, element: Element) -> Value:
        index, over = positions(setting, x.shape[place], point)
        inner = [*thin(x, element, place)]
        inner[place] = index
        return Fold("row", tuple(over), x.at(point, tuple(inner)))

    def so_far(point: Point, element: Element) -> Value:
        step = setting.fresh(element[place] + 1)
        inner = [*thin(args[0], element, place)]
        inner[place] = poly(step)
        return Fold(f"scan {fn}", (step,), args[0].at(point, tuple(inner)))

    if fn == "argsort":
        setting.unify(shape[place], args[0].shape[place])
    if fn in ("sum", "prod"):
        shape[place] = args[0].shape[place]
        return Tensor(tuple(shape), so_far)

    def at(point: Point, element: Element) -> Value:
        sizes = [x.shape[place] for x in args]
        known = [Number(setting.size(s, point)) for s in (*sizes, shape[place])]
        rows = (row(x, point, element) for x in args)
        return Call(f"along {fn}", (Number(element[place]), *known, *rows))

    return Tensor(tuple(shape), at)


def _others(setting: Setting, args: Sequence[Tensor], place: int) -> tuple[Size, ...]:
    axes = [k for k in range(args[0].rank) if k != place]
    return broadcast(setting, args, axes)


def length_of(setting: Setting, name: str) -> Size:
    match setting.known.get(name):
        case ("full", dim):
            return Size(dim, fixed=Fixed("extent", dim))
        case ("shifted", base, _):
            return length_of(setting, base)
        case None | ("starts", *_):
            return setting.open_length(name)
        case ("alone", _):
            return one()
        case _:
            return Size(name, fixed=Fixed("length", name))


def equal_ranks(args: Sequence[Tensor]) -> None:
    if len({a.rank for a in args}) > 1:
        raise Impossible("operands of different ranks")


def place_of(axis: int, x: Tensor) -> int:
    if not 1 <= axis <= x.rank:
        raise Impossible(f"axis {axis} of {x.rank}")
    return x.rank - axis


def thin(x: Tensor, element: Sequence[Poly], but: int | None = None) -> Element:
    """The element of an operand whose axes of size 1 repeat."""
    return tuple(
        poly(0) if s.is_one and k != but else i
        for k, (s, i) in enumerate(zip(x.shape[: len(element)], element, strict=True))
    )


def _clamped(value: Value, size: Poly) -> Opaque:
    def clamped(number: Callable[[Value], float], integer: Callable[[Poly], int]) -> float:
        return max(0, min(math.floor(number(value)), integer(size) - 1))

    return Opaque(
        f"clamp({key(value)}, {size.key})",
        free(value) | size.variables(),
        lambda by: _clamped(rename(value, by), size.renamed(by)),
        clamped,
    )
