"""Inputs, and recurrent tensors with their equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

from ostinato.language.array.dtypes import PROMOTION, DtypeName, check_dtype, convert, literal
from ostinato.language.array.movement import broadcast_to
from ostinato.language.definition import Definition, fresh_name
from ostinato.language.dims import Dimension, IndexExpression, check_index, lift, lift_condition
from ostinato.language.record import Record, matched
from ostinato.language.shown import is_a, shown
from ostinato.language.tensor import ShapeLike, Tensor, as_operand, as_shape, is_like, merged
from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal, every
from ostinato.pdg.errors import DtypeError, EquationError, ShapeError
from ostinato.pdg.functions import HALVES, computed_in, has_derivative
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.naming import show_shape
from ostinato.pdg.node import Dtype, Node, Rec, intern
from ostinato.pdg.origin import Origin
from ostinato.provenance.place import place

Over = Dimension | Sequence[Dimension | Dim]  # the dimensions of a tensor are `tensor.over`


class Recurrent(Tensor):
    """A tensor defined by equations, one or more cases; the first case that matches a point wins.

    The left side gives each position of ``over`` as the dimension, the dimension plus or minus a
    constant, or a constant (negative: from the end); a missing position is the dimension itself.
    The right side is at the current point: ``x[t + 1] = f(x)`` defines each step from the one
    before. Conditions work too: ``x[t % 4 == 0] = ...``, and ``x[True] = ...`` for what is left.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> s = ot.recurrent("s", over=t)
    >>> s[0] = 1.0
    >>> s[t + 1] = 0.5 * s
    >>> s
    <s: float32[] over (t)>
    """

    __slots__ = ("definition",)

    def __init__(self, definition: Definition, over: tuple[Dim, ...]) -> None:
        super().__init__(definition.rec, frozenset((definition,)), over)
        self.definition = definition

    def __setitem__(self, key: object, value: object) -> None:
        where = place()
        items = cast(tuple[object, ...], key if isinstance(key, tuple) else (key,))
        cond = lift_condition(items[0]) if len(items) == 1 else None
        shifts: dict[Dim, Expr] = {}
        fixed: set[Dim] = set()
        if cond is None:
            parts = [
                _left(self, item, dim, shifts, fixed, where)
                for item, dim in zip(self._positions(items, where), self.over, strict=False)
            ]
            cond = every(*parts)
        self._check_condition(cond, where)
        self._refuse_unreachable(cond, where)
        right = self._right(value, fixed, where)
        moved = build.read(right, tuple(shifts.items()), where)
        self.definition.add(cond, moved, merged(value), where)

    def _positions(self, items: tuple[object, ...], where: str) -> tuple[object, ...]:
        if len(items) > len(self.over):
            over = ", ".join(dim.name for dim in self.over) or "nothing"
            fact = f"`{self.node}` is over {over}, but the equation gives {len(items)} positions"
            remedy = "Give one position per dimension; define the spatial axes as a whole."
            raise EquationError(fact, remedy, where)
        return items

    def _check_condition(self, cond: Cond, where: str) -> None:
        mentioned = set(cond.dims)
        self._check_dims(mentioned, "the left side mentions", "", where)

    def _refuse_unreachable(self, cond: Cond, where: str) -> None:
        """Refuse an equation for points that all have an earlier one, which wins."""
        known = zip(self.definition.cases, self.definition.where, strict=True)
        earlier = next((at for (c, _), at in known if c in (cond, ALWAYS)), None)
        if earlier is not None:
            fact = f"`{self.node}` has an equation for all these points already, at {earlier}"
            remedy = "Write the special cases first, and one equation for each set of points."
            raise EquationError(fact, remedy, where)

    def _check_dims(self, dims: set[Dim], what: str, or_else: str, where: str) -> None:
        foreign = build.order(dims - set(self.over))
        if foreign:
            names = ", ".join(f"`{dim}`" for dim in foreign)
            over = ", ".join(f"`{dim}`" for dim in self.over) or "nothing"
            fact = f"`{self.node}` is over {over}, but {what} {names}"
            raise EquationError(fact, f"Add {names} to `over`{or_else}.", where)

    def _right(self, value: object, fixed: set[Dim], where: str) -> Node:
        """The right side in the type and shape of the tensor."""
        if not is_like(value) and not is_a(value, list, tuple):
            fact = f"the right side of an equation of `{self.node}` is {shown(value)}"
            raise DtypeError(fact, "Use a tensor, an index expression or a number.", where)
        operand = as_operand(value)
        node = operand if isinstance(operand, Node) else _scalar(operand, self.dtype, self, where)
        if node.dtype != self.dtype and not _widens(node.dtype, self.dtype):
            fact = f"`{self.node}` is {self.dtype}, the right side of its equation {node.dtype}"
            raise DtypeError(fact, f"Write `.cast('{self.dtype}')` on the right.", where)
        dependent = build.order(fixed & set(node.domain))
        if dependent:
            names = ", ".join(f"`{dim}`" for dim in dependent)
            fact = f"the equation of `{self.node}` fixes {names}, but its right side depends on it"
            remedy = f"Read the right side at one step of {names}, or define every step."
            raise EquationError(fact, remedy, where)
        reduced = _reduced(node, set(self.over))
        self._check_dims(set(node.domain), "the right side depends on", reduced, where)
        shape = self.node.shape
        fits = node.rank <= len(shape) and all(
            mine in (build.ONE, size)
            for mine, size in zip(reversed(node.shape), reversed(shape), strict=False)
        )
        if not fits:
            fact = f"`{self.node}` has shape {show_shape(shape)}, the right side of its equation "
            raise ShapeError(fact + show_shape(node.shape), "Make the shapes equal.", where)
        return broadcast_to(convert(node, self.dtype, where=where), shape, where)


class RecurrentRecord(Record):
    """A record of recurrent tensors; an equation of the record defines every field.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> start = ot.Record(x=ot.constant(0.0), age=ot.constant(0))
    >>> state = ot.recurrent("state", like=start, over=t)
    >>> state[0] = start
    >>> state[t + 1] = ot.Record(x=state.x * 0.5, age=state.age + 1)
    """

    __slots__ = ()

    def __init__(self, **fields: Recurrent) -> None:
        super().__init__(**fields)

    def __setitem__(self, key: object, value: Record) -> None:
        for mine, right in matched(self, value).values():
            assert isinstance(mine, Recurrent), f"{mine} is no recurrent tensor"
            mine[key] = right


def _reduced(node: Node, over: set[Dim]) -> str:
    """How to fold the dimensions of a value that a tensor over some dimensions has not."""
    at = ", ".join(dim.name if dim in over else ":" for dim in node.domain)
    axes = tuple(range(len(set(node.domain) - over)))
    return f", or reduce: x[{at}].sum({axes[0] if len(axes) == 1 else axes}) folds all steps"


def _scalar(value: bool | int | float, dtype: Dtype, rec: Tensor, where: str) -> Node:
    if isinstance(value, float) and not has_derivative(dtype):
        fact = f"`{rec.node}` is {dtype}, the right side of its equation is {value}"
        raise DtypeError(fact, "Use a value of its type.", where)
    sizes = rec.node.shape
    return literal(value, dtype, () if any(each.dims for each in sizes) else sizes, where)


def _widens(source: Dtype, target: Dtype) -> bool:
    """Whether every value of a type converts by promotion."""
    if target in HALVES:
        return source == target
    source = computed_in(source)
    ranked = source in PROMOTION and target in PROMOTION
    return ranked and PROMOTION.index(source) <= PROMOTION.index(target)


def _left(
    rec: Tensor, item: object, dim: Dim, shifts: dict[Dim, Expr], fixed: set[Dim], where: str
) -> Cond:
    """Note how a position of the left side moves or fixes its dimension; return its condition."""
    at = lift(item)
    if at is None:
        form = "a slice" if isinstance(item, slice) else shown(item)
        raise EquationError(f"the left side of `{rec.node}` has {form} for `{dim}`", _REMEDY, where)
    check_index(at, "left side")
    extent, offset = expr(dim.extent), at - expr(dim)
    if offset.is_const:
        k = offset.const
        shifts[dim] = expr(dim) - k
        if k == 0:
            return ALWAYS
        return at_least(dim, k) if k > 0 else at_least(extent - 1 + k, dim)
    if at.dims:
        raise EquationError(f"the left side of `{rec.node}` has `{at}` for `{dim}`", _REMEDY, where)
    fixed.add(dim)
    return equal(dim, at + extent if at.is_const and at.const < 0 else at)


_REMEDY = (
    "Use the dimension, the dimension plus a constant, or a constant; "
    "for other sets of points use a condition: x[t < 3] = ..., x[t % 4 == 0] = ..."
)


def as_dims(over: Over, where: str) -> tuple[Dim, ...]:
    """Return dimensions given one or several."""
    given = cast(tuple[object, ...], (over,) if isinstance(over, IndexExpression) else tuple(over))
    found: list[Dim] = []
    for item in given:
        dim = Dimension(item) if isinstance(item, Dim) else item
        if not isinstance(dim, Dimension) or dim.dim in found:
            twice = isinstance(dim, Dimension)
            fact = f"`over` has `{dim}` twice" if twice else f"`over` has {shown(dim)}"
            raise EquationError(fact, "Give dimensions of `ot.dims`, each once.", where)
        found.append(dim.dim)
    return tuple(found)


def input(  # noqa: A001  # the language's word
    name: str, shape: ShapeLike = (), dtype: DtypeName = "float32", over: Over = ()
) -> Tensor:
    """Return an array argument with one value per point of ``over``.

    The argument's axes are the dimensions of ``over`` in declaration order, then ``shape``.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> ot.Program(y=x[: t + 1].sum(0)).interpret(x=[1.0, 2.0, 3.0])["y"].tolist()
    [1.0, 3.0, 6.0]

    Errors: EquationError; DtypeError; ShapeError.
    """
    where = place()
    dims = as_dims(over, where)
    _check_order(f"input `{name}`", "arrays", dims, where)
    sizes, found = as_shape(shape), check_dtype(dtype, where)
    varying = build.order({dim for size in sizes for dim in size.dims})
    if varying:
        fact = f"`{name}` of shape {show_shape(sizes)} has another size at each `{varying[0]}`"
        raise ShapeError(fact, f"Give it `{varying[0].extent}` elements, and read a slice.", where)
    node = build.input_node(_identifier(name, where), sizes, found, dims, where)
    return Tensor(node, frozenset((Definition(node, fresh_name(name)),)))


def _check_order(what: str, others: str, dims: tuple[Dim, ...], where: str) -> None:
    """Refuse another order of dimensions than that of all that is computed from a tensor."""
    if dims != build.order(dims):
        names = ", ".join(map(str, build.order(dims)))
        fact = f"{what} is over ({', '.join(map(str, dims))})"
        remedy = f"Use the order of declaration, as {others} do: over=({names})."
        raise EquationError(fact, remedy, where)


def _identifier(name: str, where: str) -> str:
    if not name.isidentifier():
        raise EquationError(f"the name {name!r}", "Use a Python identifier.", where)
    return name


@overload
def recurrent(
    name: str, shape: ShapeLike = ..., dtype: DtypeName = ..., over: Over = ..., *, like: Record
) -> RecurrentRecord: ...
@overload
def recurrent(
    name: str,
    shape: ShapeLike = ...,
    dtype: DtypeName = ...,
    over: Over = ...,
    *,
    like: Tensor | None = ...,
) -> Recurrent: ...
def recurrent(
    name: str,
    shape: ShapeLike = (),
    dtype: DtypeName = "float32",
    over: Over = (),
    *,
    like: Tensor | Record | None = None,
) -> Recurrent | RecurrentRecord:
    """Return a tensor that is defined by equations.

    ``like`` copies shape and dtype from a tensor; from a record it makes a record of recurrent
    tensors, one per field, which are indexed and assigned together.

    >>> import ostinato as ot
    >>> b, t = ot.dims("b t")
    >>> x = ot.recurrent("x", shape=(4,), over=(b, t))
    >>> x[b, 0] = 0.0
    >>> x[b, t + 1] = x + 1.0
    """
    where = place()
    _identifier(name.replace(".", "_"), where)
    dims = as_dims(over, where)
    _check_order(f"`{name}`", "expressions", dims, where)
    if isinstance(like, Record):
        fields = {f: define(f"{name}_{f}", over=over, like=x) for f, x in like.fields.items()}
        return RecurrentRecord(**fields)
    return define(name, shape, dtype, dims, like)


def define(
    name: str,
    shape: ShapeLike = (),
    dtype: DtypeName = "float32",
    over: Over = (),
    like: Tensor | None = None,
) -> Recurrent:
    """The same over dimensions in any order, of which loops may need another than expressions."""
    where = place()
    dims = as_dims(over, where)
    sizes = as_shape(shape) if like is None else like.node.shape
    found = check_dtype(dtype, where) if like is None else like.dtype
    build.check_varying(name, sizes, dims, where)
    unique = fresh_name(name)
    leaf = intern((Rec(unique), (), build.order(dims), sizes, found), Origin(where, name))
    return Recurrent(Definition(leaf, unique), dims)
