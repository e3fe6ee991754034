"""The gradient through a recurrence in a part of its usual memory."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "steps/s"

OURS, JAX = "bench.ours.outside:reinforce", "bench.peers.in_jax.outside:reinforce"


def images(name: str, lookahead: int, *forms: str, limit_mib: int = 0) -> Case:
    """REINFORCE on images of 64 by 64 from a Python function, by returns of so many steps."""
    limits = (Entry("ostinato", OURS, "", "limit", {"limit_mib": limit_mib}),) if limit_mib else ()
    peers = (Entry("jax", JAX, "jax", form, {"form": form}) for form in forms)
    size = {"pixels": 3 * 64 * 64, "hidden": 64, "episodes": 64, "steps": 1000}
    return Case(
        f"reinforce_{name}",
        {**size, "lookahead": lookahead},
        "env_steps/s",
        (Entry("ostinato", OURS), *limits, *peers),
    )


SUITE = Suite(
    name="memory",
    title="the gradient of a GRU, and REINFORCE on images, in little memory",
    text=(
        "Steps of sequences in a second, and the bytes of the arena, where `memory_limit` leaves\n"
        "a part of what the program takes without a limit. *again* is how often a step is\n"
        "computed again, *again_at_least* how often any scheme would that keeps as many states\n"
        "(Griewank and Walther): 0 where single values are computed again, or nothing.\n"
        "Images come from a Python function and cannot be computed again: returns of one step\n"
        "need those of a step, where gradients are added up while the game runs, and returns of\n"
        "eight those of eight, where a limit makes them late; JAX's programs\n"
        "store all, with and without `jax.checkpoint` around a step of the loss, or are written\n"
        "so that they add up gradients. Its peak is XLA's own account."
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
    )
    + (
        images("monte_carlo", 0, "plain", "checkpoint"),
        images("8_step", 8, "plain", limit_mib=128),
        images("1_step", 1, "one step", "plain"),
    ),
    targets=tuple(
        Target("", 1.1, 1.05, "again", {"steps": 100_000, "percent": percent}) for percent in (5, 1)
    ),
)
