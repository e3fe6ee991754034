"""REINFORCE on CartPole: every episode computes all its steps, learning included."""

from bench.harness.suite import Case, Entry, Suite, Target

SIZES = (64, 512)
UNIT = "env_steps/s"

ENTRIES = (
    Entry("ostinato", "bench.ours.compiled:reinforce"),
    Entry("handwritten", "bench.handwritten.reinforce:sampler"),
    Entry("jax", "bench.peers.in_jax.reinforce:scanned", "jax", "scan"),
    Entry("jax", "bench.peers.in_jax.reinforce:unrolled", "jax", "scan, unrolled by 8"),
    Entry("numpy", "bench.peers.in_numpy.reinforce:sampler"),
)

SUITE = Suite(
    name="reinforce",
    title="REINFORCE on CartPole, all steps computed",
    text=(
        "Episodes of 500 steps, MLP 64x64, discounted returns, backward pass and Adam included.\n"
        "*env_steps/s* counts every computed step; steps after an episode's end are computed and\n"
        "masked by all programs, so it is work done and not useful experience (suite `ragged`)."
    ),
    cases=tuple(
        Case("reinforce_cartpole", {"episodes": n, "steps": 500}, UNIT, ENTRIES) for n in SIZES
    ),
    targets=(
        Target("jax", 4.0, 6.0, UNIT),
        Target("handwritten", 0.9, 1.0, UNIT),
    ),
)
