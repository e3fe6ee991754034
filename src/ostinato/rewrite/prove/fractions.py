"""Sums of products and quotients: equal as fractions of parts of sums.

A count of steps times its inverse is 1, whatever the count is made of: what is left once no term
has a denominator is compared as a polynomial.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from ostinato.rewrite.prove.application import Call, Value, key, operands
from ostinato.rewrite.prove.normal import Ring, plus, real, ring, term, times
from ostinato.rewrite.prove.segments import in_segments


def fractions_in_segments(left: Value, right: Value) -> bool:
    """Whether two elements are equal over the reals wherever no denominator is zero.

    Sums over ranges of one history are cut where any of them begins or ends.
    """
    if not (divides(left) or divides(right)):
        return False
    parts = in_segments(real(left), real(right), real)
    if parts is None:
        return False
    minus_one = term((), Fraction(-1))
    return not _cleared(plus(ring(parts[0]), times(minus_one, ring(parts[1]))))


def divides(value: Value) -> bool:
    """Whether a value has a denominator."""
    divided = isinstance(value, Call) and value.fn == "div"
    return divided or any(map(divides, operands(value)))


def _is_inverse(value: Value) -> bool:
    return isinstance(value, Call) and value.fn == "inverse"


def _cleared(r: Ring) -> Ring:
    """A multiple of a sum of products in which nothing is divided."""
    below = [Counter(key(f) for f in factors if _is_inverse(f)) for factors, _ in r.values()]
    most = Counter[str]()
    for one in below:
        most |= one
    known = {key(f): ring(operands(f)[0]) for fs, _ in r.values() for f in fs if _is_inverse(f)}
    out: Ring = {}
    for (factors, k), has in zip(r.values(), below, strict=True):
        part = term([f for f in factors if not _is_inverse(f)], k)
        for name, count in (most - has).items():
            for _ in range(count):
                part = times(part, known[name])
        out = plus(out, part)
    return out
