"""`Tensor`: a value at every point of its domain, with NumPy's operators and methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ostinato.language.array import along, dtypes, einsum, movement, reduction
from ostinato.language.array import elementwise as element
from ostinato.language.array.dtypes import (
    DtypeName,
    Operand,
    check_dtype,
    convert,
    literal,
    numbers,
)
from ostinato.language.array.indexing import by_dimension
from ostinato.language.array.reduction import Axes
from ostinato.language.definition import Definition
from ostinato.language.dims import Condition, IndexExpression, lift
from ostinato.language.protocols import Unassigned
from ostinato.language.ragged.mask import WHOLE, Mask
from ostinato.language.shown import is_a, shown
from ostinato.pdg import build
from ostinato.pdg.constant import Scalar
from ostinato.pdg.errors import DtypeError, ShapeError
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.naming import called
from ostinato.pdg.node import Dtype, Input, Node, Rec
from ostinato.pdg.plaintext import require_name
from ostinato.provenance.place import place

Size = int | IndexExpression
ShapeLike = Size | Sequence[Size]
Array = npt.NDArray[Any]
MOST_ELEMENTS = 2**59  # whose bytes have int64 addresses


_Operator = Callable[["Tensor", object], "Tensor"]


def _operator(fn: Callable[[object, object], Tensor]) -> tuple[_Operator, _Operator]:
    """An operator of a tensor on the left, and of one on the right.

    Operands of other libraries are left to the other side.
    """

    def left(self: Tensor, other: object) -> Tensor:
        return fn(self, other) if is_ours(self, other) else NotImplemented

    def right(self: Tensor, other: object) -> Tensor:
        return fn(other, self) if is_ours(other, self) else NotImplemented

    return left, right


def _elementwise(fn: str) -> tuple[_Operator, _Operator]:
    return _operator(lambda x, y: elementwise(fn, x, y))


def _bitwise(fn: str) -> tuple[_Operator, _Operator]:
    """An operator on the bits of integers, or on booleans."""
    return _operator(lambda x, y: apply(element.bitwise, fn, x, y))


class Tensor(Unassigned):
    """An immutable value at every point of a domain; make them with `input` and `recurrent`.

    Operators work as on NumPy arrays, elementwise with broadcasting, at each point; the domain of a
    result is the union of its operands' domains. ``x[...]`` reads other points: temporal positions
    first, in the order of ``over`` (declaration order for results), then spatial ones. A slice
    prepends an axis, a missing position means "at this point", ``...`` skips to the last spatial
    axes. Types promote along bool, int32, int64, float32, float64; Python scalars take the type of
    the tensor beside them.

    >>> import ostinato as ot
    >>> b, t = ot.dims("b t")
    >>> x = ot.input("x", shape=(4,), over=(b, t))
    >>> x[b, : t + 1].sum(0)
    <float32[4] over (b, t)>
    """

    __slots__ = ("__weakref__", "mask", "node", "over", "sources")

    def __init__(
        self,
        node: Node,
        sources: frozenset[Definition],
        over: tuple[Dim, ...] | None = None,
        mask: Mask = WHOLE,
    ) -> None:
        self.node = node
        self.sources = sources
        self.mask = mask  # which elements exist, if steps end before the extent: see `ragged`
        self.over = node.domain if over is None else over

    @property
    def dtype(self) -> Dtype:
        return self.node.dtype

    @property
    def shape(self) -> tuple[Size, ...]:
        """The sizes of the spatial axes: integers, or index expressions over extents."""
        return tuple(s.const if s.is_const else IndexExpression(s) for s in self.node.shape)

    @property
    def ndim(self) -> int:
        return self.node.rank

    @property
    def T(self) -> Tensor:
        """The tensor with its spatial axes reversed."""
        return apply(movement.transpose, self, None)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.node.shape))
        over = ", ".join(dim.name for dim in self.over)
        name = f"{self.node.label}: " if self.node.label else ""
        return f"<{name}{self.dtype}[{shape}] over ({over})>"

    def named(self, name: str) -> Tensor:
        """Return the tensor under a name, which errors, reports and generated code use."""
        if isinstance(self.node.op, Rec | Input):
            raise DtypeError(f"`{self.node}` is already named", "Name what is computed.", place())
        self.node = self.node.named(require_name(name, "a tensor", place()))
        return self

    def __getitem__(self, key: object) -> Tensor:
        from ostinato.language.ragged import reads  # masks are made of tensors

        return reads.item(self, cast(tuple[object, ...], key) if isinstance(key, tuple) else (key,))

    def at(
        self,
        *,
        within: object = None,
        **positions: IndexExpression | int | slice | Tensor | Array | Sequence[Any],
    ) -> Tensor:
        """Return the tensor at other points, by the names of its dimensions.

        A position may be computed: an integer tensor of steps. Then ``within=(lo, hi)``, or a
        dictionary of such pairs by dimension, promises ``lo <= step < hi``, index expressions of
        the current point; without it the step may be any of the dimension. Several computed
        positions broadcast together.
        Shapes: the axes of slices, then those of the steps, then the tensor's own.
        Errors: DomainError for an unknown dimension, a window without a computed position, a window
        that leaves the dimension, and a step outside its window, which the interpreter always
        raises and compiled code with ``checks=True``; DtypeError for steps that are no integers.

        >>> import ostinato as ot
        >>> b, t = ot.dims("b t")
        >>> x = ot.input("x", over=(b, t))
        >>> x.at(t=slice(None)).mean()
        <float32[] over (b)>
        >>> drawn = ot.input("drawn", (32,), "int32", over=t)
        >>> ot.where(t > 0, x.at(t=drawn, within=(ot.maximum(t - 100, 0), t)), 0.0)
        <float32[32] over (b, t)>
        """
        from ostinato.language.ragged import reads

        where = place()
        given = {
            name: as_tensor(at) if isinstance(at, Tensor | np.ndarray | list) else at
            for name, at in positions.items()
        }
        plain = {name: at.node if isinstance(at, Tensor) else at for name, at in given.items()}
        at, windows = by_dimension(self.node, self.over, plain, within, where)
        computed = [at for at in given.values() if isinstance(at, Tensor)]
        return reads.at_steps(self, at, windows, computed, where)[0]

    def filled(self, value: Tensor | float) -> Tensor:
        """Return a dense tensor, in which elements beyond the end of an episode have a value.

        Every operator takes it. A tensor that is not ragged stays as it is.

        >>> import ostinato as ot
        >>> b, t = ot.dims("b t")
        >>> x = ot.input("x", over=(b, t))
        >>> ot.stop(t, when=x > 1)
        >>> x[b, :].filled(-1.0)
        <float32[T] over (b)>
        """
        from ostinato.language.ragged.operators import filled

        return filled(self, value)

    def _spoken(self) -> str:
        return called(self.node)

    __hash__ = object.__hash__

    __add__, __radd__ = _elementwise("add")
    __sub__, __rsub__ = _elementwise("sub")
    __mul__, __rmul__ = _elementwise("mul")
    __truediv__, __rtruediv__ = _elementwise("div")
    __floordiv__, __rfloordiv__ = _elementwise("floordiv")
    __mod__, __rmod__ = _elementwise("mod")
    __pow__, __rpow__ = _operator(lambda x, y: apply(element.power, x, y))
    __matmul__, __rmatmul__ = _operator(
        lambda x, y: apply(einsum.matmul, as_tensor(x), as_tensor(y))
    )
    __and__, __rand__ = _bitwise("and")
    __or__, __ror__ = _bitwise("or")
    __xor__, __rxor__ = _bitwise("xor")
    __lshift__, __rlshift__ = _bitwise("shl")
    __rshift__, __rrshift__ = _bitwise("shr")
    __lt__, __gt__ = _elementwise("lt")[0], _elementwise("gt")[0]
    __le__, __ge__ = _elementwise("le")[0], _elementwise("ge")[0]

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]  # elementwise, as in NumPy
        return elementwise("eq", self, other) if is_ours(self, other) else NotImplemented

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]  # elementwise, as in NumPy
        return elementwise("ne", self, other) if is_ours(self, other) else NotImplemented

    def __divmod__(self, other: object) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[Tensor, Tensor]:
        return self.__rfloordiv__(other), self.__rmod__(other)

    def __invert__(self) -> Tensor:
        return apply(element.invert, self)

    def __neg__(self) -> Tensor:
        return elementwise("neg", self)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return elementwise("abs", self)

    def cast(self, dtype: DtypeName) -> Tensor:
        """Return the tensor in another dtype; floats are truncated to integers."""
        return apply(convert, self, check_dtype(dtype, place()))

    def sum(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Return the sum over axes (default: all); booleans are counted."""
        return apply(reduction.reduce, "sum", self, axis, keepdims)

    def mean(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return apply(reduction.mean, self, axis, keepdims)

    def var(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Return the mean squared distance from the mean over axes."""
        return apply(reduction.variance, self, axis, keepdims)

    def std(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return elementwise("sqrt", self.var(axis, keepdims))

    def prod(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return apply(reduction.reduce, "prod", self, axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return apply(reduction.reduce, "max", self, axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return apply(reduction.reduce, "min", self, axis, keepdims)

    def any(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return apply(reduction.reduce, "any", self, axis, keepdims)

    def all(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return apply(reduction.reduce, "all", self, axis, keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Return the int32 position of the first maximum along an axis."""
        return apply(reduction.argument, "argmax", self, axis, keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Return the int32 position of the first minimum along an axis."""
        return apply(reduction.argument, "argmin", self, axis, keepdims)

    def reshape(self, *shape: ShapeLike) -> Tensor:
        """Return the tensor row-major in another shape, in which one size may be -1."""
        given = shape[0] if len(shape) == 1 else cast(Sequence[Size], shape)
        return apply(movement.reshape, self, as_shape(given, -1))

    def transpose(self, *axes: int) -> Tensor:
        """Return the tensor with its spatial axes permuted (default: reversed)."""
        return apply(movement.transpose, self, axes or None)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        return apply(movement.squeeze, self, axis)

    def take(self, index: object, axis: int) -> Tensor:
        """Return positions of an axis, which the axes of ``index`` replace."""
        return apply(movement.take, self, as_tensor(index), axis)

    def cumsum(self, axis: int | None = None) -> Tensor:
        return apply(along.cumulative, "sum", self, axis)

    def cumprod(self, axis: int | None = None) -> Tensor:
        return apply(along.cumulative, "prod", self, axis)

    def argsort(self, axis: int | None = -1) -> Tensor:
        """Return the int32 positions that put an axis in ascending order, NaN last."""
        return apply(along.order, self, axis)

    def searchsorted(self, values: object, side: str = "left") -> Tensor:
        """Return the int32 positions at which values would keep the last axis in order."""
        return apply(along.search, self, as_operand(values), side)


def is_like(value: object) -> bool:
    """Whether a value can be an operand of a tensor."""
    return isinstance(
        value, Tensor | IndexExpression | Condition | bool | int | float | np.generic | np.ndarray
    )


def is_ours(left: object, right: object) -> bool:
    """Whether an operator is this package's to apply; DtypeError if one side is no operand."""
    own, other = (left, right) if isinstance(left, Tensor) else (cast(Tensor, right), left)
    if is_like(other):
        return True
    if type(other).__module__.partition(".")[0] not in ("builtins", "numpy", "ostinato"):
        return False
    fact = f"an operator joins {called(own.node)} and {shown(other)}"
    remedy = "Use tensors, index expressions, numbers or arrays."
    if isinstance(other, list | tuple):
        remedy = "Make the list a tensor: ot.constant([1.0, 2.0])."
    raise DtypeError(fact, remedy, place())


def as_operand(value: object) -> Operand:
    """Return a node, or a Python scalar, which takes the type of the tensor beside it."""
    match value:
        case Tensor():
            return value.node
        case IndexExpression():
            return build.affine(value.expr)
        case Condition():
            return element.truth(value.cond)
        case bool() | int() | float():
            return value
        case np.generic() if is_a(cast(object, value.item()), bool, int, float, np.longdouble):
            return cast(Scalar, value.item())
        case np.ndarray() | list() | tuple():
            return _array(cast(Array, value), None)
        case _:
            fact = f"{shown(value)} is no tensor"
            raise DtypeError(fact, "Use tensors, index expressions, numbers or arrays.", place())


def _array(value: Array | Sequence[Any], dtype: DtypeName | None) -> Node:
    """A literal; Python numbers become int32 and float32, NumPy arrays keep their type."""
    array = numbers(value, place())
    name = dtype or str(array.dtype)
    if dtype is None and not isinstance(value, np.ndarray) and array.dtype.kind in "if":
        name = "float32" if array.dtype.kind == "f" else "int32"
    found = check_dtype(name, place())
    values = cast(list[Scalar], array.ravel().tolist())
    shape = tuple(expr(n) for n in array.shape)
    single = len(set(map(repr, values))) == 1
    return literal(values[0] if single else values, found, shape, place())


def as_tensor(value: object) -> Tensor:
    """Return a value as a tensor; a Python scalar becomes bool, int32 or float32."""
    if isinstance(value, Tensor):
        return value
    operand = as_operand(value)
    if not isinstance(operand, Node):
        operand = literal(operand, dtypes.scalar_dtype(operand), (), place())
    return Tensor(operand, frozenset())


def constant(value: Array | Sequence[Any] | bool | float, dtype: DtypeName | None = None) -> Tensor:
    """Return a literal array.

    Python values become bool, int32 or float32, NumPy arrays keep their type; ``dtype`` overrules
    both.

    >>> constant([[1.0, 2.0]])
    <float32[1, 2] over ()>
    """
    if dtype is None and isinstance(value, bool | int | float):
        return as_tensor(value)
    return Tensor(_array(cast(Array, value), dtype), frozenset())


def as_shape(shape: ShapeLike, lowest: int = 0) -> tuple[Expr, ...]:
    """Return sizes given as integers and index expressions; a single one is one axis."""
    sizes = (shape,) if isinstance(shape, int | np.integer | IndexExpression) else shape
    found: list[Expr] = []
    for size in sizes:
        lifted = lift(size)
        if lifted is None or (lifted.is_const and lifted.const < lowest):
            remedy = "Sizes are integers from 0, or index expressions such as t.size."
            raise ShapeError(f"shape {shown(sizes)} has the size {shown(size)}", remedy, place())
        found.append(lifted)
    if math.prod(abs(size.const) for size in found if size.is_const) > MOST_ELEMENTS:
        fact = f"shape {shown(sizes)} has more than {MOST_ELEMENTS} elements"
        raise ShapeError(fact, "Give smaller sizes.", place())
    return tuple(found)


def sources_of(*values: object) -> frozenset[Definition]:
    """Return the definitions that operands need."""
    out: frozenset[Definition] = frozenset()
    for value in values:
        if isinstance(value, Tensor) and value.sources is not out:
            out = out | value.sources if out else value.sources
    return out


def merged(*values: object) -> frozenset[Definition]:
    """Return the definitions that operands of a function need that knows no masks.

    Errors: ShapeError for a ragged operand.
    """
    if any(isinstance(value, Tensor) and value.mask.parts for value in values):
        from ostinato.language.ragged.dispatch import refuse

        refuse(values)
    return sources_of(*values)


def apply(fn: Callable[..., Node], *arguments: object) -> Tensor:
    """Return a node-level function of operands; arguments that are no operands pass unchanged."""
    if any(isinstance(a, Tensor) and a.mask.parts for a in arguments):
        from ostinato.language.ragged import dispatch

        return dispatch.ragged(fn, arguments)
    lifted = [
        as_operand(cast(object, a))
        if isinstance(a, Tensor | IndexExpression | Condition | np.generic | np.ndarray)
        else a
        for a in arguments
    ]
    return Tensor(fn(*lifted, where=place()), sources_of(*arguments))


def elementwise(fn: str, *operands: object) -> Tensor:
    """Return an elementwise function of operands."""
    if any(isinstance(x, Tensor) and x.mask.parts for x in operands):
        from ostinato.language.ragged import operators

        return operators.elementwise(fn, *operands)
    made = element.elementwise(fn, *map(as_operand, operands), where=place())
    return Tensor(made, sources_of(*operands))
