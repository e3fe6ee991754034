"""Batches of a few rows, without hints and with them."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "points/s"
STEPS = {"generation": 256, "states": 256, "games": 16}

SUITE = Suite(
    name="small",
    title="batches of a few rows, without hints",
    text=(
        "A decoder that attends to all steps before, gated units, and A2C on CartPole. A point is\n"
        "one step of one row. Programs know their batch when they are called; beside them those\n"
        "to which it was given as a hint."
    ),
    cases=tuple(
        Case(
            "small",
            {"program": program, "batch": batch, "steps": steps},
            UNIT,
            (
                Entry("ostinato", "bench.ours.extents:small"),
                Entry("hinted", "bench.ours.extents:small", size={"hinted": 1}),
            ),
        )
        for program, steps in STEPS.items()
        for batch in (1, 3, 8, 16)
    ),
    targets=(Target("hinted", 0.95, 1.0, UNIT),),
)
