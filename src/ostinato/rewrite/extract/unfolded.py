"""A saturated e-graph with all copies of parts of which the engine has seen one.

Every class that is made of the leaves of a part has a class in each other copy of it, with the
names of that copy. Leaves without a meaning are then united with what they stand for, and classes
whose operands became equal with each other.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace

from ostinato.rewrite.engine.egglog_session import Cell
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.load.folded_rows import Copy, Folded
from ostinato.rewrite.terms.signature import SIGNATURE

_TERMS = {op: tuple(k for k, c in enumerate(s) if c == "T") for op, s in SIGNATURE.items()}


def unfolded(graph: EGraph, folded: Folded) -> EGraph:
    """The e-graph of the whole program."""
    return _Unfolding(graph, folded).graph() if folded.parts else graph


class _Unfolding:
    def __init__(self, graph: EGraph, folded: Folded) -> None:
        self._given, self._folded = graph, folded
        self._classes = {c: list(nodes) for c, nodes in graph.classes.items()}
        self._dom, self._dtype = dict(graph.dom), dict(graph.dtype)
        self._nodes, self._definitions = dict(graph.node_class), dict(graph.definitions)
        self._origins, self._closed = dict(graph.origins), set(graph.closed)
        used = (graph.classes, graph.shapes, graph.shape_class.values())
        self._next = 1 + max(max(each, default=0) for each in used)
        self._into: dict[int, int] = {}  # a class that was united with another -> that one

    def graph(self) -> EGraph:
        folded, stands = self._folded, list[tuple[int, int]]()
        fixed = self._made_of(folded.leaves, folded.recurrences)
        for leaf, node in folded.operands.items():
            stands.append((self._nodes[leaf], node))
        for copies in folded.parts:
            leaves = {*copies[0].leaves, *map(folded.number, copies[0].operands)}
            recurrences = copies[0].recurrences.keys() | folded.recurrences
            inside = self._made_of(folded.leaves | leaves, recurrences)
            for copy in copies:
                stands += self._add(copy, inside, fixed)
        for leaf in folded.operands:
            del self._nodes[leaf]
        for cls in {self._given.node_class[leaf] for leaf in folded.operands}:
            self._classes[cls] = [e for e in self._classes[cls] if not self._is_meaningless(e)]
        self._unite([(cls, self._nodes[node]) for cls, node in stands])
        return self._whole()

    def _is_meaningless(self, enode: ENode) -> bool:
        return enode.op == "leaf" and int(enode.fields[0]) >= self._folded.first_leaf

    def _made_of(self, leaves: Container[int], recurrences: Container[int]) -> set[int]:
        """Classes with a term of which all leaves, calls and recurrences are among these."""
        out, ready = set[int](), list[int]()
        readers: dict[int, list[tuple[int, list[int]]]] = {}
        for cls, enodes in self._given.classes.items():
            for e in enodes:
                if not _is_among(e, leaves, recurrences):
                    continue
                kids = set(e.kids)
                if not kids:
                    ready.append(cls)
                left = [len(kids)]
                for kid in kids:
                    readers.setdefault(kid, []).append((cls, left))
        while ready:
            cls = ready.pop()
            if cls in out:
                continue
            out.add(cls)
            for reader, left in readers.get(cls, ()):
                left[0] -= 1
                if not left[0]:
                    ready.append(reader)
        return out

    def _add(self, copy: Copy, inside: set[int], fixed: set[int]) -> list[tuple[int, int]]:
        """Classes of a copy; returns its classes of leaves without a meaning, and their nodes.

        What is made of nothing that moves is the same in all copies.
        """
        given, folded = self._given, self._folded
        numbered = enumerate(sorted(inside - fixed), self._next)
        of = {cls: number for number, cls in numbered}
        self._next += len(of)
        leaves = {*copy.leaves, *map(folded.number, copy.operands)} | folded.leaves
        recurrences = copy.recurrences.keys() | folded.recurrences
        for cls, mine in of.items():
            self._dom[mine] = given.dom[cls]
            self._dtype[mine] = given.dtype[cls]
            made = self._classes.setdefault(mine, [])
            for e in given.classes[cls]:
                if inside.issuperset(e.kids) and _is_among(e, leaves, recurrences):
                    renamed = _renamed(e, copy, of)
                    if not self._is_meaningless(renamed):
                        made.append(renamed)
                    if why := given.origins.get((e.op, e.fields)):
                        self._origins[renamed.op, renamed.fields] = why
        for one, other in copy.nodes.items():
            cls = given.node_class[one]
            self._nodes[other] = of.get(cls, cls)
        for (rec, case), cls in given.definitions.items():
            if rec in copy.recurrences:
                self._definitions[copy.recurrences[rec], case] = of.get(cls, cls)
        self._closed |= {other for one, other in copy.recurrences.items() if one in given.closed}
        operands = ((given.node_class[leaf], node) for leaf, node in copy.operands.items())
        return [(of.get(cls, cls), node) for cls, node in operands]

    def _root(self, cls: int) -> int:
        while cls in self._into:
            cls = self._into[cls]
        return cls

    def _unite(self, pairs: list[tuple[int, int]]) -> None:
        """Unite classes, and those that thereby get the same operator of the same operands."""
        known: dict[tuple[str, tuple[Cell, ...]], int] = {}
        readers: dict[int, list[tuple[int, ENode]]] = {}
        for cls, enodes in self._classes.items():
            for e in enodes:
                known[e.op, e.fields] = cls
                for kid in set(e.kids):
                    readers.setdefault(kid, []).append((cls, e))
        while pairs:
            one, other = map(self._root, pairs.pop())
            if one == other:
                continue
            kept, gone = min(one, other), max(one, other)
            self._into[gone] = kept
            self._dom[kept] &= self._dom.pop(gone)
            moved = readers.pop(gone, [])
            readers.setdefault(kept, []).extend(moved)
            for cls, e in moved:
                same = known.setdefault((e.op, self._fields(e)), cls)
                pairs.append((same, cls))

    def _fields(self, e: ENode) -> tuple[Cell, ...]:
        fields = list(e.fields)
        for k in _TERMS[e.op]:
            fields[k] = self._root(int(fields[k]))
        return tuple(fields)

    def _whole(self) -> EGraph:
        """The e-graph with the classes that are left."""
        root, classes = self._root, dict[int, dict[ENode, None]]()
        for cls, enodes in self._classes.items():
            mine = classes.setdefault(root(cls), {})
            for e in enodes:
                if any(kid in self._into for kid in e.kids):
                    fields = self._fields(e)
                    kids = tuple([int(fields[k]) for k in _TERMS[e.op]])
                    why = self._origins.get((e.op, e.fields))
                    e = ENode(e.op, fields, kids)
                    if why:
                        self._origins.setdefault((e.op, fields), why)
                mine[e] = None
        return replace(
            self._given,
            classes={c: tuple(nodes) for c, nodes in classes.items()},
            dom={c: self._dom[c] for c in classes},
            dtype={c: self._dtype[c] for c in classes},
            node_class={node: root(cls) for node, cls in self._nodes.items()},
            definitions={key: root(cls) for key, cls in self._definitions.items()},
            origins=self._origins,
            closed=frozenset(self._closed),
        )


def _is_among(e: ENode, leaves: Container[int], recurrences: Container[int]) -> bool:
    """Whether the leaf, call or recurrence that an operator names, if it does, is among these."""
    if e.op == "rec":
        return int(e.fields[0]) in recurrences
    return not (e.op == "leaf" or e.op.startswith("host")) or int(e.fields[0]) in leaves


def _renamed(e: ENode, copy: Copy, of: Mapping[int, int]) -> ENode:
    """An operator with the operands and the names of a copy."""
    fields = list(e.fields)
    if e.op == "rec":
        fields[0] = copy.recurrences.get(int(fields[0]), fields[0])
    elif e.op == "leaf" or e.op.startswith("host"):
        fields[0] = copy.leaves.get(int(fields[0]), fields[0])
    kids = tuple([of.get(kid, kid) for kid in e.kids])
    for k, kid in zip(_TERMS[e.op], kids, strict=True):
        fields[k] = kid
    return ENode(e.op, tuple(fields), kids)
