"""View: indexing, slicing and moving axes, brought together until they disappear.

Axis ``-k`` is written ``k``; a mask holds bit ``k - 1`` for it.
"""

from __future__ import annotations

from functools import partial

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.terms import *

FEWER = "Movement that cancels needs no code."
ORDERS = "Orders of axes have one name each; otherwise they are without end."
PROOF = "proofs/test_pointwise.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"

a, d, e, f, g, h, i, j, k, l, m, n, p = variables("a d e f g h i j k l m n p")  # noqa: E741
q, r, s, u, v, x, y, z, low, mid, high = variables("q r s u v x y z low mid high")

_rule = partial(Rule, reason=FEWER, proof=PROOF)
_ALL = eq(s, full(d))
_FROM_ALL = (_ALL, eq(l, sl(d, s, x)), eq(r, rank(x)), is_in(d, dom(x)))
_MAPS = ((map1, (x,)), (map2, (x, y)), (map3, (x, y, z)))
_PARTS_OF_MASK = (
    eq(low, (1 << (k - 1)) - 1),
    eq(mid, (1 << (p - 1)) - 1 - low),
    eq(high, ~((1 << p) - 1)),
)

VIEW: tuple[Rule, ...] = (
    _rule(
        name="view/read-here",
        law="x[d] = x",
        left=at(d, a, x),
        right=x,
        when=(eq(a, self(d)),),
    ),
    _rule(
        name="view/read-invariant",
        law="x[d = anything] = x where x does not depend on d",
        left=at(d, a, x),
        right=x,
        when=(not_in(d, dom(x)),),
    ),
    _rule(
        name="view/index-of-slice",
        law="slice(d in 0..D, x)[i] = x[d = i]",
        reason="One element of a history is a plain read.",
        left=part(k, a, sl(d, s, x)),
        right=at(d, a, x),
        when=(_ALL, eq(k, 1 + rank(x)), eq(e, self(d)), ne(a, e)),
    ),
    _rule(
        name="view/index-here",
        law="slice(d in 0..D, x)[d] = x",
        reason="The element of a history at the point is the value itself.",
        left=part(k, a, sl(d, s, x)),
        right=x,
        when=(_ALL, eq(k, 1 + rank(x)), eq(a, self(d))),
    ),
    _rule(
        name="view/read-from-slice",
        law="x[d = i] = slice(d in 0..D, x)[i]",
        reason="Where only the vectorised value exists, a read is an index into it.",
        left=at(d, a, x),
        right=part(r + 1, a, sl(d, s, x)),
        when=_FROM_ALL,
    ),
    _rule(
        name="view/slice-from-slice",
        law="slice(d in lo..hi, x) = slice(d in 0..D, x)[lo:hi]",
        reason="A part of a history is a slice of the vectorised value.",
        left=sl(d, q, x),
        right=cut(r + 1, q, sl(d, s, x)),
        when=(within(d, q), *_FROM_ALL),
    ),
    _rule(
        name="view/move-nowhere",
        law="moving an axis to where it is changes nothing",
        left=mv(k, k, x),
        right=x,
    ),
    _rule(
        name="view/move-back",
        law="moving an axis two places of a pair twice restores it",
        reason="What is moved has one origin: without that, every way to it would be a class.",
        left=x,
        right=mv(k, p, mv(k, p, x)),
        when=(eq(l, mv(k, p, x)), eq(p, k + 1)),
    ),
    _rule(
        name="view/move-on",
        law="an axis that is moved and then moved on is moved at once",
        reason=ORDERS,
        left=mv(k, p, mv(j, k, x)),
        right=mv(j, p, x),
        when=(j < k, k < p),
    ),
    _rule(
        name="view/move-three",
        law="three axes are reversed by exchanging either pair first",
        reason=ORDERS,
        left=mv(k, p, mv(p, q, mv(k, p, x))),
        right=mv(p, q, mv(k, p, mv(p, q, x))),
        when=(eq(p, k + 1), eq(q, k + 2)),
    ),
    _rule(
        name="view/move-apart",
        law="axes that lie apart move in any order",
        reason=ORDERS,
        left=mv(i, j, mv(k, p, x)),
        right=mv(k, p, mv(i, j, x)),
        when=(i <= j, j < k, k <= p),
    ),
    _rule(
        name="view/repeat-same",
        law="x repeated to the shape it has = x",
        left=bcast(h, x),
        right=x,
        when=(eq(h, shape(x)), eq(n, rank(x)), eq(n, hlen(h))),
    ),
    _rule(
        name="view/element-of-number",
        law="the only element of a number with an axis = the number",
        left=part(1, 0, reshape(0, h, x)),
        right=x,
        when=(eq(0, rank(x)), eq(1, hlen(h))),
    ),
    _rule(
        name="view/element-of-new-axis",
        law="the only element along a new axis = the value without it",
        left=part(k, 0, reshape(r, sizes(1, then=h), x)),
        right=reshape(r, h, x),
        when=(eq(k, 1 + hlen(h)),),
    ),
    _rule(name="view/transpose-twice", law="A.T.T = A", left=tr(tr(x)), right=x),
    _rule(
        name="view/fold-of-moved",
        law="a fold over a moved axis folds it where it was",
        reason="A fold does not care about the order of its axes.",
        left=red(f, m, mv(k, p, x)),
        right=red(f, m & low | (m & mid) << 1 | (m & high | 1 << (k - 1)), x),
        when=(
            k <= p,
            ne(0, m & (1 << (p - 1))),
            *_PARTS_OF_MASK,
            ne(f, "argmax"),
            ne(f, "argmin"),
        ),
        exact="reassociates",
        proof=MASKS,
    ),
    _rule(
        name="view/moved-fold",
        law="an axis that is not folded moves after the fold",
        reason="The fold runs on the layout that exists.",
        left=red(f, m, mv(k, p, x)),
        right=mv(i, j, red(f, m & low | ((m & mid) << 1 | m & high), x)),
        when=(
            k <= p,
            eq(0, m & (1 << (p - 1))),
            *_PARTS_OF_MASK,
            *popcount(u, m & low),
            *popcount(v, m & (low | mid)),
            eq(i, k - u),
            eq(j, p - v),
        ),
        proof=MASKS,
    ),
    *(
        _rule(
            name=f"view/moved-{op.head}",
            law="move(f(x, ..)) = f(move(x), ..)",
            reason="Movement reaches the operands, where it may cancel.",
            left=mv(k, p, op(f, *names)),
            right=op(f, *(mv(k, p, x) for x in names)),
            when=(k < p,),
        )
        for op, names in _MAPS
    ),
    *(
        _rule(
            name=f"view/{op.head}-of-moved",
            law="f(move(x), ..) = move(f(x, ..))",
            reason="Movement passes elementwise code on its way to a fold that ignores it.",
            left=op(f, *(mv(k, p, x) for x in names)),
            right=mv(k, p, op(f, *names)),
            when=(k < p,),
        )
        for op, names in _MAPS
    ),
)
