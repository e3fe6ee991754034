"""Rows between the steps of a history, so that the same row of all steps does not share few lines.

A cache finds a line by the last bits of its address. What reads one row of every step of
``[T, 32, 32]`` comes back to the same places of the cache after each page, and evicts there what it
reads again. One more row per step, which nobody uses, spreads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import gcd, prod

from ostinato.codegen.ir.system import Axis, Load, Statement
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.target import Target
from ostinato.pdg.index import Dim, Expr

MOST = 8  # of so many rows one is added
NEAR = 4  # lines: steps that are an odd multiple of fewer lie apart enough


def steps_apart(
    storage: Mapping[str, Storage],
    statements: Mapping[str, Statement],
    kept: Iterable[str],
    target: Target,
) -> dict[str, Storage]:
    """The storage with more rows per step, for histories that are read across their steps.

    What is ``kept`` lies as others see it.
    """
    shared = {s.shares for s in storage.values() if s.shares} | {*kept}
    every = [(s, x) for s in statements.values() for x in s.reads]
    shared |= {x.tensor for _, x in every if x.clamp == "all"}
    across = {x.tensor for s, x in every if _is_across(s, x)} - shared
    return {
        name: replace(s, axes=_with_rows(s, target)) if name in across and not s.shares else s
        for name, s in storage.items()
    }


def _is_across(s: Statement, load: Load) -> bool:
    """Whether a statement reads along its last dim by an axis of its own."""
    axes = {a.index for a in s.axes}
    return bool(load.dims) and any(d in axes for d in _plain(load.dims[-1]))


def _plain(at: Expr) -> list[Dim]:
    """The dims that an index moves with, step by step."""
    return [atom for atom, by in at.terms if isinstance(atom, Dim) and abs(by) == 1]


def _with_rows(storage: Storage, target: Target) -> tuple[Axis, ...]:
    """The axes of a step, the first with as many rows more as steps need to lie apart."""
    axes = storage.axes
    is_history = bool(storage.slots) and storage.slots[-1].kind == "full"
    if len(axes) < 2 or not is_history or not all(a.pad.is_const for a in axes):
        return axes
    rows = axes[0].pad.const
    row_bytes = ITEM_BYTES[storage.dtype] * prod(a.pad.const for a in axes[1:])
    enough = max(NEAR * target.line_bytes, row_bytes)
    for more in range(1 + rows // MOST):
        if gcd((rows + more) * row_bytes, target.page_bytes) <= enough:
            return (replace(axes[0], pad=axes[0].pad + more), *axes[1:])
    return axes
