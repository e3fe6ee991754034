"""Rewriting values: one traversal that every pass uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Pick,
    Position,
    Statement,
    Value,
    children,
)
from ostinato.pdg.condition import ALWAYS, Cond, every, negation
from ostinato.pdg.index import Dim, Expr, Extent, symbols


def _unchanged(load: Load) -> Value:
    return load


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace indices by expressions everywhere, then each load by ``load`` of it."""

    by: Mapping[Dim, Expr]
    load: Callable[[Load], Value] = _unchanged

    def expr(self, e: Expr) -> Expr:
        return e.at(self.by) if self.by else e

    def cond(self, cond: Cond) -> Cond:
        return cond.at(self.by) if self.by else cond

    def value(self, value: Value) -> Value:
        match value:
            case Literal_():
                return value
            case Position(of, dtype):
                return Position(self.expr(of), dtype)
            case Load(tensor, dims, axes, dtype, clamp, picks):
                if self.by or picks:
                    at = tuple(map(self.expr, dims)), tuple(map(self.expr, axes))
                    value = Load(tensor, *at, dtype, clamp, tuple(map(self.pick, picks)))
                return self.load(value)
            case Call(fn, args, dtype):
                return Call(fn, tuple(map(self.value, args)), dtype)
            case Draw(fn, stream, point, element, dtype):
                return Draw(fn, stream, tuple(map(self.expr, point)), self.expr(element), dtype)
            case Choice(cond, then, other, dtype):
                return Choice(self.cond(cond), self.value(then), self.value(other), dtype)
            case unknown:
                assert_never(unknown)

    def pick(self, pick: Pick) -> Pick:
        axis = Axis(pick.axis.index, self.expr(pick.axis.size), pick.axis.pad)
        return Pick(axis, self.value(pick.at))

    def clauses(self, statement: Statement) -> Statement:
        """The statement with every condition and value rewritten."""
        clauses = tuple((self.cond(c), self.value(v)) for c, v in statement.clauses)
        return replace(statement, clauses=clauses)


def with_children(value: Value, change: Callable[[Value], Value]) -> Value:
    """A value in which what `change` makes of them stands for those that it is made of."""
    match value:
        case Literal_() | Position() | Draw() | Load(picks=()):
            return value
        case Load(picks=picks):
            return replace(value, picks=tuple(replace(p, at=change(p.at)) for p in picks))
        case Call(fn, args, dtype):
            return Call(fn, tuple(map(change, args)), dtype)
        case Choice(cond, then, other, dtype):
            return Choice(cond, change(then), change(other), dtype)
        case unknown:
            assert_never(unknown)


def in_turn(statement: Statement) -> Iterator[tuple[Cond, Value, Cond]]:
    """Every clause, and all that its place among them says where it is the one that holds."""
    before: Cond = ALWAYS
    for cond, value in statement.clauses:
        yield cond, value, every(before, cond)
        before = every(before, negation(cond))


def alone(statement: Statement) -> Iterator[Statement]:
    """The statement with one of its clauses each, under all that its place among them says."""
    for _, value, here in in_turn(statement):
        yield replace(statement, clauses=((here, value),))


def guarded_loads(statement: Statement) -> Iterator[tuple[Load, Cond]]:
    """Every load with the condition on the indices under which it happens."""
    for _, value, here in in_turn(statement):
        yield from _guarded(value, here)


def _guarded(value: Value, cond: Cond) -> Iterator[tuple[Load, Cond]]:
    match value:
        case Literal_() | Position() | Draw():
            return
        case Load():
            yield value, cond
            for pick in value.picks:
                yield from _guarded(pick.at, cond)
        case Call(_, args):
            for arg in args:
                yield from _guarded(arg, cond)
        case Choice(chosen, then, other):
            yield from _guarded(then, every(cond, chosen))
            yield from _guarded(other, every(cond, negation(chosen)))
        case unknown:
            assert_never(unknown)


def value_symbols(value: Value) -> frozenset[Dim | Extent]:
    """Every index and extent that a value mentions."""
    match value:
        case Literal_():
            return frozenset()
        case Position(of):
            return symbols(of)
        case Load(_, dims, axes):
            sizes = (e for pick in value.picks for e in (pick.axis.size, pick.axis.pad))
            found = frozenset[Dim | Extent]().union(*map(symbols, (*dims, *axes, *sizes)))
        case Draw(_, _, point, element):
            return frozenset[Dim | Extent]().union(symbols(element), *map(symbols, point))
        case Choice(cond):
            found = cond.symbols
        case Call():
            found = frozenset[Dim | Extent]()
        case unknown:
            assert_never(unknown)
    return found.union(*map(value_symbols, children(value)))
