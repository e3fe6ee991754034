"""Which outputs have their rounding defined by the language, so that bits must agree."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.pdg.functions import FLOATS, HALVES
from ostinato.pdg.node import Along, Linear, Map, Matmul, Node, Pdg, Random, Rec, Reduce, Scan

# Functions with a bound on their error instead of one rounding.
BOUNDED = frozenset(
    ("exp", "log", "log1p", "expm1", "exp2", "log2", "tanh", "sigmoid", "sin", "cos", "tan")
    + ("erf", "erfc", "lgamma", "digamma", "arcsinh", "arctan2", "pow")
)


# Functions of floats that round nothing.
ROUNDLESS = frozenset(
    ("floor", "ceil", "round", "sign", "abs", "neg", "where", "minimum", "maximum", "cast")
    + ("stop_gradient", "isfinite")
)


def is_rounded(node: Node) -> bool:
    """Whether an operator computes floats that a compiler may round otherwise."""
    if node.dtype not in FLOATS:
        return False
    if isinstance(node.op, Map):
        return node.op.fn not in ROUNDLESS
    return isinstance(node.op, Reduce | Matmul | Along | Scan | Linear)


def is_bounded(node: Node, folds: bool = True) -> bool:
    """Whether an operator of floats is a function with an error bound, or has a free order."""
    if node.dtype not in FLOATS + HALVES:
        return False
    match node.op:
        case Map(fn):
            return fn in BOUNDED
        case Reduce(fn):
            return folds and fn in ("sum", "prod")
        case Along(fn):
            return fn == "logsumexp"
        case Random(fn):
            return fn == "normal"
        case op:
            return folds and isinstance(op, Matmul)


def reached(pdg: Pdg, output: Node) -> Iterator[Node]:
    """Every node that an output is made of, also through equations."""
    seen: set[Node] = set()
    todo = [output]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        todo += node.args
        if isinstance(node.op, Rec):
            todo += [right for _, right in pdg.equations[node.op.name].cases]


def has_defined_bits(pdg: Pdg, output: Node) -> bool:
    """Whether no value that an output is made of is bounded only."""
    return not any(is_bounded(node) for node in reached(pdg, output))
