"""Instances of entropies: weights of a softmax times their logarithms, over ranges."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import ONE, const, map_node, reduce_node, reshape
from ostinato.pdg.index import ExprLike, expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

Range = tuple[ExprLike, ExprLike]
Make = Callable[[Sizes, Range | None], Node]
_SO_FAR: Range = (0, expr(T) + 1)
_TO_COME: Range = (expr(T), expr(T.extent))
_BEFORE: Range = (0, expr(T))


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _values(name: str, z: Sizes, part: Range | None) -> Node:
    """Rows over a range, or rows of their own."""
    if part is None:
        return tensor(name, (3, z.k), (T,))
    return ranged(tensor(name, (z.k,), (T,)), *part)


def _row(x: Node) -> Node:
    return reshape(x, (ONE, *x.shape))


def _distance(x: Node, fold: str = "max", guarded: bool = False) -> Node:
    """Scores less the greatest of them."""
    shift = _row(reduce_node(fold, x, [-x.rank]))
    if guarded:
        nothing = const([0.0], "float32", (ONE,) * shift.rank)
        shift = _map("where", _map("isfinite", shift), shift, nothing)
    return _map("sub", x, shift)


def _total(terms: Node) -> Node:
    return reduce_node("sum", terms, [-terms.rank])


def _numbers(z: Sizes) -> Node:
    """Numbers of either sign, the same along a range."""
    return _row(tensor("n", (z.k,), (T,)))


def _logarithm(z: Sizes, part: Range | None, positive: bool = True) -> Node:
    powers = _map("exp", _values("x", z, part))
    return _map("log", _map("div", powers, _row(_total(powers)) if positive else _numbers(z)))


def _power(z: Sizes, part: Range | None, fold: str = "max", positive: bool = True) -> Node:
    distance = _distance(_values("x", z, part), fold)
    total = _row(_total(_map("exp", distance))) if positive else _numbers(z)
    return _map("exp", _map("sub", distance, _map("log", total)))


def _less(
    z: Sizes, part: Range | None, fold: str = "max", swapped: bool = False, along: bool = False
) -> Node:
    """Weights times distances, less a number, or numbers along the range."""
    number = _values("n", z, part) if along else _numbers(z)
    distance = _map("sub", _distance(_values("x", z, part), fold), number)
    factors = _values("w", z, part), distance
    return _total(_map("mul", *(factors[::-1] if swapped else factors)))


def _entropy(z: Sizes, part: Range | None, fold: str = "max", of: str = "x") -> Node:
    powers = _map("exp", _distance(_values("x", z, part), fold, guarded=True))
    return _total(_map("mul", powers, _distance(_values(of, z, part), fold)))


def _beside(z: Sizes, make: Make, part: Range | None) -> Pdg:
    """The term in a program that has a range that follows the point."""
    return program(make(z, part), ranged(tensor("o", (), (T,)), *_SO_FAR))


def _of(rule: str, fires: dict[str, tuple[Make, Range]], idle: dict[str, tuple[Make, Range | None]]
        ) -> tuple[Instance, ...]:  # fmt: skip
    name = (f"incremental/{rule}",)
    cases: list[tuple[str, tuple[Make, Range | None], bool]]
    cases = [(label, case, True) for label, case in fires.items()]
    cases += [(label, case, False) for label, case in idle.items()]
    return tuple(
        Instance(f"{rule} {label}", partial(_beside, make=make, part=part),
                 name if is_it else (), () if is_it else name)
        for label, (make, part), is_it in cases
    )  # fmt: skip


ENTROPIES = (
    *_of("log-of-quotient",
         {"so far": (_logarithm, _SO_FAR)},
         {"by any number": (partial(_logarithm, positive=False), _SO_FAR)}),
    *_of("power-of-log",
         {"so far": (_power, _SO_FAR)},
         {"of any number": (partial(_power, positive=False), _SO_FAR),
          "with another shift": (partial(_power, fold="min"), _SO_FAR),
          "of three": (_power, None)}),
    *_of("number-leaves",
         {"so far": (_less, _SO_FAR), "swapped": (partial(_less, swapped=True), _TO_COME)},
         {"along the range": (partial(_less, along=True), _SO_FAR),
          "with another shift": (partial(_less, fold="min"), _SO_FAR),
          "before": (_less, _BEFORE),
          "of three": (_less, None)}),
    *_of("sum-of-entropies",
         {"so far": (_entropy, _SO_FAR), "to come": (_entropy, _TO_COME)},
         {"before": (_entropy, _BEFORE),
          "with another shift": (partial(_entropy, fold="min"), _SO_FAR),
          "of others": (partial(_entropy, of="v"), _SO_FAR)}),
)  # fmt: skip
