"""Values as formulas, in terms of the values that have names and that a user wrote."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.build import affine, part, read, reduce_node, union_domain
from ostinato.pdg.effects import AFTER
from ostinato.pdg.functions import ATOM
from ostinato.pdg.index import Dim, Expr, FloorDiv, Index, Slice, expr, floordiv
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
    intern,
)
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

Named = Container[Node]


def bound(x: Node, axes: tuple[int, ...], at: At, named: Named) -> tuple[Node, list[str]] | None:
    """An element of what a fold over slices folds, and the ranges of the dims that it binds."""
    if axes != tuple(range(-x.rank, -x.rank + len(axes))):
        return None
    found = slices(x, len(axes), named)
    if any(isinstance(i, Slice) for i in at.values()):
        return None
    places: list[Expr] = []
    ranges: list[str] = []
    for each in found:
        if each is None:
            return None
        dim, index = each
        is_full = index == dim.whole
        free = is_full and dim not in x.domain and dim not in at
        own = dim if free else Dim(f"{dim.name}′", dim.serial, dim.symbol.name, dim.size)
        places.append(floordiv(expr(own) - index.lo, index.step))
        text = f"{own} = {index_text(moved(index.lo, at))} … {index_text(moved(index.hi - 1, at))}"
        ranges.append(dim.name if free else text + f", step {index.step}" * (index.step > 1))
    return at_place(x, tuple(places), named), ranges


def slices(x: Node, count: int, named: Named) -> list[tuple[Dim, Slice] | None]:
    """For each of the leading axes the steps that it stands for, if it stands for any."""
    if x in named or not count:
        return [None] * count
    match x.op:
        case Read(pairs):
            own = [(d, i) for d, i in pairs if isinstance(i, Slice)]
            return [*own, *slices(x.args[0], count - len(own), named)][:count]
        case Map():
            several = [slices(a, count, named) for a in x.args]
            return [
                next((s for s in each if s is not None), None)
                for each in zip(*several, strict=True)
            ]
        case Reshape() if lost := _padding(x):
            return [*[None] * lost, *slices(x.args[0], count - lost, named)][:count]
        case Reshape() if _trailing(x) and count <= x.args[0].rank:
            return slices(x.args[0], count, named)
        case Reduce(_, axes):
            inner = slices(x.args[0], x.args[0].rank, named)
            return [i for k, i in enumerate(inner) if k - len(inner) not in axes][:count]
        case _:
            return [None] * count


def at_place(x: Node, places: tuple[Expr, ...], named: Named) -> Node:
    """The rest of an array at positions of its leading axes."""
    if not places:
        return x
    if x not in named:
        match x.op:
            case Read(pairs):
                own = [d for d, i in pairs if isinstance(i, Slice)]
                known = zip(own, places, strict=False)
                steps = {d: i for d, i in pairs if isinstance(i, Slice)}
                points: dict[Dim, Index] = dict(pairs)
                points |= {d: _step(steps[d], k) for d, k in known}
                return read(at_place(x.args[0], places[len(own) :], named), list(points.items()))
            case Map():
                args = tuple(at_place(a, places, named) for a in x.args)
                shape = x.shape[len(places) :]
                return intern((x.op, args, union_domain(args), shape, x.dtype))
            case Iota():
                return affine(places[0])
            case Reshape() if lost := _padding(x):
                return at_place(x.args[0], places[lost:], named)
            case Reshape() if _trailing(x) and len(places) <= x.args[0].rank:
                return at_place(x.args[0], places, named)
            case Reduce(fn, axes) if axes[0] + x.args[0].rank >= len(places):
                return reduce_node(fn, at_place(x.args[0], places, named), axes)
            case _:
                pass
    for place in places:
        x = part(x, 0, expr(0) if x.shape[0] == expr(1) else place)
    return x


def _step(steps: Slice, place: Expr) -> Expr:
    """The step at a place of a slice; ``place`` may say which step it belongs to."""
    if steps.step > 1 and len(place.terms) == 1 and isinstance(place.terms[0][0], FloorDiv):
        return place.terms[0][0].of + steps.lo
    return steps.lo + place * steps.step


def _padding(x: Node) -> int:
    """How many axes of size 1 a reshape only puts in front."""
    count = x.rank - x.args[0].rank
    is_padded = count > 0 and x.shape == (expr(1),) * count + x.args[0].shape
    return count if is_padded else 0


def _trailing(x: Node) -> bool:
    """Whether a reshape only appends axes of size 1."""
    old = x.args[0].shape
    return x.shape[: len(old)] == old and set(x.shape[len(old) :]) <= {expr(1)}


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
