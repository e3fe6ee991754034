"""Gated recurrent units through time, in training."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "points/s"

ENTRIES = (
    Entry("ostinato", "bench.ours.networks:rnn"),
    Entry("jax", "bench.peers.in_jax.networks:rnn_steps", "jax", "a call per update"),
    Entry("jax", "bench.peers.in_jax.networks:rnn_loop", "jax", "all updates in one call"),
)

SUITE = Suite(
    name="rnn",
    title="GRU and LSTM through 128 steps, forward and backward",
    text=(
        "Gradient descent on a regression of all states, through time, the update included; as\n"
        "many inputs as units. A point is one step of one sequence. JAX scans over time, with the\n"
        "products of all inputs before the scan."
    ),
    cases=tuple(
        Case("rnn", {"cell": cell, "width": w, "batch": b, "steps": 128}, UNIT, ENTRIES)
        for cell in ("gru", "lstm")
        for w in (64, 128, 256)
        for b in (64, 256)
    ),
    targets=(Target("jax", 2.0, 4.0, UNIT),),
)
