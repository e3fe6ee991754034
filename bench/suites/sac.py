"""SAC on Pendulum, one game: a step and an update after the other."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "env_steps/s"

SUITE = Suite(
    name="sac",
    title="SAC on Pendulum, one game",
    text=(
        "Soft actor-critic with two critics and a learnt temperature: a step of one game, then an\n"
        "update from a batch of the last 20,000 steps. *jax* is one program, all in one loop;\n"
        "*torch* a script in CleanRL's style, with Gymnasium's game and updates in eager mode.\n"
        "*return* is the mean return of a game in the last fifth of a training."
    ),
    cases=(
        *(
            Case(
                "sac",
                {"batch": batch, "hidden": hidden},
                UNIT,
                (
                    Entry("ostinato", "bench.ours.off_policy:sac"),
                    Entry("jax", "bench.peers.in_jax.sac:sampler", "jax"),
                    Entry("torch", "bench.peers.in_torch.off_policy:sac", "torch"),
                ),
            )
            for batch, hidden in ((128, 64), (256, 256))
        ),
        Case(
            "sac_learning",
            {"batch": 128, "hidden": 64, "steps": 12_000},
            "return",
            (
                Entry("ostinato", "bench.ours.off_policy:sac_learning"),
                Entry("jax", "bench.peers.in_jax.sac:learning", "jax"),
                Entry("torch", "bench.peers.in_torch.off_policy:sac_learning", "torch"),
            ),
            warm_up=False,
        ),
    ),
    targets=(Target("jax", 1.5, 2.0, UNIT), Target("torch", 5.0, 10.0, UNIT)),
)
