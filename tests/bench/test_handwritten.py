import numpy as np
import pytest

from bench.handwritten import reinforce, tables
from bench.handwritten.network import HIDDEN, MOST, NETWORK, initial
from bench.handwritten.ppo import Setup, run
from bench.ours.tables import coding, learning, tiles, world


def test_the_handwritten_ppo_learns() -> None:
    returns = run(Setup(envs=8, steps=128), 40)
    assert returns[:3].mean() < 60 and returns[-10:].mean() > 120


def test_two_workers_learn_what_one_learns() -> None:
    one, two = (run(Setup(4, 32, workers=n), 2) for n in (1, 2))
    assert np.allclose(one, two, rtol=1e-3)


@pytest.mark.parametrize("workers", [3])
def test_there_may_be_more_workers_than_two(workers: int) -> None:
    assert np.isfinite(run(Setup(4, 32, workers=workers), 2)).all()


def test_networks_start_with_small_outputs_where_asked() -> None:
    params = initial((2, 1), (0.01, 1.0), seed=0)
    last = slice(NETWORK - 16 - MOST * HIDDEN, NETWORK - 16)
    actor, critic = params[:NETWORK][last], params[NETWORK:][last]
    assert np.abs(actor).max() < 0.05 < np.abs(critic[:HIDDEN]).max()


def test_the_handwritten_reinforce_learns() -> None:
    returns = reinforce.Training(reinforce.Setup(64, 200)).run(12)
    assert returns[0] < 40 and returns[-1] > 60


def test_two_workers_of_reinforce_learn_what_one_learns() -> None:
    one, two = (reinforce.Training(reinforce.Setup(6, 40, workers=n)).run(2) for n in (1, 2))
    assert np.allclose(one, two, rtol=1e-3)


def test_q_learning_by_hand_learns_what_the_equations_say() -> None:
    given = world(places=20, steps=400)
    found = learning(20).compile()(**given)
    earned, value = tables.learnt(*given.values())
    np.testing.assert_allclose(found["value"], value, atol=1e-5)
    np.testing.assert_allclose(found["earned"], earned, rtol=1e-5)


def test_tile_coding_by_hand_foretells_what_the_equations_say() -> None:
    given = tiles(weights=64, steps=300)
    found = coding(64).compile()(**given)
    value, weight = tables.foretold(*given.values(), 64)
    np.testing.assert_allclose(found["weight"], weight, atol=1e-5)
    np.testing.assert_allclose(found["value"], value, rtol=1e-4)
