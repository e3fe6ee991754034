"""Every field of a certificate is altered in turn: what is not refused is listed, with the reason.

A field is the way to it, where a number in a list counts as any other. Of fields that occur often
some are altered, spread over the file.
"""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest

import ostinato as ot
from ostinato.certificate.document import sum_of
from tests.certificate.programs import Data, is_refused, refusal

EACH = 1  # of the places of a field
REMARK = "a name or a place for readers and for texts of errors"
HINT = "it orders the search for a proof of equality, which stands or falls by itself"
ENOUGH = "every rule that is there is proved, and they have to be enough"
SURVIVORS: dict[str, str] = {
    **{
        f"{of}.{field}": REMARK
        for of in ("source", "extracted.program")
        for field in (
            "nodes.*.origins",
            "nodes.*.origins.*",
            "nodes.*.origins.*.*",
            "equations.h.where",
            "equations.h.where.*",
        )
    },
    "extracted.program.nodes.*.op.part.axis": "of an array with one axis the last is the first",
    "rules": ENOUGH,
    "hints.nest": HINT,
    **{f"hints.{of}{which}": HINT for of in ("wanted", "free") for which in ("", ".*", ".*.*")},
}

Way = tuple[str | int, ...]


def program() -> ot.Program:
    """A recurrence, its discounted sum, and a mean of all, in tiles with barriers between."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    h = ot.recurrent("h", over=(b, t))
    h[b, 0] = 0.1
    h[b, t + 1] = ot.tanh(h + x)
    gain = ot.discounted_sum(h[b, t:], 0.9)
    return ot.Program(gain=gain, mean=gain[:, 0].mean())


@cache
def _written() -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        program().compile(threads=2, certificate=path)
        return path.read_text(encoding="utf-8")


def original() -> Data:
    found: Data = json.loads(_written())
    return found


def ways(data: Any, way: Way = ()) -> Iterator[Way]:
    """The ways to all lists, records and values."""
    if way:
        yield way
    if isinstance(data, dict):
        for key, value in cast(Data, data).items():
            yield from ways(value, (*way, key))
    elif isinstance(data, list):
        for k, value in enumerate(cast(list[object], data)):
            yield from ways(value, (*way, k))


def field(way: Way) -> str:
    """A way without the numbers in lists, and without those of nodes in hints."""
    parts = ("*" if isinstance(part, int) or part.isdecimal() else part for part in way)
    return ".".join(parts)


@cache
def fields() -> dict[str, tuple[Way, ...]]:
    found: dict[str, list[Way]] = defaultdict(list)
    for way in ways(original()):
        if way != ("sum",):
            found[field(way)].append(way)
    return {name: tuple(all_[:: max(1, len(all_) // EACH)][:EACH]) for name, all_ in found.items()}


def alterations(value: Any) -> Iterator[Any]:
    """Other values of a field, of the same kind where there are any."""
    match value:
        case None:
            yield 0
        case bool():
            yield not value
        case int() | float():
            yield from (value + 1, -value - 1)
        case str():
            yield from ("", f"{value}2", "t" if value != "t" else "b")
        case list() if value:
            yield from (value[:-1], [*value, value[-1]], value[::-1])
        case dict() if value:
            yield dict([*cast(Data, value).items()][:-1])
        case _:
            return


def survivors(way: Way) -> Iterator[Any]:
    """The values of a field with which a certificate is not refused."""
    value: Any = original()
    for part in way:
        value = value[part]
    for other in alterations(value):
        if other == value:
            continue
        data = copy.deepcopy(original())
        at: Any = data
        for part in way[:-1]:
            at = at[part]
        at[way[-1]] = other
        data["sum"] = sum_of(data)
        if not is_refused(data):
            yield other


def test_the_certificate_itself_holds() -> None:
    assert refusal(original()) == ""


@pytest.mark.parametrize("name", fields())
def test_a_field_is_checked_or_listed_with_a_reason(name: str) -> None:
    if name not in SURVIVORS:
        assert [other for way in fields()[name] for other in survivors(way)] == []


def test_what_is_listed_is_there_and_is_no_claim() -> None:
    assert SURVIVORS.keys() <= fields().keys()
    for name in ("source.nodes.*.origins.*.*", "hints.nest"):
        assert next(survivors(fields()[name][0]), None) is not None
