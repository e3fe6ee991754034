"""Vectorize: a dimension becomes a leading axis of every operand instead of a loop around it.

``sl(d, s, x)`` is the tensor of ``x`` at all points of slice ``s``; a full slice is the vectorised
form. Spatial axes count from the right, so prepending one to every operand of an operator changes
none of its axis numbers: that is the whole proof of most laws here. An operand must not change its
shape along ``d`` (``sdom``), and laws push only where the value depends on ``d`` at all, and where
points of ``d`` have something in common (``joint``): what is the same work for each point alone, as
for every training of a sweep, gains nothing from an axis, and lowering runs it side by side.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

PUSH = "One kernel over an axis instead of one kernel per point."
ITSELF = "Reading a tensor at every point of a dimension is the tensor itself."
a, b, d, e, f, h, k, m, n, p, q, r, s = variables("a b d e f h k m n p q r s")
w, x, y, z = variables("w x y z")

_law = Family("vectorize/", "proofs/test_pointwise.py", PUSH, phase="spread")


def _pushed(
    op: Operator, fields: tuple[Expression, ...], names: tuple[Variable, ...], *when: Fact
) -> Rule:
    """``sl(op(a, b)) = op(sl(a), sl(b))`` for an operator that treats leading axes pointwise."""
    args = ", ".join(map(str, names))
    sliced = ", ".join(f"slice(d, {x})" for x in names)
    return _law(
        op.head,
        f"slice(d, {op.head}({args})) = {op.head}({sliced})",
        sl(d, s, y),
        op(*fields, *(sl(d, s, x) for x in names)),
        eq(y, op(*fields, *names)),
        joint(d),
        is_in(d, dom(y)),
        *(not_in(d, sdom(x)) for x in names),
        *when,
    )


_FREE = not_in(d, mask(a))
_BESIDE = (ne(d, e), not_in(e, mask(s)))
_HERE = (eq(a, self(d)), start(d, s), axis(x, k, size(n)), eq(n, length(s)), not_in(d, dom(x)))
_NESTED = (not_in(e, mask(s)), not_in(d, mask(q)), not_in(d | e, sdom(x)), eq(r, rank(x)))

VECTORIZE: tuple[Rule, ...] = (
    _law("want", "x = slice(d, x)[d]",
         x, part(r + 1, e, sl(d, s, x)),
         want(x, m), eq(d, innermost(m)), is_in(d, dom(x)), not_in(d, sdom(x)), eq(s, full(d)),
         eq(e, self(d)), eq(r, rank(x)), also=(want(sl(d, s, x), m & ~d),),
         reason="Asks for the vectorised form of a value and reads it back at the point.",
         phase="seed"),
    _law("recurrence",
         "slice(d, x) is a recurrence of its own, defined by slice(d, each case of x)",
         sl(d, s, rec(r)), rec(q),
         eq(s, full(d)), batch(r, d, q), also=(live(q),),
         reason="A recurrence that is parallel over d advances all points of d at once."),
    _law("definition", "the twin of x along d is defined by slice(d, each case of x)",
         x, x,
         define(r, k, x), batch(r, d, q), live(q), eq(s, full(d)),
         also=(define(q, k, sl(d, s, x)),),
         reason="Gives the vectorised recurrence its equations."),
    _pushed(map1, (f,), (x,)),
    _pushed(map2, (f,), (x, z)),
    _pushed(map3, (f,), (x, z, w)),
    _pushed(red, (f, m), (x,)),
    _pushed(mm, (), (x, z)),
    _pushed(tr, (), (x,)),
    _pushed(mv, (k, p), (x,)),
    _pushed(perm, (p,), (x,)),
    _pushed(reshape, (r, h), (x,), not_in(d, hmask(h))),
    _pushed(bcast, (h,), (x,), not_in(d, hmask(h))),
    _pushed(cat, (k,), (x, z)),
    _pushed(part, (k, a), (x,), _FREE),
    _pushed(cut, (k, a), (x,), _FREE),
    _pushed(gather, (k,), (x, z)),
    _pushed(along1, (f, k, a), (x,), _FREE),
    _pushed(along2, (f, k, a), (x, z), _FREE),
    _pushed(case, (a,), (x, z), _FREE),
    _pushed(at, (e, a), (x,), _FREE, *_BESIDE),
    _pushed(running, (f, e, b), (x,), *_BESIDE),
    _pushed(lin, (e, b), (x, z), *_BESIDE),
    _law("shift", "slice(d in lo..hi, x[d + k]) = slice(d in lo+k..hi+k, x)",
         sl(d, s, at(d, a, x)), sl(d, q, x),
         eq(q, shifted(d, s, a)), is_in(d, dom(x)),
         reason="A shifted read of a history is another part of the same history."),
    _law("point",
         "slice(d in 0..n, A[.., d, ..]) = A with that axis in front, where it has n elements",
         sl(d, s, part(k, a, x)), mv(k, r, x), *_HERE, eq(r, rank(x)), ne(LHS, x), reason=ITSELF),
    *(
        _law(
            name,
            "slice(d, slice(e, x)) = slice(e, slice(d, x)) with the first two axes exchanged",
            sl(d, s, sl(e, q, x)),
            mv(r + 1, r + 2, sl(e, q, sl(d, s, x))),
            *asked,
            *_NESTED,
            reason=reason,
        )
        for name, reason, asked in (
            (
                "nest",
                "One order of nesting: dimensions that carry a recurrence are outermost.",
                (inside(d, e),),
            ),
            (
                "nest-recurrence",
                "A recurrence that advances all points of d at once is read over any other e.",
                (eq(x, rec(n)), batch(n, d, b), ne(d, e), eq(s, full(d))),
            ),
        )
    ),
)  # fmt: skip
