"""Gradients through recurrences, decoding, and learning from images, in a part of the memory."""

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


OURS_OF_IMAGES = "bench.ours.large_observation:ppo"
JAX_OF_IMAGES = "bench.peers.in_jax.large_observation:ppo"

LARGE_OBSERVATION = Case(
    "ppo_large_observation",
    {"side": 64, "hidden": 32, "envs": 64, "steps": 256, "epochs": 1},
    "env_steps/s",
    (
        Entry("ostinato", OURS_OF_IMAGES, "", "limit", {"limit_mib": 256}),
        Entry("ostinato", OURS_OF_IMAGES),
        Entry("ostinato", OURS_OF_IMAGES, "", "16 bits", {"storage": "bfloat16"}),
        *(
            Entry("jax", JAX_OF_IMAGES, "jax", form, {"form": form})
            for form in ("plain", "by minibatch")
        ),
    ),
)
DECODE = Case(
    "decode",
    {"layers": 4, "batch": 4, "steps": 1024},
    "tokens/s",
    (
        Entry("ostinato", "bench.ours.memory:decode"),
        Entry("ostinato", "bench.ours.memory:decode", "", "limit", {"limit_mib": 10}),
        Entry("jax", "bench.peers.in_jax.memory:decode", "jax"),
    ),
)
SPILLED = Case(
    "spilled_history",
    {"width": 32, "batch": 16, "steps": 20_000},
    UNIT,
    tuple(
        Entry("ostinato", "bench.ours.memory:history", "", form, {"percent": percent, **more})
        for form, percent, more in (
            ("", 100, {}),
            ("file", 25, {}),
            ("file, cache dropped", 25, {"cache": "dropped"}),
        )
    ),
)

SUITE = Suite(
    name="memory",
    title="gradients of a GRU, a decoder, PPO and REINFORCE on images, in little memory",
    text=(
        "Steps of sequences in a second, and the bytes of the arena, where `memory_limit` leaves\n"
        "a part of what the program takes without a limit. *again* is how often a step is\n"
        "computed again, *again_at_least* how often any scheme would that keeps as many states\n"
        "(Griewank and Walther): 0 where single values are computed again, or nothing.\n"
        "A hundredth of what 1,000 steps take is 10 of them. Half of that are weights and their\n"
        "gradients, the other half has no room for the steps in work: a fiftieth is the least.\n"
        "Images come from a Python function and cannot be computed again: returns of one step\n"
        "need those of a step, where gradients are added up while the game runs, and returns of\n"
        "eight those of eight, where a limit makes them late; JAX's programs\n"
        "store all, with and without `jax.checkpoint` around a step of the loss, or are written\n"
        "so that they add up gradients. Its peak is XLA's own account. PPO on images draws them\n"
        "itself: JAX copies the rows of all minibatches of an epoch, as in the suite `ppo`, or of\n"
        "one at a time. A limit of 256 MiB makes ostinato draw images again where they are read,\n"
        "*16 bits* keeps them in bfloat16: JAX's program could do either by hand. The decoder's\n"
        "keys and values take 16 MiB, and 10 are the limit: they lie in a file, and each step\n"
        "reads all of them. A history of *over_limit* times the limit lies in a file that stays\n"
        "in the system's cache, or is dropped from it when it leaves memory."
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
        for steps, least in ((1_000, 2), (10_000, 1), (100_000, 1))
        for percent in (100, 25, 20, 5, least)
    )
    + (
        images("monte_carlo", 0, "plain", "checkpoint"),
        images("8_step", 8, "plain", limit_mib=128),
        images("1_step", 1, "one step", "plain"),
        LARGE_OBSERVATION,
        DECODE,
        SPILLED,
    ),
    within=("limit_mib", "storage", "form"),
    targets=(
        *(
            Target("", 1.1, 1.05, "again", {"steps": 100_000, "percent": percent})
            for percent in (5, 1)
        ),
        Target("jax", 1.0, 2.0, "peak_bytes", {}, LARGE_OBSERVATION.program),
        Target("jax", 1.0, 2.0, "peak_bytes", {}, DECODE.program),
    ),
)
