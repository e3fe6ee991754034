"""Chosen terms as an ordinary program: nodes of `ostinato.pdg` built operands first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ostinato.pdg import build
from ostinato.pdg.condition import Cond, at_least, every
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr
from ostinato.pdg.node import (
    Concat,
    Dtype,
    Equation,
    Host,
    Node,
    Pdg,
    Read,
    Reshape,
    Transpose,
    named_if_not,
)
from ostinato.pdg.origin import UNKNOWN, Origin
from ostinato.rewrite.extract.choose import Selection, Terms
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.load.program_rows import conditions
from ostinato.rewrite.load.tables import Loaded, Tables


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The program, the axes of batched recurrences, and the node that each term became."""

    pdg: Pdg
    batched: dict[str, tuple[Dim, ...]]
    nodes: Mapping[int, Node]


def rebuild(selection: Selection, graph: EGraph, loaded: Loaded) -> Rebuilt:
    """The selected program; its outputs have the names, domains and shapes of the original."""
    origins = _origins(graph, loaded)
    builder = _Builder(graph, loaded)
    roots = [*selection.outputs, *selection.definitions.values()]
    nodes: dict[int, Node] = {}
    same: dict[Node, Node] = {}  # terms of two classes may be one node, which has one origin
    reached = selection.terms.reachable(roots)
    parts = _parts_of_joins(selection.terms, reached, roots)
    for number in reached:
        term = selection.terms.items[number]
        node = builder.node(term.enode, [nodes[k] for k in term.kids])
        node = node if number in parts else _whole_join(node)
        named = named_if_not(node, origins.get(term.cls, UNKNOWN))
        nodes[number] = same.setdefault(named, named)
    outputs = tuple(
        (name, _over(nodes[number], original))
        for number, (name, original) in zip(selection.outputs, loaded.pdg.outputs, strict=True)
    )
    equations: dict[str, Equation] = {}
    batched: dict[str, tuple[Dim, ...]] = {}
    for number in dict.fromkeys(rec for rec, _ in selection.definitions):
        known = loaded.tables.recs[number]
        rights = (nodes[t] for (rec, _), t in selection.definitions.items() if rec == number)
        cases: tuple[tuple[Cond, Node], ...] = tuple(
            zip(conditions(loaded, number), rights, strict=True)
        )
        where = loaded.pdg.equations[known.name].where
        equations[known.name] = Equation(builder.recurrence(number), cases, where)
        if known.axes:
            batched[known.name] = known.axes
    ordered = {name: equations[name] for name in loaded.pdg.equations if name in equations}
    return Rebuilt(Pdg(outputs, ordered, loaded.pdg.minimum_extents), batched, nodes)


def _over(node: Node, original: Node) -> Node:
    """The node with the domain of the original, where rewriting found it depends on less."""
    assert set(node.domain) <= set(original.domain), f"{node} depends on more than {original}"
    assert node.shape == original.shape, f"{node}: {node.shape} instead of {original.shape}"
    missing = [d for d in original.domain if d not in node.domain]
    if not missing:
        return node
    inside = at_least(sum((expr(d) for d in missing), expr(0)), 0)
    return build.case(every(inside), node, node, original.where)


def _origins(graph: EGraph, loaded: Loaded) -> dict[int, Origin]:
    """The origins of classes that are values of the user's, or those with more axes."""
    found: dict[int, Origin] = {}
    for node, number in loaded.ids.items():
        found.setdefault(graph.node_class[number], replace(node.origin, label=node.label))
    slices = [(n.kids[0], cls) for cls, ns in graph.classes.items() for n in ns if n.op == "sl"]
    changed = True
    while changed:
        changed = False
        for inner, outer in slices:
            if inner in found and outer not in found:
                found[outer] = found[inner]
                changed = True
    return found


class _Builder:
    """Nodes from e-nodes."""

    def __init__(self, graph: EGraph, loaded: Loaded) -> None:
        self._graph, self._loaded, self._tables = graph, loaded, loaded.tables
        self._recs: dict[int, Node] = {}

    def recurrence(self, number: int) -> Node:
        """The leaf of a recurrence, with its batched dimensions as leading axes."""
        found = self._recs.get(number)
        if found is None:
            known = self._tables.recs[number]
            old = known.node
            over = [d for d in old.domain if d not in known.axes]
            shape = (*(expr(d.extent) for d in known.axes), *old.shape)
            name = known.name
            found = old if not known.axes else build.rec(name, shape, old.dtype, over, old.where)
            self._recs[number] = found
        return found

    def node(self, enode: ENode, args: list[Node]) -> Node:
        op, f, tables = enode.op, enode.fields, self._tables
        found = computed(enode, args, tables)
        if found is not None:
            return found
        match op:
            case "rec":
                return self.recurrence(int(f[0]))
            case "at" | "sl":
                dim = tables.dims_in(int(f[0]))[0]
                return _read(args[0], dim, tables.index(int(f[1])))
            case "tr" | "perm" | "mv":
                return _transpose(args[0], order_of_axes(enode, tables))
            case "reshape":
                keep = args[0].shape[: args[0].rank - int(f[0])]
                return reshaped(args[0], (*keep, *self._graph.shapes[int(f[1])]))
            case "bcast":
                return build.broadcast(args[0], self._graph.shapes[int(f[0])])
            case "part" | "cut":
                return build.part(args[0], -int(f[0]), tables.index(int(f[1])))
            case _:
                raise AssertionError(f"no node for {op}")


