"""Systems of linear equations and factors of matrices: recurrences over the rows of a matrix.

All take stacks of matrices: axes before the last two. What they compute has gradients of any
order, since it is made of equations. Where NumPy raises for a singular matrix, results here are
not finite.
"""

from __future__ import annotations

import math

from ostinato.language.array.dtypes import accepted, promote
from ostinato.language.carry import Carry, carry
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.language.functions.basic import (
    abs,
    arange,
    broadcast_to,
    concatenate,
    index,
    log,
    sign,
    sqrt,
    swapaxes,
    take_along_axis,
    transpose,
    where,
)
from ostinato.language.functions.contraction import eye
from ostinato.language.recurrent import define
from ostinato.language.surface import declare
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg import build
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.extra_dims import inner
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import expr
from ostinato.pdg.naming import sized
from ostinato.provenance.place import place


def cholesky(a: object) -> Tensor:
    """Return the lower triangular matrix whose product with its transpose is ``a``.

    Of ``a``, which is symmetric and positive definite, the lower triangle is read. Results are not
    finite where it is not positive definite.

    Shapes: (..., n, n) -> (..., n, n).
    Errors: ShapeError if ``a`` is not square, or its size depends on the point.

    >>> import ostinato as ot
    >>> a = ot.constant([[4.0, 2.0], [2.0, 5.0]])
    >>> ot.Program(l=ot.linalg.cholesky(a)).interpret()["l"].tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    x = _square(as_tensor(a), "cholesky")
    k = _rows(x)
    column = define("cholesky", x.shape[:-1], x.dtype, (*_over(x), k))
    before = column.at(**{k.name: slice(None, k)})
    rest = x[..., k] - (before[..., k][..., None] * before).sum(0)
    below = where(arange(k.size) >= index(k), rest, 0.0)
    column[True] = below / sqrt(below[..., k])[..., None]
    return _last(column.at(**{k.name: slice(None)}))


def solve_triangular(
    a: object, b: object, *, lower: bool = True, transposed: bool = False
) -> Tensor:
    """Return the ``x`` of ``a @ x = b``; of ``a`` one triangle is read.

    It is the lower one, or the upper one. ``transposed`` solves ``a.T @ x = b``.

    Shapes: a (..., n, n), b (n) or (..., n, m) -> the shape of ``b``, with the stacks of both.
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> a = ot.constant([[2.0, 0.0], [1.0, 4.0]])
    >>> ot.Program(x=ot.linalg.solve_triangular(a, [2.0, 9.0])).interpret()["x"].tolist()
    [1.0, 2.0]
    """
    x, y, is_vector = _system(a, b, "solve_triangular")
    if transposed:
        x, lower = swapaxes(x, -1, -2), not lower
    k = _rows(x)
    row = define("solution", (*y.shape[:-2], y.shape[-1]), y.dtype, (*_over(x, y), k))
    known = slice(None, k) if lower else slice(k + 1, None)
    weights = _first(x[..., k, known])[..., None]
    rest = y[..., k, :] - (weights * row.at(**{k.name: known})).sum(0)
    row[True] = rest / x[..., k, k][..., None]
    found = swapaxes(_last(row.at(**{k.name: slice(None)})), -1, -2)
    return found[..., 0] if is_vector else found


def solve(a: object, b: object) -> Tensor:
    """Return the ``x`` of ``a @ x = b``, by elimination with the largest pivot of each column.

    Shapes: a (..., n, n), b (n) or (..., n, m) -> the shape of ``b``, with the stacks of both.
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> a = ot.constant([[0.0, 2.0], [1.0, 1.0]])
    >>> ot.Program(x=ot.linalg.solve(a, [4.0, 3.0])).interpret()["x"].tolist()
    [1.0, 2.0]
    """
    x, y, is_vector = _system(a, b, "solve")
    found = _eliminated(concatenate([x, y], axis=-1))[0].final
    found = found[..., :, x.shape[-1] :]
    return found[..., 0] if is_vector else found


def inv(a: object) -> Tensor:
    """Return the inverse of a matrix; `solve` is more exact where it is multiplied at once.

    Shapes: (..., n, n) -> (..., n, n).
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> ot.Program(y=ot.linalg.inv([[2.0, 0.0], [0.0, 4.0]])).interpret()["y"].tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    x = _square(as_tensor(a), "inv")
    return solve(x, eye(x.shape[-1], dtype=x.dtype))


def det(a: object) -> Tensor:
    """Return the determinant: the product of the pivots, with a sign for each exchange of rows.

    It is 0, and its gradient no number, where a pivot is 0.

    Shapes: (..., n, n) -> (...).
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> ot.Program(d=ot.linalg.det([[0.0, 2.0], [3.0, 1.0]])).interpret()["d"].item()
    -6.0
    """
    pivots = _pivots(a, "det")
    return where((pivots == 0.0).any(0), 0.0, pivots.prod(0))


