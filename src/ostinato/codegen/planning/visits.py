"""Histories that a kernel passes through step by step: what can be moved while it goes on.

A *walk* is a history that the loops of one kernel read and write near the step that they are at, or
that a product goes through from the first step on (`ostinato.codegen.planning.rounds`). Only the
steps around need to be in memory; the others may wait in a file. Loops around are *turns*: a walk
passes through again in each. What is at hand of every step may be several *rows* of the tensor that
lie apart, as those of a tile. A walk is done in one call of a kernel, by each worker that takes
part, or in all calls of a loop of the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ostinato.codegen.ir.tree import DriverLoop, Span
from ostinato.pdg.index import Dim, Expr, expr

ONE = expr(1)
ONCE = Span(Dim("once"), expr(0), ONE)


@dataclass(frozen=True, slots=True)
class Visit:
    """A loop of a kernel that passes through a history, or a leaf that touches it outside of one.

    ``place`` is the number of its tree in the kernel's body; ``turns`` are the loops around, which
    do it again at each of their values, and ``inside`` the places that lead to it. A loop touches
    at step ``t`` the steps from ``t - back`` to ``t + ahead``; a ``span`` of one step without a
    loop is that step alone. What it ``fills`` it writes before it reads it, and it reads nothing
    that it has not written yet. What is not ``near`` touches nothing by itself: rounds do.

    A round is a visit of its own, behind that of the loop, or of nothing: at every step of the
    loop a product, the ``leaf`` with this number in its body, goes through the ``span``.
    """

    place: int
    span: Span
    reverse: bool
    back: int
    ahead: int
    writes: bool
    fills: bool
    is_loop: bool = True
    near: bool = True
    leaf: int = -1
    turns: tuple[Span, ...] = ()
    inside: tuple[int, ...] = ()

    @property
    def is_round(self) -> bool:
        return self.leaf >= 0


@dataclass(frozen=True, slots=True)
class Walk:
    """A history in one kernel: the slot of its steps, and what passes through it, in order.

    ``outer`` are the indices of the slots before that one: they stand still in the kernel, but for
    those of the slot ``apart``, of which ``rows`` from there on are touched together. With a loop
    ``around`` all calls in it are one walk, of one visit with its rounds. What is passed through in
    no order is one step, the ``whole`` of these rows, while a tree touches it.
    """

    number: int
    kernel: int
    tensor: str
    slot: int
    outer: tuple[Expr, ...]
    visits: tuple[Visit, ...]
    around: DriverLoop | None = None
    rows: Expr = ONE
    apart: int = -1
    whole: bool = False


class Walks(NamedTuple):
    """The walks of a plan, and the histories that some kernel touches in another way."""

    found: tuple[Walk, ...]
    others: frozenset[str]
