"""Simulators alone."""

from bench.harness.suite import Case, Entry, Suite, Target

UNIT = "env_steps/s"
PEERS = ("gymnax", "gymnasium", "envpool")


def entries(function: str) -> tuple[Entry, ...]:
    peers = (Entry(p, f"bench.peers.in_{p}.simulators:{function}", p) for p in PEERS)
    return (Entry("ostinato", f"bench.ours.simulators:{function}"), *peers)


PROGRAMS = {"cartpole": entries("cartpole"), "pendulum": entries("pendulums")}

SUITE = Suite(
    name="simulators",
    title="simulators alone, random actions",
    text=(
        "Environments that start again when they end, 1000 steps. ostinato and gymnax draw the\n"
        "actions and run all steps inside one program; Gymnasium and EnvPool are stepped from\n"
        "Python, as they are meant to be, with actions drawn before. Gymnasium has CartPole in\n"
        "NumPy; the environments of Pendulum it steps one after the other."
    ),
    cases=tuple(
        Case(program, {"envs": n, "steps": 1000}, UNIT, found)
        for program, found in PROGRAMS.items()
        for n in (64, 2048)
    ),
    targets=(
        Target("gymnax", 3.0, 10.0, UNIT),
        Target("gymnasium", 3.0, 6.0, UNIT),
        Target("envpool", 30.0, 100.0, UNIT),
    ),
)
