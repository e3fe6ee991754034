"""Do the programs of the suite `ppo` learn alike? Their returns, side by side."""

from bench.harness.suite import Case, Entry, Suite

SUITE = Suite(
    name="learning",
    title="what PPO on CartPole has learnt",
    text=(
        "The programs of the suite `ppo` train, every time with another seed. *return* is the\n"
        "mean length of the games that ended in the last fifth of the updates, at most 500. The\n"
        "ranges should overlap: no program may be fast because it learns less. Programs differ in\n"
        "initial weights, and SB3's in what a game is worth that is cut after 500 steps."
    ),
    cases=(
        Case(
            "ppo_cartpole",
            {"envs": 16, "steps": 128, "updates": 100},
            "return",
            (
                Entry("ostinato", "bench.ours.compiled:ppo_learning"),
                Entry("handwritten", "bench.handwritten.ppo:learning"),
                Entry("jax", "bench.peers.in_jax.ppo:learning", "jax"),
                Entry("jax_tuned", "bench.peers.in_jax.ppo_tuned:learning", "jax"),
                Entry("cleanrl", "bench.peers.in_torch.cleanrl:learning", "torch"),
                Entry("sb3", "bench.peers.in_torch.sb3:learning", "torch"),
            ),
            warm_up=False,
        ),
    ),
)
