"""Instances of the family incremental: folds and functions of ranges that grow with the point."""

from __future__ import annotations

from functools import partial
from itertools import product

from ostinato.pdg.build import (
    const,
    iota,
    map_node,
    matmul,
    read,
    reduce_node,
    reshape,
)
from ostinato.pdg.index import Expr, ExprLike, expr, maximum, minimum
from ostinato.pdg.node import Dtype, Node, Pdg
from ostinato.rewrite.instances.instance import (
    Instance,
    Sizes,
    T,
    fires,
    program,
    silent,
    span,
    tensor,
)


def ranged(x: Node, lo: ExprLike, hi: ExprLike) -> Node:
    """``x[lo:hi]`` along t."""
    return read(x, [(T, span(lo, hi))])


def _rows(z: Sizes, name: str = "x") -> Node:
    return tensor(name, (z.k,), (T,))


def _until_now(x: Node) -> Node:
    return ranged(x, 0, expr(T) + 1)


def _prefix(z: Sizes, fold: str) -> Pdg:
    return program(reduce_node(fold, _until_now(_rows(z)), [-2]))


def _elsewhere(z: Sizes, fold: str) -> Pdg:
    """Folds over the other axis, over another range, and of a value without t."""
    return program(
        reduce_node(fold, _until_now(_rows(z)), [-1]),
        reduce_node(fold, ranged(_rows(z), 0, T), [-2]),
        reduce_node(fold, _until_now(tensor("w", (z.k,))), [-2]),
    )


def _prefixes(fold: str) -> tuple[Instance, Instance]:
    rule = f"incremental/prefix-{fold}"
    return (
        Instance(f"{fold} of everything so far", partial(_prefix, fold=fold), (rule,)),
        Instance(f"{fold} of other ranges", partial(_elsewhere, fold=fold), idle=(rule,)),
    )


PREFIXES = tuple(i for fold in ("sum", "prod", "max", "min") for i in _prefixes(fold))


@fires("incremental/suffix-sum")
def sum_of_all_that_follows(z: Sizes) -> Node:
    return reduce_node("sum", ranged(_rows(z), T, T.extent), [-2])


@silent("incremental/suffix-sum")
def sums_of_less_than_all_that_follows(z: Sizes) -> tuple[Node, ...]:
    later = ranged(_rows(z), expr(T) + 1, T.extent)
    return reduce_node("sum", later, [-2]), reduce_node("max", ranged(_rows(z), T, T.extent), [-2])


def _window(z: Sizes, lo: Expr, hi: Expr, fold: str = "sum") -> Node:
    return reduce_node(fold, ranged(_rows(z), lo, hi), [-2])


@fires("incremental/window-sum")
def sum_of_the_last_three(z: Sizes) -> Node:
    return _window(z, maximum(expr(T) - 2, 0), expr(T) + 1)


@fires("incremental/coming-window-sum")
def sum_of_the_next_two(z: Sizes) -> Node:
    return _window(z, expr(T), minimum(expr(T) + 2, T.extent))


@silent("incremental/window-sum", "incremental/coming-window-sum")
def windows_beside_the_point(z: Sizes) -> tuple[Node, ...]:
    early = _window(z, maximum(expr(T) - 2, 0), expr(T))
    late = _window(z, expr(T) + 1, minimum(expr(T) + 2, T.extent))
    return early, late, _window(z, maximum(expr(T) - 2, 0), expr(T) + 1, "max")


def _weights(gamma: Node, count: Expr) -> Node:
    """``gamma ** 0, gamma ** 1, ...``."""
    return map_node("pow", [gamma, map_node("cast", [iota(count)], "float32")])


def _discounted(z: Sizes, shape: tuple[int, ...], gamma: Node, lag: int = 0) -> Node:
    later = ranged(tensor("x", shape, (T,)), expr(T) + lag, T.extent)
    weights = _weights(gamma, later.shape[0])
    column = reshape(weights, (later.shape[0], *(expr(1) for _ in shape)))
    return reduce_node("sum", map_node("mul", [later, column]), [-later.rank])


