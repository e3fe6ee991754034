"""The categorical distribution."""

import numpy as np
import pytest

import ostinato as ot
from ostinato import rl
from ostinato.pdg.errors import GradientError

LOGITS = np.array([[0.1, 2.0, -1.0], [0.0, 0.0, 5.0]])
LOG_P = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))


def policy() -> rl.Categorical:
    t = ot.dims("t")
    return rl.Categorical(ot.input("logits", shape=(3,), dtype="float64", over=t))


def test_log_prob_is_that_of_the_drawn_action() -> None:
    action = policy().sample()
    out = ot.Program(a=action, lp=rl.log_prob(action)).interpret(logits=LOGITS)
    np.testing.assert_allclose(out["lp"], LOG_P[[0, 1], out["a"]])


def test_log_prob_takes_actions_from_elsewhere() -> None:
    out = ot.Program(lp=policy().log_prob(2)).interpret(logits=LOGITS)
    np.testing.assert_allclose(out["lp"], LOG_P[:, 2])


def test_entropy() -> None:
    out = ot.Program(h=policy().entropy()).interpret(logits=LOGITS)
    np.testing.assert_allclose(out["h"], -(np.exp(LOG_P) * LOG_P).sum(1))


def test_the_gradient_of_log_prob_is_one_hot_minus_softmax() -> None:
    t = ot.dims("t")
    logits = ot.input("logits", shape=(3,), dtype="float64", over=t)
    action = rl.Categorical(logits).sample()
    out = ot.Program(a=action, g=ot.grad(rl.log_prob(action), logits)).interpret(logits=LOGITS)
    np.testing.assert_allclose(out["g"], np.eye(3)[out["a"]] - np.exp(LOG_P), atol=1e-12)


def test_an_action_that_was_not_drawn_has_no_log_prob() -> None:
    with pytest.raises(GradientError, match="was not drawn from a distribution"):
        rl.log_prob(ot.constant(1))
