"""What `ot.stop` says, where it holds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import DomainError, DtypeError, EquationError, ShapeError
from tests.errors.refusal import here, refusal
from tests.ragged.episodes import PATTERNS, draws, episodes, lengths, padded, spoiled


def episode() -> tuple[ot.Dimension, ot.Dimension, ot.Tensor]:
    b, t = ot.dims("b t")
    return b, t, ot.input("x", over=(b, t))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_outputs_are_padded_and_lengths_stand_beside_them(pattern: str) -> None:
    done = PATTERNS[pattern]
    b, t, x = episode()
    ends = ot.input("ends", dtype="bool", over=(b, t))
    ot.stop(t, when=ends)
    program = ot.Program(x=x, row=x[b, :], n=ot.length(t), alive=ot.alive(t))
    values = draws(done)
    arguments = {"ends": done, "x": spoiled(values, done)}
    for found in (program.interpret(**arguments), program.compile(threads=2)(**arguments)):
        expected = padded(episodes(values, done), done.shape[1])
        np.testing.assert_array_equal(found["x"], expected)
        np.testing.assert_array_equal(found["row"], expected)
        assert found["n"].tolist() == lengths(done) == found["alive"].sum(1).tolist()
        assert found.lengths["x"].tolist() == found.lengths["row"].tolist() == lengths(done)
        assert set(found) == {"x", "row", "n", "alive"} == set(program.outputs)


def test_the_number_of_threads_changes_no_bit() -> None:
    b, t, x = episode()
    ot.stop(t, when=ot.random.uniform(over=(b, t)) > 0.9)
    mean = ot.sin(x)[:, :].mean()
    program = ot.Program(mean=mean, g=ot.discounted_sum(x[b, t:], 0.9))
    values = np.random.default_rng(0).normal(size=(200, 30))
    one, two = (program.compile(threads=n)(x=values) for n in (1, 2))
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_a_condition_on_the_point_ends_every_episode_alike() -> None:
    b, t, x = episode()
    ot.stop(t, when=t >= 2)
    found = ot.Program(total=x[b, :].sum(), n=ot.length(t)).interpret(x=np.ones((2, 5)))
    assert found["total"].tolist() == [3, 3] and found["n"] == 3


def test_a_read_beyond_the_end_is_zero() -> None:
    b, t, x = episode()
    ot.stop(t, when=x < 0)
    G = ot.recurrent("G", over=(b, t))
    G[b, -1] = x[b, -1]
    G[b, t] = x + G[b, t + 1]
    program = ot.Program(G=G, fifth=x[b, 4], last=x.at(t=ot.length(t) - 1), back=x[b, t // 2])
    found = program.interpret(x=[[1, 2, -4, 7, 7], [1, 1, 1, 1, 1]])
    assert found["G"].tolist() == [[-1, -2, -4, 0, 0], [5, 4, 3, 2, 1]]
    assert found["fifth"].tolist() == [0, 1] and found["last"].tolist() == [-4, 1]
    assert found["back"].tolist() == [[1, 1, 2, 0, 0], [1, 1, 1, 1, 1]]


def test_tensors_without_the_outer_dimensions_have_no_end() -> None:
    b, t, x = episode()
    table = ot.input("table", over=t)
    ot.stop(t, when=x < 0)
    program = ot.Program(plain=table[:].sum(), joined=(table[:] * x[b, :]).sum())
    found = program.interpret(x=[[1, -1, np.nan]], table=[1, 2, 3])
    assert found["plain"] == 6 and found["joined"].tolist() == [-1]


def test_two_dimensions_end_one_inside_the_other() -> None:
    b, t, s = ot.dims("b t s")
    x = ot.input("x", over=(b, t, s))
    ot.stop(t, when=x[b, t, 0] > 8)
    ot.stop(s, when=x > 4)
    data = np.array(
        [[[1, 5, 9], [9, 0, 0], [1, 1, 1]], [[0, 1, 2], [3, 4, 9], [2, 2, 5]]], "float32"
    )
    rows = [[[1, 5], [9]], [[0, 1, 2], [3, 4, 9], [2, 2, 5]]]
    whole = x[b, :, :]
    means, inner = whole.mean(1).mean(), x[b, t, :].sum()
    program = ot.Program(total=whole.sum(), means=means, inner=inner, all=x[:, :, :].mean())
    found = program.interpret(x=data)
    flat = [np.concatenate(row) for row in rows]
    assert found["total"].tolist() == [row.sum() for row in flat]
    expected = [np.mean([np.mean(part) for part in row]) for row in rows]
    np.testing.assert_allclose(found["means"], expected, 1e-6)
    assert found["inner"].tolist() == [[6, 9, 0], [3, 16, 9]]
    np.testing.assert_allclose(found["all"], np.concatenate(flat).mean(), 1e-6)
    assert found.lengths["inner"].tolist() == [2, 3]


def test_records_and_parts_keep_the_mask() -> None:
    b, t = ot.dims("b t")
    pair = ot.input("pair", shape=(2,), over=(b, t))
    first, second = ot.unstack(pair)
    ot.stop(t, when=first < 0)
    record = ot.Record(first=first, second=second)[b, :]
    swapped = ot.where(
        record.first > 1, record, ot.Record(first=record.second, second=record.first)
    )
    columns = ot.unstack(pair[b, :], axis=1)
    program = ot.Program(
        a=swapped.first.sum(), b=columns[1].sum(), c=pair[b, :].T[..., 0, :].mean()
    )
    found = program.interpret(pair=[[[2, 10], [1, 20], [-1, 30], [np.nan, np.inf]]])
    assert [found[k].tolist() for k in "ab"] == [[2 + 20 + 30], [60]]
    np.testing.assert_allclose(found["c"], [2 / 3], 1e-6)


def test_records_of_a_stream_have_lengths() -> None:
    b, i, t = ot.dims("b i t")
    x = ot.random.uniform(over=(b, i, t))
    ot.stop(t, when=x > 0.5)
    program = ot.Program(x=x)
    whole = program.interpret(B=3, I=2, T=4)
    with program.compile().stream("b", B=3, I=2, T=4) as records:
        found = [(record.x, record.lengths["x"]) for record in records]
    for k, (values, counts) in enumerate(found):
        np.testing.assert_allclose(values, whole["x"][k], 1e-6)
        np.testing.assert_array_equal(counts, whole.lengths["x"][k])


def test_a_condition_is_a_boolean_scalar_over_the_dimension() -> None:
    b, t, x = episode()
    said = refusal(DtypeError, lambda: ot.stop(t, when=x))
    where = here(-1)
    fact = f"{where}: `t` stops when `x` is true, but that is float32\n"
    assert said == fact + "  Compare it: ot.stop(t, when=x > 0)."
    said = refusal(ShapeError, lambda: ot.stop(t, when=x[b, : t + 1] > 0))
    assert "is true, which is no scalar\n  Reduce it with `.any()` or `.all()`." in said
    said = refusal(DomainError, lambda: ot.stop(t, when=x[b, 0] > 0))
    assert "which is over `b`\n  Give a condition that depends on `t`." in said


def test_a_dimension_ends_once() -> None:
    _, t, x = episode()
    ot.stop(t, when=x > 0)
    first = here(-1)
    said = refusal(EquationError, lambda: ot.stop(t, when=x < 0))
    fact = f"{here(-1)}: `t` is stopped twice, first at {first}\n"
    assert said == fact + "  Join the conditions with `|` in one ot.stop."


def test_later_steps_are_not_read_before_the_end_is_known() -> None:
    b, t, x = episode()
    early = x[b, t:].sum(0)
    there = here(-1)
    said = refusal(EquationError, lambda: ot.stop(t, when=x > 0))
    fact = f"{here(-1)}: later steps of `x` are read at {there}, before `t` is stopped\n"
    assert said == fact + "  Write ot.stop before that line."
    assert early.over


def test_steps_up_to_the_current_one_may_be_read_before() -> None:
    b, t, x = episode()
    seen_so_far = x[b, : t + 1].max(0)
    ot.stop(t, when=seen_so_far > 5)
    found = ot.Program(total=x[b, :].sum()).interpret(x=[[1, 6, 7]])
    assert found["total"].tolist() == [7]


def test_what_takes_no_ragged_steps_says_so() -> None:
    b, t, x = episode()
    ot.stop(t, when=x < 0)
    said = refusal(ShapeError, lambda: ot.sort(x[b, :]))
    fact = f"{here(-1)}: `sort` does not take the ragged steps of `x`\n"
    remedy = "  Give the steps beyond the end a value: x.filled(0.0); or fold them first."
    assert said == fact + remedy
    found = ot.Program(y=ot.sort(x[b, :].filled(9.0))).interpret(x=[[3, 1, -2, 5]])
    assert found["y"].tolist() == [[-2, 1, 3, 9]]
    row = ot.recurrent("row", shape=(t.size,), over=b)
    with pytest.raises(ShapeError, match="an equation does not take the ragged steps of `x`"):
        row[b] = x[b, :]


def test_an_end_that_does_not_exist_has_no_length() -> None:
    _, t, _ = episode()
    said = refusal(EquationError, lambda: ot.length(t))
    fact = f"{here(-1)}: `t` has no end but its extent\n"
    assert said == fact + "  Write ot.stop(t, when=...) before."