def slogdet(a: object) -> tuple[Tensor, Tensor]:
    """Return the sign of the determinant and the logarithm of its absolute value.

    They are 0 and minus infinity where a pivot is 0.

    Shapes: (..., n, n) -> (...), (...).
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> sign, size = ot.linalg.slogdet(ot.eye(3) * -1e20)
    >>> found = ot.Program(sign=sign, size=size).interpret()
    >>> found["sign"].item(), round(found["size"].item(), 2)
    (-1.0, 138.16)
    """
    pivots = _pivots(a, "slogdet")
    is_singular = (pivots == 0.0).any(0)
    size = where(is_singular, -math.inf, log(abs(pivots)).sum(0))
    return where(is_singular, 0.0, sign(pivots).prod(0)), size


def _eliminated(rows: Tensor) -> tuple[Carry, Tensor]:
    """Carry a matrix through all steps of elimination, which clear one column each.

    With it comes the pivot of each step, with the sign of the exchange of two rows.
    """
    k = _rows(rows)
    at, places = index(k), arange(k.size)
    matrix = carry("eliminated", rows, over=k, each=_over(rows))
    column = where(places >= at, abs(matrix[..., k]), -1.0)
    chosen = column.argmax(axis=-1)[..., None]
    source = where(places == at, chosen, where(places == chosen, at, places))
    exchanged = take_along_axis(matrix, source[..., None], axis=-2)
    pivot = exchanged[..., k, k]
    top = (exchanged[..., k, :] / pivot[..., None])[..., None, :]
    cleared = exchanged - exchanged[..., k][..., None] * top
    matrix.step(where((places == at)[..., None], top, cleared))
    return matrix, where(chosen[..., 0] == at, pivot, -pivot)


def _pivots(a: object, name: str) -> Tensor:
    """The pivots of all steps along a new first axis."""
    x = _square(as_tensor(a), name)
    return _eliminated(x)[1].at(**{_rows(x).name: slice(None)})


def _square(x: Tensor, name: str) -> Tensor:
    """A stack of square matrices of floats.

    Errors: ShapeError if they are not square, have no rows, or a size that depends on the point.
    """
    x = x.cast(accepted(x.dtype, FLOATS))
    shape = x.node.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        fact = f"`{name}` of {sized(x.node)}: the last two axes make no square matrix"
        raise ShapeError(fact, "Give matrices with as many rows as columns.", place())
    if shape[-1] == expr(0):
        fact = f"`{name}` of {sized(x.node)}: the matrix has no rows"
        raise ShapeError(fact, "Give matrices of at least one row.", place())
    if shape[-1].dims:
        fact = f"`{name}` of {sized(x.node)}: the size depends on the point"
        remedy = "Give a matrix of a fixed size, such as one that is 1 on the rest of its diagonal."
        raise ShapeError(fact, remedy, place())
    return x


def _system(a: object, b: object, name: str) -> tuple[Tensor, Tensor, bool]:
    """Both as matrices with a common stack, and whether the right side was a vector."""
    x, y = _square(as_tensor(a), name), as_tensor(b)
    is_vector = y.ndim == 1
    y = y[..., None] if is_vector else y
    rows = x.node.shape[-1]
    if y.ndim < 2 or y.node.shape[-2] != rows:
        fact = f"`{name}` of {sized(x.node)} and {sized(as_tensor(b).node)}"
        raise ShapeError(fact, f"Give a right side of {rows} rows.", place())
    dtype, rank = accepted(promote([x.dtype, y.dtype], place()), FLOATS), max(x.ndim, y.ndim)
    nodes = [build.pad_rank(z.node, rank) for z in (x, y)]
    stack = build.broadcast_shapes([z.shape[:-2] for z in nodes], nodes, f"`{name}`", place())
    wide = [broadcast_to(z, (*map(IndexExpression, stack), *z.shape[-2:])) for z in (x, y)]
    return wide[0].cast(dtype), wide[1].cast(dtype), is_vector


def _rows(x: Tensor) -> Dimension:
    """A dimension over the rows of a matrix."""
    return Dimension(inner("row", x.node.shape[-2]))


def _over(*operands: Tensor) -> tuple[Dimension, ...]:
    """The dimensions on which operands depend."""
    return tuple(map(Dimension, build.union_domain([x.node for x in operands])))


def _first(x: Tensor) -> Tensor:
    """The last axis as the first one."""
    return transpose(x, (x.ndim - 1, *range(x.ndim - 1)))


def _last(x: Tensor) -> Tensor:
    """The first axis as the last one."""
    return transpose(x, (*range(1, x.ndim), 0))


declare(__name__)
