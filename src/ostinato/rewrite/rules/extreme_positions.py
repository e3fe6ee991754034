"""Incremental: where the greatest, or the least, of a growing range is, from where it was before.

``before d i c``: index i is ``d - 1``, where c holds; ``after d i c``: it is ``d + 1``. As in
NumPy, the first of equal elements counts, and the first NaN before all others. So the last element
of a range is its place if it is greater than the greatest before it, or the first NaN; the first
one is its place if it is at least the greatest of the others, or NaN.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Rule

PROOF = "proofs/test_places.py"
ONE_STEP = "The best so far and its place: one comparison per point, not a pass over the range."

_NOTHING, _ONE = "(reshape 0 o z)", "(reshape 0 o u)"
_LEADING = ("(= m (<< 1 (rank x)))", "(!= 0 (& d (dom x)))")
_SHAPES = ("(= r (rank x))", "(ones r o)", "(= h (shape x))")
_NUMBERS = ('(zero "int32" z)', '(unit "int32" u)')


def _where(condition: str, yes: str, no: str) -> str:
    return f'(map3 "where" {condition} {yes} {no})'


def _place(name: str, law: str, fold: str, right: str, *when: str) -> Rule:
    return Rule(
        name=f"incremental/{name}-{fold}",
        law=law,
        reason=ONE_STEP,
        left=f'(red "{fold}" m (sl d s x))',
        right=right,
        when=(*when, *_LEADING, *_SHAPES, *_NUMBERS),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _places() -> Iterator[Rule]:
    for fold, most, passed, reaches in (
        ("argmax", "max", "le", "ge"),
        ("argmin", "min", "ge", "le"),
    ):
        best = f'(at d i (scan "{most}" d x))'
        better = f'(map1 "not" (map2 "{passed}" x {best}))'
        found = f'(map2 "and" {better} (map2 "eq" {best} {best}))'
        factor, here = _where(found, _NOTHING, _ONE), "(reshape 0 o (leaf k))"
        start = f"(case c {_where(found, here, _NOTHING)} (bcast h {_NOTHING}))"
        law = f"{fold}(x[0 : d + 1]) = d where x[d] is beyond all before, else that of x[0 : d]"
        before = ("(prefix d s)", "(before d i c)", "(here k d)")
        yield _place("prefix", law, fold, f"(lin d 0 {factor} {start})", *before)
        best = f'(at d i (back "{most}" d x))'
        found = f'(map2 "or" (map2 "{reaches}" x {best}) (map2 "ne" x x))'
        step = _where(found, _NOTHING, _ONE)
        start = f"(case c {step} (bcast h {_NOTHING}))"
        law = f"{fold}(x[d : D]) = 0 where x[d] reaches all after, else 1 + that of x[d + 1 : D]"
        after = ("(suffix d s)", "(after d i c)")
        yield _place("suffix", law, fold, f"(lin d 1 {step} {start})", *after)


PLACES: tuple[Rule, ...] = tuple(_places())
