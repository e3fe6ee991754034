"""What only reads the steps of few rows: every worker takes some of the steps."""

import numpy as np

import ostinato as ot
from ostinato import nn


def judged(width: int = 256) -> ot.Program:
    """Return states, each judged by a network, and sums of the judgements that run backwards."""
    b, t = ot.dims("b t")
    critic = nn.MLP(3, [width, width], 1)
    x = ot.recurrent("x", over=(b, t), shape=(3,))
    x[b, 0] = ot.random.normal((3,), over=b)
    x[b, t + 1] = ot.sin(2.0 * x + 1.0)
    value = critic(x)[..., 0]
    kept = ot.recurrent("kept", over=(b, t))
    kept[b, -1] = value[b, -1]
    kept[b, t] = value + 0.9 * kept[b, t + 1]
    return ot.Program(kept=kept)


def test_results_are_those_of_one_worker_bit_for_bit() -> None:
    program = judged()
    runs = [program.compile(threads=n) for n in (1, 2, 3)]
    assert all("item % parts" in run.executable.artifact.source for run in runs)
    for rows in (4, 70):
        one, *others = (run(B=rows, T=40, seed=3)["kept"] for run in runs)
        np.testing.assert_allclose(one, program.interpret(B=rows, T=40, seed=3)["kept"], 1e-4, 1e-4)
        assert all(np.array_equal(one, other) for other in others)
