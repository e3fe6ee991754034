"""View: indexing, slicing and moving axes, brought together until they disappear.

Axis ``-k`` is written ``k``; a mask holds bit ``k - 1`` for it.
"""

from __future__ import annotations

from ostinato.rewrite.engine.language import popcount
from ostinato.rewrite.engine.rule import Rule

FEWER = "Movement that cancels needs no code."
PROOF = "proofs/test_pointwise.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"


_MAPS = (("map1", "x"), ("map2", "x y"), ("map3", "x y z"))

VIEW: tuple[Rule, ...] = (
    Rule(
        name="view/read-here",
        law="x[d] = x",
        reason=FEWER,
        left="(at d a x)",
        right="x",
        when=("(= a (self d))",),
        proof=PROOF,
    ),
    Rule(
        name="view/read-invariant",
        law="x[d = anything] = x where x does not depend on d",
        reason=FEWER,
        left="(at d a x)",
        right="x",
        when=("(= 0 (& d (dom x)))",),
        proof=PROOF,
    ),
    Rule(
        name="view/index-of-slice",
        law="slice(d in 0..D, x)[i] = x[d = i]",
        reason="One element of a history is a plain read.",
        left="(part k a (sl d s x))",
        right="(at d a x)",
        when=("(= s (full d))", "(= k (+ 1 (rank x)))", "(= e (self d))", "(!= a e)"),
        proof=PROOF,
    ),
    Rule(
        name="view/index-here",
        law="slice(d in 0..D, x)[d] = x",
        reason="The element of a history at the point is the value itself.",
        left="(part k a (sl d s x))",
        right="x",
        when=("(= s (full d))", "(= k (+ 1 (rank x)))", "(= a (self d))"),
        proof=PROOF,
    ),
    Rule(
        name="view/read-from-slice",
        law="x[d = i] = slice(d in 0..D, x)[i]",
        reason="Where only the vectorised value exists, a read is an index into it.",
        left="(at d a x)",
        right="(part (+ r 1) a (sl d s x))",
        when=("(= s (full d))", "(= l (sl d s x))", "(= r (rank x))", "(!= 0 (& d (dom x)))"),
        proof=PROOF,
    ),
    Rule(
        name="view/slice-from-slice",
        law="slice(d in lo..hi, x) = slice(d in 0..D, x)[lo:hi]",
        reason="A part of a history is a slice of the vectorised value.",
        left="(sl d q x)",
        right="(cut (+ r 1) q (sl d s x))",
        when=(
            "(within d q)",
            "(= s (full d))",
            "(= l (sl d s x))",
            "(= r (rank x))",
            "(!= 0 (& d (dom x)))",
        ),
        proof=PROOF,
    ),
    Rule(
        name="view/move-nowhere",
        law="moving an axis to where it is changes nothing",
        reason=FEWER,
        left="(mv k k x)",
        right="x",
        proof=PROOF,
    ),
    Rule(
        name="view/move-back",
        law="moving an axis two places of a pair twice restores it",
        reason="What is moved has one origin: without that, every way to it would be a class.",
        left="x",
        right="(mv k p (mv k p x))",
        when=("(= l (mv k p x))", "(= p (+ k 1))"),
        proof=PROOF,
    ),
    Rule(
        name="view/move-on",
        law="an axis that is moved and then moved on is moved at once",
        reason="Orders of axes have one name each; otherwise they are without end.",
        left="(mv k p (mv j k x))",
        right="(mv j p x)",
        when=("(< j k)", "(< k p)"),
        proof=PROOF,
    ),
    Rule(
        name="view/move-three",
        law="three axes are reversed by exchanging either pair first",
        reason="Orders of axes have one name each; otherwise they are without end.",
        left="(mv k p (mv p q (mv k p x)))",
        right="(mv p q (mv k p (mv p q x)))",
        when=("(= p (+ k 1))", "(= q (+ k 2))"),
        proof=PROOF,
    ),
    Rule(
        name="view/move-apart",
        law="axes that lie apart move in any order",
        reason="Orders of axes have one name each; otherwise they are without end.",
        left="(mv i j (mv k p x))",
        right="(mv k p (mv i j x))",
        when=("(<= i j)", "(< j k)", "(<= k p)"),
        proof=PROOF,
    ),
    Rule(
        name="view/repeat-same",
        law="x repeated to the shape it has = x",
        reason=FEWER,
        left="(bcast h x)",
        right="x",
        when=("(= h (shape x))", "(= n (rank x))", "(= n (hlen h))"),
        proof=PROOF,
    ),
    Rule(
        name="view/element-of-number",
        law="the only element of a number with an axis = the number",
        reason=FEWER,
        left="(part 1 0 (reshape 0 h x))",
        right="x",
        when=("(= 0 (rank x))", "(= 1 (hlen h))"),
        proof=PROOF,
    ),
    Rule(
        name="view/element-of-new-axis",
        law="the only element along a new axis = the value without it",
        reason=FEWER,
        left="(part k 0 (reshape r (cons (size 1) h) x))",
        right="(reshape r h x)",
        when=("(= k (+ 1 (hlen h)))",),
        proof=PROOF,
    ),
    Rule(
        name="view/transpose-twice",
        law="A.T.T = A",
        reason=FEWER,
        left="(tr (tr x))",
        right="x",
        proof=PROOF,
    ),
    Rule(
        name="view/fold-of-moved",
        law="a fold over a moved axis folds it where it was",
        reason="A fold does not care about the order of its axes.",
        left="(red f m (mv k p x))",
        right="(red f (| (| (& m low) (<< (& m mid) 1)) (| (& m high) (<< 1 (- k 1)))) x)",
        when=(
            "(<= k p)",
            "(!= 0 (& m (<< 1 (- p 1))))",
            "(= low (- (<< 1 (- k 1)) 1))",
            "(= mid (- (- (<< 1 (- p 1)) 1) low))",
            "(= high (not-i64 (- (<< 1 p) 1)))",
            '(!= f "argmax")',
            '(!= f "argmin")',
        ),
        exact="reassociates",
        proof=MASKS,
    ),
    Rule(
        name="view/moved-fold",
        law="an axis that is not folded moves after the fold",
        reason="The fold runs on the layout that exists.",
        left="(red f m (mv k p x))",
        right="(mv i j (red f (| (& m low) (| (<< (& m mid) 1) (& m high))) x))",
        when=(
            "(<= k p)",
            "(= 0 (& m (<< 1 (- p 1))))",
            "(= low (- (<< 1 (- k 1)) 1))",
            "(= mid (- (- (<< 1 (- p 1)) 1) low))",
            "(= high (not-i64 (- (<< 1 p) 1)))",
            *popcount("u", "(& m low)"),
            *popcount("v", "(& m (| low mid))"),
            "(= i (- k u))",
            "(= j (- p v))",
        ),
        proof=MASKS,
    ),
    *(
        Rule(
            name=f"view/moved-{op}",
            law="move(f(x, ..)) = f(move(x), ..)",
            reason="Movement reaches the operands, where it may cancel.",
            left=f"(mv k p ({op} f {names}))",
            right=f"({op} f {' '.join(f'(mv k p {x})' for x in names.split())})",
            when=("(< k p)",),
            proof=PROOF,
        )
        for op, names in _MAPS
    ),
    *(
        Rule(
            name=f"view/{op}-of-moved",
            law="f(move(x), ..) = move(f(x, ..))",
            reason="Movement passes elementwise code on its way to a fold that ignores it.",
            left=f"({op} f {' '.join(f'(mv k p {x})' for x in names.split())})",
            right=f"(mv k p ({op} f {names}))",
            when=("(< k p)",),
            proof=PROOF,
        )
        for op, names in _MAPS
    ),
)
