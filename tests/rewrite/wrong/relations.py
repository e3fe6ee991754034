"""Relations between ranges, indices, conditions and recurrences, looked up in an example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ostinato.rewrite.relations.sexpr import Tree
from tests.rewrite.wrong.world import Missing, Point, World, array


def about_ranges(world: World, op: str, names: Sequence[str]) -> bool:
    """Relations that say where a range begins or ends, or where a condition holds."""
    dim = world.dim(names[0])
    extent = world.extents.get(dim, 0)

    def part(point: Point) -> range:
        return world.ranges[names[1]](point)

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
        case _:
            return _about_points(world, op, names)


def _about_points(world: World, op: str, names: Sequence[str]) -> bool:
    points = list(world.box())
    match op, names:
        case "everywhere", [c]:
            return all(map(world.conditions[c], points))
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
        case (("halved" | "overlapping" | "moved"), [d, s, p, a, c, *more]):
            return all(_covers(world, op, (d, s, p, a, c), more, point) for point in points)
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


def _covers(
    world: World,
    op: str,
    names: tuple[str, str, str, str, str],
    more: Sequence[str],
    point: Point,
) -> bool:
    """Whether a window is the one at another point, or is that and the one at the point.

    ``more``: the index of a further step, and the condition without which it has that.
    """
    d, s, p, a, c = names
    there = {**point, world.dim(d): world.indices[a](point)}
    other = list(world.ranges[p](there)) if world.conditions[c](point) else []
    here = [] if op == "moved" else list(world.ranges[p](point))
    both = other + here
    if more and not world.conditions[more[1]](point):
        both.append(world.indices[more[0]](point))
    exact = op != "halved" or len(set(both)) == len(both)
    return exact and sorted(set(both)) == list(world.ranges[s](point))


def _about_recurrences(world: World, op: str, names: Sequence[str]) -> bool:
    match op, names:
        case "neighbour", [_, d, i, b]:
            by = 1 if world.numbers[b] else -1
            return all(world.indices[i](p) == p[world.dim(d)] + by for p in world.box())
        case "only", [c, d, b]:
            dim = world.dim(d)
            begin = world.extents[dim] - 1 if world.numbers[b] else 0
            held = [p for p in world.box() if world.conditions[c](p)]
            at_first = all(world.conditions[c](p) for p in world.box() if p[dim] == begin)
            return at_first and all(p[dim] == begin for p in held)
        case "body", [r, c, s, y]:
            return _is_body(world, r, ("case", c, s, y))
        case (("clear" | "some"), [_, _]):
            return True
        case "gone", [_, y]:
            return not np.any(world.value(y, world.point))
        case "batch", [r, d, q]:
            return _is_batch(world, r, world.dim(d), q)
        case _:
            raise AssertionError(f"no fact: {op} {' '.join(names)}")


def _is_body(world: World, rec: str, case: Tree) -> bool:
    return all(
        np.array_equal(world.value(("rec", rec), p), world.value(case, p)) for p in world.box()
    )


def _is_batch(world: World, rec: str, dim: str, twin: str) -> bool:
    for p in world.box():
        rows = [world.value(("rec", rec), {**p, dim: k}) for k in range(world.extents[dim])]
        if not np.array_equal(np.stack(rows), array(world.value(("rec", twin), p))):
            return False
    return True


def is_line(world: World, rec: str, fields: Sequence[Tree], point: Point) -> bool:
    """Whether ``y = g x'``, or ``y = a + g x'``, where there is a step before."""
    y, g, *terms = fields
    try:
        found = world.value(g, point) * world.value(world.terms[f"{rec}'"], point)
        for a in terms:
            found = world.value(a, point) + found
        return bool(np.allclose(world.value(y, point), found))
    except Missing:
        return True
