"""The offset table: for every kernel a row with an entry for each tensor that it may touch.

A kernel is told where its row begins, and counts from there. Which tensors a kernel touches is so
no part of its code: kernels that do the same with other tensors, such as those of equal layers, are
one function.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ostinato.codegen.ir.tree import Kernel, computed, leaves
from ostinato.codegen.memory.storage import scratch
from ostinato.codegen.planning.planned import Plan


@dataclass(frozen=True)
class OffsetTable:
    """The tensors of all entries, and the ``first`` entry of every kernel; equal rows are one."""

    entries: tuple[str, ...]
    first: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]  # of every kernel

    def places(self, kernel: int) -> dict[str, int]:
        """The entries of a kernel's tensors, counted from its first one."""
        return {tensor: k for k, tensor in enumerate(self.rows[kernel])}


def offset_table(plan: Plan) -> OffsetTable:
    """The rows of all kernels, one after the other."""
    entries: list[str] = []
    begins: dict[tuple[str, ...], int] = {}
    rows = tuple(_row(plan, kernel) for kernel in plan.kernels)
    for row in rows:
        if row not in begins:
            begins[row] = len(entries)
            entries += row
    return OffsetTable(tuple(entries), tuple(begins[row] for row in rows), rows)


def _row(plan: Plan, kernel: Kernel) -> tuple[str, ...]:
    """The owners of the memory that a kernel touches, in an order that ignores their names."""
    found = (plan.storage.get(name) for name in _mentioned(plan, kernel))
    owners = dict.fromkeys(s.owner for s in found if s is not None)
    return tuple(n for n in owners if plan.storage[n].place in ("global", "local"))


def _mentioned(plan: Plan, kernel: Kernel) -> Iterator[str]:
    for leaf, path, _ in leaves(kernel.body):
        for end in filter(None, map(plan.ends.get, path)):
            yield end.mask
            yield from (tensor for tensor, _ in end.fills)
        beside = scratch(leaf, plan.storage)
        if beside is not None:
            yield beside.tensor
        for name in computed(leaf):
            if name in plan.living:
                yield plan.living[name].tensor
            yield from (load.tensor for load in plan.statements[name].reads)
            yield name
