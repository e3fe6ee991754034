"""Rounds: products that go through a history from its first step on, at every step of a loop.

Attention of a decoder reads all keys and values so far. A product that does so is computed block by
block: its results are taken apart, or its sums are kept from one block to the next one in the place
of a tensor that it stores at the end. Each sum adds up the same terms in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ostinato.codegen.ir.system import Axis, Load, loads
from ostinato.codegen.ir.tree import Contraction, Leaf, computed
from ostinato.codegen.masks.guards import guard_of
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.systems.masked_sums import factors, mask_of
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import dims_of, expr

Way = Literal["m", "n", "k"]


@dataclass(frozen=True, slots=True)
class Round:
    """The axis of a product along which it goes through a history.

    If that is ``k``, the sums of blocks before are in the place of the tensor ``sums``.
    """

    way: Way
    axis: Axis
    sums: str = ""


def round_of(plan: Plan, leaf: Leaf, tensor: str) -> Round | None:
    """The round of a leaf through a history, if it goes through this one and no other."""
    if not isinstance(leaf, Contraction) or guard_of(leaf, plan.guards) != ALWAYS:
        return None
    result = plan.statements[leaf.statement]
    if mask_of(result) is not None or {result.name} & {*plan.living, *plan.begun}:
        return None
    owners = [plan.storage[x.tensor].owner for x in _loads(plan, leaf)]
    owners += [plan.storage[name].owner for name in computed(leaf)]
    found = [x for x in factors(result) if plan.storage[x.tensor].owner == tensor]
    if owners.count(tensor) != 1 or len(found) != 1:
        return None
    ways: tuple[tuple[Way, Axis | None], ...] = (("m", leaf.m), ("n", leaf.n), ("k", leaf.k))
    for way, axis in ways:
        if axis is not None and _goes_along(plan, leaf, found[0], axis):
            sums = _sums(plan, leaf) if way == "k" else ""
            return None if sums is None else Round(way, axis, sums)
    return None


def _goes_along(plan: Plan, leaf: Contraction, history: Load, axis: Axis) -> bool:
    """Whether an axis is the position in a history, and in no other one."""
    if axis.pad.is_const or history.clamp or history.picks:
        return False
    if sum(axis.index in dims_of(e) for e in (*history.dims, *history.axes)) != 1:
        return False
    others = (x for x in _loads(plan, leaf) if x is not history)
    is_alone = all(axis.index not in dims_of(e) for x in others for e in x.dims)
    return is_alone and expr(axis.index) in history.dims


def _loads(plan: Plan, leaf: Contraction) -> Iterator[Load]:
    """What a product and its epilogues read from memory."""
    yield from factors(plan.statements[leaf.statement])
    for name in leaf.epilogues:
        for _, value in plan.statements[name].clauses:
            yield from (x for x in loads(value) if x.tensor not in computed(leaf))


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
