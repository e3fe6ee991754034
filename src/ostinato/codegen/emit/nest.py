"""Nests of vector axes: maps, folds in variables, folds in memory.

The last tile of a dim may be ragged: its axis has fewer positions than slots. Computing the slots
that hold nothing is harmless where every tensor that moves with the axis has them too, and nothing
is folded along it: whole tiles vectorise without a remainder. It takes time, so of the groups of
`Target.together` slots only those are computed that hold some row. Readers leave out the same
groups.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import prod

from ostinato.codegen.emit.accumulators import Accumulators, Lanes, fold, lanes_of, unit
from ostinato.codegen.emit.function import ARENA, Body, Function
from ostinato.codegen.emit.index_arithmetic import condition, expression, whole_blocks
from ostinato.codegen.emit.value import Scope, at_literals, bind, print_value, shared
from ostinato.codegen.ir.changed_elements import Bound, Test
from ostinato.codegen.ir.system import Axis, Load, Statement, Value
from ostinato.codegen.ir.tree import Nest, active
from ostinato.codegen.loops.expression import (
    SUFFIX,
    Constant,
    Expression,
    Name,
    binary,
    call,
    compare,
    given,
)
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.codegen.loops.statements import Binding, Block, Nothing
from ostinato.codegen.memory.transposed import Transposed, transposed_copies
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.scheduling.leaves import is_long
from ostinato.pdg.bounds import is_never_negative
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.functions import POSITIONS
from ostinato.pdg.index import Dim, Expr, expr

FEW = 1 << 14  # elements that take no time, drawn once in a run
Literals = dict[Dim, Expr]


def emit_nest(nest: Nest, function: Function, out: Block) -> None:
    """Write a nest: one loop nest per clause condition."""
    if not active(nest):
        out.add(Nothing(f"in place: {', '.join(nest.statements)}"))
        return
    for clause, cond in enumerate(nest.conds):
        writer = _Clause(nest, clause, function)
        if cond == ALWAYS and clause == 0:
            writer.write(out)
            return
        test = None if cond == ALWAYS else condition(cond, function.dims)
        side = out.otherwise(test) if clause or test is None else out.when(test)
        with side, function.block():
            writer.write(out)
        if cond == ALWAYS:
            return


@dataclass(frozen=True)
class Cell:
    """One unrolled copy of a statement: its literals, and its value there."""

    statement: Statement
    literals: Literals
    value: Value

    def result(self) -> Load:
        """The load that reads what this cell computes."""
        s = self.statement
        at = tuple(self.literals.get(a.index, expr(a.index)) for a in s.result_axes)
        return Load(s.name, tuple(expr(d) for d in s.result_dims), at, s.dtype)

    def tag(self) -> str:
        """The statement's name and the literals of its result."""
        kept = [self.literals.get(a.index) for a in self.statement.result_axes]
        return "_".join([self.statement.name, *(str(k) for k in kept if k is not None)])


def cells(statement: Statement, value: Value, loops: frozenset[Dim]) -> list[Cell]:
    """Every combination of the tiny axes, ascending, the last axis fastest."""
    tiny = [a for a in statement.axes if a.index not in loops]
    ranges = [range(a.size.as_int()) for a in tiny]
    out: list[Cell] = []
    for combination in itertools.product(*ranges):
        table = {a.index: expr(k) for a, k in zip(tiny, combination, strict=True)}
        out.append(Cell(statement, table, at_literals(value, table)))
    return out


