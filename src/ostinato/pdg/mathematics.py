"""A program as mathematics: its equations, case by case, in the user's names.

A value at the point of its equation has no index, ``x[t-1]`` shows the dimensions that differ, and a
fold over steps binds its own: ``∑[t′ = 0 … t] x[t′]``. What an array holds at one point is written
as a whole; ``x₂`` is an element of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.build import affine, part, read, reduce_node, union_domain
from ostinato.pdg.condition import (
    Compare,
    Cond,
    Every,
    Negation,
    Some,
    substitute_cond,
)
from ostinato.pdg.effects import AFTER
from ostinato.pdg.formula import (
    ATOM,
    INFIX,
    index_text,
    number,
    subscript,
    superscript,
    words,
)
from ostinato.pdg.index import (
    Dim,
    Expr,
    Extent,
    FloorDiv,
    Index,
    Slice,
    dims_of,
    expr,
    floordiv,
    substitute,
    symbols,
)
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
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
    intern,
    postorder,
)
from ostinato.pdg.printer import own_form

WIDEST = 84  # characters up to which places stand in one column
LONGEST = 66  # characters of an expression before its value gets a line of its own
MOVES = (Read, Reshape, Transpose, Broadcast, Part)
FOLDS = {"sum": "∑", "prod": "∏", "max": "max", "min": "min", "any": "∃", "all": "∀"}
At = Mapping[Dim, Index]  # where each dimension is read, if not at the point
Text = tuple[str, int]  # and how tightly it binds


def equations(pdg: Pdg) -> str:
    """Return the equations of a program, outputs first, what they share last.

    >>> from ostinato.pdg.build import input_node, read, reduce_node
    >>> t = Dim("t")
    >>> x = input_node("x", (), "float32", (t,))
    >>> y = reduce_node("sum", read(x, [(t, Slice(expr(0), expr(t) + 1))]), [0])
    >>> print(equations(Pdg((("y", y),), {})))
    y[t] = ∑[t′ = 0 … t] x[t′]
    """
    return Formulas(pdg).text()


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


@dataclass(frozen=True, slots=True)
class Line:
    """One equation: its left side, then one right side and condition per case."""

    left: str
    cases: tuple[tuple[str, str, str], ...]  # value, condition, place
    kind: str

    def texts(self) -> list[str]:
        """The equation without places, one text per case."""
        if len(self.cases) == 1:
            return [f"{self.left} {self.cases[0][0]}"]
        return [f"{self.left} = {value}  {when}" for value, when, _ in self.cases]


@dataclass(eq=False)
class Formulas:
    """The texts of a program's values; `names` are those that have a line of their own."""

    pdg: Pdg
    names: dict[Node, str] = field(init=False)
    taken: set[str] = field(init=False)
    nodes: tuple[Node, ...] = field(init=False)  # what a user wrote, operands first

    def __post_init__(self) -> None:
        self.names, self.taken = {}, set(self.pdg.equations)
        self.nodes = visible(self.pdg)
        self.taken |= {n.op.name for n in self.nodes if isinstance(n.op, Input)}
        for name, node in self.pdg.results:
            if not isinstance(node.op, Rec | Input) and node not in self.names:
                self.names[node] = name
                self.taken.add(name)
        uses = self._uses()
        sliced = self._sliced()
        for node in self.nodes:
            if node not in self.names and self._deserves_line(node, uses[node], node in sliced):
                self.names[node] = self._fresh(node)

    # ------------------------------------------------------------ which values have a line

    def _uses(self) -> dict[Node, int]:
        """How many values mention a node, also through the movements between them."""
        counts = dict.fromkeys(self.nodes, 0)
        for root in roots(self.pdg):
            counts[root] += 1
        for node in reversed(self.nodes):
            for arg in operands(node):
                counts[arg] += counts[node] if isinstance(node.op, MOVES) else 1
        return counts

    def _sliced(self) -> set[Node]:
        """Values that are read as a whole along a dimension that a condition in them mentions."""
        out: set[Node] = set()
        for node in self.nodes:
            if isinstance(node.op, Read) and any(isinstance(i, Slice) for _, i in node.op.at):
                inside = postorder(node.args)
                if any(isinstance(x.op, Case | Part | Iota | Affine | Reduce) for x in inside):
                    out.add(node.args[0])
        return out

    def _deserves_line(self, node: Node, uses: int, is_sliced: bool) -> bool:
        if isinstance(node.op, Const | Affine | Iota | Rec | Input) or filling(node) is not None:
            return False
        if isinstance(node.op, Random):
            return True
        if isinstance(node.op, MOVES) and node.label not in ("", node.args[0].label):
            return True  # the user's name, not that of what is moved
        if isinstance(node.op, MOVES) or is_cast(node):
            return is_sliced and not isinstance(node.op, Reshape | Broadcast)
        if node.label or uses > 1 or is_sliced:
            return True
        return len(self.body(node, {})[0]) > LONGEST

    def _fresh(self, node: Node) -> str:
        base = node.label or (node.op.fn if isinstance(node.op, Random) else "")
        name = base if base and base not in self.taken else ""
        count = 1
        while not name or name in self.taken:
            count += bool(base)
            name = f"{base}.{count}" if base else f"v{count}"
            count += not base
        self.taken.add(name)
        return name

    # ------------------------------------------------------------ the page

    def text(self) -> str:
        results = {node: None for _, node in self.pdg.results}
        rows = [self.value_line(n) for n in results if n in self.names]
        rows += [
            Line(f"{name}", ((self.reference(node, {}), "", node.where),), "")
            for name, node in self.pdg.results
            if self.names.get(node) != name and not self._is_itself(name, node)
        ]
        rows += [line for name in self.recurrences() for line in self.recurrence(name)]
        rest = [self.value_line(n) for n in self.names if n not in results]
        shown = [*_printed(rows), *(["", "where", ""] if rest else []), *_printed(rest)]
        return "\n".join(shown)

    def _is_itself(self, name: str, node: Node) -> bool:
        return isinstance(node.op, Rec | Input) and node.op.name == name

    def value_line(self, node: Node) -> Line:
        left = self.names[node] + point_of(node)
        if isinstance(node.op, Random):
            law = f"~ {node.op.fn}(0, 1)" if node.op.fn in ("uniform", "normal") else node.op.fn
            return Line(left, ((law, "", node.where),), kind_of(node))
        return Line(left, ((f"= {self.body(node, {})[0]}", "", node.where),), kind_of(node))

    def recurrences(self) -> list[str]:
        """The names of the recurrent tensors that a user wrote."""
        return [name for name in self.pdg.equations if not name.startswith(AFTER)]

    def recurrence(self, name: str) -> list[Line]:
        """Cases as the user wrote them, or with a brace where their conditions say more."""
        equation = self.pdg.equations[name]
        rec, count = equation.rec, len(equation.cases)
        places = [*equation.where, *(rec.where,) * count]
        own = [own_form(cond, right) for cond, right in equation.cases]
        if all(found is not None for found in own):
            lines: list[Line] = []
            for found, place in zip(own, places, strict=False):
                value, left = found or (rec, {})
                index = ", ".join(index_text(left.get(d, expr(d))) for d in rec.domain)
                head = f"{name}[{index}]" if index else name
                kind = "" if lines else kind_of(rec)
                lines.append(Line(head, ((f"= {self._value(value)}", "", place),), kind))
            return lines
        cases: list[tuple[str, str, str]] = []
        for k, ((cond, right), place) in enumerate(zip(equation.cases, places, strict=False)):
            when = "otherwise" if k == count - 1 and k else f"if {condition(cond)}"
            cases.append((self._value(right), when, place))
        return [Line(name + point_of(rec), tuple(cases), kind_of(rec))]

    def _value(self, node: Node) -> str:
        return self.operand(node, {})[0]

    # ------------------------------------------------------------ expressions

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
                index = self.operand(args[1], at)[0]
                return f"{self.inner(args[0], at, ATOM)}⟨{index}⟩", ATOM
            case Host(_, fn):
                return self._call(fn, operands(node), at)
            case Along(fn):
                return self._call(words(fn), args, at)
            case Scan(fn, dim):
                return self._call(f"scan_{fn}[{dim}]", args, at)
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
        steps = self.bound(x, axes, at) if fn in FOLDS else None
        if steps is not None:
            inside, ranges = steps
            return f"{FOLDS[fn]}[{', '.join(ranges)}] {self.inner(inside, at, 3)}", 2
        over = "" if len(axes) == x.rank else ", axis " + " ".join(map(str, axes))
        return f"{fn}({self.operand(x, at)[0]}{over})", ATOM

    def bound(self, x: Node, axes: tuple[int, ...], at: At) -> tuple[Node, list[str]] | None:
        """An element of what a fold over slices folds, and the ranges of the dimensions it binds."""
        if axes != tuple(range(-x.rank, -x.rank + len(axes))):
            return None
        slices = self.slices(x, len(axes))
        if any(isinstance(i, Slice) for i in at.values()):
            return None
        places: list[Expr] = []
        ranges: list[str] = []
        for found in slices:
            if found is None:
                return None
            dim, index = found
            is_full = index == Slice(expr(0), expr(dim.extent))
            free = is_full and dim not in x.domain and dim not in at
            own = dim if free else Dim(f"{dim.name}′", dim.serial, dim.extent.name)
            places.append(floordiv(expr(own) - index.lo, index.step))
            text = f"{own} = {index_text(moved(index.lo, at))} … {index_text(moved(index.hi - 1, at))}"
            ranges.append(dim.name if free else text + f", step {index.step}" * (index.step > 1))
        return self.at_place(x, tuple(places)), ranges

    def slices(self, x: Node, count: int) -> list[tuple[Dim, Slice] | None]:
        """For each of the leading axes the steps that it stands for, if it stands for any."""
        if x in self.names or not count:
            return [None] * count
        match x.op:
            case Read(pairs):
                own = [(d, i) for d, i in pairs if isinstance(i, Slice)]
                return [*own, *self.slices(x.args[0], count - len(own))][:count]
            case Map():
                several = [self.slices(a, count) for a in x.args]
                return [next(filter(None, each), None) for each in zip(*several, strict=True)]
            case Reshape() if lost := _padding(x):
                return [*[None] * lost, *self.slices(x.args[0], count - lost)][:count]
            case Reshape() if _trailing(x) and count <= x.args[0].rank:
                return self.slices(x.args[0], count)
            case Reduce(_, axes):
                inner = self.slices(x.args[0], x.args[0].rank)
                return [i for k, i in enumerate(inner) if k - len(inner) not in axes][:count]
            case _:
                return [None] * count

    def at_place(self, x: Node, places: tuple[Expr, ...]) -> Node:
        """The rest of an array at positions of its leading axes."""
        if not places:
            return x
        if x not in self.names:
            match x.op:
                case Read(pairs):
                    own = [d for d, i in pairs if isinstance(i, Slice)]
                    known = zip(own, places, strict=False)
                    steps = {d: i for d, i in pairs if isinstance(i, Slice)}
                    points: dict[Dim, Index] = dict(pairs)
                    points |= {d: _step(steps[d], k) for d, k in known}
                    return read(self.at_place(x.args[0], places[len(own) :]), list(points.items()))
                case Map():
                    args = tuple(self.at_place(a, places) for a in x.args)
                    shape = x.shape[len(places) :]
                    return intern((x.op, args, union_domain(args), shape, x.dtype))
                case Iota():
                    return affine(places[0])
                case Reshape() if lost := _padding(x):
                    return self.at_place(x.args[0], places[lost:])
                case Reshape() if _trailing(x) and len(places) <= x.args[0].rank:
                    return self.at_place(x.args[0], places)
                case Reduce(fn, axes) if axes[0] + x.args[0].rank >= len(places):
                    return reduce_node(fn, self.at_place(x.args[0], places), axes)
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


