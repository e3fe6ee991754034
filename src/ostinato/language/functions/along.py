"""Functions of a whole axis, NumPy style: cumulative, in order, searched, and scattered."""

from __future__ import annotations

from ostinato.language.array import along
from ostinato.language.dims import IndexExpression
from ostinato.language.tensor import Size, Tensor, apply, as_shape, as_tensor, merged
from ostinato.provenance.place import place

Operand = Tensor | IndexExpression | float


def cumsum(x: Tensor, axis: int | None = None) -> Tensor:
    """Return the inclusive prefix sums along a spatial axis (None: of all elements in order).

    Along a dimension write the sum of a growing slice, ``x[:t + 1].sum(0)``.

    >>> import ostinato as ot
    >>> ot.Program(y=ot.cumsum(ot.constant([1, 2, 3]), axis=0)).interpret()["y"].tolist()
    [1, 3, 6]
    """
    return apply(along.cumulative, "sum", as_tensor(x), axis)


def cumprod(x: Tensor, axis: int | None = None) -> Tensor:
    """Return the inclusive prefix products along an axis (None: of all elements in order)."""
    return apply(along.cumulative, "prod", as_tensor(x), axis)


def cummax(x: Tensor, axis: int | None = None) -> Tensor:
    """Return the greatest element so far along an axis; from a NaN on, NaN."""
    return apply(along.cumulative, "max", as_tensor(x), axis)


def cummin(x: Tensor, axis: int | None = None) -> Tensor:
    """Return the least element so far along an axis; from a NaN on, NaN."""
    return apply(along.cumulative, "min", as_tensor(x), axis)


def logcumsumexp(x: Tensor, axis: int | None = None) -> Tensor:
    """Return the logarithm of the sum of exponentials so far along an axis, without overflow."""
    return apply(along.cumulative, "logsumexp", as_tensor(x), axis)


def linear_recurrence(
    gates: Operand, values: Operand, axis: int = -1, reverse: bool = False
) -> Tensor:
    """Return ``y[k] = values[k] + gates[k] * y[k - 1]`` along an axis, with 0 before the first.

    ``reverse`` runs from the last element backwards, with ``y[k + 1]``.

    Shapes: gates and values broadcast to each other; the result has their common shape.

    >>> import ostinato as ot
    >>> y = ot.linear_recurrence(0.5, ot.constant([1.0, 1.0, 1.0]))
    >>> ot.Program(y=y).interpret()["y"].tolist()
    [1.0, 1.5, 1.75]
    """
    return apply(along.linear_recurrence, gates, values, axis, reverse)


def sort(x: Tensor, axis: int | None = -1, descending: bool = False) -> Tensor:
    """Return the elements along an axis in ascending order (None: all elements), NaN last.

    ``descending`` is the other way round, NaN first.

    >>> import ostinato as ot
    >>> ot.Program(y=ot.sort(ot.constant([3, 1, 2]))).interpret()["y"].tolist()
    [1, 2, 3]
    """
    return apply(along.ordered, as_tensor(x), axis, descending)


def argsort(x: Tensor, axis: int | None = -1, descending: bool = False) -> Tensor:
    """Return the int32 positions that `sort` takes; of equal elements the first stays first.

    >>> import ostinato as ot
    >>> order = ot.argsort(ot.constant([2, 1, 2]), descending=True)
    >>> ot.Program(y=order).interpret()["y"].tolist()
    [0, 2, 1]
    """
    return apply(along.order, as_tensor(x), axis, descending)


def top_k(x: Tensor, k: Size, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Return the ``k`` greatest elements along an axis in descending order, and their positions.

    Of equal elements the one at the lowest position comes first; NaN counts as the greatest.

    Errors: ShapeError if the axis has fewer elements; of an axis of all steps a run checks it.

    >>> import ostinato as ot
    >>> best, position = ot.top_k(ot.constant([1.0, 5.0, 3.0, 5.0]), 3)
    >>> ot.Program(best=best, position=position).interpret()["position"].tolist()
    [1, 3, 2]
    """
    given = as_tensor(x)
    found = along.top(given.node, as_shape(k)[0], axis, place())
    values, positions = (Tensor(node, merged(given)) for node in found)
    return values, positions


def median(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the middle element along an axis in order (default: of all), or the mean of the two.

    It is NaN where an element is.
    """
    return apply(along.median, as_tensor(x), axis, keepdims)


def searchsorted(ordered: Tensor, values: Operand, side: str = "left") -> Tensor:
    """Return the int32 positions at which values would keep the last axis of ``ordered`` in order.

    ``side="left"`` puts a value before equal elements, ``"right"`` behind them.

    Shapes: ordered (n,) and values of any shape, or ordered (..., n) and values (..., m); the
    result has the shape of the values.

    >>> import ostinato as ot
    >>> edges = ot.constant([0.0, 1.0, 2.0])
    >>> found = ot.searchsorted(edges, ot.constant([[1.0, 1.5]]), side="right")
    >>> ot.Program(y=found).interpret()["y"].tolist()
    [[2, 2]]
    """
    return apply(along.search, as_tensor(ordered), values, side)


def scatter_add(updates: Operand, index: object, size: Size, axis: int = -1) -> Tensor:
    """Return an axis of ``size`` zeros with each update added at its position, in order.

    Positions outside 0 ... size - 1 drop out. The gradient of `take` is made of it.

    Shapes: index (m,) moves whole parts, updates (..., m, ...) -> (..., size, ...); or it has one
    axis per axis of the updates, as in `take_along_axis`, or none, and broadcasts. One update is
    added at every position.

    >>> import ostinato as ot
    >>> count = ot.scatter_add(1, ot.constant([2, 0, 2, 9]), size=3)
    >>> ot.Program(y=count).interpret()["y"].tolist()
    [1, 0, 2]
    """
    return apply(along.scatter_add, updates, as_tensor(index), as_shape(size)[0], axis)
