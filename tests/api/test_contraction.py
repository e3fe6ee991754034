"""Einstein sums and their relatives mean what NumPy's do."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

SIZES = dict(zip("ijklm", (2, 3, 4, 5, 1), strict=True))


def normal(*shape: int) -> npt.NDArray[Any]:
    """The same numbers for a shape, whichever tests run before."""
    return np.random.default_rng(shape).normal(size=shape)


def array(labels: str) -> npt.NDArray[Any]:
    return normal(*(SIZES[c] for c in labels)).astype(np.float32)


def value(tensor: object) -> npt.NDArray[Any]:
    return ot.Program(y=tensor).interpret()["y"]


def same(tensor: ot.Tensor, expected: Any) -> None:
    found = value(tensor)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


SPECS = [
    "ij,jk->ik", "ij,jk", "ij->ji", "ij", "ji", "ij->", "ij->i", "ijk,ikl->ijl", "ij,ij->", "i,i",
    "i,j->ij", "ij,ij->ij", "ijk,jkl->il", "ijk,jkl", "ij,kj,kl->il", "ij,jk,kl,li->", "ij,i->ij",
    "ijk,lj->ilk", "ijk,k->ij", "ij,mj->im", "i,j,k->kji", "ijk,ijl,ik->jl", "jk, j -> k",
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
def test_an_einstein_sum_means_what_numpys_does(spec: str) -> None:
    arrays = [array(term.strip()) for term in spec.split("->")[0].split(",")]
    same(ot.einsum(spec, *map(ot.constant, arrays)), np.einsum(spec, *arrays))


@pytest.mark.parametrize("spec", ["ii", "ii->i", "iij->ij", "iji->j", "iii->i", "ii,ij->j"])
def test_repeated_letters_are_diagonals(spec: str) -> None:
    arrays = [array(term) for term in spec.split("->")[0].split(",")]
    same(ot.einsum(spec, *map(ot.constant, arrays)), np.einsum(spec, *arrays))


@pytest.mark.parametrize(
    ("spec", "terms"),
    [
        ("...i,...i->...", ("kji", "ji")),
        ("...ij,jk->...ik", ("lkij", "jk")),
        ("i...,i...", ("ijk", "imk")),
        ("...ij->...ji", ("kij",)),
        ("...,...", ("ij", "kij")),
        ("i...->...", ("ijk",)),
    ],
)
def test_an_ellipsis_broadcasts_the_other_axes(spec: str, terms: tuple[str, ...]) -> None:
    arrays = [array(term) for term in terms]
    same(ot.einsum(spec, *map(ot.constant, arrays)), np.einsum(spec, *arrays))


def test_integers_are_summed_exactly() -> None:
    a = np.array([[2**24 + 1, 3], [5, 7]], np.int32)
    found = value(ot.einsum("ij,jk->ik", ot.constant(a), ot.constant(a.T)))
    assert found.dtype == np.int32 and np.array_equal(found, a @ a.T)


def test_sums_over_extents() -> None:
    b, t, s = ot.dims("b t s")
    q, k = ot.input("q", (3,), over=(b, t)), ot.input("k", (3,), over=(b, s))
    scores = ot.einsum("btd,bsd->bts", q[:, :], k[:, :])
    x, y = normal(2, 4, 3), normal(2, 5, 3)
    found = ot.Program(y=scores).interpret(q=x, k=y)["y"]
    np.testing.assert_allclose(found, np.einsum("btd,bsd->bts", x, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axes", [0, 1, 2, (0, 0), ([1, 2], [0, 1]), ((-1,), (1,))])
def test_tensordot(axes: Any) -> None:
    a = array("ijk")
    b = array({0: "l", 1: "kl", 2: "jkl", (0, 0): "il", ((-1,), (1,)): "lk"}.get(_key(axes), "jkl"))
    same(ot.tensordot(ot.constant(a), ot.constant(b), axes), np.tensordot(a, b, axes))


def _key(axes: Any) -> Any:
    return axes if isinstance(axes, int) or isinstance(axes[0], int | tuple) else None


def test_products_of_vectors_and_matrices() -> None:
    a, b, v, w = array("ij"), array("jk"), array("j"), array("ij")
    x, y, z, u = map(ot.constant, (a, b, v, w))
    same(ot.dot(x, y), a @ b)
    same(ot.dot(x, z), a @ v)
    same(ot.dot(z, z), v @ v)
    same(ot.dot(ot.constant(array("kij") * 0 + 1), y), np.dot(np.ones((4, 2, 3)), b))
    same(ot.dot(x, 2.0), a * 2)
    same(ot.inner(x, u), np.inner(a, w))
    same(ot.outer(x, z), np.outer(a, v))
    same(ot.vecdot(x, z), a @ v)
    same(ot.vecdot(x, u, axis=0), (a * w).sum(0))


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 2])
def test_diagonals_and_triangles(k: int) -> None:
    a, v = array("lk"), array("j")
    x = ot.constant(a)
    same(ot.diag(x, k), np.diag(a, k))
    same(ot.diag(ot.constant(v), k), np.diag(v, k))
    same(ot.trace(x, k), np.trace(a, k))
    same(ot.tril(x, k), np.tril(a, k))
    same(ot.triu(x, k), np.triu(a, k))
    same(ot.eye(4, 5, k), np.eye(4, 5, k))


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (0, 2), (2, 1), (-1, 0)])
def test_diagonals_of_any_two_axes(axes: tuple[int, int]) -> None:
    a = array("jkl")
    same(ot.diagonal(ot.constant(a), 1, *axes), np.diagonal(a, 1, *axes))


def test_the_gradient_of_a_sum_is_the_sum_of_the_others() -> None:
    a, b, c = array("ij"), array("jk"), array("kl")
    x = ot.input("x", a.shape)
    total = (ot.einsum("ij,jk,kl->il", x, ot.constant(b), ot.constant(c)) ** 2).sum()
    found = ot.Program(g=ot.grad(total, x)).interpret(x=a)["g"]
    np.testing.assert_allclose(found, 2 * (a @ b @ c) @ (b @ c).T, rtol=1e-4)


def test_the_gradient_of_a_trace_is_the_identity() -> None:
    x = ot.input("x", (3, 3))
    found = ot.Program(g=ot.grad(ot.einsum("ii", x), x)).interpret()["g"]
    assert np.array_equal(found, np.eye(3))


def test_several_symbolic_axes_are_rows_of_one_product() -> None:
    b, t = ot.dims("b t")
    x, w = ot.input("x", (3,), over=(b, t)), ot.input("w", (3, 2, 4))
    heads = ot.einsum("btd,dhe->bhte", x[:, :], w)
    y, v = normal(2, 5, 3), normal(3, 2, 4)
    found = ot.Program(y=heads).interpret(x=y, w=v)["y"]
    np.testing.assert_allclose(found, np.einsum("btd,dhe->bhte", y, v), rtol=1e-4, atol=1e-5)
