"""The equality of deep programs is shown: rounds grow with depth."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.certificate.equality import MOST_ROUNDS, check_equality
from ostinato.certificate.make import Compilation, certify
from ostinato.certificate.replay import check_memory, check_waiting, planned
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg
from ostinato.pdg.half_storage import encoded
from ostinato.rewrite.engine.saturate import Budget
from ostinato.rewrite.registry import every_rule
from tests.pipeline.test_prompt import decoder


def deep_network() -> ot.Program:
    """Return gradient descent on a network of twelve hidden layers."""
    b, i = ot.dims("b i")
    model = nn.MLP(4, [4] * 12, 1, over=i)
    loss = (model(ot.input("x", (4,), over=b)) ** 2)[:].mean()
    model.update(optim.SGD(0.1), loss)
    return ot.Program(loss=loss)


def deep_decoder() -> ot.Program:
    """Return greedy decoding with four blocks of attention."""
    return decoder(4, with_logits=True)


@pytest.mark.parametrize("make", [deep_network, deep_decoder])
def test_certificates_of_deep_programs_hold(make: Callable[[], ot.Program]) -> None:
    program, options = make(), Options(threads=2)
    optimized = optimize_pdg(encoded(program.pdg), every_rule(), options)
    schedule = planned(optimized, options)
    made = certify(Compilation(program.pdg, every_rule(), optimized, schedule))
    assert "roots equal" in check_equality(made, made.prepared or encoded(made.source))
    assert check_waiting(made) and check_memory(made)


def test_equality_may_take_as_many_rounds_as_rewriting() -> None:
    assert MOST_ROUNDS >= Budget().rounds
