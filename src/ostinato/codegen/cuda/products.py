"""Matrix products as functions that all threads of a block call: each takes some elements.

A sum adds its terms in ascending order, by one rounding each. Of rows with rows it adds as many
sums as a vector of 64 bytes has lanes, and these by halves: so does a CPU that has such vectors.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from ostinato.codegen.cuda.one_thread import ARENA
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


@dataclass
class Product:
    """Writes one product."""

    spec: Matmul
    is_exact: bool

    def __post_init__(self) -> None:
        self.spec.check()
        self.view = Name(f"{ARENA}.{self.spec.dtype}")
        self.suffix = SUFFIX[self.spec.dtype]

    def parameters(self) -> tuple[str, ...]:
        mask = MASK if self.spec.living else ()
        places = ("a_at", "b_at", *(f"at_{x.name}" for x in self.spec.operands))
        sizes = (f"size_{name}" for name in self.spec.runtime)
        return (ARENA, *places, *mask, *sizes, THREAD, THREADS)

    def body(self) -> Body:
        """The elements of this thread."""
        out, spec = Block(), self.spec
        columns = self.size(spec.n)
        with out.loop(LANE, THREAD, binary("*", self.size(spec.m), columns), THREADS):
            out.let(ROW, binary("//", LANE, columns))
            out.let(COLUMN, binary("%", LANE, columns))
            counts = self.counts()
            if counts is None:
                self.element(out)
            else:
                with out.when(counts):
                    self.element(out)
                with out.otherwise():
                    for name in sorted(spec.stored()):
                        out.add(self.store(name, calls.literal(0, spec.dtype)))
        return out.body

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
            out.let(ACCUMULATOR, self.start())
            with ExitStack() as loops:
                for turn, (count, _, _) in zip(self.turns(), self.spec.around, strict=True):
                    loops.enter_context(out.loop(turn, count))
                loops.enter_context(out.loop(TERM, self.size(self.spec.k)))
                if self.spec.living == "k":
                    with out.when(self.lives(Name(TERM))):
                        self.term(out)
                else:
                    self.term(out)
        self.steps(out)

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
        out.let(ACCUMULATOR, binary("+", self.start(), sums[0]))

    def start(self) -> Expression:
        zero = calls.literal(0, self.spec.dtype)
        if self.spec.start is None:
            return zero
        found = self.load(self.spec.start)
        if not self.spec.begun:
            return found
        return call("where", compare("!=", self.size(self.spec.begun), 0), found, zero)

    def term(self, out: Block, total: str = ACCUMULATOR, ahead: int = 0) -> None:
        """Add a term to a total: the one so far ``ahead``."""
        spec = self.spec
        around = [*zip(self.turns(), spec.around, strict=True)]
        a_turns, b_turns = ([(turn, x[side]) for turn, x in around] for side in (1, 2))
        a = self.at("a_at", (ROW, spec.a[0]), (TERM, spec.a[1]), *a_turns)
        b = self.at("b_at", (TERM, spec.b[0]), (COLUMN, spec.b[1]), *b_turns)
        if ahead:
            a, b = binary("+", a, ahead), binary("+", b, ahead)
        x, y = Item(self.view, a), Item(self.view, b)
        if self.is_exact:
            out.let(total, binary("+", total, call("rounded_product", x, y)))
        else:
            out.let(total, call("fma", x, y, total))

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

    def place(self, operand: Operand) -> Expression:
        return self.at(f"at_{operand.name}", (ROW, operand.m), (COLUMN, operand.n))

    def load(self, name: str) -> Expression:
        return Item(self.view, self.place(self.spec.operand(name)))

    def store(self, name: str, value: Expression) -> Write:
        return Write(self.view, self.place(self.spec.operand(name)), value)
