"""Which loops carry statements: the dims along which what needs itself reads other points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ostinato.codegen.ir.ending_masks import never_returns
from ostinato.codegen.ir.system import Load, Statement
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.scc import closed, components_with


def carried_dims(statements: Mapping[str, Statement]) -> dict[str, frozenset[Dim]]:
    """For every statement the dims along which its component reads other points.

    What an outer loop carries binds no dim inside it: all rows of the step before may be read.
    """
    return {
        name: frozenset(dims)
        for group, inner in _components(frozenset(statements), _reads(statements))
        for dims in [_carriers(group, inner)]
        for name in group
    }


class Read(NamedTuple):
    """A read between two statements: along which dims, and how far back where that is fixed."""

    reader: str
    tensor: str
    back: Mapping[Dim, int | None]


def _reads(statements: Mapping[str, Statement]) -> list[Read]:
    return [
        Read(name, load.tensor, _back(load, statements[load.tensor], s))
        for name, s in statements.items()
        for load in s.reads
    ]


def _back(load: Load, producer: Statement, reader: Statement) -> dict[Dim, int | None]:
    out: dict[Dim, int | None] = {}
    for d, e in zip(producer.result_dims, load.dims, strict=True):
        here = e.as_dim() == d  # nearly always
        gap = expr(0) if here else expr(d) - e
        out[d] = gap.const if gap.is_const and d in reader.dims else None
    return out


def _components(names: frozenset[str], reads: Sequence[Read]) -> list[tuple[list[str], list[Read]]]:
    """Statements that need each other, with the reads between them."""
    return components_with(sorted(names), reads, lambda r: (r.tensor, r.reader))


def _carriers(group: Sequence[str], reads: Sequence[Read]) -> set[Dim]:
    """The dims of the loops that carry a component, from the outermost one inwards."""
    moved = {d: None for r in reads for d, back in r.back.items() if back != 0}
    for dim in moved:
        backs = [back for r in reads if (back := r.back.get(dim)) is not None]
        for sign in (1, -1) if len(backs) == len(reads) else ():
            gaps = [back * sign for back in backs]
            if min(gaps) < 0 or not any(gaps):
                continue
            rest = [r for r, gap in zip(reads, gaps, strict=True) if not gap]
            inner = (_carriers(*part) for part in _components(frozenset(group), rest))
            return {dim}.union(*inner)
    return set(moved)


def serial_dims(
    statements: Mapping[str, Statement], carried: Mapping[str, frozenset[Dim]]
) -> frozenset[Dim]:
    """The dims whose every step waits for a fold over rows, such as training iterations.

    Nested loops, such as minibatches in epochs, count with a fold of any kind. Such loops are the
    outermost ones: what is computed inside them needs no history of the run, and its results can be
    read while it runs. So nothing is tiled along them; nor along those that end for all rows at a
    step which their own values decide, such as iterations up to convergence: what is computed
    apart from such a loop would be computed for the steps after its end too.
    """
    out = set(_ending_dims(statements, carried))
    for name, s in statements.items():
        if s.reduced & (s.lanes - carried[name]) or (s.reduced and len(carried[name]) > 1):
            out |= carried[name]
    return frozenset(out)


def _ending_dims(
    statements: Mapping[str, Statement], carried: Mapping[str, frozenset[Dim]]
) -> Iterator[Dim]:
    """The dims along which a mask of all rows ends what it is computed from."""
    for mask in statements.values():
        if mask.kind == "map" and mask.dtype == "bool" and len(mask.result_dims) == 1:
            (dim,) = mask.result_dims
            if dim in carried[mask.name] and never_returns(statements, mask, dim):
                needed = _needed(statements, mask.name)
                if any(dim in carried[n] and statements[n].dtype != "bool" for n in needed):
                    yield dim


def _needed(statements: Mapping[str, Statement], name: str) -> frozenset[str]:
    """What a statement is computed from, itself included."""
    return frozenset(closed([name], lambda n: (x.tensor for x in statements[n].reads)))
