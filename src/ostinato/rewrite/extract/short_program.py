"""Choosing terms for a program of many equal parts as if it had few copies of each.

The first and the last copies of a part have other neighbours than those between, of which one
stands for all: three copies where each reads the one before it, five where each reads the last two.
What is chosen there is written down for the others with their names. Every class takes the term
that was chosen in the copy that computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace

from ostinato.pdg.node import UNSEEN, Affine, Const, Iota, Node, postorder
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.extract.choose import Selection, Terms
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.unfolded import Place, Unfolded, Unfolding, scopes
from ostinato.rewrite.load.folded_rows import Folded
from ostinato.rewrite.load.repeats import kinds_of
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.terms.signature import SIGNATURE


class Differs(Exception):
    """A copy between has no term like the one that stands for it."""


@dataclass(frozen=True)
class _Owner:
    """The copy that a node belongs to, and what the first copy calls it."""

    part: int
    copy: int
    first: int


class ShortProgram:
    """A saturated e-graph with few copies of each part, and the program of these alone."""

    def __init__(self, given: EGraph, folded: Folded, loaded: Loaded, is_short: bool = True):
        self._given, self._folded, self._whole = given, folded, loaded
        self._is_short = is_short
        self._scopes = scopes(given, folded)
        self._counts = [1 + len(copies) for copies in folded.parts]
        self._owners = dict(self._owned())
        self._reach = [self._reached(part) for part in range(len(self._counts))]
        self.graph, self.loaded = given, loaded
        if folded.parts:
            self._short = self._unfolding(lambda cls, e: True, self._standing).of(self._kept)
            self.graph = self._short.graph
        if self.is_shorter:
            self.loaded = self._short_loaded()

    @property
    def is_shorter(self) -> bool:
        """Whether some part has copies that were left out."""
        return any(len(self._kept(part)) < count for part, count in enumerate(self._counts))

    def times(self, node: int) -> int:
        """How many nodes of the program a node of the short one stands for; 0 if it is none."""
        owner = self._owners.get(node)
        if owner is None:
            return 1
        kept, count = self._kept(owner.part), self._counts[owner.part]
        if owner.copy not in kept:
            return 0
        return 1 + count - len(kept) if owner.copy == self._reach[owner.part] else 1

    def expanded(self, chosen: Selection) -> tuple[EGraph, Selection]:
        """The chosen terms for all copies, and an e-graph that has them.

        Errors: Differs.
        """
        if not self.is_shorter:
            return self.graph, chosen
        short, used = self._short, set(self._short.united)
        classes = {item.cls for item in chosen.terms.items}
        for item in chosen.terms.items:
            found = short.sources.get((item.cls, item.enode))
            if found is None:  # as it is written, where the graph has it no more
                raise Differs
            used |= {(place.cls, source) for place, source in found}
        for cls in classes:  # they have the names of what they are parts of
            for e in short.graph.classes[cls]:
                if e.op == "sl":
                    used |= {(place.cls, source) for place, source in short.sources[cls, e]}
        keep = self._unfolding(lambda cls, e: (cls, e) in used, _itself)
        full = keep.of(self._all)
        terms = _Expansion(self, short, full, chosen).selection()
        return full.graph, terms

    def _unfolding(
        self, keep: Callable[[int, ENode], bool], stands: Callable[[int, int, int], int]
    ) -> Unfolding:
        return Unfolding(self._given, self._folded, self._scopes, stands, keep)

    def _kept(self, part: int) -> Sequence[int]:
        count = self._counts[part]
        reach = self._reach[part]
        if not self._is_short or count <= 2 * reach + 1:
            return range(count)
        return (*range(reach + 1), *range(count - reach, count))

    def _reached(self, part: int) -> int:
        """How many copies away the operands of a copy are, at most, but no less than one.

        So many copies at either end have other neighbours than those between.
        """
        copies = self._folded.parts[part]
        first = {leaf: self._folded.operands[leaf] for leaf in copies[0].operands}
        away = [1]
        for number, operands in enumerate([first, *(copy.operands for copy in copies)]):
            owners = map(self._owners.get, operands.values())
            away += [abs(o.copy - number) for o in owners if o is not None and o.part == part]
        return max(away)

    def _all(self, part: int) -> Sequence[int]:
        return range(self._counts[part])

    def place(self, place: Place) -> Place:
        """The place of the short program that stands for one of the whole program."""
        if place.part < 0 or place.copy in self._kept(place.part):
            return place
        return place._replace(copy=self._reach[place.part])

    def _owned(self) -> Iterator[tuple[int, _Owner]]:
        for part, copies in enumerate(self._folded.parts):
            for first in copies[0].nodes:
                yield first, _Owner(part, 0, first)
            for number, copy in enumerate(copies, 1):
                for first, node in copy.nodes.items():
                    yield node, _Owner(part, number, first)

    def _standing(self, part: int, copy: int, node: int) -> int:
        """The operand of a kept copy: what was left out between copies is passed over."""
        owner = self._owners.get(node)
        if owner is None or owner.copy in self._kept(owner.part):
            return node
        number = self._reach[owner.part]
        if owner.part == part:
            kept = self._kept(part)
            number = kept[kept.index(copy) + owner.copy - copy]
        first = owner.first
        return self._folded.parts[owner.part][number - 1].nodes[first] if number else first

    def _short_loaded(self) -> Loaded:
        """What loading found, of the program without the copies that are left out."""
        whole, gone = self._whole, set[int]()
        for part, copies in enumerate(self._folded.parts):
            for number, copy in enumerate(copies, 1):
                if number not in self._kept(part):
                    gone |= set(copy.recurrences.values())
        twins = {name: ids for name, ids in whole.twins.items() if ids[0] not in gone}
        ids = {node: number for node, number in whole.ids.items() if self.times(number)}
        outputs = tuple((name, node) for name, node in whole.pdg.outputs if node in ids)
        outputs += tuple((UNSEEN + str(k), node) for k, node in enumerate(self._literals()))
        rows = {
            relation: self._short_rows(relation, table, gone)
            if relation == "raw_define" or relation.removeprefix("raw_") in SIGNATURE
            else table
            for relation, table in whole.rows.items()
        }
        chains = {vertex: chain for vertex, chain in whole.chains.items() if vertex[0] in twins}
        pdg = replace(whole.pdg, outputs=outputs)
        return replace(whole, pdg=pdg, chains=chains, twins=twins, ids=ids, rows=rows)

    def _literals(self) -> list[Node]:
        """What copies that are left out read, made of literals and indices: it is in no copy.

        Each has a term of its own, chosen as that of an output is; it is legal anywhere.
        """
        node_of = {number: node for node, number in self._whole.ids.items()}
        read = {
            node_of[number]: None
            for part, copies in enumerate(self._folded.parts)
            for copy, names in enumerate(copies, 1)
            if copy not in self._kept(part)
            for number in names.operands.values()
            if number in node_of and number not in self._owners
        }
        return [node for node in read if all(map(_is_literal, postorder((node,))))]

    def _short_rows(self, relation: str, table: Sequence[Row], gone: Container[int]) -> list[Row]:
        """The rows of nodes, or of definitions, that are not left out."""
        out: list[Row] = []
        terms = [k for k, kind in enumerate(kinds_of(relation)) if kind == "term"]
        for row in table:
            if relation == "raw_define":
                if int(row[0]) in gone:
                    continue
                owner = None
            elif not self.times(int(row[0])):
                continue
            else:
                owner = self._owners.get(int(row[0]))
            part, copy = (owner.part, owner.copy) if owner else (-1, 0)
            cells = list(row)
            for k in terms:
                cells[k] = self._standing(part, copy, int(row[k]))
            out.append(tuple(cells))
        return out

    def recurrences(self) -> Iterator[tuple[int, int]]:
        """Recurrences that were left out, after those that stand for them."""
        for part, copies in enumerate(self._folded.parts):
            for number, copy in enumerate(copies, 1):
                if number not in self._kept(part):
                    for first, other in copy.recurrences.items():
                        yield copies[self._reach[part] - 1].recurrences[first], other

    def roots(
        self, full: EGraph, chosen: Selection
    ) -> tuple[list[int], dict[tuple[int, int], int]]:
        """The classes of the outputs, and of the definitions of recurrences in use."""
        ids = self._whole.ids
        outputs = [full.node_class[ids[node]] for _, node in self._whole.pdg.outputs]
        alike: dict[int, list[int]] = {}
        for one, other in self.recurrences():
            alike.setdefault(one, [one]).append(other)
        names = [(r, k) for rec, k in chosen.definitions for r in alike.get(rec, [rec])]
        return outputs, {name: full.definitions[name] for name in sorted(names)}


def _is_literal(node: Node) -> bool:
    """Whether what is computed of literals and indices only may contain a node."""
    return bool(node.args) or isinstance(node.op, Const | Affine | Iota)


def _itself(part: int, copy: int, node: int) -> int:
    return node


class _Expansion:
    """Terms of a whole program by those that were chosen for the short one."""

    def __init__(self, program: ShortProgram, short: Unfolded, full: Unfolded, chosen: Selection):
        self._program, self._short, self._full, self._chosen = program, short, full, chosen
        self._of: dict[int, list[int]] = {}  # class of the short program -> chosen terms
        roots = [*chosen.outputs, *chosen.definitions.values()]
        for number in chosen.terms.reachable(roots):
            self._of.setdefault(chosen.terms.items[number].cls, []).append(number)
        self._made = {
            source: (cls, e) for (cls, e), sources in full.sources.items() for source in sources
        }
        self._terms = Terms()
        self._built: dict[tuple[int, int], int] = {}  # class, term of the short program

    def selection(self) -> Selection:
        outputs, definitions = self._program.roots(self._full.graph, self._chosen)
        return replace(
            self._chosen,
            terms=self._terms,
            outputs=tuple(map(self._term, outputs)),
            definitions={name: self._term(cls) for name, cls in definitions.items()},
        )

    def _like(self, cls: int, hint: int) -> tuple[int, ENode]:
        """The term of the short program for a class, the hinted one if it may be, and its e-node.

        Errors: Differs.
        """
        found: tuple[int, ENode] | None = None
        for place in self._full.members[cls]:
            standing = self._program.place(place)
            at = self._short.classes[standing]
            for number in self._of.get(at, ()):
                for made, source in self._short.sources[at, self._chosen.terms.items[number].enode]:
                    if made == standing and (found is None or number == hint):
                        found = number, self._made[place, source][1]
        if found is None:
            raise Differs
        return found

    def _term(self, root: int) -> int:
        like = self._like(root, -1)
        stack = [(root, *like)]
        while stack:
            cls, number, e = stack[-1]
            if (cls, number) in self._built:
                stack.pop()
                continue
            hints = self._chosen.terms.items[number].kids
            kids = [(k, *self._like(k, h)) for k, h in zip(e.kids, hints, strict=True)]
            pending = [kid for kid in kids if kid[:2] not in self._built]
            if not pending:
                stack.pop()
                operands = tuple(self._built[kid[:2]] for kid in kids)
                self._built[cls, number] = self._terms.add(e, cls, operands)
            elif len(stack) > len(self._made):
                raise Differs  # terms that were chosen at different places go round in a circle
            stack.extend(pending)
        return self._built[root, like[0]]
