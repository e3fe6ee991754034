"""Passes for the CPU, for tests of systems that no program stands behind."""

from __future__ import annotations

from collections.abc import Mapping

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.ir.system import System
from ostinato.codegen.planning import plan as planning
from ostinato.codegen.planning.plan import Plan, PlanOptions
from ostinato.codegen.planning.scheduler import Scheduled
from ostinato.codegen.planning.scheduler import schedule as scheduled
from ostinato.codegen.systems import tile as tiling
from ostinato.codegen.systems.tile import Tiled


def options(widths: Mapping[str, int] | None = None) -> PlanOptions:
    """The usual options, with tiles of some widths."""
    return PlanOptions(CPU, widths or {})


def plan(system: System, widths: Mapping[str, int] | None = None) -> Plan:
    """The plan of a system."""
    return planning.plan(system, options(widths))


def tile(system: System, widths: Mapping[str, int], workers: int) -> Tiled:
    """The system in tiles."""
    return tiling.tile(system, widths, workers, CPU)


def schedule(tiled: Tiled, outputs: frozenset[str]) -> Scheduled:
    """The statements in order."""
    return scheduled(tiled, outputs, {}, CPU)
