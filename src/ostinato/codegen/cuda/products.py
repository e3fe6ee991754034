"""Matrix products as functions that all threads of a block call: each takes some elements.

A sum adds its terms in ascending order, by one rounding each. Of rows with rows it adds as many
sums as a vector of 64 bytes has lanes, and these by halves: so does a CPU that has such vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ostinato.codegen.cuda.one_thread import ARENA
from ostinato.codegen.cuda.rewriting import quotient, remainder
from ostinato.codegen.cuda.shared_sums import BARRIER, SHARED
from ostinato.codegen.cuda.threads import THREAD, THREADS
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import (
    ITEM_BYTES,
    SUFFIX,
    Constant,
    Expression,
    Item,
    Logic,
    Name,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.matmul_spec import ACCUMULATOR, Expr, Matmul, Operand, Size
from ostinato.codegen.loops.statements import Block, Body, Write

MASK = ("mask_at", "mask_step", "mask_size")
VECTOR_BYTES = 64
ROW, COLUMN, TERM, LANE = "row", "column", "term", "lane"
BLOCK_THREADS = 256  # eight warps, which a module is launched with: each thread should have work
MOST = 16  # sums of a thread at once
SLICE = 8  # terms, at least, that a thread adds up where several add up one element


@dataclass
class Product:
    """Writes one product."""

    spec: Matmul
    is_exact: bool

    def __post_init__(self) -> None:
        self.spec.check()
        self.view = Name(f"{ARENA}.{self.spec.dtype}")
        self.suffix = SUFFIX[self.spec.dtype]
        self.by = block_of(self.spec)
        self.slices = 1 if self.is_exact else slices_of(self.spec)

    def parameters(self) -> tuple[str, ...]:
        mask = MASK if self.spec.living else ()
        places = ("a_at", "b_at", *(f"at_{x.name}" for x in self.spec.operands))
        sizes = (f"size_{name}" for name in self.spec.runtime)
        return (ARENA, *places, *mask, *sizes, THREAD, THREADS)

    def body(self) -> Body:
        """The elements of this thread."""
        out, spec, (rows, columns) = Block(), self.spec, self.by
        if self.slices > 1:
            self.sliced(out)
            return out.body
        if rows * columns == 1:
            across = self.size(spec.n)
            with out.loop(LANE, THREAD, binary("*", self.size(spec.m), across), THREADS):
                out.let(ROW, quotient(LANE, across))
                out.let(COLUMN, remainder(LANE, across))
                self.judged(out)
            return out.body
        assert isinstance(spec.m, int), "blocks are of known sizes"
        assert isinstance(spec.n, int), "blocks are of known sizes"
        down, across = spec.m // rows, Constant(spec.n // columns)
        with out.loop(LANE, THREAD, binary("*", down, across), THREADS):
            out.let("first_row", binary("*", quotient(LANE, across), rows))
            out.let("first_column", remainder(LANE, across))
            if spec.rows:
                self.cut(out, across)
            else:
                self.block(out, across)
        return out.body

    def sliced(self, out: Block) -> None:
        """Few elements: several threads add up slices of the terms of each."""
        across, terms = self.size(self.spec.n), self.spec.k
        assert isinstance(terms, int), "slices are of a known number of terms"
        elements = binary("*", self.size(self.spec.m), across)
        parts, part, term = Name("parts"), "part", terms // self.slices
        out.let(parts.id, call(SHARED, 0, self.suffix))
        with out.loop(LANE, THREAD, binary("*", elements, self.slices), THREADS):
            out.let(part, quotient(LANE, elements))
            out.let(ROW, quotient(remainder(LANE, elements), across))
            out.let(COLUMN, remainder(LANE, across))
            out.let(ACCUMULATOR, calls.literal(0, self.spec.dtype))
            first = binary("*", part, term)
            with ExitStack() as when:
                counts = self.counts()
                if counts is not None:
                    when.enter_context(out.when(counts))
                with out.loop(TERM, first, binary("+", first, term)):
                    self.term(out)
            out.write(parts, LANE, ACCUMULATOR)
        out.add(BARRIER)
        with out.loop(LANE, THREAD, elements, THREADS):
            out.let(ROW, quotient(LANE, across))
            out.let(COLUMN, remainder(LANE, across))
            self.judged(out, self.joined)
        out.add(BARRIER)

    def joined(self, out: Block) -> None:
        """The sum of the slices of one element, and the steps on it."""
        elements = binary("*", self.size(self.spec.m), self.size(self.spec.n))
        out.let(ACCUMULATOR, self.start(ROW, COLUMN))
        for number in range(self.slices):
            at = binary("+", LANE, binary("*", number, elements))
            out.let(ACCUMULATOR, binary("+", ACCUMULATOR, Item(Name("parts"), at)))
        self.steps(out)

    def cut(self, out: Block, across: Expression) -> None:
        """A block of which some rows may be read by nobody."""
        assert self.spec.rows, "all rows are read"
        end = binary("+", "first_row", self.by[0])
        with out.when(compare("<=", end, self.size(self.spec.rows))):
            self.block(out, across)
        with (
            out.otherwise(),
            out.loop(ROW, "first_row", end),
            out.loop(COLUMN, "first_column", self.size(self.spec.n), across),
        ):
            self.judged(out)

    def judged(self, out: Block, element: Callable[[Block], None] | None = None) -> None:
        """One element, or 0 where nobody reads it."""
        counts, element = self.counts(), element or self.element
        if counts is None:
            element(out)
            return
        with out.when(counts):
            element(out)
        with out.otherwise():
            for name in sorted(self.spec.stored()):
                out.add(self.store(name, calls.literal(0, self.spec.dtype)))

    def block(self, out: Block, across: Expression) -> None:
        """Some rows of some columns: what is loaded for one element serves others."""
        rows, columns = map(range, self.by)
        for i in rows:
            out.let(f"{ROW}_{i}", binary("+", "first_row", i))
        for j in columns:
            out.let(f"{COLUMN}_{j}", binary("+", "first_column", binary("*", j, across)))
        each = [(i, j) for i in rows for j in columns]
        for i, j in each:
            out.let(f"sum_{i}_{j}", self.start(f"{ROW}_{i}", f"{COLUMN}_{j}"))
        with self.terms(out):
            for i in rows:
                out.let(f"a_{i}", Item(self.view, self.a(f"{ROW}_{i}")))
            for j in columns:
                out.let(f"b_{j}", Item(self.view, self.b(f"{COLUMN}_{j}")))
            for i, j in each:
                self.added(out, f"sum_{i}_{j}", Name(f"a_{i}"), Name(f"b_{j}"))
        for i, j in each:
            out.let(ROW, Name(f"{ROW}_{i}"))
            out.let(COLUMN, Name(f"{COLUMN}_{j}"))
            out.let(ACCUMULATOR, Name(f"sum_{i}_{j}"))
            self.steps(out)

    def counts(self) -> Expression | None:
        """Whether anybody reads the row; None: always."""
        if self.spec.living == "m":
            return self.lives(Name(ROW))
        return compare("<", ROW, self.size(self.spec.rows)) if self.spec.rows else None

    def lives(self, place: Expression) -> Expression:
        at, step, size = map(Name, MASK)
        found = Item(Name(f"{ARENA}.bool"), binary("+", at, binary("*", place, step)))
        # Slots of nothing lie behind the mask's end: there is no such place to read.
        return Logic("and", (compare("<", place, size), compare("!=", found, 0)))

    def element(self, out: Block) -> None:
        """The sum of one element, and the steps on it."""
        if self.spec.chosen_form == "dots":
            self.dots(out)
        else:
            out.let(ACCUMULATOR, self.start(ROW, COLUMN))
            with self.terms(out):
                self.term(out)
        self.steps(out)

    @contextmanager
    def terms(self, out: Block) -> Generator[None]:
        """The loop over the terms that count."""
        with ExitStack() as loops:
            for turn, (count, _, _) in zip(self.turns(), self.spec.around, strict=True):
                loops.enter_context(out.loop(turn, count))
            loops.enter_context(out.loop(TERM, self.size(self.spec.k)))
            if self.spec.living == "k":
                loops.enter_context(out.when(self.lives(Name(TERM))))
            yield

    def dots(self, out: Block) -> None:
        """A sum for each lane, of the terms that it would have; then those of all lanes."""
        k, lanes = self.spec.k, VECTOR_BYTES // ITEM_BYTES[self.spec.dtype]
        if isinstance(k, int):
            lanes = min(lanes, 1 << (max(k, 2) - 1).bit_length())
        sums = [f"sum_{lane}" for lane in range(lanes)]
        for name in sums:
            out.let(name, calls.literal(0, self.spec.dtype))
        size = self.size(k)
        whole = binary("-", size, binary("%", size, lanes))
        with out.loop(TERM, 0, whole, lanes):
            for lane, name in enumerate(sums):
                self.term(out, name, lane)
        if not isinstance(k, int) or k % lanes:
            out.let(TERM, whole)
            for lane, name in enumerate(sums[:-1]):
                with out.when(compare("<", binary("+", TERM, lane), size)):
                    self.term(out, name, lane)
        while lanes > 1:
            lanes //= 2
            for lane in range(lanes):
                out.let(sums[lane], binary("+", sums[lane], sums[lane + lanes]))
        out.let(ACCUMULATOR, binary("+", self.start(ROW, COLUMN), sums[0]))

    def start(self, row: str, column: str) -> Expression:
        zero = calls.literal(0, self.spec.dtype)
        if self.spec.start is None:
            return zero
        found = self.load(self.spec.start, row, column)
        if not self.spec.begun:
            return found
        return call("where", compare("!=", self.size(self.spec.begun), 0), found, zero)

    def term(self, out: Block, total: str = ACCUMULATOR, ahead: int = 0) -> None:
        """Add a term to a total: the one so far ``ahead``."""
        a, b = self.a(ROW), self.b(COLUMN)
        if ahead:
            a, b = binary("+", a, ahead), binary("+", b, ahead)
        self.added(out, total, Item(self.view, a), Item(self.view, b))

    def added(self, out: Block, total: str, x: Expression, y: Expression) -> None:
        if self.is_exact:
            out.let(total, binary("+", total, call("rounded_product", x, y)))
        else:
            out.let(total, call("fma", x, y, total))

    def a(self, row: str) -> Expression:
        """Where the first operand of the term is."""
        turns = [(turn, x[1]) for turn, x in zip(self.turns(), self.spec.around, strict=True)]
        return self.at("a_at", (row, self.spec.a[0]), (TERM, self.spec.a[1]), *turns)

    def b(self, column: str) -> Expression:
        """Where the second operand of the term is."""
        turns = [(turn, x[2]) for turn, x in zip(self.turns(), self.spec.around, strict=True)]
        return self.at("b_at", (TERM, self.spec.b[0]), (column, self.spec.b[1]), *turns)

    def turns(self) -> list[str]:
        """The indices of the axes around k."""
        return [f"turn_{number}" for number in range(len(self.spec.around))]

    def steps(self, out: Block) -> None:
        """An operand has the value that it had on entry, also where a step stores it."""
        spec = self.spec
        for name in sorted(spec.read()):
            out.let(f"operand_{name}", self.load(name))
        for step in spec.steps:
            value = self.value(step.expr)
            out.let(f"step_{step.name}", value)
            if step.store is not None:
                out.add(self.store(step.store, Name(f"step_{step.name}")))

    def value(self, of: Expr) -> Expression:
        spec = self.spec
        match of:
            case ("name", str(name)):
                if name == ACCUMULATOR:
                    return Name(name)
                is_step = any(step.name == name for step in spec.steps)
                return Name(f"{'step' if is_step else 'operand'}_{name}")
            case ("const", x) if not isinstance(x, tuple):
                return calls.literal(float(x), spec.dtype)
            case (str(fn), *args):
                given = tuple(self.value(x) for x in args if isinstance(x, tuple))
                if fn == "mul" and self.is_exact:
                    return call("rounded_product", *given)
                return calls.function(fn, spec.dtype, given)
            case _:
                raise AssertionError(f"no step {of}")

    # ------------------------------------------------------------ places

    def size(self, of: Size) -> Expression:
        return Name(f"size_{of}") if isinstance(of, str) else Constant(of)

    def at(self, start: str, *moves: tuple[str, Size]) -> Expression:
        found: Expression = Name(start)
        for index, stride in moves:
            if stride == 1:
                found = binary("+", found, index)
            elif stride != 0:
                found = binary("+", found, binary("*", index, self.size(stride)))
        return found

    def place(self, operand: Operand, row: str = ROW, column: str = COLUMN) -> Expression:
        return self.at(f"at_{operand.name}", (row, operand.m), (column, operand.n))

    def load(self, name: str, row: str = ROW, column: str = COLUMN) -> Expression:
        return Item(self.view, self.place(self.spec.operand(name), row, column))

    def store(self, name: str, value: Expression) -> Write:
        return Write(self.view, self.place(self.spec.operand(name)), value)


def block_of(spec: Matmul) -> tuple[int, int]:
    """How many rows and columns of a product a thread computes at once.

    Sums by themselves wait for every load; more of them than leave each thread of a block some
    work, or than there are registers for, do not help.

    >>> block_of(Matmul("float32", 32, 64, 64, (64, 1), (64, 1), (), ()))
    (4, 2)
    """
    if not (isinstance(spec.m, int) and isinstance(spec.n, int)):
        return 1, 1
    if spec.chosen_form == "dots" or spec.living == "m":
        return 1, 1
    most = min(MOST if _is_light(spec) else MOST // 2, spec.m * spec.n // BLOCK_THREADS)
    shapes = [
        (rows, columns)
        for rows in (8, 4, 2, 1)
        for columns in (8, 4, 2, 1)
        if spec.m % rows == 0 and spec.n % columns == 0 and rows * columns <= most
    ]
    return max(shapes, key=lambda shape: (shape[0] * shape[1], -sum(shape)), default=(1, 1))


def slices_of(spec: Matmul) -> int:
    """Among how many threads the terms of an element are dealt out, where elements are few.

    >>> slices_of(Matmul("float32", 1, 64, 64, (64, 1), (64, 1), (), ()))
    4
    """
    sizes = spec.m, spec.n, spec.k
    if not all(isinstance(size, int) for size in sizes):
        return 1
    m, n, k = (int(size) for size in sizes)
    if spec.chosen_form == "dots" or spec.living or spec.around:
        return 1
    most = min(BLOCK_THREADS // (m * n), k // SLICE)
    return next((s for s in (8, 4, 2) if s <= most and k % s == 0), 1)


def _is_light(spec: Matmul) -> bool:
    """Whether the steps are arithmetic, so that writing them many times costs little."""
    return all(_is_arithmetic(step.expr) for step in spec.steps)


def _is_arithmetic(of: Expr) -> bool:
    match of:
        case ("name" | "const", _):
            return True
        case (("add" | "sub" | "mul" | "negative"), *args):
            return all(_is_arithmetic(x) for x in args if isinstance(x, tuple))
        case _:
            return False
