"""A program as plain data, and back: nodes as a table with numbers, everything typed.

What is read is checked like what a pass makes: every node has the domain, shape and type that its
operands give it. Files are named without their folders, as everywhere in a graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields as record_fields
from dataclasses import replace
from functools import partial
from typing import cast, get_args

from ostinato.pdg.condition import Cond
from ostinato.pdg.constant import Scalar
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim, Expr, Slice, expr, product
from ostinato.pdg.invariants import verify
from ostinato.pdg.node import Const, Dtype, Equation, Node, Op, Pdg, Random, Read, intern
from ostinato.pdg.origin import Origin
from ostinato.pdg.text.spelling import (
    Plain,
    Spelling,
    Unreadable,
    entries,
    fields,
    integer,
    integers,
    items,
    mapping,
    natural,
    text,
    truth,
)

_KINDS: dict[str, type[Op]] = {kind.__name__.lower(): kind for kind in get_args(Op)}
_DRAWS = ("uniform", "normal", "bits")
_ABOUT = ("args", "domain", "shape", "dtype", "origins")
_SPECIAL = ("inf", "-inf", "nan")  # floats that JSON has no spelling for

Write = Callable[[Spelling, object], Plain]
Reading = Callable[[Spelling, Plain, str], object]


def _plain(_: Spelling, value: object) -> Plain:
    return list(cast(tuple[object, ...], value)) if isinstance(value, tuple) else value


def _write_values(_: Spelling, value: object) -> Plain:
    values = cast(tuple[Scalar, ...], value)
    return [repr(v) if isinstance(v, float) and not math.isfinite(v) else v for v in values]


def _read_values(_: Spelling, data: Plain, what: str) -> tuple[Scalar, ...]:
    return tuple(_scalar(v, what) for v in items(data, what))


def _scalar(data: Plain, what: str) -> Scalar:
    if isinstance(data, bool | int | float) and (isinstance(data, int) or math.isfinite(data)):
        return data
    if isinstance(data, str) and data in _SPECIAL:
        return float(data)
    raise Unreadable(f"{what} holds {data!r}, which is no number")


def _write_window(names: Spelling, value: object) -> Plain:
    if value is None:
        return None
    dim, steps = cast(tuple[Dim, Slice], value)
    return [names.name(dim), names.index(steps)]


def _read_window(names: Spelling, data: Plain, what: str) -> tuple[Dim, Slice] | None:
    if data is None:
        return None
    pair = items(data, what)
    if len(pair) != 2:
        raise Unreadable(f"{what} is {data!r}, not a dimension and its steps")
    steps = names.read_index(pair[1], what)
    if not isinstance(steps, Slice):
        raise Unreadable(f"{what} is {data!r}, whose steps are no slice")
    return names.dim(pair[0], what), steps


def _unnamed(read: Callable[[Plain, str], object]) -> Reading:
    """A reader of what mentions no dimension."""
    return lambda _, data, what: read(data, what)


_CODECS: dict[str, tuple[object, object]] = {
    **dict.fromkeys(("name", "fn", "effects"), (_plain, _unnamed(text))),
    **dict.fromkeys(("stream", "call", "masks", "rank"), (_plain, _unnamed(natural))),
    **dict.fromkeys(("axes", "perm"), (_plain, _unnamed(integers))),
    **dict.fromkeys(("of", "size"), (Spelling.expr, Spelling.read_expr)),
    "axis": (_plain, _unnamed(integer)),
    "reverse": (_plain, _unnamed(truth)),
    "shape": (Spelling.exprs, Spelling.read_exprs),
    "dim": (Spelling.name, Spelling.dim),
    "cond": (Spelling.cond, Spelling.read_cond),
    "values": (_write_values, _read_values),
    "window": (_write_window, _read_window),
}


def _codec(kind: type[Op], name: str) -> tuple[Write, Reading]:
    """How a field of an operator is written and read."""
    if name != "at":
        return cast(tuple[Write, Reading], _CODECS[name])
    if kind is Read:
        return cast(tuple[Write, Reading], (Spelling.reading, Spelling.read_reading))
    return cast(tuple[Write, Reading], (Spelling.index, Spelling.read_index))


def op_data(op: Op, names: Spelling) -> Plain:
    """An operator: its kind, with its fields."""
    kind = type(op)
    pairs = ((field.name, getattr(op, field.name)) for field in record_fields(op))
    return {
        kind.__name__.lower(): {name: _codec(kind, name)[0](names, value) for name, value in pairs}
    }


def read_op(data: Plain, names: Spelling, what: str) -> Op:
    """The operator that `op_data` writes.

    Errors: Unreadable.
    """
    found = entries(data, what)
    name, inner = next(iter(found.items()), ("", None))
    kind = _KINDS.get(name)
    if kind is None or len(found) != 1:
        raise Unreadable(f"{what} has the unknown operator {data!r}")
    known = [field.name for field in record_fields(kind)]
    values = {
        name: _codec(kind, name)[1](names, value, f"`{name}` of {what}")
        for name, value in zip(known, fields(inner, what, *known), strict=True)
    }
    op = cast(Callable[..., Op], kind)(**values)
    if isinstance(op, Random) and op.fn not in _DRAWS:
        raise Unreadable(f"{what} draws {op.fn!r}")
    return op


def node_data(node: Node, args: Sequence[int], names: Spelling) -> Plain:
    """A node whose operands have these numbers."""
    return {
        "op": op_data(node.op, names),
        "args": list(args),
        "domain": [names.name(d) for d in node.domain],
        "shape": names.exprs(node.shape),
        "dtype": node.dtype,
        "origins": [[of.where, of.label] for of in (node.origin, *node.origin.others)],
    }


def read_node(data: Plain, known: Sequence[Node], names: Spelling, what: str) -> Node:
    """A node over those before it.

    Errors: Unreadable.
    """
    op, args, domain, shape, dtype, said = fields(data, what, "op", *_ABOUT)
    found = read_op(op, names, what)
    numbers = [natural(k, f"an operand of {what}") for k in items(args, f"operands of {what}")]
    if any(k >= len(known) for k in numbers):
        raise Unreadable(f"{what} has an operand that does not stand before it")
    if dtype not in get_args(Dtype):
        raise Unreadable(f"{what} has the unknown type {dtype!r}")
    dims = tuple(names.dim(d, f"the domain of {what}") for d in items(domain, what))
    sizes = names.read_exprs(shape, f"the shape of {what}")
    if isinstance(found, Const):
        _check_values(found, sizes, cast(Dtype, dtype), what)
    if isinstance(found, Const) and dims:
        raise Unreadable(f"{what} is a literal that depends on {dims[0]}")
    key = (found, tuple(known[k] for k in numbers), dims, sizes, cast(Dtype, dtype))
    return intern(key, _read_origin(said, f"the origins of {what}"))


def _read_origin(data: Plain, what: str) -> Origin:
    pairs = [[text(each, what) for each in items(pair, what)] for pair in items(data, what)]
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise Unreadable(f"{what} are {data!r}, not pairs of a place and a name")
    first, *others = (Origin(where, label) for where, label in pairs)
    return replace(first, others=tuple(others))


def _check_values(op: Const, shape: Sequence[Expr], dtype: Dtype, what: str) -> None:
    """As many numbers as elements, or one, each of the Python type that the dtype has."""
    count = product(shape)
    if len(op.values) != 1 and count != expr(len(op.values)):
        raise Unreadable(f"{what} has {len(op.values)} values for {count} elements")
    kind = bool if dtype == "bool" else float if dtype.startswith(("float", "bfloat")) else int
    wrong = [v for v in op.values if type(v) is not kind]
    if wrong:
        raise Unreadable(f"{what} of type {dtype} holds {wrong[0]!r}")


def program_data(pdg: Pdg, names: Spelling) -> Plain:
    """A whole program; its dimensions are collected in ``names``."""
    numbers: dict[Node, int] = {}
    table: list[Plain] = []
    for node in (*pdg.nodes(), *(eq.rec for eq in pdg.equations.values())):
        if node not in numbers:
            numbers[node] = len(table)
            table.append(node_data(node, [numbers[a] for a in node.args], names))
    equations: dict[str, Plain] = {}
    for name, eq in pdg.equations.items():
        cases = [{"when": names.cond(c), "value": numbers[right]} for c, right in eq.cases]
        equations[name] = {"left": numbers[eq.rec], "cases": cases, "where": list(eq.where)}
    return {
        "nodes": table,
        "equations": equations,
        "outputs": {name: numbers[node] for name, node in pdg.outputs},
        "minimum_extents": dict(sorted(pdg.minimum_extents.items())),
    }


def numbered(pdg: Pdg) -> tuple[Node, ...]:
    """The nodes in the order of the table that `program_data` writes."""
    return tuple(dict.fromkeys((*pdg.nodes(), *(eq.rec for eq in pdg.equations.values()))))


def read_program(data: Plain, names: Spelling, what: str = "the program") -> Pdg:
    """The program that `program_data` writes, with every invariant of a graph checked.

    Errors: Unreadable.
    """
    table, equations, outputs, least = fields(
        data, what, "nodes", "equations", "outputs", "minimum_extents"
    )
    nodes: list[Node] = []
    for k, entry in enumerate(items(table, f"the nodes of {what}")):
        nodes.append(read_node(entry, nodes, names, f"node {k} of {what}"))

    def at(value: Plain, about: str) -> Node:
        number = natural(value, about)
        if number >= len(nodes):
            raise Unreadable(f"{about} is node {number} of {len(nodes)}")
        return nodes[number]

    read = partial(_read_equation, names=names, at=at)
    found = mapping(outputs, f"the outputs of {what}", at)
    minimum = mapping(least, f"the least extents of {what}", natural)
    pdg = Pdg(tuple(found.items()), mapping(equations, f"the equations of {what}", read), minimum)
    try:
        verify(pdg)
    except (AssertionError, OstinatoError, KeyError, IndexError, ValueError) as problem:
        raise Unreadable(f"{what} is no program: {problem}") from problem
    return pdg


def _read_equation(
    data: Plain, what: str, names: Spelling, at: Callable[[Plain, str], Node]
) -> Equation:
    left, cases, where = fields(data, what, "left", "cases", "where")
    pairs: list[tuple[Cond, Node]] = []
    for case in items(cases, what):
        cond, value = fields(case, what, "when", "value")
        pairs.append((names.read_cond(cond, f"a condition of {what}"), at(value, what)))
    lines = tuple(text(line, f"a place of {what}") for line in items(where, what))
    return Equation(at(left, what), tuple(pairs), lines)
