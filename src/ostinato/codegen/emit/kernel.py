"""Kernels: one function per run of trees, with a comment that says what it computes and why."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import assert_never

from ostinato.codegen.emit.arrivals import (
    Visits,
    emit_alone,
    emit_around,
    emit_blocks,
    emit_ends,
    prologue,
    visits_inside,
    visits_of,
    walks_of,
    words,
)
from ostinato.codegen.emit.calling import emit_call
from ostinato.codegen.emit.function import (
    ARENA,
    ENTRY,
    KEY,
    LOCAL,
    OFFSETS,
    PART,
    PARTS,
    Body,
    Function,
    Names,
)
from ostinato.codegen.emit.index_arithmetic import condition, expression
from ostinato.codegen.emit.matrix_products import emit_contraction
from ostinato.codegen.emit.nest import emit_nest
from ostinato.codegen.emit.offset_table import OffsetTable
from ostinato.codegen.emit.sweep import emit_sweep
from ostinato.codegen.emit.value import LONG
from ostinato.codegen.ir.system import Load, Statement, loads
from ostinato.codegen.ir.tree import (
    Calling,
    Contraction,
    Fill,
    Kernel,
    Leaf,
    Loop,
    Nest,
    Span,
    Sweep,
    Tree,
    computed,
    leaves,
)
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import (
    ITEM_BYTES,
    Constant,
    Expression,
    Name,
    Not,
    Tuple,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.statements import Block, Break, Kind, Let, Remark
from ostinato.codegen.loops.statements import Function as LoopFunction
from ostinato.codegen.masks.early_exits import End
from ostinato.codegen.masks.guards import guard_of, untested
from ostinato.codegen.masks.kept_elements import narrow
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.show import show_value
from ostinato.codegen.systems.axes import operands
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.constant import Scalar
from ostinato.pdg.functions import fold_unit
from ostinato.pdg.index import Dim, Expr, Extent, expr, product
from ostinato.pdg.plaintext import plain

ARRAYS: tuple[tuple[str, Kind], ...] = (("memory", "uint8[::1]"), ("table", "int64[::1]"))


def bounds(
    span: Span, reverse: bool, names: dict[Dim | Extent, str], part: tuple[str, str] | None = None
) -> tuple[Expression, ...]:
    """The range of a span's loop; a ``part`` begins so much later, and takes so large steps."""
    lo, hi = expression(span.lo, names), expression(span.hi, names)
    if reverse:
        last, before = expression(span.hi - 1, names), expression(span.lo - 1, names)
        return last, before, Constant(-1)
    if part is not None:
        first, by = map(Name, part)
        return (first if lo == Constant(0) else binary("+", lo, first)), hi, by
    return (hi,) if lo == Constant(0) else (lo, hi)


def dims_of_trees(kernel: Kernel, plan: Plan) -> list[Dim]:
    """Every dim and axis that the kernel's code mentions, in order of appearance."""
    found: dict[Dim, None] = dict.fromkeys(kernel.outer)
    for leaf, path, _ in leaves(kernel.body):
        found.update(dict.fromkeys(loop.dim for loop in path))
        if isinstance(leaf, Nest):
            found.update(dict.fromkeys(a.index for a in leaf.axes))
        if isinstance(leaf, Contraction):
            found.update(dict.fromkeys(a.index for a in (*leaf.inner, *leaf.outer)))
        if isinstance(leaf, Sweep):
            found.update(dict.fromkeys(a.index for a in plan.statements[leaf.statement].axes))
    return list(found)


def emit_kernel(
    plan: Plan, number: int, table: OffsetTable, reserved: frozenset[str]
) -> LoopFunction:
    """Return one kernel as loop IR."""
    kernel = plan.kernels[number]
    taken = {ARENA, OFFSETS, LOCAL, KEY, ENTRY, PART, PARTS, "memory", "table"}
    names = Names(reserved | set(plan.extents) | taken)
    dims: dict[Dim | Extent, str] = {}
    for dim in dims_of_trees(kernel, plan):
        dims[dim] = names.fresh(dim.name)
    places, entries = table.places(number), len(table.entries)
    streams = {stream: names.fresh("stream") for stream in kernel.streams}
    function = Function(
        plan, number, places, entries, names, dims, streams=streams, along=kernel.along,
        around=[*kernel.outer],
    )  # fmt: skip
    told = walks_of(plan)
    function.walks = tuple(s for s in told if s.kernel == number)
    function.steps = {s.number: names.fresh(f"block_{s.tensor}") for s in function.walks}
    goes_round = (s for s in function.walks if any(v.is_round for v in s.visits))
    function.rounds = {s.number: names.fresh(f"round_{s.tensor}") for s in goes_round}
    function.entries = entries + words(len(told))
    body = Block()
    for place, tree in enumerate(kernel.body):
        function.slices = kernel.slices[place] if kernel.sliced else 0
        emit_around(function, place, body)
        emit_tree(tree, function, body, visits=visits_of(function, place))
    emit_ends(function, body)
    blocks = prologue(function)
    parts = (PART, PARTS) if kernel.sliced or kernel.along else ()
    outer = (dims[d] for d in kernel.outer)
    integers = (LOCAL, KEY, ENTRY, *plan.extents, *outer, *parts, *streams.values())
    arrays = Tuple((call("carray", "memory", 1), call("carray", "table", 1)))
    return LoopFunction(
        name=kernel.name,
        parameters=(*ARRAYS, *((name, "int64") for name in integers)),
        body=(Let((ARENA, OFFSETS), arrays), *function.prologue(), *blocks, *body.body),
        definitions=(*function.accessors(), *function.products),
        tensors=tuple(function.tensors),
        remarks=tuple(describe(kernel, plan)),
        exact=plan.exact,
        checked=plan.checked,
        plain="LLVM passes" in plan.without,
    )


