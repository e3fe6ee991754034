"""Matrix products: strides from index expressions, epilogue steps from elementwise chains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Literal

from ostinato.codegen.emit.arrivals import Visits, emit_rounds, round_steps
from ostinato.codegen.emit.function import ARENA, Body, Function, Names, identifier
from ostinato.codegen.emit.index_arithmetic import expression
from ostinato.codegen.emit.nest import extent
from ostinato.codegen.ir.partial_sums import UNROLLED
from ostinato.codegen.ir.system import Axis, Call, Literal_, Load, Statement, Value
from ostinato.codegen.ir.tree import Contraction
from ostinato.codegen.loops.expression import (
    ITEM_BYTES,
    Expression,
    Name,
    Tuple,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.matmul_spec import Expr as StepExpr
from ostinato.codegen.loops.matmul_spec import Matmul, Operand, Size, Step
from ostinato.codegen.loops.statements import Block, Definition
from ostinato.codegen.planning.rounds import round_of
from ostinato.codegen.systems.axes import coefficient
from ostinato.codegen.systems.masked_sums import factors, mask_of
from ostinato.pdg.index import Expr, expr

RESUMED = "resumed"  # the terms of sums before those of this call


def emit_contraction(
    leaf: Contraction, function: Function, out: Block, rounds: Visits = ()
) -> None:
    """Write a product and its epilogues as one call, inside loops over the outer axes.

    What makes a round through histories is one call for each of their blocks.
    """
    product = _Product(leaf, function)
    if rounds:
        product.write_rounds(rounds, out)
    else:
        product.write(out, ())


@dataclass
class _Product:
    leaf: Contraction
    function: Function
    sizes: dict[str, Expr] = field(default_factory=dict[str, Expr])  # run-time sizes by name
    offsets: list[Expression] = field(default_factory=list[Expression])
    operands: list[Operand] = field(default_factory=list[Operand])
    loaded: dict[Load, str] = field(default_factory=dict[Load, str])  # by element of memory
    steps: dict[Load, str] = field(default_factory=dict[Load, str])  # identity load -> step

    def __post_init__(self) -> None:
        self.names = Names(("acc",))
        self.body = Body(self.function, frozenset(a.index for a in self.leaf.outer))
        self.result = self.function.statement(self.leaf.statement)
        self.zero = {a.index: expr(0) for a in self.leaf.inner}  # where the product begins

    def write(self, out: Block, rounds: Visits) -> None:
        """Write a call inside its loops, of which the first may go through histories."""
        summed = () if rounds else self._summed()
        outer = [a for a in self.leaf.outer if a not in summed]
        spec = self.spec(summed)
        name, names = self._define(spec), self.function.dims
        sizes = tuple(expression(self.sizes[s], names) for s in spec.runtime)
        out.extend(self.body.hoisted)
        with ExitStack() as loops:
            for axis in outer:
                size = expression(axis.size, names)
                loops.enter_context(out.loop(names[axis.index], size))
                if rounds and axis is outer[0]:
                    emit_rounds(self.function, rounds, Name(names[axis.index]), out)
            self._prefetch(spec, out)
            out.do(call(name, ARENA, Tuple(tuple(self.offsets)), Tuple(sizes)))

    def write_rounds(self, of: Visits, out: Block) -> None:
        """Write the calls for the blocks of histories, one after the other."""
        function = self.function
        found = round_of(function.plan, self.leaf, of[0][0].tensor)
        assert found is not None, f"{self.leaf.statement} makes no round"
        if found.way == "outer":
            self.write(out, of)
            return
        spec, first = self.spec(), Name(function.names.fresh(f"first_{found.axis.index.name}"))
        if found.sums:
            spec = self._resumed(spec, found.sums)
        size = expression(self.sizes[found.way], function.dims)
        each, least = round_steps(function, of), call("max", size, 1)
        out.extend(self.body.hoisted)
        before, begin = expression(found.first, function.dims), function.names.fresh("begin")
        low = binary("-", 0, binary("%", before, each))  # blocks begin where those of steps do
        with out.loop(first.id, low, least, each), function.block():
            at = out.let(begin, call("max", first, 0))
            emit_rounds(function, of, at, out)
            behind = binary("+", first, each)
            given = {found.way: binary("-", call("min", behind, size), at), RESUMED: at}
            if not found.sums:
                self._call(spec, given, out)
                return
            with out.when(compare("<", behind, size)):
                self._call(self._sums_only(spec, found.sums), given, out)
            with out.otherwise():
                self._call(spec, given, out)

    def _resumed(self, spec: Matmul, sums: str) -> Matmul:
        """The product that adds to the sums of the blocks before, from the second one on."""
        if self.leaf.accumulate:
            return spec
        return replace(spec, start=self._operand(self.function.statement(sums).here), begun=RESUMED)

    def _sums_only(self, spec: Matmul, sums: str) -> Matmul:
        """The product of a block that is not the last one: its sums wait for the next one."""
        place = self._operand(self.function.statement(sums).here)
        return replace(spec, steps=(replace(spec.steps[0], store=place),))

    def _call(self, spec: Matmul, given: Mapping[str, Expression], out: Block) -> None:
        """Call a product for a block of an axis: with another size, and beginning elsewhere."""
        names, way = self.function.dims, next(iter(given))
        axis = next(x for x in "mnk" if getattr(spec, x) == way)
        strides = _strides(spec, axis)
        sizes = [given.get(s) or expression(self.sizes[s], names) for s in spec.runtime]
        offsets = [
            binary("+", at, binary("*", given[RESUMED], self._expression(stride))) if stride else at
            for at, stride in zip(self.offsets, strides, strict=True)
        ]
        name = self._define(spec)
        with ExitStack() as loops:
            for outer in self.leaf.outer:
                size = expression(outer.size, names)
                loops.enter_context(out.loop(names[outer.index], size))
            out.do(call(name, ARENA, Tuple(tuple(offsets)), Tuple(tuple(sizes))))

    def _expression(self, size: Size) -> Expression:
        known = self.sizes[size] if isinstance(size, str) else expr(size)
        return expression(known, self.function.dims)

    def _define(self, spec: Matmul) -> str:
        name = f"mm{self.function.number}_{identifier(self.leaf.statement)}"
        name = self.function.names.fresh(name)
        self.function.products.append(Definition((name,), "matmul", (spec,)))
        return name

    def _summed(self) -> tuple[Axis, ...]:
        """The outer axes over which the product sums; its list of living positions has none."""
        result = self.result
        is_listed = mask_of(result) is not None or result.name in self.function.plan.living
        return () if is_listed else self.leaf.summed(result.reduced)

    def spec(self, summed: tuple[Axis, ...] = ()) -> Matmul:
        leaf, (left, right) = self.leaf, factors(self.result)
        self.zero |= {a.index: expr(0) for a in summed}
        self.offsets = [self._offset(left), self._offset(right)]
        start = self._accumulator()
        steps = [self._first(start)]
        steps += [self._epilogue(self.function.statement(e)) for e in leaf.epilogues]
        assert self.result.dtype in ("float32", "float64"), f"{self.result.name} is no float"
        living = self._living()
        rows = self._rows("m", leaf.m)
        columns = "" if rows else self._rows("n", leaf.n)
        found = Matmul(
            dtype=self.result.dtype,
            m=self._extent("m", leaf.m),
            n=self._extent("n", leaf.n),
            k=self._extent("k", leaf.k),
            a=(self._stride("a_m", left, leaf.m), self._stride("a_k", left, leaf.k)),
            b=(self._stride("b_k", right, leaf.k), self._stride("b_n", right, leaf.n)),
            operands=tuple(self.operands),
            steps=tuple(steps),
            start=start,
            form=leaf.form,
            rows=rows,
            most=self._most(leaf.k),
            living=living,
            begun=self._begun(),
            around=tuple(self._turn(axis, left, right) for axis in summed),
        )
        if not columns:
            return found
        self.offsets[:2] = reversed(self.offsets[:2])  # what a tile has in columns is in rows then
        return replace(found.swapped(), rows=columns)

    def _living(self) -> Literal["", "m", "k"]:
        """The axis of which the living positions count; their list follows the operands."""
        mask, rows = mask_of(self.result), self.function.plan.living.get(self.result.name)
        if mask is not None:
            self.offsets.append(self._list(mask, self.leaf.k, self.leaf.k.pad.as_int()))
            return "k"
        most = self._extent("m", self.leaf.m)
        if rows is None or self.leaf.m is None or not isinstance(most, int):
            return ""
        self.offsets.append(self._list(rows, self.leaf.m, most))
        return "m"

    def _list(self, mask: Load, axis: Axis, most: int) -> Expression:
        """The variable that holds the list of the living positions of an axis here."""
        zero = {axis.index: expr(0)}
        dims, axes = (tuple(e.at(zero) for e in at) for at in (mask.dims, mask.axes))
        start = self.body.offset(Load(mask.tensor, dims, axes, mask.dtype))
        names, make = self.function.dims, f"living{self.function.number}_{most}"
        made = Definition((make,), "living", (most,))
        if made not in self.function.products:
            self.function.products.append(made)
        stride = expression(self._step_of(mask, axis), names)
        rows = call(make, ARENA, start, stride, expression(axis.size, names))
        return Name(self.body.hoist(f"living_{mask.tensor}", rows))

    def _prefetch(self, spec: Matmul, out: Block) -> None:
        """Bring a history near that is read by columns: nothing else would in time."""
        left = factors(self.result)[0]
        storage, rows = self.function.storage(left.tensor), spec.a[1]
        is_history = any(s.kind == "full" for s in storage.slots)
        is_short = isinstance(spec.k, int) and spec.k <= UNROLLED
        if spec.a[0] != 1 or not isinstance(rows, int) or is_short or not is_history:
            return
        width = ITEM_BYTES[storage.dtype]
        start = binary("*", width, self.offsets[0])
        size = expression(self.leaf.k.size * (rows * width), self.function.dims)
        out.do(call("prefetch", ARENA, start, size))

    def _size(self, name: str, of: Expr) -> Size:
        if of.is_const:
            return of.as_int()
        self.sizes[name] = of
        return name

    def _extent(self, name: str, axis: Axis | None) -> Size:
        if axis is None:
            return 1
        chain = map(self.function.statement, (self.result.name, *self.leaf.epilogues))
        return self._size(name, extent(axis, chain, self.function.plan))

    def _rows(self, name: str, axis: Axis | None) -> str:
        """The name of the number of rows that a tile has, where it runs over padding."""
        padded = axis is not None and isinstance(self._extent(name, axis), int)
        forms = ("broadcast", "dots") if name == "m" else ("dots",)
        if axis is None or not padded or axis.size.is_const or self.leaf.form not in forms:
            return ""
        return str(self._size("rows", axis.size))

    def _most(self, axis: Axis) -> int:
        """What bounds the number of terms, where that is known at run time only."""
        is_bounded = axis.pad.is_const and not axis.size.is_const
        return axis.pad.as_int() if is_bounded and self.leaf.form == "broadcast" else 0

    def _begun(self) -> str:
        """The number of turns of the loop before, where the first begins the sums."""
        loop = self.function.plan.begun.get(self.result.name)
        if loop is None:
            return ""
        return str(self._size("turn", expr(loop.dim) - loop.span.lo))

    def _turn(self, axis: Axis, left: Load, right: Load) -> tuple[int, Size, Size]:
        """The size of an axis that a product sums over, and strides of its operands."""
        first, second = (
            self._stride(f"{side}_{self.function.dims[axis.index]}", load, axis)
            for side, load in (("a", left), ("b", right))
        )
        return axis.size.as_int(), first, second

    def _stride(self, name: str, load: Load, axis: Axis | None) -> Size:
        """How far one step along the axis moves the load, in elements."""
        return 0 if axis is None else self._size(name, self._step_of(load, axis))

    def _step_of(self, load: Load, axis: Axis) -> Expr:
        storage, total = self.function.storage(load.tensor), expr(0)
        kept = [s.kind != "one" for s in storage.slots] + [True] * len(storage.axes)
        for is_kept, step, at in zip(kept, storage.strides, (*load.dims, *load.axes), strict=True):
            if is_kept:
                factor = coefficient(at, axis.index)
                assert factor is not None, f"{at} is not affine in {axis.index}"
                total = total + step * factor
        return total

    def _offset(self, load: Load) -> Expression:
        """The offset of the element where m, n and k are 0."""
        assert not load.picks, f"{load.tensor} is gathered inside a product"
        axes = tuple(a.at(self.zero) for a in load.axes)
        dims = tuple(d.at(self.zero) for d in load.dims)
        return self.body.offset(Load(load.tensor, dims, axes, load.dtype, load.clamp))

    def _operand(self, load: Load) -> str:
        """Name the tensor that a step reads or stores at this place."""
        where = self._element(load)
        if where not in self.loaded:
            name = self.names.fresh(load.tensor)
            rows = self._stride(f"{name}_m", load, self.leaf.m)
            columns = self._stride(f"{name}_n", load, self.leaf.n)
            self.operands.append(Operand(name, rows, columns))
            self.offsets.append(self._offset(load))
            self.loaded[where] = name
        return self.loaded[where]

    def _element(self, load: Load) -> Load:
        """The element of memory that a load reads: what shares memory has one name there."""
        storage = self.function.storage(load.tensor)
        kept = tuple(
            e for slot, e in zip(storage.slots, load.dims, strict=True) if slot.kind != "one"
        )
        return replace(load, tensor=storage.owner, dims=kept)

    def _accumulator(self) -> str | None:
        return self._operand(self.result.here) if self.leaf.accumulate else None

    def _first(self, start: str | None) -> Step:
        return self._step(self.result, ("name", "acc"), start)

    def _epilogue(self, s: Statement) -> Step:
        return self._step(s, self._translate(s.clauses[0][1]), None)

    def _step(self, s: Statement, of: StepExpr, store: str | None) -> Step:
        load = s.here
        if store is None and self.function.storage(s.name).place in ("global", "local"):
            store = self._operand(load)
        name = self.names.fresh(f"{s.name}_value")
        self.steps[load] = name
        return Step(name, of, store)

    def _translate(self, value: Value) -> StepExpr:
        match value:
            case Literal_(x):
                number = float(x)
                return ("const", number if math.isfinite(number) else str(number))
            case Load():
                plain = Load(value.tensor, value.dims, value.axes, value.dtype)
                if plain in self.steps:
                    return ("name", self.steps[plain])
                return ("name", self._operand(value))
            case Call("stop_gradient", (x,)):
                return self._translate(x)
            case Call("pow", (x, Literal_(2))):
                base = self._translate(x)
                return ("mul", base, base)
            case Call(fn, args):
                return (fn, *(self._translate(a) for a in args))
            case other:
                raise AssertionError(f"{self.result.name}: {other} is no epilogue")


def _strides(spec: Matmul, axis: str) -> list[Size]:
    """How far a step along an axis moves A, B and the operands."""
    a, b = dict(zip("mk", spec.a, strict=True)), dict(zip("kn", spec.b, strict=True))
    operands = [{"m": each.m, "n": each.n}.get(axis, 0) for each in spec.operands]
    return [a.get(axis, 0), b.get(axis, 0), *operands]
