"""Matrix products with fused elementwise steps, as register-blocked micro-kernels.

Blocks of rows by vectors keep accumulators in registers, which reaches the machine's peak for
multiply-adds; every loop below is emitted as LLVM instructions, since Numba has no register arrays.
Operands that are both consecutive in k are multiplied as sums of lanes.
"""

import hashlib
from collections.abc import Callable
from functools import partial

from ostinato.codegen.cpu.flags import lanes
from ostinato.codegen.cpu.llvm import Builder, alloca, emit_if, emit_loop, function_apart
from ostinato.codegen.cpu.llvm_text import I64, Value, i64
from ostinato.codegen.cpu.matmul_blocks import (
    emit_columns,
    emit_rows,
    emit_steps,
    rows_beside,
    widest,
)
from ostinato.codegen.cpu.matmul_frame import (
    Epilogue,
    Frame,
    Mask,
    Tile,
    emit_blocks,
    emit_zeros,
    load_lanes,
    power_above,
    start_sums,
    start_value,
)
from ostinato.codegen.cpu.matmul_packed import emit_packed, is_large
from ostinato.codegen.cpu.primitive import Primitive, Written
from ostinato.codegen.cpu.vector import FORMATS, Vector
from ostinato.codegen.loops.matmul_spec import Matmul


def matmul(spec: Matmul) -> Primitive:
    """Return ``mm(view, offsets, sizes)``, which computes what ``spec`` says.

    Shapes: ``view`` is a contiguous 1-D array from whose start the offsets count, in elements of
    the spec's dtype; ``offsets`` is the tuple of those of A, B and the operands in their order
    (then the list, where the spec names a living axis);
    ``sizes`` the tuple of run-time sizes in the order of ``spec.runtime``. No result may overlap A
    or B. Any size may be 0; with ``k`` 0 the steps still run.
    Errors: ValueError if the spec contradicts itself.

    >>> from ostinato.codegen.loops.matmul_spec import Operand, Step
    >>> mm = matmul(Matmul("float32", 32, 64, 4, (4, 1), (64, 1), (Operand("c", 64, 1),),
    ...                    (Step("z", ("name", "acc"), "c"),)))
    """
    spec.check()
    counts = 2 + len(spec.operands) + bool(spec.living), len(spec.runtime)
    same = spec.nameless()
    digest = hashlib.sha256(f"{same!r} {_width(spec)}".encode()).hexdigest()[:16]
    element = FORMATS[spec.dtype].element.as_pointer()

    def emit(builder: Builder, args: list[Value]) -> None:
        if len(args) != 1 + sum(counts):
            raise ValueError(f"matmul takes {counts[0]} offsets and {counts[1]} run-time sizes")
        kinds = [element, *(I64 for _ in args[1:])]
        name = f"ostinato.matmul.{digest}"
        function = function_apart(builder.module, name, kinds, partial(_emit_body, same))
        builder.call(function, [builder.bitcast(args[0], element), *args[1:]])

    return Written(f"matmul_{digest}", "void", ("array", "indices", "indices"), emit)


def _width(spec: Matmul) -> int:
    return spec.lanes or lanes(spec.dtype)


def _emit_body(spec: Matmul, builder: Builder, args: list[Value]) -> None:
    split = 3 + len(spec.operands) + bool(spec.living)
    sizes = dict(zip(spec.runtime, args[split:], strict=True))
    offsets = args[1:split]
    if spec.is_better_swapped:
        spec, offsets = spec.swapped(), [offsets[1], offsets[0], *offsets[2:]]
    frame = Frame(builder, spec, args[0], offsets, sizes, _width(spec))
    match spec.chosen_form:
        case "broadcast":
            _emit_broadcast(frame)
        case "plain":
            v = Vector(builder, spec.dtype)
            columns, most = frame.length(spec.n), widest(frame)
            emit_blocks(builder, columns, most, lambda n, count: _panel(frame, v, count, n))
        case "dots":
            emit_dots(frame)


def _emit_broadcast(frame: Frame) -> None:
    b, width, length = frame.builder, frame.width, frame.length(frame.spec.n)
    restarts = frame.spec.around and frame.spec.begun  # each turn would begin the sums
    if not frame.spec.living and not restarts and is_large(frame.spec):
        frame.emit_turns(lambda a, b: emit_packed(frame.moved(a, b)))
        return
    if isinstance(length, int):
        emit_columns(frame, length, partial(_panel, frame))
        return
    v, count = frame.vector(width), b.sdiv(length, i64(width))
    most = widest(frame)
    emit_blocks(b, count, most, lambda n, some: _panel(frame, v, some, b.mul(n, i64(width))))
    if v.lanes:
        rest_count = b.srem(length, i64(width))
        rest_mask = Mask(rest_count, None)
        first = b.sub(length, rest_count)
        has_rest = b.icmp_signed(">", rest_count, i64(0))
        emit_if(b, has_rest, lambda: _panel(frame, v, 1, first, rest_mask))


