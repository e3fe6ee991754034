"""Systems of equations, factors and Fourier transforms against NumPy, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.pdg.errors import ShapeError

Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(0)
SIZES = (1, 2, 3, 17)
T = ot.dims("t")


def given(name: str, x: Array) -> ot.Tensor:
    """An input for stacks of matrices: the first axis is a dimension."""
    return ot.input(name, shape=x.shape[1:], over=T, dtype="float64")


def draw(*shape: int) -> Array:
    return RANDOM.standard_normal(shape)


def positive(n: int) -> Array:
    a = draw(3, n, n)
    return a @ a.swapaxes(1, 2) + np.eye(n)


def triangle(n: int) -> Array:
    return np.tril(draw(3, n, n)) + 4 * np.eye(n)


Made = tuple[Callable[[ot.Tensor], Any], Callable[[Array], Any], Callable[[int], Array]]
UNARY: dict[str, Made] = {
    "cholesky": (ot.linalg.cholesky, np.linalg.cholesky, positive),
    "inv": (ot.linalg.inv, np.linalg.inv, lambda n: draw(3, n, n)),
    "det": (ot.linalg.det, np.linalg.det, lambda n: draw(3, n, n)),
    "slogdet": (lambda x: ot.linalg.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1], positive),
    "sign": (lambda x: ot.linalg.slogdet(x)[0], lambda x: np.linalg.slogdet(x)[0], triangle),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_a_matrix_are_numpys(name: str) -> None:
    ours, numpys, make = UNARY[name]
    for n in SIZES:
        a = make(n)
        program = ot.Program(y=ours(given("a", a)))
        for found in (program.interpret(a=a)["y"], program.compile()(a=a)["y"]):
            np.testing.assert_allclose(found, numpys(a), 1e-9, 1e-12)


@pytest.mark.parametrize("is_vector", [False, True])
@pytest.mark.parametrize("way", ["general", "lower", "upper", "transposed"])
def test_systems_are_solved(way: str, is_vector: bool) -> None:
    for n in SIZES:
        a = {"general": draw(3, n, n), "upper": triangle(n).swapaxes(1, 2)}.get(way, triangle(n))
        b = draw(3, n) if is_vector else draw(3, n, 2)
        x, y = given("a", a), given("b", b)
        if way == "general":
            solved = ot.linalg.solve(x, y)
        else:
            form = {"lower": way != "upper", "transposed": way == "transposed"}
            solved = ot.linalg.solve_triangular(x, y, **form)
        found = ot.Program(y=solved).compile()(a=a, b=b)["y"]
        matrix = a.swapaxes(1, 2) if way == "transposed" else a
        expected = np.linalg.solve(matrix, b[..., None] if is_vector else b)
        np.testing.assert_allclose(found, expected[..., 0] if is_vector else expected, 1e-9, 1e-12)


def test_the_determinant_of_a_singular_matrix_is_zero() -> None:
    a = np.array([[[0.0, 0, 0], [0, 1, 2], [3, 4, 5]], [[1, 2, 3], [2, 4, 6], [0, 0, 1]]])
    x = given("a", a)
    sign, size = ot.linalg.slogdet(x)
    program = ot.Program(det=ot.linalg.det(x), sign=sign, size=size)
    for found in (program.interpret(a=a), program.compile()(a=a)):
        assert found["det"].tolist() == found["sign"].tolist() == [0.0, 0.0]
        assert found["size"].tolist() == [-np.inf, -np.inf]


def test_only_one_triangle_is_read() -> None:
    a = positive(3)
    a[:, 0, 2] = np.nan
    assert np.isfinite(ot.Program(y=ot.linalg.cholesky(given("a", a))).compile()(a=a)["y"]).all()
    program = ot.Program(y=ot.linalg.solve_triangular(given("a", a), [1.0, 2.0, 3.0]))
    assert np.isfinite(program.compile()(a=a)["y"]).all()


def test_stacks_of_both_sides_broadcast() -> None:
    a, b = draw(2, 1, 3, 3), draw(4, 3, 2)
    x, y = (ot.constant(z) for z in (a, b))
    found = ot.Program(y=ot.linalg.solve(x, y)).compile()()["y"]
    np.testing.assert_allclose(found, np.linalg.solve(a, b), 1e-9)


def test_a_size_may_be_an_extent() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    gram = ot.outer(x[b, :], x[b, :]) + ot.eye(t.size)
    given = draw(2, 5).astype("float32")
    found = ot.Program(y=ot.linalg.det(gram)).compile()(x=given)["y"]
    np.testing.assert_allclose(found, 1 + (given**2).sum(1), 1e-5)


@pytest.mark.filterwarnings("ignore:rewriting left a part")
@pytest.mark.parametrize("name", ["solve", "det", "cholesky"])
def test_gradients_are_those_of_the_definition(name: str) -> None:
    a, b = positive(3)[:1], draw(1, 3, 2)
    x, y = given("a", a), given("b", b)
    losses = {
        "solve": lambda: (ot.linalg.solve(x, y) ** 2).sum(),
        "det": lambda: ot.linalg.det(x) * y.sum(),
        "cholesky": lambda: (ot.linalg.cholesky(x) ** 3).sum() * y.sum(),
    }
    loss, step = losses[name]()[:].sum(), 1e-6
    found = ot.Program(g=ot.grad(loss, x)).compile()(a=a, b=b)["g"]
    value = ot.Program(y=loss).compile()
    for i in range(3):
        for j in range(i + 1):
            up, down = a.copy(), a.copy()
            up[0, i, j] += step
            down[0, i, j] -= step
            slope = (value(a=up, b=b)["y"] - value(a=down, b=b)["y"]) / (2 * step)
            assert found[0, i, j] == pytest.approx(slope, rel=1e-5, abs=1e-7)


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "no square": (
        lambda: ot.linalg.inv(ot.zeros((2, 3))),
        "the last two axes make no square matrix\n  Give matrices with as many rows as columns.",
    ),
    "no rows": (
        lambda: ot.linalg.det(ot.zeros((0, 0))),
        "(0, 0): the matrix has no rows\n  Give matrices of at least one row.",
    ),
    "another right side": (
        lambda: ot.linalg.solve(ot.eye(3), ot.zeros((2,))),
        "Give a right side of 3 rows.",
    ),
    "a size of the point": (
        lambda: ot.linalg.det(ot.eye(ot.dims("t") + 1)),
        "the size depends on the point",
    ),
    "a half of another size": (
        lambda: ot.fft.irfft(ot.zeros(4), ot.zeros(4), n=9),
        "Give 5 elements along the axis.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_have_a_remedy(name: str) -> None:
    make, text = MISTAKES[name]
    with pytest.raises(ShapeError) as caught:
        make()
    assert text in str(caught.value)


@pytest.mark.parametrize("n", [1, 2, 13, 37, 60, 128, 37 * 41])
def test_transforms_are_numpys_and_each_others_inverses(n: int) -> None:
    x = draw(3, n)
    signal = given("x", x)
    half = ot.fft.rfft(signal)
    whole = ot.fft.fft(signal, signal * 0.5)
    found = ot.Program(
        half=ot.stack(half), whole=ot.stack(whole), back=ot.stack(ot.fft.ifft(*whole)),
        real=ot.fft.irfft(*half, n=n),
    ).compile()(x=x)  # fmt: skip
    expected = np.fft.rfft(x), np.fft.fft(x + 0.5j * x)
    for name, parts in zip(("half", "whole"), expected, strict=True):
        np.testing.assert_allclose(found[name][:, 0], parts.real, 1e-9, 1e-11)
        np.testing.assert_allclose(found[name][:, 1], parts.imag, 1e-9, 1e-11)
    np.testing.assert_allclose(found["back"], np.stack([x, 0.5 * x], 1), 1e-9, 1e-12)
    np.testing.assert_allclose(found["real"], x, 1e-9, 1e-12)


def test_a_transform_of_all_steps_and_of_two_axes() -> None:
    x = ot.input("x", over=T, dtype="float64")
    found = ot.Program(y=ot.fft.fft(x[:])[1]).compile()
    for n in (1, 7, 12):
        row = draw(n)
        expected: npt.NDArray[np.complex128] = np.fft.fft(row)
        np.testing.assert_allclose(found(x=row)["y"], expected.imag, 1e-9, 1e-11)
    image = draw(4, 6)
    both = ot.fft.fft(*ot.fft.fft(image, axis=0), axis=1)
    whole: npt.NDArray[np.complex128] = np.fft.fft2(image)
    np.testing.assert_allclose(ot.Program(y=both[0]).compile()()["y"], whole.real)
