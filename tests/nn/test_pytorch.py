"""Ten updates of every layer are those of PyTorch, to float32 rounding: values and gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import nn, optim

torch: Any = pytest.importorskip("torch", reason="PyTorch, the reference here, is not installed")

Array = npt.NDArray[Any]
UPDATES, B, T, SIZE = 10, 2, 4, 4
RATE = 0.1
RNG = np.random.default_rng(3)
X = RNG.normal(size=(B, T, SIZE)).astype(np.float32)
SYMBOLS = RNG.integers(0, 5, size=(B, T)).astype(np.int32)
TARGET = RNG.normal(size=(B, T, SIZE)).astype(np.float32)
RTOL, ATOL = 1e-4, 5e-6  # ten updates of float32 rounding


@dataclass(frozen=True)
class Pair:
    """A layer of size 4, what it returns, and PyTorch's function of the input and parameters."""

    layer: Callable[[ot.Dimension], nn.Module]
    output: Callable[[Any, ot.Tensor, ot.Dimension], ot.Tensor]
    reference: Callable[[Any, list[Any]], Any]
    symbols: bool = False  # whether the input is symbols, not vectors

    @property
    def x(self) -> Array:
        return SYMBOLS if self.symbols else X


def trained(pair: Pair) -> ot.Program:
    """The parameters along ten updates against a squared error."""
    b, i, t = ot.dims("b i t")
    layer = pair.layer(i)
    x = ot.input("x", pair.x.shape[2:], str(pair.x.dtype), over=(b, t))
    error = pair.output(layer, x, t) - ot.input("target", (SIZE,), over=(b, t))
    layer.update(optim.SGD(RATE), (error * error)[:, i, :].mean())
    return ot.Program(**{str(p.node): p for p in layer.parameters})


def assert_matches(pair: Pair, paths: dict[str, Array]) -> None:
    leaves = [torch.tensor(path[0], requires_grad=True) for path in paths.values()]
    optimizer = torch.optim.SGD(leaves, RATE)
    x, target = torch.tensor(pair.x), torch.tensor(TARGET)
    for update in range(UPDATES + 1):
        for (name, path), leaf in zip(paths.items(), leaves, strict=True):
            message = f"{name} after {update} updates"
            np.testing.assert_allclose(
                path[update], leaf.detach(), err_msg=message, rtol=RTOL, atol=ATOL
            )
        optimizer.zero_grad()
        ((pair.reference(x, leaves) - target) ** 2).mean().backward()
        optimizer.step()


def plain(layer: Callable[[ot.Tensor], ot.Tensor], x: ot.Tensor, t: ot.Dimension) -> ot.Tensor:
    return layer(x)


def recurrent(kind: str, reverse: bool) -> Callable[[Any, list[Any]], Any]:
    """PyTorch's layer as a function of parameters in our layout."""

    def run(x: Any, parameters: list[Any]) -> Any:
        layer = getattr(torch.nn, kind)(SIZE, SIZE, batch_first=True)
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        values = dict(zip(names, (p.transpose(0, -1) for p in parameters), strict=True))
        given = x.flip(1) if reverse else x
        out, _ = torch.func.functional_call(layer, values, (given,))
        return out.flip(1) if reverse else out

    return run


def attention(
    groups: int, mask: Any = None, rotary: bool = False
) -> Callable[[Any, list[Any]], Any]:
    """Scaled dot products of two heads; ``mask`` says which steps (rows) see which (columns)."""

    def split(x: Any) -> Any:
        return x.reshape(B, T, -1, 2).transpose(1, 2)

    def run(x: Any, parameters: list[Any]) -> Any:
        query, key, value = (split(x @ w) for w in parameters[:3])
        if rotary:
            query, key = rotated(query), rotated(key)
        found = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, enable_gqa=groups == 1
        )
        return found.transpose(1, 2).reshape(B, T, SIZE) @ parameters[3]

    return run


def rotated(x: Any) -> Any:
    """One pair of features turned by the position, as a product of complex numbers."""
    turn = torch.polar(torch.ones(T), torch.arange(T, dtype=torch.float32))
    return torch.view_as_real(torch.view_as_complex(x.contiguous()) * turn)


