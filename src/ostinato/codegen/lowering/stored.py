"""Where values live: which nodes are stored, under which name, and by which indices."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from ostinato.codegen.ir.changed_elements import NEGATED
from ostinato.codegen.ir.system import Axis, Literal_
from ostinato.codegen.lowering.axis_indices import Component, Digit, Digits, Structure, structure
from ostinato.codegen.lowering.integer_nodes import Affinities
from ostinato.codegen.systems.axes import JUMPING
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.build import order
from ostinato.pdg.functions import POSITIONS, fold_unit
from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.node import (
    MOVES,
    Affine,
    Along,
    Broadcast,
    Case,
    Const,
    Gather,
    Host,
    Input,
    Iota,
    Map,
    Matmul,
    Node,
    Op,
    Part,
    Pdg,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
)
from ostinato.pdg.upper_bound import upper_bound

Point = dict[Dim, Expr]
DEEPEST = 48  # operators in a row that may be one equation
REPEATED = 64  # operators that each of their readers may compute for itself
TESTS = 16  # of them, where elements differ


@dataclass(frozen=True)
class Frame:
    """The indices of one statement: per position of the node, the index of each component."""

    positions: tuple[tuple[tuple[Dim, Component], ...], ...]
    domain: tuple[Dim, ...]

    @property
    def lanes(self) -> frozenset[Dim]:
        return frozenset(i for p in self.positions for i, c in p if c.label == i)

    @property
    def dims(self) -> tuple[Dim, ...]:
        return order({*self.domain, *self.lanes})

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(
            Axis(i, c.size, upper_bound(c.size))
            for p in self.positions
            for i, c in p
            if c.label != i
        )

    def digits(self) -> tuple[Digits, ...]:
        """The statement's own indices, spelled per position."""
        return tuple(tuple(Digit(expr(i), c.size) for i, c in p) for p in self.positions)

    def point(self) -> Point:
        return {d: expr(d) for d in self.domain}


