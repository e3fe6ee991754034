"""Rounds: products that go through steps of a history in order, at every step of a loop or once.

Attention of a decoder reads all keys and values so far. A product that does so is computed block by
block: its results are taken apart, or its sums are kept from one block to the next one in the place
of a tensor that it stores at the end. Each sum adds up the same terms in the same order. A loop
around a product may go through a history, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ostinato.codegen.ir.system import Axis, Load
from ostinato.codegen.ir.tree import Contraction, Leaf, computed
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.systems.masked_sums import factors, mask_of
from ostinato.pdg.index import Expr, expr

Way = Literal["m", "n", "k", "outer"]


@dataclass(frozen=True, slots=True)
class Round:
    """The axis of a product along which it goes through a history.

    It begins at the step ``first`` of these that are read. If the axis is ``k``, the sums of blocks
    before are in the place of the tensor ``sums``.
    """

    way: Way
    axis: Axis
    first: Expr
    sums: str = ""


def round_of(plan: Plan, leaf: Leaf, tensor: str) -> Round | None:
    """The round of a leaf through a history, if it goes through all others in step with it."""
    if not isinstance(leaf, Contraction):
        return None
    result = plan.statements[leaf.statement]
    if mask_of(result) is not None or {result.name} & {*plan.living, *plan.begun}:
        return None
    owners = [plan.storage[x.tensor].owner for x in _loads(plan, leaf)]
    owners += [plan.storage[name].owner for name in computed(leaf)]
    found = [x for x in factors(result) if plan.storage[x.tensor].owner == tensor]
    if owners.count(tensor) != 1 or len(found) != 1:
        return None
    ways: list[tuple[Way, Axis | None]] = [("m", leaf.m), ("n", leaf.n), ("k", leaf.k)]
    ways.append(("outer", leaf.outer[0] if leaf.outer else None))
    for way, axis in ways:
        first = None if axis is None else _first(plan, leaf, found[0], axis)
        if axis is not None and first is not None:
            sums = _sums(plan, leaf) if way == "k" else ""
            return None if sums is None else Round(way, axis, first, sums)
    return None


def _first(plan: Plan, leaf: Contraction, history: Load, axis: Axis) -> Expr | None:
    """Where the steps begin, if an axis goes through them in all histories, and no other does."""
    if axis.pad.is_const or history.clamp or history.picks:
        return None
    if sum(axis.index in e.dims for e in (*history.dims, *history.axes)) != 1:
        return None
    across = {a.index for a in (*leaf.inner, *leaf.outer) if a is not axis}
    at = [e for x in _loads(plan, leaf) for e in x.dims]
    firsts = {e - expr(axis.index) for e in at if axis.index in e.dims}
    if len(firsts) != 1 or any(across & e.dims for e in at):
        return None
    (first,) = firsts
    return None if axis.index in first.dims else first


def _loads(plan: Plan, leaf: Contraction) -> Iterator[Load]:
    """What a product and its epilogues read from memory."""
    yield from factors(plan.statements[leaf.statement])
    for name in leaf.epilogues:
        yield from (x for x in plan.statements[name].reads if x.tensor not in computed(leaf))


def _sums(plan: Plan, leaf: Contraction) -> str | None:
    """The tensor of a product in whose place sums may wait, if there is one.

    Sums in the form of dots are kept in lanes: cut, they would round otherwise.
    """
    if leaf.form == "dots":
        return None
    dtype = plan.statements[leaf.statement].dtype
    read = {plan.storage[x.tensor].owner for x in _loads(plan, leaf)}
    for name in (leaf.statement,) if leaf.accumulate else computed(leaf):
        stored = plan.storage[name]
        if stored.place in ("global", "local") and stored.dtype == dtype:
            if stored.owner not in read:
                return name
    return None
