"""Quasi-affine index expressions and slices over dimensions and extents.

An `Expr` is canonical: a constant plus a sorted sum of integer multiples of *atoms*. Atoms are
dimensions, extents, and the quasi-affine forms ``e // k``, ``e % k``, ``min``, ``max``; sizes
(never indices) may also hold products such as ``B * T``. Two expressions that canonicalise alike
are equal, so they compare, hash and intern by value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from math import gcd
from operator import mul
from typing import Generic, Protocol, Self, TypeVar, assert_never, cast

from ostinato.pdg.hashed_once import Keyed, hashed_once

INNER_SERIALS = 10**8  # of dimensions inside of functions, which come before all declared ones
_serial = itertools.count(INNER_SERIALS)


@dataclass(frozen=True, slots=True)
class Extent:
    """The symbolic number of steps of a dimension, called ``T`` for the dimension ``t``."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Dim:
    """A named time dimension; ``serial`` is its place in declaration order.

    ``steps`` names the extent of a second index over the steps of another dimension. ``size``
    defines the extent by others; it is at least 1, which every run checks. ``remarks`` are what the
    language notes while a program is written: no part of identity or of a stored plan. ``lifted``
    is the expression that is this dimension.
    """

    name: str
    serial: int = field(default_factory=_serial.__next__)
    steps: str = ""
    size: Expr | None = None
    remarks: list[object] = field(default_factory=list[object], compare=False, repr=False)
    lifted: Expr = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lifted", Expr(((self, 1),), 0))

    def __hash__(self) -> int:
        return self.serial  # schedulers ask for it a million times

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Dim):
            return NotImplemented
        same = self.serial == other.serial and self.name == other.name
        return same and self.steps == other.steps and self.size == other.size

    def __reduce__(self) -> tuple[type[Dim], tuple[str, int, str, Expr | None]]:
        return Dim, (self.name, self.serial, self.steps, self.size)

    @property
    def extent(self) -> Extent | Expr:
        """The number of steps: a symbol, or what defines it."""
        return self.symbol if self.size is None else self.size

    @property
    def symbol(self) -> Extent:
        """The name of the extent, also of one that others define."""
        return Extent(self.steps or self.name.upper())

    @property
    def whole(self) -> Slice:
        """All steps."""
        return Slice(expr(0), expr(self.extent))

    def __str__(self) -> str:
        return self.name


@hashed_once
@dataclass(frozen=True, slots=True)
class FloorDiv(Keyed):
    """``of // by`` rounded down; ``by`` is a positive integer."""

    of: Expr
    by: int

    def __str__(self) -> str:
        return f"({self.of}) // {self.by}"


@dataclass(frozen=True, slots=True)
class Mod:
    """``of % by`` in ``[0, by)``; ``by`` is a positive integer."""

    of: Expr
    by: int

    def __str__(self) -> str:
        return f"({self.of}) % {self.by}"


@hashed_once
@dataclass(frozen=True, slots=True)
class Extremum(Keyed):
    """``min`` or ``max`` of two or more expressions, sorted by text."""

    kind: str  # "min" | "max"
    of: tuple[Expr, ...]

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.of))})"


@dataclass(frozen=True, slots=True)
class Product:
    """A product of expressions: legal in sizes, never in an index or a condition."""

    of: tuple[Expr, ...]

    def __str__(self) -> str:
        return " * ".join(f"({f})" if len(f.terms) + bool(f.const) > 1 else str(f) for f in self.of)


Atom = Dim | Extent | FloorDiv | Mod | Extremum | Product


class _Asked(Keyed):
    """Room for what is asked for often."""

    __slots__ = ("known_dims",)
    known_dims: frozenset[Dim]


