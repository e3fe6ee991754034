"""Nests of vector axes: maps, folds in variables, folds in memory.

The last tile of a dim may be ragged: its axis has fewer positions than slots. Computing the slots
that hold nothing is harmless where every tensor that moves with the axis has them too, and nothing
is folded along it: whole tiles vectorise without a remainder. It takes time, so of the groups of
`Target.together` slots only those are computed that hold some row. Readers leave out the same
groups.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import prod

from ostinato.codegen.emit.function import ARENA, Body, Function
from ostinato.codegen.emit.index_arithmetic import condition, expression
from ostinato.codegen.emit.value import Scope, at_literals, bind, print_value, shared
from ostinato.codegen.ir.system import Axis, Load, Statement, Value, loads
from ostinato.codegen.ir.tree import Nest, active
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import (
    FLOATS,
    SUFFIX,
    Expression,
    Name,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.codegen.loops.statements import Binding, Block, Nothing
from ostinato.codegen.memory.transposed import Transposed, transposed_copies
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.functions import POSITIONS, REPEATED, fold_unit
from ostinato.pdg.index import Dim, Expr, dims_of, expr
from ostinato.pdg.node import Dtype

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
    accumulators: dict[Load, str] = field(default_factory=dict[Load, str])
    transposed: dict[str, Transposed] = field(init=False)

    def __post_init__(self) -> None:
        self.loops = [a.index for a in self.nest.axes]
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
        todo = [
            (s, cells(s, s.clauses[self.clause][1], self.body.inner))
            for s in map(self.function.statement, self.nest.moving(self.clause))
        ]
        if not todo:
            out.add(Nothing("it is in place"))
            return
        inside = Block()
        scope = self.body.scope(inside)
        scope.few = all(a.size.is_const for a in self.nest.axes) and (
            prod(a.size.as_int() for a in self.nest.axes) <= FEW
        )
        scope.shared = shared(tuple(c.value for _, group in todo for c in group))
        before, after = self._accumulators(todo)
        for statement, group in todo:
            if statement.name in self.transposed:
                self._transpose(self.transposed[statement.name], group[0], scope)
            else:
                self._statement(statement, group, scope)
        self._assemble(out, inside, before, after)

    def _assemble(self, out: Block, inside: Block, before: list[Block], after: list[Block]) -> None:
        out.extend(self.body.hoisted)
        with ExitStack() as open_loops:
            stacks: list[ExitStack] = []
            for depth, axis in enumerate(self.nest.axes):
                out.extend(before[depth].body)
                stack = open_loops.enter_context(ExitStack())
                self._open(axis, stack, out)
                stacks.append(stack)
            out.extend(inside.body)
            for depth in reversed(range(len(stacks))):
                stacks[depth].close()
                out.extend(after[depth].body)

    def _open(self, axis: Axis, loops: ExitStack, out: Block) -> None:
        """Open the loop over an axis: of the outermost one in a slice over this worker's part.

        Slots of a tile that hold nothing are left out, as far as whole vectors of them do.
        """
        name, extent = self._name(axis.index), self._extent(axis)
        binding = self._binding(axis)
        bounds: tuple[Expression | int, ...] = (expression(extent, self.function.dims),)
        if self.function.slices and axis is self.nest.axes[0]:
            bounds = self.function.slice(axis.size.as_int())
        each = self.function.plan.target.together(extent.const) if extent != axis.size else 0
        if 0 < each < extent.const:
            first = self.function.names.fresh(f"{name}_first")
            used = expression(axis.size, self.function.dims)
            loops.enter_context(out.loop(first, 0, used, each, binding=binding))
            bounds = (Name(first), binary("+", first, each))
        if any(axis.index in (copy.row, copy.column) for copy in self.transposed.values()):
            bounds = (*(bounds if len(bounds) == 2 else (0, *bounds)), SQUARE)
        loops.enter_context(out.loop(name, *bounds, binding=binding))

    def _binding(self, axis: Axis) -> Binding:
        """No turn needs another where no statement folds along the axis."""
        moving = map(self.function.statement, self.nest.moving(self.clause))
        return "serial" if any(axis.index in s.reduced for s in moving) else "lanes"

    def _transpose(self, copy: Transposed, cell: Cell, scope: Scope) -> None:
        """Copy a square."""
        to, source = self.body.offset(cell.result()), self.body.offset(copy.source)
        name = f"transpose_{SUFFIX[cell.statement.dtype]}"
        scope.out.do(call(name, ARENA, to, copy.to_step, source, copy.source_step))

    def _extent(self, axis: Axis) -> Expr:
        statements = map(self.function.statement, self.nest.moving(self.clause))
        return extent(axis, statements, self.function.plan)

    def _name(self, dim: Dim) -> str:
        return self.function.dims[dim]

    def _depth(self, statement: Statement) -> int | None:
        """The depth of the first loop of a fold that is accumulated in a variable, if any."""
        if statement.kind == "map" or not statement.reduced:
            return None
        is_reduced = [d in statement.reduced for d in self.loops]
        run = len(list(itertools.takewhile(bool, reversed(is_reduced))))
        innermost = run > 0 and sum(is_reduced) == run
        return len(self.loops) - run if innermost else None

    def _accumulators(
        self, todo: list[tuple[Statement, list[Cell]]]
    ) -> tuple[list[Block], list[Block]]:
        before = [Block() for _ in self.loops]
        after = [Block() for _ in self.loops]
        for statement, group in todo:
            depth = self._depth(statement)
            if depth is None:
                continue
            for cell in group:
                result = cell.result()
                if result not in self.accumulators:
                    self.accumulators[result] = self.function.names.fresh(cell.tag())
                    self._accumulate(cell, before[depth], after[depth])
        return before, after

    def _accumulate(self, cell: Cell, before: Block, after: Block) -> None:
        """Start an accumulator before its loops and store it after them."""
        s, result = cell.statement, cell.result()
        name = self.accumulators[result]
        start = self._unit(s)
        if s.name in self.nest.memory:
            start = self.body.read(result, self.body.scope(before))
        before.let(name, start)
        if s.fold in POSITIONS:
            before.let(f"{name}_best", calls.literal(self._extreme(s), operand(s)))
        if self.function.storage(s.name).place in ("global", "local"):
            after.add(self.function.store(s.name, self.body.offset(result), Name(name)))

    def _unit(self, s: Statement) -> Expression:
        return calls.literal(0 if s.fold in POSITIONS else fold_unit(s.fold, s.dtype), s.dtype)

    def _extreme(self, s: Statement) -> float:
        return fold_unit(s.fold, operand(s))

    def _statement(self, s: Statement, group: list[Cell], scope: Scope) -> None:
        if s.kind == "map" or not s.reduced:
            for cell in group:
                self._finish(cell, print_value(cell.value, scope), scope)
        elif self._depth(s) is not None:
            for cell in group:
                self._combine(cell, self.accumulators[cell.result()], scope)
        elif s.name in self.nest.memory:
            for cell in group:
                offset = self.body.offset(cell.result(), scope)
                old = self.function.load(s.name, offset)
                new = self._fold(s, old, print_value(cell.value, scope))
                scope.out.add(self.function.store(s.name, offset, new))
        else:
            self._small_fold(s, group, scope)

    def _small_fold(self, s: Statement, group: list[Cell], scope: Scope) -> None:
        """A fold over unrolled axes only: its copies combine in ascending order."""
        for result, run in grouped(group):
            if s.fold in POSITIONS:
                name = self.function.names.fresh(run[0].tag())
                scope.out.let(name, self._unit(s))
                scope.out.let(f"{name}_best", calls.literal(self._extreme(s), operand(s)))
                for cell in run:
                    self._combine(cell, name, scope)
                self._finish(run[0], Name(name), scope)
                continue
            acc = print_value(run[0].value, scope)
            for cell in run[1:]:
                acc = self._fold(s, acc, print_value(cell.value, scope))
            assert result == run[0].result()
            self._finish(run[0], acc, scope)

    def _combine(self, cell: Cell, name: str, scope: Scope) -> None:
        s = cell.statement
        value = print_value(cell.value, scope)
        if s.fold not in POSITIONS:
            scope.out.let(name, self._fold(s, Name(name), value))
            return
        dtype, best = operand(s), Name(f"{name}_best")
        value = bind(value, f"{s.name}_value", scope)
        test = calls.function(POSITIONS[s.fold], dtype, (value, best))
        if dtype in FLOATS:  # the first NaN wins, as in NumPy
            first_nan = binary("&", compare("!=", value, value), compare("==", best, best))
            test = binary("|", test, first_nan)
        better = bind(test, "better", scope)
        axis = next(iter(s.reduced))
        at = expression(cell.literals.get(axis, expr(axis)), self.function.dims)
        where = call(SUFFIX[s.dtype], at)
        scope.out.let(best.id, call("where", better, value, best))
        scope.out.let(name, call("where", better, where, name))

    def _fold(self, s: Statement, left: Expression, right: Expression) -> Expression:
        return calls.function(REPEATED[s.fold], s.dtype, (left, right))

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


def operand(s: Statement) -> Dtype:
    """The dtype of the values that a fold compares or adds."""
    return s.clauses[0][1].dtype


def extent(axis: Axis, statements: Iterable[Statement], plan: Plan) -> Expr:
    """How far a loop over the axis runs: over all slots where that is harmless."""
    may_pad = axis.pad.is_const and "padding of tiles" not in plan.without
    if axis.size == axis.pad or not may_pad:
        return axis.size
    return axis.pad if all(_fits(axis, s, plan) for s in statements) else axis.size


def _fits(axis: Axis, s: Statement, plan: Plan) -> bool:
    if axis.index in s.reduced or dims_of(axis.size) & s.reduced:
        return False  # a sum of several tiles has slots for the rows of all of them
    stored = plan.storage[s.name].axes
    if any(a.index == axis.index and a.pad != axis.pad for a in stored):
        return False
    return all(_load_fits(axis, x, plan) for _, value in s.clauses for x in loads(value))


def _load_fits(axis: Axis, load: Load, plan: Plan) -> bool:
    """Whether the load has a slot for every slot of the axis."""
    if any(axis.index in dims_of(d) for d in load.dims):
        return False
    for slot, at in zip(plan.storage[load.tensor].axes, load.axes, strict=True):
        if axis.index not in dims_of(at):
            continue
        if at != expr(axis.index) or slot.pad != axis.pad:
            return False
    return True
