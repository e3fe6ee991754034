"""The rows of a program with one copy of each part that repeats; the others follow by renaming.

What holds of terms holds whatever their leaves are, as far as the facts about these go. So rules
need to see one copy of a part only, whose operands from outside are leaves without a meaning: what
they learn is true of every other copy, with other names. `ostinato.rewrite.extract.unfolded` writes
the names in.

A part is folded where renaming takes each fact about it, and each definition of its recurrences,
to one of the program. An operand is left as it is where all copies share it, and it depends on no
copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce

from ostinato.pdg.scc import closed
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.repeats import Fact, Names, Part, kinds_of, names_of, repeated_parts
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.terms.signature import SIGNATURE

LEAST_SAVED = 256  # rows of nodes: what is saved by less costs as much to find


@dataclass(frozen=True)
class Copy:
    """The names that a copy has for what the rows have for another: nodes, leaves, recurrences.

    ``operands`` are the nodes that its leaves without a meaning stand for.
    """

    nodes: Mapping[int, int]
    operands: Mapping[int, int]
    leaves: Mapping[int, int]
    recurrences: Mapping[int, int]


@dataclass(frozen=True)
class Folded:
    """Rows for the engine, and what they stand for.

    ``parts`` has the other copies of each part, ``operands`` the nodes that leaves without a
    meaning stand for outside of these; ``leaves`` and ``recurrences`` depend on no copy. Nodes from
    ``first`` on are leaves without a meaning, and those from ``first_leaf`` on their numbers.
    """

    rows: Mapping[str, Sequence[Row]]
    first: int
    first_leaf: int
    parts: tuple[tuple[Copy, ...], ...] = ()
    operands: Mapping[int, int] = field(default_factory=dict[int, int])
    leaves: frozenset[int] = frozenset()
    recurrences: frozenset[int] = frozenset()

    def number(self, node: int) -> int:
        """The number of a leaf without a meaning among the leaves."""
        return node - self.first + self.first_leaf


def whole(loaded: Loaded) -> Folded:
    """The rows of a program as they are."""
    return Folded(loaded.rows, loaded.count, len(loaded.tables.leaves))


def folded(loaded: Loaded) -> Folded:
    """The rows of a program with one copy of each part; all of them where few would be saved."""
    names = names_of(loaded.rows)
    if len(names.operations) < 2 * LEAST_SAVED:
        return whole(loaded)
    found = (_alike(loaded, names, part) for part in repeated_parts(loaded, names))
    parts = tuple(part for part in found if len(part) > 1)
    if sum(sum(map(len, part[1:])) for part in parts) < LEAST_SAVED:
        return whole(loaded)
    return _Folding(loaded, names, parts).folded()


class _Renaming:
    """What a copy calls the nodes, leaves and recurrences of the first one."""

    def __init__(self, loaded: Loaded, names: Names, first: Sequence[int], copy: Sequence[int]):
        self.nodes = dict(zip(first, copy, strict=True))
        self.leaves: dict[int, int] = {}
        self.recurrences: dict[int, int] = {}
        twins = {ids[0]: ids for ids in loaded.twins.values()}
        self.is_possible = True
        for one, other in self.nodes.items():
            mine, its = names.operations[one].leaf, names.operations[other].leaf
            if names.operations[one].op != "rec":
                if mine >= 0:
                    self.leaves[mine] = its
                continue
            self.is_possible &= len(twins[mine]) == len(twins[its])
            self.recurrences.update(zip(twins[mine], twins[its], strict=False))

    def of(self, kind: str, cell: int | float | str) -> int | float | str:
        known = {"term": self.nodes, "leaf": self.leaves, "recurrence": self.recurrences}
        return known[kind].get(int(cell), cell) if kind in known else cell

    def moved(self, names: Names) -> dict[tuple[str, Row], None]:
        """The rows about several things that name one that has another name in the copy."""
        known = (("term", self.nodes), ("leaf", self.leaves), ("recurrence", self.recurrences))
        return {
            said: None
            for kind, others in known
            for one, other in others.items()
            if one != other
            for said in names.naming.get((kind, one), ())
        }

    def row(self, relation: str, row: Row) -> Row:
        pairs = zip(kinds_of(relation), row, strict=True)
        return tuple(self.of(kind, cell) for kind, cell in pairs)


def _slots(names: Names, part: Part) -> set[tuple[int, ...]]:
    """The operands from outside that copies have in the same place, where they are not one."""
    rows = set(zip(*part, strict=True))
    kids = ([names.operations[node].kids for node in nodes] for nodes in rows)
    slots = {slot for each in kids for slot in zip(*each, strict=True)}
    return {slot for slot in slots - rows if len(set(slot)) > 1}


def _is_typed(names: Names, nodes: Sequence[int]) -> bool:
    """Whether nodes have one type and one shape."""
    known = {relation for relation, _, _ in _common(names, nodes)}
    return known >= {"raw_dtype", "raw_facts"}


def _alike(loaded: Loaded, names: Names, part: Part) -> Part:
    """The copies of a part that have in common what is known of them.

    What is known of a recurrence is its equations: it is an operand if they are not in the part.
    """
    middle = part[len(part) // 2]
    roots: dict[int, set[int]] = {}
    for rec, _, root in loaded.rows.get("raw_define", ()):
        roots.setdefault(int(rec), set()).add(int(root))
    place = [{node: k for k, node in enumerate(copy)} for copy in part]

    def is_whole(k: int) -> bool:
        """Whether the equations of what copies have here are in the copy, or shared by all."""
        found = [names.operations[copy[k]] for copy in part]
        if found[0].op != "rec":
            return True
        inside = [
            {at.get(n, -n - 1) for n in roots.get(x.leaf, ())}
            for at, x in zip(place, found, strict=True)
        ]
        return all(each == inside[0] for each in inside)

    kept = [k for k in range(len(middle)) if is_whole(k)]
    copies = [tuple(copy[k] for k in kept) for copy in part]
    middle = copies[len(copies) // 2]
    alike = [copy for copy in copies if copy is middle or _is_alike(loaded, names, middle, copy)]
    if all(copy is alike[0] or _is_alike(loaded, names, alike[0], copy) for copy in alike):
        return tuple(alike)
    return ()


def _is_alike(loaded: Loaded, names: Names, one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether renaming takes what is known of several things of a copy to what is known."""
    if any(not _is_typed(names, slot) for slot in _slots(names, (tuple(one), tuple(other)))):
        return False
    renaming = _Renaming(loaded, names, one, other)
    if not renaming.is_possible or not _is_carried_alike(loaded, renaming):
        return False
    for relation, row in renaming.moved(names):
        if relation == "raw_define" and int(row[0]) not in renaming.recurrences:
            continue  # says what another recurrence is, and nothing of what it is made of
        if (relation, renaming.row(relation, row)) not in names.others:
            return False
    return True


