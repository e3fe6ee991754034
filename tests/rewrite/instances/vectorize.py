"""Instances of the family vectorize: an operator under a full slice, and the same without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ostinato.pdg.build import (
    along,
    broadcast,
    case,
    concat,
    const,
    gather,
    linear,
    map_node,
    matmul,
    part,
    read,
    rec,
    reduce_node,
    reshape,
    scan,
    transpose,
)
from ostinato.pdg.condition import ALWAYS, at_least, equal
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.node import Equation, Node, Pdg
from tests.rewrite.instances.instance import (
    B,
    Instance,
    Sizes,
    T,
    all_of,
    at,
    fires,
    program,
    silent,
    span,
    tensor,
)

Dims = Sequence[Dim]


def _map1(z: Sizes, over: Dims) -> Node:
    return map_node("tanh", [tensor("x", (z.m, z.k), over)])


def _map2(z: Sizes, over: Dims) -> Node:
    return map_node("sub", [tensor("x", (z.m, z.k), over), tensor("y", (1, z.k), (*over, B))])


def _map3(z: Sizes, over: Dims) -> Node:
    chosen = tensor("c", (z.m, 1), over, "bool")
    return map_node("where", [chosen, tensor("x", (z.m, z.k), over), tensor("y", (1, z.k))])


def _red(z: Sizes, over: Dims) -> Node:
    return reduce_node("max", tensor("x", (z.m, z.k), over), [-1])


def _mm(z: Sizes, over: Dims) -> Node:
    return matmul(tensor("x", (z.m, z.k), over), tensor("w", (z.k, z.n), over))


def _tr(z: Sizes, over: Dims) -> Node:
    return transpose(tensor("x", (z.m, z.k), over), (-1, -2))


def _perm(z: Sizes, over: Dims) -> Node:
    return transpose(tensor("x", (z.m, z.k, z.n), over), (-1, -3, -2))


def _reshape(z: Sizes, over: Dims) -> Node:
    return reshape(tensor("x", (z.m, z.k), over), (expr(z.m * z.k),))


def _bcast(z: Sizes, over: Dims) -> Node:
    return broadcast(tensor("x", (z.m, 1), over), (expr(z.m), expr(z.k)))


def _cat(z: Sizes, over: Dims) -> Node:
    return concat([tensor("x", (z.m, z.k), over), tensor("y", (z.n, z.k), over)], -2)


def _part(z: Sizes, over: Dims) -> Node:
    return part(tensor("x", (z.m, z.k), over), -2, expr(z.m - 1))


def _cut(z: Sizes, over: Dims) -> Node:
    return part(tensor("x", (z.m, z.k + 1), over), -1, span(1, z.k))


def _gather(z: Sizes, over: Dims) -> Node:
    x, index = tensor("x", (z.m, z.k), over), tensor("i", (z.m, z.n), over, "int32")
    return gather(x, index, -1)


def _along1(z: Sizes, over: Dims) -> Node:
    return along("argsort", [tensor("x", (z.m, z.k), over)], -2)


def _along2(z: Sizes, over: Dims) -> Node:
    ordered, values = tensor("x", (1, z.k), over), tensor("y", (z.m, z.n))
    return along("searchright", [along("max", [ordered], -1), values], -1)


def _case(z: Sizes, over: Dims) -> Node:
    return case(at_least(B, 1), tensor("x", (z.k,), over), tensor("y", (z.k,), over))


def _at(z: Sizes, over: Dims) -> Node:
    return at(tensor("x", (z.k,), (B, *over)), B, expr(B) - 1)


def _running(z: Sizes, over: Dims) -> Node:
    return scan("sum", tensor("x", (z.k,), (B, *over)), B)


def _lin(z: Sizes, over: Dims) -> Node:
    return linear(tensor("g", (1,), (B, *over)), tensor("x", (z.k,), (B, *over)), B, True)


OPERATORS: dict[str, Callable[[Sizes, Dims], Node]] = {
    "map1": _map1,
    "map2": _map2,
    "map3": _map3,
    "red": _red,
    "mm": _mm,
    "tr": _tr,
    "perm": _perm,
    "reshape": _reshape,
    "bcast": _bcast,
    "cat": _cat,
    "part": _part,
    "cut": _cut,
    "gather": _gather,
    "along1": _along1,
    "along2": _along2,
    "case": _case,
    "at": _at,
    "running": _running,
    "lin": _lin,
}


def _sliced(build: Callable[[Sizes, Dims], Node], over: Dims, z: Sizes) -> Pdg:
    return program(all_of(build(z, over), T))


def _operator(op: str) -> tuple[Instance, Instance]:
    build, rule = OPERATORS[op], f"vectorize/{op}"
    varying = Instance(f"{op} at every t", partial(_sliced, build, (T,)), (rule,))
    fixed = Instance(f"{op} of values without t", partial(_sliced, build, ()), (), (rule,))
    return varying, fixed


@fires("vectorize/want")
def chain_along_t(z: Sizes) -> Node:
    return map_node("tanh", [tensor("x", (z.k,), (T,))])


@silent("vectorize/want")
def chain_without_a_dimension(z: Sizes) -> Node:
    return map_node("tanh", [tensor("x", (z.k,))])


@silent("vectorize/red")
def sum_over_an_axis_whose_size_varies(z: Sizes) -> Node:
    later = read(tensor("x", (z.k,), (T,)), [(T, span(T, T.extent))])
    return all_of(reduce_node("sum", later, [-2]), T)


@fires("vectorize/running")
def running_maximum_from_the_end_at_every_t(z: Sizes) -> Node:
    return all_of(scan("max", tensor("x", (z.k,), (B, T)), B, True), T)


@silent("vectorize/at", "vectorize/running", "vectorize/lin")
def operators_along_the_sliced_dimension(z: Sizes) -> tuple[Node, ...]:
    x = tensor("x", (z.k,), (T,))
    steady = linear(tensor("g", (1,), (B,)), tensor("y", (z.k,)), T, False)
    line = linear(tensor("g", (1,), (T,)), x, T, False)
    others = at(x, T, expr(T) - 1), scan("sum", x, T), line, steady
    return tuple(all_of(node, T) for node in others)


@silent("vectorize/case", "vectorize/part", "vectorize/cut")
def operators_whose_index_moves_with_t(z: Sizes) -> tuple[Node, ...]:
    x, y = tensor("x", (z.k,), (T,)), tensor("y", (z.k,), (T,))
    chosen, first = case(equal(T, 0), x, y), part(x, -1, expr(T))
    return all_of(chosen, T), all_of(first, T), all_of(part(x, -1, span(T, expr(T) + 2)), T)


def _counter(z: Sizes, over: Dims) -> Pdg:
    """``h[t] = h[t - 1] + x[t]`` along ``over``, read at every b."""
    h, x = rec("h", (expr(z.k),), "float32", over), tensor("x", (z.k,), over)
    step = map_node("add", [at(h, T, expr(T) - 1), x])
    zero = const(0.0, "float32", (expr(z.k),))
    equation = Equation(h, ((equal(T, 0), zero), (ALWAYS, step)))
    return Pdg((("y", reduce_node("sum", all_of(h, B), [-2])),), {"h": equation})


RECURRENCES = (
    Instance("a recurrence per b", partial(_counter, over=(B, T)), ("vectorize/recurrence",)),
    Instance(
        "the equations of a recurrence per b",
        partial(_counter, over=(B, T)),
        ("vectorize/definition",),
        beside=("vectorize/recurrence",),
    ),
    Instance(
        "a recurrence that does not depend on b",
        partial(_counter, over=(T,)),
        idle=("vectorize/recurrence", "vectorize/definition"),
        beside=("vectorize/recurrence",),
    ),
)


@silent("vectorize/recurrence")
def part_of_a_history(z: Sizes) -> Node:
    return read(tensor("x", (z.k,), (B, T)), [(B, span(0, 2))])


@fires("vectorize/shift")
def history_read_one_step_back(z: Sizes) -> Node:
    return all_of(at(tensor("x", (z.k,), (T,)), T, expr(T) - 1), T)


@silent("vectorize/shift")
def history_read_at_another_step(z: Sizes) -> Node:
    return all_of(at(tensor("x", (z.k,), (T, B)), T, expr(B) + 1), B, T)


@fires("vectorize/point")
def axis_read_at_every_point(z: Sizes) -> Node:
    return all_of(part(tensor("x", (z.m, T.extent, z.k)), -2, expr(T)), T)


@fires("vectorize/point")
def first_axis_read_at_every_point(z: Sizes) -> Node:
    return all_of(part(tensor("x", (T.extent, z.k)), -2, expr(T)), T)


@silent("vectorize/point")
def axis_read_off_the_point(z: Sizes) -> tuple[Node, ...]:
    fixed, moving = tensor("x", (T.extent, z.k)), tensor("z", (T.extent,), (T,))
    return all_of(part(fixed, -2, expr(T) - 1), T), all_of(part(moving, -1, expr(T)), T)


@fires("vectorize/mv", beside=("vectorize/point",))
def moved_axis_at_every_b(z: Sizes) -> Node:
    return all_of(part(tensor("x", (z.m, T.extent, z.k), (B,)), -2, expr(T)), B, T)


@silent("vectorize/mv", beside=("vectorize/point",))
def moved_axis_without_b(z: Sizes) -> Node:
    return all_of(part(tensor("x", (z.m, T.extent, z.k)), -2, expr(T)), B, T)


def _nested(z: Sizes, outer: Dim, inner: Dim) -> Pdg:
    """Slices of a recurrence carried by t, so that t leads."""
    h, x = rec("h", (expr(z.k),), "float32", (B, T)), tensor("x", (z.k,), (B, T))
    equation = Equation(h, ((equal(T, 0), x), (ALWAYS, at(h, T, expr(T) - 1))))
    return Pdg((("y", all_of(h, outer, inner)),), {"h": equation})


NEST = ("vectorize/nest", "vectorize/nest-recurrence")
NESTING = (
    Instance("b outside t", partial(_nested, outer=B, inner=T), NEST),
    Instance("t outside b", partial(_nested, outer=T, inner=B), idle=NEST),
)

PUSHED = tuple(instance for op in OPERATORS for instance in _operator(op))