def emit_tree(
    tree: Tree,
    function: Function,
    out: Block,
    held: frozenset[Cond] = frozenset(),
    visits: Visits = (),
) -> None:
    """Write a loop with its body, or a leaf, where it is needed; ``held`` are tests around it.

    Loops and leaves tell of the ``visits`` of walks, products of rounds.
    """
    guard = untested(guard_of(tree, function.plan.guards), held)
    if guard == ALWAYS:
        _emit_tree(tree, function, out, held, visits)
        return
    with out.when(condition(guard, function.dims)), function.block():
        _emit_tree(tree, function, out, held.union(conjuncts(guard)), visits)


def _emit_tree(
    tree: Tree, function: Function, out: Block, held: frozenset[Cond], visits: Visits
) -> None:
    match tree:
        case Loop(span, reverse, _, body):
            end = function.plan.ends.get(tree)
            part = (PART, PARTS) if span is function.along else None
            head = bounds(span, reverse, function.dims, part)
            emit_alone(function, visits, out)
            with out.loop(function.dims[span.dim], *head), function.loop(span.dim):
                start = head[0] if len(head) > 1 else Constant(0)
                emit_blocks(function, visits, start, out)
                for place, inner in enumerate(body):
                    if end and end.place == place:
                        emit_end(end, tree, function, out)
                    emit_tree(inner, function, out, held, visits_inside(visits, place))
        case _:
            emit_alone(function, visits, out)
            _emit_leaf(tree, function, out, visits)


def _emit_leaf(tree: Leaf, function: Function, out: Block, visits: Visits) -> None:
    match tree:
        case Nest():
            emit_nest(tree, function, out)
        case Contraction():
            out.add(Remark(formula(tree)))
            emit_contraction(tree, function, out, [each for each in visits if each[2].is_round])
        case Sweep():
            out.add(Remark(swept(tree, function)))
            emit_sweep(tree, function, out)
        case Fill(tensor):
            emit_fill(tensor, function, out)
        case Calling(name):
            emit_call(function.statement(name), function, out)
        case unknown:
            assert_never(unknown)


def formula(leaf: Contraction) -> str:
    sizes = f"[{leaf.m.size if leaf.m else 1}, {leaf.n.size if leaf.n else 1}, {leaf.k.size}]"
    then = f"; then {', '.join(leaf.epilogues)}" if leaf.epilogues else ""
    return f"{leaf.statement} {'+=' if leaf.accumulate else '='} product {sizes}{then}"


def swept(leaf: Sweep, function: Function) -> str:
    s = function.statement(leaf.statement)
    names = ", ".join(map(show_value, operands(s)))
    if len(names) > LONG:
        names = ", ".join(dict.fromkeys(x.tensor for x in loads(s.clauses[0][1])))
    size = next((a.size for a in s.result_axes if a.index == s.along), expr(1))
    return f"{s.name} = {AXIS_FUNCTIONS[s.fold].shown}({names}), rows of {size}"


def emit_fill(tensor: str, function: Function, out: Block) -> None:
    """Set one point of an accumulator, which is contiguous, to the fold's unit."""
    s, storage = function.statement(tensor), function.storage(tensor)
    body = Body(function, frozenset())
    first = Load(
        tensor, tuple(expr(d) for d in s.result_dims), (expr(0),) * len(storage.axes), s.dtype
    )
    start = body.offset(first)
    unit = calls.literal(fold_unit(s.fold, s.dtype), s.dtype)
    out.extend(body.hoisted)
    loop = function.plan.begun.get(tensor)
    if loop is None:
        _emit_units(tensor, start, unit, function, out)
        return
    lo, hi = (expression(e, function.dims) for e in (loop.span.lo, loop.span.hi))
    with out.when(compare("<=", hi, lo)):
        _emit_units(tensor, start, unit, function, out)


