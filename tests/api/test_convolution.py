"""Convolutions and pooling equal their definitions, element by element."""

import itertools
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot

Array = npt.NDArray[Any]
CONV = {1: ot.conv1d, 2: ot.conv2d, 3: ot.conv3d}


def normal(*shape: int, seed: int = 0) -> Array:
    """The same numbers for a shape, whichever tests run before."""
    return np.random.default_rng((seed, *shape)).normal(size=shape)


def array(*shape: int) -> Array:
    return normal(*shape).astype(np.float32)


def value(tensor: object, **arguments: Array) -> Array:
    return ot.Program(y=tensor).interpret(**arguments)["y"]


def same(found: Array, expected: Array) -> None:
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def plain(x: Array, w: Array, stride: int, pad: int, dilation: int, groups: int) -> Array:
    """The definition: a sum over channels and kernel positions for every place."""
    rank = w.ndim - 2
    x = np.pad(x, [(0, 0)] * (x.ndim - rank) + [(pad, pad)] * rank)
    spans = [dilation * (k - 1) + 1 for k in w.shape[2:]]
    sizes = [(n - s) // stride + 1 for n, s in zip(x.shape[-rank:], spans, strict=True)]
    out = np.zeros((*x.shape[: -rank - 1], w.shape[0], *sizes), np.float32)
    share, channels = w.shape[0] // groups, w.shape[1]
    for f, place in itertools.product(range(w.shape[0]), itertools.product(*map(range, sizes))):
        mine = slice(f // share * channels, (f // share + 1) * channels)
        at: Any = [
            slice(p * stride, p * stride + s, dilation) for p, s in zip(place, spans, strict=True)
        ]
        seen, here = x[(..., mine, *at)], cast(Any, (..., f, *place))
        out[here] = (seen * w[f]).sum(tuple(range(-rank - 1, 0)))
    return out


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize(
    ("stride", "pad", "dilation", "groups"),
    [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (3, 0, 1, 2), (2, 1, 2, 4)],
)
def test_a_convolution_is_its_definition(
    rank: int, stride: int, pad: int, dilation: int, groups: int
) -> None:
    x, w = array(2, 4, *(7, 6, 5)[:rank]), array(4, 4 // groups, *(3, 2, 1)[:rank])
    found = CONV[rank](ot.constant(x), ot.constant(w), stride, pad, dilation, groups)
    same(value(found), plain(x, w, stride, pad, dilation, groups))


def test_same_padding_keeps_the_size() -> None:
    x, w = array(3, 8, 9), array(2, 3, 3, 4)
    found = value(ot.conv2d(ot.constant(x), ot.constant(w), padding="same"))
    wide = np.pad(x, [(0, 0), (1, 1), (1, 2)])
    same(found, plain(wide, w, 1, 0, 1, 1))


def test_padding_stride_and_dilation_per_axis() -> None:
    x, w = array(2, 7, 8), array(3, 2, 2, 3)
    found = ot.conv2d(ot.constant(x), ot.constant(w), (2, 1), [(1, 0), 2], (1, 2))
    wide = np.pad(x, [(0, 0), (1, 0), (2, 2)])
    same(value(found), plain(wide, np.kron(w, [[1, 0]])[..., :5], 1, 0, 1, 1)[:, ::2])


def test_a_convolution_over_time_has_symbolic_length() -> None:
    b, t = ot.dims("b t")
    x, w = ot.input("x", (3,), over=(b, t)), ot.input("w", (2, 3, 4))
    found = ot.conv1d(x[b, :].T, w, stride=2, padding=1)
    data, kernel = array(2, 9, 3), array(2, 3, 4)
    expected = plain(data.swapaxes(1, 2), kernel, 2, 1, 1, 1)
    same(value(found, x=data, w=kernel), expected)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("stride", [None, 1])
def test_pooling(rank: int, stride: int | None) -> None:
    x, step = array(2, *(6, 5, 4)[:rank]), stride or 2
    sizes = [(n - 2) // step + 1 for n in x.shape[1:]]
    parts = [[slice(p * step, p * step + 2) for p in range(n)] for n in sizes]
    blocks = [x[(slice(None), *at)] for at in itertools.product(*parts)]
    axes = tuple(range(1, rank + 1))
    for fn, fold in ((f"max_pool{rank}d", np.max), (f"avg_pool{rank}d", np.mean)):
        expected = np.stack([fold(block, axis=axes) for block in blocks], 1)
        found = value(getattr(ot, fn)(ot.constant(x), 2, stride))
        same(found, expected.reshape(2, *sizes))


def test_padding_never_wins_a_maximum() -> None:
    x = ot.constant([[-3.0, -1.0, -2.0]])
    assert value(ot.max_pool1d(x, 3, 1, padding=1)).tolist() == [[-1.0, -1.0, -1.0]]
    assert value(ot.avg_pool1d(x, 3, 3, padding=[(0, 0)])).tolist() == [[-2.0]]


def slopes(program: ot.Program, at: dict[str, Array]) -> None:
    """The outputs `dx`, `dw` are the derivatives of `loss` in an arbitrary direction."""
    found = program.interpret(**at)
    for name in at:
        assert found[f"d{name}"].shape == at[name].shape
        way = normal(*at[name].shape, seed=1)
        high, low = (program.interpret(**{**at, name: at[name] + h * way}) for h in (1e-6, -1e-6))
        slope = (high["loss"] - low["loss"]) / 2e-6
        np.testing.assert_allclose((found[f"d{name}"] * way).sum(), slope, rtol=1e-6)


@pytest.mark.parametrize(
    ("stride", "pad", "dilation", "groups"),
    [
        *[(1, 0, 1, 1), (1, 1, 2, 2), (2, 1, 1, 2), (2, 0, 2, 1), (3, 1, 2, 2), (4, 2, 1, 1)],
        ((1, 2), 0, (2, 1), 1),
    ],
)
def test_gradients_equal_differences(stride: Any, pad: int, dilation: Any, groups: int) -> None:
    at = {"x": normal(2, 4, 8, 7), "w": normal(6, 4 // groups, 3, 2)}
    x, w = (ot.input(name, value.shape, "float64") for name, value in at.items())
    loss = ot.sin(ot.conv2d(x, w, stride, pad, dilation, groups)).sum()
    dx, dw = ot.grad(loss, [x, w])
    slopes(ot.Program(loss=loss, dx=dx, dw=dw), at)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("steps", [5, 6, 7, 8, 9])
def test_gradients_along_an_axis_of_symbolic_length(stride: int, steps: int) -> None:
    t = ot.dims("t")
    x, w = ot.input("x", (2, t.size), "float64"), ot.input("w", (3, 2, 4), "float64")
    loss = ot.sin(ot.conv1d(x, w, stride, 1)).sum()
    dx, dw = ot.grad(loss, [x, w])
    slopes(ot.Program(loss=loss, dx=dx, dw=dw), {"x": normal(2, steps), "w": normal(3, 2, 4)})


def test_the_derivative_by_the_operand_takes_no_more_products_than_the_convolution() -> None:
    """And adds nothing up beside them, for whichever place of the kernel."""
    x, w = ot.input("x", (8, 16, 24, 24)), ot.input("w", (32, 16, 4, 4))
    y = ot.conv2d(x, w, stride=2)
    up = ot.input("up", (8, 32, 11, 11))
    forward = ot.Program(y=y).compile(threads=1)
    back = ot.Program(dx=ot.grad((y * up).sum(), x)).compile(threads=1)
    count = [
        sum(record.operations.get(kind, 0) for record in run.explain().records)
        for run in (forward, back)
        for kind in ("products", "elementwise")
    ]
    assert count[2] <= 1.3 * count[0]
    assert count[3] <= count[1] + 3 * (8 * 16 * 24 * 24)


def test_second_derivatives_equal_differences() -> None:
    x, w = ot.input("x", (1, 7), "float64"), ot.input("w", (2, 1, 3), "float64")
    loss = (ot.conv1d(x, w, 2) ** 3).sum()
    steep = (ot.grad(loss, x) ** 2).sum()
    program = ot.Program(steep=steep, bend=ot.grad(steep, w))
    at = {
        "x": normal(1, 7),
        "w": normal(2, 1, 3),
    }
    way = normal(2, 1, 3, seed=1)
    high, low = (program.interpret(x=at["x"], w=at["w"] + h * way) for h in (1e-6, -1e-6))
    slope = (high["steep"] - low["steep"]) / 2e-6
    np.testing.assert_allclose((program.interpret(**at)["bend"] * way).sum(), slope, rtol=1e-6)


def test_the_gradient_of_overlapping_maxima_adds_up() -> None:
    x = ot.input("x", (1, 5))
    total = ot.max_pool1d(x, 3, 1).sum()
    found = value(ot.grad(total, x), x=np.array([[0, 5, 1, 2, 3]], np.float32))
    assert found.tolist() == [[0, 2, 0, 0, 1]]


APART = [(1, 1), (2, 2), (2, 3), (3, 4), (1, 3)]  # windows: their size, and the stride


@pytest.mark.parametrize(
    ("size", "stride", "is_symbolic"),
    [*((*each, is_symbolic) for each in APART for is_symbolic in (False, True)), (3, 2, False)],
)
def test_gradients_of_pooling_go_to_where_the_windows_are(
    size: int, stride: int, is_symbolic: bool
) -> None:
    t = ot.dims("t")
    for n in (4, 5, 6, 7, 9):
        x = ot.input("x", (2, t.size if is_symbolic else n), "float64")
        most, mean = ot.max_pool1d(x, size, stride), ot.avg_pool1d(x, size, stride)
        found = value(ot.grad((most**2).sum() + (mean**3).sum(), x), x=(at := normal(2, n)))
        expected = np.zeros((2, n))
        for row, begin in itertools.product(range(2), range(0, n - size + 1, stride)):
            window = at[row, begin : begin + size]
            expected[row, begin + window.argmax()] += 2 * window.max()
            expected[row, begin : begin + size] += 3 * window.mean() ** 2 / size
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_gradient_of_windows_that_are_apart_moves_values_only() -> None:
    x, up = ot.input("x", (8, 16, 16)), ot.input("up", (8, 8, 8))
    back = ot.grad((ot.avg_pool2d(x, 2) * up).sum(), x)
    run = ot.Program(dx=back).compile(threads=1)
    assert sum(r.operations.get("elementwise", 0) for r in run.explain().records) <= 8 * 16 * 16
