"""One way to read a rule: ranks, axis numbers, functions and shapes of its variables.

Axes are numbered from the right and operators treat the axes that they do not name pointwise.
Adjacent axes that a law does not name can therefore be read as one (its index is a tuple), and one
such axis in every gap stands for any number: a law that names n axes is decided by 2 n + 1.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ostinato.rewrite.prove.application import Unknown
from ostinato.rewrite.prove.integers import Apply, Clip, Poly, Var, never_negative, poly
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import Steps
from ostinato.rewrite.relations.sexpr import Tree

CUT = poly(Var("cut"))  # where a condition changes
STEPS = saying(Steps)
WIDTH = poly(Var("width", None, True))  # of a tile
REST = "rest"  # all dimensions that a law does not name


class Impossible(Exception):
    """No program matches this reading of the rule."""


class Conflict(Impossible):
    """Two sizes are known to differ; with an axis of size 1 they might agree."""


class Misfit(Exception):
    """The right side has another shape than the left, or sizes that do not fit."""


class Unsupported(Exception):
    """The prover does not know what this means."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A size that is known: ``total`` is what tiles make up, ``moved`` one at another point."""

    kind: str  # "one" | "total" | "extent" | "length" | "times" | "plus" | "moved"
    name: str = ""
    factors: tuple[Size, ...] = ()


@dataclass(eq=False)
class Size:
    """A size to be found: linked to an equal one, fixed, or free with dimensions it avoids."""

    name: str
    avoids: set[str] = field(default_factory=lambda: set())
    fixed: Fixed | None = None
    link: Size | None = None

    def root(self) -> Size:
        return self if self.link is None else self.link.root()

    def parts(self) -> Iterator[Size]:
        """The sizes that a sum, a product or a moved size is made of."""
        for factor in self.fixed.factors if self.fixed is not None else ():
            yield factor.root()
            yield from factor.root().parts()

    def same_fixed(self, other: Size) -> bool:
        return self.fixed is not None and self.fixed == other.fixed

    def is_same(self, other: Size) -> bool:
        """Whether both are known to be one size."""
        a, b = self.root(), other.root()
        return a is b or a.same_fixed(b)

    @property
    def is_one(self) -> bool:
        return (fixed := self.root().fixed) is not None and fixed.kind == "one"


@dataclass(frozen=True, slots=True)
class Point:
    """Coordinates by name of dimension, `REST` included."""

    at: tuple[tuple[str, Poly], ...]

    def __getitem__(self, dim: str) -> Poly:
        return dict(self.at)[dim]

    def moved(self, dim: str, to: Poly) -> Point:
        return Point(tuple((d, to if d == dim else p) for d, p in self.at))

    def without(self, dims: set[str]) -> tuple[tuple[str, Poly], ...]:
        return tuple((d, p) for d, p in self.at if d not in dims)


@dataclass(frozen=True, slots=True)
class Span:
    """A range of steps whose ends are at distances from the point, or given.

    It begins at 0 at the earliest unless ``free_start``, and ends with the dimension at the latest
    unless ``free_end``. Where both are free the ends are given as they are.
    """

    start: Poly
    end: Poly
    free_start: bool
    free_end: bool


