"""The text of a program: one line per equation and per named or shared value, in index notation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.condition import ALWAYS, Compare, Cond, at_least
from ostinato.pdg.constant import Scalar
from ostinato.pdg.functions import ATOM, FUNCTIONS
from ostinato.pdg.index import Dim, Expr, Index, expr
from ostinato.pdg.node import (
    MOVES,
    PURE,
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Equation,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
    Map,
    Matmul,
    Node,
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

_LONGEST = 72  # characters of an expression before its value gets a line of its own
_WIDEST = 80  # characters that a column pads its cells to
_SHORT = {
    "bool": "bool",
    "int32": "i32",
    "int64": "i64",
    "uint32": "u32",
    "uint16": "u16",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


def show(pdg: Pdg) -> str:
    """Return the program as aligned lines: left side, value, type and domain, place.

    >>> from ostinato.pdg.build import input_node, reduce_node
    >>> x = input_node("x", (expr(3),), "float32", (Dim("t"),), "model.py:2")
    >>> print(show(Pdg((("y", reduce_node("sum", x, [-1])),), {})))
    y[t] = sum(x[t], axes=-1)    f32 over (t)
    """
    return _Printer(pdg).text()


def type_text(node: Node) -> str:
    """Return dtype, shape and domain, such as ``f32[4] over (b, t)``."""
    shape = f"[{', '.join(map(str, node.shape))}]" if node.shape else ""
    domain = f" over ({', '.join(map(str, node.domain))})" if node.domain else ""
    return f"{_SHORT[node.dtype]}{shape}{domain}"


@dataclass(eq=False)
class _Printer:
    pdg: Pdg
    names: dict[Node, str] = field(init=False)
    bodies: dict[Node, tuple[str, int]] = field(init=False)  # text and how tightly it binds
    rows: list[tuple[str, str, str, str]] = field(init=False)
    others: list[tuple[str, str]] = field(init=False)  # names of values shown under another
    taken: set[str] = field(init=False)
    indexed: set[Node] = field(init=False)  # operands of reads: an index needs a name before it

    def __post_init__(self) -> None:
        self.names, self.bodies, self.rows, self.others = {}, {}, [], []
        self.taken, self.indexed = set(), set()
        outputs: dict[Node, str] = {}
        for name, node in self.pdg.outputs:
            outputs.setdefault(node, name)
        self.taken |= set(self.pdg.equations) | set(outputs.values())
        counts = self._uses()
        for node in self.pdg.nodes():
            self.bodies[node] = self._body(node)
            if not isinstance(node.op, Rec | Input) and (
                node in outputs or self._deserves_line(node, counts[node])
            ):
                self._name(node, outputs.get(node))
        for equation in self.pdg.equations.values():
            self._equation(equation)

    def _uses(self) -> dict[Node, int]:
        """How many values mention a node, also through the movements between them."""
        nodes = self.pdg.nodes()
        counts = dict.fromkeys(nodes, 0)
        for _, output in self.pdg.outputs:
            counts[output] += 1
        for equation in self.pdg.equations.values():
            for case in equation.cases:
                counts[_moved_left(*case)[0]] += 1
        for node in reversed(nodes):
            if isinstance(node.op, Read) and counts[node]:
                self.indexed |= set(node.args)
            for arg in node.args:
                counts[arg] += counts[node] if isinstance(node.op, MOVES) else 1
        return counts

    def _deserves_line(self, node: Node, uses: int) -> bool:
        if isinstance(node.op, Const | Affine | Iota) or _filling(node):
            return False
        if node in self.indexed:
            return True
        if isinstance(node.op, MOVES):
            return False
        return bool(node.label) or uses > 1 or len(self.bodies[node][0]) > _LONGEST

    def _name(self, node: Node, output: str | None) -> None:
        label = "" if isinstance(node.op, MOVES) else node.label
        name = output or label or "v1"
        count = 1
        while name in self.taken and name != output:
            count += 1
            name = f"{label}.{count}" if label else f"v{count}"
        self.taken.add(name)
        self.names[node] = name
        left = name + _index([expr(d) for d in node.domain])
        self.rows.append((left, self.bodies[node][0], type_text(node), node.where))
        self.others += [(other.label, left) for other in node.origin.beside(output or label)]
        self.bodies[node] = (left, ATOM)

    def _equation(self, equation: Equation) -> None:
        rec = equation.rec
        for k, (cond, right) in enumerate(equation.cases):
            value, shift = _moved_left(cond, right)
            left = _fixed(cond) or shift
            index = _index([left.get(d, expr(d)) for d in rec.domain])
            when = "" if left or cond == ALWAYS else f"  if {cond}"
            kind = type_text(rec) if k == 0 else ""
            place = equation.where[k] if k < len(equation.where) else rec.where
            self.rows.append((f"{rec}{index}", self.bodies[value][0] + when, kind, place))

    def text(self) -> str:
        widths = [min(max((len(r[k]) for r in self.rows), default=0), _WIDEST) for k in range(3)]
        lines = [
            f"{left:<{widths[0]}} = {right:<{widths[1]}}    {kind:<{widths[2]}}    {place}".rstrip()
            for left, right, kind, place in self.rows
        ]
        renamed = [(n, self.bodies[v][0]) for n, v in self.pdg.outputs if self.names.get(v) != n]
        lines += [f"{name} = {body}" for name, body in renamed if name != body.partition("[")[0]]
        lines += [f"{name} = {left}" for name, left in self.others]
        return "\n".join(lines)

    def _inner(self, node: Node, binding: int) -> str:
        """An operand, in parentheses where it binds more loosely than its user."""
        if isinstance(node.op, Reshape) and node not in self.names:
            (x,) = node.args  # axes of size 1 in front only say that the operand repeats
            padding = node.rank - x.rank
            if padding > 0 and node.shape == (expr(1),) * padding + x.shape:
                return self._inner(x, binding)
        text, tightness = self.bodies[node]
        return text if tightness >= binding else f"({text})"

    def _body(self, node: Node) -> tuple[str, int]:
        args = [self.bodies[a][0] for a in node.args]
        here = _index([expr(d) for d in node.domain])
        match node.op:
            case Input(name) | Rec(name):
                return name + here, ATOM
            case Const(values):
                return _literal(values), ATOM if values[0] >= 0 or len(values) > 1 else 2
            case Affine(of):
                return str(of), ATOM if of.is_const or len(of.terms) + bool(of.const) == 1 else 2
            case Map(fn):
                return self._map(fn, node)
            case Matmul():
                return " @ ".join(self._inner(a, 4) for a in node.args), 3
            case Read() | Reshape() | Broadcast() if number := _filling(node):
                return self._body(number)
            case Read(at):
                return self._read(dict(at), node), ATOM
            case Case(cond):
                return f"{self._inner(node.args[0], 1)} if {cond} else {args[1]}", 0
            case Random(fn, stream):
                return f"{fn}#{stream}{here}", ATOM
            case Part(axis, at):
                skipped = "" if node.args[0].rank == -axis else "..., "
                rest = ", :" * (-axis - 1)
                return f"{self._inner(node.args[0], ATOM)}[{skipped}{at}{rest}]", ATOM
            case (
                Iota() | Reduce() | Reshape() | Transpose() | Broadcast() | Concat() | Gather()
                | Along() | Scan() | Linear()
            ):  # fmt: skip
                return _call(node.op, args), ATOM
            case Host(_, fn, effects):
                ordered = effects != PURE
                return f"{fn}{'!' * ordered}({', '.join(args[ordered:])})", ATOM
            case other:
                assert_never(other)

    def _map(self, fn: str, node: Node) -> tuple[str, int]:
        sign, binds = FUNCTIONS[fn].sign, FUNCTIONS[fn].binds
        if sign and len(node.args) == 1:
            return f"{sign}{self._inner(node.args[0], binds + 1)}", binds
        if sign:
            left, right = self._inner(node.args[0], binds), self._inner(node.args[1], binds + 1)
            return f"{left} {sign} {right}", binds
        name = _SHORT[node.dtype] if fn == "cast" else fn
        return f"{name}({', '.join(self._inner(a, 0) for a in node.args)})", ATOM

    def _read(self, at: dict[Dim, Index], node: Node) -> str:
        (x,) = node.args
        fallback = f"({self.bodies[x][0]})" if isinstance(x.op, Const | Affine | Iota) else ""
        name = self.names.get(x) or (x.op.name if isinstance(x.op, Rec | Input) else fallback)
        index = [str(at.get(d, d)) for d in x.domain]
        index += [f"{d}={i}" for d, i in at.items() if d not in x.domain]
        return f"{name}[{', '.join(index)}]"


Callable_ = (
    Iota | Reduce | Reshape | Transpose | Broadcast | Concat | Gather | Along | Scan | Linear
)


def _call(op: Callable_, args: list[str]) -> str:
    """An operator written as a function of its operands and its own fields."""
    match op:
        case Iota(size):
            return f"iota({size})"
        case Reduce(fn, axes):
            return f"{fn}({args[0]}, axes={' '.join(map(str, axes))})"
        case Reshape(_, shape):
            return f"reshape({args[0]}, {_shape(shape)})"
        case Transpose(perm):
            return f"transpose({args[0]}, {' '.join(map(str, perm))})"
        case Broadcast(shape):
            return f"broadcast({args[0]}, {_shape(shape)})"
        case Concat(axis):
            return f"concat({', '.join(args)}, axis={axis})"
        case Gather(axis, window):
            within = f", {window[0]} within {window[1]}" if window else ""
            return f"take({args[0]}, {args[1]}, axis={axis}{within})"
        case Along(fn, axis, size):
            function = AXIS_FUNCTIONS[fn]
            more = f", size={size}" if function.size_of == "declared" else ""
            return f"{function.shown}({', '.join(args)}, axis={axis}{more})"
        case Scan(fn, dim, reverse):
            return f"scan_{fn}({args[0]}, {dim}{' backwards' * reverse})"
        case Linear(dim, reverse):
            order = "backwards" if reverse else "forwards"
            return f"linear({args[0]}, {args[1]}, {dim} {order})"


def _index(index: list[Expr]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _shape(shape: tuple[Expr, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def _literal(values: tuple[Scalar, ...]) -> str:
    if len(values) == 1:
        return str(values[0])
    shown = ", ".join(map(str, values[:4]))
    return f"[{shown}, ...]" if len(values) > 4 else f"[{shown}]"


def _filling(node: Node) -> Node | None:
    """The number that fills a whole value, however it was repeated."""
    while isinstance(node.op, Read | Reshape | Broadcast):
        (node,) = node.args
    return node if isinstance(node.op, Const) and len(node.op.values) == 1 else None


def _moved_left(cond: Cond, right: Node) -> tuple[Node, dict[Dim, Expr]]:
    """The user's form of a case: ``x[t] = y[t-1] if t >= 1`` is ``x[t+1] = y[t]``."""
    if isinstance(right.op, Read) and len(right.op.at) == 1:
        ((dim, index),) = right.op.at
        if isinstance(index, Expr) and (index - dim).is_const:
            back = -(index - dim).const
            if back > 0 and cond == at_least(dim, back):
                return right.args[0], {dim: expr(dim) + back}
    return right, {}


def _fixed(cond: Cond) -> dict[Dim, Expr]:
    """The dimension and its value, where a condition is ``dim == value``."""
    if not isinstance(cond, Compare) or cond.kind != "eq":
        return {}
    (atom, k), *_ = cond.of.terms
    if not isinstance(atom, Dim) or abs(k) != 1:
        return {}
    value = (expr(atom) - cond.of) if k == 1 else (expr(atom) + cond.of)
    return {} if any(isinstance(a, Dim) for a, _ in value.terms) else {atom: value}


def own_form(cond: Cond, right: Node) -> tuple[Node, dict[Dim, Expr]] | None:
    """A case as ``x[0] = ...`` or ``x[t + 1] = ...``, if its condition says no more."""
    fixed = _fixed(cond)
    if fixed:
        return right, fixed
    value, shift = _moved_left(cond, right)
    return (value, shift) if shift or cond == ALWAYS else None
