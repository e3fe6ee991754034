"""Lowering: the extracted dependence graph as a system of recurrence equations.

Movement never computes: reads, slices, reshapes, transposes and indexing become index expressions
of the loads that use them. Maps with a single reader of the same points join the reader's equation;
every other operator becomes one statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Draw,
    HostCall,
    Kind,
    Load,
    Operand,
    Statement,
    System,
    Value,
)
from ostinato.codegen.ir.values import value_symbols
from ostinato.codegen.lowering.axis_indices import ONE, Component, Digit, Digits, Structure, linear
from ostinato.codegen.lowering.elements import Elements, narrow
from ostinato.codegen.lowering.stored import Frame, Point
from ostinato.pdg.condition import ALWAYS, Cond, at_least, equal, every
from ostinato.pdg.constant import Scalar
from ostinato.pdg.demand.demand import Demand, box
from ostinato.pdg.functions import POSITIONS, REPEATED
from ostinato.pdg.index import Dim, Expr, expr, symbols
from ostinato.pdg.node import (
    PURE,
    Along,
    Case,
    Concat,
    Const,
    Dtype,
    Gather,
    Host,
    Input,
    Linear,
    Map,
    Matmul,
    Node,
    Pdg,
    Random,
    Rec,
    Reduce,
    Scan,
)
from ostinato.pdg.origin import Origin
from ostinato.pdg.upper_bound import upper_bound

Clauses = tuple[tuple[Cond, Value], ...]
MOST_CLAUSES = 16  # of a concatenation: under each hold the negations of those before it


def lower(
    pdg: Pdg,
    batched: Mapping[str, tuple[Dim, ...]] | None = None,
    hints: Mapping[str, int] | None = None,
    separate: Iterable[Dim] = (),
) -> System:
    """Return the statements that compute the program's outputs.

    ``batched`` names the leading axes of recurrences that rewriting made from dimensions. Points of
    ``separate`` dimensions may be computed side by side, as axes are.
    Errors: ShapeError for a reshape that would divide by a symbolic size.
    """
    lowering = _Lowering(pdg, dict(batched or {}), frozenset(separate))
    return lowering.system(dict(hints or {}))


class _Lowering(Elements):
    def __init__(
        self, pdg: Pdg, batched: dict[str, tuple[Dim, ...]], separate: frozenset[Dim]
    ) -> None:
        super().__init__(pdg, batched, separate)
        self.constants: dict[str, tuple[Scalar, ...]] = {}

    def statement(self, node: Node) -> None:
        """Add the statement of a stored node."""
        frame = self.frame(node)
        kind: Kind = "map"
        reduced: frozenset[Dim] = frozenset()
        fold, where, along = "", node.where, None
        clauses: Clauses = ()
        match node.op:
            case Input():
                kind = "input"
            case Const(values):
                kind = "input"
                self.constants[self.name(node)] = values
            case Rec(name):
                clauses = self.equation(name, frame)
                where = next(filter(None, self.pdg.equations[name].where), where)
            case Reduce(fn, axes):
                kind, fold = "fold", fn
                frame, reduced, clauses = self.folded(node, fn, axes, frame)
            case Matmul():
                frame, reduced, clauses = self.contracted(node, frame)
                if reduced:  # otherwise an outer product, which has one value per point
                    kind, fold = "matmul", "sum"
            case Along(fn, axis):
                kind, fold = "along", fn
                along = next((i for i, _ in frame.positions[axis]), None)
                frame, reduced, clauses = self.along(node, fn, axis, frame)
            case Host():
                self.statements[self.name(node)] = host_statement(self, node)
                return
            case _:
                clauses = self.clauses(node, frame)
        lanes = self.lanes(frame) | self.sliced_draws.get(node, frozenset())
        self.statements[self.name(node)] = Statement(
            self.name(node), kind, frame.dims, frame.axes, clauses, node.dtype, lanes, reduced,
            fold, where, node.label, along,
        )  # fmt: skip

    def clauses(self, node: Node, frame: Frame) -> Clauses:
        """The equation of an operator with one value per point and element."""
        point, digits = frame.point(), frame.digits()
        match node.op:
            case Map(fn):
                args = tuple(self.value(a, point, narrow(a, digits)) for a in node.args)
                return ((ALWAYS, Call(fn, args, node.dtype)),)
            case Random(fn, stream):
                flat = linear(tuple(d for p in digits for d in p))
                where = tuple(expr(d) for d in node.domain)
                return ((ALWAYS, Draw(fn, stream, where, flat, node.dtype)),)
            case Case(cond):
                a, b = (self.value(x, point, digits) for x in node.args)
                return ((cond, a), (ALWAYS, b))
            case Concat(axis):
                return self.joined(node, axis, frame)
            case Gather():
                return ((ALWAYS, self.gathered(node, point, digits)),)
            case Scan(fn, dim, reverse):
                x = self.value(node.args[0], point, digits)
                first, nearby = _carried(dim, reverse)
                others = self.load(node, {**point, dim: nearby}, digits)
                total = Call(REPEATED[fn], (others, x), node.dtype)
                return ((first, x), (ALWAYS, total))
            case Linear(dim, reverse):
                g, a = (self.value(x, point, narrow(x, digits)) for x in node.args)
                first, nearby = _carried(dim, reverse)
                carried = self.load(node, {**point, dim: nearby}, digits)
                scaled = Call("mul", (g, carried), node.dtype)
                return ((first, a), (ALWAYS, Call("add", (a, scaled), node.dtype)))
            case _:
                raise AssertionError(f"{node} is no pointwise operator")

    def equation(self, name: str, frame: Frame) -> Clauses:
        """The cases of a recurrence, at its own indices."""
        point, digits = frame.point(), frame.digits()
        cases = self.pdg.equations[name].cases
        return tuple((cond, self.value(right, point, digits)) for cond, right in cases)

    def joined(self, node: Node, axis: int, frame: Frame) -> Clauses:
        """A concatenation: one clause per operand, or group of many, by the position."""
        point, digits = frame.point(), frame.digits()
        position, start = linear(digits[axis]), expr(0)
        pieces: list[tuple[Expr, Value]] = []
        for arg in node.args:
            size = arg.shape[axis]
            inner = list(digits)
            inner[axis] = () if size == ONE else (Digit(position - start, size),)
            start = start + size
            pieces.append((start, self.value(arg, point, narrow(arg, inner, axis))))
        each = -(-len(pieces) // MOST_CLAUSES)
        groups = [pieces[k : k + each] for k in range(0, len(pieces), each)]
        ends = [at_least(group[-1][0] - 1, position) for group in groups[:-1]]
        values = (_halved(group, position, node.dtype) for group in groups)
        return tuple(zip((*ends, ALWAYS), values, strict=True))

    def addressable(self, x: Node, axis: int) -> Node:
        """A stored node equal to ``x`` whose axis is one unlabelled component, none for size 1."""
        position, size = self.structures[x][axis], x.shape[axis]
        plainly = () if size == ONE else (Component(size),)
        if self.stored(x) and position == plainly:
            return x
        shape = list(self.structures[x])
        shape[axis] = plainly
        return self.stored_as(x, tuple(shape))

    def plainly(self, x: Node) -> Node:
        """A stored node equal to ``x``, each axis of which is one unlabelled component."""
        shape = tuple(() if size == ONE else (Component(size),) for size in x.shape)
        return x if self.stored(x) and self.structures[x] == shape else self.stored_as(x, shape)

    def stored_as(self, x: Node, shape: Structure) -> Node:
        """A stored copy of ``x`` whose axes have these components."""
        origin = Origin(x.where, x.label)
        copy = Node(Map("stop_gradient"), (x,), x.domain, x.shape, x.dtype, origin)
        self.structures[copy] = shape
        self.copy(copy, x)
        return copy

    def folded(
        self, node: Node, fn: str, axes: Sequence[int], frame: Frame
    ) -> tuple[Frame, frozenset[Dim], Clauses]:
        """A reduction: the operand's components of the reduced axes are reduced indices."""
        x = node.args[0]
        used = set(frame.dims) | {a.index for a in frame.axes}
        mine = [self.structures[x][a] for a in axes]
        if fn in POSITIONS and len(mine[0]) > 1:  # the position along the whole axis
            mine = [(Component(x.shape[axes[0]]),)]
        extra = self.indices(tuple(mine), used, f"r{x.rank}")
        whole = Frame((*frame.positions, *extra), frame.domain)
        digits = list(frame.digits())
        for axis, position in zip(axes, extra, strict=True):
            spelled = tuple(Digit(expr(i), c.size) for i, c in position)
            digits.insert(x.rank + axis, spelled)
        body = self.value(x, frame.point(), digits)
        return whole, frozenset(i for p in extra for i, _ in p), ((ALWAYS, body),)

    def contracted(self, node: Node, frame: Frame) -> tuple[Frame, frozenset[Dim], Clauses]:
        """A matrix product: a sum over the contracted components of a product of two loads."""
        a, b = node.args
        used = set(frame.dims) | {x.index for x in frame.axes}
        inner = max(self.structures[a][-1], self.structures[b][-2], key=_detail)
        extra = self.indices((inner,), used, "k")
        whole = Frame((*frame.positions, *extra), frame.domain)
        digits, k = frame.digits(), tuple(Digit(expr(i), c.size) for i, c in extra[0])
        left = self.value(a, frame.point(), narrow(a, (*digits[:-1], k)))
        right = self.value(b, frame.point(), narrow(b, (*digits[:-2], k, digits[-1])))
        body = Call("mul", (left, right), node.dtype)
        return whole, frozenset(i for i, _ in extra[0]), ((ALWAYS, body),)

    def along(
        self, node: Node, fn: str, axis: int, frame: Frame
    ) -> tuple[Frame, frozenset[Dim], Clauses]:
        """A function of a whole axis: operands at one reduced index for each size of theirs."""
        point, digits = frame.point(), frame.digits()
        used = set(frame.dims) | {a.index for a in frame.axes}
        sizes = tuple(dict.fromkeys(a.shape[axis] for a in node.args if a.shape[axis] != ONE))
        extra = self.indices(tuple((Component(s),) for s in sizes), used, f"w{-axis}")
        at = {s: tuple(Digit(expr(i), s) for i, _ in p) for s, p in zip(sizes, extra, strict=True)}
        found: list[Value] = []
        for x in node.args:
            inner = list(narrow(x, digits, axis))
            inner[axis] = at.get(x.shape[axis], ())
            found.append(self.walked(x, axis, point, inner))
        whole = Frame((*frame.positions, *extra), frame.domain)
        body = Call(fn, tuple(found), node.dtype)
        return whole, frozenset(i for p in extra for i, _ in p), ((ALWAYS, body),)

    def walked(self, x: Node, axis: int, point: Point, digits: Sequence[Digits]) -> Value:
        """An operand at the index that walks along one of its axes."""
        value = self.value(x, point, digits)
        if all(symbols(d.at) <= value_symbols(value) for d in digits[axis]):
            return value
        return self.load(self.addressable(x, axis), point, digits)  # one value, repeated

    # ------------------------------------------------------------ the whole

    def system(self, hints: dict[str, int]) -> System:
        for node in self.nodes:
            if self.stored(node) and self.name(node) not in self.statements:
                self.statement(node)
        outputs = {name: self.output(name, node) for name, node in self.pdg.outputs}
        inputs = {
            node.op.name: self.name(node) for node in self.nodes if isinstance(node.op, Input)
        }
        inputs |= {f"literal {name}": name for name in self.constants}
        return System(
            self.statements,
            outputs,
            inputs,
            self.constants,
            hints,
            {s: n for n, s in self.names.items()},
        )

    def output(self, name: str, node: Node) -> str:
        """The statement that holds an output in its own dims and axes, copied if need be."""
        plainly = tuple(
            tuple(Component(upper_bound(c.size)) for c in p) for p in self.structures[node]
        )
        frame = Frame(self.indices(plainly, set(node.domain)), node.domain)
        body = self.value(node, frame.point(), frame.digits())
        if isinstance(body, Load) and _is_whole(body, self.statements[body.tensor], frame):
            return body.tensor
        copy = Node(Map("stop_gradient"), (node,), node.domain, node.shape, node.dtype,
                    Origin(node.where, node.label or name))  # fmt: skip
        self.structures[copy] = plainly
        ragged = self.structures[node] != plainly
        inside = _inside(self.structures[node], frame) if ragged else ALWAYS
        self.copy(copy, node, inside)
        return self.name(copy)


