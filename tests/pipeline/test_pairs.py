"""Values of two steps of one dimension, of which a recurrence reads pairs that it has already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import CycleError
from ostinato.rewrite.registry import RuleSet

N = 7
Step = Callable[[Dimension, Dimension, Tensor, Tensor, Tensor], Tensor]


def attention(s: Dimension, r: Dimension, h: Tensor, x: Tensor, _: Tensor) -> Tensor:
    weight = ot.exp((h[r] * x).sum(-1))[s, :s]
    return (weight.reshape(-1, 1) * h[:s]).sum(0) / (1.0 + weight.sum(0))


def remainders(s: Dimension, r: Dimension, h: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return ot.tanh(h[r] * w)[s, s - s % 3 : s].sum(0)


def two_readers(s: Dimension, r: Dimension, h: Tensor, x: Tensor, w: Tensor) -> Tensor:
    z = ot.tanh(h[r] * w)
    return z[s, :s].sum(0) + 0.5 * z[s, ot.maximum(s - 2, 0) : s].sum(0)


def of_pairs(s: Dimension, r: Dimension, h: Tensor, x: Tensor, w: Tensor) -> Tensor:
    z = ot.tanh(h[r] * w)
    return (z + 0.5 * z[s, r // 2])[s, :s].sum(0)


STEPS: dict[str, Step] = {
    "past": lambda s, r, h, x, w: ot.where(w > 0, h[r] * w, 0.0)[s, :s].sum(0),
    "future": lambda s, r, h, x, w: ot.tanh(h[r] * w)[s, s + 1 :].sum(0),
    "half": lambda s, r, h, x, w: ot.tanh(h[r] * w)[s, : (s + 1) // 2].sum(0),
    "one": lambda s, r, h, x, w: ot.where(s > 0, (h[r] * w)[s, ot.maximum(s - 1, 0)], 0.0),
    "product": lambda s, r, h, x, w: 0.1 * (h[r] @ (w * ot.eye(3)))[s, :s].sum(0),
    "sorted": lambda s, r, h, x, w: 0.1 * ot.sort(h[r] * w)[s, :s].sum(0),
    "running": lambda s, r, h, x, w: 0.1 * ot.cumsum((h[r] * w)[s, :s], 0).sum(0),
    "attention": attention,
    "remainders": remainders,
    "two_readers": two_readers,
    "of_pairs": of_pairs,
}


def recurrence(step: Step) -> tuple[Tensor, Tensor, Tensor]:
    """``h``, what it reads of pairs, and an input that both depend on."""
    s = ot.dims("s")
    r = ot.dim("r", size=s.size)
    x, w = ot.input("x", (3,), over=s), ot.input("w", over=(s, r))
    h = ot.recurrent("h", (3,), over=s)
    h[True] = x + step(s, r, h, x, w)
    return h, ot.tanh(h[r] * w), x


def check(program: ot.Program, rules: RuleSet | None) -> None:
    rng = np.random.default_rng(0)
    whole = {"x": rng.normal(size=(N, 3)), "w": rng.normal(size=(N, N))}
    given: dict[str, Any] = {name: whole[name] for name in program.inputs}
    expected = program.interpret(**given)
    found = program.compile(rules=rules, verify=True)(**given)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.filterwarnings("ignore:rewriting left a part")
@pytest.mark.parametrize("rules", [RuleSet(()), None])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_only_pairs_that_are_read_are_computed(step: Step, rules: RuleSet | None) -> None:
    h, _, x = recurrence(step)
    check(ot.Program(h=h, slope=ot.grad((h * h).sum()[:].sum(0), x)), rules)


@pytest.mark.filterwarnings("ignore:rewriting left a part")
@pytest.mark.parametrize("rules", [RuleSet(()), None])
@pytest.mark.parametrize("name", ["past", "sorted", "attention"])
def test_all_pairs_may_be_read_by_others(name: str, rules: RuleSet | None) -> None:
    h, z, x = recurrence(STEPS[name])
    both = h + z.at(r=slice(None)).mean(0)
    check(ot.Program(z=z, slope=ot.grad((both * both).sum()[:].sum(0), x)), rules)


@pytest.mark.filterwarnings("ignore:rewriting left a part")
@pytest.mark.parametrize("of", [slice(None, 2), slice(None)], ids=["some", "all"])
def test_chains_of_operators_of_pairs_may_be_read_by_others(of: slice) -> None:
    s = ot.dims("s")
    r = ot.dim("r", size=s.size)
    x, w = ot.input("x", (3,), over=s), ot.input("w", over=(s, r))
    h = ot.recurrent("h", (3,), over=s)
    z = ot.cumsum(ot.sort(ot.tanh(h[r] * w)), 0) * 0.5  # stored one by one
    h[True] = x + z[s, s + 1 :].sum(0)
    check(ot.Program(h=h, mean=z[s, of].mean(0)), None)


def test_a_pair_that_needs_itself_is_refused() -> None:
    h, _, _ = recurrence(lambda s, r, h, x, w: ot.tanh(h[r] * w)[s, : s + 1].sum(0))
    with pytest.raises(CycleError, match=r"`h` at s = 0 .* needs itself"):
        ot.Program(h=h).compile()
