"""Perceptrons in training."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "samples/s"

ENTRIES = (
    Entry("ostinato", "bench.ours.networks:mlp"),
    Entry("jax", "bench.peers.in_jax.networks:mlp_steps", "jax", "a call per step"),
    Entry("jax", "bench.peers.in_jax.networks:mlp_loop", "jax", "all steps in one call"),
)


def cases(width: int, depths: tuple[int, ...], batches: tuple[int, ...]) -> list[Case]:
    return [
        Case("mlp", {"width": width, "depth": depth, "batch": batch}, UNIT, ENTRIES)
        for depth in depths
        for batch in batches
    ]


SUITE = Suite(
    name="mlp",
    title="perceptrons, forward and backward",
    text=(
        "Gradient descent on a regression, all rows at every step: `depth` hidden layers of\n"
        "`width` tanh units on as many inputs, one output, mean squared error; the update is\n"
        "included. A sample is a row in one step of training. The rows are a dimension in ostinato."
    ),
    cases=(
        *(c for w in (16, 32, 64) for c in cases(w, (1, 2, 4), (64, 1024, 8192, 65536))),
        *(c for w in (128, 256, 512) for c in cases(w, (2,), (1024, 8192))),
    ),
    targets=(
        *(Target("jax", 1.5, 3.0, UNIT, {"width": w}) for w in (16, 32, 64)),
        *(Target("jax", 0.9, 1.2, UNIT, {"width": w}) for w in (128, 256, 512)),
    ),
)
