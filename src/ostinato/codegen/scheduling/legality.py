"""The proof of a schedule: every value is computed before it is read, parallel loops are parallel.

A statement's point is executed at its time vector: the place among siblings, the loop value, the
place in its body, and so on. Dependences at a constant distance are decided by that distance alone;
for all others isl shows that the whole relation goes from earlier to later times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.codegen.ir.tree import Fill, Loop, Path, Time, Tree, computed, leaves
from ostinato.codegen.scheduling.deps import Dep, Unit
from ostinato.pdg.index import Dim, Expr, expr

if TYPE_CHECKING:
    from ostinato.pdg.isl import Relation


@dataclass(frozen=True)
class Moment:
    """Where a statement runs: the loops around it, and its time as constants and loops."""

    path: Path
    time: Time


def moments(trees: Sequence[Tree]) -> dict[str, Moment]:
    """The moment of every statement; statements of a nest follow each other."""
    out: dict[str, Moment] = {}
    for leaf, path, time in leaves(tuple(trees)):
        if not isinstance(leaf, Fill):
            for place, name in enumerate(computed(leaf)):
                out[name] = Moment(path, (*time, place))
    return out


def check_schedule(
    trees: Sequence[Tree], units: Sequence[Unit], deps: Sequence[Dep], by_isl: bool = False
) -> None:
    """Raise AssertionError where a schedule breaks a dependence: that is a bug of the planner.

    With ``by_isl`` isl answers also where constant distances prove it.
    """
    when = moments(trees)
    for unit in units:
        for statement in unit.statements:
            check_folds(statement.name, statement.reduced, when[statement.name].path)
    for dep in deps:
        if by_isl or not is_evident(dep, when):
            check_relation(dep, when)


def check_folds(name: str, reduced: frozenset[Dim], path: Path) -> None:
    for loop in path:
        parallel = loop.parallel and loop.dim in reduced
        assert not parallel, f"{name} is folded along the parallel loop {loop.dim}"


def shared_loops(dep: Dep, when: Mapping[str, Moment]) -> list[Loop]:
    """The loops around both ends of a dependence."""
    out: list[Loop] = []
    for a, b in zip(when[dep.reader.name].path, when[dep.tensor].path, strict=False):
        if a is not b:
            break
        out.append(a)
    return out


def is_evident(dep: Dep, when: Mapping[str, Moment]) -> bool:
    """Whether constant distances alone prove the dependence."""
    if not dep.is_quick:
        return False
    for loop in shared_loops(dep, when):
        lo, hi = dep.gap(loop.dim)
        if lo is None or lo != hi:
            return False
        step = -lo if loop.reverse else lo
        if step:
            return step > 0 and not loop.parallel
    return _places(when[dep.tensor].time) < _places(when[dep.reader.name].time)


def _places(time: Time) -> list[int]:
    """The constants of a time: they order two statements where their shared loops agree."""
    return [place for place in time if isinstance(place, int)]


def check_relation(dep: Dep, when: Mapping[str, Moment]) -> None:
    """Prove with isl that the relation goes forward in time and crosses no parallel loop."""
    from ostinato.pdg import isl

    reader, tensor = when[dep.reader.name], when[dep.tensor]
    length = max(len(reader.time), len(tensor.time))
    later = schedule_map(dep.consumer.dims, reader, length)
    earlier = schedule_map(dep.producer.dims, tensor, length)
    relation = dep.relation
    timed = relation.map_in(later).then(earlier)
    text = f"{dep.reader.name} reads {dep.tensor}[{', '.join(map(str, dep.load.dims))}]"
    assert timed.is_subset(isl.lex_later(length)), f"{text} before it is computed"
    for loop in shared_loops(dep, when):
        if loop.parallel:
            crossing = tuple(relation.distance(loop.dim)) != (0, 0)
            assert not crossing, f"{text} across the parallel loop {loop.dim}"
        relation = relation.same(loop.dim)


def schedule_map(
    dims: tuple[Dim, ...], moment: Moment, length: int, turned: bool = False
) -> Relation:
    """The relation from points to times, padded to a length; ``turned``: tiles in reverse."""
    from ostinato.pdg import isl

    exprs: list[Expr] = []
    for place in moment.time:
        if isinstance(place, Loop):
            is_down = place.reverse != (turned and place.parallel)
            exprs.append(-expr(place.dim) if is_down else expr(place.dim))
        else:
            exprs.append(expr(place))
    exprs += [expr(0)] * (length - len(exprs))
    return isl.relation(dims, isl.lex_later(length).ins, exprs)
