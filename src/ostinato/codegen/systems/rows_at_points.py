"""Axes that others read at their own points of a dimension become that dimension.

What a Python function gives for all points at once, a layer may take as one matrix. Whoever reads
its rows point by point may run in tiles, and then so may the layer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ostinato.codegen.ir.system import System
from ostinato.codegen.systems.axis_families import Place, families, with_dim
from ostinato.codegen.systems.carried import carried_dims, serial_dims
from ostinato.pdg.index import Dim


def rows_at_points(system: System) -> System:
    """Return the system with the dimension itself instead of axes that are read at its points."""
    found = families(system.statements)
    carried = carried_dims(system.statements)
    serial = serial_dims(system.statements, carried)
    fixed = found.leaders(found.fixed)
    readers: dict[Place, list[tuple[Dim, str]]] = defaultdict(list)
    for place, dim, name in found.points:
        readers[found.find(place)].append((dim, name))

    def is_free(dim: Dim, reader: str) -> bool:
        """Whether tiles of a dimension may run at once at a reader of rows."""
        return dim in system.statements[reader].lanes - carried[reader] - serial

    for leader, family in found.members(system):
        dims = {dim for dim, _ in readers[leader]}
        if len(dims) != 1 or leader in fixed or not all(is_free(*r) for r in readers[leader]):
            continue
        (dim,) = dims
        if _may_have(system, family, dim):
            system = with_dim(system, family, dim)
    return system


def _may_have(system: System, family: Sequence[Place], dim: Dim) -> bool:
    """Whether all of a family are rows of their tensors, which may be computed apart."""
    ends = system.ends
    own = [system.statements[place.statement] for place in family]
    rows = all(p.along not in s.reduced for p, s in zip(family, own, strict=True))
    fresh = all(dim not in s.dims and s.name not in ends for s in own)
    return rows and fresh and len({s.name for s in own}) == len(own)
