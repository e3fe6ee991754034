"""However a product of matrices is spelled, it is one, and as accurate as one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.text.printer import show
from ostinato.rewrite.optimize import RewriteOptions, optimize

N = 48
A, B = (ot.input(name, (N, N)) for name in "ab")
B_, U, V = ot.dims("b u v")
SPELLINGS: dict[str, Callable[[], ot.Tensor]] = {
    "columns last": lambda: (A[:, :, None] * B[None]).sum(1),
    "columns first": lambda: (B[None] * A[:, :, None]).sum(1),
    "summed axis last": lambda: (A[:, None, :] * B.T[None]).sum(-1),
    "summed axis first": lambda: (A.T[:, :, None] * B[:, None, :]).sum(0),
    "einsum": lambda: ot.einsum("ij,jk->ik", A, B),
    "vectors": lambda: ot.stack([(A * B.T[k]).sum(-1) for k in range(2)], -1),
}


def rewritten(y: ot.Tensor, **hints: int) -> str:
    return show(optimize(ot.Program(y=y).pdg, RewriteOptions(hints=hints)).pdg)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_sum_of_products_is_a_product_of_matrices(spelling: str) -> None:
    y = SPELLINGS[spelling]()
    found = rewritten(y)
    assert "@" in found and "sum(" not in found
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((N, N)).astype(np.float32) for _ in "ab")
    result = ot.Program(y=y).compile()(a=a, b=b)["y"]
    expected = a.astype(float) @ b.astype(float)
    np.testing.assert_allclose(result, expected[:, : result.shape[1]], 1e-4, 1e-4)


def test_gradients_of_a_sum_of_products_are_products() -> None:
    y = (SPELLINGS["columns last"]() ** 2.0).sum()
    assert rewritten(ot.grad(y, A)).count("@") == 2


def test_sums_over_dimensions_are_products_too() -> None:
    i, k, j = ot.dims("i k j")
    a, b = ot.input("a", over=(i, k)), ot.input("b", over=(k, j))
    found = rewritten((a[i, :] * b[:, j]).sum(0), I=N, K=N, J=N)
    assert "@" in found and "sum(" not in found


def test_a_batch_between_the_axes_stays_in_front() -> None:
    keys, query = ot.input("keys", (N, 4, N)), ot.input("query", (4, N))
    found = rewritten((keys * query).sum(-1))
    assert "@" in found and "sum(" not in found


def test_a_chain_ends_with_the_vector_wherever_that_stands() -> None:
    v = ot.input("v", (N, 1))
    assert rewritten(A @ B @ v).startswith("y = a @ (b @ v)")
    assert rewritten(v.T @ (A @ B)).startswith("y = (transpose(v, -1 -2) @ a) @ b")


def test_integers_are_summed_exactly() -> None:
    a, b = (ot.input(name, (N, N), dtype="int32") for name in "ab")
    assert "@" not in rewritten((a[:, :, None] * b[None]).sum(1))


@pytest.mark.parametrize("count", range(1, 6))
def test_outer_products_over_any_number_of_dimensions_are_one_product(count: int) -> None:
    dims, widths = [ot.dims(name) for name in "hijkm"[:count]], {"x": 16, "y": 32}
    x, y = (ot.input(name, (width,), over=tuple(dims)) for name, width in widths.items())
    products = (x[..., :, None] * y[..., None, :])[(slice(None),) * count]
    program = ot.Program(y=products.sum(tuple(range(count))))
    found = show(optimize(program.pdg).pdg)
    assert found.count("@") == 1 and "sum(" not in found
    rng, extents = np.random.default_rng(0), [2 + k % 2 for k in range(count)]
    values = {
        name: rng.standard_normal((*extents, width)).astype(np.float32)
        for name, width in widths.items()
    }
    left, right = (values[name].reshape(-1, width).astype(float) for name, width in widths.items())
    np.testing.assert_allclose(program.compile()(**values)["y"], left.T @ right, 1e-4, 1e-4)


X, Y = (ot.input(name, over=dims) for name, dims in {"x": (B_, U), "y": (B_, V)}.items())
BETWEEN_DIMS: dict[str, Callable[[], ot.Tensor]] = {
    "broadcast": lambda: (X * Y)[:, U, V].sum(0),
    "other order": lambda: (Y * X)[:, U, V].sum(0),
    "einsum": lambda: ot.einsum("bu,bv->uv", X[:, :], Y[:, :]),
    "matrices": lambda: X[:, :].T @ Y[:, :],
    "negative": lambda: (-X * Y)[:, U, V].sum(0),
}


@pytest.mark.parametrize("terms", BETWEEN_DIMS)
def test_sums_between_dimensions_are_products(terms: str) -> None:
    found = rewritten(BETWEEN_DIMS[terms](), B=N, U=N, V=N)
    assert "@" in found and "sum(" not in found


@pytest.mark.parametrize("extents", [(1, 33, 2), (33, 31, 65)])
@pytest.mark.parametrize("terms", BETWEEN_DIMS)
def test_products_between_dimensions_have_the_values_of_their_sums(
    terms: str, extents: tuple[int, int, int]
) -> None:
    program = ot.Program(z=BETWEEN_DIMS[terms]())
    b, u, v = extents
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((b, u)), rng.standard_normal((b, v))
    x[0, 0], y[-1, 0], y[0, -1] = np.inf, np.nan, -0.0
    given = {"x": x, "y": y}
    expected = program.interpret(**given)["z"]
    for threads in (1, 2, 16):
        run = program.compile(threads=threads)
        assert "z = " in run.explain().schedule and "@" in run.explain().schedule
        np.testing.assert_allclose(run(**given)["z"], expected, 1e-4, 1e-4)
    exact = program.compile(exact=True, checks="addresses")(**given)["z"]
    np.testing.assert_array_equal(exact, expected)


def test_gradients_of_products_between_dimensions_are_products() -> None:
    loss = ot.tanh((X * Y)[:, U, V].sum(0))[:, :].sum()
    found = rewritten(ot.grad(loss, X), B=N, U=N, V=N)
    assert found.count("@") == 2
