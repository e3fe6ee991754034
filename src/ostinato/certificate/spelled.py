"""Records of a certificate as plain data, and back: what a field holds follows from its type.

A record is a dictionary of its fields in their order. Integers are not negative but for a few,
dimensions and expressions are spelled by a `Spelling`, a time has numbers and names of dimensions.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ostinato.certificate.order import Fill, Layout, Memory, Moment, Step, Tensor, Timeline
from ostinato.pdg.condition import Cond
from ostinato.pdg.index import Dim, Expr
from ostinato.pdg.text.spelling import (
    Plain,
    Spelling,
    Unreadable,
    entries,
    fields,
    integer,
    items,
    natural,
    text,
    truth,
)

Record = TypeVar("Record")
_NAMES = {"lo": "from", "hi": "to"}  # of fields, in the file
_SIGNED = ("issued", "slot")  # of fields: integers that may be negative
# What a record is called in errors, before and after its first field is known.
_TITLES: Mapping[type, tuple[str, str]] = {
    Step: ("a step", "the step `{}`"),
    Fill: ("a fill", "the fill of `{}`"),
    Tensor: ("a tensor", "the tensor `{}`"),
    Layout: ("a layout", ""),
}


@dataclass(frozen=True, slots=True)
class _Codec:
    """How values of a type are written and read."""

    write: Callable[[Spelling, Any], Plain]
    read: Callable[[Spelling, Plain, str], Any]


def _plain(read: Callable[[Plain, str], object]) -> _Codec:
    """What mentions no dimension."""
    return _Codec(lambda _, value: value, lambda _, data, what: read(data, what))


_CODECS: dict[object, _Codec] = {
    str: _plain(text),
    int: _plain(natural),
    bool: _plain(truth),
    Dim: _Codec(Spelling.name, Spelling.dim),
    Expr: _Codec(Spelling.expr, Spelling.read_expr),
    Cond: _Codec(Spelling.cond, Spelling.read_cond),
    Moment: _Codec(
        lambda names, t: names.name(t) if isinstance(t, Dim) else t,
        lambda names, t, what: names.dim(t, what) if isinstance(t, str) else natural(t, what),
    ),
}


@cache
def _codec(kind: Any) -> _Codec:
    if kind in _CODECS:
        return _CODECS[kind]
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return _Codec(lambda names, value: record_data(value, names), partial(_read_record, kind))
    origin, of = get_origin(kind), get_args(kind)
    if origin is types.UnionType and of[1:] == (types.NoneType,):
        return _optional(_codec(of[0]))
    if origin is tuple:
        return _list(_codec(of[0])) if of[1] is ... else _pair(*map(_codec, of))
    assert origin is Mapping, f"a field of a record has the type {kind}"
    return _named(of[0], _codec(of[1]))


def _optional(of: _Codec) -> _Codec:
    return _Codec(
        lambda names, value: None if value is None else of.write(names, value),
        lambda names, data, what: None if data is None else of.read(names, data, what),
    )


def _list(of: _Codec) -> _Codec:
    return _Codec(
        lambda names, values: [of.write(names, value) for value in values],
        lambda names, data, what: tuple(of.read(names, v, what) for v in items(data, what)),
    )


def _pair(first: _Codec, second: _Codec) -> _Codec:
    def read(names: Spelling, data: Plain, what: str) -> tuple[Any, Any]:
        pair = items(data, what)
        if len(pair) != 2:
            raise Unreadable(f"{what} has the pair {pair!r}")
        return first.read(names, pair[0], what), second.read(names, pair[1], what)

    return _Codec(lambda n, pair: [first.write(n, pair[0]), second.write(n, pair[1])], read)


def _named(key: type, of: _Codec) -> _Codec:
    """A dictionary by name, or by number."""

    def write(names: Spelling, found: Mapping[Any, Any]) -> Plain:
        pairs = found.items() if key is str else sorted(found.items())
        return {str(name): of.write(names, value) for name, value in pairs}

    def read(names: Spelling, data: Plain, what: str) -> Mapping[Any, Any]:
        found = entries(data, what)
        wrong = [name for name in found if key is int and not name.isdecimal()]
        if wrong:
            raise Unreadable(f"{what} is about node {wrong[0]!r}")
        return {key(name): of.read(names, v, f"{what} `{name}`") for name, v in found.items()}

    return _Codec(write, read)


@cache
def _fields(kind: Any) -> Mapping[str, tuple[str, _Codec]]:
    """The fields of a record: what each is called in the file, and its codec."""
    hints = get_type_hints(kind).items()
    return {
        name: (_NAMES.get(name, name), _plain(integer) if name in _SIGNED else _codec(of))
        for name, of in hints
    }


def _read_record(kind: Any, names: Spelling, data: Plain, what: str) -> Any:
    known = _fields(kind).values()
    before, after = _TITLES.get(kind, (what, ""))
    values = fields(data, before, *(said for said, _ in known))
    about = after.format(text(values[0], before)) if after else before
    return kind(*(c.read(names, v, about) for v, (_, c) in zip(values, known, strict=True)))


def record_data(value: object, names: Spelling) -> dict[str, Plain]:
    """A record as plain data; its dimensions are collected in ``names``."""
    kind: Any = type(value)
    known = _fields(kind).items()
    return {said: codec.write(names, getattr(value, name)) for name, (said, codec) in known}


def read_record(kind: type[Record], data: Plain, what: str, names: Spelling) -> Record:
    """The record that `record_data` writes.

    Errors: Unreadable.
    """
    of: Any = kind
    known = _fields(of).values()
    values = zip(fields(data, what, *(said for said, _ in known)), known, strict=True)
    return kind(*(c.read(names, v, f"`{said}` of {what}") for v, (said, c) in values))


def timeline_data(found: Timeline) -> Plain:
    """The statements and the memory of a schedule, with their own names of dimensions."""
    names = Spelling()
    steps = _codec(tuple[Step, ...]).write(names, found.steps)
    memory = record_data(found.memory, names)
    return {"dims": names.dims(), "steps": steps, **memory}


def read_timeline(data: Plain) -> Timeline:
    """The statements and the memory that `timeline_data` writes.

    Errors: Unreadable.
    """
    what, kept = "the order", [*_fields(Memory)]
    dims, steps, *rest = fields(data, what, "dims", "steps", *kept)
    names = Spelling.read_dims(dims)
    memory = read_record(Memory, dict(zip(kept, rest, strict=True)), what, names)
    if any(not time or isinstance(time[-1], Dim) for time in memory.barriers):
        raise Unreadable("a barrier has no place")
    return Timeline(_codec(tuple[Step, ...]).read(names, steps, "the steps"), memory)


_CODECS[Timeline] = _Codec(
    lambda _, order: timeline_data(order), lambda _, data, what: read_timeline(data)
)
