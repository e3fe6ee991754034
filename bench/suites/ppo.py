"""PPO on CartPole, learning included."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "env_steps/s"

ENTRIES = (
    Entry("ostinato", "bench.ours.compiled:ppo"),
    Entry("handwritten", "bench.handwritten.ppo:sampler"),
    Entry("jax", "bench.peers.in_jax.ppo:sampler", "jax"),
    Entry("jax_tuned", "bench.peers.in_jax.ppo_tuned:sampler", "jax"),
)
# Slower by an order of magnitude: one case is enough.
TORCH = (
    Entry("sb3", "bench.peers.in_torch.sb3:sampler", "torch"),
    Entry("cleanrl", "bench.peers.in_torch.cleanrl:sampler", "torch"),
    Entry("torch", "bench.peers.in_torch.cleanrl:sampler_in_numpy", "torch"),
)

SUITE = Suite(
    name="ppo",
    title="PPO on CartPole",
    text=(
        "128 steps per iteration, 4 epochs of 4 minibatches, actor and critic MLP 64x64, clipped\n"
        "objective, entropy, norm clip, annealed Adam; environments start again when they end.\n"
        "*env_steps/s* includes learning. A game that is cut after 500 steps counts as over, but\n"
        "for SB3's program: ostinato's is the example with `cut_is_over=true`. *torch* is the\n"
        "program in CleanRL's style with its environments in NumPy arrays, *jax_tuned* the one of\n"
        "*jax* with half of the games on each core, packed rows, and an order without a sort."
    ),
    cases=tuple(
        Case("ppo_cartpole", {"envs": n, "steps": 128}, UNIT, ENTRIES + (TORCH if n == 64 else ()))
        for n in (4, 64, 512, 2048)
    ),
    targets=(
        Target("jax", 3.0, 3.5, UNIT, {"envs": 4}),
        *(Target("jax", 4.5, 5.5, UNIT, {"envs": n}) for n in (64, 512, 2048)),
        *(Target("jax_tuned", 2.0, 2.5, UNIT, {"envs": n}) for n in (64, 512, 2048)),
        *(Target(peer, 30.0, 35.0, UNIT, {"envs": 64}) for peer in ("sb3", "cleanrl")),
        Target("handwritten", 0.9, 1.0, UNIT),
    ),
)
