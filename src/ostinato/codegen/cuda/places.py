"""Offsets as sums of products of names with whole factors: what can be said of two places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.codegen.cuda.rewriting import exchanged, named
from ostinato.codegen.loops.expression import Binary, Constant, Expression, Name, Negative

Term = tuple[str, ...]  # names, and texts of what is no sum or product, in order


@dataclass(frozen=True)
class Place:
    """Terms with their factors, and every name that occurs in them."""

    terms: Mapping[Term, int]
    names: Mapping[Term, frozenset[str]]

    def without(self, name: str) -> Place:
        """The part whose terms do not depend on a name."""
        kept = {t: k for t, k in self.terms.items() if name not in self.names[t]}
        return Place(kept, {t: self.names[t] for t in kept})

    def key(self) -> frozenset[tuple[Term, int]]:
        return frozenset(self.terms.items())


def place(of: Expression, known: Mapping[str, Expression]) -> Place:
    """An offset, in which names that are ``known`` stand for their values."""
    match of:
        case Constant(int(value)):
            return _sum({(): int(value)}, {(): frozenset()})
        case Name(name) if name in known:
            return place(known[name], known)
        case Name(name):
            return _sum({(name,): 1}, {(name,): frozenset((name,))})
        case Negative(x):
            return _times(place(x, known), place(Constant(-1), known))
        case Binary("+", left, right):
            return _plus(place(left, known), place(right, known), 1)
        case Binary("-", left, right):
            return _plus(place(left, known), place(right, known), -1)
        case Binary("*", left, right):
            return _times(place(left, known), place(right, known))
        case _:
            return _whole(of, known)


def _whole(of: Expression, known: Mapping[str, Expression]) -> Place:
    """What is no sum or product, as one term, in which nothing that is known is a name."""
    written = _written_out(of, known)
    return _sum({(str(written),): 1}, {(str(written),): frozenset(named(written))})


def _written_out(of: Expression, known: Mapping[str, Expression]) -> Expression:
    def value(x: Expression) -> Expression:
        if isinstance(x, Name) and x.id in known:
            return _written_out(known[x.id], known)
        return x

    return exchanged(of, value)


def _sum(terms: Mapping[Term, int], names: Mapping[Term, frozenset[str]]) -> Place:
    kept = {t: k for t, k in terms.items() if k}
    return Place(kept, {t: names[t] for t in kept})


def _plus(x: Place, y: Place, sign: int) -> Place:
    terms = dict(x.terms)
    for t, k in y.terms.items():
        terms[t] = terms.get(t, 0) + sign * k
    return _sum(terms, {**x.names, **y.names})


def difference(x: Place, y: Place) -> Place:
    """The one less the other."""
    return _plus(x, y, -1)


def _times(x: Place, y: Place) -> Place:
    terms: dict[Term, int] = {}
    names: dict[Term, frozenset[str]] = {}
    for s, j in x.terms.items():
        for t, k in y.terms.items():
            both = tuple(sorted((*s, *t)))
            terms[both] = terms.get(both, 0) + j * k
            names[both] = x.names[s] | y.names[t]
    return _sum(terms, names)
