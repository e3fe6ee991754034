"""Expressions and statements of the loop IR with some of their parts exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace
from itertools import chain

from ostinato.codegen.loops.expression import (
    Binary,
    Call,
    Compare,
    Constant,
    Expression,
    Given,
    Item,
    Logic,
    Name,
    Negative,
    Not,
    Tuple,
    binary,
    call,
    operands,
)
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    Do,
    For,
    If,
    Let,
    Statement,
    While,
    Write,
    every,
    values,
)

Exchange = Callable[[Expression], Expression]
Change = Callable[[Statement], Statement]


def exchanged(of: Expression, change: Exchange) -> Expression:
    """The expression whose parts, and at last itself, are what ``change`` makes of them."""

    def inner(x: Expression) -> Expression:
        return exchanged(x, change)

    match of:
        case Negative(x) | Not(x):
            made: Expression = replace(of, of=inner(x))
        case Binary(_, left, right) | Compare(_, left, right):
            made = replace(of, left=inner(left), right=inner(right))
        case Logic(of=parts) | Tuple(parts):
            made = replace(of, of=tuple(map(inner, parts)))
        case Call(function, args):
            made = Call(function, tuple(map(inner, args)))
        case Item(array, index):
            made = Item(inner(array), inner(index))
        case _:
            made = of
    return change(made)


def quotient(x: Given, y: Given) -> Expression:
    """How often ``y`` is in ``x``, both without a sign: a shift, where ``y`` is a power of two."""
    return call("i64", binary("//", call("u64", x), call("u64", y)))


def remainder(x: Given, y: Given) -> Expression:
    """What is left of ``x`` then."""
    return call("i64", binary("%", call("u64", x), call("u64", y)))


def within(of: Statement, change: Change) -> Statement:
    """A statement in which those directly inside are changed."""
    return opened(of, lambda each: (change(each),))


def opened(of: Statement, change: Callable[[Statement], Body]) -> Statement:
    """A statement in which others stand for each of those directly inside."""
    match of:
        case For(_, _, body) | While(_, body):
            return replace(of, body=together(map(change, body)))
        case If(test, then, other):
            return If(test, together(map(change, then)), together(map(change, other)))
        case _:
            return of


def together(bodies: Iterable[Body]) -> Body:
    """Bodies, one after the other."""
    return tuple(chain.from_iterable(bodies))


def parts(of: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield of
    for each in operands(of):
        yield from parts(each)


def calls(body: Body) -> Iterator[Call]:
    """All calls, in statements inside of others too."""
    for statement in every(body):
        for value in values(statement):
            yield from calls_in(value)


def calls_in(of: Expression) -> Iterator[Call]:
    """The calls in an expression."""
    yield from (x for x in parts(of) if isinstance(x, Call))


def named(of: Expression) -> Iterator[str]:
    """The names in an expression."""
    yield from (x.id for x in parts(of) if isinstance(x, Name))


def given(body: Body) -> Iterator[str]:
    """The names that statements give a value, but for the indices of loops."""
    for statement in every(body):
        match statement:
            case Let(names, _):
                yield from names
            case Add(name, _):
                yield name
            case _:
                pass


def indices(body: Body) -> Iterator[str]:
    """The indices of loops."""
    yield from (s.index for s in every(body) if isinstance(s, For))


def bounds(loop: For) -> tuple[Expression, Expression, Expression]:
    """Where a loop begins and ends, and how far it goes in a turn."""
    match loop.bounds:
        case (last,):
            return Constant(0), last, Constant(1)
        case (first, last):
            return first, last, Constant(1)
        case (first, last, step):
            return first, last, step
        case _:
            raise AssertionError(f"a loop over {loop.bounds}")


def names(body: Body) -> Iterator[str]:
    """The names that statements read."""
    for statement in every(body):
        for value in values(statement):
            yield from named(value)


def rewritten(statement: Statement, change: Exchange) -> Statement:
    """A statement without others inside, with its expressions exchanged."""
    match statement:
        case Let(names, value):
            return Let(names, exchanged(value, change))
        case Add(name, value):
            return Add(name, exchanged(value, change))
        case Write(array, index, value):
            return Write(array, exchanged(index, change), exchanged(value, change))
        case Do(call, remark):
            made = exchanged(call, change)
            assert isinstance(made, Call), f"{made} is no call"
            return Do(made, remark)
        case For(index, bounds, _):
            return replace(statement, bounds=tuple(exchanged(x, change) for x in bounds))
        case While(test, body):
            return While(exchanged(test, change), body)
        case If(test, then, other):
            return If(exchanged(test, change), then, other)
        case _:
            return statement


def without_long(never_negative: Set[str]) -> Exchange:
    """What exchanges divisions of places and sizes; the names stand for numbers from 0 on.

    A division of numbers with signs is some hundred instructions on a device. One by a power of
    two is a shift, whatever the signs, and its remainder a mask. One of numbers that are never
    negative is one of numbers without signs.
    """

    def changed(of: Expression) -> Expression:
        match of:
            case Binary("//" | "%" as op, x, Constant(int(by))) if by > 0 and by & (by - 1) == 0:
                is_quotient = op == "//"
                return (
                    binary(">>", x, by.bit_length() - 1) if is_quotient else binary("&", x, by - 1)
                )
            case Binary("//" | "%" as op, x, y) if _is_natural(x) and _is_natural(y):
                return quotient(x, y) if op == "//" else remainder(x, y)
            case _:
                return of

    def _is_natural(of: Expression) -> bool:
        match of:
            case Constant(int(value)):
                return value >= 0
            case Name(name):
                return name in never_negative
            case Binary("+" | "*" | "//" | "%" | ">>" | "&", x, y):
                return _is_natural(x) and _is_natural(y)
            case Call("min", args):
                return all(map(_is_natural, args))
            case Call("max", args):
                return any(map(_is_natural, args))
            case _:
                return False

    return changed
