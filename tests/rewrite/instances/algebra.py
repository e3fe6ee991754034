"""Instances of the family algebra: an identity, and the expression most like it that is none."""

from __future__ import annotations

from collections.abc import Callable

from ostinato.pdg.build import (
    along,
    broadcast,
    case,
    const,
    map_node,
    matmul,
    part,
    read,
    reduce_node,
    reshape,
    transpose,
)
from ostinato.pdg.condition import ALWAYS, at_least
from ostinato.pdg.index import expr
from ostinato.pdg.node import Node, Pdg, Read, Reshape, intern
from tests.rewrite.instances.instance import (
    Instance,
    Sizes,
    T,
    all_of,
    program,
    silent,
    span,
    tensor,
    useless,
)

Built = Callable[[Sizes], Node]


def _x(z: Sizes) -> Node:
    return tensor("x", (z.m, z.k), (T,))


def _y(z: Sizes) -> Node:
    return tensor("y", (z.m, z.k))


def _w(z: Sizes) -> Node:
    return tensor("w", (z.k, z.n))


def _column(z: Sizes) -> Node:
    return tensor("s", (z.m, 1), (T,))


def _row(z: Sizes) -> Node:
    return tensor("r", (1, z.k), (T,))


def _bool(z: Sizes) -> Node:
    return tensor("c", (z.m, z.k), (T,), "bool")


@silent("algebra/times-one")
def integers_that_floats_hold_and_do_not_hold(z: Sizes) -> tuple[Node, ...]:
    numbers = (sign * (2**24 + more) for sign in (1, -1) for more in (0, 1))
    return tuple(map_node("cast", [const(n, "int32", (expr(z.m),))], "float32") for n in numbers)


@silent("algebra/times-one")
def powers_that_are_one(z: Sizes) -> tuple[Node, ...]:
    none, some = _filled(0.0), _filled(0.5)
    return map_node("exp", [none]), map_node("pow", [some, none]), map_node("exp", [some])


@silent("algebra/times-one")
def numbers_where_a_step_enters_a_range(z: Sizes) -> tuple[Node, ...]:
    past = along("prod", [read(tensor("w", (), (T,)), [(T, span(0, expr(T) + 1))])], -1)
    none, one, two = map(_filled, (0.0, 1.0, 2.0))
    three, x, some = _map("add", one, two), _x(z), const([0.5, 2.0], "float32", (expr(2),))
    sums = three, _map("add", one, one), _map("add", two, one), _map("sub", two, three)
    views = _neg(three), part(three, -1, expr(0)), reshape(three, (expr(1),))
    nothing = _map("mul", none, two), _map("mul", none, x)
    parts = _map("div", none, two), _map("div", none, x), _map("div", three, none)
    products = _map("mul", two, three), _map("div", three, two), _map("mul", three, _filled(20.0))
    above = *(reduce_node("sum", y, [-1]) for y in (x, some)), reshape(some, (expr(2), expr(1)))
    last = _map("exp", none), _filled(float("inf"))
    return past, *sums, *views, *nothing, *parts, *products, *above, *last


def _filled(value: float, *shape: int) -> Node:
    return const(value, "float32", tuple(expr(s) for s in shape or (1, 1)))


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _t(x: Node) -> Node:
    return transpose(x, (-1, -2))


def _neg(x: Node) -> Node:
    return _map("neg", x)


def _same_shape(x: Node) -> Node:
    """A reshape to the shape it has, which the constructor would drop."""
    return intern((Reshape(x.rank, x.shape), (x,), x.domain, x.shape, x.dtype))


def _unit(fn: str, value: float, right: bool) -> tuple[Built, Built]:
    """An operation with its unit, and one where the unit lengthens an axis."""

    def applied(z: Sizes) -> Node:
        pair = _x(z), _filled(value)
        return _map(fn, *(pair if right else reversed(pair)))

    def lengthened(z: Sizes) -> Node:
        pair = _row(z), _filled(value, z.m + 1, 1)
        return _map(fn, *(pair if right else reversed(pair)))

    return applied, lengthened


