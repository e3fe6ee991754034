"""Instances of factors: steps with masks in every spelling, and products that no step has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import const, map_node, rec
from ostinato.pdg.condition import at_least, equal
from ostinato.pdg.index import expr
from ostinato.pdg.node import Equation, Node, Pdg
from ostinato.rewrite.instances.instance import B, Instance, Sizes, T, at, program, tensor

Factor = Callable[[Sizes], Node]

_STEP = ("affine/neighbour-scaled", "affine/product-of-scaled", "affine/factor")
_PLUS = (*_STEP, "affine/plus-ray")
_DEEPER = (*_STEP, "affine/factors")


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _row(z: Sizes, name: str = "w") -> Node:
    return tensor(name, (z.k,), (T,))


def _number(value: float) -> Node:
    return const(value, "float32", (expr(1),))


def _cast(z: Sizes, dtype: str = "bool") -> Node:
    truth = tensor("b", (z.k,), (T,), "bool" if dtype == "bool" else "int32")
    return map_node("cast", [truth], "float32")


def _mask(z: Sizes, one: float = 1.0, dtype: str = "bool") -> Node:
    return _map("sub", _number(one), _cast(z, dtype))


def _choice(z: Sizes, zero_first: bool, zero: float = 0.0) -> Node:
    sides = [_number(zero), _row(z, "y")] if zero_first else [_row(z, "y"), _number(zero)]
    return _map("where", tensor("c", (z.k,), (T,), "bool"), *sides)


def _stepped(z: Sizes, factor: Factor, fn: str = "mul") -> Pdg:
    """``x[t] = factor x[t + 1]``, or a sum instead of the product."""
    x = rec("x", (expr(z.k),), "float32", (B, T))
    cases = (
        (equal(T, expr(T.extent) - 1), tensor("s", (z.k,), (B, T))),
        (at_least(T, 0), _map(fn, factor(z), at(x, T, expr(T) + 1))),
    )
    return Pdg((("y", x),), {"x": Equation(x, cases)})


def _alone(z: Sizes, factor: Factor) -> Pdg:
    """The same product where no recurrence is multiplied with it."""
    return program(factor(z))


def _times(value: Factor, first: bool) -> Factor:
    def product(z: Sizes) -> Node:
        return _map("mul", *((_row(z), value(z)) if first else (value(z), _row(z))))

    return product


def _forms() -> dict[str, tuple[Factor, Factor]]:
    """For every rule about a form a factor in it, and the one most like it."""
    count, two = partial(_cast, dtype="int32"), partial(_mask, one=2.0)
    out: dict[str, tuple[Factor, Factor]] = {}
    for side, first in (("after", True), ("before", False)):
        out[f"mask-{side}"] = _times(_cast, first), _times(count, first)
        out[f"unmask-{side}"] = _times(_mask, first), _times(two, first)
        for place, zero_first in (("of-nothing", True), ("or-nothing", False)):
            right = partial(_choice, zero_first=zero_first)
            wrong = partial(_choice, zero_first=zero_first, zero=1.0)
            name = f"product-{'before' if first else 'after'}-choice-{place}"
            out[name] = _times(right, first), _times(wrong, first)
    return out


def _instances() -> tuple[Instance, ...]:
    out: list[Instance] = []
    for name, (right, wrong) in _forms().items():
        rule = f"affine/{name}"
        stepped = partial(_stepped, factor=right)
        out.append(Instance(f"{name} of a step", stepped, (rule,), (), _DEEPER))
        other = partial(_stepped, factor=wrong)
        out.append(Instance(f"almost {name} of a step", other, (), (rule,), _DEEPER))
        alone = partial(_alone, factor=right)
        out.append(Instance(f"{name} of no step", alone, (), (rule,), _DEEPER))
    for side, first in (("after", True), ("before", False)):
        counted = partial(_stepped, factor=_times(partial(_mask, dtype="int32"), first))
        rule = f"affine/unmask-{side}"
        out.append(Instance(f"1 - count {side} of a step", counted, (), (rule,), _DEEPER))
    product = _times(_row, True)
    for rule, fn, beside in (
        ("affine/factor", "mul", _STEP),
        ("affine/factor-of-sum", "add", _PLUS),
        ("affine/factors", "mul", _DEEPER),
    ):
        stepped = partial(_stepped, factor=product, fn=fn)
        out.append(Instance(f"{rule} of a step", stepped, (rule,), (), beside))
        alone = partial(_alone, factor=product)
        out.append(Instance(f"{rule} of no step", alone, (), (rule,), beside))
    return tuple(out)


FACTORS = _instances()
