"""What the facts mean that a rule may assert (`also`), and whether they follow from what it asks.

- ``set (shape x) h``: x has the shape h. ``equal x y``, and the facts that say what a value is
  (``centre``, ``ramp``, ``decay``): x is that value.
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

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.reading import Law
from ostinato.rewrite.relations.meanings import Clear, Said, Typed
from ostinato.rewrite.relations.row import Row, rows
from ostinato.rewrite.relations.sexpr import Tree, show, words
from ostinato.rewrite.terms.signature import SIGNATURE

ARITHMETIC = frozenset(('"add"', '"sub"', '"mul"', '"div"'))
_KEEPS_TYPE = frozenset(
    ("at", "sl", "part", "cut", "reshape", "bcast", "mv", "tr", "perm", "running")
)


class Unfounded(Exception):
    """A fact that does not follow."""


def check(found: Law) -> None:
    """Refuse a rule that asserts what its facts do not say, where that is no equation.

    Errors: Unfounded.
    """
    for about in rows(fact.tree for fact in found.rule.also):
        _check_flags(about)
        for claim in about.relation.says:
            match claim:
                case Clear(terms, of) if of:
                    for column in terms:
                        _check_clear(found.rule, about[of], about.cells[column], about)
                case Said("closed"):
                    if found.left != ("rec", about["r"]):
                        raise Unfounded(f"{about}: the left side is not the recurrence")
                    _check_clear(found.rule, about["r"], found.rule.right.tree, about)
                case _:
                    pass
    _check_constants(found)
    for about in rows(found.also):
        for typed in about.claims(Typed):
            e, term = about.cells[typed.type], about.cells[typed.column]
            if not any(term in known for known in map(list, _of_type(found, e))):
                raise Unfounded(f"{about}: nothing says that {show(term)} has this type")


def _check_flags(about: Row) -> None:
    """Refuse a flag that is neither 0 nor 1, which no rule that asks for one reads as set."""
    for name, kind in about.columns.items():
        cell = about.cells[name]
        if kind == "flag" and isinstance(cell, int) and cell not in (0, 1):
            raise Unfounded(f"{about}: {cell} is no flag")


def _check_constants(found: Law) -> None:
    """Refuse a number of a type of which nothing says that it is that of another value."""
    made = (found.rule.right.tree, *(fact.tree for fact in found.rule.also))
    for about in rows(fact.tree for fact in found.rule.when):
        for name in about.said("scalar"):
            e = about.cells["e"]
            if (
                isinstance(e, str)
                and not e.startswith('"')  # a type that the rule names: every engine knows it
                and any(name in words(tree) for tree in made)
                and not any(_of_type(found, e))
            ):
                raise Unfounded(f"{about}: nothing says that a value has this type")


def _check_clear(rule: Rule, rec: str, term: Tree, about: Row) -> None:
    """Refuse a term of which nothing says that it does not read a recurrence."""
    known = set(_clear(rule, rec))
    for name in _tensors(term):
        if name not in known:
            raise Unfounded(f"{about}: nothing says that {name} does not read {rec}")


def _clear(rule: Rule, rec: str) -> Iterator[str]:
    """The terms of which facts say that they do not read a recurrence."""
    for about in rows(fact.tree for fact in rule.when):
        for claim in about.claims(Clear):
            if not claim.of or about[claim.of] == rec:
                yield from (about[term] for term in claim.terms)


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
    alike: set[Tree] = {name for row in found.rows for name in row.said("keeps type")}
    for row in found.rows:
        for claim in row.claims(Typed):
            if row.cells[claim.type] == e:
                yield _alike(row.cells[claim.column], alike)


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