def _is_carried_alike(loaded: Loaded, renaming: _Renaming) -> bool:
    """Whether loops carry the recurrences of both copies alike: a term may be legal in both."""
    recs = loaded.tables.recs
    name = {recs[r].name: recs[other].name for r, other in renaming.recurrences.items()}

    @cache
    def renamed(group: frozenset[tuple[str, int]]) -> set[tuple[str, int]]:
        return {(name.get(n, n), k) for n, k in group}

    for (mine, case), chain in loaded.chains.items():
        if mine not in name:
            continue
        its = loaded.chains.get((name[mine], case), ())
        if [(c.dim, c.sign) for c in chain] != [(c.dim, c.sign) for c in its]:
            return False
        for c, d in zip(chain, its, strict=True):
            if d.group != c.group and d.group != renamed(c.group):
                return False
    return True


def _common(names: Names, nodes: Sequence[int]) -> list[Fact]:
    """What is known of all nodes; what they depend on, or should be an axis, taken together."""
    out: list[Fact] = []
    others = [set(names.facts.get(node, ())) for node in nodes[1:]]
    for fact in names.facts.get(nodes[0], ()):
        relation, at, cells = fact
        if relation in _MASKS:
            same = [cells, *(c for known in others for r, _, c in known if r == relation)]
            masks = [int(c[0]) for c in same if c[1:] == cells[1:]]
            if len(masks) == len(nodes):
                out.append((relation, at, (reduce(_MASKS[relation], masks), *cells[1:])))
        elif all(fact in known for known in others):
            out.append(fact)
    return out


_MASKS: Mapping[str, Callable[[int, int], int]] = {
    "raw_facts": int.__or__, "raw_want": int.__or__, "raw_free": int.__and__,
}  # fmt: skip


