"""Functions of whole axes: running values, sorting, shuffling, searching, adding at positions.

Where rows are neighbours in memory, running values and additions at positions go along all of them
at once: the processed axis is the outer loop, the innermost one is a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

from ostinato.codegen.emit.accumulators import get, put, take
from ostinato.codegen.emit.function import ARENA, Body, Function
from ostinato.codegen.emit.index_arithmetic import expression, whole_blocks
from ostinato.codegen.emit.value import Scope, at_literals, bind, print_value, shared
from ostinato.codegen.ir.partial_sums import PARTS, is_short_row
from ostinato.codegen.ir.system import Axis, Load, Statement, Value
from ostinato.codegen.ir.tree import Sweep
from ostinato.codegen.ir.values import value_symbols
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import (
    FLOATS,
    Constant,
    Expression,
    Logic,
    Name,
    Not,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.statements import Binding, Block, Definition, Do
from ostinato.codegen.memory.storage import Storage, scratch
from ostinato.codegen.systems.axes import JUMPING, operands, walked
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.functions import fold_unit
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.node import Dtype

Key = Callable[[Expression], Expression]  # the key at a place of the row


@dataclass
class Search:
    """A search of a sorted row of ``size`` keys for many values at once, by its variables.

    How many places are left at a step depends on the size of the row alone, so that all values of a
    block take each step together, without branches: a vector of places, and one read of keys.
    """

    fold: str  # "searchleft" or "searchright"
    dtype: Dtype
    size: Expression
    name: str
    function: Function

    def __post_init__(self) -> None:
        fresh = self.function.names.fresh
        self.place, self.value = fresh(f"{self.name}_place"), fresh(f"{self.name}_value")
        self.left, self.half = Name(fresh("left")), Name(fresh("half"))

    def take(self, out: Block) -> None:
        """Have room for a place and a value of every lane."""
        take(self.function, self.place, "int32", PARTS, out)
        take(self.function, self.value, self.dtype, PARTS, out)

    def start(self, lane: Expression, value: Expression, out: Block) -> None:
        """Begin at the first place."""
        out.add(put(self.place, lane, call("i32", 0)))
        out.add(put(self.value, lane, value))

    def halve(
        self,
        lane: Expression,
        lanes: Callable[[], AbstractContextManager[None]],
        key: Key,
        out: Block,
    ) -> None:
        """Halve the places that are left until there is one."""
        out.let(self.left.id, self.size)
        with out.repeat(self.left > 1):
            out.let(self.half.id, self.left // 2)
            with lanes():
                place = out.let(f"{self.place}_old", get(self.place, lane))
                ahead = binary("+", place, self.half)
                passed = self.is_passed(key(ahead - 1), get(self.value, lane))
                out.add(put(self.place, lane, call("where", passed, call("i32", ahead), place)))
            out.let(self.left.id, self.left - self.half)

    def last(self, lane: Expression, key: Key, scope: Scope) -> Expression:
        """The place that was sought: the one that is left, or behind it; 0 in an empty row."""
        place = bind(get(self.place, lane), f"{self.place}_found", scope)
        none = scope.fresh(f"{self.place}_all")
        scope.out.let(none, call("i32", 0))
        with scope.out.when(self.size > 0):
            passed = self.is_passed(key(place), get(self.value, lane))
            scope.out.let(none, call("i32", binary("+", place, call("i32", passed))))
        return Name(none)

    def is_passed(self, key: Expression, value: Expression) -> Expression:
        """Whether the value belongs behind a key; NaN is last."""
        if self.fold == "searchleft":
            return self.is_less(key, value)
        return Not(self.is_less(value, key))

    def is_less(self, one: Expression, other: Expression) -> Expression:
        less = compare("<", one, other)
        if self.dtype not in FLOATS:
            return less
        is_last = binary("&", compare("!=", other, other), compare("==", one, one))
        return binary("|", less, is_last)


def emit_sweep(leaf: Sweep, function: Function, out: Block) -> None:
    """Write a function of whole axes with the loops over its rows."""
    writer = _Sweep(leaf, function)
    inside = Block()
    match writer.s.fold:
        case "argsort":
            writer.sort(inside)
        case "top":
            writer.top(inside)
        case "shuffle":
            writer.shuffle(inside)
        case "searchleft" | "searchright":
            writer.search(inside)
        case "scatter":
            writer.scatter(inside)
        case _:
            writer.scan(inside)
    out.extend(writer.body.hoisted)
    beside = scratch(leaf, function.plan.storage)
    shared = beside is not None and len(beside.axes) == 1  # rows one after the other use it
    with writer.loops(writer.outer, out, "serial" if shared else "lanes"):
        out.extend(inside.body)


@dataclass
class _Sweep:
    leaf: Sweep
    function: Function
    body: Body = field(init=False)

    def __post_init__(self) -> None:
        self.s: Statement = self.function.statement(self.leaf.statement)
        self.operands = operands(self.s)
        self.body = Body(self.function, frozenset(a.index for a in self.s.axes))
        self.row = next((a for a in self.s.result_axes if a.index == self.s.along), None)
        self.lane = self.neighbours()
        self.outer = tuple(a for a in self.leaf.rows if a is not self.lane)

    def neighbours(self) -> Axis | None:
        """The row axis whose rows are neighbours in memory, if a loop over them may be inside."""
        last = self.function.storage(self.s.name).axes[-1:]
        found = [a for a in self.leaf.rows if last and a.index == last[0].index]
        needed = {d for a in self.s.axes for d in a.size.dims}
        whole = self.s.fold in JUMPING
        return found[0] if found and not whole and found[0].index not in needed else None

    # ------------------------------------------------------------ parts of the text

    @contextmanager
    def loops(self, axes: Sequence[Axis], out: Block, binding: Binding) -> Generator[None]:
        with ExitStack() as stack:
            for axis in axes:
                stack.enter_context(self.loop(axis, out, binding=binding))
            yield

    @contextmanager
    def loop(
        self, axis: Axis, out: Block, first: int = 0, binding: Binding = "serial"
    ) -> Generator[None]:
        name, size = self.function.dims[axis.index], expression(axis.size, self.function.dims)
        with out.loop(name, *((first,) if first else ()), size, binding=binding):
            yield

    def across(self, out: Block) -> ExitStack:
        """The loop over neighbouring rows, if that is the innermost one."""
        stack = ExitStack()
        if self.lane is not None:
            stack.enter_context(self.loop(self.lane, out, binding="lanes"))
        return stack

    def index(self, name: str) -> Dim:
        """A new variable that indexes a row."""
        dim = Dim(name)
        self.function.dims[dim] = self.function.names.fresh(name)
        self.body.inner |= {dim}
        return dim

    def single(self) -> Axis:
        """An axis of one position, where a row has none."""
        return Axis(self.index("k"), expr(1), expr(1))

    def size(self, axis: Axis | None) -> Expression:
        return expression(axis.size if axis else expr(1), self.function.dims)

    def result(self, at: Expr) -> Load:
        """The result's element at a position of this row."""
        s = self.s
        axes = tuple(at if a.index == s.along else expr(a.index) for a in s.result_axes)
        return Load(s.name, tuple(map(expr, s.result_dims)), axes, s.dtype)

    def at(self, x: Value, at: Expr) -> Value:
        """An operand at a position of this row."""
        axis = walked(self.s, x)
        return x if axis is None else at_literals(x, {axis.index: at})

    def value(self, x: Value, at: Expr, out: Block) -> Expression:
        """Compute an operand at a position of this row."""
        here, scope = self.at(x, at), self.body.scope(out)
        scope.shared = shared((here,))
        return print_value(here, scope)

    def first(self, x: Value) -> Load:
        """The first element of an operand that is read at any place."""
        found = self.at(x, expr(0))
        assert isinstance(found, Load), f"an operand of {self.s.name} has no memory"
        assert not found.picks, f"{found.tensor} is gathered inside {self.s.name}"
        return found

    def load(self, x: Load) -> Expression:
        return self.function.load(x.tensor, self.body.offset(x))

    def store(self, at: Expr, value: Expression) -> Do:
        return self.function.store(self.s.name, self.body.offset(self.result(at)), value)

    def stride(self, row: Value) -> Expression:
        """Elements between neighbours of a row that lies in memory."""
        assert isinstance(row, Load), f"an operand of {self.s.name} has no memory"
        storage = self.function.storage(row.tensor)
        steps = storage.strides[len(storage.slots) :]
        for step, at in zip(steps, row.axes, strict=True):
            if at.dims & {*self.s.reduced, self.s.along}:
                return expression(step, self.function.dims)
        return Constant(0)

    # ------------------------------------------------------------ running values

    def scan(self, out: Block) -> None:
        axis = walked(self.s, self.operands[-1]) or self.row or self.single()
        unit = calls.literal(self.unit(), self.s.dtype)
        if self.lane is None:
            self.scan_row(axis, unit, out)
        else:
            self.scan_rows(axis, self.lane, unit, out)

    def scan_row(self, axis: Axis, unit: Expression, out: Block) -> None:
        at = expr(axis.index)
        total = Name(self.function.names.fresh(f"{self.s.name}_total"))
        out.let(total.id, unit)
        with self.loop(axis, out):
            out.let(total.id, self.step(total, at, out))
            out.add(self.store(at, total))

    def scan_rows(self, axis: Axis, lane: Axis, unit: Expression, out: Block) -> None:
        """All neighbouring rows at once; what comes before is read back from the result."""
        at = expr(axis.index)
        with ExitStack() as stack:
            if not (axis.size.is_const and axis.size.const > 0):
                stack.enter_context(out.when(compare(">", self.size(axis), 0)))
            stack.enter_context(self.loop(lane, out, binding="lanes"))
            out.add(self.store(expr(0), self.step(unit, expr(0), out)))
        with self.loop(axis, out, first=1), self.loop(lane, out, binding="lanes"):
            before = bind(self.load(self.result(at - 1)), "before", self.body.scope(out))
            out.add(self.store(at, self.step(before, at, out)))

    def unit(self) -> float:
        """What a running value is before the first position."""
        return fold_unit(AXIS_FUNCTIONS[self.s.fold].begins, self.s.dtype)

    def step(self, before: Expression, at: Expr, out: Block) -> Expression:
        """The running value at a position, from the one before it."""
        dtype = self.s.dtype
        found = [self.value(x, at, out) for x in self.operands]
        if self.s.fold == "linear":
            scaled = calls.function("mul", dtype, (found[0], before))
            return calls.function("add", dtype, (found[1], scaled))
        return calls.function(AXIS_FUNCTIONS[self.s.fold].repeats, dtype, (before, *found))

    # ------------------------------------------------------------ positions

    def scatter(self, out: Block) -> None:
        updates, index = self.operands
        row = self.row or self.single()
        with self.loop(row, out), self.across(out):
            out.add(self.store(expr(row.index), calls.literal(0, self.s.dtype)))
        axis = walked(self.s, updates) or walked(self.s, index) or self.single()
        place = self.index("place")
        with self.loop(axis, out):
            if self.lane is not None and self.varies(index, self.lane):
                with self.across(out), self.inside(index, axis, place, row, out):
                    self.add(updates, place, axis, out)
            else:
                with self.inside(index, axis, place, row, out), self.across(out):
                    self.add(updates, place, axis, out)

    def varies(self, x: Value, axis: Axis) -> bool:
        return axis.index in value_symbols(x)

    @contextmanager
    def inside(
        self, index: Value, axis: Axis, place: Dim, row: Axis, out: Block
    ) -> Generator[None]:
        """Read a position; what follows is for positions inside the result."""
        name = self.function.dims[place]
        out.let(name, call("i64", self.value(index, expr(axis.index), out)))
        inside = (compare(">=", name, 0), compare("<", name, self.size(row)))
        with out.when(Logic("and", inside)):
            yield

    def add(self, updates: Value, place: Dim, axis: Axis, out: Block) -> None:
        more = self.value(updates, expr(axis.index), out)
        old = self.load(self.result(expr(place)))
        out.add(self.store(expr(place), calls.function("add", self.s.dtype, (old, more))))

    def sort(self, out: Block) -> None:
        keys = self.first(self.operands[0])
        beside = scratch(self.leaf, self.function.plan.storage)
        assert beside is not None, "sorting has scratch memory"
        name = self.define("argsort", keys.tensor, self.s.name, beside.tensor)
        out.do(call(name, ARENA, *self.from_to(keys), self.beside(beside), self.result_size()))

    def from_to(self, first: Load) -> Iterator[Expression]:
        """Where the first operand and the result begin, each with its stride."""
        row = self.row or self.single()
        yield self.body.offset(first)
        yield self.stride(self.operands[0])
        yield self.body.offset(self.result(expr(0)))
        yield self.stride(self.result(expr(row.index)))

    def result_size(self) -> Expression:
        return self.size(self.row or self.single())

    def beside(self, of: Storage) -> Expression:
        """Where the scratch memory of this row begins."""
        rows = (expr(a.index) for a in of.axes[:-1])
        return self.body.offset(Load(of.tensor, (), (*rows, expr(0)), of.dtype))

    def top(self, out: Block) -> None:
        (keys,) = self.operands
        first, length = self.first(keys), self.size(walked(self.s, keys))
        name = self.define("top", first.tensor, self.s.name)
        out.do(call(name, ARENA, *self.from_to(first), length, self.result_size()))

    def shuffle(self, out: Block) -> None:
        choices = self.first(self.operands[0])
        beside = scratch(self.leaf, self.function.plan.storage)
        kind = "shuffle" if beside is None else "linked_shuffle"
        more = () if beside is None else (beside.tensor,)
        name = self.define(kind, choices.tensor, self.s.name, *more)
        links = () if beside is None else (self.beside(beside),)
        out.do(call(name, ARENA, *self.from_to(choices), *links, self.result_size()))

    def search(self, out: Block) -> None:
        ordered, values = self.operands
        start, size = self.first(ordered), self.size(walked(self.s, ordered))
        row = walked(self.s, values) or self.row or self.single()
        if self.function.plan.target.keeps_parts and not is_short_row(row.size):
            found = Search(self.s.fold, start.dtype, size, self.s.name, self.function)
            self.search_together(found, start, row, out)
            return
        name = self.define(self.s.fold, start.tensor)
        where = (self.body.offset(start), self.stride(ordered), size)
        with self.loop(row, out):
            value = self.value(values, expr(row.index), out)
            place = call("i32", call(name, ARENA, *where, value))
            out.add(self.store(expr(row.index), place))

    def search_together(self, search: Search, start: Load, row: Axis, out: Block) -> None:
        """Search for blocks of values at once."""
        ordered, values = self.operands
        index, size = self.function.dims[row.index], self.size(row)
        first, stride = self.body.offset(start), self.stride(ordered)
        ends = out.let(
            self.function.names.fresh(f"{index}_end"),
            whole_blocks(row.size, PARTS, self.function.dims),
        )

        def key(place: Expression) -> Expression:
            return self.function.load(start.tensor, binary("+", first, binary("*", place, stride)))

        def block(begin: Expression, *bounds: Expression) -> None:
            def lanes() -> AbstractContextManager[None]:
                return out.loop(index, *bounds, binding="lanes")

            at = binary("-", index, begin)
            with lanes():
                search.start(at, self.value(values, expr(row.index), out), out)
            search.halve(at, lanes, key, out)
            with lanes():
                found = search.last(at, key, self.body.scope(out))
                out.add(self.store(expr(row.index), found))

        search.take(out)
        begin = Name(self.function.names.fresh(f"{index}_first"))
        with out.loop(begin.id, 0, ends, PARTS):
            block(begin, begin, binary("+", begin, PARTS))
        block(ends, ends, size)

    def define(self, primitive: str, *tensors: str) -> str:
        """Define a primitive over the accesses of this kernel; return its name."""
        name = self.function.names.fresh(f"{primitive}{self.function.number}_{self.s.name}")
        dtype = self.function.storage(tensors[0]).dtype
        access = [Name(self.function.access("ld", tensors[0]))]
        for t in tensors[1:]:
            access += [Name(self.function.access(kind, t)) for kind in ("ld", "st")]
        self.function.products.append(Definition((name,), primitive, (dtype, *access)))
        return name