def composed(pairs: Sequence[tuple[Dim, Index]], x: Node, at: At) -> dict[Dim, Index]:
    """Where the operand of a read is read, when the read itself stands elsewhere."""
    out: dict[Dim, Index] = {d: i for d, i in at.items() if d in x.domain}
    for dim, index in pairs:
        out[dim] = (
            Slice(moved(index.lo, at), moved(index.hi, at), index.step)
            if isinstance(index, Slice)
            else moved(index, at)
        )
    return out


def moved(e: Expr, at: At) -> Expr:
    """An index expression at another point; a dimension that is a slice stays."""
    points: dict[Dim | Extent, Expr] = {d: i for d, i in at.items() if isinstance(i, Expr)}
    return substitute(e, points)


def where(dim: Dim, index: Index) -> str:
    """An index as it is shown: with the dimension's name where it does not tell which it is."""
    if isinstance(index, Slice):
        if index == Slice(expr(0), expr(dim.extent)):
            return f"{dim}=:"
        step = f":{index.step}" if index.step != 1 else ""
        text = f"{index_text(index.lo)} … {index_text(index.hi - 1)}{step}"
        return text if dim in dims_of(index.lo) | dims_of(index.hi) else f"{dim} = {text}"
    known = {str(s).rstrip("′") for s in symbols(index)} & {dim.name, dim.extent.name}
    return index_text(index) if known else f"{dim}={index_text(index)}"


