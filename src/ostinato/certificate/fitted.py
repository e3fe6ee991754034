"""Loop IR that fits a template, and the names and index expressions in it.

A template is loop IR of the verifier with holes: a name that begins with two underscores fits any
expression, and any name that is given a value; a call of such a name, as a statement, any number of
statements. All else has to be the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import cast

from ostinato.codegen.loops.expression import Binary, Call, Constant, Expression, Name, Negative
from ostinato.codegen.loops.numba_source import show
from ostinato.codegen.loops.statements import Body, Do, Statement
from ostinato.pdg.index import Expr, expr, floordiv, maximum, minimum, mod, product

HOLE = "__"


class Misemitted(Exception):
    """The driver is not that of the schedule; the text shows the line."""


def refused(here: Statement, fact: str) -> Misemitted:
    return Misemitted(f"the driver has `{next(show((here,)))}`, but {fact}")


@dataclass(frozen=True)
class Fit:
    """What stands in the holes of a template."""

    values: dict[str, Expression] = field(default_factory=dict[str, Expression])
    bodies: dict[str, Body] = field(default_factory=dict[str, Body])

    def __getitem__(self, hole: str) -> Expression:
        return self.values[hole]


def fit(template: Sequence[Statement], given: Sequence[Statement]) -> Fit | None:
    """What statements have where a template has holes, if they fit.

    >>> from ostinato.codegen.loops.expression import call
    >>> from ostinato.codegen.loops.statements import Let
    >>> given = [Let(("parts",), call("max", 1, "B"))]
    >>> found = fit([Let(("__name",), call("max", 1, "__tiles"))], given)
    >>> print(found["__name"], found["__tiles"])
    parts B
    """
    found = Fit()
    return found if _all_fit(tuple(template), tuple(given), found) else None


def fit_value(template: Expression, value: Expression) -> Fit | None:
    """The same for an expression."""
    found = Fit()
    return found if _fits(template, value, found) else None


def same(one: object, other: object) -> bool:
    """Whether two parts of the loop IR are one: 1, 1.0 and True are three constants."""
    return repr(one) == repr(other)


def _fits(wanted: object, given: object, found: Fit) -> bool:
    match wanted:
        case Name(hole) if hole.startswith(HOLE):
            if not isinstance(given, Expression):
                return False
            found.values[hole] = given
            return True
        case str() if wanted.startswith(HOLE):
            found.values[wanted] = Name(str(given))
            return isinstance(given, str)
        case tuple():
            mine, other = cast(tuple[object, ...], wanted), cast(tuple[object, ...], given)
            return isinstance(given, tuple) and _all_fit(mine, other, found)
        case Statement() | Expression():
            return type(wanted) is type(given) and _each_fits(_parts(wanted), _parts(given), found)
        case _:
            return same(wanted, given)


def _parts(of: object) -> tuple[object, ...]:
    """The fields of a record that mean something."""
    assert is_dataclass(of), f"{of} is no record"
    return tuple(getattr(of, each.name) for each in fields(of) if each.name != "remark")


def _all_fit(wanted: tuple[object, ...], given: tuple[object, ...], found: Fit) -> bool:
    """Whether parts fit one by one, but for a hole that takes any number of statements."""
    for k, part in enumerate(wanted):
        match part:
            case Do(Call(hole)) if hole.startswith(HOLE):
                end = len(given) - (len(wanted) - k - 1)
                if end < k:
                    return False
                found.bodies[hole] = tuple(x for x in given[k:end] if isinstance(x, Statement))
                before = _each_fits(wanted[:k], given[:k], found)
                return before and _each_fits(wanted[k + 1 :], given[end:], found)
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

    def bind(self, here: Statement, target: Expression) -> str:
        """A new name."""
        if not isinstance(target, Name) or target.id in self._taken:
            raise refused(here, "it gives a name another value")
        self._taken.add(target.id)
        return target.id

    def read(self, of: Expression) -> Expr:
        """An index expression."""
        match of:
            case Constant(int() as value) if not isinstance(value, bool):
                return expr(value)
            case Name(name) if name in self.values:
                return self.values[name]
            case Negative(value):
                return -self.read(value)
            case Binary(op, left, right):
                return _operation(op, self.read(left), self.read(right))
            case Call("min", values):
                return minimum(*map(self.read, values))
            case Call("max", values):
                return maximum(*map(self.read, values))
            case _:
                raise Misemitted(f"`{of}` is no index expression")


def _operation(op: str, left: Expr, right: Expr) -> Expr:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return product((left, right))
        case "//" if right.is_const and right.const > 0:
            return floordiv(left, right.const)
        case "%" if right.is_const and right.const > 0:
            return mod(left, right.const)
        case _:
            raise Misemitted(f"{op} is no operation on indices")
