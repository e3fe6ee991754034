"""Cases that a parallel dimension tells apart become one case whose value chooses by the point.

``h[b < 3, t] = f; h[b, t] = g`` with steps over ``t`` is one definition ``f if b < 3 else g``, so
that all points of ``b`` can advance together. A choice is not strict: nothing is computed, or
read, where it was not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ostinato.pdg.bounds import conjuncts, simplified
from ostinato.pdg.build import case
from ostinato.pdg.condition import ALWAYS, NEVER, Cond, every, negation
from ostinato.pdg.index import Dim
from ostinato.pdg.node import Equation, Host, Node, Pdg, postorder
from ostinato.rewrite.load.components import Chain, Vertex, chains
from ostinato.rewrite.load.defined_along import partial_dims
from ostinato.rewrite.load.dependence import Reaches, reaches

Cases = Sequence[tuple[Cond, Node]]


def batched_cases(pdg: Pdg, _: Mapping[Node, Reaches], found: Mapping[Vertex, Chain]) -> Pdg:
    """The program with cases merged wherever that lets a dimension become an axis.

    No recurrence may be carried by another dimension than before.
    """
    dims = candidates(pdg, found)
    before = directions(found)
    while dims:
        out = merged(pdg, dims)
        partial = partial_dims(out)
        after = directions(chains(out, reaches(out)))
        worse = {name for name, ways in after.items() if not ways <= before[name]}
        kept: dict[str, frozenset[Dim]] = {}
        for name, free in dims.items() if worse <= dims.keys() else ():
            equation = out.equations[name]
            rights = (partial[right] for _, right in equation.cases)
            whole = free.difference(partial[equation.rec], *rights)
            if whole and name not in worse:
                kept[name] = whole
        if kept == dims:
            return out
        dims = kept
    return pdg


def directions(found: Mapping[Vertex, Chain]) -> dict[str, frozenset[tuple[Dim, int]]]:
    """The dimensions that carry each recurrence, and which way."""
    out: dict[str, frozenset[tuple[Dim, int]]] = {}
    for (name, _), chain in found.items():
        out[name] = out.get(name, frozenset()) | {(c.dim, c.sign) for c in chain}
    return out


def candidates(pdg: Pdg, found: Mapping[Vertex, Chain]) -> dict[str, frozenset[Dim]]:
    """Recurrences with conditions on dimensions that carry none of their cases, and these."""
    out: dict[str, frozenset[Dim]] = {}
    for name, equation in pdg.equations.items():
        carried = {c.dim for k in range(len(equation.cases)) for c in found[name, k]}
        carried = carried.union(*(size.dims for size in equation.rec.shape))
        split = {d for cond, _ in equation.cases for d in cond.dims}
        free = frozenset(split & set(equation.rec.domain) - carried)
        if free and not _calls(right for _, right in equation.cases):
            out[name] = free
    return out


def merged(pdg: Pdg, dims: Mapping[str, frozenset[Dim]]) -> Pdg:
    """The program with no condition on these dimensions between the cases of these recurrences."""
    equations = {
        name: _merged(eq, dims[name]) if name in dims else eq for name, eq in pdg.equations.items()
    }
    return replace(pdg, equations=equations)


def _calls(rights: Iterable[Node]) -> bool:
    """Whether a value is the result of a Python function."""
    return any(isinstance(node.op, Host) for node in postorder(tuple(rights)))


def _merged(equation: Equation, dims: frozenset[Dim]) -> Equation:
    outer: dict[Cond, str] = {}  # the part of a condition that stays, and its place
    places = (*equation.where, *("",) * len(equation.cases))
    for (cond, _), where in zip(equation.cases, places, strict=False):
        stays = every(*(c for c in conjuncts(simplified(cond)) if not _mentions(c, dims)))
        outer.setdefault(stays, where)
    last = outer.pop(ALWAYS, None)  # what holds everywhere comes after all others
    conds = (*outer, *([] if last is None else [ALWAYS]))
    cases: list[tuple[Cond, Node, str]] = []
    known: Cond = ALWAYS
    for cond in conds:
        here = simplified(every(known, cond))
        chosen = _chosen(equation.cases, here)
        if chosen is not None:
            cases.append((cond, chosen, outer.get(cond, last or "")))
        known = every(known, negation(cond))
    kept = tuple((cond, right) for cond, right, _ in cases)
    shown = tuple(place for *_, place in cases) if equation.where else ()
    return replace(equation, cases=kept, where=shown)


def _mentions(cond: Cond, dims: frozenset[Dim]) -> bool:
    return bool(cond.symbols & dims)


def _chosen(cases: Cases, known: Cond) -> Node | None:
    """The first case that holds where ``known`` does; None if none can."""
    possible: list[tuple[Cond, Node]] = []
    for cond, right in cases if known != NEVER else ():
        if simplified(every(known, cond)) == NEVER:
            continue
        rest = every(*(c for c in conjuncts(cond) if not _implies(known, c)))
        possible.append((rest, right))
        if rest == ALWAYS:
            break
    if not possible:
        return None
    *earlier, (_, value) = possible
    for cond, right in reversed(earlier):
        value = case(cond, right, value, right.where)
    return value


def _implies(known: Cond, cond: Cond) -> bool:
    return simplified(every(known, negation(cond))) == NEVER
