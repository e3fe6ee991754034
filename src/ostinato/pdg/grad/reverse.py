"""Gradients as equations: reverse differentiation of a dependence graph.

The derivative of a loss is taken **at one point of the loss's own domain** (``held``): a read that
leaves that point, such as the state of the previous iteration, is a constant. Everything else is
followed: the reverse of a recurrence is again a recurrence (back-propagation through time), and the
reverse of a read is a sum over all points that read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.pdg.arithmetic import Algebra, full, zeros
from ostinato.pdg.bounds import simplified
from ostinato.pdg.build import const, order
from ostinato.pdg.condition import ALWAYS, NEVER, Cond, every, negation, some
from ostinato.pdg.errors import GradientError
from ostinato.pdg.functions import FLOATS, computed_in, has_derivative
from ostinato.pdg.grad.adjoint import flows, living, only_where, pull_back
from ostinato.pdg.grad.preimage import Dims
from ostinato.pdg.grad.read_adjoints import Adjoint, leaves_point, sum_missing
from ostinato.pdg.naming import called
from ostinato.pdg.node import Equation, Node, Rec, intern
from ostinato.pdg.origin import GRADIENT, Origin, making
from ostinato.pdg.origins import as_first_written
from ostinato.pdg.scc import closed


@dataclass(frozen=True)
class Gradients:
    """``nodes[k]`` is d loss / d wrt[k]; ``equations`` define the adjoints it reads.

    The derivative passes through the nodes of ``passed``.
    """

    nodes: tuple[Node, ...]
    equations: dict[str, Equation]
    passed: frozenset[Node] = frozenset()


def gradient(
    loss: Node,
    wrt: Sequence[Node],
    equations: Mapping[str, Equation],
    alive: Sequence[Node] = (),
) -> Gradients:
    """Return the derivatives of a scalar loss at each point of its domain.

    ``wrt`` may be any float nodes; they count as independent, and the equations of a recurrent
    tensor among them are not entered. ``equations`` are those of the program so far, including the
    adjoints of earlier gradients, whose names are not used again. A node on which the loss does not
    depend has derivative zero. ``alive`` are boolean nodes that say which points of their domains
    exist: nothing flows back from the others.

    Shapes: loss () -> wrt[k].shape, over the dimensions of the loss and of wrt[k]. The derivative
    by a half is float32.
    Errors: GradientError if the loss is no float scalar, if a wrt is no float, or if a recurrent
    tensor on the way has no equations.
    """
    _check(loss, wrt)
    rights = [right for equation in equations.values() for _, right in equation.cases]
    recs = [equation.rec for equation in equations.values()]
    first = as_first_written([loss, *wrt, *alive, *recs, *rights])
    loss, wrt, alive = first[loss], [first[x] for x in wrt], [first[x] for x in alive]
    equations = {
        name: replace(e, rec=first[e.rec], cases=tuple((c, first[x]) for c, x in e.cases))
        for name, e in equations.items()
    }
    graph = _Graph(loss, frozenset(wrt), equations, alive)
    passed = frozenset(graph.live - graph.wrt)
    attempt = 0
    while True:
        with making(GRADIENT):
            found = _Sweep(graph, attempt).gradients(wrt)
        taken = [n for n, eq in found.equations.items() if equations.get(n, eq) != eq]
        if not taken:
            return replace(found, passed=passed)
        attempt += 1


def _check(loss: Node, wrt: Sequence[Node]) -> None:
    if loss.dtype not in FLOATS or loss.shape:
        size = "x".join(map(str, loss.shape)) or "scalar"
        raise GradientError(
            f"the gradient of {called(loss)}, which is {size} {loss.dtype}, was asked for",
            "A loss is one float per point: reduce it with `.sum()` or `.mean()`, or cast it.",
            loss.where,
        )
    for node in wrt:
        if not has_derivative(node.dtype):
            fact = f"the gradient with respect to {called(node)}, which is {node.dtype}"
            remedy = "Only floats have derivatives: differentiate by a float, or cast it first."
            raise GradientError(fact, remedy, node.where)


class _Graph:
    """The part of the program through which a derivative passes from the loss to a ``wrt``."""

    def __init__(
        self,
        loss: Node,
        wrt: frozenset[Node],
        equations: Mapping[str, Equation],
        alive: Sequence[Node],
    ):
        self.loss, self.wrt, self.equations, self.alive = loss, wrt, equations, alive
        self.held: Dims = frozenset(loss.domain)
        self.live = self._live()
        self.cyclic = self._cyclic()

    def operands(self, node: Node) -> tuple[Node, ...]:
        """Where the derivative goes next: operands, or the right sides of equations."""
        if node in self.wrt or leaves_point(node, self.held):
            return ()
        if isinstance(node.op, Rec):
            return tuple(right for _, right in self.equation(node).cases)
        return tuple(node.args[k] for k in flows(node))

    def equation(self, node: Node) -> Equation:
        assert isinstance(node.op, Rec), f"{node} is not recurrent"
        found = self.equations.get(node.op.name)
        if found is None:
            fact = (
                f"`{node}`, which the gradient of {called(self.loss)} needs, has no equations yet"
            )
            remedy = (
                "Write its equations before asking for the gradient, or, if no derivative goes "
                f"through it, read `ot.stop_gradient({node})`."
            )
            raise GradientError(fact, remedy, node.where)
        return found

    def _live(self) -> frozenset[Node]:
        readers: dict[Node, list[Node]] = {self.loss: []}
        queue = [self.loss]
        while queue:
            node = queue.pop()
            for operand in self.operands(node):
                if operand not in readers:
                    readers[operand] = []
                    queue.append(operand)
                readers[operand].append(node)
        return frozenset(closed([n for n in self.wrt if n in readers], readers.__getitem__))

    def _cyclic(self) -> tuple[Node, ...]:
        """The recurrent tensors that the derivative reaches again from their own equations."""
        recs = sorted((x for x in self.live - self.wrt if isinstance(x.op, Rec)), key=str)
        return tuple(x for x in recs if x in closed(self.onward(x), self.onward))

    def onward(self, node: Node) -> list[Node]:
        return [operand for operand in self.operands(node) if operand in self.live]

    def readers_first(self) -> list[Node]:
        """The live nodes, each after all that read it; right sides on a cycle are roots."""
        rights = [right for x in self.cyclic for right in self.onward(x)]
        order: dict[Node, None] = {}
        stack = [(root, False) for root in (self.loss, *rights) if root in self.live]
        while stack:
            node, ready = stack.pop()
            if ready:
                order[node] = None
            elif node not in order:
                stack.append((node, True))
                if node not in self.cyclic:
                    stack.extend((operand, False) for operand in self.onward(node))
        return list(reversed(order))


class _Sweep:
    """One pass over the live nodes, readers first, that adds up the adjoint of each.

    Only recurrent tensors on a cycle need an adjoint with equations of its own.
    """

    def __init__(self, graph: _Graph, attempt: int) -> None:
        self.graph, self.attempt = graph, attempt
        self.parts: dict[Node, list[Adjoint]] = {}

    def gradients(self, wrt: Sequence[Node]) -> Gradients:
        graph = self.graph
        if graph.loss in graph.live:
            self._add(graph.loss, [Adjoint(ALWAYS, const(1, graph.loss.dtype))])
        for x in graph.cyclic:
            self._enter(x, Adjoint(ALWAYS, self._adjoint(x)))
        for node in graph.readers_first():
            if node in self.parts and node not in {*graph.wrt, *graph.cyclic}:
                self._reverse(node, _total(self.parts[node], node.where))
        made = {self._name(x): self._equation(x) for x in graph.cyclic}
        return Gradients(tuple(self._value(node) for node in wrt), made)

    def _reverse(self, node: Node, up: Adjoint) -> None:
        if isinstance(node.op, Rec):
            self._enter(node, up)
        elif not leaves_point(node, self.graph.held):
            for k in flows(node):
                if node.args[k] in self.graph.live:
                    found = pull_back(node, k, up, self.graph.held, self.graph.alive)
                    self._add(node.args[k], found)

    def _enter(self, x: Node, up: Adjoint) -> None:
        """Hand the adjoint of a recurrent tensor to the right sides, each under its condition."""
        earlier: list[Cond] = []
        for cond, right in self.graph.equation(x).cases:
            if right in self.graph.live:
                guard = simplified(every(up.guard, cond, *map(negation, earlier)))
                missing = frozenset(x.domain) - frozenset(right.domain) - self.graph.held
                live = living(x, missing, self.graph.alive)
                value = up.value if live is None else only_where(live, up.value)
                self._add(right, sum_missing(Adjoint(guard, value), missing, right.where))
            earlier.append(cond)

    def _add(self, node: Node, found: Sequence[Adjoint]) -> None:
        kept = [a for a in found if a.guard != NEVER]
        if kept:
            self.parts.setdefault(node, []).extend(kept)

    def _name(self, x: Node) -> str:
        suffix = f"_{self.attempt}" if self.attempt else ""
        assert isinstance(x.op, Rec), f"{x} is not recurrent"
        return f"d_{self.graph.loss.label or 'loss'}{suffix}/d_{x.op.name}"

    def _adjoint(self, x: Node) -> Node:
        domain = order({*self.graph.held, *x.domain})
        op, label = Rec(self._name(x)), f"d_{self.graph.loss.label or 'loss'}/d_{x}"
        return intern((op, (), domain, x.shape, computed_in(x.dtype)), Origin(x.where, label))

    def _equation(self, x: Node) -> Equation:
        return Equation(self._adjoint(x), ((ALWAYS, self._value(x)),), (x.where,))

    def _value(self, node: Node) -> Node:
        """The whole adjoint: zero outside its guard, and of the node's own shape."""
        parts = self.parts.get(node, [])
        if not parts:
            return zeros(node.shape, computed_in(node.dtype), node.where)
        up = _total(parts, node.where)
        thick = full(up.value, node.shape, node.where)
        return Algebra(node.where).switch(up.guard, thick)


def _total(parts: Sequence[Adjoint], where: str) -> Adjoint:
    """The sum of adjoints; those under one guard add up before the guard is applied."""
    a = Algebra(where)
    groups: dict[Cond, Node] = {}
    for part in _joined(parts):
        known = groups.get(part.guard)
        groups[part.guard] = part.value if known is None else a.add(known, part.value)
    if len(groups) == 1:
        return Adjoint(*next(iter(groups.items())))
    guard = simplified(some(*groups))
    total: Node | None = None
    for own, value in groups.items():
        switched = value if own == guard else a.switch(own, value)
        total = switched if total is None else a.add(total, switched)
    assert total is not None, "an adjoint without parts"
    return Adjoint(guard, total)


def _joined(parts: Sequence[Adjoint]) -> list[Adjoint]:
    """One value under two guards that exclude each other is that value under either."""
    joined: list[Adjoint] = []
    for part in parts:
        for k, other in enumerate(joined):
            same = part.value == other.value
            if same and simplified(every(part.guard, other.guard)) == NEVER:
                joined[k] = Adjoint(simplified(some(part.guard, other.guard)), part.value)
                break
        else:
            joined.append(part)
    return joined