def _halved(pieces: Sequence[tuple[Expr, Value]], position: Expr, dtype: Dtype) -> Value:
    """The piece of a concatenation that a position before its end is in, by halves."""
    if len(pieces) == 1:
        return pieces[0][1]
    half = len(pieces) // 2
    left, right = (_halved(part, position, dtype) for part in (pieces[:half], pieces[half:]))
    return Choice(at_least(pieces[half - 1][0] - 1, position), left, right, dtype)


def _carried(dim: Dim, reverse: bool) -> tuple[Cond, Expr]:
    """Where a recurrence over a dimension begins, and the point that each other one needs."""
    if reverse:
        return equal(dim, expr(dim.extent) - 1), expr(dim) + 1
    return equal(dim, 0), expr(dim) - 1


def _is_whole(load: Load, source: Statement, frame: Frame) -> bool:
    """Whether a load at the frame's own indices reads all of a tensor, element by element."""
    own = (tuple(map(expr, frame.dims)), tuple(expr(a.index) for a in frame.axes))
    same_sizes = [a.size for a in source.result_axes] == [a.size for a in frame.axes]
    return own == (load.dims, load.axes) and source.result_dims == frame.dims and same_sizes


def _inside(positions: Structure, frame: Frame) -> Cond:
    """Where a padded result has a value: below the size that its point gives."""
    pairs = zip(positions, frame.positions, strict=True)
    return every(
        *(
            at_least(c.size - 1, index)
            for position, indices in pairs
            for c, (index, _) in zip(position, indices, strict=True)
        )
    )


