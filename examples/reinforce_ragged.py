"""REINFORCE on CartPole once more, with episodes that truly end: `ot.stop` does the masks.

Run it with ``ostinato run examples/reinforce_ragged.py``.
"""

import ostinato as ot
from ostinato import nn, optim, rl


def reinforce(
    env: rl.Env[rl.Discrete], learning_rate: float = 0.01, gamma: float = 0.99
) -> ot.Program:
    """Monte Carlo policy gradient with a normalised advantage.

    Source: Williams 1992, Simple statistical gradient-following algorithms.
    """
    b, i, t = ot.dims("b i t")  # episodes, iterations, steps
    (inputs,) = env.observation_shape
    policy = nn.MLP(inputs, [64, 64], env.actions.count, over=i, output_scale=0.01)
    state = ot.recurrent("state", like=env.state, over=(b, i, t))

    action = rl.Categorical(policy(env.observe(state))).sample()
    following, reward, terminated, truncated = env.step(state, action)
    state[b, i, 0] = env.reset(over=(b, i))
    state[b, i, t + 1] = following
    ot.stop(t, when=terminated | truncated)

    outcome = ot.discounted_sum(reward[b, i, t:], gamma)
    every = outcome[:, i, :]
    advantage = (outcome - every.mean()) / (every.std() + 1e-6)
    score = rl.log_prob(action) * ot.stop_gradient(advantage)
    loss = -score[:, i, :].mean()
    policy.update(optim.Adam(learning_rate), loss)

    return ot.Program(episode_return=reward[:, i, :].sum(1).mean(), loss=loss)


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
