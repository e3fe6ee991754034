"""Proofs that loads stay inside the tensor they read.

A load reads a tensor at indices of its reader. Here isl proves for most loads, under the condition
of their clause and for all extents, that no index leaves the tensor; then the address is computed
as it is. What is not proved keeps ``clamp``: its indices are kept inside when the address is
computed. Such a load is executed at points that nobody demands, or its value is not used:
`ostinato.pdg.demand.inside` has proved that no demanded read leaves the box of what it reads.

A system whose index expressions int64 may not hold is refused: what a user writes is small
(`ostinato.pdg.limits`), but reads of reads compose, and their constants multiply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ostinato.codegen.ir.system import (
    Choice,
    Clamp,
    Draw,
    Load,
    Position,
    Statement,
    System,
    Value,
    children,
    fresh,
)
from ostinato.codegen.ir.values import Rewrite, in_turn, value_symbols, with_children
from ostinato.pdg import isl
from ostinato.pdg.condition import ALWAYS, Cond, at_least, compared, every, negation
from ostinato.pdg.index import Dim, Expr, Extent, Product, expr, maximum
from ostinato.pdg.intervals import LARGEST, is_quasi_affine
from ostinato.pdg.isl import LowerBounds
from ostinato.pdg.limits import require_small

Monomial = tuple[Dim | Extent, ...]  # sorted by text, with repetition
Polynomial = Counter[Monomial]


def below(e: Expr, size: Expr, sizes: Mapping[Dim, Expr]) -> bool:
    """Whether ``0 <= e < size`` follows from indices and extents that are never negative.

    Every index stands for its last value: that is the largest that a sum of products without a
    negative coefficient takes. ``sizes`` are those of the indices; other dims have their extents.
    """
    position, wanted = _polynomial(e), _polynomial(size)
    if position is None or wanted is None or any(k < 0 for k in position.values()):
        return False
    for dim in sorted({d for m in position for d in m if isinstance(d, Dim)}, key=str):
        last = _polynomial(sizes.get(dim, expr(dim.extent)) - 1)
        if last is None or any(isinstance(s, Dim) for m in last for s in m):
            return False
        position = _substituted(position, dim, last)
    position[()] += 1
    wanted.subtract(position)
    return all(k >= 0 for k in wanted.values())


def _polynomial(e: Expr) -> Polynomial | None:
    """The expression as a sum of products of dims and extents; None if it is none."""
    out: Polynomial = Counter({(): e.const})
    for atom, k in e.terms:
        if isinstance(atom, Dim | Extent):
            factors: Polynomial | None = Counter({(atom,): 1})
        elif isinstance(atom, Product):
            factors = _multiplied([_polynomial(f) for f in atom.of])
        else:
            return None
        if factors is None:
            return None
        for monomial, times in factors.items():
            out[monomial] += k * times
    return out


def _multiplied(factors: list[Polynomial | None]) -> Polynomial | None:
    out: Polynomial = Counter({(): 1})
    for factor in factors:
        if factor is None:
            return None
        out = _product(out, factor)
    return out


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    out: Polynomial = Counter()
    for a, j in left.items():
        for b, k in right.items():
            out[tuple(sorted((*a, *b), key=str))] += j * k
    return out


def _substituted(of: Polynomial, dim: Dim, by: Polynomial) -> Polynomial:
    out: Polynomial = Counter()
    for monomial, k in of.items():
        rest = tuple(s for s in monomial if s != dim)
        power = len(monomial) - len(rest)
        value = _multiplied([Counter({rest: k}), *[by] * power])
        assert value is not None, "a product of polynomials is one"
        out.update(value)
    return out


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
        mentioned = e.dims | size.dims
        mentioned |= context.dims
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
        clauses = ((cond, self.value(value, here, sizes)) for cond, value, here in in_turn(s))
        return replace(s, clauses=tuple(clauses))

    def value(self, value: Value, context: Cond, sizes: Sizes) -> Value:
        match value:
            case Load():
                picks = tuple(replace(p, at=self.value(p.at, context, sizes)) for p in value.picks)
                # the index of an empty axis is 0 all the same
                picked = {p.axis.index: maximum(p.axis.size, 1) for p in picks}
                clamp = self.clamp(value, context, sizes | picked)
                return replace(value, picks=picks, clamp=clamp)
            case Choice(cond, then, other):
                return replace(
                    value,
                    then=self.value(then, every(context, cond), sizes),
                    other=self.value(other, every(context, negation(cond)), sizes),
                )
            case _:
                return with_children(value, lambda x: self.value(x, context, sizes))

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
        more = {m for d in found if d in sizes for m in sizes[d].dims} - found
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
        if s.kind in WALKING and any(load.clamp for load in s.reads):
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
        used |= {d for a in axes for d in a.size.dims}
        dims = tuple(d for d in s.dims if d in used)
        name = fresh(f"{load.tensor}_inside", self.taken | self.made.keys())
        self.made[name] = Statement(
            name, "map", dims, axes, ((ALWAYS, load),), load.dtype, s.lanes & set(dims),
            where=s.where, label=s.label,
        )  # fmt: skip
        at = tuple(map(expr, dims)), tuple(expr(a.index) for a in axes)
        return Load(name, *at, load.dtype)


COMPOSED = 4 * LARGEST
"""The most that composed expressions may compute; tiles and strides still have room above it."""


def require_limits(system: System) -> System:
    """Return the system, all of whose index expressions int64 holds at any extents.

    Errors: AffineError.
    """
    done: set[Expr] = set()
    for s in system.statements.values():
        for e in _expressions(s):
            if e not in done:
                done.add(require_small(e, s.where, COMPOSED))
    return system


def _expressions(s: Statement) -> Iterator[Expr]:
    for axis in s.axes:
        yield axis.size
        yield axis.pad
    todo: list[Value] = []
    for cond, value in s.clauses:
        yield from compared(cond)
        todo.append(value)
    while todo:
        value = todo.pop()
        todo.extend(children(value))
        match value:
            case Position(of):
                yield of
            case Load(_, dims, axes):
                yield from dims
                yield from axes
                yield from (pick.axis.size for pick in value.picks)
            case Draw(_, _, point, element):
                yield from point
                yield element
            case Choice(cond):
                yield from compared(cond)
            case _:
                pass