class _Folding:
    """The rows of a program without the copies of its parts."""

    def __init__(self, loaded: Loaded, names: Names, parts: Sequence[Part]) -> None:
        self._loaded, self._names, self._parts = loaded, names, parts
        self._first, self._first_leaf = loaded.count, len(loaded.tables.leaves)
        self._made = 0  # leaves without a meaning
        self._rows: dict[str, list[Row]] = {}
        self._operands: dict[int, int] = {}
        self._copied = {node for part in parts for copy in part for node in copy}
        self._dropped = {node for part in parts for copy in part[1:] for node in copy}
        self._tied = self._tied_to_copies()
        self._stands: dict[int, int] = {}  # a dropped node -> its leaf

    def folded(self) -> Folded:
        parts = tuple(self._part(part) for part in self._parts)
        gone = {r for copies in parts for copy in copies for r in copy.recurrences.values()}
        for relation, table in self._loaded.rows.items():
            self._keep(relation, table, gone)
        operations = self._names.operations.items()
        free = [(node, x) for node, x in operations if node not in self._tied]
        twins = {ids[0]: ids for ids in self._loaded.twins.values()}
        return Folded(
            self._rows,
            self._first,
            self._first_leaf,
            parts,
            self._operands,
            frozenset(x.leaf for _, x in free if x.op != "rec" and x.leaf >= 0),
            frozenset(r for _, x in free if x.op == "rec" for r in twins[x.leaf]),
        )

    def _tied_to_copies(self) -> set[int]:
        """Nodes that a copy makes a part of what they are, recurrences by their equations."""
        readers: dict[int, list[int]] = {}
        recurrences: dict[int, list[int]] = {}
        for node, operation in self._names.operations.items():
            for kid in operation.kids:
                readers.setdefault(kid, []).append(node)
            if operation.op == "rec":
                recurrences.setdefault(operation.leaf, []).append(node)
        for rec, _, root in self._loaded.rows.get("raw_define", ()):
            readers.setdefault(int(root), []).extend(recurrences.get(int(rec), ()))
        return closed(self._copied, lambda node: readers.get(node, ()))

    def _part(self, part: Part) -> tuple[Copy, ...]:
        """Rows of the first copy; returns what the others call its nodes."""
        renamings = [_Renaming(self._loaded, self._names, part[0], copy) for copy in part[1:]]
        inside = {node: k for k, node in enumerate(part[0])}
        operands: dict[tuple[int, ...], int] = {}
        for node, *others in zip(*part, strict=True):
            operation = self._names.operations[node]
            across = zip(
                operation.kids, *(self._names.operations[o].kids for o in others), strict=True
            )
            kids: list[int] = []
            for kid, *its in across:
                own = [r.nodes.get(kid) for r in renamings]
                if kid in inside and own == its or kid not in self._tied and set(its) == {kid}:
                    kids.append(kid)
                    continue
                key = (kid, *its)
                if key not in operands:
                    operands[key] = self._leaf(key)
                kids.append(operands[key])
            self._operation(node, kids)
        self._operands.update({leaf: key[0] for key, leaf in operands.items()})
        return tuple(
            Copy(r.nodes, {leaf: key[k] for key, leaf in operands.items()}, r.leaves, r.recurrences)
            for k, r in enumerate(renamings, 1)
        )

    def _leaf(self, nodes: Sequence[int]) -> int:
        """A leaf of which is known what is known of all these nodes."""
        leaf = self._first + self._made
        self._rows.setdefault("raw_leaf", []).append((leaf, self._first_leaf + self._made))
        self._made += 1
        for relation, at, cells in _common(self._names, nodes):
            self._rows.setdefault(relation, []).append((*cells[:at], leaf, *cells[at:]))
        return leaf

    def _operation(self, node: int, kids: Sequence[int]) -> None:
        """The row of a node with other operands."""
        operation = self._names.operations[node]
        relation = f"raw_{operation.op}"
        operands, fields = iter(kids), iter(operation.fields)
        row = [
            next(operands) if kind == "term" else operation.leaf
            if kind in ("leaf", "recurrence") else next(fields)
            for kind in kinds_of(relation)[1:]
        ]  # fmt: skip
        self._rows.setdefault(relation, []).append((node, *row))

    def _keep(self, relation: str, table: Sequence[Row], gone: set[int]) -> None:
        """The rows about what is outside of the copies, and facts about the first ones."""
        kinds = kinds_of(relation)
        terms = [k for k, kind in enumerate(kinds) if kind == "term"]
        recurrences = [k for k, kind in enumerate(kinds) if kind == "recurrence"]
        is_operation = relation.removeprefix("raw_") in SIGNATURE and bool(terms)
        kept = self._rows.setdefault(relation, [])
        for row in table:
            if is_operation and row[0] in self._copied:
                continue  # another one was written, or none
            if any(row[k] in gone for k in recurrences):
                continue
            dropped = [k for k in terms if row[k] in self._dropped]
            if dropped and len(dropped) == len(terms) and not (is_operation or recurrences):
                continue  # as true of the first copy
            cells = list(row)
            for k in dropped:
                cells[k] = self._standing(int(row[k]))
            kept.append(tuple(cells))

    def _standing(self, node: int) -> int:
        """The leaf that stands for a node of another copy."""
        if node not in self._stands:
            self._stands[node] = leaf = self._leaf((node,))
            self._operands[leaf] = node
        return self._stands[node]
