"""Teach an agent to balance a pole: REINFORCE on CartPole, from equations alone.

Run it with ``ostinato run examples/reinforce_cartpole.py``.
"""

import ostinato as ot
from ostinato import nn, optim, rl


def reinforce(
    env: rl.Env[rl.Discrete], learning_rate: float = 0.01, gamma: float = 0.99
) -> ot.Program:
    """Monte Carlo policy gradient with a normalised advantage.

    Every iteration ``i`` plays ``b`` episodes of at most ``t`` steps with one policy. An episode
    that is over rests in its last state, and counts nowhere.

    Source: Williams 1992, Simple statistical gradient-following algorithms.
    """
    b, i, t = ot.dims("b i t")
    (inputs,) = env.observation_shape
    policy = nn.MLP(inputs, [64, 64], env.actions.count, over=i, output_scale=0.01)
    state = ot.recurrent("state", like=env.state, over=(b, i, t))
    alive = ot.recurrent("alive", dtype="bool", over=(b, i, t))

    # One step of one episode.
    action = rl.Categorical(policy(env.observe(state))).sample()
    following, reward, terminated, truncated = env.step(state, action)
    goes_on = alive & ~terminated & ~truncated

    state[b, i, 0] = env.reset(over=(b, i))
    state[b, i, t + 1] = ot.where(goes_on, following, state)
    alive[b, i, 0] = True
    alive[b, i, t + 1] = goes_on

    # What each action led to, against the average of the iteration.
    earned = ot.where(alive, reward, 0.0)
    outcome = ot.discounted_sum(earned[b, i, t:], gamma)
    advantage = normalised(outcome, alive, i)

    score = rl.log_prob(action) * ot.stop_gradient(advantage)
    loss = -mean_where(alive, score, i)
    policy.update(optim.Adam(learning_rate), loss)

    return ot.Program(episode_return=earned[:, i, :].sum(1).mean(), loss=loss)


def mean_where(mask: ot.Tensor, x: ot.Tensor, i: ot.Dimension) -> ot.Tensor:
    """Return the mean over all steps of all episodes where the mask is true."""
    return ot.where(mask, x, 0.0)[:, i, :].sum() / mask[:, i, :].sum()


def normalised(x: ot.Tensor, mask: ot.Tensor, i: ot.Dimension) -> ot.Tensor:
    """Return values with mean 0 and variance 1 over the steps where the mask is true."""
    centred = x - mean_where(mask, x, i)
    return centred / (ot.sqrt(mean_where(mask, centred**2, i)) + 1e-6)


def main(
    episodes: int = 64,
    iterations: int = 100,
    steps: int = 500,
    learning_rate: float = 0.01,
    gamma: float = 0.99,
) -> ot.Experiment:
    """Train until the mean return of the last 100 episodes is at least 195."""
    return ot.Experiment(
        program=reinforce(rl.CartPole(), learning_rate, gamma),
        over="i",
        arguments={"B": episodes, "I": iterations, "T": steps},
        steps_per_record=episodes * steps,
        stop=ot.Solved(at_least=195.0, episodes_per_record=episodes),
    )


if __name__ == "__main__":
    import numpy as np

    tiny = reinforce(rl.CartPole()).interpret(B=4, I=2, T=20)
    print("returns of two iterations of four episodes:", np.round(tiny["episode_return"], 2))
