"""Values as loop IR: one assignment per shared or loaded value, the rest in place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from ostinato.codegen.emit.index_arithmetic import Names, condition, expression
from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Pick,
    Position,
    Value,
    children,
)
from ostinato.codegen.ir.values import Rewrite, with_children
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import (
    FLOATS,
    SUFFIX,
    Constant,
    Expression,
    Given,
    Name,
    call,
)
from ostinato.codegen.loops.statements import Block
from ostinato.pdg.condition import ALWAYS, NEVER
from ostinato.pdg.index import Dim, Expr, Extent

LONG = 72  # characters: a longer expression is given a name


def at_literals(value: Value, table: dict[Dim, Expr]) -> Value:
    """The value with indices replaced; a choice that this decides disappears."""
    return _decided(Rewrite(table).value(value))


def _decided(value: Value) -> Value:
    if isinstance(value, Choice) and value.cond in (ALWAYS, NEVER):
        return _decided(value.then if value.cond == ALWAYS else value.other)
    return with_children(value, _decided)


@dataclass
class Scope:
    """The values that have a name where the code stands; a branch sees those of its parents."""

    out: Block
    fresh: Callable[[str], str]  # a Python name not used yet in this function
    names: Names = field(default_factory=dict[Dim | Extent, str])
    known: dict[Value, Expression] = field(default_factory=dict[Value, Expression])
    shared: frozenset[Value] = frozenset()
    load: Callable[[Load, Scope], Expression] = field(default=lambda load, scope: Name("?"))
    key: str = "key"  # the variable that holds the key of the seed
    streams: Mapping[int, str] = field(default_factory=dict[int, str])  # of draws: their variables
    few: bool = False  # whether this is done for few elements only

    def inner(self) -> Scope:
        """A scope for one branch: what it names is unknown outside."""
        return replace(self, known=dict(self.known))

    def named(self, value: Value) -> Expression | None:
        """The name of a value; a clamped element is the element itself, where it is demanded."""
        found = self.known.get(value)
        if found is None and isinstance(value, Load) and value.clamp:
            found = self.known.get(replace(value, clamp=""))
        return found

    def under(self, names: Names) -> Scope:
        """The same place with more indices; what mentions them is unknown outside."""
        more = names.keys() - self.names.keys()
        return replace(self, names=dict(names), known=dict(self.known)) if more else self


def shared(values: tuple[Value, ...]) -> frozenset[Value]:
    """Compound values that occur more than once below the given roots."""
    count: Counter[Value] = Counter()
    stack = list(values)
    while stack:
        value = stack.pop()
        count[value] += 1
        if count[value] == 1:
            stack.extend(children(value))
    return frozenset(v for v, n in count.items() if n > 1 and isinstance(v, Call | Choice | Draw))


def print_value(value: Value, scope: Scope) -> Expression:
    """Return a value as an expression, after adding the statements it needs to ``scope.out``."""
    found = scope.named(value)
    if found is not None:
        return found
    made = _compute(value, scope)
    is_long = isinstance(value, Call) and len(str(made)) > LONG
    if is_long or value in scope.shared or isinstance(value, Load | Choice):
        made = bind(made, _stem(value), scope)
    scope.known[value] = made
    return made


def print_index(pick: Pick, scope: Scope) -> Name:
    """Return the name of a computed index, kept inside its axis; that of an empty axis is 0."""
    wide = pick.at if pick.at.dtype == "int64" else Call("cast", (pick.at,), "int64")
    last, first = Position(pick.axis.size - 1, "int64"), Literal_(0, "int64")
    index = Call("maximum", (Call("minimum", (wide, last), "int64"), first), "int64")
    name = bind(print_value(index, scope), "index", scope)
    scope.known[index] = name
    return name


def bind(of: Expression, stem: str, scope: Scope) -> Name:
    """Give an expression a name, unless it is one."""
    if isinstance(of, Name):
        return of
    name = scope.fresh(stem)
    scope.out.let(name, of)
    return Name(name)


def _stem(value: Value) -> str:
    match value:
        case Load(tensor):
            return f"{tensor}_"
        case Call(fn):
            return f"{fn}_"
        case Draw(fn):
            return fn
        case _:
            return "value"


def _compute(value: Value, scope: Scope) -> Expression:
    match value:
        case Literal_(x, dtype):
            return calls.literal(x, dtype)
        case Position(of, dtype):
            return call(SUFFIX[dtype], expression(of, scope.names))
        case Load():
            return scope.load(value, scope)
        case Call():
            return _call(value, scope)
        case Draw():
            return _draw(value, scope)
        case Choice():
            return _choice(value, scope)
        case unknown:
            assert_never(unknown)


def _call(value: Call, scope: Scope) -> Expression:
    args = tuple(print_value(a, scope) for a in value.args)
    if value.fn == "cast":
        return calls.cast(args[0], value.args[0].dtype, value.dtype)
    operand = value.args[-1].dtype
    if value.fn == "pow" and isinstance(value.args[1], Literal_):
        short = _short_power(args[0], value.args[1], scope)
        if short is not None:
            return short
    return calls.function(value.fn, operand, args)


def _short_power(x: Expression, exponent: Literal_, scope: Scope) -> Expression | None:
    """Powers that multiplication or division give exactly."""
    dtype = exponent.dtype
    if exponent.value == 1:
        return x
    if exponent.value == 2:
        base = bind(x, "base", scope)
        return calls.function("mul", dtype, (base, base))
    if exponent.value == 0:
        return calls.literal(1, dtype)
    if exponent.value == -1 and dtype in FLOATS:
        return calls.function("div", dtype, (calls.literal(1, dtype), x))
    return None


def _draw(value: Draw, scope: Scope) -> Expression:
    """Three coordinates ride in the counter; each further four make a key of their own."""
    words = [expression(e, scope.names) for e in value.point]
    first, rest = words[:3], words[3:]
    stream: Given = scope.streams.get(value.stream, value.stream)
    key: tuple[Given, Given] = (scope.key, stream)
    while rest:
        chunk = [*rest[:4], *[Constant(0)] * 4][:4]
        rest = rest[4:]
        low, high = scope.fresh("key_"), scope.fresh("key_")
        scope.out.let(low, calls.draw("bits", "uint32", tuple(chunk), key))
        scope.out.let(high, call("philox_bits_1", *chunk, *key))
        key = (low, high)
    counter = (expression(value.element, scope.names), *first, *[Constant(0)] * (3 - len(first)))
    is_apart = value.fn == "normal" and scope.few and not value.point  # once in a run
    return calls.draw("normal_apart" if is_apart else value.fn, value.dtype, counter, key)


def _choice(value: Choice, scope: Scope) -> Expression:
    """A select where both sides are cheap and always defined, else a branch."""
    test = condition(value.cond, scope.names)
    if is_harmless(value.then, scope) and is_harmless(value.other, scope):
        sides = (print_value(value.then, scope), print_value(value.other, scope))
        return call("where", test, *sides)
    name = scope.fresh(_stem(value))
    with scope.out.when(test):
        scope.out.let(name, print_value(value.then, scope.inner()))
    rest, inner = value.other, scope
    while isinstance(rest, Choice):
        with scope.out.otherwise(condition(rest.cond, scope.names)):
            scope.out.let(name, print_value(rest.then, scope.inner()))
        rest = rest.other
    with scope.out.otherwise():
        scope.out.let(name, print_value(rest, inner.inner()))
    return Name(name)


def is_harmless(value: Value, scope: Scope) -> bool:
    """Whether computing the value where nobody asks for it costs little and cannot fail."""
    if value in scope.known or isinstance(value, Literal_ | Position):
        return True
    if isinstance(value, Call) and value.fn in ("neg", "add", "sub", "mul", "cast", "not"):
        return all(is_harmless(a, scope) for a in value.args)
    return False
