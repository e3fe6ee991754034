"""What a function is whatever its variables are called: kernels of equal layers are one."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.codegen.loops.expression import (
    Binary,
    Call,
    Compare,
    Constant,
    Expression,
    Logic,
    Name,
    operands,
)
from ostinato.codegen.loops.matmul_spec import Matmul
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    For,
    Function,
    Let,
    Nothing,
    Remark,
    Statement,
    inside,
    values,
)

Shape = tuple[object, ...]


def nameless(function: Function) -> Shape:
    """What functions have in common that differ in names and remarks only.

    Variables are numbers, in the order in which they are bound. What no function binds, such as a
    primitive, has its own name; so has what is bound after its first use.

    >>> from ostinato.codegen.loops.statements import Let
    >>> def of(name: str) -> Function:
    ...     return Function("k", (("T", "int64"),), (Let((name,), Name("T") + 1),))
    >>> nameless(of("x")) == nameless(of("y")), nameless(of("x")) == nameless(of("T"))
    (True, False)
    """
    found = _Numbering()
    parameters = tuple((found.bound(name), kind) for name, kind in function.parameters)
    definitions = [
        (
            tuple(map(found.argument, each.args)),
            each.maker,
            tuple(map(found.bound, each.names)),
        )
        for each in function.definitions
    ]
    marks = function.is_driver, function.exact, function.checked, function.plain
    return parameters, tuple(definitions), found.body(function.body), marks


@dataclass
class _Numbering:
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def bound(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def named(self, name: str) -> int | str:
        return self.numbers.get(name, name)

    def argument(self, of: object) -> int | str:
        if isinstance(of, Name):
            return self.named(of.id)
        return repr(of.nameless() if isinstance(of, Matmul) else of)

    def body(self, statements: Body) -> Shape:
        return tuple([self.statement(x) for x in statements if not isinstance(x, Remark | Nothing)])

    def statement(self, of: Statement) -> object:
        own, bound = tuple(map(self.expression, values(of))), tuple[object, ...]()
        match of:
            case Let(names):
                bound = tuple(map(self.bound, names))
            case Add(name):
                bound = (self.bound(name),)
            case For(name, binding=binding):
                bound = self.bound(name), binding
            case _:
                pass
        return type(of).__name__, own, bound, *map(self.body, inside(of))

    def expression(self, of: Expression) -> object:
        match of:
            case Name(name):
                return self.named(name)
            case Constant(value):
                return "constant", repr(value)  # 1, 1.0 and True are equal, and so are both zeros
            case Binary(op) | Compare(op) | Logic(op):
                own: object = op
            case Call(name):
                own = self.named(name)
            case _:
                own = ""
        return type(of).__name__, own, *map(self.expression, operands(of))
