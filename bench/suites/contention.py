"""PPO and REINFORCE beside busy neighbours."""

from bench.harness.suite import Beside, Case, Entry, Suite, Target

UNIT, KEPT = "env_steps/s", "kept"

BESIDE = (
    Beside(0),
    *(Beside(count, own_sessions=own) for count in (1, 2, 4, 8) for own in (True, False)),
)


def entries(ours: str, jax: str) -> tuple[Entry, ...]:
    return (
        Entry("ostinato", ours, size={"threads": 2}),
        Entry("ostinato", ours, size={"threads": 1}),
        Entry("jax", jax, "jax"),
    )


PPO = entries("bench.ours.compiled:ppo", "bench.peers.in_jax.ppo:sampler")
REINFORCE = entries("bench.ours.compiled:reinforce", "bench.peers.in_jax.reinforce:unrolled")

SUITE = Suite(
    name="contention",
    title="PPO and REINFORCE on CartPole beside busy neighbours",
    text=(
        "The programs of the suites `ppo` and `reinforce` beside processes that compute all the\n"
        "time: each in a session of its own (`setsid`), as another user's are, or in that of the\n"
        "benchmark. *env_steps/s* is the worst of the rounds. *kept* is that part of a program's\n"
        "worst without neighbours which it keeps beside them: ostinato on two threads should keep\n"
        "as much as JAX, and be no slower than 1.2 times ostinato on one thread. *cores* is how\n"
        "many processors the system gave a program (median): one that uses less than two when it\n"
        "is alone has less to lose."
    ),
    cases=(
        *(
            Case("ppo_cartpole", {"envs": n, "steps": 128}, UNIT, PPO, beside=BESIDE)
            for n in (8, 64, 512)
        ),
        Case("reinforce_cartpole", {"episodes": 64, "steps": 500}, UNIT, REINFORCE, beside=BESIDE),
    ),
    targets=(
        Target("ostinato", 1 / 1.2, 1.0, UNIT),
        Target("jax", 1.0, 1.2, KEPT),
    ),
    within=("threads",),
    budget_s=800.0,
)
