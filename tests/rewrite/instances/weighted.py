"""Instances of discounted sums whose weights are spelled with indices, or as rows of a matrix."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import const, iota, map_node, matmul, reduce_node, reshape
from ostinato.pdg.index import expr, maximum, minimum
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, fires, program, silent, tensor

_T = T.extent


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _gamma() -> Node:
    return const([0.9], "float32", (expr(1),))


def _product(z: Sizes, is_masked: tuple[bool, bool]) -> Node:
    """A row times a column; a mask leaves nothing of some elements."""
    mask, nothing = tensor("c", (z.k,), (T,), "bool"), const(0.0, "float32", (expr(1),))
    x, y = (
        _map("where", mask, v, nothing) if masked else v
        for v, masked in zip(
            (tensor("x", (z.k,), (T,)), tensor("y", (z.k,), (T,))), is_masked, strict=True
        )
    )
    return matmul(reshape(x, (expr(1), expr(z.k))), reshape(y, (expr(z.k), expr(1))))


@fires("incremental/row-times-column")
def rows_times_columns(z: Sizes) -> tuple[Node, ...]:
    return tuple(_product(z, masked) for masked in ((True, False), (False, True), (False, False)))


@silent("incremental/row-times-column")
def products_with_a_matrix(z: Sizes) -> Node:
    row = reshape(tensor("y", (z.k,), (T,)), (expr(1), expr(z.k)))
    return matmul(row, tensor("w", (z.k, z.n + 1)))


def _discounted_window(z: Sizes, steps: int, past: bool, last: bool, moving: bool) -> Pdg:
    """A window of discounted numbers that begins, or ends, at the point."""
    coming = expr(T), minimum(expr(T) + steps, _T)
    part = (maximum(expr(T) - steps + 1, 0), expr(T) + 1) if past else coming
    x = ranged(tensor("x", (), (T,)), *part)
    factor = tensor("g", (1,), (T,)) if moving else _gamma()
    powers = _map("pow", factor, map_node("cast", [iota(x.shape[0])], "float32"))
    return program(reduce_node("sum", _map("mul", *((x, powers) if last else (powers, x))), [-1]))


DISCOUNTED_WINDOWS = tuple(
    Instance(
        f"{name} of {steps} steps{' last' * last}{' past' * past}"
        f"{' with a moving factor' * moving}",
        partial(_discounted_window, steps=steps, past=past, last=last, moving=moving),
        () if past or moving else (name,),
        (name,) if past or moving else (),
    )
    for steps in (6, 7)
    for last in (False, True)
    for name in ["incremental/discounted-window"]
    for past, moving in ((False, False), (True, False), (False, True))
)
