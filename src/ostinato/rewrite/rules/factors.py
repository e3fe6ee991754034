"""Factors: what a linear recurrence multiplies with, and adds, has one form for every mask.

``factor e x``: a step of a recurrence multiplies with x, of type e, or adds it, or x is a part of
a product or a sum of this kind. A mask ``b`` may be ``where(b, w, 0)``, ``w b`` or ``w (1 - b)``,
with ``w`` on either side; all of them become a choice around the other factors. A choice between
sums with a common part is that part and a choice: it may stand inside or outside of a step.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Phase, Rule

PROOF = "proofs/test_affine.py"
ONE_FORM = "A step that stops at the end of an episode has one factor, however it is written."
_NOTHING = "(reshape 0 o z)"
_ZERO = ("(zero e z)", "(= n (rank x))", "(ones n o)")
_IS_TRUTH = ('(= "bool" (dtype b))', "(real_cast f)")
_TYPE = "(= e (dtype y))"
_BOUNDED = "(bounded w)"  # an infinite factor makes NaN of nothing
_TRUTH = "(map1 f b)"
_LIE = '(map2 "sub" u (map1 f b))'


def _noted(name: str, law: str, term: str, phase: Phase, *fact: str) -> Rule:
    """The operands of a product are factors too."""
    return Rule(
        name=f"affine/{name}",
        law=law,
        reason="Marks what a recurrence multiplies with: only there the laws of masks are tried.",
        left="x",
        right="x",
        when=fact,
        also=tuple(f"(factor e {part})" for part in term.split()),
        proof=PROOF,
        phase=phase,
    )


def _form(name: str, law: str, left: str, right: str, *when: str) -> Rule:
    return Rule(
        name=f"affine/{name}",
        law=law,
        reason=ONE_FORM,
        left=left,
        right=right,
        when=(f"(= x {left})", "(factor e x)", *when),
        exact="reassociates",
        proof=PROOF,
    )


def _masked(name: str, mask: str, yes: str, no: str, *when: str) -> tuple[Rule, ...]:
    """A truth value as a number, or one minus it: alone and times a value on either side."""

    def choice(value: str) -> str:
        sides = {"w": value, "0": _NOTHING}
        return f'(map3 "where" b {sides[yes]} {sides[no]})'

    facts = (*_IS_TRUTH, *_ZERO, _BOUNDED, *when)
    shown = "b" if yes == "w" else "1 - b"
    law = f"w times {shown}, in any order, = where(b, {yes}, {no})"
    after, before = f'(map2 "mul" w {mask})', f'(map2 "mul" {mask} w)'
    return (
        _form(f"{name}-after", law, after, choice("w"), *facts),
        _form(f"{name}-before", law, before, choice("w"), *facts),
    )


def _around(name: str, first: bool, zero_first: bool) -> Rule:
    """A product with a choice between a value and nothing is a choice between products."""
    inside = "z y" if zero_first else "y z"
    product = '(map2 "mul" w y)' if first else '(map2 "mul" y w)'
    choice = f'(map3 "where" c {inside})'
    return _form(
        name,
        "w where(c, y, 0) = where(c, w y, 0), with operands in any order",
        f'(map2 "mul" w {choice})' if first else f'(map2 "mul" {choice} w)',
        f'(map3 "where" c {inside.replace("y", product)})',
        "(= 0.0 (value z))",
        _BOUNDED,
    )


def _inside(name: str, zero_first: bool) -> Rule:
    """A choice between a product and nothing is a product with such a choice."""
    sides, inner = 'z (map2 "mul" w y)', "z y"
    if not zero_first:
        sides, inner = '(map2 "mul" w y) z', "y z"
    return _form(
        name,
        "where(c, w y, 0) = w where(c, y, 0), with operands in any order",
        f'(map3 "where" c {sides})',
        f'(map2 "mul" w (map3 "where" c {inner}))',
        "(= 0.0 (value z))",
        _BOUNDED,
    )


def _common(name: str, law: str, sides: str, right: str, *when: str) -> Rule:
    """A choice between two values with a common part."""
    return _form(f"common-{name}", law, f'(map3 "where" c {sides})', right, *when)


def _commons() -> Iterator[Rule]:
    """Choices between values with a common part ``w``."""
    either = '(map3 "where" c y v)'
    law = "where(c, f(y, w), f(v, w)) = f(where(c, y, v), w)"
    yield _common("last", law, "(map2 f y w) (map2 f v w)", f"(map2 f {either} w)")
    law = "where(c, f(w, y), f(w, v)) = f(w, where(c, y, v))"
    yield _common("first", law, "(map2 f w y) (map2 f w v)", f"(map2 f w {either})")
    for word, fn in (("sum", "add"), ("difference", "sub")):
        some = f'(map2 "{fn}" w y)'
        law = f"where(c, w, {word} of w and y) = {word} of w and where(c, 0, y)"
        right = f'(map2 "{fn}" w (map3 "where" c {_NOTHING} y))'
        yield _common(f"start-of-{word}", law, f"w {some}", right, *_ZERO)
        law = f"where(c, {word} of w and y, w) = {word} of w and where(c, y, 0)"
        right = f'(map2 "{fn}" w (map3 "where" c y {_NOTHING}))'
        yield _common(f"rest-of-{word}", law, f"{some} w", right, *_ZERO)


FACTORS: tuple[Rule, ...] = (
    _noted(
        "factor",
        "what multiplies the step before is a factor",
        "x",
        "seed",
        "(scaled r y x)",
        _TYPE,
    ),
    _noted(
        "factor-of-sum",
        "what multiplies the step before is a factor",
        "x",
        "seed",
        "(affine r y x a)",
        _TYPE,
    ),
    _noted(
        "factors",
        "both operands of a product or a sum are factors",
        "y w",
        "spread",
        "(= x (map2 f y w))",
        "(factor e x)",
        "(arithmetic f)",
    ),
    _noted(
        "term",
        "what is added to a multiple of the step before has factors",
        "x",
        "seed",
        "(affine r y g x)",
        _TYPE,
    ),
    *_masked("mask", _TRUTH, "w", "0"),
    *_masked("unmask", _LIE, "0", "w", "(= 1.0 (value u))", "(= o (shape u))"),
    *(
        _around(f"product-{side}-choice-{place}", first, zero_first)
        for side, first in (("before", True), ("after", False))
        for place, zero_first in (("of-nothing", True), ("or-nothing", False))
    ),
    _inside("choice-of-nothing-or-product", zero_first=True),
    _inside("choice-of-product-or-nothing", zero_first=False),
    *_commons(),
)
