"""What it takes until PPO's first iteration is done."""

from bench.harness.suite import Case, Entry, Suite, Target

COLD, WARM = "ppo_cartpole_cold", "ppo_cartpole_warm"
SOLVED_COLD, SOLVED_WARM = "solved_cold", "solved_warm"


def entries(state: str) -> tuple[Entry, ...]:
    return (
        Entry("ostinato", f"bench.ours.start:{state}"),
        Entry("jax", f"bench.peers.in_jax.start:{state}", "jax"),
    )


SUITE = Suite(
    name="start",
    title="from an empty process to the first iteration of PPO",
    text=(
        "Every sample is a fresh process: *cold* with an empty cache, *warm* with what a process\n"
        "before it has compiled and run at these sizes (JAX: its persistent compilation cache).\n"
        "*start* runs from before the import to the end of the first iteration; *trace* is making\n"
        "the program, in JAX the initial parameters; *compile* is the rest up to machine code.\n"
        "Peak is resident memory. *solved* is `ostinato run examples/ppo_cartpole.py` until it\n"
        "says that the last 100 games lasted 475 steps; the *command* ends with a picture."
    ),
    cases=(
        *(
            Case(program, {"envs": 64, "steps": 128}, "start_s", entries(state), state == "warm")
            for program, state in ((COLD, "cold"), (WARM, "warm"))
        ),
        *(
            Case(
                program,
                {"envs": 8, "steps": 128},
                "solved_s",
                (Entry("ostinato", f"bench.ours.start:{program}"),),
                program == SOLVED_WARM,
            )
            for program in (SOLVED_COLD, SOLVED_WARM)
        ),
    ),
    targets=(
        Target("", 4.0, 2.5, "compile_s", program=COLD),
        Target("jax", 1.0, 1.5, "compile_s", program=COLD),
        Target("", 0.6, 0.4, "start_s", program=WARM),
        Target("", 3.0, 2.5, "solved_s", program=SOLVED_COLD),
        Target("", 1.0, 0.75, "solved_s", program=SOLVED_WARM),
    ),
)
