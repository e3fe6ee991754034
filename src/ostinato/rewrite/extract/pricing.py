"""What an operator costs: times by kind, from its work and a profile of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ostinato.machine.cost_model import MEDIUM, WIDE, CostModel
from ostinato.machine.profile import Profile
from ostinato.pdg.node import Random
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.sizes import Shape, Sizes


@dataclass(frozen=True, slots=True)
class Cost:
    """Nanoseconds of a whole run on one core, by what takes them; the time is their sum.

    - ``starts``: loops and matrix products that begin, and reads of another loop's values;
    - ``arithmetic``: elementwise operations, folds, draws and functions of whole axes;
    - ``products``: multiply-adds of matrix products;
    - ``traffic``: operands and results of matrix products, which lie in memory;
    - ``serial``: steps that wait for the one before.
    """

    starts: float = 0.0
    arithmetic: float = 0.0
    products: float = 0.0
    traffic: float = 0.0
    serial: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.starts + other.starts,
            self.arithmetic + other.arithmetic,
            self.products + other.products,
            self.traffic + other.traffic,
            self.serial + other.serial,
        )

    @property
    def total(self) -> float:
        return self.starts + self.arithmetic + self.products + self.traffic + self.serial


TILED = 4.0  # how much dearer operators of tiles are: their loops are short, which schedules tell
VIEW_NS = 1e-3  # keeps every choice strictly cheaper than itself in a circle
FEW = 16  # elements per row up to which rows are neighbours in memory
MOST = 8  # rows and columns that a product is charged for besides its own: they fill vectors badly
MOVES = frozenset(("mv", "perm"))  # avoided where another view does
VIEWS = frozenset(("tr", "mv", "perm", "reshape", "bcast", "part", "cut", "at", "look", "case"))


def _inlined(graph: EGraph) -> set[int]:
    """Classes that are views of inputs, literals or draws: nothing needs to be stored for them."""
    return {*_moved_from(graph, "leaf", VIEWS | {"sl"})}


def _moved_from(graph: EGraph, op: str, moves: frozenset[str]) -> dict[int, int]:
    """Classes that only move elements of what an operator gives, each with the class of that."""
    readers: dict[int, list[int]] = {}
    found: dict[int, int] = {}
    for cls, nodes in graph.classes.items():
        for node in nodes:
            if node.op == op:
                found[cls] = cls
            elif node.op in moves and len(node.kids) == 1:
                readers.setdefault(node.kids[0], []).append(cls)
    pending = list(found)
    while pending:
        cls = pending.pop()
        fresh = [reader for reader in readers.get(cls, ()) if reader not in found]
        found |= dict.fromkeys(fresh, found[cls])
        pending += fresh
    return found


def _rows(graph: EGraph, tiles: frozenset[int]) -> frozenset[int]:
    """Classes along whose ranges there may be tiles instead."""
    cuts = (n for nodes in graph.classes.values() for n in nodes if n.op == "cut")
    return frozenset(n.kids[0] for n in cuts if int(n.fields[1]) in tiles)


class Pricing:
    """The cost of every e-node over a whole run, at typical sizes."""

    def __init__(self, graph: EGraph, sizes: Sizes, profile: Profile) -> None:
        self._graph, self._sizes, self._cost = graph, sizes, CostModel(profile)
        self._inlined = _inlined(graph)
        self._carried = _moved_from(graph, "rec", VIEWS | {"sl"})
        self._rows = _rows(graph, sizes.tiles) if sizes.tiles else frozenset[int]()
        self._tiles = sizes.tiled
        self._numels: dict[int, int] = {}

    def row(self, cls: int, node: ENode) -> tuple[float, float]:
        """At how many points a row of a long range is computed or read, and its bytes.

        A row that could be computed in tiles lies in memory as a whole.
        """
        if not self._rows or node.op in VIEWS or node.op in ("sl", "leaf", "rec"):
            return 0.0, 0.0
        rows = [c for c in (cls, *node.kids) if c in self._rows]
        numel = max(map(self._numel, rows), default=0)
        return self._trips(cls) if rows else 0.0, self._item(cls) * numel

    def longest_row(self) -> float:
        """The bytes of the longest scores that could be computed in tiles, or 0."""
        nodes = (n for found in self._graph.classes.values() for n in found)
        greatest = (n.kids[0] for n in nodes if n.op == "red" and n.fields[:2] == ("max", 1))
        scores = self._rows.intersection(greatest)
        return max((self._item(cls) * self._numel(cls) for cls in scores), default=0.0)

    def price(self, cls: int, node: ENode) -> float:
        """What a choice weighs; tiles have to be worth it by more than predictions are."""
        return self.time(cls, node) * (TILED if self._graph.dom[cls] & self._tiles else 1.0)

    def time(self, cls: int, node: ENode) -> float:
        """Predicted nanoseconds of a whole run."""
        views = 5 if node.op in MOVES or self._is_crossed(node) else 1
        return self.cost(cls, node).total + views * VIEW_NS

    def _is_crossed(self, node: ENode) -> bool:
        """Whether a slice puts an axis outside one that belongs outside it."""
        if node.op != "sl":
            return False
        nest = self._sizes.tables.nest
        place = nest[int(node.fields[0])]
        inner = (n for n in self._graph.classes[node.kids[0]] if n.op == "sl")
        return any(nest[int(n.fields[0])] < place for n in inner)

    def cost(self, cls: int, node: ENode) -> Cost:
        """The work of one e-node, operands excluded."""
        profile, trips = self._cost.profile, self._trips(cls)
        op, f = node.op, node.fields
        if op == "leaf":
            return self._leaf(cls, int(f[0]), trips)
        if op in ("sl", "part", "at"):
            return self._fetched(cls, node)
        if op == "rec" or op in VIEWS:
            return Cost()
        once = Cost(starts=trips * profile.leaf_ns)
        if op.startswith("host"):
            return once
        if op == "mm":
            return once + self._product(cls, node, trips)
        steps = trips * self._cost.wide(self._dtype(cls))
        out = self._padded(self._numel(cls))
        if op in ("running", "lin"):
            steps *= 2 * out * self._cost.element_ns()
            return once + Cost(arithmetic=steps, serial=trips * profile.serial_ns)
        if op == "red":
            return once + Cost(arithmetic=steps * self._fold(node))
        if op in ("along1", "along2"):
            return once + Cost(arithmetic=steps * self._whole_axis(cls, node))
        fn = "add" if op in ("gather", "cat") else str(f[0])
        return once + Cost(arithmetic=steps * out * self._cost.element_ns(fn))

    def _fold(self, node: ENode) -> float:
        """Elements go one after the other, unless rows are neighbours and are added as vectors."""
        shape = self._shape(node.kids[0])
        elements = math.prod(shape)
        is_last = bool(int(node.fields[1]) & 1) and shape[-1] > 1
        if is_last and (shape[-1] > FEW or elements < self._cost.lanes("float32") * shape[-1]):
            return elements * self._cost.profile.fold_ns
        return self._padded(elements) * self._cost.element_ns()

    def _trips(self, cls: int) -> float:
        """At how many points a value is computed by itself."""
        return float(self._sizes.trips(self._graph.dom[cls] & ~self._sizes.loops))

    def _shape(self, cls: int) -> Shape:
        """The shape of a value, behind the number of its points that are computed side by side."""
        beside = self._sizes.trips(self._graph.dom[cls] & self._sizes.loops)
        return (beside, *self._sizes.shape[cls]) if beside > 1 else self._sizes.shape[cls]

    def _numel(self, cls: int) -> int:
        found = self._numels.get(cls)
        if found is None:
            found = self._numels[cls] = math.prod(self._shape(cls))
        return found

    def _dtype(self, cls: int) -> str:
        return self._graph.dtype.get(cls, "float32")

    def _padded(self, elements: int) -> float:
        """Elements that a loop takes the time of: whole vectors."""
        return self._cost.filled(elements, "float32")

    def _leaf(self, cls: int, number: int, trips: float) -> Cost:
        op = self._sizes.tables.leaves[number].op
        if not isinstance(op, Random):
            return Cost()
        each = self._cost.draw_ns(op.fn)
        return Cost(arithmetic=each * trips * self._padded(self._numel(cls)))

    def _fetched(self, cls: int, node: ENode) -> Cost:
        """What is read at other points was kept there.

        A flat price: the same bytes move in every form, but not in the same loop. A loop keeps one
        point of what it carries, and moves it in near memory, where a form reads it in that loop:
        all points together may lie farther away.
        """
        points, each = self.kept(cls, node)
        source = self._carried.get(node.kids[0]) if node.op == "sl" and points else None
        if source is None:
            return Cost(starts=points * self._cost.profile.point_ns)
        each = self._item(source) * self._numel(source)
        whole = points * each
        farther = max(0.0, self._cost.move_ns(whole) - self._cost.move_ns(each))
        return Cost(starts=points * self._cost.profile.point_ns, traffic=whole * farther)

    def kept(self, cls: int, node: ENode) -> tuple[float, float]:
        """At how many points a value is kept for this reader, and the bytes at each."""
        if node.op not in ("sl", "part", "at") or node.kids[0] in self._inlined:
            return 0.0, 0.0
        kid = node.kids[0]
        item = self._item(cls)
        if node.op == "sl" and self._graph.dom[kid] & int(node.fields[0]):
            return self._trips(kid), item * self._numel(kid)
        if node.op == "part" and self._sizes.masks[int(node.fields[1])]:
            return self._trips(cls), item * self._numel(cls)
        return 0.0, 0.0

    def _item(self, cls: int) -> float:
        return 8.0 if self._dtype(cls) in WIDE else 4.0

    def _whole_axis(self, cls: int, node: ENode) -> float:
        """Every row by its longest operand and its results; rows are taken for neighbours."""
        fn, axis = str(node.fields[0]), int(node.fields[1])
        length = max(self._sizes.shape[k][-axis] for k in node.kids)
        results = self._sizes.shape[cls][-axis]
        rows = self._padded(self._numel(cls)) / results
        return rows * self._cost.row_ns(fn, length, results, self._cost.lanes("float32"))

    def _product(self, cls: int, node: ENode, trips: float) -> Cost:
        """Few rows or columns use the vector unit badly: both are charged as if longer."""
        left, right = (self._sizes.shape[k] for k in node.kids)
        m, k, n = left[-2], left[-1], right[-1]
        matrices = trips * math.prod(self._shape(cls)[:-2])
        multiplies, dtype = (m + MOST) * k * (n + MOST), self._dtype(cls)
        is_near = self._cost.level(4 * m * n) == 0  # long rows pass a result that stays in a cache
        size = min(multiplies, MEDIUM) if is_near else multiplies
        each = multiplies * self._cost.multiply_ns(max(m, n), size, "broadcast", dtype)
        elements = m * k + k * n + 2 * m * n  # results are written, and read by others
        moved = 4 * elements * self._cost.profile.byte_ns[1] * self._cost.wide(dtype)
        starts = matrices * self._cost.profile.product_ns
        return Cost(starts, 0.0, matrices * each, matrices * moved)
