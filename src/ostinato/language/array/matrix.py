"""Matrix products with NumPy's rules for vectors."""

from __future__ import annotations

from ostinato.language.array.dtypes import accepted, convert, promote
from ostinato.language.array.einsum import contract, parse
from ostinato.pdg import build
from ostinato.pdg.build import ONE
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.functions import FLOATS, NUMBERS
from ostinato.pdg.naming import sized
from ostinato.pdg.node import Node


def matmul(a: Node, b: Node, where: str = "") -> Node:
    """Return ``a @ b``; a vector is a row on the left and a column on the right.

    Integers are multiplied and summed as integers, which wrap around; booleans count as int32.
    """
    if not a.rank or not b.rank or a.shape[-1] != b.shape[max(b.rank - 2, 0)]:
        fact = f"matrix product of {sized(a)} and {sized(b)}"
        remedy = "The last axis left must equal the last but one right; scalars need `*`."
        raise ShapeError(fact, remedy, where)
    dtype = accepted(promote((a.dtype, b.dtype), where), NUMBERS)
    left, right = convert(a, dtype, where=where), convert(b, dtype, where=where)
    if left.rank == 1:
        left = build.reshape(left, (ONE, *left.shape))
    if right.rank == 1:
        right = build.reshape(right, (*right.shape, ONE))
    out = _product(left, right, where)
    shape = out.shape
    if a.rank == 1:
        shape = (*shape[:-2], shape[-1])
    if b.rank == 1:
        shape = shape[:-1]
    return build.reshape(out, shape, where=where)


def _product(left: Node, right: Node, where: str) -> Node:
    if left.dtype in FLOATS:
        return build.matmul(left, right, where)
    operands = [build.pad_rank(x, max(left.rank, right.rank)) for x in (left, right)]
    lead = [x.shape[:-2] for x in operands]  # refused as those of floats are
    build.broadcast_shapes(lead, (left, right), "matrix product", where)
    return contract(parse("...ij,...jk->...ik", operands, where), operands, where)
