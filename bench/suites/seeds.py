"""Trainings of many seeds in one program, and one after the other."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "env_steps/s"

SUITE = Suite(
    name="seeds",
    title="seeds as a dimension, A2C on CartPole",
    text=(
        "Advantage actor-critic, 16 steps of every game per update, the network and the optimizer\n"
        "included. Seeds are a dimension of one program, without hints; beside it the program of\n"
        "one seed runs as often as there are seeds."
    ),
    cases=tuple(
        Case(
            "a2c",
            {"seeds": seeds, "games": games},
            UNIT,
            (
                Entry("ostinato", "bench.ours.extents:seeds"),
                Entry("one by one", "bench.ours.extents:one_by_one"),
            ),
        )
        for games in (4, 16, 64)
        for seeds in (1, 4, 16)
    ),
    targets=(Target("one by one", 0.95, 1.5, UNIT),),
)