def _emit_units(
    tensor: str, start: Expression, unit: Expression, function: Function, out: Block
) -> None:
    storage = function.storage(tensor)
    size = product(a.pad for a in storage.axes)
    if size == expr(1):
        out.add(function.store(tensor, start, unit))
        return
    if function.slices:
        positions = function.slice(size.as_int())
    else:
        positions = (expression(size, function.dims),)
    element = function.names.fresh("e")
    with out.loop(element, *positions, binding="lanes"):
        out.add(function.store(tensor, binary("+", start, element), unit))


def describe(kernel: Kernel, plan: Plan) -> list[str]:
    """Remarks: the schedule, then each statement with its place in the program."""
    lines = [f"{kernel.name}: {schedule(kernel)}"]
    done: set[str] = set()
    for leaf, path, _ in leaves(kernel.body):
        few = " and ".join(map(str, _narrow(leaf, plan)))
        for name in computed(leaf):
            if name not in done:
                done.add(name)
                note = few and f", few along {few}"
                said = equation(plan.statements[name], plan.storage[name], path, note)
                lines.append(f"  {said}")
    return lines


def _narrow(leaf: Leaf, plan: Plan) -> list[Dim]:
    """The axes along which some clause of a nest changes few elements."""
    if not isinstance(leaf, Nest):
        return []
    clauses = range(len(leaf.conds))
    found = [narrow(plan.limits.get((leaf.statements[0], k), ())) for k in clauses]
    return [a.index for a in leaf.axes if any(a.index in few for few in found)]


def schedule(kernel: Kernel) -> str:
    alone = "every worker a slice" if kernel.sliced else "one worker"
    if kernel.parallel is None:
        return alone
    shared = f" and {kernel.along}" if kernel.along else ""
    return f"parallel {kernel.parallel}{shared}"


def equation(s: Statement, storage: Storage, path: tuple[Loop, ...], note: str) -> str:
    """One line on a statement: name, indices, loops, place in memory, place in the program."""
    indices = ", ".join([*(str(d) for d in s.result_dims), *(str(a.index) for a in s.result_axes)])
    loops = " ".join(f"{loop.dim}{'-' if loop.reverse else ''}" for loop in path) or "-"
    label = f" ({plain(s.label)})" if s.label and s.label != s.name else ""
    where = f"   # {plain(s.where)}" if s.where else ""
    return f"{s.name}[{indices}]{label}  loops {loops}  {kept(storage)}{note}{where}"


def kept(storage: Storage) -> str:
    """Where a tensor lives and how much of it, in words."""
    if storage.place not in ("global", "local"):
        return storage.place
    if storage.shares:
        return f"in {storage.shares}"
    shape = " x ".join(str(e) for e in storage.shape if e != expr(1)) or "1"
    size = f"{shape} x {ITEM_BYTES[storage.dtype]} B"
    return f"{size} per worker" if storage.place == "local" else size


def emit_end(end: End, loop: Loop, function: Function, out: Block) -> None:
    """Leave the loop where the mask is false for all rows of the tile, or for the one in turn."""
    mask, any_ = function.statement(end.mask), function.names.fresh(f"any_{end.mask}")
    rows = function.rows(mask)
    body = Body(function, frozenset(a.index for a in rows))
    found = function.load(end.mask, body.offset(_element(mask, loop, expr(loop.dim))))
    out.extend(body.hoisted)
    out.let(any_, Constant(False))
    with ExitStack() as stack:
        for axis in rows:
            size = expression(axis.size, function.dims)
            stack.enter_context(out.loop(function.dims[axis.index], size))
        out.let(any_, binary("|", any_, found))
    with out.when(Not(Name(any_))):
        for tensor, value in end.fills:
            _fill(function.statement(tensor), value, loop, function, out)
        out.add(Break())


def _fill(s: Statement, value: Scalar, loop: Loop, function: Function, out: Block) -> None:
    """Write the steps of a tensor that are not computed, this one and later ones."""
    later, slots = Dim("later"), function.storage(s.name).slots
    name = function.dims[later] = function.names.fresh("later")
    rows = function.rows(s)
    body = Body(function, frozenset((later, *(a.index for a in rows))))
    offset = body.offset(_element(s, loop, expr(later)))
    many = any(slot.dim == loop.dim and slot.kind == "full" for slot in slots)
    out.extend(body.hoisted)
    with ExitStack() as stack:
        first = Name(function.dims[loop.dim])
        last = expression(loop.span.hi, function.dims) if many else binary("+", first, 1)
        stack.enter_context(out.loop(name, first, last))
        for axis in rows:
            size = expression(axis.pad, function.dims)
            stack.enter_context(out.loop(function.dims[axis.index], size))
        out.add(function.store(s.name, offset, calls.literal(value, s.dtype)))


def _element(s: Statement, loop: Loop, step: Expr) -> Load:
    """An element of a tensor at a step, for the rows that the loops give."""
    return replace(s.here, dims=tuple(step if d == loop.dim else expr(d) for d in s.result_dims))
