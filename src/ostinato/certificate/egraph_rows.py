"""A source program and extracted terms as rows of one e-graph, written by the verifier itself.

Both use the numbers of one table, so that equal leaves, index expressions and shapes are one thing.
The recurrences of the source are leaves without a meaning. A recurrence with axes is *defined*
here: it is the source's recurrence at all points of those dimensions. What the extracted program
says about it has to follow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never, cast

from ostinato.certificate.document import Hints
from ostinato.certificate.extracted_terms import Recurrent, Term
from ostinato.certificate.index_facts import Attribute, Numbers, attribute_rows, threshold
from ostinato.certificate.position_facts import position_rows
from ostinato.certificate.range_facts import RANGES
from ostinato.certificate.recurrence_facts import first_steps, free_operands, only_zeros
from ostinato.pdg.build import affine, concat, const, iota
from ostinato.pdg.condition import Compare, Every
from ostinato.pdg.constant import as_real
from ostinato.pdg.functions import NUMBERS, POSITIONS, fold_unit
from ostinato.pdg.index import Dim, Expr, Index, Slice, expr, minimum
from ostinato.pdg.node import (
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Dtype,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
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
    postorder,
)
from ostinato.pdg.truth import truth
from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.terms.signature import SIGNATURE

Cell = int | str
_Leaf = tuple[Op, tuple[Dim, ...], tuple[Expr, ...], str]


@dataclass
class Rows:
    """Rows by relation, and the numbers of what they name."""

    numbers: Numbers
    table: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    nodes: dict[Node, int] = field(default_factory=dict[Node, int])
    recurrences: dict[Recurrent, int] = field(default_factory=dict[Recurrent, int])
    _leaves: dict[_Leaf, int] = field(default_factory=dict[_Leaf, int])
    _shapes: dict[tuple[Expr, ...], int] = field(default_factory=dict[tuple[Expr, ...], int])
    _count: int = 0

    def add(self, relation: str, *cells: Cell) -> None:
        self.table.setdefault(relation, []).append(cells)

    def term(self, op: str, *cells: Cell) -> int:
        """A new term number for an operator with its fields and operands."""
        self._count += 1
        self.add(f"raw_{op}", self._count, *cells)
        return self._count

    def shape(self, sizes: tuple[Expr, ...]) -> int:
        found = self._shapes.get(sizes)
        if found is None:
            rest = self.shape(sizes[1:]) if sizes else 0
            found = self._shapes[sizes] = len(self._shapes)
            if sizes:
                self.add("raw_cons", found, self.numbers.of(sizes[0]), rest)
            else:
                self.add("raw_nil", found)
        return found

    def leaf(self, node: Node) -> int:
        """The number of a leaf or call by what it is, whatever its operands are."""
        key = (node.op, node.domain, node.shape, node.dtype)
        return self._leaves.setdefault(key, len(self._leaves))

    def recurrence(self, known: Recurrent) -> int:
        return self.recurrences.setdefault(known, len(self.recurrences))

    def facts(self, number: int, node: Node) -> None:
        """What a node of the program says of its term: type, dimensions and shape."""
        mask = self.numbers.mask(node.domain)
        self.add("raw_facts", number, mask, self.shape(node.shape))
        self.add("raw_dtype", number, node.dtype)
        known = as_real(node.op.values) if isinstance(node.op, Const) else None
        if known is not None:
            self.add("raw_value", number, repr(known))
        if isinstance(node.op, Const) and all(map(math.isfinite, node.op.values)):
            self.add("raw_bounded", number)

    def counters(self) -> list[tuple[int, Expr]]:
        """The leaves ``0 .. size - 1``."""
        ops = ((number, key[0]) for key, number in self._leaves.items())
        return [(number, op.size) for number, op in ops if isinstance(op, Iota)]

    def everything(self) -> dict[str, list[Row]]:
        """All rows, those of the attributes included."""
        known = self.beginnings()  # may name further slices
        self.runs()
        self.elements()
        positions = position_rows(self.nodes, self.numbers, partial(add_node, self))
        about = attribute_rows(self.numbers, self.counters(), RANGES)
        self.lengths()
        starts = self.starts()
        for relation, more in positions.items():
            about[relation] = [*about.get(relation, ()), *more]
        return {
            **self.table,
            **about,
            "raw_known": known,
            "here": self.indices(),
            "starts": starts,
        }

    def runs(self) -> None:
        """Name what lies up to the point, and from it on, where a range begins or ends so."""
        for part in self.numbers.slices():
            for dim in self.numbers.dims:
                if part.lo == expr(0) and part.hi.dims:
                    self.numbers.of(Slice(expr(0), expr(dim) + 1))
                if part.hi == expr(dim.extent) and part.lo.dims:
                    self.numbers.of(Slice(expr(dim), expr(dim.extent)))

    def elements(self) -> None:
        """Note the indices that are asked for alone of axes whose size follows the point.

        Of what is taken by position they are noted for all sizes: it may be in order.
        """
        for node in self.nodes:
            match node.op:
                case Part(axis, Expr() as at):
                    of = node.args[0]
                    if of.shape[axis].dims or isinstance(of.op, Gather):
                        self.numbers.asked[of.shape[axis], at] = None
                case _:
                    pass

    def lengths(self) -> None:
        """The numbers of steps of ranges that follow the point."""
        for part in self.numbers.slices():
            if part.dims:
                self.add("raw_tally", self.numbers.of(part), _add_leaf(self, affine(part.size)))
                self.add("raw_counter", self.numbers.of(part), _add_leaf(self, iota(part.size)))

    def indices(self) -> list[Row]:
        """The leaves that are the index of a dimension."""
        ops = ((number, key[0]) for key, number in self._leaves.items())
        found = ((k, op.of.as_dim()) for k, op in ops if isinstance(op, Affine))
        return [(k, self.numbers.bit(dim)) for k, dim in found if dim is not None]

    def starts(self) -> list[Row]:
        """The leaves that are the first step of a slice, for the dimensions that it follows."""
        ops = [(number, key[0]) for key, number in self._leaves.items()]
        return [
            (self.numbers.bit(dim), self.numbers.of(part), leaf)
            for leaf, op in ops
            for part in self.numbers.slices()
            if isinstance(op, Affine) and part.step == 1 and part.lo == op.of
            for dim in self.numbers.dims
            if dim in part.dims
        ]

    def beginnings(self) -> list[Row]:
        """Choices that hold on the first steps of a dimension: their value and those steps."""
        out: list[Row] = []
        for node in list(self.nodes):
            cond = node.op.cond if isinstance(node.op, Case) else None
            found = threshold(cond) if isinstance(cond, Compare) else None
            if cond is None or found is None or not found[2]:
                continue
            dim, end, _ = found
            if dim in node.args[0].domain:
                steps = self.numbers.of(Slice(expr(0), minimum(end, dim.extent)))
                first = self.nodes[node.args[0]]
                out.append((first, self.numbers.of(cond), self.numbers.bit(dim), steps))
        return out


def add_program(rows: Rows, pdg: Pdg) -> None:
    """Every node of a program, the number one of every type, and shapes of ones."""
    for node in (*pdg.nodes(), *(eq.rec for eq in pdg.equations.values())):
        if node not in rows.nodes:
            rows.nodes[node] = _add_node(rows, node)
    for dtype in NUMBERS:
        if any(node.dtype == dtype for node in rows.nodes):
            rows.add("raw_unit", dtype, _add_leaf(rows, const(1, dtype)))
            rows.add("raw_zero", dtype, _add_leaf(rows, const(0, dtype)))
    folds: dict[tuple[str, Dtype], None] = {
        (n.op.fn, n.dtype): None for n in rows.nodes if isinstance(n.op, Reduce)
    }
    folds |= {("sum", n.dtype): None for n in rows.nodes if isinstance(n.op, Matmul)}
    for fn, dtype in folds:
        if fn not in POSITIONS:
            nothing = const(fold_unit(fn, dtype), dtype)
            rows.add("raw_empty", fn, dtype, _add_leaf(rows, nothing))
    for node in [n for n in rows.nodes if isinstance(n.op, Case)]:
        _add_choice(rows, node)
    most = max(node.rank for node in rows.nodes) + len(rows.numbers.dims)
    for rank in range(1 + most):
        rows.add("raw_ones", rank, rows.shape((expr(1),) * rank))
    _add_steps(rows, pdg)
    _add_distances(rows)


def _add_choice(rows: Rows, node: Node) -> None:
    """The conditions of a choice as truth values.

    Where its values are defined is no matter of equality: `ostinato.pdg.demand.check` sees to that.
    """
    assert isinstance(node.op, Case), f"{node} is no choice"
    for arg in node.args:
        rows.add("raw_gap", rows.nodes[arg], 0)
    conds = node.op.cond.of if isinstance(node.op.cond, Every) else ()
    for cond in (node.op.cond, *conds):
        value = truth(cond)
        if value is None:
            continue
        for x in postorder((value,)):
            if x not in rows.nodes:
                rows.nodes[x] = _add_node(rows, x)
        rows.add("raw_indicator", rows.numbers.of(cond), rows.nodes[value])


def _add_steps(rows: Rows, pdg: Pdg) -> None:
    """What laws of affine steps may ask about the recurrences of a program."""
    n = rows.numbers
    for step in first_steps(pdg):
        for node in postorder((step.right,)):
            if node not in rows.nodes:
                rows.nodes[node] = _add_node(rows, node)
        assert isinstance(step.rec.op, Rec), f"{step.rec} is no recurrence"
        rec, bit = rows.recurrence(Recurrent(step.rec.op.name, ())), n.bit(step.dim)
        cond, reverse = n.of(step.cond), int(step.reverse)
        rows.add("neighbour", rec, bit, n.of(step.before), reverse)
        rows.add("raw_body", rec, cond, rows.nodes[step.start], rows.nodes[step.right])
        if step.is_only:
            rows.add("only", cond, bit, reverse)
        for node in dict.fromkeys(free_operands(step)):
            rows.add("raw_clear", rec, rows.nodes[node])
            rows.add("raw_gone" if only_zeros(node) else "raw_some", rec, rows.nodes[node])


def _add_distances(rows: Rows) -> None:
    """For indices and slices of what follows: the leaves that count the steps of these."""
    for node in list(rows.nodes):
        dim = node.op.of.as_dim() if isinstance(node.op, Affine) else None
        if dim is not None and Slice(expr(dim), expr(dim.extent)) in rows.numbers.known:
            _add_leaf(rows, iota(expr(dim.extent) - dim))


def add_node(rows: Rows, node: Node) -> int:
    """The number of a node that laws need, whose operands are there."""
    if node not in rows.nodes:
        rows.nodes[node] = _add_node(rows, node)
    return rows.nodes[node]


def _add_leaf(rows: Rows, node: Node) -> int:
    if node not in rows.nodes:
        rows.nodes[node] = rows.term("leaf", rows.leaf(node))
        rows.facts(rows.nodes[node], node)
    return rows.nodes[node]


def _add_node(rows: Rows, node: Node) -> int:
    number = _node_term(rows, node, [rows.nodes[a] for a in node.args])
    rows.facts(number, node)
    return number


def _node_term(rows: Rows, node: Node, args: Sequence[int]) -> int:
    """The term of one node; some nodes are several operators of the language."""
    n = rows.numbers
    match node.op:
        case Const((value,)) if node.rank and all(size == expr(1) for size in node.shape):
            number = _add_leaf(rows, const(value, node.dtype))  # a number, and axes of size 1
            return rows.term("reshape", 0, rows.shape(node.shape), number)
        case Input() | Const() | Affine() | Iota() | Random():
            return rows.term("leaf", rows.leaf(node))
        case Rec(name):
            return rows.term("rec", rows.recurrence(Recurrent(name, ())))
        case Host():
            op = f"host{len(args)}" if args else "leaf"
            return rows.term(op, rows.leaf(node), *args)
        case Read(at):
            return _read_term(rows, at, args[0])
        case Map(fn):
            return rows.term(f"map{len(args)}", f"cast:{node.dtype}" if fn == "cast" else fn, *args)
        case Reduce(fn, axes):
            return rows.term("red", fn, sum(1 << -a - 1 for a in axes), *args)
        case Matmul():
            return rows.term("mm", *args)
        case Transpose(perm):
            return (
                rows.term("tr", *args) if perm == (-1, -2) else rows.term("perm", n.of(perm), *args)
            )
        case Reshape(rank, shape):
            return rows.term("reshape", rank, rows.shape(shape), *args)
        case Broadcast(shape):
            return rows.term("bcast", rows.shape(shape), *args)
        case Concat(axis):
            joined = args[0]
            for arg in args[1:]:
                joined = rows.term("cat", -axis, joined, arg)
            return joined
        case Part(axis, at):
            return rows.term("cut" if isinstance(at, Slice) else "part", -axis, n.of(at), *args)
        case Gather(axis):  # compiled programs clamp, and check windows beside the graph
            return rows.term("gather", -axis, *args)
        case Along(fn, axis, size):
            return rows.term(f"along{len(args)}", fn, -axis, n.of(size), *args)
        case Case(cond):
            return rows.term("case", n.of(cond), *args)
        case Scan(fn, dim, reverse):
            return rows.term("running", fn, n.bit(dim), int(reverse), *args)
        case Linear(dim, reverse):
            return rows.term("lin", n.bit(dim), int(reverse), *args)
        case other:
            assert_never(other)


def _read_term(rows: Rows, at: Sequence[tuple[Dim, Index]], operand: int) -> int:
    """A read as single substitutions, the first of which is innermost, or as one of several."""
    ordered = in_sequence(at)
    if ordered is None:
        return rows.term("look", rows.numbers.of(tuple(at)), operand)
    for dim, index in ordered:
        op = "sl" if isinstance(index, Slice) else "at"
        operand = rows.term(op, rows.numbers.bit(dim), rows.numbers.of(index), operand)
    return operand


def in_sequence(at: Sequence[tuple[Dim, Index]]) -> list[tuple[Dim, Index]] | None:
    """Substitutions that mean the same one after another as at once, if there are such.

    A substitution sees the indices that earlier ones left behind, so no dimension may be mentioned
    by an earlier index. Slices come last, the outermost axis at the very end.
    """
    points = [pair for pair in at if not isinstance(pair[1], Slice)]
    out: list[tuple[Dim, Index]] = []
    while points:
        ready = next(
            (p for p in points if not any(q[0] in p[1].dims for q in points if q != p)), None
        )
        if ready is None:
            return None
        points.remove(ready)
        out.append(ready)
    out += reversed([pair for pair in at if isinstance(pair[1], Slice)])
    clash = any(dim in earlier.dims for k, (dim, _) in enumerate(out) for _, earlier in out[:k])
    return None if clash else out


def add_terms(rows: Rows, terms: Sequence[Term]) -> list[int]:
    """The numbers of extracted terms; nothing is said of them but what they are."""
    out: list[int] = []
    for term in terms:
        values = iter(term.fields)
        operands = iter(term.args)
        cells = [
            out[next(operands)] if letter == "T" else _cell(rows, term.op, letter, next(values))
            for letter in SIGNATURE[term.op]
        ]
        leaf = term.fields[0] if term.op == "leaf" else None
        out.append(_add_leaf(rows, leaf) if isinstance(leaf, Node) else rows.term(term.op, *cells))
    return out


def _cell(rows: Rows, op: str, letter: str, value: object) -> Cell:
    match letter:
        case "D":
            return rows.numbers.bit(cast(Dim, value))
        case "H":
            return rows.shape(cast(tuple[Expr, ...], value))
        case "A":
            return rows.numbers.of(cast(Attribute, value))
        case "N" if isinstance(value, Recurrent):
            return rows.recurrence(value)
        case "N" if isinstance(value, Node):
            return rows.leaf(value)
        case _:
            return cast(Cell, value)


def sliced(rows: Rows, number: int, axes: Sequence[Dim]) -> int:
    """A term at all points of some dimensions, outermost axis first."""
    for dim in reversed(axes):
        number = rows.term("sl", rows.numbers.bit(dim), rows.numbers.of(dim.whole), number)
    return number


def define_twins(rows: Rows, pdg: Pdg, batched: Mapping[str, tuple[Dim, ...]]) -> None:
    """The recurrences with axes: each is, by definition, the one before at all points of a dim."""
    for name, axes in batched.items():
        inner = Recurrent(name, ())
        number = rows.nodes[pdg.equations[name].rec]
        for k in range(len(axes) - 1, -1, -1):
            outer = Recurrent(name, axes[k:])
            bit = rows.numbers.bit(axes[k])
            rows.add("batch", rows.recurrence(inner), bit, rows.recurrence(outer))
            number = sliced(rows, number, axes[k : k + 1])
            rows.add("raw_rec", number, rows.recurrence(outer))
            inner = outer


def add_hints(rows: Rows, hints: Hints, nodes: Sequence[Node], loops: Collection[Dim]) -> None:
    """What steers the rules: how axes nest, what should be vectorised, and what there is besides.

    No dimension of ``loops`` becomes an axis.
    """
    for part in hints.ranges:
        rows.numbers.of(part)
    for axis, places in hints.joined:
        add_node(rows, concat([nodes[k] for k in places], -axis))
    for d in hints.nest:
        if d not in loops:
            rows.add("joint", rows.numbers.bit(d))
    bits = [rows.numbers.bit(d) for d in hints.nest]
    for k, outer in enumerate(bits):
        for inner in bits[k + 1 :]:
            rows.add("inside", inner, outer)
    masks: set[int] = set()
    for relation, found in (("raw_want", hints.wanted), ("raw_free", hints.free)):
        for place, dims in found.items():
            mask = rows.numbers.mask(dims)
            rows.add(relation, rows.nodes[nodes[place]], mask)
            masks.add(mask)
    done: set[int] = set()
    for mask in sorted(masks):
        while mask and mask not in done:
            done.add(mask)
            innermost = next(bit for bit in reversed(bits) if bit & mask)
            rows.add("innermost", mask, innermost)
            mask &= ~innermost
