"""Preimages of index maps: which points ``p`` satisfy conditions that tie them to a target.

The reverse of a read sums over all points ``p`` that read the target ``q``. The conditions that tie
``p`` to ``q`` are solved exactly for symbolic extents: equalities give points (``p = q + 1``),
inequalities give intervals (``q <= p < T``), congruences give steps. What remains is a mask on the
summed points, so every quasi-affine index has a preimage, at worst a masked sum over a whole
dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ostinato.pdg.bounds import attained, conjuncts, greatest, members, simplified, smallest
from ostinato.pdg.build import order
from ostinato.pdg.condition import NEVER, Compare, Cond, at_least, equal, every
from ostinato.pdg.index import (
    Dim,
    Expr,
    Extremum,
    FloorDiv,
    Mod,
    Slice,
    expr,
    floordiv,
    maximum,
    minimum,
    mod,
)

Dims = frozenset[Dim]


@dataclass(frozen=True, slots=True)
class Sum:
    """Sum over the steps ``over`` of ``dim`` at which ``mask`` holds."""

    dim: Dim
    over: Slice
    mask: Cond


@dataclass(frozen=True, slots=True)
class Preimage:
    """The points ``p``: some coordinates are functions of the target, the rest are summed.

    ``points`` mention the target and summed dimensions; the bounds of a sum mention the target and
    dimensions that a later sum takes. ``guard`` is on the target: outside it there is no point. All
    slices lie inside the box, with ``lo < hi`` where the guard and the later sums hold.
    """

    points: tuple[tuple[Dim, Expr], ...]
    sums: tuple[Sum, ...]
    guard: Cond


def preimages(cond: Cond, unknowns: Dims) -> tuple[Preimage, ...]:
    """Return disjoint preimages: the values of ``unknowns`` inside the box where ``cond`` holds.

    >>> t, q = Dim("t"), Dim("q", steps="T")
    >>> found = preimages(every(at_least(q, 0), at_least(t, q)), frozenset({t}))  # x[:t + 1]
    >>> str(found[0].sums[0].over)
    'q:T'
    """
    return tuple(_solve(cond, unknowns, {}))


def _solve(cond: Cond, unknowns: Dims, points: dict[Dim, Expr]) -> Iterator[Preimage]:
    cond = simplified(cond)
    if cond == NEVER:
        return
    conds = conjuncts(cond)
    quotient = _quotient(conds, unknowns)
    if quotient is not None:
        yield from _solve(every(*quotient.applied(conds)), unknowns, points)
        return
    for k, c in enumerate(conds):
        choices = _split(c, unknowns)
        if choices:
            for choice in choices:
                yield from _solve(every(*conds[:k], *choice, *conds[k + 1 :]), unknowns, points)
            return
    solution = _best_equality(conds, unknowns)
    if solution is None:
        yield _summed(conds, unknowns, points)
        return
    by = {solution.dim: solution.value}
    rest = [c.at(by) for c in conds if c is not solution.source]
    box = (at_least(solution.value, 0), at_least(expr(solution.dim.extent) - 1, solution.value))
    solved = {d: e.at(by) for d, e in points.items()} | by
    yield from _solve(every(*rest, *box, solution.divides), unknowns - {solution.dim}, solved)


@dataclass(frozen=True, slots=True)
class _Quotient:
    """What an equality says of ``of // by``: it is ``value``, which is ``start / by``."""

    source: Cond
    of: Expr
    by: int
    value: Expr
    start: Expr
    divides: Cond

    def applied(self, conds: Sequence[Cond]) -> list[Cond]:
        """Conditions with bounds in place of the equality, and no quotient or rest of ``of``."""
        rest = [self._without(c) for c in conds if c is not self.source]
        return [
            *rest,
            at_least(self.of, self.start),
            at_least(self.start + (self.by - 1), self.of),
            self.divides,
        ]

    def _without(self, cond: Cond) -> Cond:
        if not isinstance(cond, Compare):
            return cond
        known: dict[object, Expr] = {
            FloorDiv(self.of, self.by): self.value,
            Mod(self.of, self.by): self.of - self.start,
        }
        of = expr(cond.of.const)
        for atom, k in cond.of.terms:
            of = of + known.get(atom, Expr(((atom, 1),), 0)) * k
        return equal(of, 0) if cond.kind == "eq" else at_least(of, 0)


