"""Whether the facts of a rule hold in an example: what `when` says, checked in every point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from ostinato.pdg.functions import fold_unit
from ostinato.pdg.node import Dtype
from ostinato.rewrite.relations.meanings import EXACT, ROUNDED
from ostinato.rewrite.relations.sexpr import Tree
from ostinato.rewrite.terms.signature import SIGNATURE
from tests.rewrite.wrong.relations import about_ranges, is_line
from tests.rewrite.wrong.world import Missing, Point, World

_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}
_BEYOND = 2  # steps outside of the box at which dependence is looked for too


def holds(world: World, fact: Tree) -> bool:
    """Whether a fact holds; a name that it defines is added to the example."""
    assert isinstance(fact, tuple), f"no fact: {fact}"
    op, *fields = fact
    match str(op), fields:
        case "=", [a, b]:
            return _equal(world, a, b)
        case "!=", [a, b]:
            return not _equal(world, a, b)
        case ("<" | "<=" | ">" | ">=") as word, [a, b]:
            return _ORDER[word](world.number(a), world.number(b))
        case "axis", [x, k, size]:
            return _has_axis(world, x, world.number(k), size)
        case _:
            return _related(world, str(op), fields)


def _equal(world: World, a: Tree, b: Tree) -> bool:
    match a, b:
        case _, ("value", x):
            return bool(np.all(world.value(x, world.point) == float(str(a))))
        case _, ("dtype", x):
            dtype = str(world.value(x, world.point).dtype)
            return world.text(a) == dtype if str(a).startswith('"') else bool(dtype)
        case ("cons", *_), ("shape", x):
            listed = _listed(a)
            rank = len(world.value(x, world.point).shape)
            pairs = enumerate(reversed(listed), 1)
            return rank == len(listed) and all(_has_axis(world, x, k, size) for k, size in pairs)
        case _, ("shape", _) | ("nil",):
            return world.shapes.setdefault(str(a), world.shape(b)) == world.shape(b)
        case ("shape", _), ("shape", _):
            return world.shape(a) == world.shape(b)
        case str(), (("size" | "length"), _):
            return world.numbers.setdefault(a, world.size(b)) == world.size(b)
        case str(), ("full", d):
            extent = world.extents[world.dim(d)]
            return all(world.ranges[a](p) == range(extent) for p in world.box())
        case str(), ("self", d):
            return all(world.indices[a](p) == p[world.dim(d)] for p in world.box())
        case str(), ("shifted", d, s, by):
            return _shifted(world, a, (world.dim(d), str(s), str(by)))
        case 0, ("&", dims, (about, x)) if about in _DEPENDS:
            return not world.number(dims) & _dependence(world, str(about), x)
        case str(), (op, *_) if op in SIGNATURE:
            world.terms[a] = b
            return True
        case str(), _ if a not in world.numbers and a not in world.extents:
            world.numbers[a] = world.number(b)
            return True
        case _:
            return world.number(a) == world.number(b)


_DEPENDS = frozenset(("dom", "sdom", "mask", "hmask", "zmask", "free", "gap"))


def _dependence(world: World, about: str, x: Tree) -> int:
    """The dimensions along which a value, its shape, or an index changes, as bits."""
    if about in ("hmask", "zmask", "gap"):
        return 0  # the shapes of an example are numbers, and its values exist
    if about == "free":
        return (1 << len(world.extents)) - 1
    return sum(
        world.bit(dim)
        for dim in world.extents
        if any(_changes(world, about, (x, dim), p) for p in world.box())
    )


def _changes(world: World, about: str, of: tuple[Tree, str], point: Point) -> bool:
    x, dim = of
    found: set[object] = set()
    for step in range(-_BEYOND, world.extents[dim] + _BEYOND):
        try:
            found.add(_seen(world, about, x, {**point, dim: step}))
        except Missing:
            continue
    return len(found) > 1


def _seen(world: World, about: str, x: Tree, point: Point) -> object:
    name = str(x)
    if about == "mask":
        for table in (world.ranges, world.indices, world.conditions):
            if name in table:
                return table[name](point)
        raise AssertionError(f"no index expression: {name}")
    value = world.value(x, point)
    return value.shape if about == "sdom" else (value.shape, value.tobytes())


def _listed(shape: Tree) -> list[Tree]:
    match shape:
        case ("cons", size, rest):
            return [size, *_listed(rest)]
        case _:
            return []


def _has_axis(world: World, x: Tree, k: int, size: Tree) -> bool:
    shape = world.value(x, world.point).shape
    if not 1 <= k <= len(shape):
        return False
    inner = size[1] if isinstance(size, tuple) and size[0] == "size" else size
    if isinstance(inner, str):
        world.numbers.setdefault(inner, shape[-k])
    return bool(shape[-k] == world.size(size))


def _shifted(world: World, name: str, by: tuple[str, str, str]) -> bool:
    dim, part, index = by
    gaps = {world.indices[index](p) - p[dim] for p in world.box()}
    if len(gaps) != 1:
        return False
    (gap,) = gaps
    return all(
        list(world.ranges[name](p)) == [k + gap for k in world.ranges[part](p)] for p in world.box()
    )


def _related(world: World, op: str, fields: Sequence[Tree]) -> bool:
    names = [str(f) for f in fields]
    match op, names:
        case (("exactly" | "rounded"), [f, g]):
            known = EXACT if op == "exactly" else ROUNDED
            return known.get(world.text(f)) == world.text(g)
        case "empty", [f, _, u]:
            nothing = world.value(u, world.point)
            return bool(nothing == fold_unit(world.text(f), cast(Dtype, nothing.dtype.name)))
        case (("unit" | "zero"), [_, u]):
            return float(world.value(u, world.point)) == (op == "unit")
        case "ones", [_, h]:
            ones = (1,) * world.number(fields[0])
            return world.shapes.setdefault(h, ones) == ones
        case "real_cast", [f]:
            return world.text(f).startswith("cast:float")
        case "counts", [c, _]:
            size = world.size(fields[1])
            return np.array_equal(world.value(c, world.point), np.arange(size))
        case "indicator", [c, m]:
            return all(bool(world.value(m, p)) == world.conditions[c](p) for p in world.box())
        case "set", _:
            (what, x), value = cast(tuple[str, Tree], fields[0]), fields[1]
            return _is_set(world, what, x, value)
        case "factor", [e, _]:
            return world.text(e) == str(world.value(fields[1], world.point).dtype)
        case "define", _:
            return _defines(world, names[0], fields[2])
        case (("scaled" | "affine"), [r, *_]):
            return all(is_line(world, r, fields[1:], p) for p in world.box())
        case (("rows" | "columns"), [m, d, _, y]):
            return _has_lines(world, op, m, (world.dim(d), y))
        case "either", _:
            _, z, *operands = fields
            applied = world.value(("map2", fields[0], *operands), world.point)
            return np.array_equal(world.value(z, world.point), applied)
        case (("growing" | "live"), [_]):
            return True
        case _:
            return about_ranges(world, op, names)


def _is_set(world: World, what: str, x: Tree, value: Tree) -> bool:
    """Whether what a rule writes down of a term is so."""
    match what:
        case "shape":
            return world.shape(("shape", x)) == world.shape(value)
        case "rank":
            return world.number(("rank", x)) == world.number(value)
        case "value":
            return bool(np.all(world.value(x, world.point) == float(str(value))))
        case "dom":
            return not _dependence(world, "dom", x) & ~world.number(value)
        case _:
            raise AssertionError(f"nobody sets {what}")


def _defines(world: World, rec: str, term: Tree) -> bool:
    """Whether a recurrence of one case is what the case says, in every point of the box."""
    return all(
        np.array_equal(world.value(("rec", rec), p), world.value(term, p)) for p in world.box()
    )


def _has_lines(world: World, what: str, x: str, lines: tuple[str, Tree]) -> bool:
    """Whether a matrix has lines, each of which is given as a column."""
    dim, line = lines
    points = ({**world.point, dim: k} for k in range(world.extents[dim]))
    found = np.stack([world.value(line, p)[:, 0] for p in points])
    return np.array_equal(world.value(x, world.point), found if what == "rows" else found.T)
