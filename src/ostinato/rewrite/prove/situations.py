"""The cases of a law: where ranges begin and end, which tiles there are, if a step is the first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ostinato.rewrite.load.orders import around
from ostinato.rewrite.prove.integers import Poly, Var, never_negative, poly
from ostinato.rewrite.prove.reading import MOST_MASKED_AXES, Law, gaining
from ostinato.rewrite.prove.setting import STEPS, WIDTH, Setting, Span, Unsupported
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.relations.meanings import (
    BEHIND,
    EXTENT,
    HERE,
    START,
    AsMany,
    Beside,
    Claim,
    Elsewhere,
    Joined,
    Moves,
    Nearby,
    Said,
    Steps,
    Word,
)  # fmt: skip
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
    """The settings of all cases of the relation that a law names, about ranges at the point.

    Lengths are unknowns that are at least 1. In every case they say how far the point is from
    where the next case begins, so that all comparisons are decided.
    """
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


def situations(found: Law, setting: Setting) -> Iterator[Setting]:
    """The cases of a law about ranges that follow the point, or about a definition; else one."""
    if tiled := _saying(found, "tiles"):
        yield _in_tiles(found, tiled, setting)
        return
    if tile := _saying(found, "section"):
        whole = tile["n"]
        setting.known[whole] = ("total", whole)
        setting.totals[whole] = poly(Var(whole, None, True, int(setting.inside)))
    if ranges := gaining(found):
        yield from _gaining(found, ranges, setting)
    elif about := _saying(found, Elsewhere, Beside, Joined):
        yield from cases(about, setting)
    elif order := _saying(found, Moves):
        yield from _orders(order, setting)
    elif _saying(found, "first step"):
        yield from _first_and_later(found, setting)
    else:
        yield setting


def _saying(found: Law, *kinds: type[Claim] | Word) -> Row | None:
    """The fact of a law that makes a claim of one of some kinds: the last one of its relation."""
    rows = {row.relation.name: row for row in found.rows}
    return next((r for r in rows.values() if r.relation.makes(*kinds)), None)


def _gaining(found: Law, ranges: Mapping[str, str], setting: Setting) -> Iterator[Setting]:
    """Every kind of range that one step enters at every point, unless facts say which it is."""
    kinds = [name for name, steps in STEPS.items() if steps.gains]
    given = {row["s"]: row.relation.name for row in found.rows if row.relation.name in kinds}
    here = {row["a"] for row in found.rows if row.relation.name == "self"}
    for part, dim in ranges.items():
        near = [row for row in found.rows if row.claims(Nearby) and row["s"] == part]
        sided = [("prefix", "suffix")[setting.numbers[row["f"]]] for row in near]
        for kind in (given[part],) if part in given else sided or kinds:
            case = setting.copied()
            case.known[part] = kind, setting.dims[dim]
            about = [row for row in found.rows if row.cells.get("s") == part]
            if all(_enters(row, kind, case, here) for row in about):
                first = any(row.relation.makes("somewhere") for row in about)
                since = _from_the_first(case, setting.dims[dim], kind)
                yield from since if first else _beside_a_step(found, case)


def _beside_a_step(found: Law, case: Setting) -> Iterator[Setting]:
    """The first step of a loop, and a later one, where a law asks for the step before; else one."""
    about = _saying(found, Nearby)
    if about is None:
        yield case
        return
    side = RELATIONS["after" if case.numbers[about["f"]] else "before"]
    yield from cases(Row(side, {name: about.cells[name] for name in side.names}), case)


def _from_the_first(setting: Setting, dim: str, kind: str) -> Iterator[Setting]:
    """The step at which a range is empty, the next one, and any later one."""
    rest = poly(Var("later", None, True, 0))
    for since in (poly(0), poly(1), rest + 2):
        case, others = setting.copied(), poly(Var("others", None, True))
        backwards = STEPS[kind].gains == "first"
        case.places[dim] = others - 1 if backwards else since
        case.extents[dim] = since + others
        yield case


def _enters(row: Row, kind: str, case: Setting, here: set[str]) -> bool:
    """Learn what enters a range; whether this fits what else is known."""
    for claim in row.relation.says:
        match claim:
            case Said("entering"):
                case.known[row["a"]] = "enters", row["s"]
                is_own = STEPS[kind] in (Steps(START, BEHIND), Steps(HERE, EXTENT))
                backwards = int(STEPS[kind].gains == "first")
                fits = case.numbers.get(row["f"], backwards) == backwards
                if not fits or row["a"] in here and not is_own:
                    return False
            case AsMany(pairs):
                found = [other for of, other in pairs if of == STEPS[kind]]
                names = [name for name, steps in STEPS.items() if steps in found]
                if not names:
                    return False
                case.known[row["q"]] = names[0], case.known[row["s"]][1]
            case Said("somewhere") if STEPS[kind] in (Steps(START, BEHIND), Steps(HERE, EXTENT)):
                case.known |= {row["c"]: ("always",), row["q"]: ("always",)}
            case Said("somewhere"):
                case.known |= {row["c"]: ("has", row["s"]), row["q"]: ("had", row["s"])}
            case _:
                pass
    return True


def _in_tiles(found: Law, tiled: Row, setting: Setting) -> Setting:
    """Tiles that make up a size of at least 1; some positions may lie behind it."""
    whole, tile = tiled["n"], tiled["p"]
    case, place = setting.copied(), setting.dims[tiled["d"]]
    count = poly(Var("tiles", None, True))
    case.extents[place] = count
    case.totals[whole] = count * WIDTH - Var("unused", count * WIDTH)
    case.known |= {whole: ("total", whole), tile: ("tile", place, whole)}
    for about in found.rows:
        if Beside(-1) in about.relation.says:
            case.known |= {about["a"]: ("step before", place), about["c"]: ("later", place)}
    return case


def about_orders(found: Law) -> bool:
    """Whether a law names a permutation of which it knows where an axis goes."""
    return _saying(found, Moves) is not None


def _orders(row: Row, setting: Setting) -> Iterator[Setting]:
    """Every order of a few axes in which the one that a law names goes where it says."""
    ((moves,), p) = row.claims(Moves), setting.numbers[row["p"]]
    for axes in range(p, MOST_MASKED_AXES + 1):
        for found in itertools.permutations(range(-axes, 0)):
            place, left = around(found, p)
            if place == setting.numbers[row["q"]] and len(left) in moves.others:
                case = setting.copied()
                case.orders = {row["o"]: found}
                if "b" in row.cells:
                    case.orders[row["b"]] = left
                yield case


def _first_and_later(found: Law, setting: Setting) -> Iterator[Setting]:
    """The first step of a recurrence, and one that comes later."""
    about = _saying(found, "neighbour")
    if about is None:
        raise Unsupported("a first step without a direction")
    dim, reverse = setting.dims[about["d"]], bool(setting.numbers[about["f"]])
    before, after = (poly(Var(name, None, True)) for name in ("before", "after"))
    cases = (
        ((before - 1, before), (before - 1, before + after))
        if reverse
        else ((poly(0), after), (before, before + after))
    )
    for is_first, (place, extent) in zip((True, False), cases, strict=True):
        case = setting.copied()
        case.places[dim], case.extents[dim], case.is_first = place, extent, is_first
        yield case
