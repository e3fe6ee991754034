"""Incremental: sums of exponentials over growing ranges, one step per point, without overflow.

``sum_{s <= t} exp(l[s] - m[t]) v[s]`` is a linear recurrence with the factor
``exp(m[t - 1] - m[t])``, which is at most 1 where m is the greatest value so far. Where m is
infinite, 0 takes its place: no step subtracts infinities, and a beginning that sees nothing (all
``-inf``) spoils nothing behind it. ``m - m`` is added where the definition subtracts infinities: it
is 0, or NaN. What is the same along the range leaves the sum first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.phrases import *
from ostinato.rewrite.terms import *

ONE_STEP = "One multiply-add per point instead of one pass over the whole range."
OUTSIDE = "What is the same along the range is applied once, after the sum."
SAFE = "A recurrence needs a factor that is a number at every step."
PROOF = "proofs/test_online.py"

a, b, c, d, e, h, k, m, n, o, p, q, r, s = variables("a b c d e h k m n o p q r s")
u, v, w, x, y, z = variables("u v w x y z")


@dataclass(frozen=True, slots=True)
class _Side:
    """What was seen so far, or what is still to come."""

    range: Asking
    running: Operator  # the running fold
    neighbour: Asking
    reverse: int
    suffix: str

    @property
    def most(self) -> Term:
        return self.running("max", d, x)

    @property
    def finite(self) -> Term:
        return finite(self.most, reshape(0, o, z))

    @property
    def term(self) -> Term:
        return exp(sub(x, self.finite))

    @property
    def gain(self) -> Term:
        power = exp(sub(at(d, b, self.most), self.finite))
        return case(k, power, bcast(h, reshape(0, o, u)))

    @property
    def undefined(self) -> Term:
        return sub(self.most, self.most)

    @property
    def facts(self) -> tuple[Fact, ...]:
        return (
            self.range(d, s),
            is_in(d, dom(x)),
            eq(r, rank(x)),
            eq(h, shape(x)),
            eq(e, dtype(x)),
            zero(e, z),
            eq(q, reshape(r, sizes(1, then=h), self.most)),
        )


_PAST = _Side(prefix, scan, before, 0, "")
_COMING = _Side(suffix, back, after, 1, "-to-come")
_SHIFT = (eq(0.0, value(y)), eq(w, rank(y)), eq(w, 1 + r), axis(y, w, 1))
_RANGE = (eq(n, size(length(s))), growing(s))
_ALONE = eq(m, 1 << rank(x))
_ROWS = (eq(r, rank(v)), eq(m, 1 << rank(v)))
_VECTORS = (eq(0, r), eq(1, rank(v)), eq(n, size(length(s))), eq(m, 1 << rank(v)))


def _powers(shift: Expression) -> Term:
    return exp(sub(sl(d, s, x), shift))


_POWERS, _SLICE = _powers(q), sl(d, s, v)
_SHIFTED, _GUARDED = _powers(finite(q, y)), _powers(finite(q, reshape(0, o, z)))


def _step(name: str, side: _Side, left: Term, gain: Term, term: Term, *when: Fact) -> Rule:
    near = "d + 1" if side.reverse else "d - 1"
    return Rule(
        name=f"incremental/{name}{side.suffix}",
        law="sum_s exp(x[s] - m[d]) v[s] = y where "
        f"y[d] = exp(x[d] - m[d]) v[d] + exp(m[{near}] - m[d]) y[{near}]",
        reason=ONE_STEP,
        left=total(m, left),
        right=lin(d, side.reverse, gain, term),
        when=(*side.facts, side.neighbour(d, b, k), ones(r, o), unit(e, u), *_SHIFT, *when),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _steps(side: _Side) -> Iterator[Rule]:
    """The recurrences of sums of powers, alone and with weights of the same rank or of vectors."""
    gain, term = side.gain, side.term
    yield _step("sum-of-powers", side, _SHIFTED, gain, term, _ALONE)
    yield _step("softmax-sum", side, mul(_SHIFTED, _SLICE), gain, mul(term, v), *_ROWS)
    left = mul(column(n, _SHIFTED), _SLICE)
    gains, terms = beside(gain), mul(beside(term), v)
    yield _step("softmax-sum-of-vectors", side, left, gains, terms, *_VECTORS)


def _safe(name: str, side: _Side, left: Term, right: Term, undefined: Term, *when: Fact) -> Rule:
    """The sum with 0 instead of an infinite shift, and NaN where that was infinite."""
    return Rule(
        name=f"incremental/{name}{side.suffix}",
        law="sum_s exp(x[s] - m) v[s], m the greatest of the range, = the same with 0 for "
        "an infinite m, + (m - m)",
        reason=SAFE,
        left=total(m, left),
        right=add(total(m, right), undefined),
        when=(*side.facts, ones(p, o), eq(p, 1 + r), *when),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _guarded(side: _Side) -> Iterator[Rule]:
    undefined, orders = side.undefined, ("", "-swapped")
    yield _safe("safe-sum-of-powers", side, _POWERS, _GUARDED, undefined, _ALONE)
    for name, powers, guarded, nothing, when in (
        ("softmax-sum", _POWERS, _GUARDED, undefined, _ROWS),
        (
            "softmax-sum-of-vectors",
            column(n, _POWERS),
            column(n, _GUARDED),
            beside(undefined),
            _VECTORS,
        ),
    ):
        for order, (_, left) in zip(orders, in_both_orders(powers, _SLICE), strict=True):
            right = mul(guarded, _SLICE)
            yield _safe(f"safe-{name}{order}", side, left, right, nothing, *when)


def _leaves(name: str, op: str, left: Term, inner: Expression) -> Rule:
    return Rule(
        name=f"incremental/{name}",
        law=f"sum_s of terms with a factor ({op}) that is the same for all s of a growing range "
        "= the sum without it, with the factor",
        reason=OUTSIDE,
        left=total(m, left),
        right=map2(op, total(m, inner), part(k, 0, y)),
        when=(axis(y, k, 1), axis(a, k, n), *_RANGE, eq(m, 1 << (k - 1)), filled(n)),
        exact="distributes",
        valid="inside the box",
        proof=PROOF,
    )


_QUOTIENT = div(a, y)
ONLINE: tuple[Rule, ...] = (
    *(rule for side in (_PAST, _COMING) for rule in (*_steps(side), *_guarded(side))),
    _leaves("sum-of-quotients", "div", _QUOTIENT, a),
    _leaves("quotient-leaves-first", "div", mul(_QUOTIENT, b), mul(a, b)),
    _leaves("quotient-leaves-last", "div", mul(b, _QUOTIENT), mul(b, a)),
    _leaves("factor-leaves-first", "mul", mul(mul(y, a), b), mul(a, b)),
    _leaves("factor-leaves-second", "mul", mul(mul(a, y), b), mul(a, b)),
    _leaves("factor-leaves-third", "mul", mul(b, mul(y, a)), mul(a, b)),
    _leaves("factor-leaves-fourth", "mul", mul(b, mul(a, y)), mul(a, b)),
    Rule(
        name="incremental/column-of-quotients",
        law="the quotients of a growing range as a column = the range as a column, divided",
        reason="What is the same along a range is seen to be so beside vectors too.",
        left=column(n, _QUOTIENT),
        right=div(column(n, a), row(1, y)),
        when=(axis(y, 1, 1), eq(1, rank(y)), axis(a, 1, n), *_RANGE),
        proof=PROOF,
    ),
    Rule(
        name="incremental/product-as-sum",
        law="weights of a growing range @ its vectors = sum_s weights[s] vectors[s]",
        reason="A product with a growing range is a running sum where the weights allow it.",
        left=mm(row(n, a), _SLICE),
        right=row(c, total(2, mul(column(n, a), _SLICE))),
        when=(
            growing(s),
            eq(n, size(length(s))),
            eq(1, rank(v)),
            eq(1, rank(a)),
            axis(a, 1, n),
            axis(v, 1, c),
            is_in(d, dom(v)),
        ),
        exact="reassociates",
        proof=PROOF,
    ),
)