def computed(enode: ENode, args: list[Node], tables: Tables) -> Node | None:
    """The node of an operator that computes, or reads several dimensions at once; else None."""
    op, f = enode.op, enode.fields
    match op:
        case "leaf":
            return tables.leaves[int(f[0])]
        case "map1" | "map2" | "map3":
            fn, _, dtype = str(f[0]).partition(":")
            return build.map_node(fn, args, cast(Dtype, dtype) if dtype else None)
        case "red":
            axes = [-k - 1 for k in range(args[0].rank) if int(f[1]) >> k & 1]
            return build.reduce_node(str(f[0]), args[0], axes)
        case "mm":
            return build.matmul(args[0], args[1])
        case "gather":
            return build.gather(args[0], args[1], -int(f[0]))
        case _ if op.startswith("host"):
            like = tables.leaves[int(f[0])]
            assert isinstance(like.op, Host), f"{like} is no call"
            return build.host(like.op, args, like)
        case "along1" | "along2":
            return build.along(str(f[0]), args, -int(f[1]), tables.expr(int(f[2])))
        case "cat":
            return build.concat(args, -int(f[0]))
        case "case":
            return build.case(tables.condition(int(f[0])), args[0], args[1])
        case "look":
            return build.read(args[0], tables.reading(int(f[0])))
        case "running":
            return build.scan(str(f[0]), args[0], tables.dims_in(int(f[1]))[0], bool(f[2]))
        case "lin":
            return build.linear(args[0], args[1], tables.dims_in(int(f[0]))[0], bool(f[1]))
        case _:
            return None


def order_of_axes(enode: ENode, tables: Tables) -> tuple[int, ...]:
    """The permutation of an operator that only moves axes."""
    match enode.op:
        case "tr":
            return (-1, -2)
        case "perm":
            return tables.permutation(int(enode.fields[0]))
        case _:
            return build.moving(int(enode.fields[0]), int(enode.fields[1]))


def reshaped(x: Node, shape: tuple[Expr, ...]) -> Node:
    """One reshape of what lies below earlier reshapes, of the axes that change.

    Beside an axis of size 0 all others may change, in no order of whole axes: nothing is nothing.
    """
    if expr(0) in shape:
        return build.nothing(shape, x.dtype)
    while isinstance(x.op, Reshape):
        x = x.args[0]
    same = 0
    while same < min(x.rank, len(shape)) and x.shape[same] == shape[same]:
        same += 1
    if same == x.rank == len(shape):
        return x
    return build.reshape(x, shape[same:], x.rank - same)


def _transpose(x: Node, perm: tuple[int, ...]) -> Node:
    """One transpose of what lies below earlier transposes."""
    if isinstance(x.op, Transpose):
        inner = x.op.perm
        n = max(len(inner), len(perm))
        under = (*range(-n, -len(inner)), *inner)
        over = (*range(-n, -len(perm)), *perm)
        perm = tuple(under[p] for p in over)
        while perm and perm[0] == -len(perm):
            perm = perm[1:]
        x = x.args[0]
    return build.transpose(x, perm) if perm else x


def _parts_of_joins(terms: Terms, reached: Sequence[int], roots: Sequence[int]) -> set[int]:
    """Concatenations that only concatenations along the same axis read."""
    inside, outside = set[int](), set(roots)
    for number in reached:
        enode, kids = terms.items[number].enode, terms.items[number].kids
        for kid in kids:
            below = terms.items[kid].enode
            same = enode.op == below.op == "cat" and enode.fields[0] == below.fields[0]
            (inside if same else outside).add(kid)
    return inside - outside


def _whole_join(node: Node) -> Node:
    """All operands of a concatenation in one, however they were grouped."""
    if not isinstance(node.op, Concat):
        return node
    operands: list[Node] = []
    waiting = [node]
    while waiting:
        x = waiting.pop()
        if x.op == node.op:
            waiting += reversed(x.args)
        else:
            operands.append(x)
    return build.concat(operands, node.op.axis)


def _read(x: Node, dim: Dim, index: Index) -> Node:
    """One read for several dimensions where their order of axes allows it."""
    if isinstance(x.op, Read):
        merged = _merged(x.op.at, dim, index)
        if merged is not None:
            return build.read(x.args[0], merged)
    return build.read(x, [(dim, index)])


def _merged(
    inner: tuple[tuple[Dim, Index], ...], dim: Dim, index: Index
) -> list[tuple[Dim, Index]] | None:
    if any(d == dim for d, _ in inner):
        return None
    if isinstance(index, Slice):
        slices = [d for d, e in inner if isinstance(e, Slice)]
        if any(d.serial < dim.serial for d in slices) or any(_uses(e, dim) for _, e in inner):
            return None
        return [*inner, (dim, index)]
    by = {dim: index}
    moved = [(d, e.at(by)) for d, e in inner]
    return [*moved, (dim, index)]


def _uses(index: Index, dim: Dim) -> bool:
    return index.at({dim: expr(dim) + 1}) != index
