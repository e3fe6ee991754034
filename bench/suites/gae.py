"""Generalized advantage estimation alone."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "steps/s"

ENTRIES = (
    Entry("ostinato", "bench.ours.gae:sampler"),
    Entry("jax", "bench.peers.in_jax.gae:scanned", "jax", "scan"),
    Entry("jax", "bench.peers.in_jax.gae:unrolled", "jax", "scan, unrolled by 16"),
    Entry("jax", "bench.peers.in_jax.gae:associated", "jax", "associative scan"),
)

SUITE = Suite(
    name="gae",
    title="generalized advantage estimation alone",
    text=(
        "From the plain definition, a discounted sum over all later steps, written as such in\n"
        "ostinato; the peers write the recurrence out. A call takes arrays of rewards and values,\n"
        "time first, and returns the advantages; JAX's arrays are on its device before."
    ),
    cases=tuple(
        Case("gae", {"envs": 512, "steps": n}, UNIT, ENTRIES) for n in (128, 512, 1024, 4096)
    ),
    targets=(Target("jax", 1.2, 2.0, UNIT),),
)
