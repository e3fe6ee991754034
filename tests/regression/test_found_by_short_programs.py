"""Short programs that readers of the documents may write; each once failed or came out wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ShapeError

b, t = ot.dims("b t")
POINTS = np.array([[3.0, 1.0, 9.0], [9.0, 4.0, 2.0]])
FLAT = POINTS.ravel()


def run(of: Tensor, /, **arguments: object) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """The compiled result, after checking that the interpreter agrees in every bit."""
    program = ot.Program(of=of)
    meant, found = (
        program.interpret(**arguments)["of"],
        program.compile(exact=True)(**arguments)["of"],
    )
    np.testing.assert_array_equal(found, meant, strict=True)
    return found


def test_a_product_of_integers_is_exact_and_wraps_around() -> None:
    draws = np.random.default_rng(0).integers(-(2**31), 2**31, size=(2, 4, 3, 3)).astype("int32")
    x, y = ot.input("x", (3, 3), "int32", over=b), ot.input("y", (3,), "int32")
    for product, meant in (
        (x @ x, draws[0] @ draws[0]),
        (x @ y, draws[0] @ draws[1, 0, 0]),
        (y @ x, draws[1, 0, 0] @ draws[0]),
    ):
        given = {"x": draws[0], "y": draws[1, 0, 0]}
        program = ot.Program(y=product)
        np.testing.assert_array_equal(
            run(product, **{n: given[n] for n in program.inputs}), meant, strict=True
        )


def test_a_product_of_booleans_counts() -> None:
    x = ot.input("x", (2, 2), "bool")
    assert run(x @ x, x=[[True, True], [False, True]]).tolist() == [[1, 2], [0, 1]]


def test_products_of_integers_and_of_floats_are_refused_alike() -> None:
    texts: list[str] = []
    for dtype in ("int32", "float32"):
        x, y = ot.input("x", (2, 3, 3), dtype), ot.input("y", (4, 3, 3), dtype)
        with pytest.raises(ShapeError) as refused:
            _ = x @ y
        texts.append(refused.value.fact)
    assert texts[0] == texts[1]


def test_a_product_of_integers_leaves_out_what_is_beyond_the_end() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", dtype="int32", over=(b, t))
    ot.stop(t, when=x > 5)
    assert run(x[b, :] @ x[b, :], x=[[1, 2, 9, 1], [7, 1, 1, 1]]).tolist() == [86, 49]


def test_functions_take_unsigned_integers_to_float32() -> None:
    x, given = ot.input("x", dtype="uint32", over=t), np.array([1, 7, 2**32 - 1], "uint32")
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "half": lambda x: x / 2,
        "inverse": lambda x: 1 / x,
        "root": ot.sqrt,
        "number": ot.nan_to_num,
        "mean": lambda x: x[:].mean(),
        "std": lambda x: x[:].std(),
        "median": lambda x: ot.median(x[:]),
        "softmax": lambda x: ot.softmax(x[:], axis=0),
        "discounted": lambda x: ot.discounted_sum(x[t:], 0.5),
        "hypot": lambda x: ot.hypot(x, 3),
    }
    program = ot.Program(**{name: of(x) for name, of in functions.items()})
    same = ot.Program(**{name: of(x.cast("float32")) for name, of in functions.items()})
    found, cast, meant = (
        program.compile()(x=given),
        same.interpret(x=given),
        program.interpret(x=given),
    )
    for name in functions:
        np.testing.assert_array_equal(meant[name], cast[name], strict=True)
        np.testing.assert_allclose(found[name], meant[name], rtol=2e-6)


def test_unsigned_integers_have_remainders_by_numbers() -> None:
    x = ot.input("x", dtype="uint32", over=t)
    assert run(ot.fmod(x, 3), x=np.array([7, 2**32 - 1], "uint32")).tolist() == [1, 0]


@pytest.mark.parametrize("of", [ot.fmod, ot.hypot, ot.logaddexp, ot.dot, ot.inner, ot.outer])
def test_a_number_beside_a_float64_tensor_is_a_float64(of: Callable[..., Tensor]) -> None:
    x = ot.input("x", (3,), "float64")
    same = of(x, ot.constant(0.1, "float64"))
    found = ot.Program(number=of(x, 0.1), same=same).interpret(x=[0.3, 1.7, -2.2])
    np.testing.assert_array_equal(found["number"], found["same"], strict=True)


def test_a_number_as_the_vector_of_a_derivative_is_a_float64_beside_one() -> None:
    x = ot.input("x", dtype="float64")
    y = x * x
    products = {"j": ot.jvp(y, x, 0.1), "v": ot.vjp(y, x, 0.1), "h": ot.hvp(y, x, 0.1)}
    found = ot.Program(**products).interpret(x=3.0)
    np.testing.assert_allclose([found[n] for n in "jvh"], [0.6, 0.6, 0.2], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lgamma_of_all_infinite_places(dtype: str) -> None:
    x = ot.input("x", dtype=dtype, over=t)
    program = ot.Program(y=ot.lgamma(x))
    given = np.array([-np.inf, np.inf, -1e30, -1.0, 0.0, np.finfo(dtype).min], dtype)
    for result in (program.interpret(x=given), program.compile()(x=given)):
        assert np.isposinf(result["y"]).all()


MERGED: list[tuple[Callable[[Tensor], Tensor], object]] = [
    (lambda x: x[:, :].argmax(), FLAT.argmax()),
    (lambda x: x[:, :].argmin(), FLAT.argmin()),
    (lambda x: (2.0 * x)[:, :].reshape(-1)[-1], 2.0 * FLAT[-1]),
    (lambda x: x[:, :].reshape(-1)[1:], FLAT[1:]),
    (lambda x: (2.0 * x)[:, :].reshape(-1)[1:].max(0), 18.0),
    (
        lambda x: ot.flip(ot.take(x[:, :].reshape(-1), ot.constant([0, 9]), axis=0), 0),
        [2.0, 3.0],
    ),
    (lambda x: x[:, :].reshape(t.size, b.size)[0], FLAT[:2]),
]


@pytest.mark.parametrize(("of", "meant"), MERGED)
def test_steps_of_two_dimensions_are_one_axis(
    of: Callable[[Tensor], Tensor], meant: object
) -> None:
    x = ot.input("x", over=(b, t))
    np.testing.assert_array_equal(run(of(x), x=POINTS), np.asarray(meant))


def test_a_dimension_of_all_steps_of_two_is_compiled() -> None:
    n = ot.dim("n", size=b.size * t.size)
    x = ot.input("x", over=(b, t))
    y = x[:, :].reshape(n.size)[n]
    step = ot.where(n > 0, y[ot.maximum(n - 1, 0)], 0.0) - y
    assert run(step, x=POINTS).tolist() == [-3.0, 2.0, -8.0, 0.0, 5.0, 2.0]
