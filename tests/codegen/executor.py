"""A plan executed in Python: real addresses in one arena, workers that interleave at random.

Memory starts as NaN, so that a read before a write shows.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.codegen.ir.system import Call as Function
from ostinato.codegen.ir.system import Choice, Draw, Literal_, Load, Position, Statement, Value
from ostinato.codegen.ir.tree import (
    Call,
    Calling,
    Contraction,
    DriverLoop,
    Fill,
    Nest,
    Span,
    Step,
    Sweep,
    Tree,
)
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.masks.guards import guard_of
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.arena import layout
from ostinato.codegen.planning.kernel_partition import Chain, phases
from ostinato.codegen.planning.plan import Plan
from ostinato.codegen.systems.axes import operands, walked
from ostinato.pdg.condition import holds
from ostinato.pdg.functions import fold_unit
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.ports import Field
from tests.codegen.judge import PAIRS, Arrays, Number, Point, apply, drawn, picked, whole_row

Registers = dict[tuple[str, tuple[int, ...]], Number]


def values(span: Span, reverse: bool, point: Point) -> Sequence[int]:
    found = range(evaluate(span.lo, point), evaluate(span.hi, point))
    return found[::-1] if reverse else found


class Memory:
    """The arena, addressed by bytes, one number per element."""

    def __init__(self, plan: Plan, place: Layout, extents: Point) -> None:
        self.plan, self.place, self.extents = plan, place, extents
        self.cells = np.full(place.total_bytes, np.nan)

    def address(self, s: Storage, dims: Sequence[int], axes: Sequence[int], worker: int) -> int:
        offset = 0
        for slot, k in zip(s.slots, dims, strict=True):
            extent = evaluate(slot.extent, self.extents)
            at = {"full": k, "circular": k % extent, "one": 0}[slot.kind]
            assert 0 <= at < extent, f"{s.tensor} at {slot.dim} = {k} of {extent}"
            offset = offset * extent + at
        for axis, k in zip(s.axes, axes, strict=True):
            pad = evaluate(axis.pad, self.extents)
            assert 0 <= k < pad, f"{s.tensor} at axis {axis.index} = {k} of {pad}"
            offset = offset * pad + k
        base = self.place.offsets[s.owner]
        local = worker * self.place.local_stride if s.place == "local" else 0
        return base + local + offset * ITEM_BYTES[s.dtype]

    def array(self, port: Field) -> npt.NDArray[Any]:
        """A view of an argument or result in the user's shape."""
        s = self.plan.storage[port.tensor]
        shape = [evaluate(e, self.extents) for e in s.shape]
        base, item = self.place.offsets[s.tensor], ITEM_BYTES[s.dtype]
        count = int(np.prod(shape))
        stored = self.cells[base : base + count * item : item].reshape(shape)
        flat = [k for group in port.axes for k in group]
        merged = [int(np.prod([shape[k] for k in group])) for group in port.axes]
        wanted = tuple(slice(evaluate(e, self.extents)) for e in port.shape)
        return stored.transpose(flat).reshape(merged)[wanted]

    def fill(self, port: Field, given: npt.NDArray[Any]) -> None:
        s = self.plan.storage[port.tensor]
        base, item = self.place.offsets[s.tensor], ITEM_BYTES[s.dtype]
        self.cells[base : base + given.size * item : item] = given.ravel()


@dataclass(frozen=True)
class Item:
    """What one worker claims: a tile of a chain, or one of some parts, at a point of the loops."""

    chain: Chain
    tile: int | None
    part: int
    parts: int
    point: Point


