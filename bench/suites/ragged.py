"""REINFORCE on episodes of ragged length."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "env_steps/s"
UPDATES = 20

ENTRIES = (
    Entry("ostinato", "bench.ours.ragged:sampler"),
    Entry("jax", "bench.peers.in_jax.ragged:masked", "jax", "masked"),
    Entry("jax", "bench.peers.in_jax.ragged:ending", "jax", "early exit"),
)

SUITE = Suite(
    name="ragged",
    title="REINFORCE on episodes of ragged length",
    text=(
        f"The first {UPDATES} updates from a fresh policy, another seed every time. *env_steps/s*\n"
        "counts useful steps only, those before an episode's end (cut after 500 steps). JAX\n"
        "computes all steps with masks, or ends its loops with the longest episode and takes the\n"
        "gradient in chunks of 20 steps."
    ),
    cases=tuple(
        Case("reinforce_ragged", {"episodes": n, "steps": t, "updates": UPDATES}, UNIT, ENTRIES)
        for n, t in ((64, 500), (512, 1000))
    ),
    targets=(Target("jax", 4.0, 10.0, UNIT),),
)
