"""The gradient through a recurrence in a part of its usual memory."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "steps/s"

SUITE = Suite(
    name="memory",
    title="the gradient of a GRU in a part of its usual memory",
    text=(
        "Steps of sequences in a second, and the bytes of the arena, where `memory_limit` leaves\n"
        "a part of what the program takes without a limit. *again* is how often a step is\n"
        "computed again, *again_at_least* how often any scheme would that keeps as many states\n"
        "(Griewank and Walther): 0 where single values are computed again, or nothing."
    ),
    cases=tuple(
        Case(
            "gru_gradient",
            {"width": 32, "batch": 16, "steps": steps, "percent": percent},
            UNIT,
            (
                Entry("ostinato", "bench.ours.memory:gradient"),
                *(
                    (Entry("ostinato", "bench.ours.memory:gradient", "", "file", {"spill": 1}),)
                    if percent == 25
                    else ()
                ),
            ),
        )
        for steps in (1_000, 10_000, 100_000)
        for percent in (100, 25, 20, 5, 1)
    ),
    targets=tuple(
        Target("", 1.1, 1.05, "again", {"steps": 100_000, "percent": percent}) for percent in (5, 1)
    ),
)
