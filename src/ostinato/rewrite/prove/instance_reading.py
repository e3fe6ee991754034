"""The terms of an e-graph as nodes of the program, built for the judge and for nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.pdg import build
from ostinato.pdg.element import element
from ostinato.pdg.index import Expr, Index, Slice, expr
from ostinato.pdg.node import Node, Pdg, Read, Transpose
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.rebuild import computed, order_of_axes
from ostinato.rewrite.load.tables import Loaded


class Reading:
    """For every class one node, and for every e-node a node over those of its operands."""

    def __init__(self, graph: EGraph, loaded: Loaded) -> None:
        self.graph, self.loaded, self.tables = graph, loaded, loaded.tables
        self.originals: dict[int, list[Node]] = {}
        for node, number in loaded.ids.items():
            self.originals.setdefault(graph.node_class[number], []).append(node)
        self._nodes = {cls: nodes[0] for cls, nodes in self.originals.items()}
        self._fill()

    def every(self) -> Mapping[int, Node]:
        """A node of each class."""
        return self._nodes

    def _fill(self) -> None:
        """Classes without an original get the first of their e-nodes whose operands are known."""
        found = True
        while found:
            found = False
            for cls, enodes in self.graph.classes.items():
                for enode in enodes if cls not in self._nodes else ():
                    if all(kid in self._nodes for kid in enode.kids):
                        self._nodes[cls], found = self.node(enode), True
                        break

    def node(self, enode: ENode) -> Node:
        """The node of an e-node, with every movement as the e-node has it."""
        op, f, tables = enode.op, enode.fields, self.tables
        args = [self._nodes[kid] for kid in enode.kids]
        found = computed(enode, args, tables)
        if found is not None:
            return found
        match op:
            case "rec":
                known = tables.recs[int(f[0])]
                x = known.node
                for dim in reversed(known.axes):
                    x = build.read(x, [(dim, dim.whole)])
                return x
            case "at" | "sl":
                dim = tables.dims_in(int(f[0]))[0]
                return build.read(args[0], [(dim, tables.index(int(f[1])))])
            case "tr" | "perm" | "mv":
                return build.transpose(args[0], order_of_axes(enode, tables))
            case "reshape":
                return build.reshape(args[0], self.graph.shapes[int(f[1])], int(f[0]))
            case "bcast":
                return build.broadcast(args[0], self.graph.shapes[int(f[0])])
            case "part":
                index = tables.index(int(f[1]))
                assert isinstance(index, Expr), f"{index} is no point"
                return element(args[0], -int(f[0]), index)
            case "cut":
                return cut(args[0], -int(f[0]), tables.index(int(f[1])))
            case _:
                raise AssertionError(f"no node for {op}")


def cut(x: Node, axis: int, at: Index) -> Node:
    """A slice of an axis; along a whole history it is a read of other steps, as `element` is.

    The axis of a history is indexed by all integers, of which an array holds only the demanded
    ones; a part of the array could not be compared outside the box.
    """
    assert isinstance(at, Slice), f"{at} is no slice"
    if isinstance(x.op, Read):
        sliced = [(d, i) for d, i in x.op.at if isinstance(i, Slice)]
        if axis + x.rank < len(sliced):
            dim, steps = sliced[axis + x.rank]
            if steps == Slice(expr(0), expr(dim.extent)):
                return build.read(x.args[0], [(d, at if d == dim else i) for d, i in x.op.at])
    return build.part(x, axis, at)


def numbered(pdg: Pdg, loaded: Loaded) -> None:
    """Let transposes that move one axis also be the ``mv`` that rules make of them."""
    for node in pdg.nodes():
        perm = node.op.perm if isinstance(node.op, Transpose) else ()
        rest = tuple(j for j in range(-len(perm), 0) if perm and j != perm[0])
        if perm and perm[1:] == rest:
            args = [loaded.ids[a] for a in node.args]
            loaded.row("raw_mv", loaded.ids[node], -perm[0], len(perm), *args)
