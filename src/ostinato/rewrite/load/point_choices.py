"""What rules may ask about choices on the point: conditions as tensors, what is known early."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ostinato.pdg.condition import Compare, Cond, Every
from ostinato.pdg.index import Slice, expr, minimum
from ostinato.pdg.node import Case, Host, Node, postorder
from ostinato.pdg.truth import truth
from ostinato.rewrite.load.defined_along import may_miss, partial_below
from ostinato.rewrite.load.dependence import Reaches, contained
from ostinato.rewrite.load.tables import Loaded, threshold


def add_choices(
    loaded: Loaded, reach: Mapping[Node, Reaches], add_node: Callable[[Node], None]
) -> None:
    """Rows for the choices of a program."""
    _add_truths(loaded, add_node)
    _add_known(loaded, reach)


def _add_truths(loaded: Loaded, add_node: Callable[[Node], None]) -> None:
    """For choices between values: the condition as a tensor, and where the values are defined."""
    calls = _calling(loaded)
    for node in [n for n in loaded.ids if isinstance(n.op, Case) and n not in calls]:
        assert isinstance(node.op, Case), f"{node} is no choice"
        for arg in node.args:
            gap = loaded.tables.dims if may_miss(arg) else loaded.partial[arg]
            loaded.row("raw_gap", loaded.ids[arg], loaded.tables.mask(gap))
        for cond in _parts(node.op.cond):
            value = truth(cond)
            if value is None:
                continue
            for x in postorder((value,)):
                if x not in loaded.ids:
                    add_node(x)
            loaded.row("raw_indicator", loaded.tables.id(cond), loaded.ids[value])


def _add_known(loaded: Loaded, reach: Mapping[Node, Reaches]) -> None:
    """Choices of what is known on the first steps of a dimension, before any recurrence runs."""
    tables = loaded.tables
    for node in list(loaded.ids):
        cond = node.op.cond if isinstance(node.op, Case) else None
        found = threshold(cond) if isinstance(cond, Compare) else None
        if cond is None or found is None or not found[2]:
            continue
        (dim, end, _), first = found, node.args[0]
        bound = loaded.carried.get(dim, 0) & contained(reach.get(first, {}))
        if bound or dim not in first.domain or end.dims or end.is_const:
            continue
        if dim not in partial_below(first, dim, end, loaded.partial):
            part = Slice(expr(0), minimum(end, dim.extent))
            row = (tables.id(cond), tables.bit(dim), tables.id(part))
            loaded.row("raw_known", loaded.ids[first], *row)


def _calling(loaded: Loaded) -> set[Node]:
    """Values that Python functions compute: these run only where they are asked for."""
    out: set[Node] = set()
    for node in loaded.ids:
        if isinstance(node.op, Host) or any(a in out for a in node.args):
            out.add(node)
    return out


def _parts(cond: Cond) -> tuple[Cond, ...]:
    """A condition with the members of a conjunction that rules take apart."""
    return (cond, *cond.of) if isinstance(cond, Every) and len(cond.of) == 2 else (cond,)
