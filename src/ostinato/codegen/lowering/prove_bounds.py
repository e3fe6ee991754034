"""Proofs that loads stay inside the tensor they read.

A load reads a tensor at indices of its reader. Here isl proves for most loads, under the condition
of their clause and for all extents, that no index leaves the tensor; then the address is computed
as it is. What is not proved keeps ``clamp``: its indices are kept inside when the address is
computed. Such a load is executed at points that nobody demands, or its value is not used:
`ostinato.pdg.demand.inside` has proved that no demanded read leaves the box of what it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ostinato.codegen.ir.fresh_names import fresh
from ostinato.codegen.ir.system import Call, Choice, Clamp, Load, Statement, System, Value, loads
from ostinato.codegen.ir.values import Rewrite, value_symbols
from ostinato.codegen.lowering.radix import below
from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS, Cond, at_least, cond_symbols, every, negation
from ostinato.pdg.index import Dim, Expr, dims_of, expr, maximum
from ostinato.pdg.isl import LowerBounds
from ostinato.pdg.quasi_affine import is_quasi_affine

Sizes = dict[Dim, Expr]
WALKING = ("matmul", "along", "host")  # kinds whose code goes along operands by steps


@dataclass
class _Prover:
    """Answers about indices, remembered: programs repeat few index expressions."""

    statements: Mapping[str, Statement]
    least: LowerBounds
    known: dict[tuple[object, ...], bool] = field(default_factory=dict[tuple[object, ...], bool])

    def inside(self, e: Expr, size: Expr, context: Cond, sizes: Sizes) -> bool:
        """Whether ``0 <= e < size`` wherever the context holds in the box of the indices."""
        index = e.as_dim()
        if index is not None and sizes.get(index, expr(index.extent)) == size:
            return True
        if not is_quasi_affine(e) or not is_quasi_affine(size):
            return below(e, size, sizes)
        mentioned = dims_of(e) | dims_of(size)
        mentioned |= {s for s in cond_symbols(context) if isinstance(s, Dim)}
        dims = _closed(mentioned, sizes)
        key = (e, size, context, tuple((d, sizes.get(d)) for d in dims))
        if key not in self.known:
            box = isl.domain_set(dims, {d: sizes[d] for d in dims if d in sizes}, context)
            wanted = every(at_least(e, 0), at_least(size - 1, e))
            outside = (box - isl.condition_set(dims, wanted)).assume(self.least)
            self.known[key] = outside.is_empty()
        return self.known[key]

    def proved(self, s: Statement) -> Statement:
        """The statement with ``clamp`` only on loads that may leave their tensor."""
        sizes = {a.index: a.size for a in s.axes}
        clauses: list[tuple[Cond, Value]] = []
        before: Cond = ALWAYS
        for cond, value in s.clauses:
            clauses.append((cond, self.value(value, every(before, cond), sizes)))
            before = every(before, negation(cond))
        return replace(s, clauses=tuple(clauses))

    def value(self, value: Value, context: Cond, sizes: Sizes) -> Value:
        match value:
            case Load():
                picks = tuple(replace(p, at=self.value(p.at, context, sizes)) for p in value.picks)
                # the index of an empty axis is 0 all the same
                picked = {p.axis.index: maximum(p.axis.size, 1) for p in picks}
                clamp = self.clamp(value, context, sizes | picked)
                return replace(value, picks=picks, clamp=clamp)
            case Call():
                args = tuple(self.value(a, context, sizes) for a in value.args)
                return replace(value, args=args)
            case Choice(cond, then, other):
                return replace(
                    value,
                    then=self.value(then, every(context, cond), sizes),
                    other=self.value(other, every(context, negation(cond)), sizes),
                )
            case _:
                return value

    def clamp(self, load: Load, context: Cond, sizes: Sizes) -> Clamp:
        """The indices of a load that may leave its tensor where the context holds."""
        tensor = self.statements[load.tensor]
        for at, axis in zip(load.axes, tensor.result_axes, strict=True):
            if not self.inside(at, axis.pad, context, sizes):
                return "all"
        for at, dim in zip(load.dims, tensor.result_dims, strict=True):
            if not self.inside(at, expr(dim.extent), context, sizes):
                return "dims"
        return ""


def _closed(dims: frozenset[Dim] | set[Dim], sizes: Sizes) -> tuple[Dim, ...]:
    """The dims and those that their sizes mention, in a fixed order."""
    found = set(dims)
    while True:
        more = {m for d in found if d in sizes for m in dims_of(sizes[d])} - found
        if not more:
            return tuple(sorted(found, key=lambda d: d.serial))
        found |= more


def prove_bounds(system: System, least: LowerBounds | None = None) -> System:
    """Return the system with ``clamp`` only on loads that may leave the tensor they read.

    ``least`` gives the smallest value of extents that start above 1.
    """
    prover = _Prover(system.statements, least or {})
    statements: dict[str, Statement] = {}
    for name, s in system.statements.items():
        s = prover.proved(s)
        if s.kind in WALKING and any(load.clamp for _, v in s.clauses for load in loads(v)):
            copies = _Copies(s, {*system.statements, *statements})
            s = Rewrite({}, copies.load).clauses(s)
            statements |= copies.made
        statements[name] = s
    return replace(system, statements=statements)


@dataclass
class _Copies:
    """Operands of one statement whose indices may leave a tensor: what walks reads copies."""

    reader: Statement
    taken: set[str]
    made: dict[str, Statement] = field(default_factory=dict[str, Statement])

    def load(self, load: Load) -> Value:
        if not load.clamp:
            return load
        s = self.reader
        used = value_symbols(load)
        axes = tuple(a for a in s.axes if a.index in used)
        used |= {d for a in axes for d in dims_of(a.size)}
        dims = tuple(d for d in s.dims if d in used)
        name = fresh(f"{load.tensor}_inside", self.taken | self.made.keys())
        self.made[name] = Statement(
            name, "map", dims, axes, ((ALWAYS, load),), load.dtype, s.lanes & set(dims),
            where=s.where, label=s.label,
        )  # fmt: skip
        at = tuple(map(expr, dims)), tuple(expr(a.index) for a in axes)
        return Load(name, *at, load.dtype)
