"""PPO on one and on two threads."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "env_steps/s"

SUITE = Suite(
    name="scaling",
    title="from one thread to two, PPO on CartPole",
    text=(
        "The programs of the suite `ppo`. The ratios are those of ostinato on two threads to all\n"
        "others, itself on one thread included."
    ),
    cases=(
        Case(
            "ppo_cartpole",
            {"envs": 512, "steps": 128},
            UNIT,
            (
                Entry("ostinato", "bench.ours.compiled:ppo", size={"threads": 2}),
                Entry("ostinato", "bench.ours.compiled:ppo", size={"threads": 1}),
                Entry("handwritten", "bench.handwritten.ppo:sampler", size={"threads": 2}),
                Entry("handwritten", "bench.handwritten.ppo:sampler", size={"threads": 1}),
            ),
        ),
    ),
    targets=(Target("ostinato", 1.85, 1.95, UNIT),),
    within=("threads",),
)
