"""Index-set splitting: the cases of a tensor as tensors of their own.

Two tensors that read each other in different cases form no cycle once the cases are apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from ostinato.codegen.ir.system import Choice, Load, Statement, Value, children, fresh, loads
from ostinato.codegen.ir.values import Rewrite, in_turn, with_children
from ostinato.codegen.systems.axes import JUMPING
from ostinato.pdg import isl
from ostinato.pdg.condition import Cond, compared, every, negation
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.intervals import is_quasi_affine


def with_cases(
    statements: Mapping[str, Statement], names: Set[str], component: Set[str]
) -> dict[str, Statement]:
    """Those of the named statements that have cases.

    These are maps with several clauses. If there are none, it is what reads the component on one
    side of a choice only, with the sides as clauses.
    """
    named = {n: s for n, s in statements.items() if n in names and s.clauses}
    several = {n: s for n, s in named.items() if len(s.clauses) > 1 and s.kind == "map"}
    lifted = several or {n: _lifted(s, component) for n, s in named.items()}
    return {n: s for n, s in lifted.items() if len(s.clauses) > 1}


def split_cases(
    statements: Mapping[str, Statement], split: Mapping[str, Statement]
) -> dict[str, Statement]:
    """The statements, those with cases as one statement per case.

    The whole tensor stays, assembled from its cases: outputs may need it.
    """
    taken = set(statements)
    cases = {name: _cases(s, taken) for name, s in split.items()}

    def chosen(load: Load) -> Value:
        return _chosen(load, split[load.tensor], cases) if load.tensor in split else load

    rewrite = Rewrite({}, chosen)
    out: dict[str, Statement] = {}
    for name, s in statements.items():
        for case in cases.get(name, ()):
            out[case.name] = rewrite.clauses(case)
        if name in split:
            out[name] = _assembled(split[name], cases[name])
        else:  # operands of products, and rows that are read at any place, are loads of the whole
            takes_loads = s.kind == "matmul" or (s.kind == "along" and s.fold in JUMPING)
            out[name] = s if takes_loads else rewrite.clauses(s)
    return {name: s if s == statements.get(name) else _pruned(s) for name, s in out.items()}


def _pruned(s: Statement) -> Statement:
    """The statement without choices that are never made: nobody stores what they would read."""
    sizes = {a.index: a.size for a in s.axes}
    clauses = ((cond, _possible(value, here, sizes)) for cond, value, here in in_turn(s))
    return replace(s, clauses=tuple(clauses))


def _possible(value: Value, context: Cond, sizes: Mapping[Dim, Expr]) -> Value:
    match value:
        case Choice(cond, then, other):
            chosen, rest = every(context, cond), every(context, negation(cond))
            if _is_never(chosen, sizes):
                return _possible(other, context, sizes)
            if _is_never(rest, sizes):
                return _possible(then, context, sizes)
            sides = _possible(then, chosen, sizes), _possible(other, rest, sizes)
            return replace(value, then=sides[0], other=sides[1])
        case _:
            return with_children(value, lambda x: _possible(x, context, sizes))


def _is_never(cond: Cond, sizes: Mapping[Dim, Expr]) -> bool:
    """Whether a condition holds nowhere in the box of its indices."""
    dims, own = cond.dims, dict[Dim, Expr]()
    while more := dims - own.keys():
        own |= {d: sizes.get(d, expr(d.extent)) for d in more}
        dims |= {inner for d in more for inner in own[d].dims}
    ordered = tuple(sorted(dims, key=lambda d: d.serial))
    is_affine = all(map(is_quasi_affine, (*compared(cond), *own.values())))
    return is_affine and isl.domain_set(ordered, own, cond).assume({}).is_empty()


def _lifted(s: Statement, component: Set[str]) -> Statement:
    """The statement with the first choice on dims, of which one side reads it, as clauses."""
    (cond, value), *more = s.clauses
    inner = {a.index for a in s.axes} | s.reduced

    def is_wanted(of: Choice) -> bool:
        sides = ({x.tensor for x in loads(side)} & component for side in (of.then, of.other))
        return not of.cond.symbols & inner and len({*map(bool, sides)}) == 2

    chosen = next((c for c in _choices(value) if is_wanted(c)), None)
    if chosen is None or more or s.kind == "host":
        return s
    sides = (_replaced(value, chosen, side) for side in (chosen.then, chosen.other))
    conds = every(cond, chosen.cond), cond
    kind = "fold" if s.kind == "matmul" else s.kind
    return replace(s, kind=kind, clauses=tuple(zip(conds, sides, strict=True)))


def _choices(value: Value) -> Iterator[Choice]:
    """Every choice inside a value, outermost first."""
    if isinstance(value, Choice):
        yield value
    for child in children(value):
        yield from _choices(child)


def _replaced(value: Value, old: Choice, new: Value) -> Value:
    return new if value == old else with_children(value, lambda x: _replaced(x, old, new))


def _cases(s: Statement, taken: set[str]) -> tuple[Statement, ...]:
    """One statement per clause, under new names that are then taken."""
    out: list[Statement] = []
    before: tuple[Cond, ...] = ()
    for k, (cond, value) in enumerate(s.clauses):
        name = fresh(f"{s.name}_case{k}", taken)
        taken.add(name)
        out.append(replace(s, name=name, base=s.lowered, clauses=((every(*before, cond), value),)))
        before = (*before, negation(cond))
    return tuple(out)


def _chosen(load: Load, s: Statement, cases: Mapping[str, tuple[Statement, ...]]) -> Value:
    """The case that holds where the load reads."""
    at = dict(zip(s.result_dims, load.dims, strict=True))
    tested = {d for cond, _ in s.clauses for d in cond.symbols}
    picked = {pick.axis.index for pick in load.picks}
    if any(e.dims & picked for d, e in at.items() if d in tested):
        return load  # only the run knows the case: it reads the whole
    loads = [replace(load, tensor=case.name) for case in cases[s.name]]
    value: Value = loads[-1]
    for (cond, _), case in zip(reversed(s.clauses[:-1]), reversed(loads[:-1]), strict=True):
        value = Choice(cond.at(at), case, value, load.dtype)
    return value


def _assembled(s: Statement, cases: tuple[Statement, ...]) -> Statement:
    clauses = ((cond, case.here) for (cond, _), case in zip(s.clauses, cases, strict=True))
    return replace(s.map(*clauses), lanes=s.lanes - s.reduced)
