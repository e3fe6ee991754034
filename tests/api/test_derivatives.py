"""Products with Jacobians and Hessians, and functions with a derivative of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.language.array.dtypes import DtypeName
from ostinato.language.gradient import Gradients
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import GradientError, ShapeError

Pulled = tuple[Tensor, Callable[[Tensor], Gradients]]
Array = npt.NDArray[np.float64]
POINT = np.array([0.3, -1.2, 0.7], "float64")
VECTOR = np.array([1.0, 0.5, -2.0], "float64")


def curve(x: Tensor) -> Tensor:
    return ot.stack([ot.sin(x[0] * x[1]), ot.exp(x[2]) * x[0]])


def jacobian(at: Array) -> Array:
    a, b, c = at
    return np.array([[b * np.cos(a * b), a * np.cos(a * b), 0.0], [np.exp(c), 0.0, np.exp(c) * a]])


def test_jvp_is_the_jacobian_times_a_vector() -> None:
    x = ot.input("x", shape=(3,), dtype="float64")
    program = ot.Program(g=ot.jvp(curve(x), x, VECTOR))
    np.testing.assert_allclose(program.interpret(x=POINT)["g"], jacobian(POINT) @ VECTOR)
    np.testing.assert_allclose(program.compile()(x=POINT)["g"], jacobian(POINT) @ VECTOR)


def test_vjp_is_a_vector_times_the_jacobian() -> None:
    x = ot.input("x", shape=(3,), dtype="float64")
    program = ot.Program(g=ot.vjp(curve(x), x, VECTOR[:2]))
    np.testing.assert_allclose(program.interpret(x=POINT)["g"], VECTOR[:2] @ jacobian(POINT))


def test_hvp_is_the_hessian_times_a_vector() -> None:
    x = ot.input("x", shape=(3,), dtype="float64")
    loss = ot.sin(x[0] * x[1]) * x[2] * x[2]
    a, b, c = POINT
    s, k = np.sin(a * b), np.cos(a * b)
    hessian = np.array(
        [
            [-b * b * s * c * c, (k - a * b * s) * c * c, 2 * b * k * c],
            [(k - a * b * s) * c * c, -a * a * s * c * c, 2 * a * k * c],
            [2 * b * k * c, 2 * a * k * c, 2 * s],
        ]
    )
    found = ot.Program(h=ot.hvp(loss, x, VECTOR)).interpret(x=POINT)["h"]
    np.testing.assert_allclose(found, hessian @ VECTOR)


def test_jvp_follows_a_recurrence() -> None:
    t = ot.dims("t")
    w = ot.input("w", dtype="float64")
    s = ot.recurrent("s", dtype="float64", over=t)
    s[0] = 1.0
    s[t + 1] = w * s
    found = ot.Program(g=ot.jvp(s, w, 2.0)).interpret(w=0.5, T=4)["g"]
    np.testing.assert_allclose(found, [2.0 * k * 0.5 ** (k - 1) if k else 0.0 for k in range(4)])


def test_jvp_sums_over_dimensions_that_only_the_variable_has() -> None:
    b = ot.dims("b")
    x = ot.input("x", dtype="float64", over=b)
    total = (x[:] * x[:]).sum()
    v = ot.input("v", dtype="float64", over=b)
    program = ot.Program(g=ot.jvp(total, x, v))
    assert program.interpret(x=[1.0, 2.0], v=[3.0, 5.0])["g"] == pytest.approx(2 * 3 + 4 * 5)


def test_there_is_a_derivative_for_each_vector_along_a_further_dimension() -> None:
    k = ot.dims("k")
    x = ot.input("x", shape=(3,), dtype="float64")
    e = ot.input("e", shape=(3,), dtype="float64", over=k)
    y = curve(x)
    program = ot.Program(j=ot.jvp(y, x, e), h=ot.hvp((y * y).sum(), x, e))
    found = program.compile()(x=POINT, e=np.eye(3))
    np.testing.assert_allclose(found["j"], jacobian(POINT).T)
    single = ot.Program(h=ot.hvp((y * y).sum(), x, ot.input("v", shape=(3,), dtype="float64")))
    rows = [single.interpret(x=POINT, v=row)["h"] for row in np.eye(3)]
    np.testing.assert_allclose(found["h"], rows, 1e-12)


def test_a_vector_of_each_step_is_that_of_the_step() -> None:
    t = ot.dims("t")
    w, v = ot.input("w", dtype="float64"), ot.input("v", dtype="float64", over=t)
    s = ot.recurrent("s", dtype="float64", over=t)
    s[0] = 1.0
    s[t + 1] = w * s
    program = ot.Program(g=ot.jvp(s, w, v))
    vectors = np.array([7.0, 2.0, 3.0, 4.0])
    expected = vectors * np.array([k * 0.5 ** (k - 1) if k else 0.0 for k in range(4)])
    for found in (program.interpret(w=0.5, v=vectors), program.compile()(w=0.5, v=vectors)):
        np.testing.assert_allclose(found["g"], expected)


def test_hvp_of_a_mean_over_a_dimension() -> None:
    b = ot.dims("b")
    x = ot.input("x", dtype="float64", over=b)
    w = ot.input("w", shape=(2,), dtype="float64")
    loss = ((w[0] * x + w[1] * w[1]) ** 2)[:].mean()
    found = ot.Program(h=ot.hvp(loss, w, [1.0, 1.0])).interpret(x=[1.0, 3.0], w=[0.5, 2.0])["h"]
    # with a = w0 and b = w1: mean of (a x + b^2)^2 has the Hessian [[2 x^2, 4 b x], [4 b x, ...]]
    xs, a, b_ = np.array([1.0, 3.0]), 0.5, 2.0
    cross, last = 4 * b_ * xs.mean(), (4 * (a * xs + b_**2) + 8 * b_**2).mean()
    np.testing.assert_allclose(found, [2 * (xs**2).mean() + cross, cross + last])


def test_a_vector_of_another_shape_is_refused() -> None:
    x = ot.input("x", shape=(3,))
    with pytest.raises(ShapeError, match=r"vector has shape \(2,\), `x` has shape \(3,\)"):
        ot.jvp(x * x, x, [1.0, 2.0])


@ot.custom_gradient
def straight_through(x: Tensor) -> Pulled:
    return ot.round(x), lambda upstream: upstream


def test_a_custom_gradient_replaces_that_of_the_code() -> None:
    x = ot.input("x", shape=(2,))
    y = (ot.constant([2.0, 3.0]) * straight_through(x)).sum()
    program = ot.Program(y=y, g=ot.grad(y, x))
    for run in (program.interpret, program.compile()):
        out = run(x=[1.4, -0.6])
        assert out["y"] == -1.0
        assert out["g"].tolist() == [2.0, 3.0]


def test_a_custom_gradient_passes_through_recurrences() -> None:
    t = ot.dims("t")
    w = ot.input("w")
    s = ot.recurrent("s", over=t)
    s[0] = w
    s[t + 1] = 2.0 * straight_through(s)
    program = ot.Program(g=ot.grad(s[-1], w))
    assert program.interpret(T=4)["g"] == 8.0


def test_a_custom_gradient_has_one_part_per_argument() -> None:
    @ot.custom_gradient
    def scaled(x: Tensor, y: Tensor) -> Pulled:
        return x * y, lambda up: (up * 10.0, None)

    x, y = ot.input("x"), ot.input("y")
    gx, gy = ot.grad(scaled(x, y), [x, y])
    out = ot.Program(gx=gx, gy=gy).interpret()
    assert [out["gx"], out["gy"]] == [10.0, 0.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_custom_gradient_of_a_half_is_that_of_a_float32(dtype: DtypeName) -> None:
    @ot.custom_gradient
    def straight_through(x: Tensor) -> Pulled:
        return ot.round(x), lambda upstream: upstream * x

    x = ot.input("x", dtype=dtype)
    found = ot.Program(g=ot.grad(3.0 * straight_through(x), x)).interpret(x=1.25)["g"]
    assert found.dtype == "float32"
    assert found == 3.75


def test_a_custom_gradient_is_differentiated_again() -> None:
    @ot.custom_gradient
    def cube(x: Tensor) -> Pulled:
        return x * x * x, lambda up: up * 3.0 * x * x

    x = ot.input("x", dtype="float64")
    second = ot.grad(ot.grad(cube(x), x), x)
    assert ot.Program(g=second).interpret(x=2.0)["g"] == 12.0


def test_two_custom_gradients_of_one_value_stay_apart() -> None:
    def scaled(by: float) -> Callable[..., Tensor]:
        def rounded(x: Tensor) -> Pulled:
            return ot.round(x), lambda up: by * up

        return ot.custom_gradient(rounded)

    x = ot.input("x")
    loss = scaled(1.0)(x) + scaled(2.0)(x)
    assert ot.Program(g=ot.grad(loss, x)).interpret()["g"] == 3.0


def test_a_gradient_that_does_not_fit_is_refused() -> None:
    @ot.custom_gradient
    def wrong(x: Tensor) -> Pulled:
        return x.sum(), lambda up: up

    x = ot.input("x", shape=(2,))
    with pytest.raises(GradientError, match=r"returns float32 of shape \(\) for `x`"):
        ot.grad(wrong(x), x)


def test_too_many_gradients_are_refused() -> None:
    @ot.custom_gradient
    def wrong(x: Tensor) -> Pulled:
        return x * 2.0, lambda up: (up, up)

    x = ot.input("x")
    with pytest.raises(
        GradientError, match="returns 2 gradients\\n  Return one for each of its 1 inputs"
    ):
        ot.grad(wrong(x), x)


def test_a_pull_back_may_not_bring_recurrences_of_its_own() -> None:
    t = ot.dims("t")
    secret = ot.recurrent("secret", over=t)
    secret[True] = 2.0

    @ot.custom_gradient
    def leaky(x: Tensor) -> Pulled:
        return x * 2.0, lambda up: up * secret[0]

    x = ot.input("x")
    with pytest.raises(GradientError, match="reads `secret`, which its function does not"):
        ot.grad(leaky(x), x)


def test_a_tensor_whose_equations_come_later_can_be_held() -> None:
    b, i, k = ot.dims("b i k")
    x = ot.input("x", over=b)
    weight, noise = ot.recurrent("weight", over=i), ot.recurrent("noise", over=(i, k))
    noise[i, 0] = 0.0

    def risen(held: ot.Tensor) -> ot.Tensor:
        loss = ot.square(held * (x + noise))[i, :].mean()
        return ot.grad(loss, noise)

    remedy = r"or, if no derivative goes through it, read `ot.stop_gradient\(weight\)`\."
    with pytest.raises(GradientError, match=rf"`weight`, .* has no equations yet\n.*{remedy}"):
        risen(weight)
    noise[i, k + 1] = noise + 0.1 * risen(ot.stop_gradient(weight))
    worst = ot.square(weight * (x + noise[i, -1]) - 1.0)[i, :].mean()
    weight[0] = 0.5
    weight[i + 1] = weight - 0.1 * ot.grad(worst, weight)
    program, given = ot.Program(weight=weight), {"x": [1.0, -2.0, 0.5], "I": 4, "K": 3}
    expected = program.interpret(**given)["weight"]
    np.testing.assert_allclose(program.compile()(**given)["weight"], expected, rtol=1e-5)


@pytest.mark.parametrize("product", [ot.jvp, ot.vjp])
@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_products_of_what_is_no_float_are_refused(
    product: Callable[..., Tensor], dtype: DtypeName
) -> None:
    """Of `jvp` the text was about `probe`, which no user has; `vjp` gave zeros."""
    x = ot.input("x", shape=(3,))
    count = (x > 0).cast(dtype).named("count")
    with pytest.raises(GradientError) as refused:
        product(count, x, [1.0, 1.0, 1.0])
    assert f"the derivative of `count`, which is {dtype}" in str(refused.value)
    assert "Only floats have derivatives" in str(refused.value)
