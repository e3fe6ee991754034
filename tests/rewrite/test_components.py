"""Which dimensions carry a recurrence, and in which direction."""

from __future__ import annotations

import pytest

import ostinato as ot
from ostinato.rewrite.load.components import chains
from ostinato.rewrite.load.dependence import reaches


def carried(program: ot.Program) -> dict[str, list[tuple[str, int]]]:
    """Dimension and direction of the last case of every recurrence."""
    found = chains(program.pdg, reaches(program.pdg))
    return {name: [(c.dim.name, c.sign) for c in chain] for (name, _), chain in found.items()}


def test_a_step_in_time_is_carried_forwards() -> None:
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b, 0] = 1.0
    x[b, t + 1] = x * 2
    assert carried(ot.Program(x=x)) == {"x": [("t", 1)]}


def test_a_return_is_carried_backwards() -> None:
    t = ot.dims("t")
    g = ot.recurrent("g", over=t)
    g[t.size - 1] = 1.0
    g[t - 1] = g[t] * 2
    assert carried(ot.Program(g=g)) == {"g": [("t", -1)]}


def test_a_halved_index_is_an_earlier_one_where_it_is_read() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[0] = 1.0
    x[t >= 1] = x[t // 2] + 1
    assert carried(ot.Program(x=x)) == {"x": [("t", 1)]}


def test_parameters_carry_episodes_only_along_iterations() -> None:
    i, t = ot.dims("i t")
    w = ot.recurrent("w", over=i)
    s = ot.recurrent("s", over=(i, t))
    s[i, 0] = 1.0
    s[i, t + 1] = s * w
    w[0] = 0.5
    w[i + 1] = w + s[i, :].mean()
    assert carried(ot.Program(w=w)) == {"s": [("i", 1), ("t", 1)], "w": [("i", 1)]}


@pytest.mark.parametrize("reads", [3, 65, 90])
def test_a_step_that_reads_many_earlier_ones_is_carried_forwards(reads: int) -> None:
    i, t = ot.dims("i t")
    x = ot.recurrent("x", over=(i, t))
    x[t < reads] = 1.0
    x[i, t] = sum(x[i, t - k] * k for k in range(1, reads + 1))
    assert carried(ot.Program(x=x)) == {"x": [("t", 1)]}


def test_returns_of_many_steps_leave_learning_its_order() -> None:
    i, t = ot.dims("i t")
    w, s = ot.recurrent("w", over=i), ot.recurrent("s", over=(i, t))
    s[i, 0] = 1.0
    s[i, t + 1] = s * w
    found: ot.Tensor = s
    for _ in range(70):
        found = s + 0.5 * ot.where(t == t.size - 1, s, found.at(t=t + 1))
    w[0] = 0.5
    w[i + 1] = w + found[i, :].mean()
    assert carried(ot.Program(w=w)) == {"s": [("i", 1), ("t", 1)], "w": [("i", 1)]}


def test_an_episode_comes_between_the_first_and_the_later_epochs() -> None:
    i, e, t = ot.dims("i e t")
    w = ot.recurrent("w", over=(i, e))
    s = ot.recurrent("s", over=(i, t))
    s[i, 0] = 1.0
    s[i, t + 1] = s * w[i, 0]
    w[0, 0] = 0.5
    w[i + 1, 0] = w[i, e.size - 1]
    w[i, e + 1] = w + s[i, :].mean()
    found = carried(ot.Program(w=w))
    assert found == {"w": [("i", 1), ("e", 1)], "s": [("i", 1), ("t", 1)]}