def _gamma() -> Node:
    return const([0.9], "float32", (expr(1),))


@fires("incremental/discounted-sum", idle=("incremental/discounted-sums",))
def discounted_sum(z: Sizes) -> Node:
    return _discounted(z, (), _gamma())


@fires("incremental/discounted-sums", idle=("incremental/discounted-sum",))
def discounted_sum_of_vectors(z: Sizes) -> Node:
    return _discounted(z, (z.k,), _gamma())


@silent("incremental/discounted-sum", "incremental/discounted-sums")
def discounted_sums_with_a_lag_or_a_moving_factor(z: Sizes) -> tuple[Node, ...]:
    moving = tensor("g", (1,), (T,))
    return tuple(
        _discounted(z, shape, gamma, lag)
        for shape in ((), (z.k,))
        for gamma, lag in ((_gamma(), 1), (moving, 0))
    )


def _live(z: Sizes, beyond: float, lag: int = 0) -> Node:
    """A discounted sum of live steps, with a value beyond the end."""
    later = ranged(tensor("x", (), (T,)), expr(T) + lag, T.extent)
    live = ranged(tensor("c", (), (T,), "bool"), expr(T) + lag, T.extent)
    terms = map_node("mul", [later, _weights(_gamma(), later.shape[0])])
    dead = const([beyond], "float32", (expr(1),))
    return reduce_node("sum", map_node("where", [live, terms, dead]), [-1])


@fires("incremental/discounted-live-sum")
def discounted_sum_of_live_steps(z: Sizes) -> Node:
    return _live(z, 0.0)


@silent("incremental/discounted-live-sum")
def discounted_sums_with_a_lag_or_a_price_of_dead_steps(z: Sizes) -> tuple[Node, ...]:
    return _live(z, 0.0, lag=1), _live(z, 1.0)


_FUNCTION = {1: "tanh", 2: "mul", 3: "where"}


def _operand(z: Sizes, k: int, is_slice: bool, arity: int) -> Node:
    """A slice so far, or a row that is the same at all points."""
    dtype: Dtype = "bool" if arity == 3 and k == 0 else "float32"
    if is_slice:
        return _until_now(tensor(f"x{k}", (z.k,), (T,), dtype))
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
    past = _until_now(_rows(z))
    pairs = ((past, weights), (weights, past), (past, moving), (moving, past))
    return tuple(map_node("mul", list(pair)) for pair in pairs)


@fires("incremental/fold-inside")
def sum_of_each_row_so_far(z: Sizes) -> Node:
    return reduce_node("sum", _until_now(_rows(z)), [-1])


@silent("incremental/fold-inside")
def sums_over_the_range(z: Sizes) -> tuple[Node, ...]:
    past = _until_now(_rows(z))
    return reduce_node("sum", past, [-2]), reduce_node("sum", past, [-2, -1])


@fires("incremental/reshape-inside")
def reshaped_rows_so_far(z: Sizes) -> Node:
    past = _until_now(tensor("x", (z.m * z.k,), (T,)))
    return reshape(past, (expr(z.m), expr(z.k)), 1)


@silent("incremental/reshape-inside")
def reshaped_range(z: Sizes) -> tuple[Node, ...]:
    past = _until_now(_rows(z))
    fixed = ranged(tensor("x", (z.m * z.k,), (T,)), 0, 2)
    whole = reshape(past, (past.shape[0], expr(1), expr(z.k)))
    return whole, reshape(fixed, (expr(z.m), expr(z.k)), 1)


@fires("incremental/projection")
def projected_history(z: Sizes) -> Node:
    return matmul(_until_now(_rows(z)), tensor("w", (z.k, z.n)))


@silent("incremental/projection")
def history_times_a_moving_matrix(z: Sizes) -> tuple[Node, ...]:
    moving = matmul(_until_now(_rows(z)), tensor("w", (z.k, z.n), (T,)))
    return moving, matmul(ranged(_rows(z), 0, 2), tensor("w", (z.k, z.n)))
