"""Instances of factors: steps with masks in every spelling, and products that no step has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import const, map_node, rec
from ostinato.pdg.condition import at_least, equal
from ostinato.pdg.index import expr
from ostinato.pdg.node import Equation, Node, Pdg
from tests.rewrite.instances.instance import B, Instance, Sizes, T, at, program, tensor

Factor = Callable[[Sizes], Node]

_STEP = (
    *("affine/neighbour-scaled", "affine/product-scaled", "affine/line-of-ray"),
    "affine/factor",
)
_PLUS = (*_STEP, "affine/line-plus")
_DEEPER = (*_STEP, "affine/factors")
_PLACES = ("last", "first", "rest")
_ADDED = (*_PLUS, "affine/factors")


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


def _choice(z: Sizes, zero: float = 0.0) -> Node:
    return _map("where", tensor("c", (z.k,), (T,), "bool"), _row(z, "y"), _number(zero))


def _next(z: Sizes) -> Node:
    return at(rec("x", (expr(z.k),), "float32", (B, T)), T, expr(T) + 1)


def _recurrence(z: Sizes, step: Node) -> Pdg:
    x = rec("x", (expr(z.k),), "float32", (B, T))
    cases = (
        (equal(T, expr(T.extent) - 1), tensor("s", (z.k,), (B, T))),
        (at_least(T, 0), step),
    )
    return Pdg((("y", x),), {"x": Equation(x, cases)})


def _stepped(z: Sizes, factor: Factor, fn: str = "mul") -> Pdg:
    """``x[t] = factor x[t + 1]``, or a sum instead of the product."""
    return _recurrence(z, _map(fn, factor(z), _next(z)))


def _alone(z: Sizes, factor: Factor) -> Pdg:
    """The same product where no recurrence is multiplied with it."""
    return program(factor(z))


def _beside_a_step(z: Sizes, factor: Factor) -> Pdg:
    """The same where a recurrence is multiplied with something else."""
    step = _stepped(z, _row)
    return Pdg((*step.outputs, ("alone", factor(z))), step.equations)


def _times(value: Factor, first: bool, other: Factor | None = None) -> Factor:
    """A product with what is surely finite, or with something else."""

    def product(z: Sizes) -> Node:
        beside = (other or _finite)(z)
        return _map("mul", *((beside, value(z)) if first else (value(z), beside)))

    return product


def _finite(z: Sizes) -> Node:
    return const([0.5] * z.k, "float32", (expr(z.k),))


def _forms() -> dict[str, tuple[Factor, Factor]]:
    """For every rule about a form a factor in it, and the one most like it."""
    count, two = partial(_cast, dtype="int32"), partial(_mask, one=2.0)
    out: dict[str, tuple[Factor, Factor]] = {}
    for side, first in (("after", True), ("before", False)):
        out[f"mask-{side}"] = _times(_cast, first), _times(count, first)
        out[f"unmask-{side}"] = _times(_mask, first), _times(two, first)
        name = f"product-{'before' if first else 'after'}-choice"
        out[name] = _times(_choice, first), _times(partial(_choice, zero=1.0), first)
    return out


def _added(z: Sizes, term: Factor) -> Pdg:
    """``x[t] = term + w x[t + 1]``."""
    return _recurrence(z, _map("add", term(z), _map("mul", _row(z), _next(z))))


def _common(place: str, fn: str) -> list[Instance]:
    """A choice between two values with a common part, in a step; and almost one, or in none."""
    rule = f"affine/common-{place}"
    right = partial(_chosen, place=place, fn=fn, apart=False)
    wrong = partial(_chosen, place=place, fn=fn, apart=True)
    name = f"{place} of {fn}"
    return [
        Instance(f"common {name}", partial(_added, term=right), (rule,), (), _ADDED),
        Instance(f"nothing in common, {name}", partial(_added, term=wrong), (), (rule,), _ADDED),
        Instance(f"common {name} of no step", partial(_alone, factor=right), (), (rule,), _ADDED),
    ]


def _chosen(z: Sizes, place: str, fn: str, apart: bool) -> Node:
    """A choice between sums; ``apart``: they have different parts."""
    y, v, w = (_row(z, name) for name in ("y", "v", "u"))
    other = _row(z, "a") if apart else w
    sides = {
        "last": (_map(fn, y, w), _map(fn, v, other)),
        "first": (_map(fn, w, y), _map(fn, other, v)),
        "rest": (_map(fn, w, y), other),
    }[place]
    return _map("where", tensor("c", (z.k,), (T,), "bool"), *sides)


def _product_or(z: Sizes, zero: float) -> Node:
    product = _map("mul", _finite(z), _row(z, "y"))
    return _map("where", tensor("c", (z.k,), (T,), "bool"), product, _number(zero))


def _inside() -> list[Instance]:
    """A choice between a product and nothing, and one between a product and a number."""
    rules, nothing, number = (("affine/choice-of-product",), *_products_or())
    return [
        Instance("product or nothing of a step", nothing, rules, (), _ADDED),
        Instance("product or a number of a step", number, (), rules, _ADDED),
        Instance("other side of a step", number, ("affine/other-side",), (), _ADDED),
        Instance(
            "choice of no step",
            partial(_alone, factor=_choice),
            idle=("affine/other-side",),
            beside=_ADDED,
        ),
    ]


def _products_or() -> tuple[Callable[[Sizes], Pdg], ...]:
    """A product, or 0, or 1."""
    return tuple(partial(_added, term=partial(_product_or, zero=zero)) for zero in (0.0, 1.0))


def _infinite() -> list[Instance]:
    """Masks of what may be infinite, on either side."""
    masks: dict[str, Callable[[Sizes], Node]] = {"mask": _cast, "unmask": _mask}
    return [
        Instance(
            f"{name} {side} of what may be infinite",
            partial(_stepped, factor=_times(mask, first, _row)),
            (),
            (f"affine/{name}",),
            _DEEPER,
        )
        for name, mask in masks.items()
        for side, first in (("after", True), ("before", False))
    ]


def _masked_sum(z: Sizes) -> Pdg:
    """``x[t] = mask (y + x[t + 1])``: the mask is a factor of what is added to, too."""
    return _recurrence(z, _map("mul", _mask(z), _map("add", _row(z, "y"), _next(z))))


def _rule(form: str) -> str:
    """The rule about a form, in either order of operands."""
    for side in ("-after", "-before"):
        form = form.removesuffix(side).replace(f"product{side}-", "product-around-")
    return form


def _instances() -> tuple[Instance, ...]:
    out: list[Instance] = []
    for name, (right, wrong) in _forms().items():
        rule = f"affine/{_rule(name)}"
        stepped = partial(_stepped, factor=right)
        out.append(Instance(f"{name} of a step", stepped, (rule,), (), _DEEPER))
        other = partial(_stepped, factor=wrong)
        out.append(Instance(f"almost {name} of a step", other, (), (rule,), _DEEPER))
        alone = partial(_alone, factor=right)
        out.append(Instance(f"{name} of no step", alone, (), (rule,), _DEEPER))
    out += [i for place in _PLACES for fn in ("add", "sub") for i in _common(place, fn)]
    out += _inside()
    out += _infinite()
    for side, first in (("after", True), ("before", False)):
        counted = partial(_stepped, factor=_times(partial(_mask, dtype="int32"), first))
        rule = "affine/unmask"
        out.append(Instance(f"1 - count {side} of a step", counted, (), (rule,), _DEEPER))
        alone = partial(_beside_a_step, factor=_times(_mask, first))
        out.append(Instance(f"unmask-{side} beside a step", alone, (), (rule,), _DEEPER))
    for place, first in (("first", False), ("second", True)):
        inner = partial(_stepped, factor=_times(_times(_mask, True), first, _row))
        out.append(Instance(f"mask in a {place} operand", inner, ("affine/unmask",), (), _DEEPER))
    noted = (*_PLUS, "affine/product")
    out.append(Instance("masked sum", _masked_sum, ("affine/unmask",), (), noted))
    product = _times(_row, True, _row)
    for rule, fn, beside in (
        ("affine/factor", "mul", _STEP),
        ("affine/factors", "mul", _DEEPER),
    ):
        stepped = partial(_stepped, factor=product, fn=fn)
        out.append(Instance(f"{rule} of a step", stepped, (rule,), (), beside))
        alone = partial(_alone, factor=product)
        out.append(Instance(f"{rule} of no step", alone, (), (rule,), beside))
    return tuple(out)


FACTORS = _instances()
