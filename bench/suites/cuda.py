"""Programs on a GPU, beside JAX on the same one."""

from bench.harness.suite import Case, Entry, Size, Suite, Target

UNIT = "env_steps/s"


def entries(ours: str, theirs: str, fewer: int = 0) -> tuple[Entry, ...]:
    """Ours on the device, and JAX's program as it comes and with loops as command buffers.

    JAX runs ``fewer`` steps, if that is said.
    """
    first = Entry("ostinato", f"bench.ours.{ours}", given={"target": "cuda"})
    forms: dict[str, Size] = {
        form: {"module": theirs, "command_buffers": k, "fewer_steps": fewer}
        for k, form in enumerate(("as it comes", "command buffers"))
    }
    factory = "bench.peers.in_jax.on_cuda:sampler"
    peer = "jax_on_cuda"
    return (first, *(Entry("jax", factory, peer, form, given=of) for form, of in forms.items()))


PPO = entries("compiled:ppo", "ppo:sampler")
REINFORCE = entries("compiled:reinforce", "reinforce:scanned")
GAMES = entries("simulators:cartpole", "simulators:cartpole")

SUITE = Suite(
    name="cuda",
    title="programs on a GPU",
    text=(
        "The programs of the suites `ppo`, `reinforce` and `simulators`, and a logistic map of\n"
        'one number, compiled with `target="cuda"`. *jax* runs on the same GPU, as it comes and\n'
        "with `--xla_gpu_enable_command_buffer=+WHILE`; the better one counts. Of the map it runs\n"
        "100,000 steps, which take long enough. Ours are *equivalent* to the plain form: floats\n"
        "within rounding, integers and draws with their bits."
    ),
    cases=(
        *(
            Case("ppo_cartpole", {"envs": n, "steps": 128}, UNIT, PPO)
            for n in (4, 64, 512, 2048, 65536)
        ),
        Case("reinforce_cartpole", {"episodes": 512, "steps": 1000}, UNIT, REINFORCE),
        *(Case("cartpole", {"envs": n, "steps": 1000}, UNIT, GAMES) for n in (4096, 65536)),
        Case(
            "logistic",
            {"steps": 10_000_000},
            "steps/s",
            entries("recurrences:logistic", "recurrences:logistic", fewer=100_000),
        ),
    ),
    targets=(
        *(Target("jax", 10.0, 20.0, UNIT, {"envs": n}, "ppo_cartpole") for n in (4, 64, 512, 2048)),
        Target("jax", 2.0, 4.0, UNIT, {"envs": 65536}, "ppo_cartpole"),
        Target("jax", 10.0, 20.0, UNIT, program="reinforce_cartpole"),
        Target("jax", 500.0, 1000.0, "steps/s", program="logistic"),
    ),
    budget_s=1200.0,
)
