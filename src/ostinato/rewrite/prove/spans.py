"""The cases of a law about ranges that follow the point.

Lengths are unknowns that are at least 1. In every case they say how far the point is from where
the next case begins, so that all comparisons are decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ostinato.rewrite.prove.integers import Poly, Var, never_negative, poly
from ostinato.rewrite.prove.setting import Setting, Span
from ostinato.rewrite.relations.meanings import Beside, Claim, Elsewhere, Joined
from ostinato.rewrite.relations.row import Row

_STEP, _MORE, _SPARE, _AT = (
    poly(Var(name, None, True)) for name in ("step", "more", "spare", "start")
)


@dataclass
class _Case:
    """What is known in one case: the point, the extent, spans, distances and conditions."""

    place: Poly | None = None
    extent: Poly | None = None
    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    offsets: dict[str, Poly] = field(default_factory=dict[str, Poly])
    holds: dict[str, bool] = field(default_factory=dict[str, bool])


def cases(row: Row, setting: Setting) -> Iterator[Setting]:
    """The settings of all cases of the relation that a law names."""
    (claim,), (dim, *names) = row.relation.says, map(str, row.cells.values())
    place = setting.dims[dim]
    if isinstance(claim, Elsewhere):
        yield from _elsewhere(setting, place, *names)
        return
    for case in _cases(claim, names):
        found = setting.copied()
        for name in case.spans:
            found.known[name] = ("span", place)
        for name in case.offsets:
            found.known[name] = ("offset", place)
        found.spans, found.offsets = case.spans, case.offsets
        found.decided = case.holds
        if case.place is not None:
            found.places[place] = case.place
        if case.extent is not None:
            found.extents[place] = case.extent
        yield found


def _cases(claim: Claim, names: list[str]) -> Iterator[_Case]:
    match claim, names:
        case Beside(-1), [b, k]:
            yield _Case(poly(0), _MORE, {}, {b: poly(-1)}, {k: False})
            yield _Case(_STEP, _STEP + _MORE, {}, {b: poly(-1)}, {k: True})
        case Beside(1), [b, k]:
            yield _Case(_AT - 1, _AT, {}, {b: poly(1)}, {k: False})
            yield _Case(_AT - 1, _AT + _STEP, {}, {b: poly(1)}, {k: True})
        case Joined(how), _:
            for past in (True, False):
                yield from _halves(how, names, past)
        case _:
            raise AssertionError(f"{claim} is about no range")


def _halves(how: str, names: list[str], past: bool) -> Iterator[_Case]:
    """Laws about windows on one side: ``far`` is the distance to the end on that side."""
    h, w = (poly(Var(name, None, True)) for name in ("h", "w"))
    g = _STEP + _MORE - 1
    match how:
        case "halved":
            parts = [(h - _STEP, h, h), (g + _STEP - 1, g, g), (h + h + _STEP - 2, h, h)]
            yield from (_half(names, past, part, False) for part in parts)
            parts[-1] = h + h + _STEP - 1, h, h
        case _:  # overlapping
            parts = [(h - _STEP, h, h + w - 1), (h + _STEP - 1, h, h + _STEP + _SPARE - 1)]
            wide = g + w - 1
            parts += [(wide + _STEP - 1, g, wide), (h + w - 1 + h + _STEP - 1, h, h + w - 1)]
    yield from (_half(names, past, part) for part in parts)


def _elsewhere(
    setting: Setting, place: str, part: str, other: str, index: str, cond: str
) -> Iterator[Setting]:
    """The range is the other one at the index, or it is empty."""
    for holds in (True, False):
        found = setting.copied()
        found.known[part] = ("elsewhere", place, other, index, cond)
        found.decided = {cond: holds}
        yield found


def _half(
    names: list[str], past: bool, numbers: tuple[Poly, Poly, Poly], is_odd: bool = True
) -> _Case:
    """One case: the point is ``far`` from the end, the other window ``by`` further, if it is.

    ``is_odd``: whether one step more belongs to the window.
    """
    (far, by, length), (s, p, a, c, *more) = numbers, names
    place = far if past else _AT - 1
    whole = by + length
    offsets, holds = {a: by}, {c: _is_sure(far - by)}
    if more:
        offsets[more[0]] = whole
        holds[more[1]] = not (is_odd and _is_sure(far - by - length))
        whole = whole + int(is_odd)
    spans = {s: _window(whole, past), p: _window(length, past)}
    signed = {name: -by if past else by for name, by in offsets.items()}
    return _Case(place, None if past else place + 1 + far, spans, signed, holds)


def _window(steps: Poly, past: bool) -> Span:
    """The window of so many steps at the point."""
    return Span(-steps + 1, poly(1), False, True) if past else Span(poly(0), steps, True, False)


def _is_sure(p: Poly) -> bool:
    """Whether a number is never negative; the cases are such that it is otherwise always."""
    assert never_negative(p) or never_negative(-p - 1), f"a case does not decide {p}"
    return never_negative(p)
