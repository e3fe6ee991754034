"""Build-time checks: every demanded read is inside its domain, every demanded point is covered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostinato.pdg.condition import Cond, at_least, every, some
from ostinato.pdg.demand.demand import MOST_PIECES, Demand, box, read_relation
from ostinato.pdg.errors import CoverageError, DomainError, EquationError, OstinatoError, ShapeError
from ostinato.pdg.index import (
    Dim,
    Expr,
    Extent,
    Extremum,
    Index,
    Slice,
    evaluate,
    expr,
    maximum,
    minimum,
    symbols,
)
from ostinato.pdg.intervals import interval, is_quasi_affine
from ostinato.pdg.isl import LowerBounds, Sample, Set, condition_set
from ostinato.pdg.naming import called, is_named
from ostinato.pdg.node import Gather, Host, Input, Node, Part, Pdg, Random, Read, Rec

MORE_PIECES = 5 * MOST_PIECES  # where demand that is known roughly would refuse a program


def check(
    pdg: Pdg, minimum_extents: LowerBounds | None = None, is_rewritten: bool = False
) -> Demand:
    """Prove for all extents that a program is defined, and return what it demands.

    ``minimum_extents`` gives the least value of extents that start above 1; by default the
    program's own. A program that ``is_rewritten`` may take positions on axes without elements where
    all steps of a value are made at once: nobody looks at those, and lowering keeps them inside.
    Errors: CoverageError, DomainError, ShapeError, each with the first bad point.
    """
    minimum = pdg.minimum_extents if minimum_extents is None else minimum_extents
    for most in (MOST_PIECES, MORE_PIECES):
        demand = Demand(pdg, minimum, most)
        try:
            _check_all(demand, is_rewritten)
        except (CoverageError, DomainError, ShapeError) as error:
            if not demand.is_rough:
                raise
            refusal = error
        else:
            return demand
    raise _uncertain(refusal) from None


def _uncertain(error: CoverageError | DomainError | ShapeError) -> OstinatoError:
    """An error that a program may not have, nor its first point: its demand is known roughly."""
    claim, _, _ = error.fact.partition(" (first ")
    fact = f"too many conditions on the point to tell whether {claim}"
    remedy = (
        "Guard the read with a condition of its own, or choose by data: `ot.where(mask, a, b)`."
    )
    if isinstance(error, CoverageError):
        remedy = error.remedy
    return type(error)(fact, remedy, error.where)


def _check_all(demand: Demand, is_rewritten: bool) -> None:
    users = demand.pdg.users()
    for node in demand.pdg.nodes():
        match node.op:
            case Input() | Random() | Host():
                _check_leaf(demand, users, node)
            case Rec(name):
                _check_leaf(demand, users, node)
                _check_coverage(demand, name)
                if not is_rewritten and not demand.is_rough:
                    _check_order_of_cases(demand, name)
            case Part():
                _check_part(demand, node, node.op)
            case Read():
                _check_slices(demand, node, node.op)
                _check_fixed(demand, node, node.op)
            case Gather(axis, None) if not is_rewritten:
                _check_positions(demand, node, axis)
            case Gather(_, (dim, steps)):
                _check_window(demand, node, dim, steps)
            case _:
                pass


def _check_leaf(demand: Demand, users: dict[Node, list[Node]], leaf: Node) -> None:
    outside = (demand.of(leaf) - box(leaf.domain)).assume(demand.minimum)
    if not outside.is_empty():
        raise _outside(demand, users, leaf, outside)


def _outside(
    demand: Demand, users: dict[Node, list[Node]], node: Node, bad: Set
) -> DomainError | AssertionError:
    """The error for demanded points outside a box, at the read through which they left it."""
    trail, leaf = [(node, bad)], node
    seen: set[Node] = set()
    while trail:
        node, bad = trail.pop()
        if node in seen:
            continue
        seen.add(node)
        for user in users.get(node, ()):
            culprits = _responsible(demand, user, node, bad)
            inside = (culprits & box(user.domain)).assume(demand.minimum)
            if isinstance(user.op, Read) and not inside.is_empty():
                return _read_error(demand, user, inside, bad)
            if not culprits.is_empty():
                trail.append((user, culprits))
    if demand.is_rough:
        return DomainError(f"{called(leaf)} is read outside its domain", "", leaf.where)
    return AssertionError(f"no read leaves the box of {node}, yet {bad} is demanded")


def _responsible(demand: Demand, user: Node, node: Node, bad: Set) -> Set:
    """The demanded points of ``user`` that need ``node`` at a bad point."""
    points = demand.of(user)
    if isinstance(user.op, Read):
        reached = read_relation(user.op.at, user.domain, node.domain)
        return reached.intersect_in(points).intersect_out(bad).domain()
    found = points - points
    for arg, needed in demand.operands(user, points):
        if arg == node:
            found = found | (needed.onto(points.dims) & points & bad.onto(points.dims))
    return found


def _read_error(demand: Demand, read: Node, inside: Set, bad: Set) -> DomainError:
    assert isinstance(read.op, Read), f"{read} is no read"
    (x,) = read.args
    reached = read_relation(read.op.at, read.domain, x.domain)
    pair = reached.intersect_in(inside).intersect_out(bad).first(demand.minimum)
    assert pair is not None, f"{read} has no bad point"
    here, there = pair
    wrong = [d for d, at in there.point.items() if not 0 <= at < _steps(d, here.extents, at + 1)]
    at = ", ".join(f"{d} = {there.point[d]}" for d in wrong)
    domain = " and ".join(f"0 <= {d} < {d.extent}" for d in wrong)
    fact = f"{called(x)} is read at {at}, outside its domain {domain}{_first_bad(here)}"
    return DomainError(fact, _remedy(x, read.op, there.point), read.where or x.where)


def _steps(dim: Dim, extents: Mapping[str, int], unknown: int) -> int:
    """The extent of a dimension at a sample that may leave extents open."""
    if str(dim.extent) in extents:  # a product of extents has a value of its own in a sample
        return extents[str(dim.extent)]
    values: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    known = symbols(dim.extent) <= values.keys()
    return evaluate(dim.extent, values) if known else unknown


def _first_bad(sample: Sample) -> str:
    return f" (first bad point: {sample})" if str(sample) else ""


def _remedy(x: Node, op: Read, point: dict[Dim, int]) -> str:
    table = dict(op.at)
    name = str(x) if is_named(x) else "(...)"
    ordered = _in_order(x.domain, table)
    if ordered:
        dims = ", ".join(map(str, x.domain))
        return f"Write the positions in the order of the dimensions, ({dims}): `{name}[{ordered}]`."
    inside: list[Index] = []
    for d in x.domain:
        index = table.get(d, expr(d))
        last = expr(d.extent) - 1
        if isinstance(index, Slice):
            low, high = maximum(index.lo, 0), minimum(index.hi, d.extent)
            index = Slice(low if point[d] < 0 else index.lo, index.hi if point[d] < 0 else high)
        elif point[d] < 0:
            index = maximum(index, 0)
        elif d in table:
            index = minimum(index, last)
        inside.append(index)
    return f"Read `{name}[{', '.join(map(spell, inside))}]`, or add a case for this point."


def _in_order(domain: Sequence[Dim], table: Mapping[Dim, Index]) -> str:
    """The positions where those of two dimensions have changed places; empty if none have."""
    at = {d: table.get(d, expr(d)) for d in domain}
    whole = {d: d.whole for d in domain}
    pairs = ((d, e) for d in domain for e in domain if d != e and at[d] == expr(e) != at[e])
    found = next(pairs, None)
    if found is None:
        return ""
    d, e = found
    at[d], at[e] = whole[d] if at[e] == whole[e] else at[e], expr(e)
    return ", ".join(":" if at[x] == whole[x] else spell(at[x]) for x in domain)


def spell(index: Index) -> str:
    """An index as the user writes it: ``t.size`` for the extent, ``ot.maximum`` for ``max``."""
    if isinstance(index, Slice):
        zero, step = index.lo == expr(0), f":{index.step}" if index.step != 1 else ""
        return f"{'' if zero else spell(index.lo)}:{spell(index.hi)}{step}"
    if len(index.terms) == 1 and index.const == 0 and index.terms[0][1] == 1:
        atom = index.terms[0][0]
        if isinstance(atom, Extremum):
            operands = sorted(atom.of, key=lambda e: (e.is_const, str(e)))
            return f"ot.{atom.kind}imum({', '.join(map(spell, operands))})"
    named: dict[Dim | Extent, Expr] = {
        s: expr(Dim(f"{s.name.lower()}.size")) for s in symbols(index) if isinstance(s, Extent)
    }
    text = str(index.at(named))
    return text.replace("min(", "ot.minimum(").replace("max(", "ot.maximum(")


def _check_coverage(demand: Demand, name: str) -> None:
    equation = demand.pdg.equations.get(name)
    if equation is None:
        raise CoverageError(f"`{name}` has no equations", f"Add `{name}[...] = ...`.")
    uncovered = demand.uncovered(name)
    sample = uncovered.first(demand.minimum)
    if sample is None:
        return
    spans = {d: uncovered.bounds(d) for d in uncovered.dims}
    only = {d: str(lo) for d, (lo, hi) in spans.items() if lo is not None and lo == hi}
    if only:
        at = ", ".join(f"{d} = {v}" for d, v in only.items())
        fact = f"no equation of `{name}` covers {at}"
        points = ", ".join(only.get(d, str(d)) for d in uncovered.dims)
        remedy = f"Add `{name}[{points}] = ...`, or `{name}[True] = ...` as the last case."
    else:
        fact = f"the equations of `{name}` do not cover every point that is needed"
        remedy = f"Add `{name}[True] = ...` as the last case."
    fact = f"{fact} (first uncovered point: {sample})"
    raise CoverageError(fact, remedy, next(iter(equation.where), equation.rec.where))


def _check_order_of_cases(demand: Demand, name: str) -> None:
    """Refuse an equation all of whose points have an earlier one, which wins."""
    equation = demand.pdg.equations[name]
    rest = box(equation.rec.domain)
    for k, (cond, _) in enumerate(equation.cases):
        holds = condition_set(rest.dims, cond)
        if (rest & holds).is_empty() and not (box(rest.dims) & holds).is_empty():
            fact = f"`{name}` has earlier equations for all points of this one"
            remedy = "Leave it out, or write it before those that it is an exception of."
            raise EquationError(fact, remedy, equation.where[k])
        rest = rest - holds


def _violation(demand: Demand, node: Node, limits: Cond) -> Sample | None:
    """The first demanded point of a node at which a condition fails."""
    points = demand.of(node)
    return (points - condition_set(points.dims, limits)).first(demand.minimum)


def _check_part(demand: Demand, node: Node, op: Part) -> None:
    (x,) = node.args
    size = x.shape[op.axis]
    if not all(map(is_quasi_affine, (size, *op.at.ends))):
        return
    if isinstance(op.at, Slice):
        limits = every(
            at_least(op.at.lo, 0), at_least(size, op.at.hi), at_least(op.at.hi, op.at.lo)
        )
    else:
        limits = every(at_least(op.at, 0), at_least(size, op.at + 1))
    sample = _violation(demand, node, limits)
    if sample is not None:
        what = "slice" if isinstance(op.at, Slice) else "index"
        fact = f"{what} {op.at} of axis {op.axis} of {called(x)} leaves its size {size}"
        remedy = f"Stay inside `0 <= index < {spell(size)}`."
        raise ShapeError(fact + _first_bad(sample), remedy, node.where)


def _check_window(demand: Demand, node: Node, dim: Dim, steps: Slice) -> None:
    """No index lies inside an empty window, so none may be empty where it is read."""
    sample = _violation(demand, node, at_least(steps.hi, steps.lo + 1))
    if sample is not None:
        fact = f"the window {steps} of {called(node.args[0])} over {dim} is empty"
        remedy = "Read it only where the window holds a step: `ot.where(condition, read, other)`."
        raise DomainError(fact + _first_bad(sample), remedy, node.where)


def _check_positions(demand: Demand, node: Node, axis: int) -> None:
    """No position lies on an axis without elements, so it must have some where one is taken."""
    x = node.args[0]
    size = x.shape[axis]
    if interval(size).low >= 1 or not all(map(is_quasi_affine, (size, *node.shape))):
        return
    nothing = some(*(at_least(0, n) for n in node.shape))
    sample = _violation(demand, node, some(at_least(size, 1), nothing))
    if sample is not None:
        fact = f"{called(x)} is taken at a computed position of axis {axis}, which has size {size}"
        remedy = "Take it only where the axis has elements: `ot.where(condition, read, other)`."
        if size.is_const:
            remedy = "Give the axis at least one element."
        raise ShapeError(fact + _first_bad(sample), remedy, node.where)


def _check_fixed(demand: Demand, node: Node, op: Read) -> None:
    """A step that no dimension moves is one of the domain's, also where no leaf is read there."""
    (x,) = node.args
    for dim, index in op.at:
        if isinstance(index, Slice) or dim not in x.domain or index.dims:
            continue
        size = expr(dim.extent)
        if not all(map(is_quasi_affine, (index, size))):
            continue
        sample = _violation(demand, node, every(at_least(index, 0), at_least(size, index + 1)))
        if sample is not None:
            fact = f"{called(x)} is read at {dim} = {index}, outside its domain 0 <= {dim} < {size}"
            remedy = f"Stay inside `0 <= {dim} < {spell(size)}`."
            raise DomainError(fact + _first_bad(sample), remedy, node.where)


def _check_slices(demand: Demand, node: Node, op: Read) -> None:
    for dim, index in op.at:
        if not isinstance(index, Slice):
            continue
        sample = _violation(demand, node, at_least(index.hi, index.lo))
        if sample is not None:
            fact = f"the slice {index} of {called(node.args[0])} over {dim} ends before it begins"
            remedy = f"End it with `ot.maximum({spell(index.lo)}, {spell(index.hi)})`."
            raise ShapeError(fact + _first_bad(sample), remedy, node.where)
