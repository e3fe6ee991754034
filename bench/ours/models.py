"""Models as users of `nn` write them: transformers, in training and token by token."""

from __future__ import annotations

import ostinato as ot
from ostinato import nn, optim

WORDS = 256


class Block(nn.Module):
    """Causal attention and two layers, each on normalised values, each added to what came in."""

    def __init__(self, size: int, heads: int, over: ot.Dimension, name: str) -> None:
        self.before = nn.LayerNorm(size, over, name=f"{name}_before")
        self.attention = nn.Attention(size, heads, over, name=f"{name}_attention")
        self.between = nn.LayerNorm(size, over, name=f"{name}_between")
        self.up = nn.Linear(size, 4 * size, over, name=f"{name}_up")
        self.down = nn.Linear(4 * size, size, over, name=f"{name}_down")

    def __call__(self, x: ot.Tensor, t: ot.Dimension) -> ot.Tensor:
        x = x + self.attention(self.before(x), t)
        return x + self.down(ot.gelu(self.up(self.between(x))))


class Transformer(nn.Module):
    """A language model of some blocks, with learnt positions up to ``steps``."""

    def __init__(self, layers: int, size: int, heads: int, steps: int, over: ot.Dimension) -> None:
        self.words = nn.Embedding(WORDS, size, over, name="words")
        self.places = nn.Embedding(steps, size, over, name="places")
        self.blocks = [Block(size, heads, over, f"block{k}") for k in range(layers)]
        self.norm = nn.LayerNorm(size, over, name="norm")
        self.head = nn.Linear(size, WORDS, over, name="head")

    def __call__(self, word: ot.Tensor, t: ot.Dimension) -> ot.Tensor:
        x = self.words(word) + self.places(ot.index(t))
        for block in self.blocks:
            x = block(x, t)
        return self.head(self.norm(x))


def transformer(layers: int, size: int = 128, heads: int = 4, steps: int = 64) -> ot.Program:
    """Return the loss of every step of training by Adam."""
    b, i, t = ot.dims("b i t")
    model = Transformer(layers, size, heads, steps, i)
    word, target = (ot.input(n, dtype="int32", over=(b, t)) for n in ("word", "target"))
    scores = ot.log_softmax(model(word, t))
    loss = -ot.take_along_axis(scores, target[..., None], -1)[..., 0][:, i, :].mean()
    model.update(optim.Adam(1e-3), loss)
    return ot.Program(loss=loss)
