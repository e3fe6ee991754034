"""A decoder spelled naively: every step projects all tokens so far, with heads and positions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.node import Input, Matmul, Node, postorder
from ostinato.rewrite.optimize import RewriteOptions, optimize
from tests.pipeline.programs import Values

WORDS, WIDTH, HEADS = 7, 8, 2
SIZE = WIDTH // HEADS
HINTS = {"B": 4, "P": 32, "T": 256}


def norm(x: ot.Tensor) -> ot.Tensor:
    """Root mean square normalisation."""
    return x / ot.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def rotated(x: ot.Tensor, positions: ot.Tensor) -> ot.Tensor:
    """Rotary positions of heads."""
    half = SIZE // 2
    angle = positions.cast("float32")[..., None, None] * ot.input("speed", (half,))
    p, q = x[..., :half], x[..., half:]
    turned = (p * ot.cos(angle) - q * ot.sin(angle), p * ot.sin(angle) + q * ot.cos(angle))
    return ot.concatenate(turned, -1)


def block(n: int, x: ot.Tensor, t: ot.Dimension) -> ot.Tensor:
    """Attention to everything so far, and two layers."""

    def weights(name: str, *shape: int) -> ot.Tensor:
        return ot.input(f"{name}{n}", shape)

    def heads(x: ot.Tensor, name: str, *lead: int) -> ot.Tensor:
        return (x @ weights(name, WIDTH, WIDTH)).reshape((*lead, HEADS, SIZE))

    seen = norm(x.at(t=slice(0, t + 1)))
    keys = rotated(heads(seen, "key", -1), ot.arange(t + 1)).transpose(1, 0, 2)
    values = heads(seen, "value", -1).transpose(1, 0, 2)
    query = rotated(heads(norm(x), "query"), ot.index(t))
    scores = (keys @ query[..., None])[..., 0] / math.sqrt(SIZE)
    mixed = (ot.softmax(scores, -1)[..., None, :] @ values).reshape((WIDTH,))
    x = x + mixed @ weights("out", WIDTH, WIDTH)
    return x + ot.tanh(norm(x) @ weights("up", WIDTH, 16)) @ weights("down", 16, WIDTH)


def decoder(blocks: int) -> ot.Program:
    """The likeliest token of every step, after a prompt of P tokens."""
    b, t, p = ot.dims("b t p")
    token = ot.recurrent("token", dtype="int32", over=(b, t))
    x = ot.take(ot.input("table", (WORDS, WIDTH)), token, axis=0)
    for n in range(blocks):
        x = block(n, x, t)
    token[t < p.size] = ot.input("prompt", dtype="int32", over=(b, p))[b, t]
    token[b, t + 1] = (norm(x) @ ot.input("head", (WIDTH, WORDS))).argmax(-1)
    return ot.Program(token=token)


def weights_of(node: Node) -> set[str]:
    """The inputs that a factor of a product is made of alone, if it has no dimension."""
    nodes = list(postorder((node,)))
    return set() if node.domain else {x.op.name for x in nodes if isinstance(x.op, Input)}


def projections(program: ot.Program) -> list[Node]:
    """The products with weights in the rewritten program."""
    pdg = optimize(program.pdg, RewriteOptions(hints=HINTS)).pdg
    return [x for x in pdg.nodes() if isinstance(x.op, Matmul) and weights_of(x.args[1])]


@pytest.mark.parametrize("blocks", [1, 2])
def test_every_projection_is_done_once_per_step(blocks: int) -> None:
    found = projections(decoder(blocks))
    names = {name for x in found for name in weights_of(x.args[1])}
    assert {f"{part}{n}" for part in ("key", "value", "query") for n in range(blocks)} <= names
    assert [x for x in found if any(each.dims for each in x.shape)] == []


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_decoder_spelled_naively_equals_the_interpreter(blocks: int) -> None:
    program, rng = decoder(blocks), np.random.default_rng(0)
    given: dict[str, Values] = {}
    for node in program.pdg.nodes():
        if isinstance(node.op, Input):
            sizes = [size.as_int() for size in node.shape]
            given[node.op.name] = (0.5 * rng.normal(size=sizes)).astype("float32")
    run = program.compile(hints=HINTS)
    for b, p, t in ((2, 3, 9), (1, 5, 3), (3, 1, 6)):
        given["prompt"] = rng.integers(0, WORDS, (b, p)).astype("int32")
        expected = program.interpret(B=b, P=p, T=t, **given)["token"]
        np.testing.assert_array_equal(run(B=b, P=p, T=t, **given)["token"], expected)
