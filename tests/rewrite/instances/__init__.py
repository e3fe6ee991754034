"""For every rule the smallest programs on which it must fire, and on which it must not."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import cast

from tests.rewrite.instances import (
    affine,
    algebra,
    decaying_spread,
    domain,
    elements,
    entropies,
    factors,
    fuse,
    history,
    incremental,
    masks,
    matmul,
    matrices,
    online,
    outer,
    places,
    ranges,
    sliding,
    spread,
    sums_of_products,
    tiles,
    vectorize,
    view,
    weighted,
    weights,
)
from tests.rewrite.instances.instance import Instance

_MODULES = (
    vectorize,
    incremental,
    history,
    outer,
    places,
    ranges,
    spread,
    online,
    sliding,
    tiles,
    weighted,
    weights,
    matrices,
    masks,
    affine,
    factors,
    view,
    matmul,
    sums_of_products,
    fuse,
    decaying_spread,
    domain,
    elements,
    entropies,
    algebra,
)


@cache
def every_instance() -> tuple[Instance, ...]:
    """All instances, in the order in which they are written."""
    return tuple(found for module in _MODULES for found in _of(vars(module).values()))


def _of(values: Iterable[object]) -> Iterable[Instance]:
    """The instances among the values of a module, and those in its tuples."""
    for value in values:
        found = cast(tuple[object, ...], value if isinstance(value, tuple) else (value,))
        yield from (v for v in found if isinstance(v, Instance))


def where_fires(rule: str) -> tuple[Instance, ...]:
    """The instances on which a rule must fire."""
    return tuple(i for i in every_instance() if rule in i.fires)


def where_idle(rule: str) -> tuple[Instance, ...]:
    """The instances on which a rule must not fire."""
    return tuple(i for i in every_instance() if rule in i.idle)
