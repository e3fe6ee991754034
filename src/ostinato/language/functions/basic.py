"""The common functions: elementwise, choices, shapes, gathers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, overload

from ostinato.language.array import einsum, movement, reduction
from ostinato.language.array import elementwise as element
from ostinato.language.array.dtypes import (
    DtypeName,
    check_dtype,
    common_dtype,
    convert,
    literal,
    scalar_dtype,
)
from ostinato.language.array.reduction import Axes
from ostinato.language.dims import IndexExpression, lift, lift_condition
from ostinato.language.kinds import Finite
from ostinato.language.shown import shown
from ostinato.language.tensor import (
    ShapeLike,
    Size,
    Tensor,
    apply,
    as_operand,
    as_shape,
    as_tensor,
    elementwise,
    merged,
)
from ostinato.pdg import build
from ostinato.pdg import index as indices
from ostinato.pdg.errors import ArgumentError, DtypeError, ShapeError
from ostinato.pdg.naming import called
from ostinato.pdg.node import Node
from ostinato.provenance.place import place

if TYPE_CHECKING:
    from ostinato.language.record import Record

Operand = Tensor | IndexExpression | float


def met(*operands: object) -> tuple[Tensor, ...]:
    """Return operands in the type in which they meet; a number takes that of the tensors."""
    given, where = [as_operand(x) for x in operands], place()
    dtype = common_dtype(given, where)
    nodes = (convert(x, dtype, where=where) for x in given)
    return tuple(
        x.cast(dtype) if isinstance(x, Tensor) else Tensor(node, frozenset())
        for x, node in zip(operands, nodes, strict=True)
    )


def exp(x: object) -> Tensor:
    return elementwise("exp", x)


def log(x: object) -> Tensor:
    return elementwise("log", x)


def log1p(x: object) -> Tensor:
    return elementwise("log1p", x)


def expm1(x: object) -> Tensor:
    return elementwise("expm1", x)


def sqrt(x: object) -> Tensor:
    return elementwise("sqrt", x)


def square(x: object) -> Tensor:
    return elementwise("mul", x, x)


def sin(x: object) -> Tensor:
    return elementwise("sin", x)


def cos(x: object) -> Tensor:
    return elementwise("cos", x)


def tan(x: object) -> Tensor:
    return elementwise("tan", x)


def tanh(x: object) -> Tensor:
    return elementwise("tanh", x)


def sigmoid(x: object) -> Tensor:
    return elementwise("sigmoid", x)


def relu(x: object) -> Tensor:
    """Return ``x`` where it is above 0, else 0; the gradient at 0 is 0, and NaN stays NaN."""
    operand = as_tensor(x)
    return where(operand <= 0, 0, operand)


def silu(x: Tensor) -> Tensor:
    """Return ``x * sigmoid(x)``, also called swish.

    Source: Elfwing et al. 2018, Sigmoid-weighted linear units.
    """
    return x * sigmoid(x)


def gelu(x: Tensor, approximate: bool = True) -> Tensor:
    """Return the Gaussian error linear unit, in its tanh form unless ``approximate`` is false.

    Source: Hendrycks and Gimpel 2016, Gaussian error linear units, section 2.
    """
    if not approximate:
        return 0.5 * x * elementwise("erfc", -math.sqrt(0.5) * x)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1.0 + tanh(inner))


def softplus(x: Tensor) -> Tensor:
    """Return ``log(1 + exp(x))``, a smooth `relu`, without overflow."""
    is_above = x > 0  # chosen by a mask, so that derivatives of every order hold at 0
    return where(is_above, x, 0) + log1p(exp(where(is_above, -x, x)))


def abs(x: object) -> Tensor:  # noqa: A001  # NumPy's name
    return elementwise("abs", x)


def sign(x: object) -> Tensor:
    return elementwise("sign", x)


def floor(x: object) -> Tensor:
    return elementwise("floor", x)


def ceil(x: object) -> Tensor:
    return elementwise("ceil", x)


def round(x: object) -> Tensor:  # noqa: A001  # NumPy's name
    """Return the nearest integers, halves to the even one."""
    return elementwise("round", x)


def isfinite(x: object) -> Tensor:
    return elementwise("isfinite", x)


def logical_and(x: object, y: object) -> Tensor:
    """Return whether both are true; numbers are true unless they are 0."""
    return elementwise("and", _truth(x), _truth(y))


def logical_or(x: object, y: object) -> Tensor:
    """Return whether one is true; numbers are true unless they are 0."""
    return elementwise("or", _truth(x), _truth(y))


def logical_not(x: object) -> Tensor:
    """Return whether it is false; numbers are false if they are 0."""
    return elementwise("not", _truth(x))


def _truth(x: object) -> Tensor:
    return as_tensor(x).cast("bool")


@overload
def minimum(x: Tensor, /, *more: Operand) -> Tensor: ...
@overload
def minimum(x: IndexExpression | float, y: Tensor, /, *more: Operand) -> Tensor: ...
@overload
def minimum(x: IndexExpression | int, /, *more: IndexExpression | int) -> IndexExpression: ...
def minimum(x: object, /, *more: object) -> Tensor | IndexExpression:
    """Return the least of index expressions, or elementwise of tensors.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> ot.minimum(t + 3, t.size - 1)
    min(T-1, t+3)
    """
    return _extremum("minimum", (x, *more))


@overload
def maximum(x: Tensor, /, *more: Operand) -> Tensor: ...
@overload
def maximum(x: IndexExpression | float, y: Tensor, /, *more: Operand) -> Tensor: ...
@overload
def maximum(x: IndexExpression | int, /, *more: IndexExpression | int) -> IndexExpression: ...
def maximum(x: object, /, *more: object) -> Tensor | IndexExpression:
    """Return the greatest of index expressions, or elementwise of tensors."""
    return _extremum("maximum", (x, *more))


def clip(x: Tensor, low: Operand, high: Operand) -> Tensor:
    """Return ``x`` with values below ``low`` or above ``high`` replaced by them.

    >>> import ostinato as ot
    >>> x = ot.constant([-2.0, 0.5, 3.0])
    >>> ot.Program(y=ot.clip(x, -1.0, 1.0)).interpret()["y"].tolist()
    [-1.0, 0.5, 1.0]
    """
    return minimum(maximum(x, low), high)


def _extremum(fn: str, values: Sequence[object]) -> Tensor | IndexExpression:
    if len(values) < 2:
        raise ShapeError(f"`{fn}` of {len(values)} operands", "Give two or more.", place())
    if any(isinstance(value, IndexExpression) for value in values):
        found = [e for value in values if (e := lift(value)) is not None]
        if len(found) == len(values):
            pick = indices.minimum if fn == "minimum" else indices.maximum
            return IndexExpression(pick(*found))
    out = elementwise(fn, values[0], values[1])
    for value in values[2:]:
        out = elementwise(fn, out, value)
    return out


@overload
def where(cond: object, x: Record, y: Record) -> Record: ...
@overload
def where(cond: object, x: Operand, y: Operand) -> Tensor: ...
def where(cond: object, x: Operand | Record, y: Operand | Record) -> Tensor | Record:
    """Return ``x`` where a condition holds, else ``y``; on records field by field.

    A boolean tensor chooses element by element. An affine condition such as ``t < 3`` chooses by
    the point, and the other side is not evaluated there: it may read outside its domain.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> ot.Program(y=ot.where(t == 0, 0.0, x[t - 1])).interpret(x=[1.0, 2.0])["y"].tolist()
    [0.0, 1.0]
    """
    from ostinato.language.record import Record  # records are made of tensors

    if isinstance(x, Record) and isinstance(y, Record):
        return x.combine(y, lambda a, b: where(cond, a, b))
    if isinstance(x, Record) or isinstance(y, Record):
        fact = f"a choice between {shown(x)} and {shown(y)}"
        raise ArgumentError(fact, "Give two records with the same fields, or two tensors.", place())
    known = lift_condition(cond)
    if known is not None:
        return apply(element.choose, known, x, y)
    chosen = as_tensor(cond)
    if chosen.dtype != "bool":
        fact = f"`where` chooses by {called(chosen.node)}, which is {chosen.dtype}"
        raise DtypeError(fact, "Compare it: ot.where(x > 0, ...).", place())
    return apply(element.select, chosen, x, y)


def index(of: IndexExpression | int) -> Tensor:
    """Return the value of a dimension, or of an index expression, as an int32 tensor."""
    lifted = lift(of)
    if lifted is None:
        raise DtypeError(f"index of {of!r}", "Give a dimension or an index expression.", place())
    return Tensor(build.affine(lifted), frozenset())


def arange(size: Size) -> Tensor:
    """Return the int32 vector 0, 1, ..., size - 1."""
    return Tensor(build.iota(as_shape(size)[0]), frozenset())


def full(shape: ShapeLike, value: object, dtype: DtypeName | None = None) -> Tensor:
    """Return a tensor of one value."""
    if not isinstance(value, bool | int | float):
        filled = as_tensor(value) if dtype is None else as_tensor(value).cast(dtype)
        return apply(movement.broadcast_to, filled, as_shape(shape))
    found = scalar_dtype(value) if dtype is None else check_dtype(dtype, place())
    return Tensor(literal(value, found, as_shape(shape), place()), frozenset())


def zeros(shape: ShapeLike = (), dtype: DtypeName = "float32") -> Tensor:
    return full(shape, 0, dtype)


def ones(shape: ShapeLike = (), dtype: DtypeName = "float32") -> Tensor:
    return full(shape, 1, dtype)


def logsumexp(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials over axes, without overflow."""
    return apply(reduction.logsumexp, x, axis, keepdims)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    return apply(reduction.softmax, x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    return apply(reduction.log_softmax, x, axis)


def discounted_sum(x: Tensor, gamma: Tensor | Finite) -> Tensor:
    """Return the sum over ``k`` of ``gamma**k * x[k]``, ``k`` along the leading axis.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> reward = ot.input("reward", over=t)
    >>> program = ot.Program(G=ot.discounted_sum(reward[t:], 0.5))
    >>> program.interpret(reward=[1.0, 1.0, 1.0])["G"].tolist()
    [1.75, 1.5, 1.0]
    """
    return apply(reduction.discounted_sum, x, gamma)


def matmul(x: object, y: object) -> Tensor:
    return apply(einsum.matmul, as_tensor(x), as_tensor(y))


def reshape(x: Tensor, shape: ShapeLike) -> Tensor:
    return apply(movement.reshape, x, as_shape(shape, -1))


def transpose(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return apply(movement.transpose, x, axes)


def swapaxes(x: Tensor, first: int, second: int) -> Tensor:
    return apply(movement.swap, x, first, second)


def expand_dims(x: Tensor, axis: int) -> Tensor:
    return apply(movement.expand, as_tensor(x), axis)


def squeeze(x: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    return apply(movement.squeeze, x, axis)


def broadcast_to(x: object, shape: ShapeLike) -> Tensor:
    return apply(movement.broadcast_to, as_tensor(x), as_shape(shape))


def concatenate(tensors: Sequence[object], axis: int = 0) -> Tensor:
    return _joined(movement.concatenate, tensors, axis)


def stack(tensors: Sequence[object], axis: int = 0) -> Tensor:
    return _joined(movement.stack, tensors, axis)


def _joined(join: Callable[..., Node], tensors: Sequence[object], axis: int) -> Tensor:
    parts = [as_tensor(x) for x in tensors]
    if any(x.mask.parts for x in parts):
        from ostinato.language.ragged import dispatch  # masks are made of tensors

        return dispatch.joined(join, parts, axis)
    return Tensor(join([x.node for x in parts], axis, place()), merged(*parts))


def unstack(x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the parts of a spatial axis of constant size, which disappears.

    >>> import ostinato as ot
    >>> angle, speed = ot.unstack(ot.constant([0.1, 2.0]))
    """
    k = movement.axis_of(x.node, axis, place())
    size = x.node.shape[k]
    if not size.is_const:
        remedy = "Unstack an axis of constant size."
        raise ShapeError(f"{called(x.node)} unstacked along size {size}", remedy, place())
    return tuple(apply(movement.part, x, k, indices.expr(i)) for i in range(size.const))


def flip(x: Tensor, axis: int) -> Tensor:
    return apply(movement.flip, x, axis)


def take(x: Tensor, index: object, axis: int) -> Tensor:
    """Return positions of an axis, which the axes of ``index`` replace; clamped to the axis."""
    return apply(movement.take, x, as_tensor(index), axis)


def take_along_axis(x: Tensor, index: object, axis: int) -> Tensor:
    """Return positions of an axis, one for each place of the other axes; clamped to the axis."""
    return apply(movement.take_along, x, as_tensor(index), axis)


def one_hot(index: object, size: Size, dtype: DtypeName = "float32") -> Tensor:
    """Return 1 at ``index`` along a new last axis, 0 elsewhere."""
    found = check_dtype(dtype, place())
    return apply(element.one_hot, as_tensor(index), as_shape(size)[0], found)


def stop_gradient(x: Tensor) -> Tensor:
    """Return ``x``, through which no gradient flows."""
    return elementwise("stop_gradient", x)
