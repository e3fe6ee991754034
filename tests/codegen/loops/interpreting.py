"""Programs of users run by the interpreter of the loop IR."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import ostinato as ot
from ostinato.codegen.emit.generated_module import functions
from ostinato.codegen.emit.interface import interface
from ostinato.codegen.emit.ports import Field
from ostinato.codegen.loops.interpreter import Machine
from ostinato.codegen.loops.memory import ByteRange, Memory, Trap
from ostinato.codegen.loops.statements import Function
from ostinato.codegen.planning.arena import layout, sizes_bytes
from ostinato.codegen.planning.plan import Plan
from ostinato.compiler.arguments import signature
from ostinato.compiler.options import options_from
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.half_storage import encoded
from ostinato.runtime.run.arrays import put, stored_view, take

Arrays = Mapping[str, npt.NDArray[Any]]


def planned(program: ot.Program, **options: Any) -> tuple[Plan, Arrays]:
    chosen = options_from(options, program.pdg)
    return plan_of(optimize_pdg(encoded(program.pdg), None, chosen), chosen)


def machine(
    plan: Plan, code: Sequence[Function], extents: Mapping[str, int], workers: int, seed: int
) -> Machine:
    """A machine with an empty arena, whose workers take items as the seed has it."""
    place, sizes = layout(plan, extents, workers), sizes_bytes(plan, extents)
    areas = {
        name: ByteRange(at, at + sizes[name], plan.storage[name].place == "local")
        for name, at in place.offsets.items()
    }
    view = interface(plan)
    table = [place.offsets[name] // width for name, width in view.tensors]
    words = len(table) + 64
    memory = Memory(place.total_bytes, areas)
    table += [0] * (words - len(table))
    return Machine(code, memory, table, workers, random.Random(seed))


def interpreted(
    program: ot.Program,
    workers: int = 2,
    seed: int = 0,
    change: Callable[[Sequence[Function]], Sequence[Function]] = tuple,
    **arguments: Any,
) -> dict[str, npt.NDArray[Any]]:
    """The outputs of a program as its loop IR has them, or as it has them after a ``change``."""
    plan, constants = planned(program, threads=workers)
    arrays: dict[str, npt.NDArray[Any]] = {
        k: v for k, v in arguments.items() if not isinstance(v, int)
    }
    extents = {k: v for k, v in arguments.items() if isinstance(v, int)}
    given = {**arrays, **constants}
    assert {*signature(program.pdg).extents} <= extents.keys(), "all extents are needed"
    run = machine(plan, change(tuple(functions(plan))), extents, workers, seed)
    view = interface(plan)
    for field in view.inputs:
        area = run.memory.areas[field.tensor]
        raw = np.zeros(area.end, np.uint8)
        put(stored_view(raw, field, area.first, extents), field, given[field.name], extents)
        run.memory.put(field.tensor, raw[area.first :])
    run.run({name: extents[name] for name in plan.extents}, seed)
    return {field.name: taken(run.memory, field, extents) for field in view.outputs}


def taken(memory: Memory, field: Field, extents: Mapping[str, int]) -> npt.NDArray[Any]:
    first = memory.areas[field.tensor].first
    missing = (memory.holds != memory.numbers[field.tensor]).astype(np.uint8)
    if np.any(take(stored_view(missing, field, first, extents), field, extents)):
        raise Trap(f"a part of the result `{field.name}` was never written")
    return take(stored_view(memory.bytes, field, first, extents), field, extents)
