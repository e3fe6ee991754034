"""What an operator costs: a vector of work, priced by a profile of the machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from ostinato.pdg.node import Random
from ostinato.rewrite.export import EGraph, ENode
from ostinato.rewrite.sizes import Sizes


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of a whole run; sums are over all points.

    - ``instances``: operator instances, one per point outside the vector axes;
    - ``steps``: elementwise operations, weighted by how long the function takes;
    - ``multiplies``: multiply-adds of matrix products; ``products``: matrices multiplied;
    - ``kept``: points at which a value is kept for, or fetched from, another loop;
    - ``serial``: steps that must follow each other.
    """

    instances: float = 0.0
    steps: float = 0.0
    multiplies: float = 0.0
    products: float = 0.0
    kept: float = 0.0
    serial: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Cost)))


@dataclass(frozen=True, slots=True)
class Profile:
    """Nanoseconds per unit of each cost; the defaults describe one core of a recent x86-64."""

    instance_ns: float = 40.0
    step_ns: float = 0.25
    multiply_ns: float = 0.02
    product_ns: float = 25.0
    kept_ns: float = 10.0
    serial_ns: float = 1.0
    view_ns: float = 1e-3  # keeps every choice strictly cheaper than itself in a circle

    def price(self, cost: Cost) -> float:
        """Nanoseconds of a run."""
        return (
            cost.instances * self.instance_ns
            + cost.steps * self.step_ns
            + cost.multiplies * self.multiply_ns
            + cost.products * self.product_ns
            + cost.kept * self.kept_ns
            + cost.serial * self.serial_ns
        )


WEIGHT = {
    "exp": 6, "log": 8, "log1p": 8, "expm1": 8, "tanh": 10, "sigmoid": 10, "sin": 10, "cos": 10,
    "tan": 14, "pow": 20, "div": 3, "sqrt": 3, "mod": 8, "floordiv": 8,
    "exp2": 6, "log2": 8, "erf": 20, "erfc": 16, "lgamma": 40, "digamma": 50, "arcsinh": 14,
    "arctan2": 14,
}  # fmt: skip
DRAW_WEIGHT = 20
ORDER_WEIGHT = 6  # one comparison of an order or a search, with its mispredicted branch
CARRY_WEIGHT = 4  # one step of a recurrence along an axis waits for the one before
MOVES = frozenset(("mv", "perm"))  # avoided where another view does
VIEWS = frozenset(("tr", "mv", "perm", "reshape", "bcast", "part", "cut", "at", "look", "case"))


def _inlined(graph: EGraph) -> set[int]:
    """Classes that are views of inputs, literals or draws: nothing needs to be stored for them."""
    readers: dict[int, list[int]] = {}
    found: set[int] = set()
    for cls, nodes in graph.classes.items():
        for node in nodes:
            if node.op == "leaf":
                found.add(cls)
            elif node.op == "sl" or node.op in VIEWS and len(node.kids) == 1:
                readers.setdefault(node.kids[0], []).append(cls)
    pending = list(found)
    while pending:
        fresh = [cls for cls in readers.get(pending.pop(), ()) if cls not in found]
        found.update(fresh)
        pending += fresh
    return found


class Pricing:
    """The cost of every e-node over a whole run, at typical sizes."""

    def __init__(self, graph: EGraph, sizes: Sizes, profile: Profile) -> None:
        self._graph, self._sizes, self.profile = graph, sizes, profile
        self._inlined = _inlined(graph)

    def price(self, cls: int, node: ENode) -> float:
        views = 5 if node.op in MOVES or self._is_crossed(node) else 1
        return self.profile.price(self.cost(cls, node)) + views * self.profile.view_ns

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
        sizes = self._sizes
        trips = float(sizes.trips(self._graph.dom[cls]))
        out = float(sizes.numel(cls))
        op, f = node.op, node.fields
        if op == "leaf":
            draws = isinstance(sizes.tables.leaves[int(f[0])].op, Random)
            return Cost(steps=DRAW_WEIGHT * trips * out) if draws else Cost()
        if op in ("sl", "part", "at"):
            kept = node.kids[0] not in self._inlined
            inner = self._graph.dom[node.kids[0]]
            if op == "sl" and kept and inner & int(f[0]):
                return Cost(kept=sizes.trips(inner))
            fetched = op == "part" and kept and sizes.masks[int(f[1])]
            return Cost(kept=trips) if fetched else Cost()
        if op == "rec" or op in VIEWS:
            return Cost()
        once = Cost(instances=trips)
        if op.startswith("host"):
            return once
        if op == "mm":
            return once + self._product(node, trips)
        if op in ("scan", "back", "lin"):
            return once + Cost(steps=2 * trips * out, serial=trips)
        if op == "red":
            return once + Cost(steps=trips * sizes.numel(node.kids[0]))
        if op in ("along1", "along2"):
            return once + Cost(steps=trips * self._whole_axis(node, out))
        if op in ("gather", "cat"):
            return once + Cost(steps=2 * trips * out)
        return once + Cost(steps=WEIGHT.get(str(f[0]), 1) * trips * out)

    def _whole_axis(self, node: ENode, out: float) -> float:
        """Elements read and written, weighted by the function; orders and searches take turns."""
        fn, axis = str(node.fields[0]), int(node.fields[1])
        shapes = [self._sizes.shape[k] for k in node.kids]
        rows = max(math.prod(s) for s in shapes)
        if fn == "argsort":
            return ORDER_WEIGHT * rows * math.log2(1 + shapes[0][-axis])
        if fn.startswith("search"):
            return ORDER_WEIGHT * out * math.log2(1 + shapes[0][-axis])
        return CARRY_WEIGHT * (rows + out) * (WEIGHT["exp"] if fn == "logsumexp" else 1)

    def _product(self, node: ENode, trips: float) -> Cost:
        """Few rows or columns use the vector unit badly: both are charged as if 8 longer."""
        left, right = (self._sizes.shape[k] for k in node.kids)
        m, k, n = left[-2], left[-1], right[-1]
        matrices = trips * math.prod(map(max, left[:-2], right[:-2]))
        return Cost(multiplies=matrices * (m + 8) * k * (n + 8), products=matrices)