@dataclass
class _Clause:
    """The loops of one clause while they are written."""

    nest: Nest
    clause: int
    function: Function
    body: Body = field(init=False)
    todo: list[tuple[Statement, list[Cell]]] = field(init=False)
    shared: frozenset[Value] = field(init=False)  # values that occur more than once
    accumulators: Accumulators = field(init=False)
    transposed: dict[str, Transposed] = field(init=False)

    def __post_init__(self) -> None:
        self.loops = [a.index for a in self.nest.axes]
        self.limits = self.function.plan.limits.get((self.nest.statements[0], self.clause), ())
        self.body = Body(self.function, frozenset(self.loops))
        self.transposed = self._transposed()

    def _transposed(self) -> dict[str, Transposed]:
        """The copies that go by squares; those of a slice only if it has whole ones."""
        plan, first = self.function.plan, self.nest.axes[:1]
        if "squares" in plan.without:
            return {}
        found = transposed_copies(self.nest, self.clause, plan.statements, plan.storage)
        if not found or not self.function.slices:
            return found
        return found if first[0].size.as_int() % (self.function.slices * SQUARE) == 0 else {}

    def write(self, out: Block) -> None:
        self.todo = [
            (s, cells(s, s.clauses[self.clause][1], self.body.inner))
            for s in map(self.function.statement, self.nest.moving(self.clause))
        ]
        if not self.todo:
            out.add(Nothing("it is in place"))
            return
        self.shared = shared(tuple(c.value for _, group in self.todo for c in group))
        self.accumulators = Accumulators(self.nest, self.function, self.body, self._lanes())
        loops = Block()
        self._level(0, loops)
        out.extend(self.body.hoisted)
        out.extend(loops.body)

    def _lanes(self) -> Lanes | None:
        """How the folds of this clause are kept apart, on a target where one worker folds a row."""
        if not self.function.plan.target.keeps_parts or not self.nest.axes:
            return None
        loops = {*self.loops}
        folds = [(s, group) for s, group in self.todo if s.kind != "map" and s.reduced & loops]
        results = sum(
            (1 + (s.fold in POSITIONS)) * len({c.result() for c in group}) for s, group in folds
        )
        axis = self.nest.axes[-1]
        extent = self._extent(axis)
        slots = extent.const if extent.is_const else 0
        if extent != axis.size:
            slots = self.function.plan.target.together(slots)
        moving = [s for s, _ in self.todo]
        return lanes_of(self.nest, moving, results, slots, self.function.plan.exact)

    def _level(self, depth: int, out: Block) -> None:
        """The loops from a depth on: around those that complete a block one over all blocks."""
        lanes = self.accumulators.lanes
        if lanes is None or lanes.is_folded or depth != lanes.depth:
            self._around(depth, out)
            return
        first = Name(self.function.names.fresh(f"{self._name(lanes.axis.index)}_first"))
        size, extent = lanes.axis.size, self._extent(lanes.axis)
        last, end = binary("+", first, lanes.count), expression(size, self.function.dims)
        if extent == size and not (size.is_const and size.const % lanes.count == 0):
            last = call("min", last, end)
        with out.loop(first.id, 0, end, lanes.count), self.accumulators.block(first, last):
            self._around(depth, out)

    def _around(self, depth: int, out: Block) -> None:
        """A loop, with what begins and ends around it."""
        if depth == len(self.nest.axes):
            self._inside(out)
            return
        axis, lanes = self.nest.axes[depth], self.accumulators.lanes
        for s, cell in self._complete_after(depth):
            self.accumulators.start(s, cell.result(), cell.tag(), out)
        if lanes is not None and lanes.is_folded and axis is lanes.axis:
            self._in_blocks(lanes, out)
        else:
            with ExitStack() as loops:
                self._test(depth, loops, out)
                self._open(axis, loops, out)
                self._level(depth + 1, out)
        for s, cell in self._complete_after(depth):
            self.accumulators.finish(s, cell.result(), out)

    def _complete_after(self, depth: int) -> Iterator[tuple[Statement, Cell]]:
        """The folds whose first loop has a depth, with a cell for each of their results."""
        for s, group in self.todo:
            if self.accumulators.depth(s) == depth:
                for _, run in grouped(group):
                    yield s, run[0]

    def _in_blocks(self, lanes: Lanes, out: Block) -> None:
        """The loop over an axis that is folded in lanes: whole blocks of turns, then the rest.

        Where a turn is long, one loop over blocks has the last one too, which may be shorter.
        """
        axis, each, stem = lanes.axis, lanes.count, self._name(lanes.axis.index)
        size = end = expression(axis.size, self.function.dims)
        first = Name(self.function.names.fresh(f"{stem}_first"))
        last, is_whole = binary("+", first, each), False
        if axis.size.is_const:
            end = Constant(axis.size.const // each * each)
            is_whole = end == size
        elif not any(map(is_long, self._values())):
            whole = whole_blocks(axis.size, each, self.function.dims)
            end = bind(whole, f"{stem}_end", self.body.scope(out))
        else:
            last, is_whole = call("min", last, size), True
        with out.loop(first.id, 0, end, each):
            self._turns((first, last), out)
        if not is_whole:
            self._turns((end, size), out)

    def _turns(self, bounds: tuple[Expression, ...], out: Block) -> None:
        axis = self.nest.axes[-1]
        with (
            self.accumulators.block(*bounds),
            out.loop(self._name(axis.index), *bounds, binding=self._binding(axis)),
        ):
            self._inside(out)

    def _values(self) -> Iterator[Value]:
        return (cell.value for _, group in self.todo for cell in group)

    def _inside(self, out: Block) -> None:
        """What is done in the innermost loop."""
        scope = self.body.scope(out)
        scope.few = all(a.size.is_const for a in self.nest.axes) and (
            prod(a.size.as_int() for a in self.nest.axes) <= FEW
        )
        scope.shared = self.shared
        for statement, group in self.todo:
            if statement.name in self.transposed:
                self._transpose(self.transposed[statement.name], group[0], scope)
            else:
                self._statement(statement, group, scope)

    def _open(self, axis: Axis, loops: ExitStack, out: Block) -> None:
        """Open the loop over an axis: of the outermost one in a slice over this worker's part.

        Slots of a tile that hold nothing are left out, as far as whole vectors of them do.
        """
        name, extent = self._name(axis.index), self._extent(axis)
        binding, lanes = self._binding(axis), self.accumulators.lanes
        if lanes is not None and axis is lanes.axis:
            loops.enter_context(out.loop(name, *self.accumulators.bounds, binding=binding))
            return
        bounds: tuple[Expression | int, ...] = (expression(extent, self.function.dims),)
        if self.function.slices and axis is self.nest.axes[0]:
            bounds = self.function.slice(axis.size.as_int())
        if limits := self._bounds(axis.index):
            bounds = self._limited(bounds, limits, out)
        each = self.function.plan.target.together(extent.const) if extent != axis.size else 0
        if 0 < each < extent.const:
            first = self.function.names.fresh(f"{name}_first")
            used = expression(axis.size, self.function.dims)
            loops.enter_context(out.loop(first, 0, used, each, binding=binding))
            bounds = (Name(first), binary("+", first, each))
        if any(axis.index in (copy.row, copy.column) for copy in self.transposed.values()):
            bounds = (*(bounds if len(bounds) == 2 else (0, *bounds)), SQUARE)
        loops.enter_context(out.loop(name, *bounds, binding=binding))

    def _test(self, depth: int, loops: ExitStack, out: Block) -> None:
        """Pass over the loops from a depth on where no element changes in them.

        Where one of them is empty nothing is read to find that out.
        """
        axis, outer, last = self.loops[depth], self.loops[:depth], self.loops[depth - 1 : depth]
        tests = [x for x in self.limits if self._is_for(x, outer, last)]
        reads = any(x.reads_memory for x in (*tests, *self._bounds(axis)))
        sizes = [a.size for a in self.nest.axes[depth:]] if reads else []
        for size in (size for size in sizes if not is_never_negative(size - 1)):
            some = compare(">", expression(size, self.function.dims), 0)
            loops.enter_context(out.when(some))
        for test in tests:
            loops.enter_context(out.when(print_value(test.of, self.body.scope(out))))

    def _is_for(self, test: Test, outer: Sequence[Dim], last: Sequence[Dim]) -> bool:
        """Whether a test waits for the last one of the loops around, and for no further one."""
        around = test.symbols & {*self.loops}
        return not isinstance(test, Bound) and {*last} <= around <= {*outer}

    def _bounds(self, axis: Dim) -> list[Bound]:
        return [x for x in self.limits if isinstance(x, Bound) and x.axis == axis]

    def _limited(
        self, bounds: Sequence[Expression | int], limits: Sequence[Bound], out: Block
    ) -> tuple[Expression, Expression]:
        """The bounds of a loop without elements that stay as they are."""
        low, end = map(given, bounds if len(bounds) > 1 else (0, *bounds))
        scope = self.body.scope(out)
        for limit in limits:
            at = print_value(limit.of, scope)
            if limit.side == "low":
                low = call("max", at, low)
            else:
                end = call("min", at, end)
        return low, end

    def _binding(self, axis: Axis) -> Binding:
        """No turn needs another where no statement folds along the axis, but in lanes."""
        lanes = self.accumulators.lanes
        apart = lanes is not None and axis is lanes.axis
        waits = any(
            axis.index in s.reduced and not (apart and self.accumulators.keeps(s))
            for s, _ in self.todo
        )
        return "serial" if waits else "lanes"

    def _transpose(self, copy: Transposed, cell: Cell, scope: Scope) -> None:
        """Copy a square."""
        to, source = self.body.offset(cell.result()), self.body.offset(copy.source)
        name = f"transpose_{SUFFIX[cell.statement.dtype]}"
        scope.out.do(call(name, ARENA, to, copy.to_step, source, copy.source_step))

    def _extent(self, axis: Axis) -> Expr:
        if self._bounds(axis.index):
            return axis.size
        statements = map(self.function.statement, self.nest.moving(self.clause))
        return extent(axis, statements, self.function.plan)

    def _name(self, dim: Dim) -> str:
        return self.function.dims[dim]

    def _statement(self, s: Statement, group: list[Cell], scope: Scope) -> None:
        if s.kind == "map" or not s.reduced:
            for cell in group:
                self._finish(cell, print_value(cell.value, scope), scope)
        elif self.accumulators.depth(s) is not None:
            for cell in group:
                self._combine(cell, self.accumulators.names[cell.result()], scope)
        elif s.name in self.nest.memory:
            for cell in group:
                offset = self.body.offset(cell.result(), scope)
                old = self.function.load(s.name, offset)
                new = fold(s, old, print_value(cell.value, scope))
                scope.out.add(self.function.store(s.name, offset, new))
        else:
            self._small_fold(s, group, scope)

    def _small_fold(self, s: Statement, group: list[Cell], scope: Scope) -> None:
        """A fold over unrolled axes only: its copies combine in ascending order."""
        for result, run in grouped(group):
            if s.fold in POSITIONS:
                name = self.accumulators.variable(s, run[0].tag(), unit(s), scope.out)
                for cell in run:
                    self._combine(cell, name, scope)
                self._finish(run[0], Name(name), scope)
                continue
            acc = print_value(run[0].value, scope)
            for cell in run[1:]:
                acc = fold(s, acc, print_value(cell.value, scope))
            assert result == run[0].result()
            self._finish(run[0], acc, scope)

    def _combine(self, cell: Cell, name: str, scope: Scope) -> None:
        s = cell.statement
        at: Expression = Name("none")
        value = print_value(cell.value, scope)
        if s.fold in POSITIONS:
            axis = next(iter(s.reduced))
            place = expression(cell.literals.get(axis, expr(axis)), self.function.dims)
            at = call(SUFFIX[s.dtype], place)
        self.accumulators.combine(s, name, value, at, scope)

    def _finish(self, cell: Cell, value: Expression, scope: Scope) -> None:
        """Name a finished value for later statements and store it where memory wants it."""
        s, result = cell.statement, cell.result()
        place = self.function.storage(s.name).place
        variable = bind(value, cell.tag(), scope)
        scope.known[result] = variable
        if place != "register":
            scope.out.add(self.function.store(s.name, self.body.offset(result), variable))


def grouped(group: list[Cell]) -> Iterator[tuple[Load, list[Cell]]]:
    """Cells that combine into one result, in order of the first."""
    runs: dict[Load, list[Cell]] = {}
    for cell in group:
        runs.setdefault(cell.result(), []).append(cell)
    yield from runs.items()


def extent(axis: Axis, statements: Iterable[Statement], plan: Plan) -> Expr:
    """How far a loop over the axis runs: over all slots where that is harmless."""
    may_pad = axis.pad.is_const and "padding of tiles" not in plan.without
    if axis.size == axis.pad or not may_pad:
        return axis.size
    return axis.pad if all(_fits(axis, s, plan) for s in statements) else axis.size


def _fits(axis: Axis, s: Statement, plan: Plan) -> bool:
    if axis.index in s.reduced or axis.size.dims & s.reduced:
        return False  # a sum of several tiles has slots for the rows of all of them
    stored = plan.storage[s.name].axes
    if any(a.index == axis.index and not _has_slots(a, axis) for a in stored):
        return False
    return all(_load_fits(axis, x, plan) for x in s.reads)


def _load_fits(axis: Axis, load: Load, plan: Plan) -> bool:
    """Whether the load has a slot for every slot of the axis."""
    if any(axis.index in d.dims for d in load.dims):
        return False
    for slot, at in zip(plan.storage[load.tensor].axes, load.axes, strict=True):
        if axis.index not in at.dims:
            continue
        if at != expr(axis.index) or not _has_slots(slot, axis):
            return False
    return True


def _has_slots(stored: Axis, axis: Axis) -> bool:
    """Whether an axis is stored with all its slots, and some between steps perhaps."""
    return stored.pad == axis.pad or (
        stored.pad.is_const and axis.pad.is_const and stored.pad.const > axis.pad.const
    )