class Places:
    """Stored nodes, their names and their frames, decided once for a whole program."""

    def __init__(
        self, pdg: Pdg, batched: dict[str, tuple[Dim, ...]], separate: frozenset[Dim]
    ) -> None:
        self.pdg, self.batched, self.separate = pdg, batched, separate
        self.nodes = pdg.nodes()
        self.structures: dict[Node, Structure] = {}
        for node in self.nodes:
            lead = batched.get(node.op.name, ()) if isinstance(node.op, Rec) else ()
            inner = [self.structures[a] for a in node.args]
            self.structures[node] = structure(node, inner, lead)
        self.consumers: dict[Node, list[Node]] = {}
        for node in self.nodes:
            for arg in node.args:
                self.consumers.setdefault(arg, []).append(node)
        self.root_uses = Counter(pdg.roots())
        self.axis_names: dict[tuple[str, int, int, Expr], Dim] = {}
        self.axis_sizes: dict[Dim, Expr] = {}
        self.affinities = Affinities()
        self.names: dict[Node, str] = {}
        self.taken: Counter[str] = Counter()
        self.given: set[str] = set()  # the names
        self.frames: dict[Node, Frame] = {}
        self.sliced_draws = self._sliced_draws()
        self.known: dict[Node, bool] = {}  # which nodes are stored
        self.tests: dict[Node, int] = {}  # operators that compare places
        self.sizes: dict[Node, int] = {}  # operators in arithmetic on literals, spelled out
        self.cut = self._cut()
        self.known.clear()

    # ------------------------------------------------------------ which nodes are stored

    def _sliced_draws(self) -> dict[Node, frozenset[Dim]]:
        """Dims over which a draw is read in full: it may then be drawn row by row."""
        out: dict[Node, frozenset[Dim]] = {}
        for node in self.nodes:
            if isinstance(node.op, Read) and isinstance(node.args[0].op, Random):
                full = {
                    d for d, index in node.op.at if index == d.whole and d in node.args[0].domain
                }
                drawn = node.args[0]
                out[drawn] = out.get(drawn, frozenset()) | full
        return out

    def _cut(self) -> frozenset[Node]:
        """The maps that are stored because they would join their readers to a long equation.

        Every later stage walks along an equation, and may be slow on long ones.
        """
        self.cut = frozenset[Node]()
        out: set[Node] = set()
        depth: dict[Node, int] = {}
        for node in self.nodes:
            joined = [a for a in node.args if a not in out and not self.stored(a)]
            depth[node] = 1 + max((depth[a] for a in joined), default=0)
            if depth[node] > DEEPEST and isinstance(node.op, Map | Case):
                out.add(node)
        return frozenset(out)

    def stored(self, node: Node) -> bool:
        """Whether the node becomes a statement of its own."""
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = node in self.cut or self._is_stored(node)
        return found

    def _is_stored(self, node: Node) -> bool:
        match node.op:
            case Read() | Reshape() | Transpose() | Broadcast() | Part() | Affine() | Iota():
                return False
            case Const(values):
                return len(values) > 1
            case Map("stop_gradient"):
                return False
            case Gather() if self.is_elsewhere(node):
                return False
            case Map() | Case():
                return not self._joins_reader(node)
            case Reduce() | Matmul():
                return known_fold(node) is None
            case Gather():
                return not self._is_picked_from(node)
            case _:
                return True

    def is_elsewhere(self, node: Node) -> bool:
        """Whether a gather is a plain read: its index is an expression of places."""
        plain = isinstance(node.op, Gather) and node.op.window is None
        return plain and self.affinities.holds(node.args[1])

    def _is_picked_from(self, node: Node) -> bool:
        """Whether only computed positions of the node are read, so that it moves elements."""

        def picks(reader: Node) -> bool:
            if isinstance(reader.op, Gather):
                return reader.args[0] == node and reader.args[1] != node
            return isinstance(reader.op, MOVES) and self._is_picked_from(reader)

        readers = self.consumers.get(node, [])
        return bool(readers) and not self.root_uses[node] and all(map(picks, readers))

    def _joins_reader(self, node: Node) -> bool:
        """A map with one reader over the same points and elements is part of the reader."""
        if not any(a.domain or a.shape or self.stored(a) for a in node.args):
            size = self.sizes[node] = 1 + sum(self.sizes.get(a, 1) for a in node.args)
            if size <= REPEATED:
                return not self.root_uses[node]  # arithmetic on literals and extents
        if 0 < self._tests_of_places(node) <= TESTS:
            return not self.root_uses[node]
        readers = self.consumers.get(node, [])
        if len(readers) != 1 or self.root_uses[node]:
            return False
        reader = readers[0]
        if isinstance(reader.op, Read):
            return self._is_folded_once(node, reader)
        if reader.args.count(node) != 1 or node.domain != reader.domain:
            return False
        match reader.op:
            case Map() | Case():
                same_places = self.structures[node] == self.structures[reader]
                return node.shape == reader.shape and same_places
            case Reduce(fn, _):
                return fn not in POSITIONS
            case Along(fn, axis):  # what is read once, in order
                jumps = fn in JUMPING and node == reader.args[0]
                return not jumps and _others(node, axis) == _others(reader, axis)
            case _:
                return False

    def _tests_of_places(self, node: Node) -> int:
        """How many operators compare places along axes with what has other axes, or none.

        To compute few of them takes no longer than to read what they give, and shows readers which
        elements they change. 0 for any other value.
        """
        if node not in self.tests:
            self.tests[node] = self._count_tests(node)
        return self.tests[node]

    def _count_tests(self, node: Node) -> int:
        match node.op:
            case Map("and" | "or" | "not"):
                parts = [*map(self._tests_of_places, node.args)]
                return 1 + sum(parts) if all(parts) else 0
            case Map(fn) if fn in NEGATED:
                places = [self.affinities.holds(x) for x in node.args]
                others = [x for x, is_place in zip(node.args, places, strict=True) if not is_place]
                return int(any(places) and all(_repeated(x).shape != node.shape for x in others))
            case Broadcast() | Reshape():
                return self._tests_of_places(node.args[0])
            case _:
                return 0

    def _is_folded_once(self, node: Node, reader: Node) -> bool:
        """Whether a fold takes each point once, over a slice, of what has a second index.

        Such a value, for all pairs of steps, is neither stored nor computed where it is not read.
        """
        assert isinstance(reader.op, Read), f"{reader} is no read"
        folds = self.consumers.get(reader, [])
        each_once = all(isinstance(i, Slice) and d not in reader.domain for d, i in reader.op.at)
        return (
            any(d.steps for d in node.domain)
            and each_once
            and not self.root_uses[reader]
            and [isinstance(f.op, Reduce) and f.op.fn not in POSITIONS for f in folds] == [True]
        )

    # ------------------------------------------------------------ names and indices

    def name(self, node: Node) -> str:
        """A stable identifier: the user's name, or the operator's."""
        if node not in self.names:
            base = node.label or _op_name(node.op)
            base = re.sub(r"\W+", "_", base).strip("_") or "value"
            base = f"v_{base}" if base[0].isdigit() else base
            self.taken[base] += 1
            count = self.taken[base]
            name = base if count == 1 else f"{base}_{count}"
            while name in self.given:
                self.taken[base] += 1
                name = f"{base}_{self.taken[base]}"
            self.names[node] = name
            self.given.add(name)
        return self.names[node]

    def _axis(self, tag: str, place: int, part: int, size: Expr) -> Dim:
        """The axis index for a place and size: equal places share it, so that loops can fuse."""
        key = (tag, place, part, size)
        if key not in self.axis_names:
            index = self.axis_names[key] = Dim(f"a{len(self.axis_names)}")
            self.axis_sizes[index] = size
        return self.axis_names[key]

    def indices(
        self, positions: Structure, used: set[Dim], tag: str = ""
    ) -> tuple[tuple[tuple[Dim, Component], ...], ...]:
        """Assign an index to every component: its label where still free, else an axis."""
        out: list[tuple[tuple[Dim, Component], ...]] = []
        for k, position in enumerate(positions):
            indices: list[tuple[Dim, Component]] = []
            for j, c in enumerate(position):
                index = c.label
                if index is None or index in used:
                    index = self._axis(tag, k - len(positions), j - len(position), c.size)
                used.add(index)
                indices.append((index, c))
            out.append(tuple(indices))
        return tuple(out)

    def lanes(self, frame: Frame) -> frozenset[Dim]:
        """What may run as rows of tiles: former axes, and points that have nothing in common."""
        return frame.lanes | self.separate.intersection(frame.domain)

    def frame(self, node: Node) -> Frame:
        if node not in self.frames:
            shape = self.structures[node]
            self.frames[node] = Frame(self.indices(shape, set(node.domain)), node.domain)
        return self.frames[node]


