"""Integers of a proof: polynomials over coordinates, sizes and unknown functions of a point.

A variable may carry its range ``0 <= v < size``; quotients and remainders by sizes then cancel
(``(i * n + j) // n = i`` for ``j < n``), which is all that row-major reshapes need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property


@dataclass(frozen=True)
class Var:
    """An integer; with a size, one of ``0, ..., size - 1``. Sizes are ``least`` at least."""

    name: str
    size: Poly | None = None
    is_size: bool = False
    least: int = 1

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def key(self) -> str:
        return self.name

    def renamed(self, by: Renaming) -> Poly:
        return by[self] if self in by else poly(self)


@dataclass(frozen=True)
class Apply:
    """An unknown function of integers: the value of an index expression, or a size, at a point."""

    name: str
    args: tuple[Poly, ...]
    is_size: bool = False
    least: int = 1

    @cached_property
    def key(self) -> str:
        return f"{self.name}({','.join(a.key for a in self.args)})"

    def renamed(self, by: Renaming) -> Poly:
        args = tuple(a.renamed(by) for a in self.args)
        return poly(Apply(self.name, args, self.is_size, self.least))


@dataclass(frozen=True)
class Quotient:
    """``of // by`` rounded down."""

    of: Poly
    by: Poly

    @cached_property
    def key(self) -> str:
        return f"[{self.of.key}]/[{self.by.key}]"

    def renamed(self, by: Renaming) -> Poly:
        return divide(self.of.renamed(by), self.by.renamed(by))[0]


@dataclass(frozen=True)
class Clip:
    """``of``, at least 0 and at most ``most``: the positions of a tile that are in a range."""

    of: Poly
    most: Poly

    @cached_property
    def key(self) -> str:
        return f"[{self.of.key}]^[{self.most.key}]"

    def renamed(self, by: Renaming) -> Poly:
        return poly(Clip(self.of.renamed(by), self.most.renamed(by)))


