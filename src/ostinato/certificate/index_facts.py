"""What rules may ask about index expressions, slices and conditions, computed anew.

Each relation of the language is a predicate here, decided from its meaning alone; nothing is taken
from a certificate. Those that say nothing a rule relies on (``live``) may hold anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.condition import ALWAYS, Compare, Cond, Every
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import Cut, Listed, Moves, Repeats, Steps, result_types

Attribute = Expr | Slice | Cond | tuple[int, ...] | tuple[tuple[Dim, Index], ...]


@dataclass
class Numbers:
    """Numbers of attributes and bits of dimensions; 0 and 1 are the expressions 0 and 1.

    ``asked`` are sizes of axes with an index that a program asks of them.
    """

    dims: tuple[Dim, ...]
    known: dict[Attribute, int] = field(default_factory=dict[Attribute, int])
    asked: dict[tuple[Expr, Expr], None] = field(default_factory=dict[tuple[Expr, Expr], None])

    def __post_init__(self) -> None:
        for n in (0, 1):
            self.of(expr(n))
        for dim in self.dims:
            self.of(expr(dim))
            self.of(dim.whole)

    def of(self, attribute: Attribute) -> int:
        return self.known.setdefault(attribute, len(self.known))

    def bit(self, dim: Dim) -> int:
        return 1 << self.dims.index(dim)

    def mask(self, dims: Iterable[Dim]) -> int:
        return sum({self.bit(d) for d in dims})

    def slices(self) -> list[Slice]:
        return [a for a in self.known if isinstance(a, Slice)]


def mentioned(attribute: Attribute) -> frozenset[Dim]:
    """The dimensions that the value of an attribute varies with."""
    return frozenset() if isinstance(attribute, tuple) else attribute.dims


Ranges = Mapping[str, Callable[["Numbers"], list[Row]]]


def attribute_rows(
    numbers: Numbers, counters: Sequence[tuple[int, Expr]], ranges: Ranges
) -> dict[str, list[Row]]:
    """All facts about the attributes; the slices that they speak of become attributes too.

    ``counters`` are the leaves ``0 .. size - 1`` by number, ``ranges`` the relations of
    `ostinato.certificate.range_facts`.
    """
    out: dict[str, list[Row]] = {"shifted": _shifted(numbers)}
    for _ in range(2):  # a conjunction of two conditions cuts a part again
        for relation, rows in _CUTS.items():
            out[relation] = list(dict.fromkeys([*out.get(relation, ()), *rows(numbers)]))
    out["shifted"] = list(dict.fromkeys([*out["shifted"], *_shifted(numbers)]))  # parts move too
    out |= {relation: rows(numbers) for relation, rows in ranges.items()}
    for part in numbers.slices():
        numbers.of(part.size)
    for relation, rows in _PLAIN.items():
        out[relation] = rows(numbers)
    out["counts"] = [(leaf, numbers.of(size)) for leaf, size in counters]
    out |= {name: list(claim.pairs.items()) for name, claim in saying(Repeats).items()}
    out |= {name: list(claim.rows) for name, claim in saying(Listed).items()}
    out["real_cast"] = [("cast:float32",), ("cast:float64",)]
    out["arithmetic"] = [(fn,) for fn in ("add", "sub", "mul", "div")]
    out["keeps_type"] = [(fn,) for fn, made in result_types().items() if not made]
    out["makes"] = [(fn, made) for fn, made in result_types().items() if made]
    whole = [(k, a) for a, k in numbers.known.items() if isinstance(a, Expr)]
    out["raw_filled"] = [(k,) for k, size in whole if is_never_negative(size - 1)]
    out["mask"] = [(k, numbers.mask(mentioned(a))) for a, k in numbers.known.items()]
    return out


def _shifted(numbers: Numbers) -> list[Row]:
    """``shifted d s a = q``: slice q is s read at index ``a = d + constant``."""
    out: list[Row] = []
    moves = [(d, a - d) for a in numbers.known if isinstance(a, Expr) for d in a.dims]
    for dim, by in moves:
        if not by.is_const or by.const == 0:
            continue
        for part in numbers.slices():
            moved = Slice(part.lo + by, part.hi + by, part.step)
            at = numbers.of(expr(dim) + by)
            out.append((numbers.bit(dim), numbers.of(part), at, numbers.of(moved)))
    return out


def _cuts(below: bool) -> Callable[[Numbers], list[Row]]:
    """Conditions on one dimension that hold for the lower, or the upper, part of a slice."""

    def rows(numbers: Numbers) -> list[Row]:
        out: list[Row] = []
        for cond in [a for a in numbers.known if isinstance(a, Compare)]:
            found = threshold(cond)
            if found is None or found[2] != below:
                continue
            dim, at, _ = found
            for s in numbers.slices():
                if dim in s.lo.dims & s.hi.dims:
                    continue  # a window that moves with the point lies on either side
                if s.step == 1 and all(map(is_never_negative, (at - s.lo, s.hi - at))):
                    parts = numbers.of(Slice(s.lo, at)), numbers.of(Slice(at, s.hi))
                    out.append((numbers.of(cond), numbers.bit(dim), numbers.of(s), *parts))
        return out

    return rows


def threshold(cond: Compare) -> tuple[Dim, Expr, bool] | None:
    """The dimension, the first index of the upper part, and whether the lower one satisfies."""
    dims = sorted(cond.of.dims, key=lambda d: d.serial)
    slope = dict(cond.of.terms).get(dims[0], 0) if len(dims) == 1 else 0
    if slope not in (1, -1):
        return None
    (dim,) = dims
    edge = (cond.of - expr(dim) * slope) * -slope
    if edge.dims:
        return None
    if cond.kind == "ge":
        return (dim, edge, False) if slope == 1 else (dim, edge + 1, True)
    if edge == expr(0):
        return dim, expr(1), True
    return (dim, edge, False) if edge == expr(dim.extent) - 1 else None


def _both(numbers: Numbers) -> list[Row]:
    return [
        (numbers.of(a), numbers.of(a.of[0]), numbers.of(a.of[1]))
        for a in list(numbers.known)
        if isinstance(a, Every) and len(a.of) == 2
    ]


def _equal_to(steps: Steps) -> Callable[[Numbers], list[Row]]:
    """A dimension and the slice of these steps of it, where it is known."""

    def rows(numbers: Numbers) -> list[Row]:
        made = [(d, Slice(*steps.ends(expr(0), expr(d), expr(d.extent)))) for d in numbers.dims]
        return [(numbers.bit(d), numbers.known[s]) for d, s in made if s in numbers.known]

    return rows


def _within(numbers: Numbers) -> list[Row]:
    """Slices that are a proper part of their dimension."""
    return [
        (numbers.bit(d), numbers.of(s))
        for d in numbers.dims
        for s in numbers.slices()
        if s != d.whole and all(map(is_never_negative, (s.lo, expr(d.extent) - s.hi, s.hi - s.lo)))
    ]


def _box(numbers: Numbers) -> list[Row]:
    """Slices that lie inside their dimension."""
    return [*_within(numbers), *((numbers.bit(d), numbers.of(d.whole)) for d in numbers.dims)]


def _halves(numbers: Numbers) -> list[Row]:
    """Slices that follow each other from 0 on, after their sizes."""
    parts = [s for s in numbers.slices() if s.step == 1]
    begun = [s for s in parts if s.lo == expr(0)]
    following: dict[Expr, list[Slice]] = {}
    for part in parts:  # by where they begin: pairs of all parts are far too many to look through
        following.setdefault(part.lo, []).append(part)
    out: list[Row] = []
    for first in begun:
        for last in following.get(first.hi, ()):
            sizes = first.size, last.size, first.size + last.size
            out.append((*map(numbers.of, sizes), numbers.of(first), numbers.of(last)))
    return out


def _pins(numbers: Numbers) -> list[Row]:
    """Conditions that fix a dimension, and the index that they fix it to."""
    out: list[Row] = []
    for cond in [a for a in numbers.known if isinstance(a, Compare) and a.kind == "eq"]:
        for dim in cond.of.dims:
            slope = dict(cond.of.terms).get(dim, 0)
            index = expr(dim) - cond.of * slope
            if slope in (1, -1) and dim not in index.dims:
                out.append((numbers.of(cond), numbers.bit(dim), numbers.of(index)))
    return out


def _around(counts: range) -> Callable[[Numbers], list[Row]]:
    """Where an axis goes in a permutation, and the permutation of the other axes if any is left."""

    def rows(numbers: Numbers) -> list[Row]:
        out: list[Row] = []
        orders = [order for order in numbers.known if _axes(order)]
        for order in orders:  # and those that are left of them
            axes = _axes(order)
            for p in range(1, len(axes) + 1):
                others = sorted(a for a in axes if a != -p)
                moved = [others.index(a) - len(others) for a in axes if a != -p]
                fixed = next((j for j, a in enumerate(moved) if a != j - len(moved)), len(moved))
                left = tuple(moved[fixed:])
                if len(left) in counts:
                    if len(left) > 2 and left not in orders:
                        orders.append(left)
                    rest = (numbers.of(left),) if len(left) > 2 else ()
                    out.append((numbers.of(order), p, len(axes) - axes.index(-p), *rest))
        return out

    return rows


def _axes(attribute: Attribute) -> tuple[int, ...]:
    """The axes of a permutation; none for anything else."""
    found = attribute if isinstance(attribute, tuple) else ()
    return tuple(a for a in found if isinstance(a, int))


def _following_where(is_kind: Callable[[Slice], bool]) -> Callable[[Numbers], list[Row]]:
    """Slices of a kind, and the dimensions that their ends vary with."""
    return lambda numbers: [
        (numbers.bit(d), numbers.of(s))
        for s in numbers.slices()
        for d in numbers.dims
        if d in mentioned(s) and is_kind(s)
    ]


def _start(numbers: Numbers) -> list[Row]:
    """Slices of steps from 0 on, as many at every point."""
    begun = [s for s in numbers.slices() if s.lo == expr(0) and not mentioned(s)]
    return [(numbers.bit(d), numbers.of(s)) for d in numbers.dims for s in begun]


_CUTS: dict[str, Callable[[Numbers], list[Row]]] = {
    "both": _both,
    **{name: _cuts(cut.side == "below") for name, cut in saying(Cut).items()},
}
_PLAIN: dict[str, Callable[[Numbers], list[Row]]] = {
    **{name: _equal_to(steps) for name, steps in saying(Steps).items()},
    **{name: _around(moves.others) for name, moves in saying(Moves).items()},
    "everywhere": lambda numbers: [(k,) for a, k in numbers.known.items() if a == ALWAYS],
    "self": lambda numbers: [(numbers.bit(d), numbers.of(expr(d))) for d in numbers.dims],
    "length": lambda numbers: [(numbers.of(s), numbers.of(s.size)) for s in numbers.slices()],
    "growing": lambda numbers: [(numbers.of(s),) for s in numbers.slices() if mentioned(s)],
    "begins": lambda numbers: [
        (numbers.bit(d), numbers.of(s))
        for d in numbers.dims
        for s in numbers.slices()
        if s.lo == expr(d) and s.hi != expr(d.extent)
    ],
    "within": _within,
    "box": _box,
    "pins": _pins,
    "halves": _halves,
    "start": _start,
    "follows": _following_where(lambda part: True),
    "from_zero": _following_where(lambda part: part.lo == expr(0)),
}
