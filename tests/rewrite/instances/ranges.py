"""Instances of the family incremental: folds over ranges that begin or end at any point."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import map_node, reduce_node
from ostinato.pdg.index import ExprLike, expr, maximum, minimum
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged, rows
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

Range = tuple[ExprLike, ExprLike]
_HERE, _END = expr(T), expr(T.extent)


def _folded(z: Sizes, fold: str, part: Range) -> Node:
    x = rows(z)
    if fold in ("any", "all"):
        x = map_node("gt", [x, tensor("y", (z.k,))])
    return reduce_node(fold, ranged(x, *part), [-2])


def _folds(z: Sizes, folds: tuple[str, ...], part: Range) -> Pdg:
    return program(*(_folded(z, fold, part) for fold in folds))


def _others(z: Sizes, folds: tuple[str, ...], part: Range) -> Pdg:
    """Folds of the other group, of a value without t, over the other axis, and positions."""
    fixed = (reduce_node(f, ranged(tensor("w", (z.k,)), *part), [-2]) for f in ("max", "sum"))
    inner = (reduce_node(f, ranged(rows(z), *part), [-1]) for f in ("max", "sum"))
    place = reduce_node("argmax", ranged(rows(z), *part), [-2])
    return program(*(_folded(z, f, part) for f in folds), *fixed, *inner, place)


def _past(steps: int) -> Range:
    return maximum(_HERE - (steps - 1), 0), _HERE + 1


def _coming(steps: int) -> Range:
    return _HERE, minimum(_HERE + steps, _END)


_EXACT, _ROUNDED, _ALL = ("max", "any"), ("sum", "prod"), ("max", "any", "sum", "prod")
_SHAPES: dict[str, tuple[tuple[Range, ...], tuple[str, ...]]] = {
    "running": (
        ((0, _HERE + 1), (_HERE, _END)),
        ("sum", "prod", "max", "min", "any", "all"),
    ),
    "range-elsewhere": (
        (
            *((0, _HERE // 2 + 1), (0, minimum(_HERE + 2, _END)), (0, _HERE), (0, _HERE - 1)),
            *((maximum(_HERE - 1, 0), _END), (_HERE + 1, _END), (_HERE + 2, _END)),
            *((maximum(_HERE - 3, 0), _HERE - 1), (_HERE + 1, minimum(_HERE + 3, _END))),
        ),
        _ALL,
    ),
    "window-overlapping": ((_past(4), _past(5), _coming(7)), _EXACT),
    "window-halved": ((_past(4), _coming(6), _past(5), _coming(7)), _ROUNDED),
}
_BESIDE: Range = (_HERE + 1, minimum(_HERE + 2, _END))  # one step is no window


def _named(rule: str, part: Range, folds: tuple[str, ...]) -> str:
    lo, hi = part
    return f"{' and '.join(folds)} of {lo} to {hi} by {rule}"


def _every(rule: str, parts: tuple[Range, ...], folds: tuple[str, ...]) -> tuple[Instance, ...]:
    """Instances where a law fires; folds, values and ranges of which it says nothing."""
    name = f"incremental/{rule}"
    beside_these: dict[tuple[str, ...], tuple[str, ...]] = {_EXACT: _ROUNDED, _ROUNDED: _EXACT}
    other = beside_these.get(folds, ())
    fires = tuple(
        Instance(_named(rule, p, folds), partial(_folds, folds=folds, part=p), (name,))
        for p in parts
    )
    beside = partial(_others, folds=other, part=parts[0])
    apart = partial(_folds, folds=folds, part=_BESIDE)
    return (
        *fires,
        Instance(f"{_named(rule, parts[0], other)} and others", beside, idle=(name,)),
        Instance(f"{_named(rule, _BESIDE, folds)} beside it", apart, idle=(name,)),
    )


RANGES = tuple(
    found for rule, (parts, folds) in _SHAPES.items() for found in _every(rule, parts, folds)
)
