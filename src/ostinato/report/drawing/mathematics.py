"""A program as mathematics: its equations, case by case, in the user's names.

A value at the point of its equation has no index, ``x[t-1]`` shows the dimensions that differ, and
a fold over steps binds its own: ``∑[t′ = 0 … t] x[t′]``. What an array holds at one point is
written as a whole; ``x₂`` is an element of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ostinato.pdg.effects import AFTER
from ostinato.pdg.index import Slice, expr
from ostinato.pdg.node import (
    MOVES,
    Affine,
    Broadcast,
    Case,
    Const,
    Input,
    Iota,
    Node,
    Part,
    Pdg,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    postorder,
)
from ostinato.pdg.text.printer import own_form
from ostinato.report.drawing.expressions import Expressions, operands, roots, visible
from ostinato.report.drawing.points import (
    condition,
    filling,
    index_text,
    is_cast,
    kind_of,
    point_of,
)

WIDEST = 84  # characters up to which places stand in one column
LONGEST = 66  # characters of an expression before its value gets a line of its own


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
class Formulas(Expressions):
    """The texts of a program's values; `names` are those that have a line of their own."""

    pdg: Pdg
    taken: set[str] = field(init=False)
    nodes: tuple[Node, ...] = field(init=False)  # what a user wrote, operands first

    def __post_init__(self) -> None:
        self.taken = set(self.pdg.equations)
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
        if isinstance(node.op, MOVES) and node.origin.label:
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
        rows = [line for n in results if n in self.names for line in self.value_lines(n)]
        rows += [
            self._other_name(name, node, node.where)
            for name, node in self.pdg.results
            if self.names.get(node) != name and not self._is_itself(name, node)
        ]
        rows += [line for name in self.recurrences() for line in self.recurrence(name)]
        rest = [line for n in self.names if n not in results for line in self.value_lines(n)]
        shown = [*_printed(rows), *(["", "where", ""] if rest else []), *_printed(rest)]
        return "\n".join(shown)

    def _is_itself(self, name: str, node: Node) -> bool:
        return isinstance(node.op, Rec | Input) and node.op.name == name

    def value_lines(self, node: Node) -> list[Line]:
        """What a value is, and what else the user calls it."""
        name, law = self.names[node], f"= {self.body(node, {})[0]}"
        if isinstance(node.op, Random):
            law = f"~ {node.op.fn}(0, 1)" if node.op.fn in ("uniform", "normal") else node.op.fn
        line = Line(name + point_of(node), ((law, "", node.where),), kind_of(node))
        shown = name if (name, node) in self.pdg.results else node.label
        others = node.origin.beside(shown)
        return [line, *(self._other_name(o.label, node, o.where) for o in others)]

    def _other_name(self, name: str, node: Node, place: str) -> Line:
        return Line(name, ((f"= {self.reference(node, {})}", "", place),), "")

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
