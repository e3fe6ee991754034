"""Vectorize: a dimension becomes a leading axis of every operand instead of a loop around it.

``(sl d s x)`` is the tensor of ``x`` at all points of slice ``s``; a full slice is the vectorised
form. Spatial axes count from the right, so prepending one to every operand of an operator changes
none of its axis numbers: that is the whole proof of most laws here. An operand must not change its
shape along ``d`` (``sdom``), and laws push only where the value depends on ``d`` at all.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Rule

PUSH = "One kernel over an axis instead of one kernel per point."


def _pushed(op: str, fields: str, operands: str, *when: str) -> Rule:
    """``sl(op(a, b)) = op(sl(a), sl(b))`` for an operator that treats leading axes pointwise."""
    names = operands.split()
    inner = " ".join((op, *fields.split(), *names))
    outer = " ".join((op, *fields.split(), *(f"(sl d s {x})" for x in names)))
    regular = (f"(= 0 (& d (sdom {x})))" for x in names)
    args = ", ".join(names)
    return Rule(
        name=f"vectorize/{op}",
        law=f"slice(d, {op}({args})) = {op}({', '.join(f'slice(d, {x})' for x in names)})",
        reason=PUSH,
        left="(sl d s y)",
        right=f"({outer})",
        when=(f"(= y ({inner}))", "(!= 0 (& d (dom y)))", *regular, *when),
        proof="proofs/test_pointwise.py",
        phase="spread",
    )


_FREE_A = "(= 0 (& d (mask a)))"

VECTORIZE: tuple[Rule, ...] = (
    Rule(
        name="vectorize/want",
        law="x = slice(d, x)[d]",
        reason="Asks for the vectorised form of a value and reads it back at the point.",
        left="x",
        right="(part (+ r 1) e (sl d s x))",
        when=(
            "(want x m)",
            "(= d (innermost m))",
            "(!= 0 (& d (dom x)))",
            "(= 0 (& d (sdom x)))",
            "(= s (full d))",
            "(= e (self d))",
            "(= r (rank x))",
        ),
        also=("(want (sl d s x) (& m (not-i64 d)))",),
        proof="proofs/test_pointwise.py",
        phase="seed",
    ),
    Rule(
        name="vectorize/recurrence",
        law="slice(d, x) is a recurrence of its own, defined by slice(d, each case of x)",
        reason="A recurrence that is parallel over d advances all points of d at once.",
        left="(sl d s (rec r))",
        right="(rec q)",
        when=("(= s (full d))", "(batch r d q)"),
        also=("(live q)",),
        proof="proofs/test_pointwise.py",
        phase="spread",
    ),
    Rule(
        name="vectorize/definition",
        law="the twin of x along d is defined by slice(d, each case of x)",
        reason="Gives the vectorised recurrence its equations.",
        left="x",
        right="x",
        when=("(define r k x)", "(batch r d q)", "(live q)", "(= s (full d))"),
        also=("(define q k (sl d s x))",),
        proof="proofs/test_pointwise.py",
        phase="spread",
    ),
    _pushed("map1", "f", "x"),
    _pushed("map2", "f", "x z"),
    _pushed("map3", "f", "x z w"),
    _pushed("red", "f m", "x"),
    _pushed("mm", "", "x z"),
    _pushed("tr", "", "x"),
    _pushed("mv", "k p", "x"),
    _pushed("perm", "p", "x"),
    _pushed("reshape", "r h", "x", "(= 0 (& d (hmask h)))"),
    _pushed("bcast", "h", "x", "(= 0 (& d (hmask h)))"),
    _pushed("cat", "k", "x z"),
    _pushed("part", "k a", "x", _FREE_A),
    _pushed("cut", "k a", "x", _FREE_A),
    _pushed("gather", "k", "x z"),
    _pushed("along1", "f k a", "x", _FREE_A),
    _pushed("along2", "f k a", "x z", _FREE_A),
    _pushed("case", "a", "x z", _FREE_A),
    _pushed("at", "e a", "x", _FREE_A, "(!= d e)", "(= 0 (& e (mask s)))"),
    _pushed("scan", "f e", "x", "(!= d e)", "(= 0 (& e (mask s)))"),
    _pushed("back", "f e", "x", "(!= d e)", "(= 0 (& e (mask s)))"),
    _pushed("lin", "e b", "x z", "(!= d e)", "(= 0 (& e (mask s)))"),
    Rule(
        name="vectorize/shift",
        law="slice(d in lo..hi, x[d + k]) = slice(d in lo+k..hi+k, x)",
        reason="A shifted read of a history is another part of the same history.",
        left="(sl d s (at d a x))",
        right="(sl d q x)",
        when=("(= q (shifted d s a))", "(!= 0 (& d (dom x)))"),
        proof="proofs/test_pointwise.py",
        phase="spread",
    ),
    Rule(
        name="vectorize/point",
        law="slice(d in 0..n, A[.., d, ..]) = A with that axis in front, where it has n elements",
        reason="Reading a tensor at every point of a dimension is the tensor itself.",
        left="(sl d s (part k a x))",
        right="(mv k r x)",
        when=(
            "(= a (self d))",
            "(start d s)",
            "(axis x k (size n))",
            "(= n (length s))",
            "(= 0 (& d (dom x)))",
            "(= r (rank x))",
            "(< k r)",
        ),
        proof="proofs/test_pointwise.py",
        phase="spread",
    ),
    Rule(
        name="vectorize/first-point",
        law="slice(d in 0..n, A[d]) = A where it has n elements",
        reason="Reading a tensor at every point of a dimension is the tensor itself.",
        left="(sl d s (part k a x))",
        right="x",
        when=(
            "(= a (self d))",
            "(start d s)",
            "(axis x k (size n))",
            "(= n (length s))",
            "(= 0 (& d (dom x)))",
            "(= k (rank x))",
        ),
        proof="proofs/test_pointwise.py",
        phase="spread",
    ),
    Rule(
        name="vectorize/nest",
        law="slice(d, slice(e, x)) = slice(e, slice(d, x)) with the first two axes exchanged",
        reason="One order of nesting: dimensions that carry a recurrence are outermost.",
        left="(sl d s (sl e q x))",
        right="(mv (+ r 1) (+ r 2) (sl e q (sl d s x)))",
        when=(
            "(inside d e)",
            "(= 0 (& e (mask s)))",
            "(= 0 (& d (mask q)))",
            "(= 0 (& (| d e) (sdom x)))",
            "(= r (rank x))",
        ),
        proof="proofs/test_pointwise.py",
        phase="spread",
    ),
    Rule(
        name="vectorize/nest-recurrence",
        law="slice(d, slice(e, x)) = slice(e, slice(d, x)) with the first two axes exchanged",
        reason="A recurrence that advances all points of d at once is read over any other e.",
        left="(sl d s (sl e q x))",
        right="(mv (+ r 1) (+ r 2) (sl e q (sl d s x)))",
        when=(
            "(= x (rec n))",
            "(batch n d b)",
            "(!= d e)",
            "(= s (full d))",
            "(= 0 (& e (mask s)))",
            "(= 0 (& d (mask q)))",
            "(= 0 (& (| d e) (sdom x)))",
            "(= r (rank x))",
        ),
        proof="proofs/test_pointwise.py",
        phase="spread",
    ),
)