def _detail(position: tuple[Component, ...]) -> tuple[int, int]:
    return (sum(c.label is not None for c in position), len(position))


def host_statement(lowering: _Lowering, node: Node) -> Statement:
    """Return the statement of a call: whole operands in, a whole result out."""
    op = node.op
    assert isinstance(op, Host), f"{node} is no call"
    frame = lowering.frame(node)
    used = set(frame.dims) | {a.index for a in frame.axes}
    loads: list[Load] = []
    operands: list[Operand] = []
    positions = frame.positions
    for k, arg in enumerate(node.args):
        plain = tuple(() if size == ONE else (Component(size),) for size in arg.shape)
        own = lowering.indices(plain, used, f"h{k}")
        digits = tuple(tuple(Digit(expr(i), c.size) for i, c in p) for p in own)
        loads.append(lowering.load(lowering.plainly(arg), frame.point(), digits))
        operands.append(_operand(arg, own))
        positions = (*positions, *own)
    ordered = op.effects != PURE
    whole = Frame(positions, frame.domain)
    call = HostCall(
        op.call,
        op.fn,
        ordered,
        tuple(operands[ordered:]),
        _operand(node, frame.positions),
        op.masks,
    )
    return Statement(
        lowering.name(node), "host", whole.dims, whole.axes,
        ((_demanded(lowering.pdg, node, ordered), Call(op.fn, tuple(loads), node.dtype)),),
        node.dtype, reduced=frozenset(a.index for a in whole.axes) - {a.index for a in frame.axes},
        fold=op.fn, where=node.where, label=node.label, host=call,
    )  # fmt: skip


def _operand(x: Node, positions: tuple[tuple[tuple[Dim, Component], ...], ...]) -> Operand:
    return Operand(x.dtype, x.shape, tuple(p[0][0] if p else None for p in positions))


def _demanded(pdg: Pdg, node: Node, ordered: bool) -> Cond:
    """Where the call is needed; one with effects everywhere."""
    if ordered:
        return ALWAYS
    whole = box(node.domain).assume(pdg.minimum_extents)
    needed = Demand(pdg, pdg.minimum_extents).of(node)
    return ALWAYS if whole.is_subset(needed) else needed.gist(whole).cond()
