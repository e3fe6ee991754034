"""What one matmul computes: sizes, strides, and the elementwise steps on its result.

A step is an expression of nested tuples: ``("add", ("name", "acc"), ("const", 0.5))`` is written in
generated source as it stands.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ostinato.codegen.loops.expression import Float
from ostinato.pdg.functions import FUNCTIONS

Expr: TypeAlias = "tuple[str | float | Expr, ...]"

Size: TypeAlias = int | str
"""A number of elements; text names one that is known only at run time."""

Form = Literal["auto", "broadcast", "dots", "plain"]

ACCUMULATOR = "acc"


@dataclass(frozen=True)
class Operand:
    """A tensor that the steps read or store, indexed by row and column of the result.

    ``m`` and ``n`` are its element strides; 0 means the same value for all rows or columns.
    """

    name: str
    m: Size
    n: Size


@dataclass(frozen=True)
class Step:
    """``name = expr``, elementwise; the value is also stored to the operand ``store`` if given."""

    name: str
    expr: Expr
    store: str | None = None


_SELDOM = ("rows", "most", "begun", "living", "around")  # what few products have


@dataclass(frozen=True)
class Matmul:
    """``acc[m, n] = start[m, n] + sum over k of A[m, k] * B[k, n]``, then the steps in order.

    ``a`` holds the strides of A along m and k, ``b`` those of B along k and n. A step reads
    earlier steps, ``acc``, and operands; an operand's value is the one in memory on entry, even
    if a step stores there. ``rows`` is the number of rows that anybody reads, where that is less
    than ``m`` at times; the others are 0 then, or what they should be. ``most`` bounds a run-time
    ``k`` (0: nothing is known). Where the number ``begun`` is 0, the sums start from 0 instead of
    what ``start`` holds. ``living`` names an axis of a product in broadcast form of which
    only listed positions count (see `codegen.cpu.matmul_frame`): other terms along ``k`` are
    left out, whatever they are; other rows along ``m`` are 0, or what they should be. A sum may
    run over axes ``around`` k too, the outermost first: their sizes, and strides of A and of B;
    it adds to what is stored, and nothing else follows.
    ``lanes`` 0 means the vector width of the machine. The printed form is Python source for the
    same record.
    """

    dtype: Float
    m: Size
    n: Size
    k: Size
    a: tuple[Size, Size]
    b: tuple[Size, Size]
    operands: tuple[Operand, ...]
    steps: tuple[Step, ...]
    start: str | None = None
    form: Form = "auto"
    rows: str = ""
    most: int = 0
    begun: str = ""
    living: Literal["", "m", "k"] = ""
    around: tuple[tuple[int, Size, Size], ...] = ()
    lanes: int = 0

    def __str__(self) -> str:
        """Python source for the record, one part per line."""
        told = [f"form={self.form!r}"]
        told += [f"{x}={getattr(self, x)!r}" for x in _SELDOM if getattr(self, x)]
        sizes = ", ".join(f"{x}={getattr(self, x)!r}" for x in "mnk")
        lines = [f"Matmul({self.dtype!r}, {sizes},"]
        strides = f"a={self.a!r}, b={self.b!r}, start={self.start!r}"
        lines += [f"       {strides}, {', '.join(told)},", "       operands=("]
        lines += [f"           Operand({x.name!r}, {x.m!r}, {x.n!r})," for x in self.operands]
        lines += ["       ),", "       steps=("]
        lines += [f"           Step({x.name!r}, {x.expr!r}, {x.store!r})," for x in self.steps]
        return "\n".join([*lines, "       ))"])

    @property
    def runtime(self) -> tuple[str, ...]:
        """Names of the sizes known only at run time, in the order in which a call passes them."""
        return tuple(sorted({size for size in self._sizes() if isinstance(size, str)}))

    @property
    def deepest(self) -> int:
        """The most terms that a sum has, or 0 if that is not known."""
        return self.k if isinstance(self.k, int) else self.most

    @property
    def chosen_form(self) -> Literal["broadcast", "dots", "plain"]:
        """The form that ``auto`` stands for.

        broadcast: one element of A times consecutive elements of B. dots: both operands
        consecutive in k. plain: any strides, scalar.
        """
        if self.form != "auto":
            return self.form
        are_rows = self.a[1] == 1 and self.b[0] == 1 and self.k != 1
        if are_rows and (self.n == 1 or self.b[1] != 1):
            return "dots"
        return "broadcast" if self.b[1] == 1 and self.n != 1 else "plain"

    @property
    def is_better_swapped(self) -> bool:
        """Whether only the transposed product, B' A', has a vector form."""
        is_free = self.form == "auto" and self.chosen_form == "plain"
        return is_free and self.a[0] == 1 and self.m != 1

    def swapped(self) -> "Matmul":
        """Return the same product with rows and columns exchanged; A and B change places."""
        operands = tuple(Operand(each.name, each.n, each.m) for each in self.operands)
        a, b = (self.b[1], self.b[0]), (self.a[1], self.a[0])
        around = tuple((count, second, first) for count, first, second in self.around)
        return replace(
            self, m=self.n, n=self.m, a=a, b=b, operands=operands, rows="", around=around
        )

    def nameless(self) -> "Matmul":
        """Return the same product with names that say nothing: equal ones are computed alike."""
        sizes = {name: f"size_{k:03}" for k, name in enumerate(self.runtime)}  # in the same order
        operands = {each.name: f"operand_{k}" for k, each in enumerate(self.operands)}
        known = {ACCUMULATOR: ACCUMULATOR, **operands}
        steps: list[Step] = []
        for k, step in enumerate(self.steps):
            steps.append(
                Step(f"step_{k}", renamed(step.expr, known), step.store and operands[step.store])
            )
            known[step.name] = f"step_{k}"

        def size(given: Size) -> Size:
            return sizes[given] if isinstance(given, str) else given

        return replace(
            self,
            m=size(self.m),
            n=size(self.n),
            k=size(self.k),
            a=(size(self.a[0]), size(self.a[1])),
            b=(size(self.b[0]), size(self.b[1])),
            operands=tuple(Operand(operands[x.name], size(x.m), size(x.n)) for x in self.operands),
            steps=tuple(steps),
            start=self.start and operands[self.start],
            rows=self.rows and sizes[self.rows],
            begun=self.begun and sizes[self.begun],
            around=tuple((count, size(a), size(b)) for count, a, b in self.around),
        )

    def operand(self, name: str) -> Operand:
        return next(each for each in self.operands if each.name == name)

    def stored(self) -> set[str]:
        """Names of the operands that some step stores."""
        return {step.store for step in self.steps if step.store is not None}

    def read(self) -> set[str]:
        """Names of the operands that some step reads."""
        used = {name for step in self.steps for name in names(step.expr)}
        return used & {each.name for each in self.operands}

    def check(self) -> None:
        """Raise ValueError, saying what is wrong, unless the record makes sense."""
        known = {ACCUMULATOR, *(each.name for each in self.operands)}
        if len(known) != len(self.operands) + 1:
            raise ValueError(f"two operands share a name, or one is named {ACCUMULATOR!r}")
        if self.start is not None:
            _require(
                self.start in known - {ACCUMULATOR}, f"no operand {self.start!r} to start from"
            )
        for step in self.steps:
            unknown = sorted(set(names(step.expr)) - known)
            _require(not unknown, f"step {step.name!r} reads the unknown names {unknown}")
            known.add(step.name)
            if step.store is not None:
                self._check_store(step.store)
        _require(not self.begun or self.start is not None, "nothing begins without a start")
        _require(bool(self.stored()), "no step stores anything")
        goes_on = [(x.expr, x.store) for x in self.steps] == [(("name", ACCUMULATOR), self.start)]
        _require(not self.around or goes_on, "sums over several axes only add to what is stored")
        self._check_form()

    def _check_store(self, name: str) -> None:
        found = [each for each in self.operands if each.name == name]
        _require(len(found) == 1, f"no operand {name!r} to store to")
        repeats = (found[0].m == 0 and self.m != 1) or (found[0].n == 0 and self.n != 1)
        _require(not repeats, f"operand {name!r} has one element for several results")

    def _check_form(self) -> None:
        _require(not self.living or self.form == "broadcast", "a list needs the broadcast form")
        match self.form:
            case "broadcast":
                _require(self.b[1] == 1, "the broadcast form needs stride 1 of B along n")
            case "dots":
                _require(not self.around, "sums of dots run over one axis")
                are_rows = self.a[1] == 1 and self.b[0] == 1
                _require(are_rows, "the dots form needs stride 1 of A and B along k")
            case "auto" | "plain":
                pass
        is_power = self.lanes & (self.lanes - 1) == 0 and self.lanes >= 0
        _require(is_power, f"lanes must be a power of two or 0, not {self.lanes}")

    def _sizes(self) -> Iterator[Size]:
        yield from (self.m, self.n, self.k, *self.a, *self.b)
        yield from (self.rows or 0, self.begun or 0)
        yield from (stride for _, *both in self.around for stride in both)
        for each in self.operands:
            yield from (each.m, each.n)


def renamed(expr: Expr, known: Mapping[str, str]) -> Expr:
    """A well-formed expression with other names."""
    match expr:
        case ("name", str(name)):
            return ("name", known[name])
        case ("const", _):
            return expr
        case _:
            return tuple(renamed(x, known) if isinstance(x, tuple) else x for x in expr)


def names(expr: Expr) -> Iterator[str]:
    """Yield the names that a well-formed expression reads, and raise ValueError for any other."""
    match expr:
        case ("name", str(name)):
            yield name
        case ("const", value) if not isinstance(value, tuple):
            float(value)
        case (str(op), *args) if op in FUNCTIONS and FUNCTIONS[op].arity == len(args):
            for arg in args:
                if not isinstance(arg, tuple):
                    raise ValueError(f"{op} has the operand {arg!r}, which is no expression")
                yield from names(arg)
        case _:
            raise ValueError(f"not an expression: {expr!r}; the functions are {sorted(FUNCTIONS)}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(f"matmul: {message}")
