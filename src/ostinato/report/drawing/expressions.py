"""Values as formulas, in terms of the values that have names and that a user wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.effects import AFTER
from ostinato.pdg.functions import ATOM
from ostinato.pdg.index import expr
from ostinato.pdg.node import (
    PURE,
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
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
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
)
from ostinato.report.drawing.binding import bound
from ostinato.report.drawing.points import (
    INFIX,
    At,
    composed,
    condition,
    element,
    filling,
    index_text,
    moved,
    number,
    where,
    words,
)


def operands(node: Node) -> tuple[Node, ...]:
    """The operands of a node but for what only orders a call."""
    ordered = isinstance(node.op, Host) and node.op.effects != PURE
    return node.args[1:] if ordered else node.args


def roots(pdg: Pdg) -> tuple[Node, ...]:
    """Results, right sides of the user's equations, and calls with effects."""
    rights = [n for name, eq in pdg.equations.items() for _, n in eq.cases
              if not name.startswith(AFTER)]  # fmt: skip
    calls = [n for n in pdg.nodes() if isinstance(n.op, Host) and n.op.effects != PURE]
    return (*(n for _, n in pdg.results), *rights, *calls)


def visible(pdg: Pdg) -> tuple[Node, ...]:
    """Every node that a user wrote, operands first."""
    done: dict[Node, None] = {}
    stack = [(root, False) for root in reversed(roots(pdg))]
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if ready:
            done[node] = None
        else:
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(operands(node))]
    return tuple(done)


Text = tuple[str, int]  # and how tightly it binds
FOLDS = {"sum": "∑", "prod": "∏", "max": "max", "min": "min", "any": "∃", "all": "∀"}


@dataclass(eq=False)
class Expressions:
    """The texts of values; `names` are those that stand by their name alone."""

    names: dict[Node, str] = field(default_factory=dict[Node, str], init=False)

    def reference(self, node: Node, at: At) -> str:
        """A named value where it is read."""
        name = self.names.get(node) or getattr(node.op, "name", "")
        shown = [where(d, at[d]) for d in node.domain if d in at and at[d] != expr(d)]
        return f"{name}[{', '.join(shown)}]" if shown else str(name)

    def inner(self, node: Node, at: At, binding: int) -> str:
        """An operand, in parentheses where it binds more loosely than its user."""
        text, tightness = self.operand(node, at)
        return text if tightness >= binding else f"({text})"

    def operand(self, node: Node, at: At) -> Text:
        while node not in self.names and isinstance(op := node.op, Read):
            if filling(node) is not None:
                break
            (inner,) = node.args
            node, at = inner, composed(op.at, inner, at)
        if node in self.names or isinstance(node.op, Rec | Input):
            return self.reference(node, at), ATOM
        return self.body(node, at)

    def body(self, node: Node, at: At) -> Text:
        """What a value is, at a point given by how its dimensions are read."""
        constant = filling(node)
        if constant is not None:
            text = number(constant)
            return text, ATOM if text[0] != "-" else 2
        match node.op:
            case Input() | Rec():
                return self.reference(node, at), ATOM
            case Affine(of):
                return index_text(moved(of, at)), ATOM if len(of.terms) + bool(of.const) < 2 else 2
            case Const(values):
                shown = ", ".join(map(number, values[:4]))
                return f"[{shown}{', …' * (len(values) > 4)}]", ATOM
            case Iota(size):
                return f"[0 … {index_text(moved(size - 1, at))}]", ATOM
            case Map(fn):
                return self._map(fn, node, at)
            case Read(pairs):
                return self.operand(node.args[0], composed(pairs, node.args[0], at))
            case Reduce(fn, axes):
                return self._reduce(fn, axes, node, at)
            case Case(cond):
                chosen, other = (self.inner(x, at, 1) for x in node.args)
                return f"{chosen} if {condition(cond, at)} else {other}", 0
            case _:
                return self._moved(node, at)

    def _moved(self, node: Node, at: At) -> Text:
        args = node.args
        match node.op:
            case Matmul():
                return f"{self.inner(args[0], at, 3)} @ {self.inner(args[1], at, 4)}", 2
            case Reshape(_, shape):
                ones = [s for s in shape if s != expr(1)]
                if ones == [s for s in args[0].shape if s != expr(1)]:
                    return self.operand(args[0], at)
                sizes = "×".join(index_text(s) for s in shape)
                return f"reshape({self.operand(args[0], at)[0]}, {sizes})", ATOM
            case Broadcast():
                return self.operand(args[0], at)
            case Transpose((-1, -2)):
                return f"{self.inner(args[0], at, ATOM)}ᵀ", ATOM
            case Part(_, index):
                return self.inner(args[0], at, ATOM) + element(index, at), ATOM
            case Concat():
                return f"[{', '.join(self.operand(a, at)[0] for a in args)}]", ATOM
            case Gather():
                place = self.operand(args[1], at)[0]
                return f"{self.inner(args[0], at, ATOM)}⟨{place}⟩", ATOM
            case Host(_, fn):
                return self._call(fn, operands(node), at)
            case Along(fn):
                return self._call(AXIS_FUNCTIONS[fn].shown, args, at)
            case Scan(fn, dim, reverse):
                return self._call(f"scan_{fn}[{dim}{' backwards' * reverse}]", args, at)
            case Linear(dim, reverse):
                return self._call(f"linear[{dim}{' backwards' * reverse}]", args, at)
            case _:
                return self._call(type(node.op).__name__.lower(), args, at)

    def _call(self, name: str, args: Sequence[Node], at: At) -> Text:
        return f"{name}({', '.join(self.operand(a, at)[0] for a in args)})", ATOM

    def _map(self, fn: str, node: Node, at: At) -> Text:
        args = node.args
        if fn in INFIX:
            sign, binding, loose = INFIX[fn]
            left = self.inner(args[0], at, binding)
            right = self.inner(args[1], at, binding + loose)
            if fn == "add" and right[0] == "-" and filling(args[1]) is not None:
                sign, right = " - ", right[1:]
            return f"{left}{sign}{right}", binding
        match fn:
            case "neg" | "not":
                return f"{'-' if fn == 'neg' else '¬'}{self.inner(args[0], at, 3)}", 3
            case "cast":
                if args[0].dtype == "bool":
                    return f"[{self.operand(args[0], at)[0]}]", ATOM  # Iverson: 1 where it holds
                return self.operand(args[0], at)
            case "where":
                test, chosen, other = (self.inner(a, at, 1) for a in args)
                return f"{chosen} if {test} else {other}", 0
            case "pow":
                return f"{self.inner(args[0], at, ATOM)}^{self.inner(args[1], at, ATOM)}", 5
            case "sqrt":
                return f"√{self.inner(args[0], at, ATOM)}", ATOM
            case "abs":
                return f"|{self.operand(args[0], at)[0]}|", ATOM
            case _:
                return self._call(words(fn), args, at)

    def _reduce(self, fn: str, axes: tuple[int, ...], node: Node, at: At) -> Text:
        """A fold over steps with bound dimensions, or over axes of an array."""
        (x,) = node.args
        steps = bound(x, axes, at, self.names) if fn in FOLDS else None
        if steps is not None:
            inside, ranges = steps
            return f"{FOLDS[fn]}[{', '.join(ranges)}] {self.inner(inside, at, 3)}", 2
        over = "" if len(axes) == x.rank else ", axis " + " ".join(map(str, axes))
        return f"{fn}({self.operand(x, at)[0]}{over})", ATOM
