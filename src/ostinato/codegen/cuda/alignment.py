"""Which operands of products begin at a multiple of a vector's elements.

Tensors and the memory of blocks begin at lines. What is added to them has to be a multiple of the
elements of a vector in every call; what is not seen to be one is taken for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from ostinato.codegen.cuda.rewriting import indices
from ostinato.codegen.loops.expression import (
    Binary,
    Call,
    Constant,
    Expression,
    Item,
    Name,
    operands,
)
from ostinato.codegen.loops.statements import Add, Body, Do, Let, every

VECTOR = 4  # elements that one access loads
TABLE, LOCAL = "at", "local"


def aligned(body: Body, products: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Which of ``a`` and ``b`` begin at multiples of a vector in all calls of each product."""
    values = _Values(body)
    found = dict.fromkeys(products, frozenset("ab"))
    for statement in every(body):
        match statement:
            case Do(Call(name, (_, *rest))) if name in found:
                flat = [x for each in rest for x in operands(each)]
                factors = zip("ab", map(values.factor, flat), strict=False)
                found[name] &= {x for x, factor in factors if factor % VECTOR == 0}
            case _:
                pass
    return found


class _Values:
    """What the variables of a kernel may be: the values that statements give them."""

    def __init__(self, body: Body) -> None:
        self.values: dict[str, list[Expression]] = {}
        self.known: dict[str, int] = {}
        other = {*indices(body)}
        for statement in every(body):
            match statement:
                case Let((name,), value):
                    self.values.setdefault(name, []).append(value)
                case Let(names, _):
                    other.update(names)
                case Add(name, _):
                    other.add(name)
                case _:
                    pass
        self.known.update(dict.fromkeys(other, 1))

    def factor(self, of: Expression) -> int:
        """A number that divides the value of an expression."""
        match of:
            case Constant(int(value)):
                return abs(value)
            case Item(Name(array), _) if array == TABLE:
                return VECTOR
            case Binary("//", Name(local), Constant()) if local == LOCAL:
                return VECTOR
            case Binary("+" | "-", left, right):
                return gcd(self.factor(left), self.factor(right))
            case Binary("*", left, right):
                return self.factor(left) * self.factor(right)
            case Call("min" | "max", args):
                return gcd(*map(self.factor, args))
            case Name(name):
                return self.of_name(name)
            case _:
                return 1

    def of_name(self, name: str) -> int:
        if name not in self.known:
            self.known[name] = 1  # where it depends on itself
            self.known[name] = gcd(*map(self.factor, self.values.get(name, [Constant(1)])))
        return self.known[name]
