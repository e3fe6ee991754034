"""Random orthogonal matrices from products of matrices alone, which every target does well."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.functions.basic import sqrt, square
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor

# Odd polynomials x*(a + b*x**2 + c*x**4) of the singular values. The first multiplies small values
# by up to 3.4 and keeps large ones near 1: 11 times lift everything above 1e-6 to at least 0.7. The
# second is flat at 1: 4 times end at float32 rounding.
LIFT = (3.4445, -4.7750, 2.0315)
POLISH = (15 / 8, -10 / 8, 3 / 8)
POLYNOMIALS = (LIFT,) * 11 + (POLISH,) * 4


def orthonormal(rows: int, columns: int, over: Over = ()) -> Tensor:
    """Return a uniformly random matrix whose rows, or columns if fewer, are orthonormal.

    It is the orthogonal factor of the polar decomposition of a Gaussian matrix, by iteration. A
    matrix with a singular value under a millionth of its length, about one of 10,000 of size 64,
    is left short of orthogonal in that one direction.

    Shapes: (rows, columns).
    Source: Björck and Bowie 1971, An iterative algorithm for computing the best estimate of an
    orthogonal matrix; Jordan et al. 2024, Muon, for the first polynomial.
    """
    x = random.normal((min(rows, columns), max(rows, columns)), over=over)
    x = x / sqrt(square(x).sum())
    for a, b, c in POLYNOMIALS:
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x if rows <= columns else x.T