@hashed_once
@dataclass(frozen=True, slots=True)
class Expr(_Asked):
    """``const + sum(coefficient * atom)``, canonical. Build with `expr` and the operators."""

    terms: tuple[tuple[Atom, int], ...]
    const: int

    @property
    def ends(self) -> tuple[Expr, ...]:
        """Itself: see `Slice`, which has two."""
        return (self,)

    @property
    def dims(self) -> frozenset[Dim]:
        """The dimensions that it mentions."""
        try:
            return self.known_dims
        except AttributeError:
            found = frozenset(s for s in symbols(self) if isinstance(s, Dim))
            object.__setattr__(self, "known_dims", found)
            return found

    def at(self, by: Substitution) -> Expr:
        """Where dimensions or extents are replaced by expressions, all at once."""
        table = cast("Mapping[Dim | Extent, Expr]", by)
        for atom, _ in self.terms:
            if not isinstance(atom, (Dim, Extent)) or atom in table:
                break
        else:
            return self
        return Numbers(expr, lambda atom: table.get(atom) or expr(atom), extremum).value(self)

    def __add__(self, other: ExprLike) -> Expr:
        right = other if isinstance(other, Expr) else expr(other)
        if not right.terms or not self.terms:
            return Expr(self.terms or right.terms, self.const + right.const)
        total = dict(self.terms)
        for atom, k in right.terms:
            total[atom] = total.get(atom, 0) + k
        return _canonical(total, self.const + right.const)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return Expr(tuple((a, -k) for a, k in self.terms), -self.const)

    def __sub__(self, other: ExprLike) -> Expr:
        right = other if isinstance(other, Expr) else expr(other)
        if not right.terms:
            return Expr(self.terms, self.const - right.const)
        total = dict(self.terms)
        for atom, k in right.terms:
            total[atom] = total.get(atom, 0) - k
        return _canonical(total, self.const - right.const)

    def __rsub__(self, other: ExprLike) -> Expr:
        return expr(other) - self

    def __mul__(self, other: ExprLike) -> Expr:
        right = expr(other)
        if right.is_const:
            return _canonical({a: k * right.const for a, k in self.terms}, self.const * right.const)
        if self.is_const:
            return right * self.const
        return product((self, right))

    __rmul__ = __mul__

    def __floordiv__(self, by: int) -> Expr:
        return floordiv(self, by)

    def __mod__(self, by: int) -> Expr:
        return mod(self, by)

    @property
    def is_const(self) -> bool:
        return not self.terms

    def as_int(self) -> int:
        """The value of a constant expression."""
        assert self.is_const, f"{self} is not a constant"
        return self.const

    def as_dim(self) -> Dim | None:
        """The dimension, if the expression is exactly one."""
        if self.const == 0 and len(self.terms) == 1 and self.terms[0][1] == 1:
            atom = self.terms[0][0]
            return atom if isinstance(atom, Dim) else None
        return None

    def __str__(self) -> str:
        parts: list[str] = []
        for atom, k in self.terms:
            sign = "-" if k < 0 else "+" if parts else ""
            body = str(atom) if abs(k) == 1 else f"{abs(k)}*{_factor(atom)}"
            parts.append(f"{sign}{body}")
        if self.const or not parts:
            parts.append(f"{self.const:+d}" if parts else str(self.const))
        return "".join(parts)

    def __repr__(self) -> str:
        return f"<{self}>"


ExprLike = Expr | Dim | Extent | int


def _factor(atom: Atom) -> str:
    return f"({atom})" if isinstance(atom, FloorDiv | Mod) else str(atom)


def _rank(atom: Atom) -> tuple[int, int, str]:
    """Dimensions first in declaration order, then extents, then compound atoms by text."""
    if isinstance(atom, Dim):
        return (0, atom.serial, atom.name)
    return (1 if isinstance(atom, Extent) else 2, 0, str(atom))


def _canonical(total: Mapping[Atom, int], const: int) -> Expr:
    kept = [(a, k) for a, k in total.items() if k != 0]
    if len(kept) > 1:
        kept.sort(key=lambda term: _rank(term[0]))
    return Expr(tuple(kept), const)


