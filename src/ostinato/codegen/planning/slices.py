"""Slices: work on arrays that every worker does for its part of the elements.

Between kernels that run in tiles stands work on arrays without tiles, such as sums of the gradients
of groups of tiles, and the steps of an optimizer. All workers do it, each some of the slices of
such arrays along their outermost axis: neighbours in memory, so that no worker writes where another
one fetches ahead. No element depends on who computes it, so results do not; and where one value
after the other is computed at the same element, no worker waits for another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from ostinato.codegen.ir.system import Load, Statement
from ostinato.codegen.ir.tree import Fill, Leaf, Loop, Nest, Path, Tree, active, computed, leaves
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.codegen.masks.kept_elements import limits_of, narrow
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.memory.transposed import transposed_copies
from ostinato.codegen.systems.axes import FEWEST, cut_axis
from ostinato.codegen.target import Target
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import Compare
from ostinato.pdg.index import Dim, Expr, expr

REPEATED = 4  # how often a loop around runs, at least
MEETING = 4  # times the work that is shared elsewhere, where workers would meet for it alone


@dataclass(frozen=True)
class Access:
    """The stored tensors that a tree or a kernel writes and reads, by the owners of their memory.

    Of those that are ``apart`` a slice of it may touch any element, not only those in turn.
    """

    writes: frozenset[str]
    reads: frozenset[str]
    apart: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        return self.writes | self.reads

    def shared(self, other: Access) -> frozenset[str]:
        """What one of two writes and the other touches."""
        return (self.writes & other.all) | (self.reads & other.writes)


@dataclass
class Piece:
    """A tree of a straight run: what it touches, whether slices of it may run at once."""

    tree: Tree
    touched: Access
    is_cut: bool
    group: int = 0  # slices have odd numbers, what is left to one worker has even ones


Group = tuple[bool, tuple[Tree, ...]]


@dataclass(frozen=True)
class Slicer:
    """What may run in slices, among trees with their statements and storage."""

    statements: Mapping[str, Statement]
    storage: Mapping[str, Storage]
    target: Target

    def groups(self, run: Sequence[Tree]) -> list[Group]:
        """A straight run in an order that keeps what is done in slices together.

        Nothing that touches the same memory changes its order, unless both only read.
        """
        pieces = [Piece(t, self.touched(t), self.is_cut(t)) for t in self.apart(run)]
        while True:
            _number(pieces)
            grouped = defaultdict[int, list[Piece]](list)
            for piece in pieces:
                grouped[piece.group].append(piece)
            small = [p for each in grouped.values() if self.is_small(each) for p in each]
            if not any(p.is_cut for p in small):
                break
            for piece in small:
                piece.is_cut = False
        return [
            (number % 2 == 1, tuple(p.tree for p in grouped[number])) for number in sorted(grouped)
        ]

    def shares(self, loop: Loop) -> bool:
        """Whether workers share the steps of a loop that cannot be cut, nor a part of it."""
        if any(map(self.is_cut, self.apart([loop]))):
            return False
        cut = (t for is_sliced, trees in self.groups(loop.body) if is_sliced for t in trees)
        is_much = sum(map(self.work, cut)) >= MEETING * self.target.shared_elements
        return is_much or any(self.shares(t) for t in loop.body if isinstance(t, Loop))

    def is_small(self, group: Sequence[Piece]) -> bool:
        return sum(self.work(p.tree) for p in group) < self.target.shared_elements

    def work(self, tree: Tree) -> int:
        """The elements that a tree computes, but for what is done at one step of a loop only."""
        return sum(
            self.elements(leaf, path) for leaf, path, _ in leaves((tree,)) if isinstance(leaf, Nest)
        )

    def elements(self, nest: Nest, path: Path) -> int:
        """The elements that a nest changes in the clause in which it changes the most."""
        most = 0
        for clause, cond in enumerate(nest.conds):
            if any(isinstance(c, Compare) and c.kind == "eq" for c in conjuncts(cond)):
                continue
            few = narrow(limits_of(nest, clause, self.statements, self.storage))
            each = len(nest.moving(clause)) * REPEATED ** len(path)
            for axis in nest.axes:
                if axis.index not in few:
                    each *= axis.pad.const if axis.pad.is_const else FEWEST
            most = max(most, each)
        return most

    def apart(self, run: Sequence[Tree]) -> Iterator[Tree]:
        """The trees, loops of which only a part can be cut as two where these are independent."""
        for tree in run:
            if not isinstance(tree, Loop) or tree.parallel:
                yield tree
                continue
            cut = tuple(t for t in tree.body if self.is_cut(t))
            rest = tuple(t for t in tree.body if not self.is_cut(t))
            both = cut and rest
            if both and not self.joined(cut).shared(self.joined(rest)):
                yield replace(tree, body=cut)
                yield replace(tree, body=rest)
            else:
                yield tree

    def is_cut(self, tree: Tree) -> bool:
        """Whether slices of a tree may run at once."""
        every = [leaf for leaf, _, _ in leaves((tree,))]
        loops = isinstance(tree, Loop) and any(x.parallel for _, p, _ in leaves((tree,)) for x in p)
        if loops or any(self.lane(leaf) is None for leaf in every):
            return False
        found = self.touched(tree)
        return not found.writes & found.apart

    def joined(self, trees: Sequence[Tree]) -> Access:
        found = [self.touched(t) for t in trees]
        none = frozenset[str]()
        return Access(
            none.union(*(f.writes for f in found)),
            none.union(*(f.reads for f in found)),
            none.union(*(f.apart for f in found)),
        )

    def lane(self, leaf: Leaf) -> Dim | None:
        """The axis of a leaf that is cut: the outermost one, of all that it computes."""
        if isinstance(leaf, Fill):
            axes = self.statements[leaf.tensor].result_axes
        elif isinstance(leaf, Nest) and active(leaf):
            axes = leaf.axes
        else:
            return None
        cut = cut_axis(axes)
        own = cut and all(self.is_along(name, cut.index, cut.size) for name in computed(leaf))
        return cut.index if cut and own else None

    def is_along(self, name: str, lane: Dim, size: Expr) -> bool:
        """Whether the outermost axis of what a statement computes is cut, in memory of all."""
        s, storage = self.statements[name], self.storage[name]
        if not s.result_axes or s.result_axes[0].index != lane or storage.place == "local":
            return False
        return not s.fold.startswith("arg") and storage.axes[0].pad == size

    def touched(self, tree: Tree) -> Access:
        """What a tree touches."""
        writes, reads, apart = set[str](), set[str](), set[str]()
        for leaf, _, _ in leaves((tree,)):
            lane = self.lane(leaf)
            mine = {self.storage[n].owner for n in computed(leaf) if self.in_memory(n)}
            writes |= mine
            if lane is None:
                apart |= mine
            if isinstance(leaf, Fill):
                continue
            for load in self.loads(leaf):
                owner = self.storage[load.tensor].owner
                reads.add(owner)
                if lane is None or not self.is_in_turn(load, lane, leaf):
                    apart.add(owner)
        return Access(frozenset(writes), frozenset(reads), frozenset(apart))

    def in_memory(self, name: str) -> bool:
        return self.storage[name].place != "register"

    def loads(self, leaf: Leaf) -> Iterator[Load]:
        """What a leaf reads from memory."""
        for name in computed(leaf):
            yield from (x for x in self.statements[name].reads if self.in_memory(x.tensor))

    def is_in_turn(self, load: Load, lane: Dim, leaf: Leaf) -> bool:
        """Whether a load stays in the slice that is computed.

        It reads the row in turn, or one of the rows that make one slice.
        """
        axes, s = self.storage[load.tensor].axes, self.statements[computed(leaf)[0]]
        if not axes or not axes[0].pad.is_const:
            return False
        size = s.result_axes[0].size.as_int()
        if axes[0].pad.const == size and load.axes[0].as_dim() == lane:
            return True
        rows, rest = divmod(axes[0].pad.const, size)
        inner = (load.axes[0] - expr(lane) * rows).as_dim()
        whole = any(a.index == inner and a.size == expr(rows) for a in s.axes)
        return not rest and whole

    def numbers(self, trees: Sequence[Tree]) -> tuple[int, ...]:
        """For each of some trees that run at once how many slices the parts of workers consist of.

        Trees that touch the same memory have the same boundaries, those of the shortest array.
        """
        joined = [[k] for k in range(len(trees))]  # of each tree, all that it is joined with
        for k, before in enumerate(conflicts([self.touched(t) for t in trees])):
            for few, many in (sorted((joined[j], joined[k]), key=len) for j in before):
                if few is not many:
                    many += few
                    for member in few:
                        joined[member] = many
        most = [self.most(t) for t in trees]
        whole = {id(each): gcd(*(most[k] for k in each)) for each in joined}
        return tuple(whole[id(each)] for each in joined)

    def most(self, tree: Tree) -> int:
        """The slices that every array of a tree has; squares that are transposed are not cut."""
        out = 0
        for leaf, _, _ in leaves((tree,)):
            axes = self.statements[computed(leaf)[0]].result_axes
            size = (leaf.axes if isinstance(leaf, Nest) else axes)[0].size.as_int()
            out = gcd(out, size // SQUARE if self.has_squares(leaf, size) else size)
        return out

    def has_squares(self, leaf: Leaf, size: int) -> bool:
        """Whether a leaf transposes squares, at least as many beside each other as slices."""
        if not isinstance(leaf, Nest) or size % (FEWEST * SQUARE):
            return False
        clauses = range(len(leaf.conds))
        return any(transposed_copies(leaf, k, self.statements, self.storage) for k in clauses)


def _number(pieces: Sequence[Piece]) -> None:
    """Give every piece the first group in which it comes after what it has to follow."""
    for before, piece in zip(conflicts([p.touched for p in pieces]), pieces, strict=True):
        first = int(piece.is_cut)
        for other in (pieces[k] for k in before):
            shared = piece.touched.shared(other.touched)
            apart = shared & (piece.touched.apart | other.touched.apart)
            together = piece.is_cut == other.is_cut and not (piece.is_cut and apart)
            first = max(first, other.group + (0 if together else 1))
        piece.group = first + (first % 2 != int(piece.is_cut))


def conflicts(touched: Sequence[Access]) -> Iterator[list[int]]:
    """For each tree the ones before that share with it what one of the two writes."""
    writers, users = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for k, one in enumerate(touched):
        found = {j for name in one.writes for j in users[name]}
        found |= {j for name in one.reads for j in writers[name]}
        yield sorted(found)
        for name in one.writes:
            writers[name].append(k)
        for name in one.writes | one.reads:
            users[name].append(k)
