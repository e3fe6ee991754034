import importlib

import gymnasium
import numpy as np
import pytest

from bench.peers.in_numpy.reinforce import (
    Array,
    Batch,
    Params,
    Reinforce,
    Setup,
    advantages,
    gradient,
    initial_params,
    physics,
    play,
)

SETUP = Setup(episodes=3, steps=5, hidden=4)


def test_the_gradient_equals_central_differences() -> None:
    rng = np.random.default_rng(0)
    params: Params = [param.astype(np.float64) for param in initial_params(SETUP, rng)]
    batch = play(params, SETUP, rng)
    weight = rng.normal(size=batch.alive.shape)
    _, grads = gradient(params, batch, weight)
    for param, grad in zip(params, grads, strict=True):
        index = np.unravel_index(np.abs(grad).argmax(), grad.shape)
        assert np.isclose(grad[index], slope(params, param, index, batch, weight), rtol=1e-6)


def slope(
    params: Params, param: Array, index: tuple[np.intp, ...], batch: Batch, weight: Array
) -> float:
    """Return the loss's central difference along one element of one parameter."""
    middle, step = param[index], 1e-6
    param[index] = middle + step
    above = gradient(params, batch, weight)[0]
    param[index] = middle - step
    below = gradient(params, batch, weight)[0]
    param[index] = middle
    return (above - below) / (2 * step)


def test_the_advantage_ignores_steps_after_the_end() -> None:
    alive = np.array([[1, 1], [1, 0]], np.float32)
    assert advantages(alive, gamma=0.5).tolist()[1][1] == 0.0


def test_the_physics_are_those_of_gymnasium() -> None:
    env = gymnasium.make("CartPole-v1")
    expected, _ = env.reset(seed=0)
    state = expected[None].astype(np.float32)
    for _ in range(8):
        expected, _, ended, _, _ = env.step(1)
        state, fell = physics(state, np.array([1]))
        assert np.allclose(state[0], expected, atol=1e-5) and bool(fell[0]) == ended
        if ended:
            break


def test_the_jax_peer_has_the_same_gradient() -> None:
    jax = pytest.importorskip("jax", reason="JAX is an optional peer")
    peer = importlib.import_module("bench.peers.in_jax.reinforce")
    rng = np.random.default_rng(0)
    params = initial_params(SETUP, rng)
    batch = play(params, SETUP, rng)
    weight = advantages(batch.alive, gamma=0.9)
    found = jax.grad(peer.loss)(params, (batch.state, batch.action, batch.alive), weight)
    for theirs, ours in zip(found, gradient(params, batch, weight)[1], strict=True):
        assert np.allclose(theirs, ours, atol=1e-5)


def test_the_jax_peer_learns() -> None:
    pytest.importorskip("jax", reason="JAX is an optional peer")
    training = importlib.import_module("bench.peers.in_jax.reinforce").Reinforce(Setup(steps=200))
    assert training.run(12) > 60


@pytest.mark.parametrize(("name", "steps", "bar"), [("dqn", 8000, 40.0), ("sac", 4000, -900.0)])
def test_the_jax_peers_learn_from_replay(name: str, steps: int, bar: float) -> None:
    pytest.importorskip("jax", reason="JAX is an optional peer")
    found = importlib.import_module(f"bench.peers.in_jax.{name}").returns(64, 32, steps, 1)
    assert np.mean(found[-5:]) > bar > np.mean(found[:5])


def test_the_tuned_jax_peer_shuffles_without_a_sort() -> None:
    jax = pytest.importorskip("jax", reason="JAX is an optional peer")
    order = importlib.import_module("bench.peers.in_jax.ppo_tuned").order
    for count in (2, 64, 2048):
        found = np.asarray(order(jax.random.key(1), count))
        assert sorted(found.tolist()) == list(range(count))
    assert (found != np.asarray(order(jax.random.key(2), count))).mean() > 0.9


def test_the_numpy_peer_learns() -> None:
    assert Reinforce(Setup(steps=200)).run(6) > 60
