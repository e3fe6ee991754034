"""Sums over rows of which some are dead: products pass over them.

The gradient of a weight is a sum over rows of products of two factors, both of which are 0 where an
episode has ended. Such a sum takes the factors themselves, and the mask: dead terms are left out,
and nobody has to write the zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostinato.codegen.ir.system import Axis, Call, Literal_, Load, Statement
from ostinato.codegen.ir.tree import Contraction
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.axes import coefficient, is_contiguous
from ostinato.codegen.systems.prepare import needed
from ostinato.codegen.target import Target
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Dim, Expr


def factors(s: Statement) -> tuple[Load, Load]:
    """The two loads that a product multiplies."""
    value = s.clauses[0][1]
    match value:
        case Call("mul", (Load() as left, Load() as right)):
            return left, right
        case Call("where", (_, Call("mul", (Load() as left, Load() as right)), _)):
            return left, right
        case _:
            raise AssertionError(f"{s.name} is no product of loads")


def mask_of(s: Statement) -> Load | None:
    """The mask of the terms of a product that count; None where all do."""
    match s.clauses[0][1]:
        case Call("where", (Load() as mask, _, _)):
            return mask
        case _:
            return None


def masked_sums(
    statements: Mapping[str, Statement],
    products: Mapping[str, Contraction],
    outputs: frozenset[str],
    target: Target,
) -> dict[str, Statement]:
    """The statements, of which products of masked factors take the factors and the mask."""
    out = dict(statements)
    for name, leaf in products.items():
        found = _masked(statements[name], leaf, statements, target.listed_rows)
        if found is not None:
            out[name] = found
    return needed(out, outputs)


def _masked(
    s: Statement, leaf: Contraction, statements: Mapping[str, Statement], most: int
) -> Statement | None:
    """A product as a sum over at most so many terms of which some live, if one mask is on both."""
    if leaf.form != "broadcast" or not leaf.k.pad.is_const or leaf.k.pad.const > most:
        return None
    left, right = (_under_mask(x, statements) for x in factors(s))
    if left is None or right is None or left[0] != right[0]:
        return None
    mask, lies = left[0], _lies_as
    if not _is_along_only(mask, leaf.k, s) or not lies(left[1], leaf) or not lies(right[1], leaf):
        return None
    if leaf.n is None or not is_contiguous(right[1], leaf.n):
        return None
    product = Call("mul", (left[1], right[1]), s.dtype)
    value = Call("where", (mask, product, Literal_(0.0, s.dtype)), s.dtype)
    return replace(s, clauses=((ALWAYS, value),))


def _under_mask(load: Load, statements: Mapping[str, Statement]) -> tuple[Load, Load] | None:
    """The mask, and what a load reads where it is true, if it reads 0 elsewhere."""
    s = statements[load.tensor]
    if s.kind != "map" or len(s.clauses) != 1 or load.picks or load.clamp:
        return None
    match s.clauses[0]:
        case (cond, Call("where", (Load() as mask, Load() as x, Literal_() as zero))) if (
            cond == ALWAYS and zero.is_zero
        ):
            if mask.picks or x.picks or mask.clamp or x.clamp or x.dtype != s.dtype:
                return None
            at: dict[Dim, Expr] = dict(zip(s.result_dims, load.dims, strict=True))
            at |= zip((a.index for a in s.result_axes), load.axes, strict=True)
            moved = (Rewrite(at).value(each) for each in (mask, x))
            found = tuple(each for each in moved if isinstance(each, Load))
            return (found[0], found[1])
        case _:
            return None


def _is_along_only(mask: Load, axis: Axis, s: Statement) -> bool:
    """Whether a mask varies with the terms of a product alone."""
    own = {a.index for a in s.axes} - {axis.index}
    found = (*mask.dims, *mask.axes)
    if any(e.dims & own for e in found):
        return False
    return any(coefficient(e, axis.index) for e in found) and _is_plain(found, axis)


def _lies_as(load: Load, leaf: Contraction) -> bool:
    """Whether the axes of a product address a load by strides."""
    return all(_is_plain((*load.dims, *load.axes), axis) for axis in leaf.inner)


def _is_plain(indices: tuple[Expr, ...], axis: Axis) -> bool:
    return all(coefficient(e, axis.index) is not None for e in indices)
