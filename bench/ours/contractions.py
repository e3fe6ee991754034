"""Products of matrices in several spellings, with gradients, and a convolution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from bench.harness.timing import rates

Product = Callable[[ot.Tensor, ot.Tensor], ot.Tensor]
SPELLINGS: dict[str, Product] = {
    "matmul": lambda a, b: a @ b,
    "broadcast": lambda a, b: (a[:, :, None] * b[None]).sum(1),
    "last axis": lambda a, b: (a[:, None, :] * b.T[None]).sum(-1),
    "einsum": lambda a, b: ot.einsum("ij,jk->ik", a, b),
}


def _dims() -> ot.Program:
    """The matrices over dimensions; the sum is a fold over one of them."""
    i, k, j = ot.dims("i k j")
    a, b = ot.input("a", over=(i, k)), ot.input("b", over=(k, j))
    return ot.Program(c=(a[i, :] * b[:, j]).sum(0))


def sampler(spelling: str, size: int) -> Callable[[], float]:
    """Multiply-adds per second of a product."""
    if spelling == "dims":
        return _measured(_dims(), size, 1)
    a, b = ot.input("a", (size, size)), ot.input("b", (size, size))
    return _measured(ot.Program(c=SPELLINGS[spelling](a, b)), size, 1)


def gradients(spelling: str, size: int) -> Callable[[], float]:
    """Multiply-adds per second of a product and the gradients by both matrices."""
    a, b = ot.input("a", (size, size)), ot.input("b", (size, size))
    loss = (SPELLINGS[spelling](a, b) ** 2).sum()
    return _measured(ot.Program(a=ot.grad(loss, a), b=ot.grad(loss, b)), size, 3)


def chain(size: int) -> Callable[[], float]:
    """Products of three matrices and a vector per second, written from the left."""
    given = [ot.input(n, (size, size)) for n in "abc"]
    vector = ot.input("v", (size, 1))
    compiled = ot.Program(y=given[0] @ given[1] @ given[2] @ vector).compile()
    rng = np.random.default_rng(0)
    drawn = {n: rng.standard_normal((size, size)).astype(np.float32) for n in "abc"}
    drawn["v"] = rng.standard_normal((size, 1)).astype(np.float32)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(**drawn)

    return rates(run, 1)


def _measured(program: ot.Program, size: int, products: int) -> Callable[[], float]:
    compiled = program.compile()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype(np.float32) for _ in "ab")

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(a=a, b=b)

    return rates(run, products * size**3)


def convolution(batch: int, channels: int, size: int) -> Callable[[], float]:
    """Pictures per second through one layer of 3 x 3 filters, as many as channels."""
    x = ot.input("x", (batch, channels, size, size))
    w = ot.input("w", (channels, channels, 3, 3))
    compiled = ot.Program(y=ot.conv2d(x, w, padding="same")).compile()
    rng = np.random.default_rng(0)
    pictures = rng.standard_normal((batch, channels, size, size)).astype(np.float32)
    filters = rng.standard_normal((channels, channels, 3, 3)).astype(np.float32)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            compiled(x=pictures, w=filters)

    return rates(run, batch)
