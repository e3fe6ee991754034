"""A saturated e-graph with further copies of parts of which the engine has seen one.

Every class that is made of the leaves of a part has a class in each other copy of it, with the
names of that copy. Leaves without a meaning are then united with what they stand for, and classes
whose operands became equal with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ostinato.rewrite.engine.egglog_session import Cell
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.load.folded_rows import Copy, Folded
from ostinato.rewrite.terms.signature import SIGNATURE

_TERMS = {op: tuple(k for k, c in enumerate(s) if c == "T") for op, s in SIGNATURE.items()}
Keep = Callable[[int, ENode], bool]


class Place(NamedTuple):
    """A class in one copy of a part; the first copy is the one that the engine has seen.

    The number of a class is that of the saturated e-graph. ``part`` is -1 outside of all parts.
    """

    part: int
    copy: int
    cls: int


@dataclass(frozen=True)
class Scope:
    """Which classes of a saturated e-graph belong to a part.

    Those ``inside`` are made of its leaves and of what no part has; of the latter alone are those
    that all copies share.
    """

    inside: frozenset[int]
    shared: frozenset[int]
    leaves: frozenset[int]
    recurrences: frozenset[int]

    def moves(self, cls: int) -> bool:
        """Whether a class is another one in each copy."""
        return cls in self.inside and cls not in self.shared

    def has(self, e: ENode) -> bool:
        """Whether an operator is made of what belongs to the part."""
        return self.inside.issuperset(e.kids) and _is_among(e, self.leaves, self.recurrences)


def scopes(graph: EGraph, folded: Folded) -> tuple[Scope, ...]:
    """The classes of every part."""
    if not folded.parts:
        return ()
    shared = frozenset(_made_of(graph, folded.leaves, folded.recurrences))
    out: list[Scope] = []
    for copies in folded.parts:
        own = {*copies[0].leaves, *map(folded.number, copies[0].operands)}
        leaves, recurrences = folded.leaves | own, folded.recurrences | copies[0].recurrences.keys()
        inside = frozenset(_made_of(graph, leaves, recurrences))
        out.append(Scope(inside, shared, leaves, recurrences))
    return tuple(out)


@dataclass
class Unfolded:
    """An e-graph with some copies of each part.

    ``sources`` says where an e-node comes from, ``united`` which e-nodes became one, by their class
    and operator in the saturated e-graph; ``members`` the places of a class.
    """

    graph: EGraph
    sources: dict[tuple[int, ENode], list[tuple[Place, ENode]]]
    united: set[tuple[int, ENode]]
    members: dict[int, list[Place]]
    classes: dict[Place, int]


@dataclass
class Unfolding:
    """Adds copies to a saturated e-graph.

    ``stands`` gives the node that an operand is, by part and copy (part -1 outside of all);
    ``keep`` chooses e-nodes by their class in the saturated e-graph.
    """

    given: EGraph
    folded: Folded
    scopes: tuple[Scope, ...]
    stands: Callable[[int, int, int], int]
    keep: Keep
    _classes: dict[int, list[tuple[ENode, Place, ENode]]] = field(
        default_factory=dict[int, list[tuple[ENode, Place, ENode]]]
    )
    _places: dict[Place, int] = field(default_factory=dict[Place, int])
    _into: dict[int, int] = field(default_factory=dict[int, int])  # a class -> that it became
    _united: set[tuple[int, ENode]] = field(default_factory=set[tuple[int, ENode]])
    _copied: dict[int, dict[int, list[ENode]]] = field(
        default_factory=dict[int, dict[int, list[ENode]]]
    )

    def __post_init__(self) -> None:
        given = self.given
        self._dom, self._dtype = dict(given.dom), dict(given.dtype)
        self._nodes, self._definitions = dict(given.node_class), dict(given.definitions)
        self._origins, self._closed = dict(given.origins), set(given.closed)
        used = (given.classes, given.shapes, given.shape_class.values())
        self._next = 1 + max(max(each, default=0) for each in used)
        for cls, enodes in given.classes.items():
            place = self._first(cls)
            kept = [e for e in enodes if self.keep(cls, e) and not self._is_meaningless(e)]
            self._classes[cls] = [(e, place, e) for e in kept]
            self._places[place] = cls

    def _first(self, cls: int) -> Place:
        """The place of a class that the engine has seen."""
        part = next((k for k, scope in enumerate(self.scopes) if scope.moves(cls)), -1)
        return Place(part, 0, cls)

    def of(self, kept: Callable[[int], Container[int]]) -> Unfolded:
        """The e-graph with the copies of each part that are kept; copy 0 always is."""
        classes = self.given.node_class
        pairs = [(classes[o], self.stands(-1, 0, n)) for o, n in self.folded.operands.items()]
        for part, copies in enumerate(self.folded.parts):
            for number, copy in enumerate(copies, 1):
                if number in kept(part):
                    pairs += self._add(part, number, copy)
        for leaf in self.folded.operands:
            del self._nodes[leaf]
        self._unite([(cls, self._nodes[node]) for cls, node in pairs])
        return self._whole()

    def _is_meaningless(self, e: ENode) -> bool:
        return e.op == "leaf" and int(e.fields[0]) >= self.folded.first_leaf

    def _add(self, part: int, number: int, copy: Copy) -> list[tuple[int, int]]:
        """Classes of a copy; returns its classes of leaves without a meaning, and their nodes."""
        given = self.given
        moving = self._moving(part)
        of = dict(zip(moving, range(self._next, self._next + len(moving)), strict=True))
        self._next += len(of)
        for cls, mine in of.items():
            self._dom[mine], self._dtype[mine] = given.dom[cls], given.dtype[cls]
            place = Place(part, number, cls)
            self._places[place] = mine
            made = self._classes.setdefault(mine, [])
            for e in moving[cls]:
                renamed = _renamed(e, copy, of)
                made.append((renamed, place, e))
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
        return [(of.get(cls, cls), self.stands(part, number, node)) for cls, node in operands]

    def _moving(self, part: int) -> dict[int, list[ENode]]:
        """The classes of a part that are others in each copy, and what every copy has of them."""
        if part not in self._copied:
            scope = self.scopes[part]
            self._copied[part] = {
                cls: [
                    e
                    for e in self.given.classes[cls]
                    if scope.has(e) and self.keep(cls, e) and not self._is_meaningless(e)
                ]
                for cls in sorted(scope.inside - scope.shared)
            }
        return self._copied[part]

    def _root(self, cls: int) -> int:
        root = cls
        while root in self._into:
            root = self._into[root]
        while cls != root:  # the next way is short
            self._into[cls], cls = root, self._into[cls]
        return root

    def _unite(self, pairs: list[tuple[int, int]]) -> None:
        """Unite classes, and those that thereby get the same operator of the same operands."""
        known: dict[tuple[str, tuple[Cell, ...]], tuple[int, Place, ENode]] = {}
        readers: dict[int, list[tuple[int, ENode, Place, ENode]]] = {}
        for cls, enodes in self._classes.items():
            for e, place, source in enodes:
                known[e.op, e.fields] = (cls, place, source)
                for kid in set(e.kids):
                    readers.setdefault(kid, []).append((cls, e, place, source))
        while pairs:
            one, other = map(self._root, pairs.pop())
            if one == other:
                continue
            # which readers are looked at again: the fewer ones
            gone, kept = sorted((one, other), key=lambda cls: (len(readers.get(cls, ())), -cls))
            self._into[gone] = kept
            self._dom[kept] &= self._dom.pop(gone)
            moved = readers.pop(gone, [])
            readers.setdefault(kept, []).extend(moved)
            for cls, e, place, source in moved:
                same, its, alike = known.setdefault((e.op, self._fields(e)), (cls, place, source))
                if same != cls or its != place:
                    self._united |= {(its.cls, alike), (place.cls, source)}
                pairs.append((same, cls))
        self._name_by_least()

    def _name_by_least(self) -> None:
        """Let the least of united classes be the one that they became."""
        least: dict[int, int] = {}
        united = [(cls, self._root(cls)) for cls in self._into]
        for cls, root in united:
            least[root] = min(cls, least.get(root, root))
        for cls, root in united:
            self._into[cls] = least[root]
        for root, cls in least.items():
            if cls != root:
                self._into[root] = cls
                self._dom[cls] = self._dom.pop(root)
                del self._into[cls]

    def _fields(self, e: ENode) -> tuple[Cell, ...]:
        fields = list(e.fields)
        for k in _TERMS[e.op]:
            fields[k] = self._root(int(fields[k]))
        return tuple(fields)

    def _whole(self) -> Unfolded:
        """The e-graph with the classes that are left."""
        root, classes = self._root, dict[int, dict[ENode, None]]()
        sources: dict[tuple[int, ENode], list[tuple[Place, ENode]]] = {}
        for cls, enodes in self._classes.items():
            at = root(cls)
            mine = classes.setdefault(at, {})
            for e, place, source in enodes:
                if any(kid in self._into for kid in e.kids):
                    e = self._moved(e)
                mine[e] = None
                sources.setdefault((at, e), []).append((place, source))
        members: dict[int, list[Place]] = {}
        for place, cls in self._places.items():
            members.setdefault(root(cls), []).append(place)
        graph = replace(
            self.given,
            classes={c: tuple(nodes) for c, nodes in classes.items()},
            dom={c: self._dom[c] for c in classes},
            dtype={c: self._dtype[c] for c in classes},
            node_class={node: root(cls) for node, cls in self._nodes.items()},
            definitions={key: root(cls) for key, cls in self._definitions.items()},
            origins=self._origins,
            closed=frozenset(self._closed),
        )
        places = {place: root(cls) for place, cls in self._places.items()}
        return Unfolded(graph, sources, self._united, members, places)

    def _moved(self, e: ENode) -> ENode:
        """An operator with the classes that its operands became."""
        fields = self._fields(e)
        why = self._origins.get((e.op, e.fields))
        if why:
            self._origins.setdefault((e.op, fields), why)
        return ENode(e.op, fields, tuple([int(fields[k]) for k in _TERMS[e.op]]))


def _made_of(graph: EGraph, leaves: Container[int], recurrences: Container[int]) -> set[int]:
    """Classes with a term of which all leaves, calls and recurrences are among these."""
    out, ready = set[int](), list[int]()
    readers: dict[int, list[tuple[int, list[int]]]] = {}
    for cls, enodes in graph.classes.items():
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