def _quotient(conds: Sequence[Cond], unknowns: Dims) -> _Quotient | None:
    """An equality that gives the quotient of an expression of unknowns, with any factor.

    ``e - e % k`` is ``k * (e // k)``.
    """
    for cond in conds:
        terms = cond.of.terms if isinstance(cond, Compare) and cond.kind == "eq" else ()
        for atom, k in terms:
            assert isinstance(cond, Compare), f"{cond} has no terms"
            if not isinstance(atom, FloorDiv | Mod) or not atom.of.dims & unknowns:
                continue
            rest = cond.of - Expr(((atom, k),), 0)
            is_rest = isinstance(atom, Mod)
            if is_rest:
                rest = rest + atom.of * k  # what is left of k * (atom - of)
            if rest.dims & unknowns or (is_rest and abs(k) != 1):
                continue
            towards = rest * (1 if (k > 0) == is_rest else -1)
            factor = atom.by if is_rest else abs(k)
            value = floordiv(towards, factor)
            start = value * atom.by
            if factor % atom.by == 0:  # the factor divides: no quotient is left
                start = floordiv(towards, factor // atom.by)
            return _Quotient(cond, atom.of, atom.by, value, start, equal(mod(towards, factor), 0))
    return None


def _split(cond: Cond, unknowns: Dims) -> tuple[tuple[Cond, ...], ...]:
    """A comparison of a compound atom of unknowns as alternatives of simpler conjunctions."""
    if not isinstance(cond, Compare):
        return ()
    for atom, k in cond.of.terms:
        term = Expr(((atom, k),), 0)
        rest = cond.of - term
        if not term.dims & unknowns:
            continue
        alone = cond.kind == "ge" and not rest.dims & unknowns
        if isinstance(atom, FloorDiv) and (alone or abs(k) == 1):
            return (_split_quotient(cond, atom, k, rest),)
        if isinstance(atom, Extremum) and cond.kind == "eq" and abs(k) == 1:
            return tuple(attained(atom, rest * -k))
    return ()


def _split_quotient(cond: Compare, atom: FloorDiv, k: int, rest: Expr) -> tuple[Cond, ...]:
    value = -floordiv(rest, k) if k > 0 else floordiv(rest, -k)  # of // by >=, <= or == value
    above = at_least(atom.of, value * atom.by)
    below = at_least(value * atom.by + (atom.by - 1), atom.of)
    if cond.kind == "eq":
        return (above, below)
    return (above,) if k > 0 else (below,)


@dataclass(frozen=True, slots=True)
class _Solution:
    source: Cond
    dim: Dim
    value: Expr
    divides: Cond


def _best_equality(conds: Sequence[Cond], unknowns: Dims) -> _Solution | None:
    """The equality that gives an unknown in terms of the fewest others."""
    found = [s for c in conds if isinstance(c, Compare) for s in _solutions(c, unknowns)]
    return min(found, key=lambda s: len(s.value.dims & unknowns), default=None)


def _solutions(cond: Compare, unknowns: Dims) -> Iterator[_Solution]:
    for atom, k in cond.of.terms if cond.kind == "eq" else ():
        if isinstance(atom, Dim) and atom in unknowns:
            rest = cond.of - expr(atom) * k
            if atom in rest.dims:
                continue
            towards = rest * (-1 if k > 0 else 1)
            yield _Solution(cond, atom, floordiv(towards, abs(k)), equal(mod(rest, abs(k)), 0))


def _summed(conds: Sequence[Cond], unknowns: Dims, points: dict[Dim, Expr]) -> Preimage:
    sums: list[Sum] = []
    for dim in order(unknowns):
        mine = [c for c in conds if dim in c.symbols]
        others = [c for c in conds if dim not in c.symbols]
        added, implied = _sum_over(dim, mine)
        sums.append(added)
        conds = conjuncts(simplified(every(*others, *implied)))
    followed = tuple(Sum(s.dim, _followed(s.over, conds), s.mask) for s in sums)
    return Preimage(tuple(points.items()), followed, every(*conds))


def _followed(over: Slice, guard: Sequence[Cond]) -> Slice:
    """Steps near a target that the guard fixes, counted from it: they move with the point.

    ``1 : min(3, T)`` where ``q == 0`` is ``q + 1 : min(q + 3, T)``: a loop over ``q`` can have what
    it sums in a few steps, where a sum for one point alone would have no place in it.
    """
    for c in guard:
        term = c.of.terms[0] if isinstance(c, Compare) and c.kind == "eq" else None
        if term is None or not isinstance(term[0], Dim) or abs(term[1]) != 1:
            continue
        assert isinstance(c, Compare), f"{c} has no terms"
        away = c.of * term[1]  # 0 where the guard holds, and the target with factor 1
        if any(isinstance(d, Dim) for d, _ in away.terms[1:]):
            continue
        lows, highs = (
            [m + away if (m + away - expr(term[0])).is_const else m for m in found]
            for found in (members(over.lo, "max"), members(over.hi, "min"))
        )
        is_after = any(m.const > 0 for m in lows if term[0] in m.dims)
        is_before = any((m - expr(term[0])).const <= 0 for m in highs if term[0] in m.dims)
        if is_after or is_before:
            return Slice(maximum(*lows), minimum(*highs), over.step)
    return over


def _sum_over(dim: Dim, conds: Sequence[Cond]) -> tuple[Sum, list[Cond]]:
    """The sum over a dimension under conditions, and what must hold for its slice to be one."""
    lowers, uppers = [expr(0)], [expr(dim.extent)]
    masks: list[Cond] = []
    stride: tuple[Expr, int, Cond] | None = None
    for c in conds:
        congruence = _congruence(c, dim) if stride is None else None
        if congruence is not None:
            stride = congruence
            continue
        is_bound = _coefficient(c, dim)[0] != 0
        masks.extend(() if is_bound else (c,))
        for bound in (c,) if is_bound else _relaxed(c, dim):
            k, rest = _coefficient(bound, dim)
            if k > 0:
                lowers.append(-floordiv(rest, k))
            elif k < 0:
                uppers.append(floordiv(rest, -k) + 1)
    lo, hi, step = greatest(lowers), smallest(uppers), 1
    implied: list[Cond] = []
    if stride is not None:
        residue, step, within = stride
        lo = residue if lo == expr(0) else lo + mod(residue - lo, step)
        implied.append(within)
    pairs = ((h, low) for h in members(hi, "min") for low in members(lo, "max"))
    implied.extend(at_least(h - low, 1) for h, low in pairs)  # else there is nothing to sum
    return Sum(dim, Slice(lo, hi, step), every(*masks)), implied


def _relaxed(cond: Cond, dim: Dim) -> Iterator[Cond]:
    """Bounds that follow from a comparison, without quotients and rests of the dimension.

    ``t - (t % 3 + 1) // 2 == q`` gives ``t >= q`` and ``2*t <= 2*q + 3``: what reads a near step is
    near itself.
    """
    if isinstance(cond, Compare):
        for side in (cond.of,) if cond.kind == "ge" else (cond.of, -cond.of):
            linear = _linear_above(side, dim)
            if linear is not None:
                yield at_least(linear, 0)


def _linear_above(e: Expr, dim: Dim) -> Expr | None:
    """An expression that is not negative where ``e`` is not, linear in the dimension."""
    for atom, k in e.terms:
        if isinstance(atom, Dim) or dim not in Expr(((atom, 1),), 0).dims:
            continue
        rest = e - Expr(((atom, k),), 0)
        if isinstance(atom, Mod):
            return _linear_above(rest + max(k, 0) * (atom.by - 1), dim)
        if isinstance(atom, FloorDiv):
            of = atom.of if k > 0 else atom.of - (atom.by - 1)
            return _linear_above(rest * atom.by + of * k, dim)
        return None
    return e


def _coefficient(cond: Cond, dim: Dim) -> tuple[int, Expr]:
    """``k`` and ``rest`` of the bound ``k * dim + rest >= 0``; 0 if it is no such bound."""
    if not isinstance(cond, Compare) or cond.kind != "ge":
        return 0, expr(0)
    k = dict(cond.of.terms).get(dim, 0)
    rest = cond.of - expr(dim) * k
    return (0, rest) if dim in rest.dims else (k, rest)


def _congruence(cond: Cond, dim: Dim) -> tuple[Expr, int, Cond] | None:
    """``(c, k, within)`` of ``(±dim + r) % k == m``: ``dim % k == c``, if ``0 <= m < k``."""
    if not isinstance(cond, Compare) or cond.kind != "eq":
        return None
    for atom, k in cond.of.terms:
        rest = cond.of - Expr(((atom, k),), 0)
        if isinstance(atom, Mod) and abs(k) == 1 and dim not in rest.dims:
            sign = dict(atom.of.terms).get(dim, 0)
            shift = atom.of - expr(dim) * sign
            if abs(sign) == 1 and dim not in shift.dims:
                m = rest * -k
                within = every(at_least(m, 0), at_least(atom.by - 1, m))
                residue = m if sign == 1 and shift == expr(0) else mod((m - shift) * sign, atom.by)
                return residue, atom.by, within
    return None
