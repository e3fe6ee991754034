"""The module of Numba CUDA source that a program is printed as.

It has, in this order, the elementary functions, the products and the kernels that it uses, the
driver as one cooperative kernel, and the driver as a function of the host with its phases as
kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from ostinato.codegen.cpu import prelude
from ostinato.codegen.cpu.llvm_text import KINDS, Value
from ostinato.codegen.cpu.primitive import Inner, Written
from ostinato.codegen.cpu.scalar import PRIMITIVES
from ostinato.codegen.cuda import dealt, grid, shuffles, threads, whole_grid
from ostinato.codegen.cuda.alignment import aligned
from ostinato.codegen.cuda.one_thread import ARENA, SUFFIXES
from ostinato.codegen.cuda.products import Product
from ostinato.codegen.cuda.python_builder import Library, signed
from ostinato.codegen.cuda.rewriting import (
    bounds,
    calls,
    exchanged,
    given,
    indices,
    named,
    opened,
    parts,
    quotient,
    remainder,
    rewritten,
    together,
    within,
    without_long,
)
from ostinato.codegen.cuda.shares import BLOCK_THREADS
from ostinato.codegen.cuda.touches import accesses
from ostinato.codegen.loops.expression import (
    SUFFIX,
    Call,
    Constant,
    Expression,
    Item,
    Name,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.matmul_spec import Matmul
from ostinato.codegen.loops.numba_source import INDENT, comment, show, within_docstring
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.codegen.loops.statements import (
    Add,
    Block,
    Body,
    Definition,
    Do,
    For,
    Function,
    Let,
    Statement,
    While,
    Write,
)

INTRINSICS = "ostinato.codegen.cuda.intrinsics"
GIVEN = frozenset(
    (
        *("block_barrier", "grid_barrier", "where", "rounded_product", "fma", "sqrt", "fabs"),
        *("floor", "ceil", "rint", "copysign", "bits_of", "f32_of_bits", "f64_of_bits", "ctlz"),
        *("fshl", "truncated_quotient", "wide_add", "wide_sub", "wide_mul", "wide_or", "wide_shl"),
        *("wide_lshr", "wide_ctlz", "upper_word", "exchange", "load4", "store4"),
        *("device", "kernel"),
        *("block_thread", "block_threads", "grid_block", "grid_blocks", "cuda", "Arena"),
    )
)
"""What the device has; all other functions are written in the module."""
TYPES = frozenset((*SUFFIX.values(), "u64", "bool"))
NUMBERS = (
    "f32, f64, i32, i64 = np.float32, np.float64, np.int32, np.int64",
    "u16, u32, u64 = np.uint16, np.uint32, np.uint64",
)
COUNT = call("max", call("block_threads"), Name("THREADS"))
"""The threads of a block: as many as it is launched with, so that a loop of fewer turns has one."""
OWN = (
    *(dealt.THREAD, dealt.THREADS, grid.BLOCK, grid.BLOCKS),
    *("grid", "lane_row", "launch", "wait", "run", "PHASES", "REPEATS", shuffles.NAME),
    *("THREADS", "SHARED"),
)
NAMES = frozenset((*prelude.NAMES, *GIVEN, *OWN, "u64"))
"""What no variable of a program may be called."""
_CALLED = re.compile(r"\b(\w+)\(|\b(cuda)\.")


@dataclass(frozen=True)
class Access:
    """An access of a function of rows: to what it is given, by type."""

    dtype: str
    is_store: bool


@dataclass
class Source:
    """Writes the functions of one module."""

    is_exact: bool
    library: Library = field(init=False)
    shared: int = 0  # bytes that a block shares, beside the arena
    texts: dict[str, str] = field(default_factory=dict[str, str])  # products, kernels and others

    def __post_init__(self) -> None:
        self.library = Library(self.is_exact)

    # ------------------------------------------------------------ functions

    def kernel(self, of: Function) -> str:
        """Write a kernel for the threads of a block, and return its text."""
        bound = threads.Threads(of)
        body, made = bound.bound(), self.defined(of)
        self.shared = max(self.shared, bound.shared_bytes)
        index = Let((dealt.THREAD,), Call("block_thread", ()))
        count = Let((dealt.THREADS,), COUNT)
        parameters = (ARENA, "at", *(name for name, _ in of.parameters[2:]))
        whole = (index, count, *self.body(body, made, _natural(of)))
        text = "\n".join(
            [*map(comment, of.remarks), function("device", of.name, parameters, whole)]
        )
        self.texts[of.name] = text
        return text

    def of_grid(self, of: Function) -> None:
        """Write a kernel for all threads of the grid."""
        body = whole_grid.of_grid(threads.Threads(of, is_of_grid=True).bound())
        made = self.defined(of)
        made |= {k: self.shuffle(True) for k, x in made.items() if x == shuffles.NAME}
        index = Let((dealt.THREAD,), whole_grid.THREAD)
        count = Let((dealt.THREADS,), whole_grid.THREADS)
        parameters = (ARENA, "at", *(name for name, _ in of.parameters[2:]))
        name, whole = (
            whole_grid.name_of(of.name),
            (index, count, *self.body(body, made, _natural(of))),
        )
        self.texts[name] = function("device", name, parameters, whole)

    def defined(self, of: Function) -> dict[str, str]:
        """Write what a kernel defines; the names of these functions in the module."""
        found: dict[str, str] = {}
        access = accesses(of)
        products = [d.names[0] for d in of.definitions if d.maker == "matmul"]
        begin = aligned(of.body, products)
        for each in of.definitions:
            match each:
                case Definition((name,), "matmul", (Matmul() as spec,)):
                    product = Product(spec, self.is_exact, begin[name])
                    self.shared = max(self.shared, product.shared_bytes)
                    body = self.body(product.body(), {})
                    self.texts[name] = function("device", name, product.parameters(), body)
                case Definition((name,), shuffles.NAME, _):
                    found[name] = self.shuffle()
                case Definition((name,), maker, (str(dtype), *rest)) if maker in threads.ROWS:
                    given = [access[x.id] for x in rest if isinstance(x, Name)]
                    views = [Access(x.dtype, x.is_store) for x in given]
                    inner = getattr(prelude, maker)(dtype, *views)
                    found[name] = self.inner(inner, name)
                case _:
                    pass
        return found

    def shuffle(self, is_of_grid: bool = False) -> str:
        """Write the one function that shuffles rows."""
        body, name = shuffles.body(), shuffles.NAME
        if is_of_grid:
            body, name = whole_grid.of_grid(body), whole_grid.name_of(name)
        self.texts[name] = function("device", name, shuffles.PARAMETERS, self.body(body, {}))
        return name

    def inner(self, of: Inner, name: str) -> str:
        """Write a function of the loop IR that other functions call."""
        if name in self.texts:
            return name
        self.texts[name] = ""
        known = {
            called: self.inner(each, f"{name}_{called}")
            for called, each in of.calls.items()
            if isinstance(each, Inner)
        }

        def change(x: Expression) -> Expression:
            match x:
                case Call(fn, args) if fn in known:
                    return Call(known[fn], args)
                case Call(fn, (Name(view), index)) if isinstance(of.calls.get(fn), Access):
                    return Item(Name(f"{view}.{_access(of, fn).dtype}"), index)
                case _:
                    return x

        def statement(s: Statement) -> Statement:
            match s:
                case Do(Call(fn, (Name(view), index, value))) if fn in of.calls and isinstance(
                    of.calls[fn], Access
                ):
                    array = Name(f"{view}.{_access(of, fn).dtype}")
                    return Write(array, exchanged(index, change), exchanged(value, change))
                case _:
                    return within(rewritten(s, change), statement)

        body = tuple(map(statement, of.body))
        lines = [*show(self.body(body, {}))]
        if of.value is not None:
            value = exchanged(exchanged(of.value, change), unsigned)
            self.use(_functions(value))
            lines.append(f"return {value}")
        self.texts[name] = _text("device", name, tuple(of.parameters), lines)
        return name

    def body(self, body: Body, known: dict[str, str], natural: Set[str] = frozenset()) -> Body:
        """Statements whose calls have the names of the module; what they call is written.

        ``natural`` names stand for numbers from 0 on.
        """
        shorter = without_long({*natural, dealt.THREAD, dealt.THREADS, grid.BLOCK, grid.BLOCKS})

        def change(x: Expression) -> Expression:
            if isinstance(x, Call) and x.function in known:
                return Call(known[x.function], x.args)
            return shorter(x)

        def statement(s: Statement) -> Statement:
            return within(rewritten(s, change), statement)

        made = tuple(map(statement, body))
        self.use(each.function for each in calls(made))
        return together(map(counted, without_signs(made)))

    def use(self, names: Iterator[str]) -> None:
        """Write the functions of these names, if they are not written."""
        for name in names:
            if name in GIVEN or name in TYPES or name in self.texts or name in ("min", "max"):
                continue
            found = PRIMITIVES.get(name) or getattr(prelude, name, None)
            if name.startswith("transpose_"):
                self.texts[name] = transpose(name)
            elif isinstance(found, Written) and "array" not in found.arguments:
                self.written(name, found)
            elif isinstance(found, Inner):
                self.inner(found, name)

    def written(self, name: str, of: Written) -> None:
        parameters = [(f"x{k}", KINDS[kind]) for k, kind in enumerate(of.arguments)]
        result = SUFFIXES[of.result]
        self.library.define(name, parameters, result, lambda b, args: _made(of.emit(b, [*args])))

    # ------------------------------------------------------------ the driver

    def driver(self, of: Function, kernels: Sequence[Function] = ()) -> str:
        """Write a driver in both forms, and what all threads of the grid do in one of them."""
        extents = grid.extents(of)
        many = {each.name: whole_grid.many_lanes(each, extents) for each in kernels}
        found = grid.bound(of, {name: test for name, test in many.items() if test is not None})
        called = {each.function for each in calls(found.cooperative)}
        for each in kernels:
            if whole_grid.name_of(each.name) in called:
                self.of_grid(each)
        head = (
            Let((grid.BLOCK,), Call("grid_block", ())),
            Let((grid.BLOCKS,), Call("grid_blocks", ())),
            Let((dealt.THREAD,), Call("block_thread", ())),
        )
        memory = (ARENA, "at")
        parameters = (*memory, "control", "stride", "seed", *found.extents)
        sizes = frozenset(found.extents)
        together = (*head, *self.body(found.cooperative, {}, sizes))
        lines = [
            f"PHASES, REPEATS = {len(found.launched)}, {grid.repeats(found)}",
            f"THREADS, SHARED = {BLOCK_THREADS}, {self.shared}",
            "# All phases in one cooperative launch.",
            function("kernel", of.name, parameters, together),
        ]
        local = Let((grid.LOCAL,), binary("*", grid.BLOCK, "stride"))
        for phase in found.launched:
            head = (
                Let((grid.BLOCK,), Call("grid_block", ())),
                Let(("grid",), Call("grid_blocks", ())),
                local,
            )
            own = (*memory, "stride", *phase.parameters)
            lines.append(
                function("kernel", phase.name, own, (*head, *self.body(phase.body, {}, sizes)))
            )
        lines.append("# The same with a launch for each phase: the host calls this.")
        host = ("launch", "wait", "control", grid.BLOCKS, grid.KEY, *found.extents)
        lines.append(_text("", "run", host, [*show(self.body(found.host, {}))]))
        return "\n\n".join(lines)

    def tables(self) -> Iterator[str]:
        for name, words in self.library.tables.items():
            yield f"{name} = np.array({[signed(x % 2**64, 64) for x in words]}, np.int64)"


def _natural(of: Function) -> frozenset[str]:
    """The extents, steps and parts that a kernel takes."""
    return frozenset(name for name, _ in of.parameters[2:]) - {grid.KEY}


def _access(of: Inner, name: str) -> Access:
    found = of.calls[name]
    assert isinstance(found, Access), f"{name} is no access"
    return found


def _made(value: Value | None) -> Value:
    assert value is not None, "a function of numbers returns one"
    return value


def unsigned(of: Expression) -> Expression:
    """An element of an array at an index without a sign: Numba counts others from the end."""
    match of:
        case Item(array, index):
            return Item(array, _unsigned(index))
        case _:
            return of


def _unsigned(index: Expression) -> Expression:
    return index if isinstance(index, Constant) else call("u64", index)


def without_signs(body: Body) -> Body:
    """Statements that access arrays at indices without a sign."""

    def statement(of: Statement) -> Statement:
        made = within(rewritten(of, unsigned), statement)
        match made:
            case Write(array, index, value):
                return Write(array, _unsigned(index), value)
            case _:
                return made

    return tuple(map(statement, body))


def counted(of: Statement) -> Body:
    """A loop that tests its index: Numba counts the turns of a range, and divides for that."""
    match of:
        case For(index, _, body) if _stays((*bounds(of), Name(index)), body):
            first, last, step = bounds(of)
            is_down = isinstance(step, Constant) and step.value < 0
            inner = (*together(map(counted, body)), Add(index, step))
            test = compare(">" if is_down else "<", index, last)
            return Let((index,), first), While(test, inner)
        case _:
            return (opened(of, counted),)


def _stays(of: Sequence[Expression], body: Body) -> bool:
    """Whether statements leave values as they are."""
    loads = any(isinstance(x, Item) for value in of for x in parts(value))
    found = {name for value in of for name in named(value)}
    return not loads and not found & {*given(body), *indices(body)}


def _functions(of: Expression) -> Iterator[str]:
    return (each.function for each in calls((Let(("x",), of),)))


def transpose(name: str) -> str:
    """Copy an element of a square, whose rows become columns."""
    dtype = {"f32": "float32", "f64": "float64"}[name.removeprefix("transpose_")]
    out, view = Block(), Name(f"{ARENA}.{dtype}")
    row, column = quotient("element", SQUARE), remainder("element", SQUARE)
    source = binary("+", binary("+", "source", binary("*", row, "source_step")), column)
    to = binary("+", binary("+", "to", binary("*", column, "to_step")), row)
    out.add(Write(view, to, Item(view, source)))
    parameters = (ARENA, "to", "to_step", "source", "source_step", "element")
    return function("device", name, parameters, without_signs(out.body))


def function(kind: str, name: str, parameters: Sequence[str], body: Body) -> str:
    return _text(kind, name, parameters, [*show(body)])


def _text(kind: str, name: str, parameters: Sequence[str], lines: Sequence[str]) -> str:
    head = [f"@{kind}"] if kind else []
    return "\n".join(
        [
            *head,
            f"def {name}({', '.join(parameters)}):",
            *(f"{INDENT}{line}" for line in lines or ("pass",)),
            "",
        ]
    )


def module(title: str, extents: Sequence[str], functions: Sequence[Function]) -> str:
    """All functions as a module."""
    of = [each for each in functions if not each.is_driver]
    (driver,) = (each for each in functions if each.is_driver)
    source = Source(any(each.exact for each in of))
    kernels = tuple(each.name for each in of)
    for each in of:
        source.kernel(each)
    ending = source.driver(driver, of)
    written = [*source.library.texts.values(), *source.texts.values(), ending]
    body = "\n\n".join(written)
    called = {name for found in _CALLED.findall(body) for name in found}
    used = sorted({*called, "device", "kernel", "Arena"} & GIVEN)
    header = [
        f'"""{within_docstring(title or "A program")}, compiled by ostinato for CUDA.',
        "",
        "Generated: do not edit.",
        "",
        f"extents: {', '.join(extents) or 'none'}",
        f"kernels: {', '.join(kernels)}",
        '"""',
        "",
        "import numpy as np",
        "",
        f"from {INTRINSICS} import (",
        *(f"{INDENT}{name}," for name in used),
        ")",
        "",
        *NUMBERS,
        *source.tables(),
    ]
    return "\n".join([*header, "", ""]) + body


def text(of: Function) -> str:
    """A function by itself, as people read it: a kernel of threads, or a driver of a grid."""
    source = Source(of.exact)
    if not of.is_driver:
        return source.kernel(of)
    body = grid.bound(of, {}).cooperative
    parameters = (ARENA, "at", "control", "stride", "seed")
    return function("kernel", of.name, parameters, body)
