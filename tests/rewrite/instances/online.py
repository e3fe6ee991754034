"""Instances of the family incremental: sums of exponentials, and factors that leave a sum."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import ONE, affine, const, iota, map_node, matmul, reduce_node, reshape
from ostinato.pdg.index import ExprLike, expr, minimum
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

Range = tuple[ExprLike, ExprLike]
_SO_FAR: Range = (0, expr(T) + 1)
_TO_COME: Range = (expr(T), expr(T.extent))
_BEFORE: Range = (0, expr(T))


def _mul(a: Node, b: Node, swapped: bool = False) -> Node:
    return map_node("mul", [b, a] if swapped else [a, b])


def _powers(part: Range | None, shape: tuple[int, ...], guarded: bool, fold: str = "max") -> Node:
    """``exp`` of a range of numbers, or of some rows, shifted by their greatest."""
    x = _values("x", part, shape)
    most = reduce_node(fold, x, [-x.rank])
    shift = reshape(most, (ONE, *most.shape))
    if guarded:
        nothing = const([0.0], "float32", (ONE,) * shift.rank)
        shift = map_node("where", [map_node("isfinite", [shift]), shift, nothing])
    return map_node("exp", [map_node("sub", [x, shift])])


def _values(name: str, part: Range | None, shape: tuple[int, ...]) -> Node:
    return tensor(name, (2, *shape), (T,)) if part is None else ranged(
        tensor(name, shape, (T,)), *part
    )  # fmt: skip


def _total(terms: Node) -> Node:
    return reduce_node("sum", terms, [-terms.rank])


def _alone(z: Sizes, part: Range | None, guarded: bool, fold: str = "max") -> Pdg:
    return program(_total(_powers(part, (z.k,), guarded, fold)))


def _rows(z: Sizes, part: Range | None, guarded: bool, swapped: bool, fold: str = "max") -> Pdg:
    values = _values("v", part, (z.k,))
    return program(_total(_mul(_powers(part, (z.k,), guarded, fold), values, swapped)))


def _vectors(z: Sizes, part: Range | None, guarded: bool, swapped: bool, fold: str = "max") -> Pdg:
    values = _values("v", part, (z.k,))
    powers = _powers(part, (), guarded, fold)
    return program(_total(_mul(reshape(powers, (values.shape[0], ONE)), values, swapped)))


_Forms = dict[str, Callable[..., Pdg]]
STEPS: _Forms = {
    "sum-of-powers": partial(_alone, guarded=True),
    "softmax-sum": partial(_rows, guarded=True, swapped=False),
    "softmax-sum-of-vectors": partial(_vectors, guarded=True, swapped=False),
}


def _on_both_sides(name: str, build: Callable[..., Pdg]) -> tuple[Instance, ...]:
    """The rule fires on either side of the point, and for no other shift than the greatest."""
    rule = (f"incremental/{name}",)
    return (
        *(
            Instance(f"{name} {where}", partial(build, part=part), rule)
            for where, part in (("so far", _SO_FAR), ("to come", _TO_COME))
        ),
        Instance(f"{name} before", partial(build, part=_BEFORE), idle=rule),
        Instance(f"{name} with another shift", partial(build, part=_SO_FAR, fold="min"), idle=rule),
    )


POWERS = tuple(found for name, build in STEPS.items() for found in _on_both_sides(name, build))
_WINDOW: Range = (expr(T), minimum(expr(T) + 9, T.extent))
_GUARDS: dict[str, tuple[Callable[..., Pdg], ...]] = {
    "safe-sum-of-powers": (_alone,),
    "safe-softmax-sum": tuple(partial(_rows, swapped=swapped) for swapped in (False, True)),
    "safe-softmax-sum-of-vectors": tuple(
        partial(_vectors, swapped=swapped) for swapped in (False, True)
    ),
}


def _beside_a_range(build: Callable[..., Pdg], z: Sizes, part: Range | None = None) -> Pdg:
    """The same of rows, in a program that has ranges too."""
    history = ranged(tensor("o", (), (T,)), *_SO_FAR)
    return Pdg((*build(z, part=part).outputs, ("history", history)), {})


def _guard(rule: str, k: int, build: Callable[..., Pdg]) -> tuple[Instance, ...]:
    """It fires for ranges that have elements, and for no other shift than the greatest."""
    name, raw = f"{rule}{' swapped' * k}", partial(build, guarded=False)
    rules = (f"incremental/{rule}",)
    return (
        *(
            Instance(f"{name} {part}", partial(raw, part=part), rules)
            for part in (_SO_FAR, _WINDOW)
        ),
        Instance(f"{name} before", partial(raw, part=_BEFORE), idle=rules),
        Instance(f"{name} of three", partial(_beside_a_range, raw, part=(0, 3)), idle=rules),
        Instance(f"{name} of rows", partial(_beside_a_range, raw), idle=rules),
        Instance(f"{name} with another shift", partial(raw, part=_SO_FAR, fold="min"), idle=rules),
    )


GUARDS = tuple(
    found
    for name, builds in _GUARDS.items()
    for k, build in enumerate(builds)
    for found in _guard(name, k, build)
)


def _masked(z: Sizes, nothing: float, guarded: bool = True, of_data: bool = False) -> Pdg:
    """Powers of scores under a mask, shifted by a number."""
    steps = expr(T.extent)
    so_far = map_node("le", [iota(steps), affine(T)])
    mask = ranged(tensor("c", (), (T,), "bool"), 0, steps) if of_data else so_far
    scores = map_node("where", [mask, ranged(tensor("x", (), (T,)), 0, steps), _number(nothing)])
    shift = reshape(reduce_node("max", scores, [-1]), (ONE,))
    if guarded:
        shift = map_node("where", [map_node("isfinite", [shift]), shift, _number(0.0)])
    powers = map_node("exp", [map_node("sub", [scores, shift])])
    return program(_total(powers), *((so_far,) if of_data else ()))


def _number(value: float) -> Node:
    return const([value], "float32", (ONE,))


_UNDER = ("incremental/power-under-mask",)
MASKED = (
    Instance("powers under a mask", partial(_masked, nothing=-math.inf), _UNDER),
    Instance(
        "powers under a mask of data",
        partial(_masked, nothing=-math.inf, of_data=True),
        idle=_UNDER,
    ),
    Instance(
        "powers under a mask of data with an infinite shift",
        partial(_masked, nothing=-math.inf, guarded=False, of_data=True),
        idle=("incremental/safe-sum-of-powers",),
    ),
    Instance("powers under a mask of zeros", partial(_masked, nothing=0.0), idle=_UNDER),
    Instance(
        "powers under a mask with an infinite shift",
        partial(_masked, nothing=-math.inf, guarded=False),
        ("incremental/safe-sum-of-powers",),
        _UNDER,
    ),
)


def _terms(z: Sizes, part: Range) -> tuple[Node, Node, Node]:
    """Two ranges of rows, and a row for the point."""
    a, b = (ranged(tensor(name, (z.k,), (T,)), *part) for name in "ab")
    return a, b, reshape(tensor("y", (z.k,), (T,)), (ONE, expr(z.k)))


def _div(a: Node, b: Node) -> Node:
    return map_node("div", [a, b])


_Terms = Callable[[Node, Node, Node], Node]
_FACTORS: dict[str, _Terms] = {
    "quotient first": lambda a, b, y: _mul(_div(a, y), b),
    "quotient last": lambda a, b, y: _mul(b, _div(a, y)),
    "factor first": lambda a, b, y: _mul(_mul(y, a), b),
    "factor second": lambda a, b, y: _mul(_mul(a, y), b),
    "factor third": lambda a, b, y: _mul(b, _mul(y, a)),
    "factor last": lambda a, b, y: _mul(b, _mul(a, y)),
}
_LEAVES = ("incremental/factor-leaves",)


def _sum_of(z: Sizes, terms: _Terms, part: Range) -> Pdg:
    return program(_total(terms(*_terms(z, part))))


def _sum_of_rows(z: Sizes, part: Range | None = None) -> Pdg:
    """A sum over an axis that no range has."""
    a, b, y = (tensor(name, (rows, z.k)) for name, rows in (("a", 2), ("b", 2), ("y", 1)))
    return program(_total(_mul(_mul(a, y), b)))


def _sum_of_ranges(z: Sizes, terms: _Terms) -> Pdg:
    """The same where the factor is a range too, and along the other axis."""
    a, b, _ = _terms(z, _SO_FAR)
    c = ranged(tensor("c", (z.k,), (T,)), *_SO_FAR)
    return program(_total(terms(a, b, c)))


FACTORS = tuple(
    found
    for name, terms in _FACTORS.items()
    for found in (
        Instance(f"{name} of a range", partial(_sum_of, terms=terms, part=_SO_FAR), _LEAVES),
        Instance(
            f"{name} of three steps", partial(_sum_of, terms=terms, part=(0, 3)), idle=_LEAVES
        ),
        Instance(
            f"{name} that varies along the range",
            partial(_sum_of_ranges, terms=terms),
            idle=_LEAVES,
        ),
    )
)


ROWS = (
    Instance(
        "a factor of rows beside a range", partial(_beside_a_range, _sum_of_rows), idle=_LEAVES
    ),
)


def _weights(part: Range) -> Node:
    return ranged(tensor("a", (), (T,)), *part)


def _product(z: Sizes, part: Range, moving: bool = True) -> Pdg:
    weights = _weights(part)
    values = ranged(tensor("v", (z.k,), (T,) if moving else ()), *part)
    return program(matmul(reshape(weights, (ONE, weights.shape[0])), values))


COLUMNS = (
    Instance("weights @ vectors", partial(_product, part=_SO_FAR), ("incremental/product-as-sum",)),
    Instance(
        "three weights @ vectors",
        partial(_product, part=(0, 3)),
        idle=("incremental/product-as-sum",),
    ),
)