@dataclass
class Setting:
    """What the variables of a rule stand for.

    - ``dims``: dimension variable -> dimension; ``numbers``, ``texts``: their values;
    - ``shapes``: sizes of tensor variables; ``lists``: sizes of shape variables; ``sizes``: of
      size variables;
    - ``avoids``: the dimensions that a tensor or an index variable does not depend on;
    - ``steady``: the dimensions along which a tensor or shape variable keeps its shape;
    - ``known``: variables with a known meaning: indices, slices, conditions, leaves, recurrences
      that are another one with a dimension as their first axis, and what a fold of nothing gives;
    - ``reshapes``: pairs of shapes with equally many elements;
    - ``truths``: tensors of truth values; ``bounded``: without infinities and NaN; ``filled``:
      sizes that are at least 1; ``values``: tensors filled with a number;
    - ``places``, ``extents``: coordinates and extents of which more is known, ``spans``: ranges
      that follow the point, ``offsets``: indices at a distance from it, and ``decided``:
      conditions, where a proof goes case by case;
    - ``bodies``: the definitions of recurrences; ``is_first``: whether the point is the first
      step of one, where a proof goes case by case;
    - ``orders``: permutations, where a proof goes order by order;
    - ``totals``: sizes that tiles make up, whose width is `WIDTH`.
    """

    dims: dict[str, str]
    numbers: dict[str, int] = field(default_factory=lambda: {})
    texts: dict[str, str] = field(default_factory=lambda: {})
    shapes: dict[str, list[Size]] = field(default_factory=lambda: {})
    lists: dict[str, list[Size]] = field(default_factory=lambda: {})
    sizes: dict[str, Size] = field(default_factory=lambda: {})
    avoids: dict[str, set[str]] = field(default_factory=lambda: {})
    known: dict[str, tuple[str, ...]] = field(default_factory=lambda: {})
    truths: set[str] = field(default_factory=lambda: set())
    bounded: set[str] = field(default_factory=lambda: set())
    filled: set[str] = field(default_factory=lambda: set())
    values: dict[str, Fraction] = field(default_factory=lambda: {})
    reshapes: list[tuple[tuple[Size, ...], tuple[Size, ...]]] = field(default_factory=lambda: [])
    bodies: dict[str, Tree] = field(default_factory=lambda: {})
    is_first: bool | None = None
    orders: dict[str, tuple[int, ...]] = field(default_factory=lambda: {})
    places: dict[str, Poly] = field(default_factory=lambda: {})
    extents: dict[str, Poly] = field(default_factory=lambda: {})
    spans: dict[str, Span] = field(default_factory=lambda: {})
    offsets: dict[str, Poly] = field(default_factory=lambda: {})
    decided: dict[str, bool] = field(default_factory=lambda: {})
    totals: dict[str, Poly] = field(default_factory=lambda: {})
    above_zero: set[str] = field(default_factory=lambda: set())
    moderate: set[str] = field(default_factory=lambda: set())
    masks: dict[str, tuple[int, tuple[str, ...]]] = field(
        default_factory=lambda: {}
    )  # a truth value, its axis, and the parts that it keeps
    unwrapped: set[str] = field(default_factory=lambda: set())
    inside: bool = False  # coordinates lie inside the box
    signs: bool = False  # zeros of either sign are two values
    frozen: bool = False  # the left side is read: sizes may no longer be taken as equal

    def __post_init__(self) -> None:
        self._count = 0

    def copied(self) -> Setting:
        """A setting that knows the same, and learns by itself what it is told from now on."""
        out, sizes = copy.copy(self), _Copies()
        for name, known in vars(self).items():
            if isinstance(known, dict | set):
                setattr(out, name, known.copy())  # of names, to what never changes
        out.avoids = {name: dims.copy() for name, dims in self.avoids.items()}
        out.shapes = {name: sizes.of_all(shape) for name, shape in self.shapes.items()}
        out.lists = {name: sizes.of_all(listed) for name, listed in self.lists.items()}
        out.sizes = {name: sizes.of(size) for name, size in self.sizes.items()}
        out.reshapes = [(sizes.of_each(a), sizes.of_each(b)) for a, b in self.reshapes]
        return out

    def twin_of(self, name: str) -> tuple[str, str] | None:
        """What a recurrence is with a dimension as its first axis, and the dimension."""
        match self.known.get(name):
            case ("batch", base, dim):
                return base, dim
            case _:
                return None

    def every_dim(self) -> tuple[str, ...]:
        return (*dict.fromkeys(self.dims.values()), REST)

    def point(self) -> Point:
        """The point at which both sides are compared."""
        at = ((d, self.places.get(d, poly(self._coordinate(d)))) for d in self.every_dim())
        return Point(tuple(at))

    def _coordinate(self, dim: str) -> Var:
        within = self.inside and dim != REST
        return Var(dim, self.extent(dim) if within else None)

    def fresh(self, size: Poly | None, name: str = "~") -> Var:
        """A variable no one else has; those of folds are called ~."""
        self._count += 1
        return Var(f"{name}{self._count}", size)

    def unify(self, a: Size, b: Size) -> None:
        """Take two sizes as equal.

        Errors: Conflict if they are known to differ; Misfit if they are not known to be equal
        once the left side is read.
        """
        x, y = a.root(), b.root()
        if x is y or x.same_fixed(y):
            return
        if self.frozen:
            left, right = (self.size(s, self.point()) for s in (x, y))
            if left != right:
                raise Misfit(f"a size is {left} and {right}")
            return
        if x.fixed is not None and y.fixed is not None:
            if self._surely_equal(x, y):
                return
            same = (x.fixed.kind, x.fixed.name) == (y.fixed.kind, y.fixed.name)
            if not same or len(x.fixed.factors) != len(y.fixed.factors):
                raise Conflict(f"{x.fixed} is not {y.fixed}")
            for f, g in zip(x.fixed.factors, y.fixed.factors, strict=True):
                self.unify(f, g)
        kept, gone = (x, y) if x.fixed is not None else (y, x)
        if gone in kept.parts():
            raise Conflict(f"{kept.fixed} is not a part of itself")
        kept.avoids |= gone.avoids
        gone.link = kept

    def _surely_equal(self, x: Size, y: Size) -> bool:
        """Whether the lengths of ranges along a dimension are known to be equal."""
        known = all(self._is_range(s) for s in (x, y))
        return known and self.size(x, self.point()) == self.size(y, self.point())

    def _is_range(self, size: Size) -> bool:
        match size.root().fixed:
            case Fixed("one" | "extent"):
                return True
            case Fixed("length", name):
                return self.known.get(name, ("",))[0] in STEPS
            case Fixed("plus", _, parts):
                return all(map(self._is_range, parts))
            case _:
                return False

    def keep(self, size: Size, dim: str) -> Size:
        """The size, which must be the same at every step of a dimension.

        Errors: Misfit if that is not known once the left side is read.
        """
        root = size.root()
        if root.fixed is not None and root.fixed.kind == "moved":
            read, _, index = root.fixed.name.partition(" ")
            if root.fixed.factors[0].root() is root:
                raise Unsupported(f"the size {root.name}, which is itself at another point")
            if self.may_vary(index, dim):
                self.keep(root.fixed.factors[0], read)
        if root.fixed is None and dim not in root.avoids:
            if self.frozen:
                raise Misfit(f"the size {root.name} changes along {dim}")
            root.avoids.add(dim)
        return size

    def size(self, size: Size, point: Point) -> Poly:
        """The value of a size at a point."""
        root = size.root()
        match root.fixed:
            case None:
                return self._function(root.name, root.avoids, point, int(self._is_filled(root)))
            case Fixed("one"):
                return poly(1)
            case Fixed("extent", dim):
                return self.extent(dim)
            case Fixed("length", name):
                return self.length(name, point)
            case Fixed("total", name):
                return self.totals[name]
            case Fixed("moved", read, (inner,)):
                dim, _, index = read.partition(" ")
                return self.size(inner, point.moved(dim, self.index(index, point)))
            case Fixed("plus", _, (first, second)):
                return self.size(first, point) + self.size(second, point)
            case Fixed(_, _, factors):
                total = poly(1)
                for factor in factors:
                    total = total * self.size(factor, point)
                return total

    def _is_filled(self, root: Size) -> bool:
        return any(n in self.sizes and self.sizes[n].root() is root for n in self.filled)

    def _function(self, name: str, avoids: set[str], point: Point, least: int = 1) -> Poly:
        coordinates = point.without(avoids)
        if not coordinates:
            return poly(Var(name, None, True, least))
        return poly(Apply(name, tuple(p for _, p in coordinates), True, least))

    def length(self, name: str, point: Point) -> Poly:
        """The number of indices of a slice."""
        match self.known.get(name):
            case (steps, dim) if steps in STEPS:
                lo, hi = STEPS[steps].ends(poly(0), point[dim], self.extent(dim))
                return hi - lo
            case ("span", dim):
                lo, hi = self._span(name, point, dim)
                return hi - lo
            case ("tile", dim, whole):
                return poly(Clip(self.totals[whole] - point[dim] * WIDTH, WIDTH))
            case ("piece", _, of):
                return self.length(of, point)
            case ("alone", _):
                return poly(1)
            case ("elsewhere", dim, of, index, cond):
                self._only_here(point)
                there = point.moved(dim, self.index(index, point))
                return self.length(of, there) if self.decided[cond] else poly(0)
            case ("cut", part):
                lo, hi = self._cut(name, part, point)
                return hi - lo
            case ("shifted", base, _):
                return self.length(base, point)
            case ("first part", size) | ("last part", _, size):
                return self.size(self.sizes.setdefault(size, Size(size)), point)
            case _:
                return self.size(self.open_length(name), point)

    def open_length(self, name: str) -> Size:
        """The length of a slice of which no fact says where it ends: a size to be found."""
        size = self.sizes.setdefault(f"|{name}|", Size(f"|{name}|"))
        size.root().avoids |= self.avoids.get(name, set())
        return size

    def index(self, name: str, point: Point) -> Poly:
        """The value of an index expression at a point; the names 0 and 1 mean these numbers."""
        if name in ("0", "1"):
            return poly(int(name))
        match self.known.get(name):
            case ("self", dim):
                return point[dim]
            case ("enters", part):
                steps, dim = self.known[part]
                first, behind = STEPS[steps].ends(poly(0), point[dim], self.extent(dim))
                return first if STEPS[steps].gains == "first" else behind - 1
            case ("moved", dim):
                return point[dim] + poly(Var(f"{name}.by"))
            case ("element", of, place):
                return self.element(of, point, self.index(place, point))
            case ("last", dim):
                return self.extent(dim) - 1
            case ("end of", size):
                return self.size(self.open_length(size), point) - 1
            case ("start of", _):
                return poly(0)
            case ("offset", dim):
                return point[dim] + self.offsets[name]
            case (("next step" | "step before") as what, dim):
                return point[dim] + (1 if what == "next step" else -1)
            case _:
                coordinates = point.without(self.avoids.get(name, set()))
                return poly(Apply(name, tuple(p for _, p in coordinates)))

    def kept(self, part: str, point: Point) -> tuple[Poly, Poly]:
        """The first position of a part that a mask keeps, and the one behind the last."""
        name, before = self.known[part]
        if name in STEPS:
            return STEPS[name].ends(poly(0), point[before], self.extent(before))
        first = self.size(self.sizes[f"{part} before"], point)
        if before:
            first = first + self.kept(before, point)[1]
        return first, first + self.length(part, point)

    def extent(self, dim: str) -> Poly:
        """The number of points of a dimension."""
        return self.extents.get(dim, poly(Var(dim.upper(), None, True)))

    def _span(self, name: str, point: Point, dim: str) -> tuple[Poly, Poly]:
        """First index and end of a range that follows the point."""
        span = self.spans[name]
        if span.free_start and span.free_end:
            self._only_here(point)
            return span.start, span.end
        lo, hi = point[dim] + span.start, point[dim] + span.end
        low = lo if span.free_start else greater(lo, poly(0))
        return low, hi if span.free_end else -greater(-hi, -self.extent(dim))

    def _only_here(self, point: Point) -> None:
        """What a case gives is known at the point of the proof only."""
        if point != self.point():
            raise Unsupported("an index or a range at another point than that of the proof")

    def _cut(self, name: str, part: str, point: Point) -> tuple[Poly, Poly]:
        """First index and end of a slice, or of its part below or above the cut inside it."""
        avoids = self.avoids.get(name, set())
        below = self._function("below", avoids, point) - 1
        above = self._function("above", avoids, point) - 1
        lo, hi = CUT - below, CUT + above
        return (lo, hi) if part == "whole" else (lo, CUT) if part == "low" else (CUT, hi)

    def holds(self, test: Unknown) -> bool | None:
        """Whether a condition holds at the point of a proof, if its case decides that."""
        known = self.known.get(test.name)
        if known is not None and known[0] == "only":
            is_here = dict(test.coordinates)[known[1]] == self.places.get(known[1])
            return self.is_first if is_here else None
        if test.coordinates != self.point().without(self.avoids.get(test.name, set())):
            return None
        return self.decided.get(test.name)

    def may_vary(self, name: str, dim: str) -> bool:
        """Whether an index expression may depend on a dimension."""
        known = self.known.get(name)
        if known and known[0] != "element":
            return known[1] == dim
        return dim not in self.avoids.get(name, set())

    def element(self, name: str, point: Point, i: Poly) -> Poly:
        """Index number ``i`` of a slice."""
        match self.known.get(name):
            case (steps, dim) if steps in STEPS:
                return STEPS[steps].ends(poly(0), point[dim], self.extent(dim))[0] + i
            case ("start" | "first part", _):
                return i
            case ("last part", before, _):
                return self.size(self.sizes.setdefault(before, Size(before)), point) + i
            case ("cut", part):
                return self._cut(name, part, point)[0] + i
            case ("tile", dim, _):
                return point[dim] * WIDTH + i
            case ("piece", base, of):
                return self.element(base, point, self.element(of, point, i))
            case ("alone", index):
                return self.index(index, point) + i
            case ("elsewhere", dim, of, index, _):
                return self.element(of, point.moved(dim, self.index(index, point)), i)
            case ("span", dim):
                return self._span(name, point, dim)[0] + i
            case ("kept", _):
                return self.kept(name, point)[0] + i
            case ("starts", _):
                coordinates = point.without(self.avoids.get(name, set()))
                return poly(Apply(f"{name}.lo", tuple(p for _, p in coordinates))) + i
            case ("shifted", base, by):
                return self.element(base, point, i) + poly(Var(f"{by}.by"))
            case _:
                coordinates = point.without(self.avoids.get(name, set()))
                first = Apply(f"{name}.lo", tuple(p for _, p in coordinates))
                return poly(first) + i * poly(Var(f"{name}.step", None, True))


class _Copies:
    """The sizes of a copy: one for each of the setting that is copied."""

    def __init__(self) -> None:
        self._made: dict[Size, Size] = {}

    def of(self, size: Size) -> Size:
        made = self._made.get(size)
        if made is None:
            made = self._made[size] = Size(size.name, size.avoids.copy(), size.fixed)
            if size.link is not None:
                made.link = self.of(size.link)
            if size.fixed is not None and size.fixed.factors:
                made.fixed = replace(size.fixed, factors=self.of_each(size.fixed.factors))
        return made

    def of_all(self, sizes: list[Size]) -> list[Size]:
        return [self.of(size) for size in sizes]

    def of_each(self, sizes: tuple[Size, ...]) -> tuple[Size, ...]:
        return tuple(map(self.of, sizes))


def greater(a: Poly, b: Poly) -> Poly:
    """The greater of two integers.

    Errors: Unsupported where ranges do not decide.
    """
    if never_negative(a - b):
        return a
    if never_negative(b - a):
        return b
    raise Unsupported(f"the greater of {a} and {b}")


def one() -> Size:
    """The size of an axis that broadcasts."""
    return Size("1", fixed=Fixed("one"))
