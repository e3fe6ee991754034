"""Small graphs, built directly, that the tests of this part share."""

from ostinato.pdg import build
from ostinato.pdg.condition import at_least, equal
from ostinato.pdg.constant import Scalar
from ostinato.pdg.index import Dim, Expr, Slice, expr
from ostinato.pdg.node import Equation, Node, Pdg

B, T = Dim("b"), Dim("t")
t, n = expr(T), expr(T.extent)


def scalar(value: Scalar) -> Node:
    return build.const(value, "float32")


def add(a: Node, b: Node) -> Node:
    return build.map_node("add", (a, b))


def mul(a: Node, b: Node) -> Node:
    return build.map_node("mul", (a, b))


def series(name: str = "r") -> Node:
    """An input with one float32 value per step."""
    return build.input_node(name, (), "float32", (T,), "train.py:1")


def shifted(x: Node, by: int, where: str = "") -> Node:
    return build.read(x, [(T, t + by)], where)


def window(x: Node, lo: Expr, hi: Expr, where: str = "") -> Node:
    return build.read(x, [(T, Slice(lo, hi))], where)


def running_sum() -> tuple[Node, Equation]:
    """``s[b, 0] = init[b]; s[b, t] = s[b, t-1] + r[t]``."""
    s = build.rec("s", (), "float32", (B, T), "train.py:2")
    init = build.input_node("init", (), "float32", (B,), "train.py:3")
    later = add(shifted(s, -1, "train.py:5"), series())
    cases = ((equal(T, 0), init), (at_least(T, 1), later))
    return s, Equation(s, cases, ("train.py:4", "train.py:5"))


def program(*equations: Equation, **outputs: Node) -> Pdg:
    return Pdg(tuple(outputs.items()), {str(e.rec): e for e in equations})
