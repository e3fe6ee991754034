"""Bounds of row-major positions: ``b + B * t`` lies below ``B * T``, which isl cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ostinato.pdg.index import Dim, Expr, Extent, Product, expr

Monomial = tuple[Dim | Extent, ...]  # sorted by text, with repetition
Polynomial = Counter[Monomial]


def below(e: Expr, size: Expr, sizes: Mapping[Dim, Expr]) -> bool:
    """Whether ``0 <= e < size`` follows from indices and extents that are never negative.

    Every index stands for its last value: that is the largest that a sum of products without a
    negative coefficient takes. ``sizes`` are those of the indices; other dims have their extents.
    """
    position, wanted = _polynomial(e), _polynomial(size)
    if position is None or wanted is None or any(k < 0 for k in position.values()):
        return False
    for dim in sorted({d for m in position for d in m if isinstance(d, Dim)}, key=str):
        last = _polynomial(sizes.get(dim, expr(dim.extent)) - 1)
        if last is None or any(isinstance(s, Dim) for m in last for s in m):
            return False
        position = _substituted(position, dim, last)
    position[()] += 1
    wanted.subtract(position)
    return all(k >= 0 for k in wanted.values())


def _polynomial(e: Expr) -> Polynomial | None:
    """The expression as a sum of products of dims and extents; None if it is none."""
    out: Polynomial = Counter({(): e.const})
    for atom, k in e.terms:
        if isinstance(atom, Dim | Extent):
            factors: Polynomial | None = Counter({(atom,): 1})
        elif isinstance(atom, Product):
            factors = _multiplied([_polynomial(f) for f in atom.of])
        else:
            return None
        if factors is None:
            return None
        for monomial, times in factors.items():
            out[monomial] += k * times
    return out


def _multiplied(factors: list[Polynomial | None]) -> Polynomial | None:
    out: Polynomial = Counter({(): 1})
    for factor in factors:
        if factor is None:
            return None
        out = _product(out, factor)
    return out


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    out: Polynomial = Counter()
    for a, j in left.items():
        for b, k in right.items():
            out[tuple(sorted((*a, *b), key=str))] += j * k
    return out


def _substituted(of: Polynomial, dim: Dim, by: Polynomial) -> Polynomial:
    out: Polynomial = Counter()
    for monomial, k in of.items():
        rest = tuple(s for s in monomial if s != dim)
        power = len(monomial) - len(rest)
        value = _multiplied([Counter({rest: k}), *[by] * power])
        assert value is not None, "a product of polynomials is one"
        out.update(value)
    return out
