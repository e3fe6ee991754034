"""What the facts mean that a rule may assert (`also`), and whether they follow from what it asks.

- ``set (shape x) h``: x has the shape h. ``equal x y``, and the facts that name a matrix
  (``lag``, ``facing``, ``beyond``, ``rungs``, ``ladder``, ``centre``): x is that value.
- ``scaled r y g``: ``y = g x'``, ``affine r y g a``: ``y = a + g x'``, where ``x'`` is the
  recurrence r one step before and neither g nor a reads r.
- ``define q k x``: x is what the case k of the recurrence q is defined by.
- ``closed r``: the recurrence r equals a term that does not read it.
- ``factor e x``: x is of type e.
- ``want x m``, ``live q``: wishes for terms; they say nothing that could be false.

The equations among them are compared as the sides of a rule are (`prover`); here is the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.language import SIGNATURE
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.reading import Law
from ostinato.rewrite.prove.sexpr import Tree, parse, show, words

WISHES = frozenset(("want", "live"))
EQUATIONS = frozenset(("equal", "define"))  # that are claims of a proof
ARITHMETIC = frozenset(('"add"', '"sub"', '"mul"', '"div"'))
_KEEPS_TYPE = frozenset(
    ("at", "sl", "part", "cut", "reshape", "bcast", "mv", "tr", "perm", "scan", "back")
)


class Unfounded(Exception):
    """A fact that does not follow."""


def check(found: Law) -> None:
    """Refuse a rule that asserts what its facts do not say, where that is no equation.

    Errors: Unfounded.
    """
    for fact in map(parse, found.rule.also):
        match fact:
            case (("scaled" | "affine"), str(rec), _, *parts):
                for part in parts:
                    _check_clear(found.rule, rec, part, fact)
            case ("closed", str(rec)):
                if found.left != ("rec", rec):
                    raise Unfounded(f"{show(fact)}: the left side is not the recurrence")
                _check_clear(found.rule, rec, parse(found.rule.right), fact)
            case _:
                pass
    _check_constants(found)
    for fact in found.also:
        match fact:
            case ("factor", e, term) if not any(
                term in typed for typed in map(list, _of_type(found, e))
            ):
                raise Unfounded(f"{show(fact)}: nothing says that {show(term)} has this type")
            case _:
                pass


def _check_constants(found: Law) -> None:
    """Refuse a number of a type of which nothing says that it is that of another value."""
    for fact in map(parse, found.rule.when):
        match fact:
            case (("zero" | "unit" | "empty"), *_, str(e), str(name)) if (
                not e.startswith('"')  # a type that the rule names: every engine knows it
                and name in words(parse(found.rule.right))
                and not any(_of_type(found, e))
            ):
                raise Unfounded(f"{show(fact)}: nothing says that a value has this type")
            case _:
                pass


def _check_clear(rule: Rule, rec: str, term: Tree, fact: Tree) -> None:
    """Refuse a term of which nothing says that it does not read a recurrence."""
    known = set(_clear(rule, rec))
    for name in _tensors(term):
        if name not in known:
            raise Unfounded(f"{show(fact)}: nothing says that {name} does not read {rec}")


def _clear(rule: Rule, rec: str) -> Iterator[str]:
    """The terms of which facts say that they do not read a recurrence."""
    for fact in map(parse, rule.when):
        match fact:
            case (("clear" | "gone" | "some"), str(r), str(name)) if r == rec:
                yield name
            case ("scaled", str(r), _, str(g)) if r == rec:
                yield g
            case ("affine", str(r), _, str(g), str(a)) if r == rec:
                yield from (g, a)
            case ("body", str(r), _, str(start), _) if r == rec:
                yield start
            case (("zero" | "unit"), _, str(name)) | ("empty", _, _, str(name)):
                yield name
            case ("indicator", _, str(name)):
                yield name
            case _:
                pass


def _tensors(term: Tree) -> Iterator[str]:
    """The names of tensors in a term, recurrences among them."""
    if isinstance(term, str):
        yield term
    elif isinstance(term, tuple) and term[0] == "rec":
        yield str(term[1])
    elif isinstance(term, tuple) and (letters := SIGNATURE.get(str(term[0]))):
        for letter, part in zip(letters, term[1:], strict=True):
            if letter == "T":
                yield from _tensors(part)


def _of_type(found: Law, e: Tree) -> Iterator[Iterator[Tree]]:
    """Groups of terms that have a type which a fact names."""
    alike = {f[1] for f in found.facts if isinstance(f, tuple) and f[0] == "arithmetic"}
    for fact in found.facts:
        match fact:
            case ("=", typed, ("dtype", term)) | ("factor", typed, term) if typed == e:
                yield _alike(term, alike)
            case _:
                pass


def _alike(term: Tree, arithmetic: set[Tree]) -> Iterator[Tree]:
    """A term and the parts of it that have its type."""
    yield term
    match term:
        case ("map2", fn, *parts) if fn in ARITHMETIC or fn in arithmetic:
            for part in parts:
                yield from _alike(part, arithmetic)
        case ("map1", '"neg"' | '"abs"', part):
            yield from _alike(part, arithmetic)
        case ("map3", '"where"', _, *parts):
            for part in parts:
                yield from _alike(part, arithmetic)
        case (str(op), *_, part) if op in _KEEPS_TYPE:
            yield from _alike(part, arithmetic)
        case _:
            pass
