"""Layers, optimizers, draws and gradients that make no sense: line, fact and remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import ostinato
from ostinato.pdg import errors
from ostinato.pdg.errors import OstinatoError
from tests.errors.refusal import refusal

# As those write it who use no type checker, which would find many of these.
ot: Any = ostinato
nn, optim, rl = ot.nn, ot.optim, ot.rl

b, i, t = ot.dims("b i t")
x = ot.input("x", (3,), over=t)
k = ot.input("k", dtype="int32", over=t)


def recurrent() -> Any:
    return ot.recurrent("s", over=t)


def correct(scores: Any) -> Any:
    return (scores > 0).cast("float32").mean()


UNTOUCHED = (
    "an expression of `x`, `linear_weight`, `linear_bias` is minimized, and no derivative by a "
    "parameter passes to it\n  Compute it by the model whose parameters are given, without "
    "`ot.stop_gradient`, integers and comparisons between them."
)

MISTAKES: dict[str, tuple[Callable[[], object], type[OstinatoError], str]] = {
    "a learning rate that is a text": (
        lambda: optim.Adam("a"),
        errors.ArgumentError,
        "`Adam` gets 'a' for `learning_rate`\n  Give a number from 0, a function or a tensor.",
    ),
    "a negative learning rate": (
        lambda: optim.Adam(-1e-3),
        errors.ArgumentError,
        "`Adam` gets -0.001 for `learning_rate`\n  Give a number from 0, a function or a tensor.",
    ),
    "a learning rate of NaN": (
        lambda: optim.Adam(math.nan),
        errors.ArgumentError,
        "`Adam` gets nan for `learning_rate`\n  Give a number from 0, a function or a tensor.",
    ),
    "a learning rate called lr": (
        lambda: optim.Adam(lr=1e-3),
        errors.ArgumentError,
        "`Adam` has no parameter `lr`\n"
        "  Did you mean `learning_rate`? It takes: learning_rate, betas, eps, "
        "weight_decay.",
    ),
    "a beta of 1": (
        lambda: optim.Adam(betas=(0.9, 1.0)),
        errors.ArgumentError,
        "`Adam` gets (0.9, 1.0) for `betas`\n"
        "  Give a pair (a number from 0 to below 1, a number from 0 to below 1).",
    ),
    "one beta": (
        lambda: optim.Adam(betas=0.9),
        errors.ArgumentError,
        "`Adam` gets 0.9 for `betas`\n"
        "  Give a pair (a number from 0 to below 1, a number from 0 to below 1).",
    ),
    "a negative epsilon": (
        lambda: optim.Adam(eps=-1e-8),
        errors.ArgumentError,
        "`Adam` gets -1e-08 for `eps`\n  Give a number from 0.",
    ),
    "a momentum above 1": (
        lambda: optim.SGD(0.1, momentum=9.0),
        errors.ArgumentError,
        "`SGD` gets 9.0 for `momentum`\n  Give a number from 0 to below 1.",
    ),
    "parameters that are no list": (
        lambda: optim.SGD(0.1).minimize(x.sum(), x),
        errors.ArgumentError,
        "`minimize` gets `x` for `parameters`\n  Give a list of recurrent tensors.",
    ),
    "parameters that cannot learn": (
        lambda: optim.SGD(0.1).minimize(x.sum(), [x]),
        errors.ArgumentError,
        "`minimize` gets [`x`] for `parameters`\n  Give a list of recurrent tensors.",
    ),
    "no parameters": (
        lambda: optim.SGD(0.1).minimize(x.sum(), []),
        errors.ArgumentError,
        "`SGD` minimizes a loss by no parameters\n  Give those of a model: model.parameters.",
    ),
    "as many gradients as none": (
        lambda: optim.SGD(0.1).update([recurrent()], []),
        errors.ArgumentError,
        "1 parameters are updated by 0 gradients\n"
        "  Give one gradient per parameter, in their order.",
    ),
    "an optimizer by its name": (
        lambda: nn.Linear(3, 4).update("adam", x.sum()),
        errors.ArgumentError,
        "`update` gets 'adam' for `optimizer`\n  Give an optimizer such as optim.Adam(1e-3).",
    ),
    "parameters over no dimension": (
        lambda: (layer := nn.Linear(3, 4)).update(optim.Adam(), layer(x).sum()),
        errors.EquationError,
        "`linear_weight` is over no dimension, so it has no next iteration\n"
        "  Give it the dimension of the iterations: over=i.",
    ),
    "a loss of another model": (
        lambda: nn.Linear(3, 4, over=t).update(optim.Adam(), nn.Linear(3, 4, over=t)(x).sum()),
        errors.GradientError,
        UNTOUCHED,
    ),
    "a loss behind a comparison": (
        lambda: (layer := nn.Linear(3, 4, over=t)).update(optim.Adam(), correct(layer(x))),
        errors.GradientError,
        UNTOUCHED,
    ),
    "a schedule of no steps": (
        lambda: optim.schedule.linear(1.0, 0.0, 0),
        errors.ArgumentError,
        "`linear` gets 0 for `steps`\n  Give an index expression, a number above 0 or a tensor.",
    ),
    "a limit of 0": (
        lambda: optim.clip_norm([x], 0.0),
        errors.ArgumentError,
        "`clip_norm` gets 0.0 for `limit`\n  Give a number above 0 or a tensor.",
    ),
    "a layer of no inputs": (
        lambda: nn.Linear(0, 4),
        errors.ArgumentError,
        "`Linear` gets 0 for `inputs`\n  Give an integer from 1.",
    ),
    "a layer of floats": (
        lambda: nn.Linear(3.0, 4),
        errors.ArgumentError,
        "`Linear` gets 3.0 for `inputs`\n  Give an integer from 1.",
    ),
    "hidden sizes that are one number": (
        lambda: nn.MLP(3, 4, 2),
        errors.ArgumentError,
        "`MLP` gets 4 for `hidden`\n  Give a list of integers from 1.",
    ),
    "an unknown activation": (
        lambda: nn.MLP(3, [4], 2, activation="rely"),
        errors.OptionError,
        "activation `rely`\n  Use one of tanh, relu, sigmoid, silu, gelu.",
    ),
    "heads that do not divide the size": (
        lambda: nn.Attention(16, 3),
        errors.OptionError,
        "attention of size 16 with 3 heads in 3 groups\n"
        "  Use a number of heads that the groups divide, and that divides the "
        "size.",
    ),
    "no heads": (
        lambda: nn.Attention(16, 0),
        errors.ArgumentError,
        "`Attention` gets 0 for `heads`\n  Give an integer from 1.",
    ),
    "a recurrent layer along a name": (
        lambda: nn.LSTM(3, 4)(x, "t"),
        errors.ArgumentError,
        "`LSTM` gets 't' for `t`\n  Give a dimension of ot.dims.",
    ),
    "a negative hidden size": (
        lambda: nn.GRU(3, -4),
        errors.ArgumentError,
        "`GRU` gets -4 for `hidden`\n  Give an integer from 1.",
    ),
    "an embedding of floats": (
        lambda: nn.Embedding(5, 3)(x),
        errors.DtypeError,
        "`x` (float32) indexes `embedding_weight`\n  Cast the index to an integer type.",
    ),
    "dropout above 1": (
        lambda: nn.dropout(x, 1.5),
        errors.ArgumentError,
        "`dropout` of `x` gets 1.5 for `rate`\n  Give a number from 0 to below 1 or a tensor.",
    ),
    "a probability above 1": (
        lambda: ot.random.bernoulli(1.5),
        errors.ArgumentError,
        "`bernoulli` gets 1.5 for `p`\n  Give a number from 0 to 1 or a tensor.",
    ),
    "a negative deviation": (
        lambda: ot.random.normal(std=-1.0),
        errors.ArgumentError,
        "`normal` gets -1.0 for `std`\n  Give a number from 0 or a tensor.",
    ),
    "bounds the wrong way round": (
        lambda: ot.random.uniform(low=1.0, high=0.0),
        errors.ArgumentError,
        "uniform draws from [1.0, 0.0), which is empty\n  Give the lower bound first.",
    ),
    "random integers out of nothing": (
        lambda: ot.random.integers(3, 3),
        errors.ArgumentError,
        "random integers from 3 to 3 (excluded)\n"
        "  Give a lower bound below the upper one, which is excluded.",
    ),
    "a distribution of a scalar": (
        lambda: rl.Categorical(ot.zeros()),
        errors.ShapeError,
        "a distribution of the logits the constant 0.0, a scalar\n"
        "  Give logits with at least one axis.",
    ),
    "the log probability of what was not drawn": (
        lambda: rl.log_prob(k),
        errors.GradientError,
        "`k` was not drawn from a distribution\n"
        "  Pass what `.sample()` returned, or use "
        "`distribution.log_prob(action)`.",
    ),
    "an environment of integers": (
        lambda: rl.CartPole("int32"),
        errors.DtypeError,
        "a CartPole in int32\n  Use float32 or float64.",
    ),
    "stop by a float": (
        lambda: ot.stop(t, when=x.sum()),
        errors.DtypeError,
        "`t` stops when an expression of `x` is true, but that is float32\n"
        "  Compare it: ot.stop(t, when=x > 0).",
    ),
    "stop of a name": (
        lambda: ot.stop("t", when=x.sum() > 0),
        errors.ArgumentError,
        "`stop` gets 't' for `t`\n  Give a dimension of ot.dims.",
    ),
    "a check of a float": (
        lambda: ot.debug.check(x, "positive"),
        errors.DtypeError,
        "`x`, which is checked, is float32\n  Compare it with something, such as `x > 0`.",
    ),
    "a point outside of a call": (
        lambda: ot.debug.point(),
        errors.HostError,
        "a point was asked for, but no program is calling a function here\n"
        "  Use `ot.debug.point()` inside a function given to `ot.host`.",
    ),
    "a carry over nothing": (
        lambda: ot.carry("c", 0.0, over=()),
        errors.EquationError,
        "a value is carried over no dimension\n"
        "  Name the loops, outermost first: ot.carried(i, e, m).",
    ),
    "a rule by a number": (
        lambda: ot.rules.without(3),
        errors.ArgumentError,
        "`without` gets 3\n  Give a text.",
    ),
    "an experiment without arguments": (
        lambda: ot.Experiment(program=ot.Program(y=x), over=t, arguments=[], steps_per_record=1),
        errors.ArgumentError,
        "`Experiment` gets [] for `arguments`\n  Give a dictionary.",
    ),
    "a bar that is a text": (
        lambda: ot.Solved(at_least="500"),
        errors.ArgumentError,
        "`Solved` gets '500' for `at_least`\n  Give a finite number.",
    ),
}


@pytest.mark.parametrize(("make", "kind", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_with_place_fact_and_remedy(
    make: Callable[[], object], kind: type[OstinatoError], text: str
) -> None:
    where, _, rest = refusal(kind, make).partition(": ")
    assert where == f"test_mistakes_of_learning.py:{make.__code__.co_firstlineno}"
    assert rest == text