STEPS = torch.arange(T)
CAUSAL = STEPS[:, None] >= STEPS
WINDOW = CAUSAL & (STEPS[:, None] - STEPS < 2)
ODD = CAUSAL & ((STEPS % 2 == 0) | (STEPS[:, None] == STEPS))


def window(layer: nn.Attention, x: ot.Tensor, t: ot.Dimension) -> ot.Tensor:
    return layer(x, t, slice(ot.maximum(t - 1, 0), t + 1))


def masked(layer: nn.Attention, x: ot.Tensor, t: ot.Dimension) -> ot.Tensor:
    step = ot.arange(t + 1)
    return layer(x, t, mask=(step % 2 == 0) | (step == ot.index(t)))


F = torch.nn.functional
PAIRS: dict[str, Pair] = {
    "linear": Pair(lambda i: nn.Linear(4, 4, i), plain, lambda x, p: x @ p[0] + p[1]),
    "mlp": Pair(
        lambda i: nn.MLP(4, [5], 4, i, activation="gelu"),
        plain,
        lambda x, p: F.gelu(x @ p[0] + p[1], approximate="tanh") @ p[2] + p[3],
    ),
    "relu mlp": Pair(
        lambda i: nn.MLP(4, [5], 4, i, activation="relu"),
        plain,
        lambda x, p: F.relu(x @ p[0] + p[1]) @ p[2] + p[3],
    ),
    "layer norm": Pair(lambda i: nn.LayerNorm(4, i), plain, lambda x, p: F.layer_norm(x, (4,), *p)),
    "rms norm": Pair(
        lambda i: nn.RMSNorm(4, i), plain, lambda x, p: F.rms_norm(x, (4,), p[0], eps=1e-6)
    ),
    "embedding": Pair(
        lambda i: nn.Embedding(5, 4, i), plain, lambda x, p: F.embedding(x.long(), p[0]), True
    ),
    "swiglu": Pair(
        lambda i: nn.SwiGLU(4, 6, i),
        plain,
        lambda x, p: (F.silu(x @ p[0]) * (x @ p[1])) @ p[2],
    ),
    "gru": Pair(lambda i: nn.GRU(4, 4, i), lambda f, x, t: f(x, t), recurrent("GRU", False)),
    "lstm": Pair(
        lambda i: nn.LSTM(4, 4, i), lambda f, x, t: f(x, t).hidden, recurrent("LSTM", False)
    ),
    "gru backwards": Pair(
        lambda i: nn.GRU(4, 4, i), lambda f, x, t: f(x, t, reverse=True), recurrent("GRU", True)
    ),
    "causal attention": Pair(
        lambda i: nn.Attention(4, 2, i), lambda f, x, t: f(x, t), attention(2, CAUSAL)
    ),
    "grouped attention to everything": Pair(
        lambda i: nn.Attention(4, 2, i, groups=1),
        lambda f, x, t: f(x, t, slice(None)),
        attention(1),
    ),
    "attention in a window": Pair(lambda i: nn.Attention(4, 2, i), window, attention(2, WINDOW)),
    "masked attention": Pair(lambda i: nn.Attention(4, 2, i), masked, attention(2, ODD)),
    "rotary attention": Pair(
        lambda i: nn.Attention(4, 2, i, rotary=10_000.0),
        lambda f, x, t: f(x, t),
        attention(2, CAUSAL, rotary=True),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_ten_updates_are_pytorchs(name: str) -> None:
    pair = PAIRS[name]
    assert_matches(pair, trained(pair).interpret(x=pair.x, target=TARGET, I=UPDATES + 1))


@pytest.mark.parametrize("name", ["layer norm", "gru", "causal attention", "embedding"])
def test_machine_code_does_the_same_ten_updates(name: str) -> None:
    pair = PAIRS[name]
    assert_matches(pair, trained(pair).compile()(x=pair.x, target=TARGET, I=UPDATES + 1))
