"""Products and sums over chosen axes, and the matrices that go with them."""

from __future__ import annotations

import string
from collections.abc import Sequence

from ostinato.language.array import einsum as sums
from ostinato.language.array import movement
from ostinato.language.array.dtypes import DtypeName, check_dtype
from ostinato.language.array.einsum import Spec
from ostinato.language.functions.basic import met, where
from ostinato.language.tensor import Size, Tensor, apply, as_shape, as_tensor, elementwise, merged
from ostinato.pdg import build
from ostinato.pdg.build import ONE
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.index import Expr, Slice, expr, minimum
from ostinato.pdg.naming import sized
from ostinato.pdg.node import Node
from ostinato.provenance.place import place

Axes = int | tuple[int | Sequence[int], int | Sequence[int]]


def einsum(spec: str, *operands: object) -> Tensor:
    """Return the Einstein sum of any number of operands, NumPy's specification.

    A repeated letter within one term is a diagonal, ``...`` stands for further axes, which
    broadcast, and without ``->`` the result has the letters that occur once, alphabetically.
    Several operands are multiplied in pairs, the pair that stores least first; sums of products of
    floats are matrix products.

    Errors: ShapeError.

    >>> import ostinato as ot
    >>> a, b = ot.constant([[1.0, 2.0], [3.0, 4.0]]), ot.constant([[0.0, 1.0], [1.0, 0.0]])
    >>> ot.Program(y=ot.einsum("ij,kj->ik", a, b)).interpret()["y"].tolist()
    [[2.0, 1.0], [4.0, 3.0]]
    >>> ot.Program(y=ot.einsum("ii", a)).interpret()["y"].item()
    5.0
    """
    at = place()
    if not operands:
        raise ShapeError("einsum of nothing", "Give at least one operand.", at)
    tensors = met(*operands)
    nodes = [x.node for x in tensors]
    return Tensor(sums.contract(sums.parse(spec, nodes, at), nodes, at), merged(*tensors))


def _contracted(x: Node, y: Node, left: Sequence[int], right: Sequence[int], where: str) -> Node:
    """Sum over pairs of axes; the result has the other axes of ``x``, then those of ``y``."""
    letters = iter(string.ascii_letters)
    mine, yours = [next(letters) for _ in x.shape], [next(letters) for _ in y.shape]
    for a, b in zip(left, right, strict=True):
        yours[b] = mine[a]
    kept = [c for k, c in enumerate(mine) if k not in left]
    kept += [c for k, c in enumerate(yours) if k not in right]
    return sums.contract(Spec((tuple(mine), tuple(yours)), tuple(kept)), [x, y], where)


def _tensordot(x: Node, y: Node, axes: Axes, where: str = "") -> Node:
    if isinstance(axes, int):
        pairs: tuple[Sequence[int], Sequence[int]] = (range(-axes, 0), range(axes))
    else:
        first, second = ((a,) if isinstance(a, int) else a for a in axes)
        pairs = (first, second)
    if len(pairs[0]) != len(pairs[1]):
        counts = f"{len(pairs[0])} axes of {sized(x)} and {len(pairs[1])} of {sized(y)}"
        remedy = "Give as many axes of one as of the other."
        raise ShapeError(f"tensordot over {counts}", remedy, where)
    left = [movement.axis_of(x, a, where) for a in pairs[0]]
    right = [movement.axis_of(y, a, where) for a in pairs[1]]
    return _contracted(x, y, left, right, where)


def tensordot(x: object, y: object, axes: Axes = 2) -> Tensor:
    """Return the sum over the last ``axes`` axes of ``x`` and the first of ``y``.

    A pair ``(axes of x, axes of y)`` names other ones.
    Shapes: the other axes of ``x``, then the other axes of ``y``.
    """
    return apply(_tensordot, as_tensor(x), as_tensor(y), axes)


def dot(x: object, y: object) -> Tensor:
    """Return the sum over the last axis of ``x`` and the last but one of ``y`` (or its only one).

    A scalar multiplies.
    """
    left, right = met(x, y)
    if not left.ndim or not right.ndim:
        return left * right
    return apply(_tensordot, left, right, (-1, -2 if right.ndim > 1 else -1))


def inner(x: object, y: object) -> Tensor:
    """Return the sum over the last axes of both; a scalar multiplies."""
    left, right = met(x, y)
    return apply(_tensordot, left, right, (-1, -1)) if left.ndim and right.ndim else left * right


