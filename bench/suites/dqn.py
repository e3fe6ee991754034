"""DQN on CartPole, one game: a step and an update after the other."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "env_steps/s"

SUITE = Suite(
    name="dqn",
    title="DQN on CartPole, one game",
    text=(
        "Double DQN: a step of one game, then an update of an MLP from a batch of the last 10,000\n"
        "steps, again and again. *jax* is one compiled program, with everything in one loop;\n"
        "*torch* a script in CleanRL's style, with Gymnasium's game and updates in eager mode.\n"
        "The network has two hidden layers; CleanRL's own has 120 and 84 units, at 128 rows.\n"
        "*return* is the mean length of a game in the last fifth of a training."
    ),
    cases=(
        *(
            Case(
                "dqn",
                {"batch": batch, "hidden": hidden, "second": second},
                UNIT,
                (
                    Entry("ostinato", "bench.ours.off_policy:dqn"),
                    Entry("jax", "bench.peers.in_jax.dqn:sampler", "jax"),
                    Entry("torch", "bench.peers.in_torch.off_policy:dqn", "torch"),
                ),
            )
            for batch, hidden, second in ((128, 64, 64), (128, 120, 84), (256, 256, 256))
        ),
        Case(
            "dqn_learning",
            {"batch": 128, "hidden": 64, "second": 64, "steps": 30_000},
            "return",
            (
                Entry("ostinato", "bench.ours.off_policy:dqn_learning"),
                Entry("jax", "bench.peers.in_jax.dqn:learning", "jax"),
                Entry("torch", "bench.peers.in_torch.off_policy:dqn_learning", "torch"),
            ),
            warm_up=False,
        ),
    ),
    targets=(Target("jax", 1.5, 2.0, UNIT), Target("torch", 5.0, 10.0, UNIT)),
)
