"""Whether the facts of a rule hold in an example: what `when` says, checked in every point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from ostinato.pdg.functions import fold_unit
from ostinato.pdg.node import Dtype
from ostinato.rewrite.lang import SIGNATURE
from ostinato.rewrite.prove.text import Tree
from ostinato.rewrite.ranges import EXACT, ROUNDED
from tests.rewrite.wrong.world import Missing, Point, World, array

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
        case (("axis" | "axes2"), [x, *_]):
            return _has_axes(world, str(op), x, fields[1:])
        case _:
            return _related(world, str(op), fields)


def _equal(world: World, a: Tree, b: Tree) -> bool:
    match a, b:
        case _, ("value", x):
            return bool(np.all(world.value(x, world.point) == float(str(a))))
        case _, ("dtype", x):
            dtype = str(world.value(x, world.point).dtype)
            return world.text(a) == dtype if str(a).startswith('"') else bool(dtype)
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


def _has_axes(world: World, op: str, x: Tree, named: Sequence[Tree]) -> bool:
    shape = world.value(x, world.point).shape
    axes = [(world.number(named[0]), named[1])] if op == "axis" else None
    for k, size in axes or [(2, named[0]), (1, named[1])]:
        if not 1 <= k <= len(shape) or (op == "axes2" and len(shape) != 2):
            return False
        inner = size[1] if isinstance(size, tuple) and size[0] == "size" else size
        if isinstance(inner, str):
            world.numbers.setdefault(inner, shape[-k])
        if shape[-k] != world.size(size):
            return False
    return True


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
            return world.value(c, world.point).tolist() == list(range(size))
        case "indicator", [c, m]:
            return all(bool(world.value(m, p)) == world.conditions[c](p) for p in world.box())
        case (("growing" | "live"), [_]):
            return True
        case _:
            return _about_ranges(world, op, names)


def _about_ranges(world: World, op: str, names: Sequence[str]) -> bool:
    """Relations that say where a range begins or ends, or where a condition holds."""
    dim = world.dim(names[0])
    extent = world.extents.get(dim, 0)
    part = (lambda p: world.ranges[names[1]](p)) if len(names) > 1 else (lambda p: range(0))
    points = list(world.box())
    match op, names:
        case "prefix", [_, _]:
            return all(part(p) == range(p[dim] + 1) for p in points)
        case "suffix", [_, _]:
            return all(part(p) == range(p[dim], extent) for p in points)
        case "rest", [_, _]:
            return all(part(p) == range(p[dim] + 1, extent) for p in points)
        case "shortened", [_, _]:
            return all(part(p) == range(p[dim], extent - 1) for p in points)
        case "but_last", [_, _]:
            return all(part(p) == range(extent - 1) for p in points)
        case "start", [_, _]:
            return all(part(p).start == 0 for p in points)
        case (("within" | "box"), [_, _]):
            return all(0 <= k < extent for p in points for k in part(p))
        case (("until" | "always_until"), [_, _, a, *conds]):
            ends = [world.indices[a](p) for p in points]
            sure = all(
                list(part(p)) == list(range(e + 1)) for p, e in zip(points, ends, strict=True)
            )
            return sure and _as_said(world, conds, [e >= 0 for e in ends])
        case (("from" | "always_from"), [_, _, a, *conds]):
            ends = [world.indices[a](p) for p in points]
            sure = all(
                list(part(p)) == list(range(e, extent)) for p, e in zip(points, ends, strict=True)
            )
            return sure and _as_said(world, conds, [e < extent for e in ends])
        case _:
            return _about_points(world, op, names)


def _as_said(world: World, conds: Sequence[str], held: Sequence[bool]) -> bool:
    """Whether the conditions hold where they should; everywhere, if there is none."""
    said = [[world.conditions[c](p) for p in world.box()] for c in conds]
    return all(found == list(held) for found in said) if said else all(held)


def _about_points(world: World, op: str, names: Sequence[str]) -> bool:
    points = list(world.box())
    match op, names:
        case "both", [c, a, b]:
            conditions = world.conditions
            return all(conditions[c](p) == (conditions[a](p) and conditions[b](p)) for p in points)
        case "pins", [c, d, i]:
            dim = world.dim(d)
            return all(p[dim] == world.indices[i](p) for p in points if world.conditions[c](p))
        case (("holds_low" | "holds_high"), [c, d, s, p, q]):
            return _is_cut(world, op, (c, d, s, p, q))
        case (("before" | "after"), [d, b, k]):
            return _is_beside(world, op, (world.dim(d), b, k))
        case (("doubled" | "overlapping" | "moved"), [d, s, p, a, c]):
            return all(_covers(world, op, (d, s, p, a, c), point) for point in points)
        case _:
            return _about_recurrences(world, op, names)


def _is_beside(world: World, op: str, names: tuple[str, str, str]) -> bool:
    dim, index, cond = names
    by, extent = (1 if op == "after" else -1), world.extents[dim]
    steps = [(p[dim] + by, p) for p in world.box()]
    return all(
        world.indices[index](p) == to and world.conditions[cond](p) == (0 <= to < extent)
        for to, p in steps
    )


def _is_cut(world: World, op: str, names: tuple[str, str, str, str, str]) -> bool:
    cond, d, whole, low, high = names
    dim, ok = world.dim(d), True
    for p in world.box():
        parts = [list(world.ranges[name](p)) for name in (whole, low, high)]
        first = [k for k in parts[0] if world.conditions[cond]({**p, dim: k})]
        ok &= parts[0] == parts[1] + parts[2] and first == parts[1 + (op == "holds_high")]
    return ok


def _covers(world: World, op: str, names: tuple[str, str, str, str, str], point: Point) -> bool:
    """Whether a window is the one at another point, or is that and the one at the point."""
    d, s, p, a, c = names
    there = {**point, world.dim(d): world.indices[a](point)}
    other = list(world.ranges[p](there)) if world.conditions[c](point) else []
    here = [] if op == "moved" else list(world.ranges[p](point))
    both = other + here
    exact = op != "doubled" or len(set(both)) == len(both)
    return exact and sorted(set(both)) == list(world.ranges[s](point))


def _about_recurrences(world: World, op: str, names: Sequence[str]) -> bool:
    match op, names:
        case "neighbour", [_, d, i, b]:
            by = 1 if world.numbers[b] else -1
            return all(world.indices[i](p) == p[world.dim(d)] + by for p in world.box())
        case (("first" | "only"), [c, d, b]):
            dim = world.dim(d)
            begin = world.extents[dim] - 1 if world.numbers[b] else 0
            held = [p for p in world.box() if world.conditions[c](p)]
            at_first = all(world.conditions[c](p) for p in world.box() if p[dim] == begin)
            return at_first and (op == "first" or all(p[dim] == begin for p in held))
        case "body", [r, c, s, y]:
            return _is_body(world, r, ("case", c, s, y))
        case (("clear" | "some"), [_, _]):
            return True
        case "gone", [_, y]:
            return not np.any(world.value(y, world.point))
        case (("scaled" | "affine"), [r, y, *parts]):
            return all(_is_line(world, r, y, parts, p) for p in world.box())
        case "batch", [r, d, q]:
            return _is_batch(world, r, world.dim(d), q)
        case _:
            raise AssertionError(f"no fact: {op} {' '.join(names)}")


def _is_body(world: World, rec: str, case: Tree) -> bool:
    return all(
        np.array_equal(world.value(("rec", rec), p), world.value(case, p)) for p in world.box()
    )


def _is_line(world: World, rec: str, y: str, parts: Sequence[str], point: Point) -> bool:
    """Whether ``y = g x'``, or ``a + g x'``, where there is a step before."""
    try:
        before = world.terms[f"{rec}'"]
        found = world.value(parts[0], point) * world.value(before, point)
        if len(parts) == 2:
            found = world.value(parts[1], point) + found
        return bool(np.allclose(world.value(y, point), found))
    except Missing:
        return True


def _is_batch(world: World, rec: str, dim: str, twin: str) -> bool:
    for p in world.box():
        rows = [world.value(("rec", rec), {**p, dim: k}) for k in range(world.extents[dim])]
        if not np.array_equal(np.stack(rows), array(world.value(("rec", twin), p))):
            return False
    return True
