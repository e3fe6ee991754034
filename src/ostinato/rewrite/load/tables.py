"""What loading finds: rows, and index expressions, slices and conditions as ids.

The e-graph computes with ids only. What it may ask about them (dimension masks, shifts by a
constant, lengths) is written down here as rows of functions when the program is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.condition import ALWAYS, Compare, Cond, Every, Negation, Some
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr
from ostinato.pdg.node import Affine, Iota, Node, Pdg
from ostinato.pdg.separate import loops_of
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.components import Chain, Vertex
from ostinato.rewrite.relations.meanings import result_types

Attribute = Expr | Slice | Cond | tuple[int, ...] | tuple[tuple[Dim, Index], ...]


def _dims(attribute: Attribute) -> frozenset[Dim]:
    return frozenset() if isinstance(attribute, tuple) else attribute.dims


@dataclass
class Tables:
    """Ids of everything the e-graph refers to, growing while a program is loaded.

    Rules may name two of them: 0 is the index 0 and 1 is the index (and size) 1.
    """

    dims: tuple[Dim, ...]
    nest: dict[int, int] = field(
        default_factory=dict[int, int]
    )  # dimension bit -> place, 0 outermost
    attributes: list[Attribute] = field(default_factory=list[Attribute])
    leaves: list[Node] = field(default_factory=list[Node])
    recs: list[Recurrence] = field(default_factory=lambda: list[Recurrence]())
    _ids: dict[Attribute, int] = field(default_factory=dict[Attribute, int])

    def __post_init__(self) -> None:
        assert (self.id(expr(0)), self.id(expr(1))) == (0, 1), "rules name the indices 0 and 1"

    def bit(self, dim: Dim) -> int:
        return 1 << self.dims.index(dim)

    def mask(self, dims: Iterable[Dim]) -> int:
        return sum(self.bit(d) for d in set(dims))

    def dims_in(self, mask: int) -> tuple[Dim, ...]:
        """The dimensions of a mask in declaration order."""
        return tuple(d for k, d in enumerate(self.dims) if mask >> k & 1)

    def id(self, attribute: Attribute) -> int:
        """The id of an attribute; equal attributes share it."""
        found = self._ids.get(attribute)
        if found is None:
            found = self._ids[attribute] = len(self.attributes)
            self.attributes.append(attribute)
        return found

    def index(self, number: int) -> Index:
        found = self.attributes[number]
        assert isinstance(found, Expr | Slice), f"{found} is no index"
        return found

    def expr(self, number: int) -> Expr:
        found = self.attributes[number]
        assert isinstance(found, Expr), f"{found} is no index expression"
        return found

    def condition(self, number: int) -> Cond:
        found = self.attributes[number]
        assert isinstance(found, Compare | Every | Some | Negation), f"{found} is no condition"
        return found

    def permutation(self, number: int) -> tuple[int, ...]:
        found = self.attributes[number]
        assert isinstance(found, tuple), f"{found} is no permutation"
        return tuple(p for p in found if isinstance(p, int))

    def reading(self, number: int) -> tuple[tuple[Dim, Index], ...]:
        """The substitutions of a read that is not a sequence of single ones."""
        found = self.attributes[number]
        assert isinstance(found, tuple), f"{found} is no read"
        return tuple(p for p in found if isinstance(p, tuple))

    def masks(self) -> list[int]:
        """The dimension mask of every attribute."""
        return [self.mask(_dims(a)) for a in self.attributes]


More = Callable[[Tables, int], dict[str, list[Row]]]


@dataclass(frozen=True)
class Recurrence:
    """A recurrent tensor of the program, or its form with some dimensions as leading axes."""

    name: str
    node: Node
    axes: tuple[Dim, ...] = ()  # outermost first


def rows(tables: Tables, more: More | None = None) -> dict[str, list[Row]]:
    """What the e-graph may ask about the tables; adds the shifted slices that can arise.

    ``more`` gives further rows about the attributes that are there at first.
    """
    own = len(tables.attributes)
    for dim in tables.dims:
        tables.id(expr(dim))
        tables.id(dim.whole)
    shifts = _shift_rows(tables)
    both = _both_rows(tables)
    low, high = _split_rows(tables)
    further = more(tables, own) if more else {}
    for attribute in list(tables.attributes):
        if isinstance(attribute, Slice):
            tables.id(attribute.size)
    slices = [(k, a) for k, a in enumerate(tables.attributes) if isinstance(a, Slice)]
    return {
        "mask": [(k, tables.mask(_dims(a))) for k, a in enumerate(tables.attributes)],
        "full": [(tables.bit(d), tables.id(d.whole)) for d in tables.dims],
        "self": [(tables.bit(d), tables.id(expr(d))) for d in tables.dims],
        "length": [(k, tables.id(a.size)) for k, a in slices],
        "growing": [(k,) for k, a in slices if _dims(a)],
        "follows": [(tables.bit(d), k) for k, a in slices for d in _ordered(a)],
        "from_zero": [
            (tables.bit(d), k) for k, a in slices if a.lo == expr(0) for d in _ordered(a)
        ],
        "real_cast": [("cast:float32",), ("cast:float64",)],
        "arithmetic": [("add",), ("sub",), ("mul",), ("div",)],
        "keeps_type": [(fn,) for fn, made in result_types().items() if not made],
        "makes": [(fn, made) for fn, made in result_types().items() if made],
        "shifted": shifts,
        "both": both,
        "everywhere": [(k,) for k, a in enumerate(tables.attributes) if a == ALWAYS],
        "pins": _pin_rows(tables),
        "holds_low": low,
        "holds_high": high,
        "raw_filled": [(k,) for k, a in enumerate(tables.attributes) if _is_filled(a)],
        **_leaf_rows(tables, slices),
        **_inside_rows(tables, slices),
        **further,
    }


def _is_filled(attribute: Attribute) -> bool:
    """Whether a size is at least 1 at all points of the box."""
    return isinstance(attribute, Expr) and is_never_negative(attribute - 1)


def _leaf_rows(tables: Tables, slices: Sequence[tuple[int, Slice]]) -> dict[str, list[Row]]:
    """What leaves count, and those that are the index of a dimension, or where a slice begins."""
    leaves = [(k, leaf.op) for k, leaf in enumerate(tables.leaves)]
    indices = [(k, op.of) for k, op in leaves if isinstance(op, Affine)]
    return {
        "counts": [(k, tables.id(op.size)) for k, op in leaves if isinstance(op, Iota)],
        "here": [(k, tables.bit(d)) for k, of in indices if (d := of.as_dim()) is not None],
        "starts": [
            (tables.bit(d), k, leaf)
            for leaf, of in indices
            for k, part in slices
            if part.lo == of and part.step == 1
            for d in _ordered(part)
        ],
    }


def _ordered(part: Slice) -> list[Dim]:
    """The dimensions that a slice follows."""
    return sorted(_dims(part), key=lambda d: d.serial)


def _inside_rows(tables: Tables, slices: Sequence[tuple[int, Slice]]) -> dict[str, list[Row]]:
    """Slices that are proper parts of a dimension, and those inside it."""
    full = [(tables.bit(d), d.whole) for d in tables.dims]
    within = [(bit, k) for bit, whole in full for k, a in slices if _within(a, whole)]
    whole = [(bit, tables.id(whole)) for bit, whole in full]
    begun = [(bit, k) for bit, _ in full for k, a in slices if a.lo == expr(0) and not _dims(a)]
    return {"within": list[Row](within), "box": [*within, *whole], "start": list[Row](begun)}


def _within(part: Slice, whole: Slice) -> bool:
    """Whether a slice is proved to be a proper part of another, never inverted."""
    gaps = (part.lo - whole.lo, whole.hi - part.hi, part.hi - part.lo)
    return part != whole and all(map(is_never_negative, gaps))


def _shift_rows(tables: Tables) -> list[Row]:
    """Slices of a dimension moved by the constant offsets the program reads it at."""
    out: list[Row] = []
    offsets: dict[Dim, list[tuple[int, int]]] = {}
    for k, attribute in enumerate(tables.attributes):
        dim = _offset_of(attribute)
        if isinstance(attribute, Expr) and dim is not None and attribute.const:
            offsets.setdefault(dim, []).append((k, attribute.const))
    for dim, moves in offsets.items():
        for known in [a for a in tables.attributes if isinstance(a, Slice)]:
            for k, move in moves:
                moved = Slice(known.lo + move, known.hi + move, known.step)
                out.append((tables.bit(dim), tables.id(known), k, tables.id(moved)))
    return out


def _offset_of(attribute: Attribute) -> Dim | None:
    """The dimension ``d`` of an index ``d + constant``."""
    return (attribute - attribute.const).as_dim() if isinstance(attribute, Expr) else None


def nest_order(
    dims: Sequence[Dim], carried: Container[Dim], split: Container[Dim]
) -> tuple[Dim, ...]:
    """Dimensions as vector axes nest, outermost first.

    Those that carry a recurrence lead, then those that conditions split: the others vectorise more
    often, and an axis can only be outside one that exists.
    """
    return tuple(sorted(dims, key=lambda d: (d not in carried, d not in split, d.serial)))


def _split_rows(tables: Tables) -> tuple[list[Row], list[Row]]:
    """Slices that a condition on one dimension cuts in two: where it holds low, and high."""
    low: list[Row] = []
    high: list[Row] = []
    done: set[tuple[int, int]] = set()
    for _ in range(2):  # a conjunction of two cuts a part again
        slices = [(k, a) for k, a in enumerate(tables.attributes) if isinstance(a, Slice)]
        conds = [(k, a) for k, a in enumerate(tables.attributes) if isinstance(a, Compare)]
        for c, cond in conds:
            found = threshold(cond)
            for s, part in slices if found else ():
                assert found is not None, "a condition without a threshold cuts nothing"
                dim, at, holds_low = found
                gaps = (at - part.lo, part.hi - at)
                if (c, s) in done or part.step != 1 or not all(map(is_never_negative, gaps)):
                    continue
                done.add((c, s))
                parts = tables.id(Slice(part.lo, at)), tables.id(Slice(at, part.hi))
                (low if holds_low else high).append((c, tables.bit(dim), s, *parts))
    return low, high


def threshold(cond: Compare) -> tuple[Dim, Expr, bool] | None:
    """The dimension, the first index above the cut, and whether the condition holds below it."""
    dims = cond.of.dims
    dim = next(iter(dims)) if len(dims) == 1 else None
    slope = dict(cond.of.terms).get(dim) if dim else None
    if dim is None or slope not in (1, -1):
        return None
    bound = (cond.of - expr(dim) * slope) * -slope
    if cond.kind == "ge":
        return (dim, bound, False) if slope == 1 else (dim, bound + 1, True)
    if bound == expr(0):
        return dim, expr(1), True
    return (dim, bound, False) if bound == expr(dim.extent) - 1 else None


def _pin_rows(tables: Tables) -> list[Row]:
    """Conditions that hold at one point of a dimension, and its index."""
    out: list[Row] = []
    for k, cond in enumerate(list(tables.attributes)):
        if not isinstance(cond, Compare) or cond.kind != "eq":
            continue
        for atom, slope in cond.of.terms:
            if isinstance(atom, Dim) and slope in (1, -1):
                at = expr(atom) - cond.of * slope
                if atom not in at.dims:
                    out.append((k, tables.bit(atom), tables.id(at)))
    return out


def _both_rows(tables: Tables) -> list[Row]:
    """Conjunctions of two conditions, and those."""
    return [
        (k, *map(tables.id, a.of))
        for k, a in enumerate(list(tables.attributes))
        if isinstance(a, Every) and len(a.of) == 2
    ]


@dataclass
class Loaded:
    """The rows of a program and the meaning of the ids in them.

    ``definitions`` gives the condition of every case of a recurrence, by recurrence id;
    ``twins`` the ids of a recurrence with more and more of its dimensions as axes. The points of a
    dimension of ``separate`` have nothing in common.
    """

    pdg: Pdg
    tables: Tables
    chains: dict[Vertex, Chain]
    carried: dict[Dim, int]  # the recurrences (bits, as in `reaches`) that a dimension carries
    partial: dict[Node, frozenset[Dim]]
    separate: tuple[Dim, ...] = ()
    ids: dict[Node, int] = field(default_factory=dict[Node, int])
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    twins: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    _shapes: dict[tuple[Expr, ...], int] = field(default_factory=dict[tuple[Expr, ...], int])
    _fresh: int = 0

    @property
    def loops(self) -> frozenset[Dim]:
        """What never becomes an axis."""
        return frozenset(loops_of(self.separate))

    def row(self, relation: str, *cells: int | str) -> None:
        self.rows.setdefault(relation, []).append(cells)

    @property
    def count(self) -> int:
        """How many ids nodes have."""
        return self._fresh

    def fresh(self) -> int:
        self._fresh += 1
        return self._fresh - 1

    def shape(self, sizes: tuple[Expr, ...]) -> int:
        """The id of a shape, whose rows are added with those of its tail."""
        found = self._shapes.get(sizes)
        if found is None:
            tail = self.shape(sizes[1:]) if sizes else 0
            found = self._shapes[sizes] = len(self._shapes)
            if sizes:
                self.row("raw_cons", found, self.tables.id(sizes[0]), tail)
            else:
                self.row("raw_nil", found)
        return found