def _repeated(node: Node) -> Node:
    """What is the same along the axes of a broadcast."""
    while isinstance(node.op, Broadcast):
        (node,) = node.args
    return node


def _others(node: Node, axis: int) -> tuple[Expr, ...]:
    """The sizes of all axes but one."""
    return tuple(s for k, s in enumerate(node.shape) if k - node.rank != axis)


def known_fold(node: Node) -> Literal_ | None:
    """A fold or product over an axis without elements, which is the unit; else None.

    The position of the only element of an axis is known as well.
    """
    match node.op:
        case Reduce(fn, axes):
            is_position = fn in POSITIONS
            unit = 0 if is_position else fold_unit(fn, node.dtype)
            sizes = [node.args[0].shape[axis] for axis in axes]
            is_known = expr(0) in sizes or (is_position and sizes == [expr(1)])
            return Literal_(unit, node.dtype) if is_known else None
        case Matmul() if node.args[0].shape[-1] == expr(0):
            return Literal_(0, node.dtype)
        case _:
            return None


def _op_name(op: Op) -> str:
    match op:
        case Map(fn) | Reduce(fn, _) | Random(fn, _) | Scan(fn):
            return fn
        case Input(name) | Rec(name):
            return name
        case Host(fn=fn):
            return fn
        case Along(fn):
            return AXIS_FUNCTIONS[fn].shown
        case _:
            return type(op).__name__.lower()
