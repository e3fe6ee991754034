"""Affine: a recurrence whose step is ``a + g x'`` is a linear recurrence, however it is spelled.

``x'`` is the recurrence ``r`` one step earlier, at index ``i`` of the dimension that carries it
(``neighbour r d i b``; ``b`` is 1 for a loop that runs backwards). ``scaled r y g``: ``y = g x'``;
``affine r y g a``: ``y = a + g x'``; ``clear r y``: ``y`` does not read the recurrence; ``gone r
y``: it is all zeros besides. ``body r c s y``: the recurrence is ``s`` where ``c`` holds, else
``y``. ``only c d b``: the condition holds at the first step and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ostinato.rewrite.engine.rule import Exactness, Rule

STEP = "Follows what a step does to the value of the step before."
PROOF = "proofs/test_affine.py"
_ONE = "(reshape 0 o u)"
_NOTHING = "(reshape 0 o z)"
_ONES = ("(= n (rank x))", "(ones n o)")
_UNIT = ("(unit (dtype x) u)", *_ONES)
_ZERO = ("(zero (dtype x) z)", *_ONES)


_KEPT: dict[Exactness, str] = {
    "exact": r"neighbour-scaled|neg-scaled|ray-(plus|minus)|(plus|minus)-ray|"
    "case-rays-scaled|case-lines",
    "zero signs": "neg|case-ray-line|case-line-ray",
    "reassociates": r"(product|product-of|quotient)-scaled|line-(plus|minus)|(plus|minus)-line|"
    "where-.*",
}


def _step(name: str, law: str, term: str, concluded: str, *when: str) -> Rule:
    """What is known of operands of a term says what the term is."""
    kept: list[Exactness] = [e for e, names in _KEPT.items() if re.fullmatch(names, name)]
    exact: Exactness = kept[0] if kept else "distributes"
    return Rule(
        name=f"affine/{name}",
        law=law,
        reason=STEP,
        left="x",
        right="x",
        when=(f"(= x {term})", *when),
        also=(concluded,),
        exact=exact,
        proof=PROOF,
    )


def _scaled(name: str, law: str, term: str, g: str, *when: str) -> Rule:
    return _step(f"{name}-scaled", law, term, f"(scaled r x {g})", *when)


def _affine(name: str, law: str, term: str, g: str, a: str, *when: str) -> Rule:
    return _step(name, law, term, f"(affine r x {g} {a})", *when)


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


_LINE, _RAY = "(affine r y g a)", "(scaled r y g)"  # a + g x', g x'
_FREE = "(clear r w)"

_ONE_OPERAND = (
    _scaled("neighbour", "x' = 1 x'", "(at d i (rec r))", _ONE, "(neighbour r d i b)", *_UNIT),
    _scaled("neg", "-(g x') = (-g) x'", '(map1 "neg" y)', '(map1 "neg" g)', _RAY),
    _affine(
        "neg",
        "-(a + g x') = -a + (-g) x'",
        '(map1 "neg" y)',
        '(map1 "neg" g)',
        '(map1 "neg" a)',
        _LINE,
    ),
)


def _times(name: str, fn: str, operands: str) -> Iterator[Rule]:
    """A product with, or a quotient by, a value that does not read the recurrence."""

    def applied(to: str) -> str:
        return f'(map2 "{fn}" {operands.replace("y", to)})'

    sign = "/" if fn == "div" else "*"
    shown = operands.replace(" ", f" {sign} ")
    yield _scaled(
        name, f"{shown} is a multiple of x' if y is", applied("y"), applied("g"), _RAY, _FREE
    )
    law = f"{shown} is affine in x' if y is"
    yield _affine(name, law, applied("y"), applied("g"), applied("a"), _LINE, _FREE)


_PRODUCTS = (
    *_times("product", "mul", "y w"),
    *_times("product-of", "mul", "w y"),
    *_times("quotient", "div", "y w"),
)


def _sums(word: str, fn: str) -> Iterator[Rule]:
    """A sum with, or a difference from, a value that does not read the recurrence."""

    def opposite(x: str) -> str:
        return x if fn == "add" else f'(map1 "neg" {x})'

    law = f"a value that is affine in x' {word} one without x' is affine in x'"
    after, before = _m2(fn, "y", "w"), _m2(fn, "w", "y")
    yield _affine(f"ray-{word}", law, after, "g", opposite("w"), _RAY, _FREE)
    yield _affine(f"line-{word}", law, after, "g", _m2(fn, "a", "w"), _LINE, _FREE)
    law = f"a value without x' {word} one that is affine in x' is affine in x'"
    yield _affine(f"{word}-ray", law, before, opposite("g"), "w", _RAY, _FREE)
    yield _affine(f"{word}-line", law, before, opposite("g"), _m2(fn, "w", "a"), _LINE, _FREE)


_RAY_2, _LINE_2 = "(scaled r w h)", "(affine r w h b)"


def _both(name: str, fn: str) -> Iterator[Rule]:
    """Sums and differences of two values that both read the recurrence."""
    term, g = _m2(fn, "y", "w"), _m2(fn, "g", "h")
    law = f"{fn} of two multiples of x'"
    yield _scaled(f"{name}-rays", law, term, g, _RAY, _RAY_2)
    first = "b" if fn == "add" else '(map1 "neg" b)'
    law = f"{fn} of a multiple of x' and an affine value"
    yield _affine(f"{name}-ray-line", law, term, g, first, _RAY, _LINE_2)
    law = f"{fn} of an affine value and a multiple of x'"
    yield _affine(f"{name}-line-ray", law, term, g, "a", _LINE, _RAY_2)
    law = f"{fn} of two values that are affine in x'"
    yield _affine(f"{name}-lines", law, term, g, _m2(fn, "a", "b"), _LINE, _LINE_2)


def _choice(op: str, first: str, second: str) -> str:
    """A choice between two values; the two sides of a case have the shape ``e`` of the result."""
    if op.startswith("case"):
        first, second = f"(bcast e {first})", f"(bcast e {second})"
    return f"({op} {first} {second})"


def _chosen_both(name: str, op: str) -> Iterator[Rule]:
    """A choice between two values that both read the recurrence.

    Where only one of them does, the choice hides the step before, and with it infinities and NaN,
    which a factor 0 would not.
    """
    term, g = f"({op} y w)", _choice(op, "g", "h")
    same = ("(= e (shape x))",) if op.startswith("case") else ("(clear r c)",)
    law = "where(c, g x', h x') = where(c, g, h) x'"
    yield _scaled(f"{name}-rays", law, term, g, _RAY, _RAY_2, *same)
    law = "where(c, g x', b + h x') = where(c, 0, b) + where(c, g, h) x'"
    a = _choice(op, _NOTHING, "b")
    yield _affine(f"{name}-ray-line", law, term, g, a, _RAY, _LINE_2, *_ZERO, *same)
    law = "where(c, a + g x', h x') = where(c, a, 0) + where(c, g, h) x'"
    a = _choice(op, "a", _NOTHING)
    yield _affine(f"{name}-line-ray", law, term, g, a, _LINE, _RAY_2, *_ZERO, *same)
    law = "where(c, a + g x', b + h x') = where(c, a, b) + where(c, g, h) x'"
    yield _affine(f"{name}-lines", law, term, g, _choice(op, "a", "b"), _LINE, _LINE_2, *same)


_OPS = (("where", 'map3 "where" c'), ("case", "case c"))
_CHOICES = tuple(rule for name, op in _OPS for rule in _chosen_both(name, op))


def _closed(name: str, known: str, factor: str, body: str, *when: str) -> Rule:
    """The recurrence itself, once its step is known to be affine."""
    return Rule(
        name=f"affine/{name}",
        law=f"x = s at the first step, then {'a + ' * (known == _LINE)}g x', is linear",
        reason="Every reader is served by one linear recurrence, whatever its spelling.",
        left="x",
        right=f"(lin d b {factor} {body})",
        when=(
            "(= x (rec r))",
            "(neighbour r d i b)",
            "(body r c s y)",
            known,
            "(only c d b)",
            "(= e (shape x))",
            "(= 0 (& d (sdom s)))",
            *when,
        ),
        also=("(closed r)",),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


_CLOSED = (
    _closed("line", _LINE, "g", _choice("case c", "s", "a")),
    _closed("ray", _RAY, "g", _choice("case c", "s", _NOTHING), *_ZERO),
)

AFFINE: tuple[Rule, ...] = (
    *_ONE_OPERAND,
    *_PRODUCTS,
    *_sums("plus", "add"),
    *_sums("minus", "sub"),
    *_both("sum", "add"),
    *_both("difference", "sub"),
    *_CHOICES,
    *_CLOSED,
)
