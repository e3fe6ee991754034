"""Incremental: sums of exponentials over growing ranges, one step per point, without overflow.

``sum_{s <= t} exp(l[s] - m[t]) v[s]`` is a linear recurrence with the factor
``exp(m[t - 1] - m[t])``, which is at most 1 where m is the greatest value so far. Where m is
infinite, 0 takes its place: no step subtracts infinities, and a beginning that sees nothing (all
``-inf``) spoils nothing behind it. ``m - m`` is added where the definition subtracts infinities: it
is 0, or NaN. What is the same along the range leaves the sum first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "One multiply-add per point instead of one pass over the whole range."
OUTSIDE = "What is the same along the range is applied once, after the sum."
SAFE = "A recurrence needs a factor that is a number at every step."
_law = Family("incremental/", "proofs/test_online.py", ONE_STEP, "reassociates", "inside the box")

a, b, c, d, e, f, h, i, k, l, m, n, o = variables("a b c d e f h i k l m n o")  # noqa: E741
p, q, r, s, u, v, w, x, y, z = variables("p q r s u v w x y z")


GREATEST = most(i, sl(d, s, x))
FINITE = finite(GREATEST, reshape(0, o, z))
POWER = exp(sub(x, FINITE))
GAIN = case(k, exp(sub(at(d, b, GREATEST), FINITE)), bcast(h, reshape(0, o, u)))
SIDE = nearby(d, s, f, b, k)
BESIDE = reshape(r, sizes(1, then=h), GREATEST)
SCORES = (
    *(is_in(d, dom(x)), eq(r, rank(x)), eq(i, 1 << r), eq(h, shape(x)), ones(r, o)),
    *(eq(e, dtype(x)), zero(e, z), unit(e, u)),
    eq(q, BESIDE),
)
SHIFT = (eq(0.0, value(y)), eq(sizes(1, then=h), shape(finite(q, y))))  # as wide as x
_RANGE = (eq(n, size(length(s))), growing(s))
_SLICE = sl(d, s, v)
SHIFTED = exp(sub(sl(d, s, x), finite(q, y)))


def _step(name: str, what: str, left: Term, gain: Term, term: Term, *when: Fact) -> Rule:
    law = (
        f"sum_s exp(x[s] - m[d]){what} over all so far, or to come, = y where y[d] = "
        f"exp(x[d] - m[d]){what.replace('s', 'd')} + exp(m' - m[d]) y', of the step beside d"
    )
    known = (SIDE, *SCORES, *SHIFT, *when)
    return _law(name, law, total(m, left), lin(d, f, gain, term), *known)


def _steps() -> Iterator[Rule]:
    """The recurrences of sums of powers, alone and with weights of the same rank or of vectors."""
    yield _step("sum-of-powers", "", SHIFTED, GAIN, POWER, eq(m, i))
    rows = (eq(r, rank(v)), eq(m, 1 << rank(v)))
    yield _step("softmax-sum", " v[s]", mul(SHIFTED, _SLICE), GAIN, mul(POWER, v), *rows)
    vectors = (eq(0, r), eq(1, rank(v)), eq(n, size(length(s))), eq(m, 1 << rank(v)))
    left = mul(column(n, SHIFTED), _SLICE)
    terms = mul(beside(POWER), v)
    yield _step("softmax-sum-of-vectors", " (vector v[s])", left, beside(GAIN), terms, *vectors)


_MOST = most(l, x)
_SHIFT_OF_ALL = reshape(r, sizes(1, then=h), _MOST)
_SAFE = finite(_SHIFT_OF_ALL, reshape(0, p, z))
_RAW, _GUARDED = exp(sub(x, _SHIFT_OF_ALL)), exp(sub(x, _SAFE))


def _safe(
    name: str, law: str, powers: Expression, right: Term, undefined: Term, *when: Fact
) -> Rule:
    """The sum with 0 instead of an infinite shift, and NaN where that was infinite."""
    known = (eased(x), eq(c, rank(x)), eq(r, c - 1), eq(l, 1 << r), axis(x, c, n), filled(n))
    zeros = (eq(h, shape(_MOST)), eq(e, dtype(x)), zero(e, z), ones(c, p))
    law = f"{law}, m the greatest x, = the same with 0 for an infinite m, + (m - m)"
    left, right = total(m, powers), add(total(m, right), undefined)
    return _law(f"safe-{name}", law, left, right, *known, *zeros, *when, reason=SAFE)


def _guarded() -> Iterator[Rule]:
    undefined = sub(_MOST, _MOST)
    yield _safe("sum-of-powers", "sum_s exp(x[s] - m)", _RAW, _GUARDED, undefined, eq(m, l))
    times = (either("mul", w, _RAW, v), eq(m, l), axis(v, c, n), eq(c, rank(v)))
    yield _safe("softmax-sum", "sum_s exp(x[s] - m) v[s]", w, mul(_GUARDED, v), undefined, *times)
    law, guarded = "sum_s exp(x[s] - m) v[s] with vectors", mul(column(n, _GUARDED), v)
    vectors = (either("mul", w, column(n, _RAW), v), eq(0, r), axis(v, 2, n), eq(m, 2))
    yield _safe("softmax-sum-of-vectors", law, w, guarded, beside(undefined), *vectors)


def _masked() -> Rule:
    shift = finite(w, reshape(0, p, z))
    nothing = (eq(c, rank(x)), ones(c, o), ones(c, p), eq(e, dtype(x)), zero(e, z))
    return _law(
        "power-under-mask",
        "exp(where(s is kept, x[s], -inf) - m) = where(s is kept, exp(x[s] - m), 0)",
        exp(sub(where(a, x, reshape(0, o, u)), shift)),
        where(a, exp(sub(x, shift)), reshape(0, p, z)),
        *(keeps(a, k, s), empty("max", e, u), *nothing),
        reason="A score of minus infinity is a weight of nothing.",
    )


ONLINE: tuple[Rule, ...] = (
    *_steps(),
    *_guarded(),
    _masked(),
    _law("factor-leaves",
         "sum_s of a[s] y b[s], or of a[s] / y b[s], = y sum_s of a[s] b[s], or that over y",
         total(m, w), map2(f, total(m, mul(a, b)), part(k, 0, y)),
         long(i), either("mul", w, v, b), either(f, v, a, y), scales(f), axis(y, k, 1),
         axis(a, k, n), axis(b, k, n), eq(n, size(i)), eq(m, 1 << (k - 1)), filled(n),
         reason=OUTSIDE, exact="distributes"),
    _law("product-as-sum",
         "weights of a growing range @ its vectors = sum_s weights[s] vectors[s]",
         mm(row(n, a), _SLICE), row(c, total(2, mul(column(n, a), _SLICE))),
         growing(s), eq(n, size(length(s))), eq(1, rank(v)), eq(1, rank(a)), axis(a, 1, n),
         axis(v, 1, c), is_in(d, dom(v)), valid="everywhere",
         reason="A product with a growing range is a running sum where the weights allow it."),
)  # fmt: skip
