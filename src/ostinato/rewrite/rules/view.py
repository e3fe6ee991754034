"""View: indexing, slicing and moving axes, brought together until they disappear.

Axis ``-k`` is written ``k``; a mask holds bit ``k - 1`` for it.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.rules.family import Family
from ostinato.rewrite.terms import *

FEWER = "Movement that cancels needs no code."
ORDERS = "Orders of axes have one name each; otherwise they are without end."
PROOF = "proofs/test_pointwise.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"

a, d, e, f, g, h, i, j, k, l, m, n, p = variables("a d e f g h i j k l m n p")  # noqa: E741
q, r, s, u, v, x, y, z, low, mid, high = variables("q r s u v x y z low mid high")

_law = Family("view/", PROOF, FEWER, phase="normal")
_ALL = eq(s, full(d))
_FROM_ALL = (_ALL, eq(l, sl(d, s, x)), eq(r, rank(x)), is_in(d, dom(x)))
_MAPS = ((map1, (x,)), (map2, (x, y)), (map3, (x, y, z)))


def _of(names: tuple[Variable, ...], each: str = "{}") -> str:
    """A function of some operands, in words."""
    return f"f({', '.join(map(each.format, names))})"


_PARTS_OF_MASK = (
    eq(low, (1 << (k - 1)) - 1),
    eq(mid, (1 << (p - 1)) - 1 - low),
    eq(high, ~((1 << p) - 1)),
)

_RESHAPED = (eq(r, rank(x)), eq(h, shape(LHS)))

VIEW: tuple[Rule, ...] = (
    _law("read-here", "x[d] = x", at(d, a, x), x, eq(a, self(d))),
    _law("read-invariant", "x[d = anything] = x where x does not depend on d",
         at(d, a, x), x, not_in(d, dom(x))),
    _law("index-of-slice", "slice(d in 0..D, x)[i] = x[d = i]",
         part(k, a, sl(d, s, x)), at(d, a, x),
         _ALL, eq(k, 1 + rank(x)), ne(LHS, x), reason="One element of a history is a plain read."),
    _law("read-from-slice", "x[d = i] = slice(d in 0..D, x)[i]",
         at(d, a, x), part(r + 1, a, sl(d, s, x)),
         *_FROM_ALL, reason="Where only the vectorised value exists, a read is an index into it."),
    _law("slice-from-slice", "slice(d in lo..hi, x) = slice(d in 0..D, x)[lo:hi]",
         sl(d, q, x), cut(r + 1, q, sl(d, s, x)),
         within(d, q), *_FROM_ALL,
         reason="A part of a history is a slice of the vectorised value."),
    _law("move-nowhere", "moving an axis to where it is changes nothing", mv(k, k, x), x),
    _law("move-back", "moving an axis two places of a pair twice restores it",
         x, mv(k, p, mv(k, p, x)),
         eq(l, mv(k, p, x)), eq(p, k + 1),
         reason="What is moved has one origin: without that, every way to it would be a class."),
    _law("move-on", "an axis that is moved and then moved on is moved at once",
         mv(k, p, mv(j, k, x)), mv(j, p, x), j < k, k < p, reason=ORDERS),
    _law("move-three", "three axes are reversed by exchanging either pair first",
         mv(k, p, mv(p, q, mv(k, p, x))), mv(p, q, mv(k, p, mv(p, q, x))),
         eq(p, k + 1), eq(q, k + 2), reason=ORDERS),
    _law("move-apart", "axes that lie apart move in any order",
         mv(i, j, mv(k, p, x)), mv(k, p, mv(i, j, x)), i <= j, j < k, k <= p, reason=ORDERS),
    _law("repeat-same", "x repeated to the shape it has = x",
         bcast(h, x), x, eq(h, shape(x)), eq(n, rank(x)), eq(n, hlen(h))),
    _law("transpose-twice", "A.T.T = A", tr(tr(x)), x),
    _law("transpose-vector", "a matrix of one row or column transposed = its elements in the other",
         tr(x), reshape(r, h, x), axis(x, k, 1), k <= 2, *_RESHAPED),
    _law("only-element", "the only element along an axis = the value without the axis",
         part(k, 0, x), reshape(r, h, x), axis(x, k, 1), *_RESHAPED),
    _law("element-of-transposed", "A.T[i] of an axis in front = A[i].T",
         part(k, a, tr(x)), tr(part(k, a, x)), 2 < k),
    _law("fold-of-moved", "a fold over a moved axis folds it where it was",
         red(f, m, mv(k, p, x)), red(f, m & low | (m & mid) << 1 | (m & high | 1 << (k - 1)), x),
         k <= p, ne(0, m & (1 << (p - 1))), *_PARTS_OF_MASK, ne(f, "argmax"), ne(f, "argmin"),
         reason="A fold does not care about the order of its axes.", exact="reassociates",
         proof=MASKS),
    _law("moved-fold", "an axis that is not folded moves after the fold",
         red(f, m, mv(k, p, x)), mv(i, j, red(f, m & low | ((m & mid) << 1 | m & high), x)),
         k <= p, eq(0, m & (1 << (p - 1))), *_PARTS_OF_MASK, *popcount(u, m & low),
         *popcount(v, m & (low | mid)), eq(i, k - u), eq(j, p - v),
         reason="The fold runs on the layout that exists.", proof=MASKS),
    *(
        _law(f"moved-{op.head}", f"move({_of(names)}) = {_of(names, 'move({})')}",
             mv(k, p, op(f, *names)), op(f, *(mv(k, p, x) for x in names)),
             k < p, reason="Movement reaches the operands, where it may cancel.")
        for op, names in _MAPS
    ),
    *(
        _law(f"{op.head}-of-moved", f"{_of(names, 'move({})')} = move({_of(names)})",
             op(f, *(mv(k, p, x) for x in names)), mv(k, p, op(f, *names)),
             k < p,
             reason="Movement passes elementwise code on its way to a fold that ignores it.")
        for op, names in _MAPS
    ),
)  # fmt: skip
