"""Instances of the family fuse: narrow products that share an operand, and others."""

from __future__ import annotations

from ostinato.pdg.build import matmul
from ostinato.pdg.index import expr
from ostinato.pdg.node import Node
from tests.rewrite.instances.instance import B, Sizes, T, at, fires, silent, tensor

COLUMNS = ("fuse/columns",)
ROWS = ("fuse/rows",)
PARTS = ("fuse/parts",)
K = 16  # sums shorter than a vector are not joined


@fires(*COLUMNS, beside=PARTS, idle=ROWS)
def products_with_one_left_operand(z: Sizes) -> tuple[Node, ...]:
    x = tensor("x", (z.m, K), (B, T))
    return matmul(x, tensor("v", (K, z.n))), matmul(x, tensor("w", (K, z.m)))


@fires(*COLUMNS, *PARTS, beside=PARTS)
def three_batched_products_with_one_left_operand(z: Sizes) -> tuple[Node, ...]:
    x = tensor("x", (z.m, K), (B,))
    weights = (tensor(name, (z.m, K, n), (T,)) for name, n in (("u", 2), ("v", 1), ("w", 3)))
    return tuple(matmul(x, w) for w in weights)


@fires(*ROWS, *PARTS, beside=PARTS, idle=COLUMNS)
def products_with_one_right_operand(z: Sizes) -> tuple[Node, ...]:
    w = tensor("w", (K, z.n))
    return matmul(tensor("x", (z.m, K)), w), matmul(tensor("y", (1, K)), w)


@silent(*ROWS, *PARTS, beside=PARTS)
def rows_of_batches(z: Sizes) -> tuple[Node, ...]:
    w = tensor("w", (K, z.n), (B,))
    return matmul(tensor("x", (z.m, K), (B,)), w), matmul(tensor("y", (1, K), (B,)), w)


@silent(*COLUMNS, *ROWS, *PARTS, beside=PARTS)
def products_of_other_operands(z: Sizes) -> tuple[Node, ...]:
    x, y = tensor("x", (z.m, K), (B,)), tensor("y", (z.m, K), (B,))
    return matmul(x, tensor("v", (K, z.n))), matmul(y, tensor("w", (K, z.n)))


@silent(*COLUMNS, *ROWS, *PARTS, beside=PARTS)
def products_that_share_an_operand_and_are_wide(z: Sizes) -> tuple[Node, ...]:
    x = tensor("x", (17, K), (B,))
    return matmul(x, tensor("v", (K, 17))), matmul(x, tensor("w", (K, 17)))


@silent(*COLUMNS, *ROWS, *PARTS, beside=PARTS)
def products_of_other_domains(z: Sizes) -> tuple[Node, ...]:
    x = tensor("x", (z.m, K), (B,))
    return matmul(x, tensor("v", (K, z.n))), matmul(x, tensor("w", (K, z.n), (T,)))


@silent(*COLUMNS, beside=PARTS)
def a_product_whose_operand_follows_from_the_other(z: Sizes) -> tuple[Node, ...]:
    x, w = tensor("x", (K, K)), tensor("w", (K, K))
    return matmul(x, w), matmul(x, matmul(x, w))


@silent(*COLUMNS, *ROWS, *PARTS, beside=PARTS)
def products_of_short_sums(z: Sizes) -> tuple[Node, ...]:
    x = tensor("x", (z.m, 2))
    return matmul(x, tensor("v", (2, z.n))), matmul(x, tensor("w", (2, z.n)))


@silent(*COLUMNS, beside=PARTS)
def an_operand_that_is_not_there_at_every_point(z: Sizes) -> tuple[Node, ...]:
    x, w = tensor("x", (z.m, K)), tensor("w", (K, z.n), (T,))
    return matmul(x, tensor("v", (K, z.n), (T,))), matmul(x, at(w, T, expr(T) + 1))
