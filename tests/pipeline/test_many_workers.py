"""More than eight workers get work, and compute the same bits as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.cli.program_file import load_function
from ostinato.compiler.compiled import Compiled
from tests.pipeline.programs import ROOT, crowd

MANY = (2, 16, 64)
DRAWN = np.random.default_rng(1)


def weights(**hints: int) -> Compiled:
    """A layer is trained on rows; its gradient is scaled by its length."""
    i, b = ot.dims("i b")
    x = ot.input("x", (128,), over=b)
    w = ot.recurrent("w", (128, 128), over=i)
    w[0] = ot.random.normal((128, 128)) * 0.05
    loss = (ot.tanh(x @ w) ** 2)[i, :].sum(-1).mean(0)
    gradient = ot.grad(loss, w)
    length = ot.sqrt((gradient**2).sum())
    w[i + 1] = w - 0.1 * gradient / (1.0 + length)
    return ot.Program(w=w, length=length).compile(threads=2, hints=hints)


def rows() -> Compiled:
    """The rows of an array are much work, and a sum over them."""
    x = ot.input("x", (4096, 64))
    w = ot.input("w", (64, 64))
    return ot.Program(y=ot.exp(ot.tanh(x @ w)).sum(0)).compile(threads=2)


def product() -> Compiled:
    b = ot.dims("b")
    x, w = ot.input("x", (48,), over=b), ot.input("w", (48, 32))
    return ot.Program(y=ot.sigmoid(x @ w), mean=(x @ w)[:].mean(0)).compile(threads=2)


def moving() -> Compiled:
    return crowd().compile(threads=2)


def learning() -> Compiled:
    made = load_function(f"{ROOT / 'examples' / 'ppo_cartpole.py'}:ppo")(
        rl.CartPole(), hidden=(16, 16)
    )
    assert isinstance(made, ot.Program)
    return made.compile(threads=2)


def drawn(*shape: int) -> npt.NDArray[np.float32]:
    return DRAWN.normal(size=shape).astype(np.float32)


KINDS: dict[str, tuple[Callable[[], Compiled], dict[str, object]]] = {
    "slices and groups": (weights, {"x": drawn(600, 128), "I": 3, "seed": 1}),
    "rows": (rows, {"x": drawn(4096, 64), "w": drawn(64, 64)}),
    "product": (product, {"x": drawn(700, 48), "w": drawn(48, 32)}),
    "folds over a batch": (moving, {"B": 2500, "T": 4, "seed": 3}),
    "ppo": (learning, {"B": 70, "I": 2, "E": 2, "T": 8, "seed": 5}),
}


def run_with(program: Compiled, workers: int, arguments: dict[str, object]) -> dict[str, bytes]:
    program.executable.threads = workers
    return {name: np.asarray(v).tobytes() for name, v in program(**arguments).items()}


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_workers_computes_the_same_bits(kind: str) -> None:
    make, arguments = KINDS[kind]
    program = make()
    alone = run_with(program, 1, arguments)
    for workers in MANY:
        assert run_with(program, workers, arguments) == alone, workers


def test_a_program_that_was_compiled_for_many_threads_computes_the_same_bits() -> None:
    b = ot.dims("b")
    x = ot.input("x", (48,), over=b)
    made = ot.Program(mean=ot.exp(x)[:].mean(0))
    values = drawn(900, 48)
    one, many = (made.compile(threads=n)(x=values)["mean"].tobytes() for n in (1, 64))
    assert one == many


@cache
def plain() -> Compiled:
    return weights()


def test_slices_and_groups_follow_the_extents() -> None:
    small, large = plain().explain(B=64, I=3), weights(B=1 << 15, I=3).explain(B=1 << 15, I=3)
    assert "min(nt, 128)" in small.source and "a3_s < 16" in small.schedule
    assert small.workers.employed["k1"] == 64
    assert max(small.workers.employed.values()) == 64
    assert "b_g = 0 .. min((B+31) // 32, 8)-1" in small.schedule
    assert "b_g = 0 .. min((B+63) // 64, 64)-1" in large.schedule
    assert large.workers.employed["k2"] == 64


def test_explain_predicts_what_more_workers_gain() -> None:
    found = plain().explain(B=4096, I=3)
    times = [found.workers.predicted_ns[n] for n in (1, 2, 4, 8, 16, 32, 64)]
    assert times[0] > 1.5 * times[1] and times[1] > times[2] > times[3] >= 0.9 * times[6]
    assert "times as fast" in str(found) and "k2 8" in str(found.workers)
    assert json.loads(json.dumps(found.data()))["workers"]["employed"]["k2"] == 8
