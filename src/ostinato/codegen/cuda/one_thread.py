"""What one thread does: loads and stores as accesses to the arena by type, or its variables.

A loop over steps that it runs by itself has the places that stay in variables: see `kept`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.codegen.cuda.kept import Kept, Steps, has_turns, of_two_cases
from ostinato.codegen.cuda.rewriting import given, indices, opened, rewritten, together
from ostinato.codegen.cuda.touches import accesses
from ostinato.codegen.loops.expression import (
    FLOATS,
    SUFFIX,
    Binary,
    Call,
    Constant,
    Expression,
    Given,
    Item,
    Name,
    Negative,
    call,
    compare,
)
from ostinato.codegen.loops.expression import given as expression
from ostinato.codegen.loops.statements import (
    Body,
    Do,
    For,
    Function,
    If,
    Let,
    Nothing,
    Statement,
    Write,
)

ARENA = "arena"
SUFFIXES: Mapping[str, str] = {"bool": "bool", **SUFFIX}
_FLOAT = re.compile(r"(^|_)f(32|64)$")  # what a function returns, unless it is a cast


@dataclass
class OneThread:
    """Writes the statements of a kernel as one thread runs them."""

    function: Function

    def __post_init__(self) -> None:
        self.accesses = accesses(self.function)
        self.floats: set[str] = set()
        self.kept: dict[tuple[str, Expression], str] = {}  # places that are variables of a thread
        self.known: dict[str, Expression] = {}  # what names stand for, if nothing is loaded for it
        body = self.function.body
        parameters = (name for name, _ in self.function.parameters)
        self.taken = {*given(body), *indices(body), *parameters}

    # ------------------------------------------------------------ statements

    def private(self, of: Statement) -> Body:
        """A statement that one thread runs by itself."""
        if isinstance(of, For):
            return self.steps(of, self.private)
        return (opened(self.plain(of), self.private),)

    def steps(self, of: For, each: Callable[[Statement], Body], *, is_alone: bool = True) -> Body:
        """A loop of one thread, or of all of them alike: what stays there is in variables."""
        found = self.stays(of, is_alone)
        loop = self.with_variables(of, found, each)
        return self.around(of, found, (loop,), self.put_back(found))

    def stays(self, of: For, is_alone: bool) -> list[Kept]:
        """The places that are variables of a loop, and of none around it."""
        looked = Steps(self.accesses, dict(self.known))
        outside = {tensor for tensor, _ in self.kept}
        found = looked.kept(self.taken, is_alone) if looked.look(of) else ()
        return [x for x in found if x.access.tensor not in outside]

    def with_variables(
        self, of: For, found: Sequence[Kept], each: Callable[[Statement], Body]
    ) -> For:
        if found or self.kept:
            of = of_two_cases(of)
        made, had = self.plain(of), dict(self.kept)
        assert isinstance(made, For)
        for x in found:
            self.kept.update({(x.access.tensor, index): x.name for index in x.indices})
            if x.access.dtype in FLOATS:
                self.floats.add(x.name)
        loop = replace(made, body=together(map(each, of.body)), binding="serial")
        self.kept = had
        return loop

    def around(self, of: For, found: Sequence[Kept], body: Body, after: Body) -> Body:
        """What is done in a loop's place, between the reads of its variables and what follows."""
        whole = (*together(map(self.taken_from, found)), *body, *after)
        test = has_turns(of) if found else None
        return whole if test is None else (If(self.value(test), whole),)

    def put_back(self, found: Sequence[Kept]) -> Body:
        return together(self._put_back(x) for x in found if x.is_written)

    def taken_from(self, of: Kept) -> Body:
        dtype = of.access.dtype
        start, found = typed(dtype, Constant(0)), Item(Name(f"{ARENA}.{dtype}"), of.index)
        taken = Let((of.name,), compare("!=", found, 0) if dtype == "bool" else found)
        if of.under is None:
            return (taken,)
        return (Let((of.name,), start), If(self.value(of.under), (taken,)))

    def _put_back(self, of: Kept) -> Body:
        view = Name(f"{ARENA}.{of.access.dtype}")
        back = Write(view, of.index, Name(of.name))
        return (back,) if of.under is None else (If(self.value(of.under), (back,)),)

    def plain(self, of: Statement) -> Statement:
        """A statement with loads and stores as accesses to the arena by type."""
        match of:
            case Do(Call(function, (_, index, value))) if self._is_store(function):
                dtype, name = self.accesses[function].dtype, self.variable(function, index)
                if name is not None:
                    return Let((name,), typed(dtype, self.value(value)))
                view = Name(f"{ARENA}.{dtype}")
                return Write(view, self.value(index), self.value(value))
            case Do(Call("prefetch")):
                return Nothing("the hardware has many loads under way")
            case Let((name,), value) if self.is_float(value):
                self.floats.add(name)
                return rewritten(of, self.change)
            case _:
                return rewritten(of, self.change)

    # ------------------------------------------------------------ expressions

    def is_float(self, of: Expression) -> bool:
        """Whether an expression is a float: a kernel gives a name values of one type."""
        match of:
            case Name(name):
                return name in self.floats
            case Constant(value):
                return isinstance(value, float)
            case Call("where", (_, chosen, _)):
                return self.is_float(chosen)
            case Call(function, _) if function in self.accesses:
                return self.accesses[function].dtype in FLOATS
            case Call(function, _):
                is_cast = function.startswith("cast_") or function.endswith("_bits_f32")
                return function == "rounded_product" or (
                    _FLOAT.search(function) is not None and not is_cast
                )
            case Binary("/", _, _):
                return True
            case Binary(_, left, right):
                return self.is_float(left) or self.is_float(right)
            case Negative(x):
                return self.is_float(x)
            case Item(Name(name), _):
                return name.removeprefix(f"{ARENA}.") in FLOATS
            case _:
                return False

    def _is_store(self, function: str) -> bool:
        return function in self.accesses and self.accesses[function].is_store

    def value(self, of: Given) -> Expression:
        made = rewritten(Let(("x",), expression(of)), self.change)
        assert isinstance(made, Let)
        return made.value

    def change(self, of: Expression) -> Expression:
        match of:
            case Call(function, (_, index)) if function in self.accesses:
                dtype, name = self.accesses[function].dtype, self.variable(function, index)
                if name is not None:
                    return Name(name)
                found = Item(Name(f"{ARENA}.{dtype}"), index)
                return compare("!=", found, 0) if dtype == "bool" else found
            case Binary("*", left, right) if self.function.exact and self.is_float(of):
                return call("rounded_product", left, right)
            case _:
                return of

    def variable(self, function: str, index: Expression) -> str | None:
        """The variable that holds what a load or store is about."""
        return self.kept.get((self.accesses[function].tensor, index))


def typed(dtype: str, of: Expression) -> Expression:
    """A value of a type."""
    return call(SUFFIXES[dtype], of)