def element(index: Index, at: At) -> str:
    """An element or a part of an array."""
    if isinstance(index, Slice):
        lo, hi = moved(index.lo, at), moved(index.hi, at)
        return f"⟨{index_text(lo)} … {index_text(hi - 1)}⟩"
    place = moved(index, at)
    return subscript(place.const) if place.is_const else f"⟨{index_text(place)}⟩"


def condition(cond: Cond, at: At | None = None) -> str:
    """A condition in signs of mathematics; ``d = …`` and bounds of one dimension solved for it."""
    by = {d: i for d, i in (at or {}).items() if isinstance(i, Expr)}
    cond = substitute_cond(cond, by) if by else cond
    match cond:
        case Compare():
            return _compared(cond)
        case Every(of):
            return " ∧ ".join(_inner(c) for c in of) or "always"
        case Some(of):
            return " ∨ ".join(_inner(c) for c in of) or "never"
        case Negation(of_):
            return f"¬({condition(of_)})"


def _inner(cond: Cond) -> str:
    text = condition(cond)
    return text if isinstance(cond, Compare) else f"({text})"


def _compared(cond: Compare) -> str:
    """``d ≥ e``, ``d ≤ e`` or ``d = e`` for the first dimension with factor one."""
    sign = {"ge": "≥", "eq": "="}[cond.kind]
    for atom, k in cond.of.terms:
        if isinstance(atom, Dim) and abs(k) == 1:
            rest = (expr(atom) * k - cond.of) * k
            turned = "≤" if k < 0 and sign == "≥" else sign
            return f"{atom} {turned} {index_text(rest)}"
    return f"{index_text(cond.of)} {sign} 0"


