"""How much of one core's peak the update of PPO reaches."""

from bench.harness.suite import Case, Entry, Suite, Target

SUITE = Suite(
    name="peak",
    title="the update of PPO, as a fraction of one core's peak",
    text=(
        "The program of the suite `ppo` on one thread. The peak are multiply-adds that never\n"
        "leave their registers, timed beside every run. The update is all that serves gradient\n"
        "and optimizer, by `compiled.profile`; only what its matrix products do is counted, so\n"
        "that the loss, gathers of minibatches, tanh, norm clip and Adam take time and count as\n"
        "nothing."
    ),
    cases=(
        Case(
            "ppo_cartpole",
            {"envs": 64, "steps": 128},
            "of_peak",
            (Entry("ostinato", "bench.ours.peak:ppo", size={"iterations": 30}),),
        ),
    ),
    targets=(Target("", 0.6, 0.75, "of_peak"),),
)
