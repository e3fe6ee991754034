"""Which operation of the user's program a value belongs to, without a word from the user.

Environments, models, optimizers and gradients are known by what was called
(`ostinato.provenance.place`). The rest follows from the graph: what an environment needs is acting,
what a derivative passes through and acting does not need is learning, what is summed up over later
steps is a return. A value of which nothing is known belongs to the user's function that wrote it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.node import Node, Pdg, Read, Rec, Reduce
from ostinato.pdg.origin import ENVIRONMENT, GRADIENT, MODEL, OPTIMIZER, Place, function_of, part_of
from ostinato.pdg.scc import closed

POLICY, RETURNS, HOST = "policy", "returns", "host"
Key = tuple[str, str, bool]  # of a place: line, part, whether a derivative passes


def key_of(where: str) -> Key:
    """What two values of one operation share, also after rewriting."""
    return str(where), part_of(where), isinstance(where, Place) and where.in_loss


def operations(pdg: Pdg) -> dict[Key, str]:
    """The operation of every place of a program as it is written.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> def doubled(x: ot.Tensor) -> ot.Tensor:
    ...     return x * 2.0
    >>> set(operations(ot.Program(y=doubled(ot.input("x", over=t))).pdg).values())
    {'<module>', 'doubled'}
    """
    graph = _Graph(pdg)
    placed = [node for node in reversed(pdg.nodes()) if node.where]
    return {key_of(node.where): graph.operation(node) for node in placed}


class _Graph:
    """A program with what acting needs and what returns are made of."""

    def __init__(self, pdg: Pdg) -> None:
        self.pdg, nodes = pdg, pdg.nodes()
        games = [n for n in nodes if _part(n) == ENVIRONMENT]
        self.plays, self.learns = bool(games), any(_part(n) == GRADIENT for n in nodes)
        learning = (OPTIMIZER, GRADIENT)
        self.acting = _reached(games, self.operands, lambda n: _part(n) not in learning)
        self.returns = self._returns(nodes) if games else frozenset[Node]()

    def operands(self, node: Node) -> Sequence[Node]:
        if not isinstance(node.op, Rec):
            return node.args
        return [right for _, right in self.pdg.equations[node.op.name].cases]

    def operation(self, node: Node) -> str:
        part, where = _part(node), node.where
        is_learned = self.learns and isinstance(where, Place) and where.in_loss
        if part and part != MODEL:
            return part
        if is_learned and node not in self.acting:
            return GRADIENT
        if part:
            return POLICY if self.plays else MODEL
        if node in self.acting:
            return self._of_acting(node)
        return RETURNS if node in self.returns else function_of(where)

    def _of_acting(self, node: Node) -> str:
        """What the user wrote between environment and policy belongs to one of them."""
        below = _reached([node], self.operands, lambda n: not _part(n))
        met = {_part(x) for n in below for x in self.operands(n)}
        return POLICY if MODEL in met and ENVIRONMENT not in met else ENVIRONMENT

    def _returns(self, nodes: Sequence[Node]) -> frozenset[Node]:
        """What is accumulated from later steps, and what is only computed for it."""
        readers: dict[Node, list[Node]] = defaultdict(list)
        for node in nodes:
            for x in node.args:
                readers[x].append(node)
        seeds: list[Node] = []
        for node in nodes:
            if isinstance(node.op, Read) and any(_is_later(d, at) for d, at in node.op.at):
                seeds += [node, *_folds(node, readers)]
                if isinstance(node.args[0].op, Rec):
                    seeds.append(node.args[0])

        def mine(node: Node) -> bool:
            is_loss = isinstance(node.where, Place) and node.where.in_loss
            return not _part(node) and node not in self.acting and not is_loss

        return _reached([n for n in seeds if mine(n)], self.operands, mine)


def _part(node: Node) -> str:
    return part_of(node.where)


def _reached(
    start: Iterable[Node], onward: Callable[[Node], Sequence[Node]], is_in: Callable[[Node], bool]
) -> frozenset[Node]:
    return frozenset(closed(start, lambda n: filter(is_in, onward(n))))


def _is_later(dim: Dim, at: Expr | Slice) -> bool:
    """Whether an index reaches from a point into the steps after it."""
    if isinstance(at, Slice):
        return dim in at.lo.dims and at.hi == expr(dim.extent)
    ahead = at - expr(dim)
    return ahead.is_const and ahead.as_int() > 0


def _folds(node: Node, readers: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The nearest folds of what was read."""

    def onward(at: Node) -> Sequence[Node]:
        return () if isinstance(at.op, Reduce) else readers.get(at, ())

    found = _reached([node], onward, lambda n: not isinstance(n.op, Rec))
    return [n for n in found if isinstance(n.op, Reduce)]
