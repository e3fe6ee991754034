"""``x[...]``: temporal positions first, then spatial ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from ostinato.language.array.movement import broadcast_together, expand, part, take, transpose
from ostinato.language.dims import Condition, IndexExpression, check_index, is_integer, lift
from ostinato.language.shown import is_a, shown
from ostinato.pdg import build
from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.build import ONE
from ostinato.pdg.condition import ALWAYS, Cond, at_least
from ostinato.pdg.errors import DomainError, DtypeError, ShapeError
from ostinato.pdg.index import Dim, Expr, ExprLike, Index, Slice, expr, product
from ostinato.pdg.naming import called
from ostinato.pdg.node import Affine, Map, Node

T = TypeVar("T")


def split(
    x: Node, over: Sequence[Dim], items: Sequence[object], where: str
) -> tuple[dict[Dim, object], Sequence[object], Sequence[object]]:
    """Return the temporal positions of ``x[items]``, the spatial ones, and those after an Ellipsis.

    What stands after an Ellipsis indexes the last spatial axes.
    """
    found = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(found) > 1:
        raise ShapeError(f"{called(x)} is indexed with two `...`", "Write one.", where)
    head = tuple(items[: found[0]] if found else items)
    tail = tuple(items[found[0] + 1 :] if found else ())
    return dict(zip(over, head, strict=False)), head[len(over) :], tail


def read_at(
    x: Node, given: Mapping[Dim, object], windows: Mapping[Dim, Slice], where: str = ""
) -> tuple[Node, int]:
    """Return ``x`` at positions of its dimensions, and how many axes they prepend.

    Slices prepend theirs first, then computed steps, which broadcast together. A computed step
    stays inside its window: by default the whole dimension. One that is known but for going round
    the dimension once is a choice between known positions.
    """
    for dim, item in given.items():
        if isinstance(item, Node) and dim not in windows and (found := _going_round(item, dim)):
            near, *others = (
                (cond, read_at(x, {**given, dim: IndexExpression(at)}, windows, where))
                for cond, at in found
            )
            out, leading = near[1]
            for cond, (far, _) in others:
                out = build.case(cond, far, out, where)
            return out, leading
    steps = {d: item for d, item in given.items() if isinstance(item, Node)}
    plain = {d: position(item, d, x, where) for d, item in given.items() if d not in steps}
    slices = sum(isinstance(at, Slice) for at in plain.values())
    if not steps:
        return read(x, list(plain.items()), where), slices
    whole = {d: windows.get(d, d.whole) for d in steps}
    out = read(x, [*plain.items(), *whole.items()], where)
    indices = broadcast_together([_checked(x, d, index, where) for d, index in steps.items()])
    shape = indices[0].shape
    for k, ((dim, window), index) in enumerate(zip(whole.items(), indices, strict=True)):
        axis = slices + k
        place = [ONE] * out.rank
        place[slices] = product(shape)
        start = build.map_node("cast", [build.affine(window.lo)], index.dtype)
        offset = build.map_node("sub", [index, start], where=where)
        there = build.reshape(offset, tuple(place), where=where)
        out = build.gather(out, there, axis - out.rank, where, (dim, window))
    kept = (*out.shape[:slices], *shape, *out.shape[slices + len(steps) :])
    return build.reshape(out, kept, where=where), slices + len(shape)


def _going_round(item: Node, dim: Dim) -> list[tuple[Cond, Expr]]:
    """The position ``e % extent``, where ``e`` is less than a round outside: ``e`` first.

    After it the positions that stand for it beyond either end, each with its condition.
    """
    match item.op, [arg.op for arg in item.args]:
        case Map("mod"), [Affine(of), Affine(by)] if by == expr(dim.extent):
            last = by - 1
            if not (is_never_negative(of + by) and is_never_negative(last + by - of)):
                return []
            before = [] if is_never_negative(of) else [(at_least(-1, of), of + by)]
            behind = [] if is_never_negative(last - of) else [(at_least(of, by), of - by)]
            return [(ALWAYS, of), *before, *behind]
        case _:
            return []


def by_dimension(
    x: Node,
    over: Sequence[Dim],
    positions: Mapping[str, object],
    within: object,
    where: str,
) -> tuple[dict[Dim, object], dict[Dim, Slice]]:
    """Return positions and windows given by the names of dimensions, in declared order."""
    known = {dim.name: dim for dim in over}
    computed = [name for name, item in positions.items() if isinstance(item, Node)]
    windows = _by_name(x, within, computed, where)
    for name in (*positions, *windows):
        if name not in known:
            fact = f"{called(x)} has no dimension `{name}`"
            raise DomainError(fact, f"Its dimensions are: {', '.join(known) or 'none'}.", where)
    for name in windows:
        if name not in computed:
            fact = f"{called(x)} gets a window of `{name}`, but no computed position there"
            raise DomainError(fact, f"Give `{name}` an integer tensor, or drop `within`.", where)
    at = {dim: positions[name] for name, dim in known.items() if name in positions}
    found = {known[name]: _window(x, known[name], w, where) for name, w in windows.items()}
    return at, found


def _by_name(x: Node, within: object, computed: Sequence[str], where: str) -> Mapping[str, object]:
    """The windows by dimension; a pair alone belongs to the one computed position."""
    if within is None:
        return {}
    if isinstance(within, Mapping):
        return cast(Mapping[str, object], within)
    if len(computed) == 1:
        return {computed[0]: within}
    count = "no computed position" if not computed else f"computed positions of {len(computed)}"
    fact = f"{called(x)} is read with one window and {count}" + (" dimensions" if computed else "")
    remedy = 'Give windows by dimension: within={"t": (lo, hi)}.'
    if not computed:
        remedy = "Give an integer tensor as a position, or drop `within`."
    raise DomainError(fact, remedy, where)


def _window(x: Node, dim: Dim, window: object, where: str) -> Slice:
    if not is_a(window, tuple) or len(cast(tuple[object, ...], window)) != 2:
        fact = f"{called(x)} gets the window {shown(window)} of `{dim}`"
        raise DomainError(fact, "Give a pair: within=(lo, hi), for lo <= step < hi.", where)
    lo, hi = cast(tuple[object, object], window)
    return bounded(slice(lo, hi), dim.extent, x, where)


def _checked(x: Node, dim: Dim, index: Node, where: str) -> Node:
    if index.dtype in ("int32", "int64", "uint32"):
        return index
    fact = f"{called(x)} is read at a step of `{dim}` given by {called(index)} ({index.dtype})"
    raise DtypeError(fact, 'Use an integer index, such as `index.cast("int32")`.', where)


def read(x: Node, pairs: Sequence[tuple[Dim, Index]], where: str = "") -> Node:
    """Return ``x`` at another point; slices prepend axes in the order in which they are given."""
    out = build.read(x, pairs, where)
    sliced = [dim for dim, at in pairs if isinstance(at, Slice)]
    made = sorted(sliced, key=lambda dim: dim.serial)
    if sliced == made:
        return out
    order = [made.index(dim) for dim in sliced]
    return transpose(out, (*order, *range(len(order), out.rank)), where)


def position(item: object, dim: Dim, x: Node, where: str) -> Index:
    """Return one temporal position; a negative constant counts from the end."""
    if isinstance(item, slice):
        return bounded(cast("slice[object, object, object]", item), dim.extent, x, where)
    at = lift(item)
    if at is None:
        what = "a condition" if isinstance(item, Condition) else shown(item)
        fact = f"{called(x)} is read at {what} along dimension `{dim}`"
        remedy = "Use an index expression, an integer or a slice; spatial positions come later."
        if item is None:
            remedy = "Axes come after the dimensions: `[..., None]` adds the last one."
        raise DomainError(fact, remedy, where)
    return _from_end(check_index(at, "index"), dim.extent)


def _from_end(at: Expr, extent: ExprLike) -> Expr:
    return at + expr(extent) if at.is_const and at.const < 0 else at


def bounded(item: slice[object, object, object], extent: ExprLike, x: Node, where: str) -> Slice:
    """Return a slice; open ends are 0 and the extent, the step is a positive constant."""
    step = 1 if item.step is None else item.step
    if not is_integer(step) or step < 1:
        remedy = "Use a positive integer; `ot.flip` reverses an axis."
        raise ShapeError(f"slice of {called(x)} with step {shown(step)}", remedy, where)
    ends: list[Expr] = []
    for bound, default in ((item.start, expr(0)), (item.stop, expr(extent))):
        at = default if bound is None else lift(bound)
        if at is None:
            remedy = "Use integers and index expressions."
            raise DtypeError(f"slice of {called(x)} has the bound {shown(bound)}", remedy, where)
        ends.append(_from_end(check_index(at, "bound"), extent))
    return Slice(ends[0], ends[1], int(step))


def spatial(
    x: T, start: int, head: Sequence[object], tail: Sequence[object], part_of: Parts[T], where: str
) -> T:
    """Index the axes from ``start``, and those that ``tail`` counts from the right."""
    node = part_of.node(x)
    used = [sum(item is not None for item in items) for items in (head, tail)]
    if sum(used) > node.rank - start:
        axes = node.rank - start
        fact = f"{called(node)} has {axes} spatial axes and gets {sum(used)} spatial positions"
        remedy = "Temporal positions come first, one per dimension, then spatial ones."
        raise ShapeError(fact, remedy, where)
    out, axis = x, start
    for items in (head, tail):
        if items is tail:
            axis = part_of.node(out).rank - used[1]
        for item in items:
            move, following = _spatial_step(part_of.node(out), axis, item, where)
            out, axis = part_of.moved(out, *move), following
    return out


@dataclass(frozen=True, slots=True)
class Parts(Generic[T]):
    """How to see the node of a value, and how to apply a movement to it."""

    node: Callable[[T], Node]
    moved: Callable[..., T]  # of the value, the movement and its further arguments


def _spatial_step(x: Node, axis: int, item: object, where: str) -> tuple[tuple[object, ...], int]:
    """Return the movement that indexes one axis, with its arguments, and the next axis."""
    if item is None:
        return (expand, axis), axis + 1
    if isinstance(item, Node):
        return (take, item, axis), axis + item.rank
    size = x.shape[axis]
    if isinstance(item, slice):
        range_ = bounded(cast("slice[object, object, object]", item), size, x, where)
        return (part, axis, _clamped(range_, size)), axis + 1
    at = lift(item)
    if at is None:
        fact = f"{called(x)} is indexed by {shown(item)}"
        remedy = "Use integers, slices, None, index expressions or an integer tensor."
        raise DtypeError(fact, remedy, where)
    if at.is_const and size.is_const and not -size.const <= at.const < size.const:
        fact = f"index {at.const} of axis {axis - x.rank} of {called(x)}, which has size {size}"
        raise ShapeError(fact, "Use an index inside the axis.", where)
    return (part, axis, _from_end(check_index(at, "index"), size)), axis


def _clamped(at: Slice, size: Expr) -> Slice:
    """A constant slice of a constant axis, cut to the axis as NumPy does."""
    if not (size.is_const and at.lo.is_const and at.hi.is_const):
        return at
    lo, hi, _ = slice(at.lo.const, at.hi.const).indices(size.const)
    return Slice(expr(lo), expr(max(lo, hi)), at.step)
