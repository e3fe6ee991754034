"""A limit of memory: what is kept for a later loop, and what is computed again."""

from functools import cache

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import MemoryLimitError, OptionError

HINTS = {"B": 16, "T": 128}


@cache
def trained() -> ot.Program:
    """A gated recurrence through time, whose gradient reads every step again."""
    b, t = ot.dims("b t")
    x, weights = ot.input("x", (8,), over=(b, t)), [ot.input(f"w{k}", (16, 8)) for k in range(2)]
    h = ot.recurrent("h", (8,), over=(b, t))
    both = ot.concatenate([x, h])
    gate, new = ot.sigmoid(both @ weights[0]), ot.tanh(both @ weights[1])
    following = gate * h + (1.0 - gate) * new
    h[b, 0] = ot.zeros(8)
    h[b, t + 1] = following
    loss = ot.square(following[:, -1]).mean()
    return ot.Program(loss=loss, slope=ot.grad(loss, weights[0]))


def peak(limit: int = 0) -> int:
    run = trained().compile(memory_limit=limit, hints=HINTS)
    return run.explain(**HINTS).memory.predicted_peak_bytes


def test_a_form_that_keeps_less_is_found() -> None:
    usual = peak()
    assert peak(usual) == usual
    assert peak(usual - 1) < usual


def test_a_form_within_a_limit_gives_the_same_results() -> None:
    rng = np.random.default_rng(3)
    given = {"x": rng.normal(size=(16, 128, 8)), "w0": rng.normal(size=(16, 8))}
    given["w1"] = rng.normal(size=(16, 8))
    usual = trained().compile(hints=HINTS)(**given)
    found = trained().compile(memory_limit=peak() - 1, hints=HINTS)(**given)
    for name, value in usual.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_a_limit_that_nothing_keeps_tells_the_least_that_would_do() -> None:
    with pytest.raises(MemoryLimitError) as caught:
        peak(1000)
    assert caught.value.fact == "no form of the program fits in 1,000 bytes at B=16, T=128"
    least = int(caught.value.remedy.split("memory_limit=")[1].split()[0])
    assert peak(least) == least
    with pytest.raises(MemoryLimitError):
        peak(least - 1)


def test_a_limit_needs_the_sizes_it_is_for() -> None:
    with pytest.raises(OptionError) as caught:
        trained().compile(memory_limit=10**6, hints={"B": 4})
    assert caught.value.fact == "`memory_limit` is given without a size for `T`"
    assert caught.value.remedy == "Say for which extents it holds: hints=dict(T=100)."


@pytest.mark.parametrize("limit", [-1, 1.5, "1 GB", True])
def test_a_limit_is_a_number_of_bytes(limit: object) -> None:
    with pytest.raises(OptionError, match="Pass a number of bytes"):
        trained().compile(memory_limit=limit, hints=HINTS)


def test_a_run_that_needs_more_is_refused_before_it_begins() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    run = ot.Program(total=x[:].sum()).compile(memory_limit=8192, hints={"T": 1000})
    assert run(x=np.ones(1000))["total"] == 1000
    with pytest.raises(MemoryLimitError, match="more than its limit of 8,192"):
        run(x=np.ones(3000))
