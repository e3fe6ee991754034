"""What the operators of proofs mean that are about ranges: their means, lags in them, masks."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from ostinato.rewrite.prove.application import Call, Choice, Fold, Less, Number, Value
from ostinato.rewrite.prove.integers import Poly, poly
from ostinato.rewrite.prove.setting import STEPS, Fixed, Point, Setting, Size, one
from ostinato.rewrite.prove.term_operators import (
    Element,
    Tensor,
    broadcast,
    equal_ranks,
    length_of,
    permuted,
    thin,
)
from ostinato.rewrite.relations.sexpr import Tree


class Terms(Protocol):
    """Terms of one setting as tensors."""

    setting: Setting

    def of(self, tree: Tree) -> Tensor: ...


def mean(terms: Terms, dim: Tree, part: Tree, x: Tree) -> Tensor:
    """The mean of a slice, with a leading axis of size 1."""
    total = terms.of(("red", '"sum"', ("<<", 1, ("rank", x)), ("sl", dim, part, x)))
    steps = terms.of(("map1", '"cast:real"', ("steps", part)))
    return Tensor(
        (one(), *total.shape),
        lambda point, at: Call("div", (total.at(point, at[1:]), steps.at(point, ()))),
    )


def ranged(terms: Terms, dim: Tree, part: Tree, axis: int, is_same: bool, x: Tree) -> Tensor:
    """A value at all points of a range along an axis, or one element there, the same for all."""
    place = terms.of(x).rank + 1
    if not is_same:
        return permuted(terms.setting, terms.of(("sl", dim, part, x)), place, axis)
    inner = terms.of(x)
    alone = Tensor((one(), *inner.shape), lambda point, at: inner.at(point, at[1:]))
    return permuted(terms.setting, alone, place, axis)


def progression(terms: Terms, what: str, dim: Tree, part: Tree, g: Tree, u: Tree) -> Tensor:
    """What changes with the lag, the points since an element of a range entered it.

    It is u where it enters, and g more, or g times as much, with every point since then.
    """
    setting, by, start = terms.setting, terms.of(g), terms.of(u)
    kind, axis = setting.known[str(part)]
    sign = 1 if STEPS[kind].gains == "first" else -1  # from the point to where it entered
    equal_ranks([by, start])
    shape = broadcast(setting, [by, start], range(-by.rank, 0))
    is_whole = what == "ramp_of_all"
    whole = Size(axis, fixed=Fixed("extent", axis))

    def lag_of(point: Point, place: Poly) -> Poly:
        first, behind = STEPS[kind].ends(poly(0), point[axis], setting.extent(axis))
        step = place if is_whole else first + place
        return step - first if sign > 0 else behind - 1 - step

    def at(point: Point, element: Element) -> Value:
        rest, lag = tuple(element[1:]), lag_of(point, element[0])
        if what != "decay":
            more = Call("mul", (by.at(point, thin(by, rest)), Number(lag)))
            return Call("add", (start.at(point, thin(start, rest)), more))
        since = setting.fresh(lag)
        there = point.moved(axis, point[axis] + poly(since) * sign)
        entered = point.moved(axis, point[axis] + lag * sign)
        factors = Fold("scan prod", (since,), by.at(there, thin(by, rest)))
        return Call("mul", (start.at(entered, thin(start, rest)), factors))

    return Tensor((whole if is_whole else length_of(setting, str(part)), *shape), at)


def is_kept(setting: Setting, name: str, point: Point, element: Element) -> Value:
    """Whether a position of an axis is in one of the parts that a mask keeps.

    Inside of a fold it is a choice, so that the fold can be cut there.
    """
    axis, parts = setting.masks[name]
    place, spans = element[-axis], [setting.kept(part, point) for part in parts]
    yes, no = Number(Fraction(1)), Number(Fraction(0))
    if any(v.name.startswith("~") for v in place.variables()):
        found: Value = no
        for first, behind in reversed(spans):
            found = Choice(Less(place, first), no, Choice(Less(place, behind), yes, found))
        return found
    gaps = [(Number(place - first), Number(behind - 1 - place)) for first, behind in spans]
    tests = [Call("and", tuple(Call("ge", (gap, no)) for gap in pair)) for pair in gaps]
    return tests[0] if len(tests) == 1 else Call("or", tuple(tests))
