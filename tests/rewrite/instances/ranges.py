"""Instances of the family incremental: folds over ranges that begin or end at any point."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import map_node, reduce_node
from ostinato.pdg.index import Expr, ExprLike, expr, maximum, minimum
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


_GROUPS = {"": ("max", "any"), "-rounded": ("sum", "prod")}
_SHAPES: dict[str, tuple[Range, ...]] = {
    "suffix": ((_HERE, _END),),
    "always-until": ((0, _HERE // 2 + 1), (0, minimum(_HERE + 2, _END))),
    "until": ((0, _HERE), (0, _HERE - 1)),
    "always-from": ((maximum(_HERE - 1, 0), _END),),
    "from": ((_HERE + 1, _END), (_HERE + 2, _END)),
}
_ONE_GROUP: dict[str, tuple[tuple[Range, ...], str]] = {
    "window-overlapping": ((_past(4), _past(5), _coming(7)), ""),
    "window-doubled-rounded": ((_past(4), _coming(6)), "-rounded"),
    "window-lengthened-rounded": ((_past(5), _coming(7)), "-rounded"),
}
_ELSEWHERE: tuple[Range, ...] = (
    (maximum(_HERE - 3, 0), _HERE - 1),
    (_HERE + 1, minimum(_HERE + 3, _END)),
)
_BESIDE: Range = (_HERE + 1, minimum(_HERE + 2, _END))  # one step is no window


def _named(rule: str, part: Range, folds: tuple[str, ...]) -> str:
    lo, hi = part
    return f"{' and '.join(folds)} of {lo} to {hi} by {rule}"


def _pair(rule: str, parts: tuple[Range, ...], group: str) -> tuple[Instance, ...]:
    name, folds = f"incremental/{rule}", _GROUPS[group]
    other = _GROUPS["" if group else "-rounded"]
    fires = tuple(
        Instance(_named(rule, p, folds), partial(_folds, folds=folds, part=p), (name,))
        for p in parts
    )
    beside = partial(_others, folds=other, part=parts[0])
    apart = partial(_folds, folds=folds, part=_BESIDE)
    return (
        *fires,
        Instance(f"{_named(rule, parts[0], other)} of the other group", beside, idle=(name,)),
        Instance(f"{_named(rule, _BESIDE, folds)} beside it", apart, idle=(name,)),
    )


WINDOWS = (
    *(
        found
        for rule, parts in _SHAPES.items()
        for group in _GROUPS
        for found in _pair(f"{rule}{group}", parts, group)
    ),
    *(found for rule, (parts, group) in _ONE_GROUP.items() for found in _pair(rule, parts, group)),
    *(
        Instance(
            _named("elsewhere", part, ("max", "sum")),
            partial(_folds, folds=("max", "sum"), part=part),
            ("incremental/window-elsewhere",),
        )
        for part in _ELSEWHERE
    ),
    Instance(
        "windows at the point",
        partial(_others, folds=("max", "sum"), part=_past(2)),
        idle=("incremental/window-elsewhere",),
    ),
)


def _prefixed(z: Sizes, fold: str, end: Expr) -> Pdg:
    return program(_folded(z, fold, (0, end)))


PREFIXES = tuple(
    found
    for fold in ("any", "all")
    for found in (
        Instance(
            f"{fold} so far",
            partial(_prefixed, fold=fold, end=_HERE + 1),
            (f"incremental/prefix-{fold}",),
        ),
        Instance(
            f"{fold} before",
            partial(_prefixed, fold=fold, end=_HERE),
            idle=(f"incremental/prefix-{fold}",),
        ),
    )
)
