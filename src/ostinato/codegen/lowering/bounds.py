"""Proofs that loads stay inside the box of the tensor they read.

Lowering marks every load at another point as one that may leave the box. Here isl proves, under the
clause's condition, that most cannot; what stays marked is clamped by the emitter, and is a read
whose value nobody demands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ostinato.codegen.system import Call, Choice, Load, Statement, System, Value
from ostinato.pdg import isl
from ostinato.pdg.affine import is_quasi_affine
from ostinato.pdg.condition import ALWAYS, Cond, at_least, cond_symbols, every, negation
from ostinato.pdg.index import Dim, Expr, dims_of, expr, maximum

Sizes = dict[Dim, Expr]


class _Prover:
    """Answers about boxes, remembered: programs repeat few index expressions."""

    def __init__(self) -> None:
        self.known: dict[tuple[object, ...], bool] = {}

    def inside(self, e: Expr, dim: Dim, context: Cond, sizes: Sizes) -> bool:
        """Whether ``0 <= e < extent of dim`` wherever the context holds in the box."""
        if e == expr(dim):
            return True
        if not is_quasi_affine(e):
            return False
        mentioned = dims_of(e) | {s for s in cond_symbols(context) if isinstance(s, Dim)}
        dims = _closed(mentioned, sizes)
        key = (e, dim, context, tuple((d, sizes.get(d)) for d in dims))
        if key not in self.known:
            box = isl.domain_set(dims, {d: sizes[d] for d in dims if d in sizes}, context)
            wanted = every(at_least(e, 0), at_least(expr(dim.extent) - 1, e))
            self.known[key] = box.assume({}).is_subset(isl.condition_set(dims, wanted))
        return self.known[key]


def _closed(dims: frozenset[Dim] | set[Dim], sizes: Sizes) -> tuple[Dim, ...]:
    """The dims and those that their sizes mention, in a fixed order."""
    found = set(dims)
    while True:
        more = {m for d in found if d in sizes for m in dims_of(sizes[d])} - found
        if not more:
            return tuple(sorted(found, key=lambda d: d.serial))
        found |= more


def prove_bounds(system: System) -> System:
    """Return the system with ``clamp`` only on loads that may leave their tensor's box."""
    prover = _Prover()
    statements = {
        name: replace(s, clauses=_proved(s, system, prover))
        for name, s in system.statements.items()
    }
    return replace(system, statements=statements)


def _proved(s: Statement, system: System, prover: _Prover) -> tuple[tuple[Cond, Value], ...]:
    sizes = {a.index: a.size for a in s.axes}
    out: list[tuple[Cond, Value]] = []
    before: Cond = ALWAYS
    for cond, value in s.clauses:
        context = every(before, cond)
        out.append((cond, _value(value, context, sizes, (system, prover))))
        before = every(before, negation(cond))
    return tuple(out)


def _value(value: Value, context: Cond, sizes: Sizes, by: tuple[System, _Prover]) -> Value:
    match value:
        case Load():
            system, prover = by
            dims: Sequence[Dim] = system.statements[value.tensor].result_dims
            picks = tuple(replace(p, at=_value(p.at, context, sizes, by)) for p in value.picks)
            # the index of an empty axis is 0 all the same
            picked = {p.axis.index: maximum(p.axis.size, 1) for p in value.picks}
            clamp = value.clamp and not all(
                prover.inside(e, d, context, sizes | picked)
                for e, d in zip(value.dims, dims, strict=True)
            )
            return replace(value, picks=picks, clamp=clamp)
        case Call():
            return replace(value, args=tuple(_value(a, context, sizes, by) for a in value.args))
        case Choice(cond, then, other):
            return replace(
                value,
                then=_value(then, every(context, cond), sizes, by),
                other=_value(other, every(context, negation(cond)), sizes, by),
            )
        case _:
            return value
