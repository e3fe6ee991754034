"""Matrix products as functions that all threads of a block call: each takes some elements.

Blocks of elements are added up in variables of a thread, and left in memory that the block shares;
then the steps on each are done, in turns that lie side by side. How, `shares` says. Exact products
go element by element: a sum adds its terms in ascending order, by one rounding each. Of rows with
rows it adds as many sums as a vector of 64 bytes has lanes, and these by halves: so does a CPU that
has such vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product

from ostinato.codegen.cuda.alignment import VECTOR
from ostinato.codegen.cuda.dealt import THREAD, THREADS
from ostinato.codegen.cuda.one_thread import ARENA
from ostinato.codegen.cuda.rewriting import quotient, remainder
from ostinato.codegen.cuda.shared_sums import BARRIER, SHARED
from ostinato.codegen.cuda.shares import Share, share
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import (
    ITEM_BYTES,
    SUFFIX,
    Constant,
    Expression,
    Given,
    Item,
    Logic,
    Name,
    binary,
    call,
    compare,
)
from ostinato.codegen.loops.matmul_spec import ACCUMULATOR, Expr, Matmul, Operand, Size
from ostinato.codegen.loops.statements import Block, Body, Let, Write

MASK = ("mask_at", "mask_step", "mask_size")
VECTOR_BYTES = 64
ROW, COLUMN, TERM, AFTER, LANE = "row", "column", "term", "after", "lane"
TOP, LEFT, DOWN, RIGHT, PART = "top", "left", "down", "right", "part"  # of a pass; within it
SUMS = Name("sums")


@dataclass
class Product:
    """Writes one product; ``aligned`` are the operands that begin at multiples of a vector."""

    spec: Matmul
    is_exact: bool
    aligned: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.spec.check()
        self.view = Name(f"{ARENA}.{self.spec.dtype}")
        self.share = None if self.is_exact else share(self.spec, self.aligned)

    @property
    def shared_bytes(self) -> int:
        """The memory that the block shares for it."""
        of = self.share
        sums = of.slices * of.height * of.width if of else 0
        return sums * ITEM_BYTES[self.spec.dtype]

    def parameters(self) -> tuple[str, ...]:
        mask = MASK if self.spec.living else ()
        places = ("a_at", "b_at", *(f"at_{x.name}" for x in self.spec.operands))
        sizes = (f"size_{name}" for name in self.spec.runtime)
        return (ARENA, *places, *mask, *sizes, THREAD, THREADS)

    def body(self) -> Body:
        """The elements of this thread."""
        out, spec = Block(), self.spec
        if self.share is not None:
            self.passes(out, self.share)
            return out.body
        across = self.size(spec.n)
        with out.loop(LANE, THREAD, binary("*", self.size(spec.m), across), THREADS):
            out.let(ROW, quotient(LANE, across))
            out.let(COLUMN, remainder(LANE, across))
            self.judged(out, self.element)
        return out.body

    # ------------------------------------------------------------ blocks of elements

    def passes(self, out: Block, of: Share) -> None:
        """As many elements at a time as there is room for their sums."""
        out.let(SUMS.id, call(SHARED, 0, SUFFIX[self.spec.dtype]))
        loops = (TOP, self.spec.m, of.height), (LEFT, self.spec.n, of.width)
        with ExitStack() as inside:
            for name, size, each in loops:
                if size == each:
                    out.let(name, 0)
                else:
                    inside.enter_context(out.loop(name, 0, size, each))
            with out.loop(LANE, THREAD, of.blocks * of.slices, THREADS):
                self.block(out, of)
            out.add(BARRIER)
            with out.loop(LANE, THREAD, of.height * of.width, THREADS):
                out.let(ROW, binary("+", TOP, quotient(LANE, of.width)))
                out.let(COLUMN, binary("+", LEFT, remainder(LANE, of.width)))
                self.judged(out, partial(self.joined, of=of))
            if (of.height, of.width) != (self.spec.m, self.spec.n):
                out.add(BARRIER)

    def block(self, out: Block, of: Share) -> None:
        """A slice of the sums of a block of elements, if anybody reads one of its rows."""
        within: Expression = Name(LANE)
        if of.slices > 1:
            out.let(PART, quotient(LANE, of.blocks))
            within = remainder(LANE, of.blocks)
        out.let(DOWN, binary("*", quotient(within, of.across), of.rows))
        across = remainder(within, of.across)
        out.let(RIGHT, binary("*", across, of.columns) if of.b == "side" else across)
        if not self.spec.rows:
            self.added_up(out, of)
            return
        with out.when(compare("<", binary("+", TOP, DOWN), self.size(self.spec.rows))):
            self.added_up(out, of)

    def added_up(self, out: Block, of: Share) -> None:
        """All elements of a block.

        Rows that nobody reads may be nowhere in memory: the last one stands for them.
        """
        rows, columns = range(of.rows), range(of.columns)
        for i in rows:
            row = binary("+", binary("+", TOP, DOWN), i)
            if i and self.spec.rows and of.a != "side":
                row = call("min", row, binary("-", self.size(self.spec.rows), 1))
            out.let(f"{ROW}_{i}", row)
        for j in columns:
            out.let(f"{COLUMN}_{j}", binary("+", LEFT, self.right(of, j)))
        each = [(i, j) for i in rows for j in columns]
        for i, j in each:
            out.let(f"sum_{i}_{j}", calls.literal(0, self.spec.dtype))
        self.turns_of(out, of, each)
        for i in rows:
            if of.b == "side":
                for j in range(0, of.columns, VECTOR):
                    four = (f"sum_{i}_{j + k}" for k in range(VECTOR))
                    out.do(call("store4", SUMS, self.place_of(of, i, j), *four))
            else:
                for j in columns:
                    out.write(SUMS, self.place_of(of, i, j), f"sum_{i}_{j}")

    def turns_of(self, out: Block, of: Share, each: Sequence[tuple[int, int]]) -> None:
        """Add up the terms of a thread; those of the next turn are loaded before a turn's."""
        sides = (*(f"a_{i}" for i in range(of.rows)), *(f"b_{j}" for j in range(of.columns)))
        first, last, step = self.bounds(of)
        if self.spec.around:
            with self.terms(out, of):
                self.loaded(out, of, TERM)
                self.added_turn(out, of, each)
            return
        if self.spec.k == of.slices * step:
            self.loaded(out, of, first)
            self.added_turn(out, of, each)
            return
        with ExitStack() as inside:
            if not isinstance(self.spec.k, int):
                inside.enter_context(out.when(compare("<", first, last)))
            self.loaded(out, of, first)
            inside.enter_context(out.loop(TERM, first, last, step))
            after = binary("+", TERM, step)
            out.let(AFTER, call("where", compare("<", after, last), after, TERM))
            self.loaded(out, of, AFTER, "next_")
            self.added_turn(out, of, each)
            for side, t in product(sides, range(of.terms)):
                out.let(f"{side}_{t}", Name(f"next_{side}_{t}"))

    def added_turn(self, out: Block, of: Share, each: Sequence[tuple[int, int]]) -> None:
        """Add the terms of a turn to the sums."""
        for t in range(of.terms):
            for i, j in each:
                self.added(out, f"sum_{i}_{j}", Name(f"a_{i}_{t}"), Name(f"b_{j}_{t}"))

    def loaded(self, out: Block, of: Share, first: Given, before: str = "") -> None:
        """Load the numbers of both operands that the turn of a term takes."""
        operands = ("a", of.a, of.rows, ROW), ("b", of.b, of.columns, COLUMN)
        for (operand, way, count, index), t in product(operands, range(of.terms)):
            name, term = f"{before}{operand}", binary("+", first, t) if t else first
            for i in range(0, count, VECTOR if way == "side" else 1):
                at = self.operand_at(operand, f"{index}_{i}", term)
                if way == "side":
                    four = tuple(f"{name}_{i + k}_{t}" for k in range(VECTOR))
                    out.add(Let(four, call("load4", self.view, at)))
                elif way == "each":
                    out.let(f"{name}_{i}_{t}", Item(self.view, at))
                elif t == 0:
                    four = tuple(f"{name}_{i}_{k}" for k in range(VECTOR))
                    out.add(Let(four, call("load4", self.view, at)))

    def right(self, of: Share, j: Given) -> Expression:
        """A column of a block: beside the others where they are loaded together."""
        return binary("+", RIGHT, j if of.b == "side" else binary("*", j, of.across))

    def place_of(self, of: Share, i: Given, j: Given) -> Expression:
        """Where the sum of an element of a block is left."""
        row = binary("+", DOWN, i)
        if of.slices > 1:
            row = binary("+", binary("*", PART, of.height), row)
        return binary("+", binary("*", row, of.width), self.right(of, j))

    def joined(self, out: Block, of: Share) -> None:
        """The sum of the slices of one element, and the steps on it."""
        out.let(ACCUMULATOR, self.start(ROW, COLUMN))
        size = of.height * of.width
        if of.slices > 1:
            with out.loop(PART, of.slices):
                at = binary("+", LANE, binary("*", PART, size))
                out.let(ACCUMULATOR, binary("+", ACCUMULATOR, Item(SUMS, at)))
        else:
            out.let(ACCUMULATOR, binary("+", ACCUMULATOR, Item(SUMS, Name(LANE))))
        self.steps(out)

    # ------------------------------------------------------------ elements

    def judged(self, out: Block, element: Callable[[Block], None]) -> None:
        """One element, or 0 where nobody reads it."""
        counts = self.counts()
        if counts is None:
            element(out)
            return
        with out.when(counts):
            element(out)
        with out.otherwise():
            for name in sorted(self.spec.stored()):
                out.add(self.store(name, calls.literal(0, self.spec.dtype)))

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
    def terms(self, out: Block, of: Share | None = None) -> Generator[None]:
        """The loop over the terms that count, or over those of a slice."""
        with ExitStack() as loops:
            for turn, (count, _, _) in zip(self.turns(), self.spec.around, strict=True):
                loops.enter_context(out.loop(turn, count))
            loops.enter_context(out.loop(TERM, *self.bounds(of)))
            if self.spec.living == "k":
                loops.enter_context(out.when(self.lives(Name(TERM))))
            yield

    def bounds(self, of: Share | None) -> tuple[Given, Given, int]:
        """The terms of a thread: a slice of known ones lies together, others are dealt out."""
        size = self.size(self.spec.k)
        if of is None or of.slices == 1:
            return 0, size, 1 if of is None else of.terms
        if not isinstance(self.spec.k, int):
            return PART, size, of.slices
        each = self.spec.k // of.slices
        first = binary("*", PART, each)
        return first, binary("+", first, each), of.terms

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
        a, b = self.operand_at("a", ROW), self.operand_at("b", COLUMN)
        if ahead:
            a, b = binary("+", a, ahead), binary("+", b, ahead)
        self.added(out, total, Item(self.view, a), Item(self.view, b))

    def added(self, out: Block, total: str, x: Expression, y: Expression) -> None:
        if self.is_exact:
            out.let(total, binary("+", total, call("rounded_product", x, y)))
        else:
            out.let(total, call("fma", x, y, total))

    def operand_at(self, operand: str, side: str, term: Given = TERM) -> Expression:
        """Where the first or the second operand of a term is, in a row or a column."""
        of, which = (self.spec.a, 1) if operand == "a" else (self.spec.b[::-1], 2)
        turns = [(turn, x[which]) for turn, x in zip(self.turns(), self.spec.around, strict=True)]
        return self.at(f"{operand}_at", (side, of[0]), (term, of[1]), *turns)

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

    def at(self, start: str, *moves: tuple[Given, Size]) -> Expression:
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
