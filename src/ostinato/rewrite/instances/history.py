"""Instances of the family incremental: functions of the elements of a range that grows."""

from __future__ import annotations

from functools import partial
from itertools import product

from ostinato.pdg.build import iota, map_node, matmul, reduce_node, reshape
from ostinato.pdg.index import expr
from ostinato.pdg.node import Dtype, Node, Pdg
from ostinato.rewrite.instances.incremental import ranged, rows, until_now
from ostinato.rewrite.instances.instance import (
    Instance,
    Sizes,
    T,
    fires,
    program,
    silent,
    tensor,
)

_FUNCTION = {1: "tanh", 2: "mul", 3: "where"}


def _operand(z: Sizes, k: int, is_slice: bool, arity: int) -> Node:
    """A slice so far, or a row that is the same at all points."""
    dtype: Dtype = "bool" if arity == 3 and k == 0 else "float32"
    if is_slice:
        return until_now(tensor(f"x{k}", (z.k,), (T,), dtype))
    return tensor(f"c{k}", (1, z.k), (), dtype)


def _together(z: Sizes, sliced: tuple[bool, ...]) -> Pdg:
    args = [_operand(z, k, is_slice, len(sliced)) for k, is_slice in enumerate(sliced)]
    return program(map_node(_FUNCTION[len(sliced)], args))


def _apart(z: Sizes, sliced: tuple[bool, ...]) -> Pdg:
    """The same with a slice of fixed length."""
    args = [_operand(z, k, is_slice, len(sliced)) for k, is_slice in enumerate(sliced)]
    fixed = [ranged(a.args[0], 0, 2) if s else a for a, s in zip(args, sliced, strict=True)]
    return program(map_node(_FUNCTION[len(sliced)], fixed))


def _all_together() -> tuple[Instance, ...]:
    out: list[Instance] = []
    for arity in (1, 2, 3):
        for sliced in product((True, False), repeat=arity):
            if any(sliced):
                kinds = "".join("s" if s else "c" for s in sliced)
                rule = f"incremental/together-map{arity}-{kinds}"
                whole = partial(_together, sliced=sliced)
                out.append(Instance(f"{kinds} so far", whole, (rule,)))
                apart = partial(_apart, sliced=sliced)
                out.append(Instance(f"{kinds} of two points", apart, idle=(rule,)))
    return tuple(out)


TOGETHER = _all_together()


@silent("incremental/together-map2-sc", "incremental/together-map2-cs")
def ranges_times_a_weight_per_point(z: Sizes) -> tuple[Node, ...]:
    weights = map_node("cast", [reshape(iota(expr(T) + 1), (expr(T) + 1, expr(1)))], "float32")
    moving = tensor("c", (1, z.k), (T,))
    past = until_now(rows(z))
    pairs = ((past, weights), (weights, past), (past, moving), (moving, past))
    return tuple(map_node("mul", list(pair)) for pair in pairs)


@fires("incremental/fold-inside")
def sum_of_each_row_so_far(z: Sizes) -> Node:
    return reduce_node("sum", until_now(rows(z)), [-1])


@silent("incremental/fold-inside")
def sums_over_the_range(z: Sizes) -> tuple[Node, ...]:
    past = until_now(rows(z))
    return reduce_node("sum", past, [-2]), reduce_node("sum", past, [-2, -1])


@fires("incremental/reshape-inside")
def reshaped_rows_so_far(z: Sizes) -> Node:
    past = until_now(tensor("x", (z.m * z.k,), (T,)))
    return reshape(past, (expr(z.m), expr(z.k)), 1)


@silent("incremental/reshape-inside")
def reshaped_range(z: Sizes) -> tuple[Node, ...]:
    past = until_now(rows(z))
    fixed = ranged(tensor("x", (z.m * z.k,), (T,)), 0, 2)
    whole = reshape(past, (past.shape[0], expr(1), expr(z.k)))
    return whole, reshape(fixed, (expr(z.m), expr(z.k)), 1)


@fires("incremental/projection")
def projected_history(z: Sizes) -> Node:
    return matmul(until_now(rows(z)), tensor("w", (z.k, z.n)))


@silent("incremental/projection")
def history_times_a_moving_matrix(z: Sizes) -> tuple[Node, ...]:
    moving = matmul(until_now(rows(z)), tensor("w", (z.k, z.n), (T,)))
    return moving, matmul(ranged(rows(z), 0, 2), tensor("w", (z.k, z.n)))
