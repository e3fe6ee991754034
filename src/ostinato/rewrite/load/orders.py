"""Orders of axes as rows: where one axis goes, and in which order the others are."""

from __future__ import annotations

from ostinato.rewrite.engine.egglog_session import Row
from ostinato.rewrite.load.tables import Tables

Order = tuple[int, ...]
PAIR: Order = (-1, -2)  # the last two axes exchanged, which has an operator of its own


def around(order: Order, p: int) -> tuple[int, Order]:
    """Where axis ``-p`` is after a permutation, and the order of the axes without it.

    >>> around((-2, -3, -1), 3)
    (2, ())
    >>> around((-3, -1, -2), 3)
    (3, (-1, -2))
    """
    rest = [a if a > -p else a + 1 for a in order if a != -p]
    while rest and rest[0] == -len(rest):
        rest.pop(0)  # it stays in front
    return len(order) - order.index(-p), tuple(rest)


def order_rows(tables: Tables) -> dict[str, list[Row]]:
    """Rows about all permutations, and about those of fewer axes that are left of them."""
    out: dict[str, list[Row]] = {"around": [], "around_pair": [], "around_alone": []}
    for number, order in enumerate(tables.attributes):  # which grow meanwhile
        if not isinstance(order, tuple) or not order or not isinstance(order[0], int):
            continue
        axes = tables.permutation(number)
        for p in range(1, len(axes) + 1):
            to, rest = around(axes, p)
            if not rest:
                out["around_alone"].append((number, p, to))
            elif rest == PAIR:
                out["around_pair"].append((number, p, to))
            else:
                out["around"].append((number, p, to, tables.id(rest)))
    return out
