"""Recurrences with a first step, read anew from the source: what laws of affine steps may ask.

A recurrence that reads itself one step back along a dimension is ``start`` where ``cond`` holds and
``right`` elsewhere. isl shows that the cases leave no point open and that ``cond`` holds at the
whole first step; an induction over the steps needs no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ostinato.pdg import build
from ostinato.pdg import constant as literals
from ostinato.pdg.bounds import simplified
from ostinato.pdg.condition import Cond, equal, every, negation
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.isl import Set, condition_set, domain_set
from ostinato.pdg.node import Const, Equation, Node, Pdg, Read, Rec, Reshape, postorder


@dataclass(frozen=True, slots=True)
class FirstStep:
    """One way to see a recurrence as a first step and later ones; ``before`` is what they read."""

    rec: Node
    dim: Dim
    reverse: bool
    before: Expr
    cond: Cond
    start: Node
    right: Node
    is_only: bool


def first_steps(pdg: Pdg) -> Iterator[FirstStep]:
    """Every recurrence of a program that has a first step, along each dimension it is read at."""
    for equation in pdg.equations.values():
        for dim, reverse in _directions(equation):
            found = _first_step(equation, dim, reverse)
            if found is not None:
                yield found


def _directions(equation: Equation) -> list[tuple[Dim, bool]]:
    """Dimensions along which a recurrence reads its neighbour, and whether that lies ahead."""
    found: dict[tuple[Dim, bool], None] = {}
    for node in postorder(tuple(right for _, right in equation.cases)):
        if isinstance(node.op, Read) and node.args[0] == equation.rec and len(node.op.at) == 1:
            ((dim, index),) = node.op.at
            for reverse in (False, True):
                if index == expr(dim) + (1 if reverse else -1):
                    found[dim, reverse] = None
    return list(found)


def reads(node: Node, rec: Node) -> bool:
    """Whether a value contains a recurrence."""
    assert isinstance(rec.op, Rec), f"{rec} is no recurrence"
    return any(x == rec for x in postorder((node,)))


def _first_step(equation: Equation, dim: Dim, reverse: bool) -> FirstStep | None:
    box = domain_set(equation.rec.domain)
    at_first = equal(expr(dim), expr(dim.extent) - 1 if reverse else 0)
    beginning = box & condition_set(box.dims, at_first)
    left, cases = box, list[tuple[Cond, Node]]()
    earlier: list[Cond] = []
    for cond, right in equation.cases:
        cases.append((simplified(every(cond, *map(negation, earlier))), right))
        earlier.append(cond)
        left = left - condition_set(box.dims, cond)
    starts = [c for c in cases if not reads(c[1], equation.rec) and _covers(c[0], beginning)]
    others = [c for c in cases if not starts or c is not starts[0]]
    if not starts or not others or not left.is_empty():
        return None
    cond, start = starts[0]
    plain = [c for c in others if not reads(c[1], equation.rec)]
    *inner, (_, right) = [*plain, *(c for c in others if c not in plain)]
    for other, value in reversed(inner):
        right = build.case(other, value, right)
    is_only = _covers(at_first, box & condition_set(box.dims, cond))
    before = expr(dim) + (1 if reverse else -1)
    return FirstStep(equation.rec, dim, reverse, before, cond, start, right, is_only)


def _covers(cond: Cond, points: Set) -> bool:
    return (points - condition_set(points.dims, cond)).is_empty()


def free_operands(step: FirstStep) -> Iterator[Node]:
    """Operands without the recurrence of operators with it."""
    for node in postorder((step.right,)):
        if reads(node, step.rec):
            yield from (arg for arg in node.args if not reads(arg, step.rec))


def only_zeros(node: Node) -> bool:
    """Whether a value is a literal of zeros, in any shape."""
    while isinstance(node.op, Reshape):
        node = node.args[0]
    return isinstance(node.op, Const) and literals.only_zeros(node.op.values)