LAWS: dict[str, tuple[Built, Built]] = {
    "mul-one": _unit("mul", 1.0, True),
    "one-mul": _unit("mul", 1.0, False),
    "div-one": _unit("div", 1.0, True),
    "sub-zero": _unit("sub", 0.0, True),
    "add-zero": _unit("add", 0.0, True),
    "zero-add": _unit("add", 0.0, False),
    "zero-sub": _unit("sub", 0.0, False),
    "pow-one": _unit("pow", 1.0, True),
    "square": _unit("pow", 2.0, True),
    "neg-neg": (
        lambda z: _neg(_neg(_x(z))),
        lambda z: _map("add", _neg(_map("abs", _x(z))), _neg(_filled(1.0))),
    ),
    "not-not": (lambda z: _map("not", _map("not", _bool(z))), lambda z: _map("not", _bool(z))),
    "add-neg": (lambda z: _map("add", _x(z), _neg(_y(z))), lambda z: _map("add", _x(z), _y(z))),
    "neg-add": (lambda z: _map("add", _neg(_x(z)), _y(z)), lambda z: _map("add", _x(z), _y(z))),
    "sub-neg": (lambda z: _map("sub", _x(z), _neg(_y(z))), lambda z: _map("sub", _x(z), _y(z))),
    "neg-sub": (
        lambda z: _neg(_map("sub", _x(z), _y(z))),
        lambda z: _map("sub", _neg(_x(z)), _y(z)),
    ),
    "where-same": (
        lambda z: _map("where", _bool(z), _x(z), _x(z)),
        lambda z: _map("where", tensor("c", (z.m + 1, 1), (), "bool"), _row(z), _row(z)),
    ),
    "where-not": (
        lambda z: _map("where", _map("not", _bool(z)), _x(z), _y(z)),
        lambda z: _map("where", _bool(z), _x(z), _y(z)),
    ),
    "case-always": (
        lambda z: case(ALWAYS, _x(z), _y(z)),
        lambda z: case(at_least(T, 1), _x(z), _y(z)),
    ),
    "case-same": (
        lambda z: case(at_least(T, 1), _x(z), _x(z)),
        lambda z: case(at_least(T, 1), _x(z), _y(z)),
    ),
    "stop-gradient": (lambda z: _map("stop_gradient", _x(z)), lambda z: _map("exp", _x(z))),
    "transpose-product": (lambda z: _t(matmul(_x(z), _w(z))), lambda z: matmul(_x(z), _w(z))),
    "product-of-transposes": (
        lambda z: matmul(_t(_w(z)), _t(_x(z))),
        lambda z: matmul(_t(_x(z)), _y(z)),
    ),
    "sum-of-scaled": (
        lambda z: reduce_node("sum", _map("mul", _row(z), _x(z)), [-2]),
        lambda z: reduce_node("sum", _map("mul", _x(z), _column(z)), [-2]),
    ),
    "factor-first-last": (
        lambda z: _map("add", _map("mul", _x(z), _y(z)), _map("mul", _row(z), _x(z))),
        lambda z: _map("sub", _map("mul", _x(z), _y(z)), _map("mul", _row(z), _x(z))),
    ),
    "factor-last-first": (
        lambda z: _map("add", _map("mul", _y(z), _x(z)), _map("mul", _x(z), _row(z))),
        lambda z: _map("sub", _map("mul", _y(z), _x(z)), _map("mul", _x(z), _row(z))),
    ),
    "fold-twice": (
        lambda z: reduce_node("max", reduce_node("max", _x(z), [-2]), [-1]),
        lambda z: reduce_node("max", reduce_node("max", _x(z), [-1]), [-1]),
    ),
    "factor-left": (
        lambda z: _map("add", _map("mul", _x(z), _y(z)), _map("mul", _x(z), _row(z))),
        lambda z: _map("add", _map("mul", _x(z), _x(z)), _map("mul", _row(z), _y(z))),
    ),
    "factor-right": (
        lambda z: _map("add", _map("mul", _y(z), _x(z)), _map("mul", _row(z), _x(z))),
        lambda z: _map("add", _map("div", _y(z), _x(z)), _map("div", _row(z), _x(z))),
    ),
    "sum-of-negated": (
        lambda z: reduce_node("sum", _neg(_x(z)), [-1]),
        lambda z: reduce_node("max", _neg(_x(z)), [-1]),
    ),
    "reshape-twice": (
        lambda z: reshape(reshape(_x(z), (expr(z.k), expr(1)), 1), (expr(1), expr(z.k)), 2),
        lambda z: reshape(_map("exp", reshape(_x(z), (expr(z.m * z.k),))), _x(z).shape),
    ),
    "quotient-reshaped": (
        lambda z: reshape(_map("div", _x(z), _filled(2.0)), (expr(z.k), expr(z.m))),
        lambda z: reshape(_map("div", _x(z), _row(z)), (expr(z.k), expr(z.m))),
    ),
    "reshape-fewer": (
        lambda z: reshape(_x(z), (expr(z.m), expr(1), expr(z.k)), 2),
        lambda z: reshape(tensor("x", (z.m + 1, z.k), (T,)), (expr(1), expr((z.m + 1) * z.k))),
    ),
    "reshape-same": (
        lambda z: _same_shape(_x(z)),
        lambda z: reshape(_x(z), (expr(z.k), expr(z.m), expr(1))),
    ),
}


# The law of which something is another order of operands, or another function.
_ORDER_OF = {
    "mul-one": "times-one", "one-mul": "times-one", "div-one": "times-one",
    "add-zero": "plus-zero", "zero-add": "plus-zero", "sub-zero": "plus-zero",
    "neg-add": "add-neg", "sub-neg": "add-neg", "pow-one": "times-one",
    "neg-neg": "twice", "not-not": "twice",
    "factor-first-last": "factor", "factor-last-first": "factor", "factor-left": "factor",
    "factor-right": "factor",
}  # fmt: skip


def _instances(name: str) -> tuple[Instance, Instance]:
    built, near = LAWS[name]
    rule = f"algebra/{_ORDER_OF.get(name, name)}"
    return (
        Instance(name, lambda z: program(built(z)), (rule,)),
        Instance(f"not {name}", lambda z: program(near(z)), idle=(rule,)),
    )


def _moved_ones(z: Sizes) -> Pdg:
    """Ones whose axes and points are moved in every way are ones."""
    ones, more = _filled(1.0, z.m, z.k), _filled(1.0, z.n, z.m, z.k)
    moved = (
        _t(_filled(1.0, z.k, z.m)),
        transpose(_filled(1.0, z.m, z.k, z.n), (-1, -3, -2)),
        transpose(_filled(1.0, z.k, z.m, z.n), (-1, -2, -3)),
        reshape(_filled(1.0, z.m * z.k), ones.shape),
        broadcast(_filled(1.0, 1, z.k), ones.shape),
        part(more, -3, expr(0)),
        part(_filled(1.0, z.m + 1, z.k), -2, span(0, z.m)),
        useless(ones, Read(((T, expr(T) - 1),))),
        all_of(ones, T),
    )
    return program(*(_map("mul", _x(z), each) for each in moved))


ALGEBRA = (
    *(instance for name in LAWS for instance in _instances(name)),
    Instance(
        "values times moved ones",
        _moved_ones,
        ("algebra/times-one",),
        beside=("view/read-invariant",),
    ),
)
