"""Runs of emitted functions by the interpreter of the loop IR, which traps what is wrong in them.

Workers take the items of a phase in any order. A read of what was never written that decides
something, an access outside of a tensor, and two items of a phase of which one writes what the
other one accesses end a run. Nothing of what writes machine code is used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice, product

import numpy as np

from ostinato.certificate.machine import Emission
from ostinato.certificate.runs import SMALL, Promise, check_results, stand_ins, trials
from ostinato.codegen.loops.checker import check
from ostinato.codegen.loops.expression import SUFFIX
from ostinato.codegen.loops.interpreter import Machine
from ostinato.codegen.loops.memory import ByteRange, Memory, Poison, Trap
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Expr, Extent, evaluate
from ostinato.pdg.node import Pdg
from ostinato.runtime.machine_code.ports import Field, PythonCall, View
from ostinato.runtime.run.arrays import longest, put, sizes, take
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.execution import Bound

WORKERS = 3  # no number of them may change a result
Env = Mapping[Dim | Extent, int]
WORDS = 64  # of Python calls: dims and arrays are few


def check_loops(source: Pdg, emission: Emission, promise: Promise) -> str:
    """Check that functions are well-formed, and that at small extents they mean the source.

    Errors: InvariantError, Trap, Different.
    """
    check(emission.functions, emission.plan.target.names() | {*SUFFIX.values()})
    hosts, orders = stand_ins(source), count()

    def run(bound: Bound) -> dict[str, Array]:
        return run_loops(emission, replace(bound, hosts=hosts), WORKERS, next(orders))

    few = tuple(islice(trials(source), SMALL))
    return f"loop IR {check_results('the loop IR', source, few, run, promise)}, in any order"


def run_loops(emission: Emission, bound: Bound, workers: int, order: int = 0) -> dict[str, Array]:
    """The outputs; ``order`` is the seed of that in which workers take items.

    Errors: Trap.
    """
    artifact, extents = emission.artifact, bound.extents
    machine = _machine(emission, extents, workers, random.Random(order))
    given = {**bound.inputs, **artifact.constants}
    for field in artifact.interface.inputs:
        stored = np.zeros(sizes(field.stored, extents), field.dtype)
        put(stored, field, given[field.name], extents)
        machine.memory.put(field.tensor, stored)
    machine.python = _Python(artifact, machine, bound)
    machine.run({name: extents[name] for name in artifact.interface.extents}, bound.seed)
    found = ((x.name, _taken(machine.memory, x, extents)) for x in artifact.interface.outputs)
    return {name: _shaped(artifact, name, value, extents) for name, value in found}


def _machine(
    emission: Emission, extents: Mapping[str, int], workers: int, order: random.Random
) -> Machine:
    """A machine with an empty arena."""
    from ostinato.codegen.planning.arena import sizes_bytes

    storage, bytes_of = emission.plan.storage, sizes_bytes(emission.plan, extents)
    place = emission.artifact.place(extents, workers)
    areas = {
        name: ByteRange(at, at + bytes_of[name], storage[name].place == "local")
        for name, at in place.offsets.items()
    }
    tensors = emission.artifact.interface.tensors
    table = [place.offsets[name] // width for name, width in tensors]
    memory = Memory(place.total_bytes, areas)
    beside = [0] * (WORDS + emission.artifact.interface.walk_words)  # no history is in a file
    return Machine(emission.functions, memory, [*table, *beside], workers, order)


def _taken(memory: Memory, field: Field, extents: Mapping[str, int]) -> Array:
    """An output, all of which has to be written.

    Errors: Trap.
    """
    first, shape = memory.areas[field.tensor].first, sizes(field.stored, extents)
    dtype = np.dtype(field.dtype)
    end = first + int(np.prod(shape, initial=1)) * dtype.itemsize
    missing = memory.holds[first:end] != memory.numbers[field.tensor]
    lacks = missing.reshape(-1, dtype.itemsize).any(1).reshape(shape)
    if np.any(take(lacks, field, extents)):
        raise Trap(f"a part of the result `{field.name}` was never written")
    return take(memory.bytes[first:end].view(dtype).reshape(shape), field, extents)


def _shaped(artifact: Artifact, name: str, found: Array, extents: Mapping[str, int]) -> Array:
    """An output in the shape that users see: sizes that follow the point are the longest ones."""
    whole, count = sizes(artifact.shapes[name], extents), len(artifact.domains[name])
    shape = artifact.varying.get(name)
    longer = whole if shape is None else (*whole[:count], *longest(shape, whole[count:], extents))
    return found.reshape(whole)[tuple(map(slice, longer))]


@dataclass
class _Python:
    """The calls of Python: the words behind the table's entries say where their arrays lie."""

    artifact: Artifact
    machine: Machine
    bound: Bound

    def __call__(self, number: int) -> None:
        """Call a function with what its operands hold, and write what it returns.

        Errors: Trap.
        """
        interface = self.artifact.interface
        (call,) = (x for x in interface.calls if x.number == number)
        first = len(interface.tensors) + interface.walk_words
        words = map(int, self.machine.table[first + 1 :])
        point = {dim: next(words) for dim in call.dims}
        env: dict[Dim | Extent, int] = {Extent(n): k for n, k in self.bound.extents.items()}
        env.update(point.items())
        read = [self._read(view, next(words), env) for view in call.operands]
        value = np.asarray(self.bound.hosts[number](read, point, env))
        self._write(call, next(words), value, env)

    def _write(self, call: PythonCall, start: int, value: Array, env: Env) -> None:
        memory, result = self.machine.memory, call.result
        whole = np.broadcast_to(value, _sizes(result.shape, env)).reshape(-1)
        for place, element in zip(self._places(result, start, env), whole, strict=True):
            memory.write(result.tensor, place, result.dtype, element)

    def _read(self, view: View, start: int, env: Env) -> Array:
        memory = self.machine.memory
        found = [memory.read(view.tensor, k, view.dtype) for k in self._places(view, start, env)]
        if any(isinstance(x, Poison) for x in found):
            raise Trap(f"a Python function is given a part of `{view.tensor}` never written")
        return np.array(found, view.dtype).reshape(_sizes(view.shape, env))

    @staticmethod
    def _places(view: View, start: int, env: Env) -> Iterator[int]:
        steps = _sizes(view.strides, env)
        for index in product(*map(range, _sizes(view.shape, env))):
            yield start + sum(k * step for k, step in zip(index, steps, strict=True))


def _sizes(of: tuple[Expr, ...], env: Env) -> tuple[int, ...]:
    return tuple(max(0, evaluate(e, env)) for e in of)
