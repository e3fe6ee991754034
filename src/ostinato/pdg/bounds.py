"""What the box alone decides: bounds of index expressions, and conditions as short conjunctions.

Inside the box every dimension satisfies ``0 <= d <= D - 1`` and every extent is at least 1. The
procedures are incomplete and cheap: an answer "no" means "not proved".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import assert_never

from ostinato.pdg.condition import (
    ALWAYS,
    NEVER,
    Compare,
    Cond,
    Every,
    Negation,
    Some,
    at_least,
    equal,
    every,
    negation,
    some,
)
from ostinato.pdg.index import (
    Atom,
    Dim,
    Expr,
    Extent,
    Extremum,
    FloorDiv,
    Mod,
    Product,
    expr,
    maximum,
    minimum,
)

KNOWN = 1 << 14  # answers kept: the same few hundred questions are asked about every recurrence


@lru_cache(maxsize=KNOWN)
def is_never_negative(e: Expr) -> bool:
    """Whether ``e >= 0`` is proved at all points of the box."""
    compound = next((t for t in e.terms if not isinstance(t[0], Dim | Extent)), None)
    if compound is None:
        return _linear_is_never_negative(e)
    atom, k = compound
    rest = e - Expr((compound,), 0)
    match atom:
        case Extremum(kind, of):
            enough = any if (kind == "max") == (k > 0) else all
            return enough(is_never_negative(rest + x * k) for x in of)
        case Mod(_, by):
            return is_never_negative(rest + (0 if k > 0 else k * (by - 1)))
        case FloorDiv(of, by) if abs(k) == 1:  # of // by <= n exactly if of <= n * by + by - 1
            return is_never_negative(rest * by + (of if k > 0 else by - 1 - of))
        case FloorDiv(of, by) if k < 0 and k % by == 0:  # by * (of // by) <= of
            return is_never_negative(rest + of * (k // by))
        case FloorDiv(of, by):
            if not is_never_negative(of):
                return False
            return is_never_negative(rest + (expr(0) if k > 0 else of * k))
        case Product(of):
            positive = k > 0 and all(is_never_negative(x - 1) for x in of)
            return positive and is_never_negative(rest + k)
        case Dim() | Extent():
            raise AssertionError(f"{atom} is no compound atom")
        case other:
            assert_never(other)


def _linear_is_never_negative(e: Expr) -> bool:
    least = expr(e.const)
    for atom, k in e.terms:
        if isinstance(atom, Dim):
            least = least + (expr(0) if k > 0 else (expr(atom.extent) - 1) * k)
        else:
            least = least + Expr(((atom, k),), 0)
    if any(k < 0 for _, k in least.terms):  # an extent that others define may still decide
        defined = any(not isinstance(atom, Dim | Extent) for atom, _ in least.terms)
        return defined and is_never_negative(least)
    return least.const + sum(k for _, k in least.terms) >= 0


@lru_cache(maxsize=KNOWN)
def simplified(cond: Cond) -> Cond:
    """The condition with what the box decides removed, and redundant bounds dropped."""
    match cond:
        case Compare(of, "ge"):
            if is_never_negative(of):
                return ALWAYS
            parts = linear_bounds(of)
            if len(parts) > 1:
                return simplified(every(*(at_least(part, 0) for part in parts)))
            if is_never_negative(-of - 1):
                return NEVER
            return equal(of, 0) if is_never_negative(-of) else cond
        case Compare():
            return _simplified_equality(cond)
        case Every(of_):
            return _tightest(every(*map(simplified, of_)))
        case Some(of_):
            return _factored([simplified(c) for c in of_])
        case Negation(of__):
            return _complement(of__)
        case other:
            assert_never(other)


def _simplified_equality(cond: Compare) -> Cond:
    if is_never_negative(cond.of - 1) or is_never_negative(-cond.of - 1):
        return NEVER
    for atom, k in cond.of.terms:
        if isinstance(atom, Extremum) and abs(k) == 1:
            pieces = attained(atom, (cond.of - Expr(((atom, k),), 0)) * -k)
            left = [p for p in (simplified(every(*piece)) for piece in pieces) if p != NEVER]
            if len(left) < 2:
                return left[0] if left else NEVER
    return cond


def attained(atom: Extremum, value: Expr) -> Iterator[tuple[Cond, ...]]:
    """``max(...) == value`` in disjoint pieces: one member is it, the earlier ones are inside."""
    sign = 1 if atom.kind == "max" else -1
    for k, x in enumerate(atom.of):
        earlier = (at_least((x - y) * sign, 1) for y in atom.of[:k])
        later = (at_least((x - y) * sign, 0) for y in atom.of[k + 1 :])
        yield (equal(x, value), *earlier, *later)


def _complement(cond: Cond) -> Cond:
    match cond:
        case Every(of):
            return simplified(some(*map(negation, of)))
        case Some(of):
            return simplified(every(*map(negation, of)))
        case Compare(of_, "eq"):
            inner = simplified(cond)
            if inner != cond:
                return negation(inner)
            if is_never_negative(of_):  # the excluded point is the first one
                return simplified(at_least(of_, 1))
            return simplified(at_least(-of_, 1)) if is_never_negative(-of_) else Negation(cond)
        case _:
            return simplified(negation(cond))


def _tightest(cond: Cond) -> Cond:
    """Without what another comparison implies; NEVER if two contradict each other."""
    conds = conjuncts(cond)
    kept: list[Compare] = []
    for c in conds:
        if isinstance(c, Compare):
            if any(_excludes(c, k) for k in kept):
                return NEVER
            if not any(_implies(k, c) for k in kept):
                kept = [k for k in kept if not _implies(c, k)] + [c]
    held = frozenset(conds)
    if any(isinstance(c, Negation) and c.of in held for c in conds):
        return NEVER
    rest = (_resolved(c, kept) for c in conds if not isinstance(c, Compare))
    return every(*kept, *rest)


def _resolved(cond: Cond, known: list[Compare]) -> Cond:
    """A disjunction without the members that what is known excludes."""
    if not isinstance(cond, Some):
        return cond
    left: list[Cond] = []
    for member in cond.of:
        if isinstance(member, Compare) and any(_implies(k, member) for k in known):
            return ALWAYS
        if not (isinstance(member, Compare) and any(_excludes(member, k) for k in known)):
            left.append(member)
    return some(*left)


def _sides(a: Compare) -> tuple[Expr, ...]:
    """The expressions that are proved not negative."""
    return (a.of,) if a.kind == "ge" else (a.of, -a.of)


def _implies(a: Compare, b: Compare) -> bool:
    if b.kind == "eq":
        return a == b
    gaps = (b.of - side for side in _sides(a))
    return any(gap.is_const and gap.const >= 0 for gap in gaps)


def _excludes(a: Compare, b: Compare) -> bool:
    sums = (x + y for x in _sides(a) for y in _sides(b))
    return any(total.is_const and total.const < 0 for total in sums)


def _factored(conds: Iterable[Cond]) -> Cond:
    """A disjunction with the conjuncts that all members share in front."""
    members = _merged([m for m in dict.fromkeys(conds) if m != NEVER])
    if ALWAYS in members:
        return ALWAYS
    if not members:
        return NEVER
    shared = [c for c in conjuncts(members[0]) if all(c in conjuncts(m) for m in members[1:])]
    if not shared:
        return some(*members)
    rests = [every(*(c for c in conjuncts(m) if c not in shared)) for m in members]
    return every(*shared, some(*rests))


def _merged(conds: list[Cond]) -> list[Cond]:
    """A disjunction with members that leave no gap joined into one."""
    for k, a in enumerate(conds):
        for j, b in enumerate(conds):
            joined = _joined(a, b) if j != k else None
            if joined is not None:
                rest = [c for i, c in enumerate(conds) if i not in (j, k)]
                return _merged([*rest, simplified(joined)])
    return conds


def _joined(a: Cond, b: Cond) -> Cond | None:
    """``a or b`` as one condition, if the two leave no gap.

    They do if they are the same but for one member, of which they have opposites, or if ``a`` is a
    bound that ``b`` touches.
    """
    mine, other = conjuncts(a), conjuncts(b)
    apart = [[c for c in x if c not in y] for x, y in ((mine, other), (other, mine))]
    if len(apart[0]) == len(apart[1]) == 1 and _are_opposite(apart[0][0], apart[1][0]):
        return every(*(c for c in mine if c in other))
    return _touching(a, b)


def _are_opposite(a: Cond, b: Cond) -> bool:
    if isinstance(a, Compare) and isinstance(b, Compare):
        return _complement(a) == b or _complement(b) == a
    return Negation(a) == b or Negation(b) == a


def _touching(a: Cond, b: Cond) -> Cond | None:
    if not isinstance(a, Compare) or not isinstance(b, Compare) or a.kind != "ge":
        return None
    if b.kind == "ge":
        if (a.of + b.of).is_const:
            return ALWAYS if (a.of + b.of).const >= -1 else None
        gap = a.of - b.of
        return (a if gap.const >= 0 else b) if gap.is_const else None
    for side in (b.of, -b.of):
        gap = a.of - side
        if gap.is_const and gap.const >= -1:
            return at_least(a.of + (1 if gap.const == -1 else 0), 0)
    return None


def conjuncts(cond: Cond) -> tuple[Cond, ...]:
    """The members of a conjunction; a single condition is its own."""
    return cond.of if isinstance(cond, Every) else (cond,)


def greatest(bounds: Iterable[Expr]) -> Expr:
    """The maximum without the members that another one is proved to reach."""
    return maximum(*_undominated(bounds, 1))


def smallest(bounds: Iterable[Expr]) -> Expr:
    """The minimum without the members that another one is proved not to exceed."""
    return minimum(*_undominated(bounds, -1))


def _undominated(bounds: Iterable[Expr], sign: int) -> list[Expr]:
    kept: list[Expr] = []
    for b in bounds:
        if any(is_never_negative((k - b) * sign) for k in kept):
            continue
        kept = [k for k in kept if not is_never_negative((b - k) * sign)] + [b]
    return kept


def linear_bounds(e: Expr) -> tuple[Expr, ...]:
    """Expressions that are all ``>= 0`` exactly where ``e`` is: ``min`` and ``-max`` spread."""
    for atom, k in e.terms:
        if isinstance(atom, Extremum) and (atom.kind == "max") == (k < 0):
            rest = e - Expr(((atom, k),), 0)
            return tuple(x for member in atom.of for x in linear_bounds(rest + member * k))
    return (e,)


def members(e: Expr, kind: str) -> tuple[Expr, ...]:
    """The operands of a maximum or minimum; another expression is its own only one."""
    atom: Atom | None = e.terms[0][0] if len(e.terms) == 1 and e.terms[0][1] == 1 else None
    if isinstance(atom, Extremum) and atom.kind == kind:
        return tuple(x + e.const for x in atom.of)
    return (e,)
