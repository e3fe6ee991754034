"""Teach an agent to balance a pole: proximal policy optimisation on CartPole.

Run it with ``ostinato run examples/ppo_cartpole.py``.
"""

from collections.abc import Sequence

import ostinato as ot
from ostinato import nn, optim, rl

DISCOUNT, TRACE, CLIP = 0.99, 0.95, 0.2
Steps = tuple[ot.Dimension, ot.Dimension, ot.Dimension]


def ppo(
    env: rl.Env[rl.Discrete],
    learning_rate: float = 1e-3,
    minibatches: int = 4,
    hidden: Sequence[int] = (64, 64),
    cut_is_over: bool = False,
) -> ot.Program:
    """Clipped policy gradients in epochs of shuffled minibatches.

    Every iteration ``i`` plays ``t`` steps of ``b`` games, which start again when they are over.
    Every epoch ``e`` takes the steps in another random order, in minibatches ``m``. A game that is
    cut is worth what the critic expects, unless ``cut_is_over``.

    Source: Schulman et al. 2017, Proximal policy optimization algorithms.
    """
    b, i, e, t = ot.dims("b i e t")
    m, n = ot.dim("m", size=minibatches), ot.dim("n", size=b.size * t.size)
    inputs, updates = env.observation_shape[0], ot.carried(i, e, m)
    actor = nn.MLP(inputs, hidden, env.actions.count, updates, name="actor")
    critic = nn.MLP(inputs, hidden, 1, updates, name="critic")
    acting, judging = actor.at(e=0, m=0), critic.at(e=0, m=0)

    # One step of one game.
    state = ot.carry("state", env.reset(over=b), over=(i, t), each=b)
    seen = env.observe(state)
    action = rl.Categorical(acting(seen)).sample()
    following, reward, terminated, truncated = env.step(state, action)
    done = terminated | truncated
    state.step(ot.where(done, env.reset(over=(b, i, t)), following))

    # What each step brought that was not expected.
    value, value_after = judging(seen)[..., 0], judging(env.observe(following))[..., 0]
    if cut_is_over:  # so that steps are judged once, but for the last
        terminated, value_after = done, shifted(value, value_after, (b, i, t))
    surprise = reward + DISCOUNT * ot.where(terminated, 0.0, value_after) - value
    advantage = advantages(surprise, done, (b, i, t))

    # The rows of one minibatch.
    shuffled = ot.random.permutation(n.size, over=(i, e))
    chosen = shuffled.take(minibatches * ot.arange(n.size // minibatches) + m, axis=0)
    rows = {"b": chosen // t.size, "t": chosen % t.size}
    x, played, before = seen.at(**rows), action.at(**rows), rl.log_prob(action).at(**rows)
    better, target = advantage.at(**rows), (advantage + value).at(**rows)
    policy = rl.Categorical(actor(x))
    ratio = ot.exp(policy.log_prob(played) - before)
    error = ((critic(x)[..., 0] - target) ** 2).mean()
    loss = 0.5 * error - clipped(ratio, better) - 0.01 * policy.entropy().mean()
    adam = optim.Adam(learning_rate * (1.0 - i / i.size), eps=1e-5)
    optim.Clipped(adam, norm=0.5).minimize(loss, [*actor.parameters, *critic.parameters])
    return ot.Program(**ended(done, following, i), loss=loss)


def shifted(value: ot.Tensor, last: ot.Tensor, over: Steps) -> ot.Tensor:
    """Return the value one step later, and ``last`` at the last step."""
    b, i, t = over
    later = ot.recurrent("value_after", over=over)
    later[b, i, -1], later[b, i, t] = last[b, i, -1], value[b, i, t + 1]
    return later


def advantages(surprise: ot.Tensor, done: ot.Tensor, over: Steps) -> ot.Tensor:
    """Return how much better each action was than expected, by all that followed it."""
    b, i, t = over
    advantage = ot.recurrent("advantage", over=over)
    advantage[b, i, -1] = surprise[b, i, -1]
    advantage[b, i, t] = surprise + DISCOUNT * TRACE * ot.where(done, 0.0, advantage[b, i, t + 1])
    return advantage


def clipped(ratio: ot.Tensor, advantage: ot.Tensor) -> ot.Tensor:
    """Return the objective: the mean gain, where no step is worth leaving the range of ratios."""
    weight = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    return ot.minimum(ratio * weight, ot.clip(ratio, 1 - CLIP, 1 + CLIP) * weight).mean()


def ended(done: ot.Tensor, state: ot.Record, i: ot.Dimension) -> dict[str, ot.Tensor]:
    """Return how many games ended in an iteration, and their mean length, or the last one known."""
    count = done[:, i, :].sum()
    total = ot.where(done, state.steps, 0)[:, i, :].sum()
    known = ot.carry("known", 0.0, over=i)
    known.step(ot.where(count > 0, total / ot.maximum(count, 1), known))
    return {"episode_return": known.after, "episodes": count}


def main(
    games: int = 8,
    iterations: int = 150,
    steps: int = 128,
    epochs: int = 10,
    learning_rate: float = 1e-3,
    cut_is_over: bool = False,
) -> ot.Experiment:
    """Train until the mean return of the last 100 episodes is at least 475."""
    return ot.Experiment(
        program=ppo(rl.CartPole(), learning_rate, cut_is_over=cut_is_over),
        over="i",
        arguments={"B": games, "I": iterations, "T": steps, "E": epochs},
        steps_per_record=games * steps,
        stop=ot.Solved(at_least=475.0),
    )


if __name__ == "__main__":
    import numpy as np

    tiny = ppo(rl.CartPole(), hidden=(8, 8)).interpret(B=2, I=2, T=8, E=2)
    print("losses of two iterations of two epochs:", np.round(tiny["loss"], 2))
