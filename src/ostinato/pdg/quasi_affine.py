"""Which index expressions integer sets can follow."""

from __future__ import annotations

from typing import assert_never

from ostinato.pdg.index import (
    Dim,
    Expr,
    ExprLike,
    Extent,
    Extremum,
    FloorDiv,
    Mod,
    Product,
    dims_of,
    expr,
)


def is_quasi_affine(value: ExprLike) -> bool:
    """Whether no dimension is multiplied: products of extents alone are numbers of the run."""
    for atom, k in expr(value).terms:
        match atom:
            case Dim() | Extent():
                pass
            case FloorDiv(of, _) | Mod(of, _):
                if not is_quasi_affine(of):
                    return False
            case Extremum(_, of_):
                if not all(map(is_quasi_affine, of_)):
                    return False
            case Product():
                if dims_of(Expr(((atom, k),), 0)):
                    return False
            case other:
                assert_never(other)
    return True