class Worker:
    """One worker: it does an item of a phase, and yields after every leaf."""

    def __init__(self, memory: Memory, number: int) -> None:
        self.memory, self.number = memory, number
        self.plan = memory.plan
        self.registers: Registers = {}
        self.part, self.parts = 0, 1
        self.slices = 0
        self.along: Span | None = None  # the loop of which it does a part of the steps

    def do(self, item: Item) -> Iterator[None]:
        chain, self.part, self.parts = item.chain, item.part, item.parts
        for step in chain.steps:
            yield from self.step(step, item.tile, item.point)

    def step(self, step: Step, tile: int | None, point: Point) -> Iterator[None]:
        if isinstance(step, DriverLoop):
            for k in values(step.span, step.reverse, point):
                for inner in step.body:
                    yield from self.step(inner, None, point | {step.span.dim: k})
        elif isinstance(step, Call):
            kernel = self.plan.kernels[step.kernel]
            self.along = kernel.along
            if kernel.parallel is not None and tile is not None:
                point = point | {kernel.parallel.dim: tile}
            for place, tree in enumerate(kernel.body):
                self.slices = kernel.slices[place] if kernel.sliced else 0
                yield from self.trees((tree,), point)

    def trees(self, trees: Sequence[Tree], point: Point) -> Iterator[None]:
        for tree in trees:
            if not holds(guard_of(tree, self.plan.guards), point):
                continue
            match tree:
                case Nest():
                    self.nest(tree, point)
                case Contraction():
                    self.contraction(tree, point)
                case Sweep():
                    self.sweep(tree, point)
                case Fill(tensor):
                    self.fill(self.plan.statements[tensor], point)
                case Calling(name):
                    raise AssertionError(f"{name} calls Python")
                case _:
                    found = values(tree.span, tree.reverse, point)
                    mine = found[self.part :: self.parts] if tree.span is self.along else found
                    for k in mine:
                        yield from self.trees(tree.body, point | {tree.dim: k})
                    continue
            yield

    def mine(self, size: int) -> range:
        """The positions of an outermost axis that this worker computes."""
        if not self.slices:
            return range(size)
        each, rest = divmod(size, self.slices)
        assert not rest, f"{size} positions are no {self.slices} slices"
        first, end = (n * self.slices // self.parts for n in (self.part, self.part + 1))
        return range(each * first, each * end)

    # ------------------------------------------------------------ leaves

    def fill(self, s: Statement, point: Point) -> None:
        sizes = [range(evaluate(a.pad, point)) for a in s.result_axes]
        sizes[:1] = [self.mine(len(size)) for size in sizes[:1]]
        for axes in itertools.product(*sizes):
            here = point | {a.index: k for a, k in zip(s.result_axes, axes, strict=True)}
            self.store(s, here, fold_unit(s.fold, s.dtype))

    def nest(self, nest: Nest, point: Point) -> None:
        clause = next((k for k, c in enumerate(nest.conds) if holds(c, point)), None)
        if clause is None:
            return
        started: set[tuple[str, tuple[int, ...]]] = set()
        self.loops(nest, list(nest.axes), point, clause, started)

    def loops(
        self, nest: Nest, axes: list[Any], point: Point, clause: int, started: set[Any]
    ) -> None:
        if axes:
            size, is_first = evaluate(axes[0].size, point), axes[0] is nest.axes[0]
            for k in self.mine(size) if is_first else range(size):
                self.loops(nest, axes[1:], point | {axes[0].index: k}, clause, started)
            return
        for name in nest.moving(clause):
            s = self.plan.statements[name]
            loops = {a.index for a in nest.axes}
            inner = [a for a in s.axes if a.index not in loops]
            assert all(a.size.is_const for a in inner), f"{name} has a loop outside its nest"
            for tiny in itertools.product(*(range(a.size.as_int()) for a in inner)):
                here = point | {a.index: k for a, k in zip(inner, tiny, strict=True)}
                self.element(s, here, clause, name in nest.memory, started)

    def element(
        self, s: Statement, here: Point, clause: int, in_memory: bool, started: set[Any]
    ) -> None:
        value = self.value(s.clauses[clause][1], here)
        if s.kind == "map":
            self.store(s, here, value)
            return
        key = (s.name, tuple(here[a.index] for a in s.result_axes))
        if s.fold.startswith("arg"):
            self.arg(s, here, value, key, started)
            return
        old = self.load_own(s, here) if in_memory or key in started else fold_unit(s.fold, s.dtype)
        started.add(key)
        self.store(s, here, PAIRS[s.fold](old, value).item())

    def arg(self, s: Statement, here: Point, value: Number, key: Any, started: set[Any]) -> None:
        axis = next(a for a in s.axes if a.index in s.reduced)
        best = self.registers.get(("best", *key)) if key in started else None
        started.add(key)
        better = best is None or (value > best if s.fold == "argmax" else value < best)
        if better:
            self.registers["best", *key] = value
            self.store(s, here, here[axis.index])

    def contraction(self, leaf: Contraction, point: Point) -> None:
        s = self.plan.statements[leaf.statement]
        named = {a.index for a in (leaf.m, leaf.n, leaf.k, *leaf.outer) if a is not None}
        assert named == {a.index for a in s.axes}, f"{s.name} leaves an axis out"
        for here in self.elements([a for a in s.axes if a.index not in s.reduced], point):
            total = self.load_own(s, here) if leaf.accumulate else 0.0
            for inner in self.elements([a for a in s.axes if a.index in s.reduced], here):
                total += self.value(s.clauses[0][1], inner)
            self.store(s, here, total)
        for name in leaf.epilogues:
            e = self.plan.statements[name]
            for here in self.elements(list(e.axes), point):
                self.store(e, here, self.value(e.clauses[0][1], here))

    def sweep(self, leaf: Sweep, point: Point) -> None:
        s = self.plan.statements[leaf.statement]
        own = next((a for a in s.axes if a.index is s.along), None)
        for here in self.elements(list(leaf.rows), point):
            rows: list[Any] = []
            for x in operands(s):
                axis = walked(s, x)
                places = self.elements([axis] if axis else [], here)
                rows.append(np.array([self.value(x, k) for k in places], x.dtype))
            size = evaluate(own.size, here) if own else 1
            for k, value in enumerate(whole_row(s.fold, rows, size)):
                self.store(s, here | ({own.index: k} if own else {}), value)

    def elements(self, axes: list[Any], point: Point) -> Iterator[Point]:
        if not axes:
            yield point
            return
        for k in range(evaluate(axes[0].size, point)):
            yield from self.elements(axes[1:], point | {axes[0].index: k})

    # ------------------------------------------------------------ values

    def store(self, s: Statement, here: Point, value: Number) -> None:
        storage = self.plan.storage[s.name]
        dims = tuple(here[d] for d in s.result_dims)
        axes = tuple(here[a.index] for a in s.result_axes)
        if storage.place == "register":
            self.registers[s.name, (*dims, *axes)] = value
        else:
            self.memory.cells[self.memory.address(storage, dims, axes, self.number)] = value

    def load_own(self, s: Statement, here: Point) -> Number:
        dims = tuple(here[d] for d in s.result_dims)
        axes = tuple(here[a.index] for a in s.result_axes)
        return self.fetch(s.name, dims, axes)

    def fetch(self, name: str, dims: tuple[int, ...], axes: tuple[int, ...]) -> Number:
        storage = self.plan.storage[name]
        if storage.place == "register":
            return self.registers[name, (*dims, *axes)]
        return self.memory.cells[self.memory.address(storage, dims, axes, self.number)]

    def value(self, value: Value, here: Point) -> Number:
        match value:
            case Literal_(of):
                return of
            case Position(of):
                return evaluate(of, here)
            case Draw():
                return drawn(value, here)
            case Function(_, args):
                return apply(value, [self.value(a, here) for a in args])
            case Choice(cond, then, other):
                return self.value(then if holds(cond, here) else other, here)
            case Load():
                return self.load(value, here)

    def load(self, load: Load, here: Point) -> Number:
        storage = self.plan.storage[load.tensor]
        here = picked(load, here, self.value)
        dims = [evaluate(e, here) for e in load.dims]
        if load.clamp:
            for k, slot in enumerate(storage.slots):
                if slot.kind == "full":
                    last = evaluate(slot.extent, self.memory.extents) - 1
                    dims[k] = max(min(dims[k], last), 0)
        axes = [evaluate(e, here) for e in load.axes]
        if load.clamp == "all":
            lasts = [evaluate(a.pad, self.memory.extents) - 1 for a in storage.axes]
            axes = [max(min(k, last), 0) for k, last in zip(axes, lasts, strict=True)]
        return self.fetch(load.tensor, tuple(dims), tuple(axes))


def execute(
    plan: Plan, extents: Mapping[str, int], inputs: Arrays, workers: int = 2, seed: int = 0
) -> dict[str, npt.NDArray[Any]]:
    """Run a plan; ``seed`` says who claims which item, and the order in which workers advance."""
    base: Point = {Extent(n): k for n, k in extents.items()}
    memory = Memory(plan, layout(plan, extents, workers), base)
    for port in plan.inputs:
        memory.fill(port, inputs[port.name])
    chance = random.Random(seed)
    team = [Worker(memory, k) for k in range(workers)]
    for items in every_phase(plan, plan.driver, dict(base), workers):
        chance.shuffle(items)
        at_work: dict[int, Iterator[None]] = {}
        while items or at_work:
            k = chance.choice(range(workers) if items else sorted(at_work))
            if k not in at_work:
                at_work[k] = team[k].do(items.pop())
            for _ in range(chance.choice((1, 1, 3, 1000))):
                if next(at_work[k], "over"):
                    del at_work[k]
                    break
    return {port.name: memory.array(port).copy() for port in plan.outputs}


def every_phase(
    plan: Plan, steps: Sequence[Step], point: Point, workers: int
) -> Iterator[list[Item]]:
    for each in phases(steps, plan.kernels):
        if isinstance(each, DriverLoop):
            for k in values(each.span, each.reverse, point):
                yield from every_phase(plan, each.body, point | {each.span.dim: k}, workers)
        else:
            yield [item for chain in each for item in items_of(chain, point, workers)]


def items_of(chain: Chain, point: Point, workers: int) -> Iterator[Item]:
    tiles = [None] if chain.span is None else values(chain.span, False, point)
    parts = min(workers, chain.slices) if chain.sliced else 1
    if chain.along is not None:
        parts = max(1, workers // max(1, len(tiles)))
    for tile, part in itertools.product(tiles, range(parts)):
        yield Item(chain, tile, part, parts, point)


__all__ = ["Dim", "execute"]
