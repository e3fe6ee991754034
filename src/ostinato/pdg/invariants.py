"""Invariants of a graph, checked under ``OSTINATO_DEBUG=verify``, and that switch."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cache

from ostinato.pdg import build
from ostinato.pdg.errors import OptionError
from ostinato.pdg.naming import show_shape
from ostinato.pdg.node import Equation, Host, Node, Pdg, Rec
from ostinato.pdg.remake import remade

VARIABLE = "OSTINATO_DEBUG"


@dataclass(frozen=True, slots=True)
class Debug:
    """Switches read once from OSTINATO_DEBUG, e.g. ``OSTINATO_DEBUG=rules,source``."""

    rules: bool = False  # each rule that fired, how often, and why the run stopped
    source: bool = False  # each emitted kernel, with the PDG nodes it came from
    verify: bool = False  # every invariant again after every pass


def parse(text: str) -> Debug:
    """Return the switches that a comma-separated list of words turns on.

    Errors: OptionError for a word that is no switch.

    >>> parse("rules, verify")
    Debug(rules=True, source=False, verify=True)
    """
    known = [field.name for field in fields(Debug)]
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise OptionError(
            f"{VARIABLE} holds the unknown word `{unknown[0]}`.",
            f"Known words: {', '.join(known)}.",
        )
    return Debug(**dict.fromkeys(words, True))


@cache
def debug() -> Debug:
    """Return the switches of this process; the environment is read at the first call only."""
    return parse(os.environ.get(VARIABLE, ""))


def verify(pdg: Pdg) -> None:
    """Check that equations are closed and that every node has the type its operands give it.

    Errors: AssertionError that names the node; it is a bug of the pass before.
    """
    names = [name for name, _ in pdg.outputs]
    assert len(set(names)) == len(names), f"an output name stands twice in {names}"
    for node in pdg.nodes():
        _verify_node(node, pdg)
    for name, equation in pdg.equations.items():
        _verify_equation(name, equation)


def _verify_node(node: Node, pdg: Pdg) -> None:
    assert node.domain == build.order(node.domain), f"{_about(node)}: its domain is not in order"
    if isinstance(node.op, Rec):
        equation = pdg.equations.get(node.op.name)
        assert equation is not None, f"{_about(node)} has no equations"
        assert equation.rec == node, f"{_about(node)} differs from the left side of its equations"
    again = _rebuilt(node)
    for what in ("domain", "shape", "dtype"):
        stored, inferred = getattr(node, what), getattr(again, what)
        assert stored == inferred, f"{_about(node)}: {what} {stored}, inferred {inferred}"


def _verify_equation(name: str, equation: Equation) -> None:
    rec = equation.rec
    assert rec.op == Rec(name), f"the equations of `{name}` define {_about(rec)}"
    for cond, right in equation.cases:
        dims = cond.dims | set(right.domain)
        free = sorted(d.name for d in dims - set(rec.domain))
        assert not free, f"a case of `{name}` depends on {', '.join(free)}"
        same = (right.shape, right.dtype) == (rec.shape, rec.dtype)
        assert same, f"a case of `{name}` gives {_about(right)}, the tensor is {_about(rec)}"


def _about(node: Node) -> str:
    where = f" ({node.where})" if node.where else ""
    return f"`{node}` {node.op} {show_shape(node.shape)} {node.dtype}{where}"


def _rebuilt(node: Node) -> Node:
    """The node that the constructors make of the same operator and operands."""
    if isinstance(node.op, Host):
        missing = set(build.union_domain(node.args)) - set(node.domain)
        assert not missing, f"{_about(node)}: operands depend on {missing}"
    try:
        return remade(node, node.args)
    except ValueError as problem:
        raise AssertionError(f"the operands of {node.op}: {problem}") from problem
