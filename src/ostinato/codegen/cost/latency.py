"""How long a step of a loop waits for the step before: the operations between a value and its next.

Operations that depend on each other cannot overlap, however many units the processor has. Only
those on the way from what the step before computed to the same tensor's next value count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.codegen.ir.system import Call, Choice, Load, Statement, Value, children
from ostinato.codegen.ir.tree import Loop, Nest, computed, leaves
from ostinato.machine.cost_model import CostModel
from ostinato.pdg.index import Dim, dims_of

SUMS = frozenset(("add", "sub"))


def waiting_ns(loop: Loop, statements: Mapping[str, Statement], cost: CostModel) -> float:
    """The longest way from a tensor's value in the step before to its value in this one.

    0.0 if no step of the loop needs the one before.
    """
    inside = [leaf for leaf, _, _ in leaves(loop.body)]
    own = {name: statements[name] for leaf in inside for name in computed(leaf)}
    ways = _Ways(loop.dim, own, cost)
    for s in own.values():  # in the order in which they are computed
        ways.add(s)
    found = [ways.known[name].get(name, 0.0) for name in own]
    added = (name for leaf in inside if isinstance(leaf, Nest) for name in leaf.memory)
    found += [ways.fold(own[name]) for name in added]
    return max(found, default=0.0)


@dataclass
class _Ways:
    """Nanoseconds of the longest ways to a value, by the tensor whose last value they begin at."""

    dim: Dim
    own: Mapping[str, Statement]
    cost: CostModel
    known: dict[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])

    def add(self, s: Statement) -> None:
        """The ways to what a statement computes from what was computed before."""
        longest = _longest(*(self.value(value, {}) for _, value in s.clauses))
        added = self.fold(s) if s.kind == "fold" else 0.0
        self.known[s.name] = {source: ns + added for source, ns in longest.items()}

    def fold(self, s: Statement) -> float:
        """Taking one more value into what a fold has so far."""
        return self.cost.fold_wait_ns(s.fold)

    def value(self, value: Value, seen: dict[Value, Mapping[str, float]]) -> Mapping[str, float]:
        if isinstance(value, Load):
            return self.load(value)
        if value not in seen:
            ways = [(child, self.value(child, seen)) for child in children(value)]
            seen[value] = _longest(
                *({x: ns + self.step(value, child) for x, ns in way.items()} for child, way in ways)
            )
        return seen[value]

    def load(self, load: Load) -> Mapping[str, float]:
        if load.tensor not in self.own:
            return {}
        if any(self.dim in dims_of(at) and at.as_dim() is None for at in load.dims):
            return {load.tensor: 0.0}
        return self.known.get(load.tensor, {})

    def step(self, value: Value, child: Value) -> float:
        """What one operation waits for an operand; a sum is one operation with its product."""
        match value, child:
            case Call(fn), Call("mul") if fn in SUMS:
                return 0.0
            case Call(fn), _:
                return self.cost.wait_ns(fn)
            case Choice(), _:
                return self.cost.wait_ns("where")
            case _:
                return 0.0


def _longest(*ways: Mapping[str, float]) -> Mapping[str, float]:
    out: dict[str, float] = {}
    for way in ways:
        for source, ns in way.items():
            out[source] = max(ns, out.get(source, 0.0))
    return out