def _panel(frame: Frame, v: Vector, columns: int, n: Value, mask: Mask | None = None) -> None:
    def rows(m: Value, count: int) -> None:
        _emit_tile(frame, v, Tile(count, columns, m, n, mask))

    def blank(m: Value, count: int) -> None:
        emit_zeros(frame, v, Tile(count, columns, m, n, mask))

    emit_rows(frame, rows_beside(frame, columns), rows, blank)


def _emit_tile(frame: Frame, v: Vector, tile: Tile) -> None:
    """Multiply one element of A with a vector of B (or a scalar), and run the steps."""
    b, spec = frame.builder, frame.spec
    sums = {each: alloca(b, v.type) for each in tile.cells}
    start_sums(frame, v, tile, sums)
    a_rows = [
        frame.pointer(frame.offsets[0], frame.scaled(frame.row(tile.m, r), spec.a[0]))
        for r in range(tile.rows)
    ]
    b_place = frame.pointer(frame.offsets[1], frame.scaled(tile.n, spec.b[1]))
    steps = [frame.scaled(i64(j * max(v.lanes, 1)), spec.b[1]) for j in range(tile.columns)]

    def multiply(a_turn: Value, b_turn: Value, term: Value) -> None:
        k = frame.term(term)
        line = b.gep(b_place, b.add(b_turn, frame.scaled(k, spec.b[0])))
        across = [
            load_lanes(frame, v, b.gep(line, s), spec.b[1], tile.mask_of(j))
            for j, s in enumerate(steps)
        ]
        down = b.add(a_turn, frame.scaled(k, spec.a[1]))
        elements = [v.splat(b.load(b.gep(row, down))) for row in a_rows]
        for r, j in sums:
            b.store(v.plus_product(b.load(sums[r, j]), elements[r], across[j]), sums[r, j])

    def turn(a_turn: Value, b_turn: Value) -> None:
        emit_steps(b, frame.terms(), partial(multiply, a_turn, b_turn))

    frame.emit_turns(turn)
    epilogue = Epilogue(frame, v, tile)
    for each in sums:
        epilogue.emit(each, b.load(sums[each]))


def emit_dots(frame: Frame) -> None:
    """Emit the whole product in blocks of rows and columns."""
    b, spec = frame.builder, frame.spec

    def panel(n: Value, columns: int) -> None:
        def tile(m: Value, rows: int) -> None:
            _emit_dots(frame, Tile(rows, columns, m, n))

        def blank(m: Value, rows: int) -> None:
            emit_zeros(frame, Vector(b, spec.dtype), Tile(rows, columns, m, n))

        emit_rows(frame, min(4, rows_beside(frame, columns)), tile, blank)

    emit_blocks(b, frame.length(spec.n), min(4, widest(frame)), panel)


def _emit_dots(frame: Frame, tile: Tile) -> None:
    """Multiply vectors along k, add up their lanes in a fixed order, run the steps on scalars."""
    b, spec = frame.builder, frame.spec
    v = _along_k(frame)
    sums = {each: alloca(b, v.type) for each in tile.cells}
    for each in sums:
        b.store(v.const(0.0), sums[each])
    a_rows = [
        frame.pointer(frame.offsets[0], frame.scaled(frame.plus(tile.m, r), spec.a[0]))
        for r in range(tile.rows)
    ]
    b_rows = [
        frame.pointer(frame.offsets[1], frame.scaled(frame.plus(tile.n, j), spec.b[1]))
        for j in range(tile.columns)
    ]

    def multiply(k: Value, mask: Mask | None) -> None:
        down = [load_lanes(frame, v, b.gep(row, k), 1, mask) for row in a_rows]
        across = [load_lanes(frame, v, b.gep(row, k), 1, mask) for row in b_rows]
        for r, j in sums:
            b.store(v.plus_product(b.load(sums[r, j]), down[r], across[j]), sums[r, j])

    _emit_k(frame, v, multiply)
    scalar = Vector(b, spec.dtype)
    epilogue = Epilogue(frame, scalar, tile)
    for each in sums:
        start = start_value(frame, scalar, tile, each)
        epilogue.emit(each, b.fadd(start, v.sum_lanes(b.load(sums[each]))))


def _along_k(frame: Frame) -> Vector:
    length = frame.length(frame.spec.k)
    if isinstance(length, int):
        return frame.vector(min(frame.width, power_above(max(length, 2))))
    return frame.vector(frame.width)


def _emit_k(frame: Frame, v: Vector, multiply: Callable[[Value, Mask | None], None]) -> None:
    """Emit the whole vectors along k, then the rest under a mask."""
    b, length, width = frame.builder, frame.length(frame.spec.k), i64(max(v.lanes, 1))
    k = frame.size(frame.spec.k)
    emit_loop(b, b.sdiv(k, width), lambda i: multiply(b.mul(i, width), None))
    if not v.lanes:
        return
    if isinstance(length, int):
        rest = length % v.lanes
        if rest:
            multiply(i64(length - rest), Mask(i64(rest), rest))
        return
    count = b.srem(k, width)
    has_rest = b.icmp_signed(">", count, i64(0))
    emit_if(b, has_rest, lambda: multiply(b.sub(k, count), Mask(count, None)))