@dataclass(frozen=True)
class Opaque:
    """An integer that is the value of a tensor, clamped to an axis."""

    text: str
    free: frozenset[Var]
    rename: Callable[[Renaming], Opaque]
    value: Callable[..., float]  # from functions that give values and integers their numbers

    @property
    def key(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def renamed(self, by: Renaming) -> Poly:
        return poly(self.rename(by))


Atom = Var | Apply | Quotient | Clip | Opaque
Renaming = Mapping[Var, "Poly"]
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Poly:
    """A sum of integer multiples of products of atoms, in canonical order."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(value: Poly | Atom | int) -> Poly:
        """Lift an integer or an atom."""
        return poly(value)

    @cached_property
    def key(self) -> str:
        return "+".join(f"{k}*{'.'.join(a.key for a in m)}" for m, k in self.terms) or "0"

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.key == other.key

    def __add__(self, other: Poly | Var | int) -> Poly:
        more = other if isinstance(other, Poly) else poly(other)
        if not self.terms or not more.terms:
            return more if more.terms else self
        return _ordered((*self.terms, *more.terms))

    def __neg__(self) -> Poly:
        return Poly(tuple((m, -k) for m, k in self.terms))

    def __sub__(self, other: Poly | Var | int) -> Poly:
        return self + -poly(other)

    def __mul__(self, other: Poly | Atom | int) -> Poly:
        more = other if isinstance(other, Poly) else poly(other)
        if (factor := more.constant) is not None and factor:
            return self if factor == 1 else Poly(tuple((m, k * factor) for m, k in self.terms))
        pairs = ((a, b) for a in self.terms for b in more.terms)
        return _collected(((*m, *n), j * k) for (m, j), (n, k) in pairs)

    def renamed(self, by: Renaming) -> Poly:
        if not by or self.variables().isdisjoint(by):
            return self
        total = poly(0)
        for monomial, k in self.terms:
            part = poly(k)
            for atom in monomial:
                part = part * atom.renamed(by)
            total = total + part
        return total

    def variables(self) -> frozenset[Var]:
        """All variables, also those inside unknown functions."""
        return self._variables

    @cached_property
    def _variables(self) -> frozenset[Var]:
        out: set[Var] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                out |= _inside(atom)
        return frozenset(out)

    @property
    def constant(self) -> int | None:
        """The value, if it is known."""
        if not self.terms:
            return 0
        (monomial, k), *rest = self.terms
        return k if not monomial and not rest else None

    def __str__(self) -> str:
        def one(m: Monomial, k: int) -> str:
            factors = [str(abs(k))] if abs(k) != 1 or not m else []
            return ("-" if k < 0 else "+") + "*".join(factors + [a.key for a in m])

        return "".join(one(m, k) for m, k in self.terms).lstrip("+") or "0"


def _inside(atom: Atom) -> frozenset[Var]:
    match atom:
        case Var():
            return frozenset({atom})
        case Apply(_, args):
            return frozenset[Var]().union(*(a.variables() for a in args))
        case Quotient(of, by):
            return of.variables() | by.variables()
        case Clip(of, most):
            return of.variables() | most.variables()
        case Opaque(_, free):
            return free


def poly(value: Poly | Atom | int) -> Poly:
    """Lift an integer or an atom."""
    if isinstance(value, Poly):
        return value
    if isinstance(value, int):
        return _constant(value)
    return Poly((((value,), 1),))  # not kept: a variable that holds it would be a circle


@cache
def _constant(value: int) -> Poly:
    return Poly((((), value),) if value else ())


def _collected(terms: Iterable[tuple[Monomial, int]]) -> Poly:
    """The sum of some terms, whose factors may stand in any order."""
    return _ordered(
        (tuple(sorted(m, key=lambda a: a.key)) if len(m) > 1 else m, k) for m, k in terms
    )


def _ordered(terms: Iterable[tuple[Monomial, int]]) -> Poly:
    """The sum of some terms, whose factors stand in order."""
    total: dict[Monomial, int] = {}
    for monomial, k in terms:
        total[monomial] = total.get(monomial, 0) + k
    kept = [(m, k) for m, k in total.items() if k]
    if len(kept) > 1:
        kept.sort(key=lambda t: [a.key for a in t[0]])
    return Poly(tuple(kept))


def never_negative(p: Poly) -> bool:
    """Whether ``p >= 0`` follows from the ranges of its variables and from sizes being positive."""
    if (known := p.constant) is not None:
        return known >= 0
    if (last := _bound_by_others(p)) is not None:
        return never_negative(p.renamed(last))
    least = poly(0)
    for monomial, k in _named_sizes(p).terms:
        if not all(_nonnegative(a) for a in monomial):
            return False
        part = poly(k)
        for atom in monomial:
            bounded = isinstance(atom, Var) and atom.size is not None
            if k > 0:
                part = part * (0 if bounded else atom)
            else:
                size = atom.size if isinstance(atom, Var) else None
                part = part * (size - 1 if size is not None else atom)
        least = least + part
    # sizes are at least 1, or 0: in s = 1 + s' every coefficient of s' must be positive
    least = _named_sizes(least)
    shifted = least.renamed({v: poly(v) + v.least for v in least.variables() if v.is_size})
    return all(k > 0 for _, k in shifted.terms)


def _bound_by_others(p: Poly) -> dict[Var, Poly] | None:
    """The greatest value of a variable that is subtracted, which others in a polynomial bound.

    It bounds no other one: those would change with it.
    """
    sizes = [v.size for v in p.variables() if v.size is not None]
    bounds = {v for size in sizes for v in size.variables()}
    for monomial, k in p.terms:
        match monomial:
            case (Var(_, Poly() as size) as v,) if k < 0 and size.variables() & p.variables():
                if v not in bounds and sum(v in m for m, _ in p.terms) == 1:
                    return {v: size - 1}
            case _:
                pass
    return None


def _named_sizes(p: Poly) -> Poly:
    """Sizes that vary with the point as plain sizes: one point is meant."""

    def named(atom: Atom) -> Atom:
        if isinstance(atom, Apply) and atom.is_size:
            return Var(atom.key, None, True, atom.least)
        return atom

    if not any(isinstance(a, Apply) and a.is_size for m, _ in p.terms for a in m):
        return p
    return _collected((tuple(map(named, m)), k) for m, k in p.terms)


def _nonnegative(atom: Atom) -> bool:
    if isinstance(atom, Var):
        return atom.is_size or atom.size is not None
    return isinstance(atom, Opaque | Clip)


def divide(p: Poly, by: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder, as simple as ranges allow."""
    if by.constant == 1:
        return p, poly(0)
    whole, rest = poly(0), poly(0)
    divisor = by.terms[0] if len(by.terms) == 1 else None
    for monomial, k in p.terms:
        left = _without(monomial, divisor[0]) if divisor and k % divisor[1] == 0 else None
        if left is None or divisor is None:
            rest = rest + Poly(((monomial, k),))
        else:
            whole = whole + _collected(((left, k // divisor[1]),))
    if never_negative(rest) and never_negative(by - rest - 1):
        return whole, rest
    quotient = poly(Quotient(rest, by))
    return whole + quotient, rest - by * quotient


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def is_less(p: Poly, q: Poly) -> bool | None:
    """Whether ``p < q``; None where ranges do not decide."""
    if never_negative(q - p - 1):
        return True
    return False if never_negative(p - q) else None