def filling(node: Node) -> float | int | bool | None:
    """The number that fills a whole value, however it was repeated."""
    while isinstance(node.op, Read | Reshape | Broadcast | Part):
        (node,) = node.args
    found = node.op.values if isinstance(node.op, Const) else ()
    return found[0] if len(found) == 1 else None


def is_cast(node: Node) -> bool:
    return isinstance(node.op, Map) and node.op.fn == "cast"


def point_of(node: Node) -> str:
    return f"[{', '.join(map(str, node.domain))}]" if node.domain else ""


def kind_of(node: Node) -> str:
    """The set that a value is from, where it is not a real number."""
    signs = {"b": "𝔹", "i": "ℤ", "u": "ℕ", "f": "ℝ"}
    numbers = all(s.is_const for s in node.shape)
    sizes = "×".join(index_text(s) for s in node.shape)
    power = "ˣ".join(superscript(s.const) for s in node.shape) if numbers else f"^({sizes})"
    field_ = signs[node.dtype[0]] if node.dtype != "bfloat16" else "ℝ"
    return "" if field_ == "ℝ" and not sizes else f"∈ {field_}{power if sizes else ''}"


def _printed(lines: Sequence[Line]) -> Iterator[str]:
    """Lines with braces around cases, and places in a column."""
    bodies = [(body, place) for line in lines for body, place in _bodies(line)]
    column = max((len(body) for body, _ in bodies if len(body) <= WIDEST), default=0)
    for body, place in bodies:
        yield f"{body:<{column}}   # {place}" if place else body


def _bodies(line: Line) -> Iterator[tuple[str, str]]:
    """Each case of an equation with its place."""
    width = max(len(value) for value, _, _ in line.cases)
    several = len(line.cases) > 1
    for k, (value, when, place) in enumerate(line.cases):
        head = f"{line.left} " if k == 0 else " " * (len(line.left) + 1)
        brace = f"{'= ' if k == 0 else '  '}{_brace(k, len(line.cases))}" if several else ""
        kind = f"   {line.kind}" if k == 0 and line.kind else ""
        yield f"{head}{brace}{value:<{width if when else 0}}  {when}".rstrip() + kind, place


def _brace(k: int, count: int) -> str:
    if count == 1:
        return ""
    if k == 0:
        return "⎧ "
    return "⎩ " if k == count - 1 else "⎨ " if count == 3 or k == count // 2 else "⎪ "
