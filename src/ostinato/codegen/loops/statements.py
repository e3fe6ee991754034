"""Statements, functions and modules of the loop IR."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from ostinato.codegen.loops.expression import Call, Expression, Given, Name, given

Kind = Literal["int64", "int64[::1]", "uint8[::1]"]
Binding = Literal["serial", "lanes"]
"""Who does the turns of a loop: one after the other, or anybody at any time, as none needs another.

That turns are independent is known where a loop is written, and hard to see afterwards."""


class Statement:
    """One step of a function."""

    __slots__ = ()


Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Let(Statement):
    """``name = value``; several names take a `Tuple` apart. A name may be given again."""

    names: tuple[str, ...]
    value: Expression


@dataclass(frozen=True, slots=True)
class Add(Statement):
    """``name += value``."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Write(Statement):
    """``array[index] = value``, a word of an array of int64."""

    array: Expression
    index: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Do(Statement):
    """A call for what it does."""

    call: Call
    remark: str = ""


@dataclass(frozen=True, slots=True)
class For(Statement):
    """A loop over ``range(*bounds)``; the turns of one in ``lanes`` do not need each other."""

    index: str
    bounds: tuple[Expression, ...]
    body: Body
    binding: Binding = "serial"


@dataclass(frozen=True, slots=True)
class While(Statement):
    """``while test``."""

    test: Expression
    body: Body


@dataclass(frozen=True, slots=True)
class If(Statement):
    """``if test``, and ``else`` if there is something to do."""

    test: Expression
    then: Body
    other: Body = ()


@dataclass(frozen=True, slots=True)
class Break(Statement):
    """Leave the innermost loop."""


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """Leave the function."""


@dataclass(frozen=True, slots=True)
class Remark(Statement):
    """A comment: what a user named may stand in it."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing(Statement):
    """Nothing to do, and why."""

    remark: str


def values(statement: Statement) -> tuple[Expression, ...]:
    """The expressions of a statement itself, without those of statements inside."""
    match statement:
        case Let(_, value) | Add(_, value):
            return (value,)
        case Write(array, index, value):
            return (array, index, value)
        case Do(call):
            return (call,)
        case For(_, bounds, _):
            return bounds
        case While(test, _) | If(test, _, _):
            return (test,)
        case _:
            return ()


def inside(statement: Statement) -> tuple[Body, ...]:
    """The bodies inside a statement."""
    match statement:
        case For(_, _, body) | While(_, body):
            return (body,)
        case If(_, then, other):
            return (then, other)
        case _:
            return ()


def every(body: Body) -> Iterator[Statement]:
    """All statements, those inside of others too."""
    for statement in body:
        yield statement
        for inner in inside(statement):
            yield from every(inner)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a function uses and a primitive's maker makes: accesses to a tensor, a product."""

    names: tuple[str, ...]
    maker: str
    args: tuple[object, ...]  # numbers, texts, records, and `Name` of other definitions


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel or a driver."""

    name: str
    parameters: tuple[tuple[str, Kind], ...]
    body: Body
    definitions: tuple[Definition, ...] = ()
    tensors: tuple[str, ...] = ()  # that it accesses, by the number of their scope
    remarks: tuple[str, ...] = ()  # lines that stand above it
    is_driver: bool = False
    exact: bool = False
    checked: bool = False
    plain: bool = False  # its machine code is not optimised


@dataclass
class Block:
    r"""Statements that are being written, block by block.

    >>> from ostinato.codegen.loops.numba_source import show
    >>> out, t, total = Block(), Name("t"), Name("total")
    >>> with out.loop("t", "T"), out.when(t > 0):
    ...     total = out.let("total", total + t)
    >>> print(*show(out.body), sep="\n")
    for t in range(T):
        if t > 0:
            total = total + t
    """

    _open: list[list[Statement]] = field(default_factory=lambda: [[]])

    @property
    def body(self) -> Body:
        (found,) = self._open
        return tuple(found)

    def add(self, statement: Statement) -> None:
        self._open[-1].append(statement)

    def extend(self, statements: Iterable[Statement]) -> None:
        self._open[-1].extend(statements)

    def let(self, name: str, value: Given) -> Name:
        self.add(Let((name,), given(value)))
        return Name(name)

    def write(self, array: Given, index: Given, value: Given) -> None:
        self.add(Write(given(array), given(index), given(value)))

    def do(self, call: Call, remark: str = "") -> None:
        self.add(Do(call, remark))

    @contextmanager
    def _inside(self) -> Generator[list[Statement]]:
        body: list[Statement] = []
        self._open.append(body)
        try:
            yield body
        finally:
            self._open.pop()

    @contextmanager
    def loop(self, index: str, *bounds: Given, binding: Binding = "serial") -> Generator[None]:
        """``for index in range(*bounds)``."""
        with self._inside() as body:
            yield
        self.add(For(index, tuple(map(given, bounds)), tuple(body), binding))

    @contextmanager
    def repeat(self, test: Expression) -> Generator[None]:
        """``while test``."""
        with self._inside() as body:
            yield
        self.add(While(test, tuple(body)))

    @contextmanager
    def when(self, test: Expression) -> Generator[None]:
        """``if test``."""
        with self._inside() as body:
            yield
        self.add(If(test, tuple(body)))

    @contextmanager
    def otherwise(self, test: Expression | None = None) -> Generator[None]:
        """``elif test`` or ``else``, after what is done `when` something else holds."""
        with self._inside() as body:
            yield
        inner: Body = tuple(body) if test is None else (If(test, tuple(body)),)
        last = self._open[-1].pop()
        assert isinstance(last, If), f"{last} is no choice"
        self.add(_else(last, inner))


def _else(choice: If, other: Body) -> If:
    """A choice with what is done if none of its tests holds."""
    match choice.other:
        case ():
            return replace(choice, other=other)
        case (If() as inner,):
            return replace(choice, other=(_else(inner, other),))
        case _:
            raise AssertionError("a choice has one last side")
