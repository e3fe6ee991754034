"""Instances of discounted sums whose weights are spelled with indices, or as rows of a matrix."""

from __future__ import annotations

from functools import partial

from ostinato.pdg.build import affine, const, iota, map_node, matmul, part, reduce_node, reshape
from ostinato.pdg.index import ExprLike, expr, maximum, minimum
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import (
    B,
    Instance,
    Sizes,
    T,
    every,
    fires,
    program,
    silent,
    span,
    tensor,
)

_T = T.extent


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


@fires("incremental/index-ahead")
def distance_of_what_follows(z: Sizes) -> Node:
    return _map("sub", ranged(affine(T), T, _T), affine(T))


@silent("incremental/index-ahead")
def distances_from_elsewhere(z: Sizes) -> tuple[Node, ...]:
    """From the next step, from another dimension, and of what was before."""
    later = ranged(affine(T), expr(T) + 1, _T)
    rest = ranged(affine(T), T, _T)
    past = ranged(affine(T), 0, expr(T) + 1)
    return _map("sub", later, affine(T)), _map("sub", rest, affine(B)), _map("sub", past, affine(T))


@fires("incremental/count-ahead")
def distance_of_the_counts_that_follow(z: Sizes) -> tuple[Node, ...]:
    rest = part(iota(_T), -1, span(T, _T))
    return _map("sub", rest, affine(T)), ranged(tensor("x", (), (T,)), T, _T)


@silent("incremental/count-ahead")
def distances_of_other_counts(z: Sizes) -> tuple[Node, ...]:
    longer = part(iota(expr(_T) + 1), -1, span(T, _T))
    later = part(iota(_T), -1, span(expr(T) + 1, _T))
    used = ranged(tensor("x", (), (T,)), T, _T)
    return _map("sub", longer, affine(T)), _map("sub", later, affine(T)), used


def _row(z: Sizes, compared: str, factor: Node, beyond: float, ahead: ExprLike = 0) -> Node:
    """A row of the triangle of powers: ``factor ** (s - t)`` for ``s >= t``."""
    here = affine(expr(T) + ahead)
    distance = _map("sub", iota(_T), here)
    bound = const(0, "int32", (expr(1),))
    sides = (distance, bound) if compared == "distance" else (iota(_T), here)
    powers = _map("pow", factor, map_node("cast", [distance], "float32"))
    return _map("where", _map("ge", *sides), powers, const(beyond, "float32", (expr(1),)))


def _summed(z: Sizes, weights: Node, first: bool) -> Node:
    x = ranged(tensor("x", (), (B, T)), *_whole())
    return reduce_node("sum", _map("mul", *((weights, x) if first else (x, weights))), [-1])


def _whole() -> tuple[ExprLike, ExprLike]:
    whole = every(T)
    return whole.lo, whole.hi


def _gamma() -> Node:
    return const([0.9], "float32", (expr(1),))


def _triangle(z: Sizes, compared: str, first: bool) -> Pdg:
    return program(_summed(z, _row(z, compared, _gamma(), 0.0), first))


def _like_a_triangle(z: Sizes, compared: str, first: bool) -> Pdg:
    """A factor that moves, a value beside the triangle, and one that begins a step later."""
    moving = tensor("g", (1,), (T,))
    rows = (
        _row(z, compared, moving, 0.0),
        _row(z, compared, _gamma(), 1.0),
        _row(z, compared, _gamma(), 0.0, 1),
    )
    return program(*(_summed(z, row, first) for row in rows))


def _triangles() -> tuple[Instance, ...]:
    out: list[Instance] = []
    for compared in ("distance", "index"):
        for first in (True, False):
            rule = f"incremental/triangle-by-{compared}-{'before' if first else 'after'}"
            right = partial(_triangle, compared=compared, first=first)
            wrong = partial(_like_a_triangle, compared=compared, first=first)
            out.append(Instance(f"triangle of powers, by {compared}", right, (rule,)))
            out.append(Instance(f"almost a triangle, by {compared}", wrong, idle=(rule,)))
    return tuple(out)


TRIANGLES = _triangles()


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


@fires("incremental/masked-row", idle=("incremental/masked-column",))
def masked_row_times_column(z: Sizes) -> Node:
    return _product(z, (True, False))


@fires("incremental/masked-column", idle=("incremental/masked-row",))
def row_times_masked_column(z: Sizes) -> Node:
    return _product(z, (False, True))


@silent("incremental/masked-row", "incremental/masked-column")
def products_without_a_mask_and_with_a_matrix(z: Sizes) -> tuple[Node, ...]:
    row = reshape(tensor("y", (z.k,), (T,)), (expr(1), expr(z.k)))
    return _product(z, (False, False)), matmul(row, tensor("w", (z.k, z.n + 1)))


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
        f"{name} of {steps} steps{' past' * past}{' with a moving factor' * moving}",
        partial(_discounted_window, steps=steps, past=past, last=last, moving=moving),
        () if past or moving else (name,),
        (name,) if past or moving else (),
    )
    for kind, steps in (("", 6), ("-lengthened", 7))
    for last in (False, True)
    for name in [f"incremental/discounted-window{kind}{'-last' * last}"]
    for past, moving in ((False, False), (True, False), (False, True))
)