_SMALL = tuple(Expr((), number) for number in range(257))


def expr(value: ExprLike) -> Expr:
    """Lift an integer, dimension or extent to an expression."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):
        return _SMALL[value] if 0 <= value < len(_SMALL) else Expr((), int(value))
    if isinstance(value, Extent):
        return Expr(((value, 1),), 0)
    return value.lifted


def _check_divisor(by: object) -> None:
    if not isinstance(by, int) or by <= 0:
        raise ValueError(f"an index is divided by {by}; use a positive integer constant")


def floordiv(value: ExprLike, by: int) -> Expr:
    """``value // by``: multiples of ``by`` leave the quotient exactly."""
    _check_divisor(by)
    e = expr(value)
    out = _canonical({a: k // by for a, k in e.terms if k % by == 0}, e.const // by)
    rest = _canonical({a: k for a, k in e.terms if k % by != 0}, e.const % by)
    if rest.is_const:
        return out
    return out + Expr(((FloorDiv(rest, by), 1),), 0)


def mod(value: ExprLike, by: int) -> Expr:
    """``value % by``: multiples of ``by`` vanish exactly."""
    _check_divisor(by)
    e = expr(value)
    rest = _canonical({a: k for a, k in e.terms if k % by != 0}, e.const % by)
    if rest.is_const:
        return rest
    return Expr(((Mod(rest, by), 1),), 0)


def extremum(kind: str, values: Sequence[ExprLike]) -> Expr:
    """The least or the greatest of the expressions."""
    pick = min if kind == "min" else max
    flat: list[Expr] = []
    for value in map(expr, values):
        atom = value.terms[0][0] if len(value.terms) == 1 else None
        nested = isinstance(atom, Extremum) and atom.kind == kind
        if nested and value.terms[0][1] == 1:
            assert isinstance(atom, Extremum)
            flat.extend(x + value.const for x in atom.of)
        else:
            flat.append(value)
    best: dict[tuple[tuple[Atom, int], ...], int] = {}  # same terms: the constants decide
    for value in flat:
        known = best.get(value.terms)
        best[value.terms] = value.const if known is None else pick(known, value.const)
    kept = sorted((Expr(terms, c) for terms, c in best.items()), key=str)
    return kept[0] if len(kept) == 1 else Expr(((Extremum(kind, tuple(kept)), 1),), 0)


def minimum(*values: ExprLike) -> Expr:
    """The least of the expressions."""
    return extremum("min", values)


def maximum(*values: ExprLike) -> Expr:
    """The greatest of the expressions."""
    return extremum("max", values)


def factors(sizes: Iterable[ExprLike]) -> tuple[int, tuple[Expr, ...]]:
    """A product as a number and the factors that are none: ``4 * t + 4`` is 4 and ``t + 1``."""
    const = 1
    rest: list[Expr] = []
    for factor in map(expr, sizes):
        if factor.is_const:
            const *= factor.const
        elif len(factor.terms) == 1 and factor.const == 0:
            atom, k = factor.terms[0]
            const *= k
            rest.extend(atom.of if isinstance(atom, Product) else (Expr(((atom, 1),), 0),))
        else:
            common = gcd(factor.const, *(k for _, k in factor.terms))
            terms = tuple((atom, k // common) for atom, k in factor.terms)
            const *= common
            rest.append(Expr(terms, factor.const // common))
    return (const, tuple(sorted(rest, key=str))) if const else (0, ())


def product(sizes: Iterable[ExprLike]) -> Expr:
    """A product, for sizes such as the number of elements ``B * T * 4``."""
    const, rest = factors(sizes)
    if not rest:
        return expr(const)
    if len(rest) == 1:
        return rest[0] * const
    return Expr(((Product(rest), const),), 0)


def symbols(value: ExprLike) -> frozenset[Dim | Extent]:
    """All dimensions and extents that the expression mentions."""
    out: set[Dim | Extent] = set()
    for atom, _ in value.terms if isinstance(value, Expr) else expr(value).terms:
        if isinstance(atom, (Dim, Extent)):  # nearly always
            out.add(atom)
        else:
            out |= _mentioned(atom)
    return frozenset(out)


def parts_of(atom: Atom) -> tuple[Expr, ...]:
    """The expressions that an atom is made of."""
    match atom:
        case Dim() | Extent():
            return ()
        case FloorDiv(of, _) | Mod(of, _):
            return (of,)
        case Extremum(_, of) | Product(of):
            return of
        case other:
            assert_never(other)


@lru_cache(maxsize=4096)
def _mentioned(atom: Atom) -> frozenset[Dim | Extent]:
    return frozenset[Dim | Extent]().union(*map(symbols, parts_of(atom)))


Substitution = Mapping[Dim, Expr] | Mapping[Dim | Extent, Expr]

Point = Mapping[Dim | Extent, int]


def evaluate(value: ExprLike, point: Point) -> int:
    """The value at a point; ``point`` gives every dimension and extent that is mentioned."""
    of = expr(value)
    total = of.const
    for atom, k in of.terms:  # nearly always sums of dimensions: others are told apart later
        if isinstance(atom, (Dim, Extent)):
            total += k * point[atom]
        else:
            total += k * Numbers(int, point.__getitem__, _of_integers).of_atom(atom)
    return total


def _of_integers(kind: str, values: Sequence[int]) -> int:
    return min(values) if kind == "min" else max(values)


class Number(Protocol):
    """What an index expression may be computed in."""

    def __add__(self, other: Self, /) -> Self: ...
    def __mul__(self, other: Self, /) -> Self: ...
    def __floordiv__(self, by: int, /) -> Self: ...
    def __mod__(self, by: int, /) -> Self: ...


N = TypeVar("N", bound=Number)


@dataclass(frozen=True, slots=True)
class Numbers(Generic[N]):
    """Numbers of some kind, and what each dimension and extent is: what expressions are then."""

    integer: Callable[[int], N]
    symbol: Callable[[Dim | Extent], N]
    extremum: Callable[[str, Sequence[N]], N]

    def value(self, e: Expr) -> N:
        total = self.integer(e.const)
        for atom, k in e.terms:
            part = self.of_atom(atom)
            total = total + (part if k == 1 else part * self.integer(k))
        return total

    def of_atom(self, atom: Atom) -> N:
        match atom:
            case Dim() | Extent():
                return self.symbol(atom)
            case FloorDiv(of, by):
                return self.value(of) // by
            case Mod(of, by):
                return self.value(of) % by
            case Extremum(kind, of_):
                return self.extremum(kind, [self.value(x) for x in of_])
            case Product(of_):
                return reduce(mul, map(self.value, of_))
            case other:
                assert_never(other)


@dataclass(frozen=True, slots=True)
class Slice:
    """The indices ``lo, lo + step, ...`` below ``hi``; a read with it prepends an axis."""

    lo: Expr
    hi: Expr
    step: int = 1

    @property
    def ends(self) -> tuple[Expr, ...]:
        """The expressions that it consists of."""
        return self.lo, self.hi

    @property
    def dims(self) -> frozenset[Dim]:
        """The dimensions that it mentions."""
        return self.lo.dims | self.hi.dims

    def at(self, by: Substitution) -> Slice:
        """Where dimensions or extents are replaced by expressions, all at once."""
        return Slice(self.lo.at(by), self.hi.at(by), self.step)

    @property
    def size(self) -> Expr:
        """The number of indices; the slice is assumed to satisfy ``lo <= hi``."""
        return floordiv(self.hi - self.lo + (self.step - 1), self.step)

    def __str__(self) -> str:
        lo = "" if self.lo == expr(0) else str(self.lo)
        return f"{lo}:{self.hi}" + (f":{self.step}" if self.step != 1 else "")


Index = Expr | Slice
