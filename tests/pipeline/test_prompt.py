"""Sequences that begin with a prompt: what follows from it is computed for all steps at once."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.node import Input, Matmul, Node
from ostinato.rewrite.optimize import RewriteOptions, optimize
from tests.pipeline.programs import Values

SIZES = [(1, 1, 1), (2, 3, 7), (3, 5, 4), (9, 8, 8), (2, 1, 6)]
WIDTH, WORDS = 4, 6


def decoder(layers: int, with_logits: bool = False) -> ot.Program:
    """Return greedy decoding after a prompt of P tokens: attention with keys and values, an MLP."""
    b, t, p = ot.dims("b t p")
    prompt = ot.input("prompt", dtype="int32", over=(b, p))
    token = ot.recurrent("token", dtype="int32", over=(b, t))
    x = ot.take(ot.input("embedding", (WORDS, WIDTH)), token, axis=0)
    for k in range(layers):
        query, key, value, dense = (
            x if n == "m" else x @ ot.input(f"{n}{k}", (WIDTH, WIDTH)) for n in "qkvm"
        )
        x = dense + ot.softmax(key[b, : t + 1] @ query) @ value[b, : t + 1]
        x = x + ot.tanh(x @ ot.input(f"m{k}", (WIDTH, WIDTH)))
    logits = x @ ot.input("head", (WIDTH, WORDS))
    token[t < p.size] = prompt[b, t]
    token[b, t + 1] = logits.argmax(-1)
    return ot.Program(token=token, **({"logits": logits} if with_logits else {}))


def arguments(program: ot.Program, batch: int, steps: int) -> dict[str, Values]:
    rng = np.random.default_rng(steps)
    out: dict[str, Values] = {}
    for node in program.pdg.nodes():
        if isinstance(node.op, Input):
            sizes = [n.as_int() for n in node.shape]
            out[node.op.name] = (0.5 * rng.normal(size=sizes)).astype("float32")
    out["prompt"] = rng.integers(0, WORDS, (batch, steps)).astype("int32")
    return out


@pytest.mark.parametrize(("layers", "with_logits"), [(1, False), (2, True)])
def test_decoding_after_a_prompt_equals_the_interpreter(layers: int, with_logits: bool) -> None:
    program = decoder(layers, with_logits)
    run = program.compile(hints={"B": 4, "P": 32, "T": 64})
    for b, p, t in SIZES:
        given = arguments(program, b, p)
        expected = program.interpret(B=b, P=p, T=t, **given)
        found = run(B=b, P=p, T=t, **given)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, 1e-3, 1e-4, err_msg=name)


def products(program: ot.Program, weight: str) -> list[Node]:
    """The products with an input in the rewritten program."""
    pdg = optimize(program.pdg, RewriteOptions(hints={"B": 4, "P": 32, "T": 64})).pdg
    found = [n for n in pdg.nodes() if isinstance(n.op, Matmul)]
    return [n for n in found if isinstance(n.args[1].op, Input) and n.args[1].op.name == weight]


@pytest.mark.parametrize("weight", ["k0", "v0"])
def test_keys_and_values_of_the_prompt_are_one_product(weight: str) -> None:
    rows = [str(n.shape[0]) for n in products(decoder(1), weight)]
    assert sorted(rows) == ["B", "B * min(P, T)"]


@pytest.mark.parametrize("weight", ["q0", "m0", "k1", "v1", "q1", "m1", "head"])
def test_every_layer_of_the_prompt_is_a_product_over_all_its_steps(weight: str) -> None:
    rows = [str(n.shape[0]) for n in products(decoder(2, with_logits=True), weight)]
    assert sorted(rows) == ["B", "B * min(P, T)"]


def test_nothing_but_keys_and_values_is_computed_for_the_prompt() -> None:
    schedule = decoder(1).compile(hints={"B": 4, "P": 32, "T": 64}).explain().schedule
    lines = schedule.splitlines()
    for k, line in enumerate(lines):
        if "@ m0" in line or "@ head" in line or "@ q0" in line:
            assert lines[k - 1].strip() == "if t+1 >= P:", line


def test_a_state_that_needs_its_past_stays_in_the_loop() -> None:
    b, t, p = ot.dims("b t p")
    token, h = ot.recurrent("token", over=(b, t)), ot.recurrent("h", (3,), over=(b, t))
    step = ot.tanh(h @ ot.input("w", (3, 3)) + token)
    h[b, 0] = ot.zeros((3,))
    h[b, t + 1] = step
    token[t < p.size] = ot.input("prompt", over=(b, p))[b, t]
    token[b, t + 1] = step.sum()
    program = ot.Program(total=(step @ ot.input("head", (3, 2)))[b, :].sum(0))
    rng = np.random.default_rng(0)
    sizes = {"w": (3, 3), "head": (3, 2), "prompt": (5, 3)}
    given = {name: rng.normal(size=size).astype("float32") for name, size in sizes.items()}
    expected = program.interpret(T=7, **given)["total"]
    np.testing.assert_allclose(program.compile()(T=7, **given)["total"], expected, 1e-4, 1e-5)