def outer(x: object, y: object) -> Tensor:
    """Return all products of an element of ``x`` and one of ``y``, both read as vectors.

    Shapes: (number of elements of ``x``, number of elements of ``y``).
    """
    left, right = met(x, y)
    return left.reshape(-1)[..., :, None] * right.reshape(-1)


def vecdot(x: object, y: object, axis: int = -1) -> Tensor:
    """Return the sum of products along an axis of operands that broadcast."""
    return elementwise("mul", x, y).sum(axis)


def _diagonal(x: Node, offset: int, axis1: int, axis2: int, where: str = "") -> Node:
    first, second = (movement.axis_of(x, a, where) for a in (axis1, axis2))
    if first == second:
        fact = f"the diagonal of {sized(x)} along the axes {axis1} and {axis2}"
        raise ShapeError(fact, "Name two different axes.", where)
    down, right = max(-offset, 0), max(offset, 0)
    size = _least(x.shape[first] - down, x.shape[second] - right)
    if down or size != x.shape[first]:
        x = movement.part(x, first, Slice(expr(down), size + down), where)
    taken = sums.diagonal(x, first, second, where, right)
    order = [k for k in range(taken.rank) if k != first - (first > second)]
    return movement.transpose(taken, [*order, first - (first > second)], where)


def _least(a: Expr, b: Expr) -> Expr:
    gap = a - b
    return minimum(a, b) if not gap.is_const else a if gap.const <= 0 else b


def diagonal(x: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the diagonal of two axes, which becomes the last axis.

    ``offset`` counts the columns (of ``axis2``) to the right of the main diagonal.
    """
    return apply(_diagonal, as_tensor(x), offset, axis1, axis2)


def trace(x: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the sum along a diagonal."""
    return diagonal(x, offset, axis1, axis2).sum(-1)


def diag(x: object, k: int = 0) -> Tensor:
    """Return the ``k``-th diagonal of a matrix, or the matrix that has a vector on it.

    >>> import ostinato as ot
    >>> ot.Program(y=ot.diag(ot.constant([1, 2]), 1)).interpret()["y"].tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    operand = as_tensor(x)
    if operand.ndim == 2:
        return diagonal(operand, k)
    if operand.ndim != 1:
        raise ShapeError(f"diag of {sized(operand.node)}", "Give a vector or a matrix.", place())
    return apply(_on_diagonal, operand, k)


def _on_diagonal(x: Node, k: int, where: str = "") -> Node:
    if k:
        x = build.concat([x, build.const(0, x.dtype, (expr(abs(k)),))], -1, where)
    (n,) = x.shape
    here = build.map_node("eq", [_distance(n, n), build.const(k, "int32", (ONE, ONE))])
    values = movement.expand(x, 1 if k >= 0 else 0, where)
    return build.map_node("where", [here, values, build.const(0, x.dtype, (ONE, ONE))], where=where)


def _distance(rows: Expr, columns: Expr) -> Node:
    """How far each element of a matrix lies to the right of the main diagonal."""
    across, down = build.iota(columns), movement.expand(build.iota(rows), 1)
    return build.map_node("sub", [across, down])


def eye(
    rows: Size, columns: Size | None = None, k: int = 0, dtype: DtypeName = "float32"
) -> Tensor:
    """Return 1 on the ``k``-th diagonal and 0 elsewhere."""
    found = check_dtype(dtype, place())
    (n,) = as_shape(rows)
    (m,) = as_shape(rows if columns is None else columns)
    return (Tensor(_distance(n, m), frozenset()) == k).cast(found)


def _to_the_right(x: Tensor, name: str) -> Tensor:
    if x.ndim < 2:
        raise ShapeError(f"{name} of {sized(x.node)}", "Give a matrix.", place())
    n, m = x.node.shape[-2:]
    return Tensor(_distance(n, m), frozenset())


def tril(x: object, k: int = 0) -> Tensor:
    """Return matrices (the last two axes) with 0 to the right of the ``k``-th diagonal."""
    matrix = as_tensor(x)
    return where(_to_the_right(matrix, "tril") <= k, matrix, 0)


def triu(x: object, k: int = 0) -> Tensor:
    """Return matrices (the last two axes) with 0 to the left of the ``k``-th diagonal."""
    matrix = as_tensor(x)
    return where(_to_the_right(matrix, "triu") >= k, matrix, 0)
