"""Texts that fit a template, and the names and index expressions in them.

A template is Python with holes: a name that begins with two underscores. As an expression it fits
any expression, as a statement of its own any number of statements. All else has to be the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from ostinato.pdg.index import Expr, expr, floordiv, maximum, minimum, mod, product

HOLE = "__"


class Misemitted(Exception):
    """The driver is not that of the schedule; the text shows the line."""


def refused(here: ast.stmt, fact: str) -> Misemitted:
    line = ast.unparse(here).splitlines()[0]
    return Misemitted(f"the driver has `{line}`, but {fact}")


@dataclass(frozen=True)
class Fit:
    """What stands in the holes of a template."""

    values: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    bodies: dict[str, list[ast.stmt]] = field(default_factory=dict[str, list[ast.stmt]])

    def __getitem__(self, hole: str) -> ast.expr:
        return self.values[hole]


def fit(template: str, text: Sequence[ast.stmt]) -> Fit | None:
    """What a text has where a template has holes, if it fits.

    >>> found = fit("__name = max(1, __tiles)", ast.parse("parts = max(1, B + 2)").body)
    >>> ast.unparse(found["__name"]), ast.unparse(found["__tiles"])
    ('parts', 'B + 2')
    """
    found = Fit()
    return found if _all_fit(_parsed(template), list(text), found) else None


def fit_value(template: str, value: ast.expr) -> Fit | None:
    """The same for an expression."""
    found, wanted = Fit(), _parsed(template)[0]
    assert isinstance(wanted, ast.Expr), "an expression has an expression as its template"
    return found if _fits(wanted.value, value, found) else None


@cache
def _parsed(template: str) -> list[ast.stmt]:
    return ast.parse(template).body


def _fits(wanted: object, given: object, found: Fit) -> bool:
    if isinstance(wanted, ast.Name) and wanted.id.startswith(HOLE):
        if not isinstance(given, ast.expr):
            return False
        found.values[wanted.id] = given
        return True
    if type(wanted) is not type(given):
        return False
    if isinstance(wanted, ast.AST):
        fields = (name for name in wanted._fields if name != "ctx")
        return all(_fits(getattr(wanted, n, None), getattr(given, n, None), found) for n in fields)
    if isinstance(wanted, list) and isinstance(given, list):
        mine, other = cast(list[object], wanted), cast(list[object], given)
        return _all_fit(mine, other, found)
    return wanted == given


def _all_fit(wanted: Sequence[object], given: Sequence[object], found: Fit) -> bool:
    """Whether parts fit one by one, but for a hole that takes any number of statements."""
    for k, part in enumerate(wanted):
        match part:
            case ast.Expr(value=ast.Name(id=name)) if name.startswith(HOLE):
                behind = len(wanted) - k - 1
                inside = [x for x in given[k : len(given) - behind] if isinstance(x, ast.stmt)]
                if len(given) != k + len(inside) + behind:
                    return False
                found.bodies[name] = inside
                rest = given[len(given) - behind :] if behind else ()
                return _each_fits(wanted[:k], given[:k], found) and _each_fits(
                    wanted[k + 1 :], rest, found
                )
            case _:
                pass
    return _each_fits(wanted, given, found)


def _each_fits(wanted: Sequence[object], given: Sequence[object], found: Fit) -> bool:
    return len(wanted) == len(given) and all(
        _fits(a, b, found) for a, b in zip(wanted, given, strict=True)
    )


class Scope:
    """The names of a driver: every one is bound once, so that none stands for two values."""

    def __init__(self, known: Iterable[str], extents: dict[str, Expr]) -> None:
        self.values: dict[str, Expr] = dict(extents)
        self._taken = {*known, *extents}

    def bind(self, here: ast.stmt, target: ast.expr) -> str:
        """A new name."""
        if not isinstance(target, ast.Name) or target.id in self._taken:
            raise refused(here, "it gives a name another value")
        self._taken.add(target.id)
        return target.id

    def read(self, of: ast.expr) -> Expr:
        """An index expression."""
        match of:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return expr(value)
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.UnaryOp(op=ast.USub(), operand=value):
                return -self.read(value)
            case ast.BinOp(left=left, op=op, right=right):
                return _operation(op, self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id="min"), args=values, keywords=[]):
                return minimum(*map(self.read, values))
            case ast.Call(func=ast.Name(id="max"), args=values, keywords=[]):
                return maximum(*map(self.read, values))
            case _:
                raise Misemitted(f"`{ast.unparse(of)}` is no index expression")


def _operation(op: ast.operator, left: Expr, right: Expr) -> Expr:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return product((left, right))
        case ast.FloorDiv() if right.is_const and right.const > 0:
            return floordiv(left, right.const)
        case ast.Mod() if right.is_const and right.const > 0:
            return mod(left, right.const)
        case _:
            raise Misemitted(f"{type(op).__name__} is no operation on indices")
