"""Dimensions whose extents are made of others."""

import numpy as np
import pytest

import ostinato as ot

b, t = ot.dims("b t")


def both(program: ot.Program, **arguments: object) -> dict[str, object]:
    """Return the results, which machine code and the interpreter agree on."""
    expected = program.interpret(**arguments)
    found = program.compile(threads=1)(**arguments)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, err_msg=name)
    return {name: value.tolist() for name, value in expected.items()}


def test_a_quotient_of_an_extent() -> None:
    m = ot.dim("m", size=t.size // 2)
    x = ot.input("x", over=t)
    program = ot.Program(sums=x[2 * m] + x[2 * m + 1])
    assert program.extents == ("T",)
    assert both(program, x=[1, 2, 3, 4, 5]) == {"sums": [3.0, 7.0]}


def test_a_definition_is_shown_in_place_of_a_name() -> None:
    n = ot.dim("n", size=2 * t.size - 1)
    assert str(n.size) == "2*T-1"
    assert str(ot.Program(total=ot.index(n)[:].sum(0))).endswith("\nN = 2*T-1")


def test_a_product_of_extents_and_rows_of_a_reshaped_history() -> None:
    n = ot.dim("n", size=b.size * t.size)
    flat = ot.input("flat", over=n)
    folded = flat[:].reshape(b.size, t.size).sum(1)
    x = ot.input("x", over=(b, t))
    joined = (x[:, :].reshape(n.size) + flat[:]).sum(0)
    arguments = {"flat": [0, 1, 2, 3, 4, 5], "B": 2, "T": 3, "x": np.ones((2, 3))}
    found = both(ot.Program(folded=folded, joined=joined), **arguments)
    assert found == {"folded": [3.0, 12.0], "joined": 21.0}


def test_steps_of_a_recurrence_are_read_by_row_and_column() -> None:
    n = ot.dim("n", size=b.size * t.size)
    running = ot.recurrent("running", over=n)
    running[0] = 1.0
    running[n + 1] = running + 2.0
    table = running[:].reshape(b.size, t.size)
    program = ot.Program(rows=table.sum(1), table=table)
    assert both(program, B=2, T=3)["rows"] == [9.0, 27.0]


def test_the_first_and_the_last_step_of_a_defined_dimension() -> None:
    n = ot.dim("n", size=b.size * t.size)
    m = ot.dim("m", size=t.size // 4)
    x = ot.input("x", over=(b, t))
    total = ot.recurrent("total", over=m)
    total[0] = 1.0
    total[m + 1] = 2.0 * total + x[0, 4 * m]
    count = ot.recurrent("count", dtype="int32", over=n)
    count[0] = 0
    count[n + 1] = count + 1
    program = ot.Program(last=total[-1], first=total[0], steps=count[-1])
    arguments = {"x": np.arange(24).reshape(2, 12)}
    assert both(program, **arguments) == {"last": 8.0, "first": 1.0, "steps": 23}


def test_a_number_of_steps_that_is_known() -> None:
    k = ot.dim("k", size=3)
    squares = (ot.index(k) * ot.index(k))[:]
    assert squares.shape == (3,)
    program = ot.Program(squares=squares, last=ot.index(k)[-1])
    assert program.extents == ()
    assert both(program) == {"squares": [0, 1, 4], "last": 2}


def test_the_least_and_the_rest_of_an_extent() -> None:
    few = ot.dim("few", size=ot.minimum(t.size, 3))
    odd = ot.dim("odd", size=t.size % 2 + 1)
    x = ot.input("x", over=t)
    program = ot.Program(few=x[few], odd=ot.index(odd)[:].sum(0))
    assert both(program, x=[1, 2, 3, 4, 5]) == {"few": [1.0, 2.0, 3.0], "odd": 1}


def test_definitions_of_definitions() -> None:
    half = ot.dim("half", size=t.size // 2)
    quarter = ot.dim("quarter", size=half.size // 2)
    program = ot.Program(q=ot.index(quarter)[:].sum(0))
    assert both(program, T=13) == {"q": 3}


def test_a_defined_extent_may_be_given_and_must_agree() -> None:
    m = ot.dim("m", size=t.size // 2)
    program = ot.Program(steps=ot.index(m)[:].sum(0))
    assert program.interpret(T=6, M=3)["steps"] == 3


@pytest.mark.parametrize("extent", [4, 7, 16])
def test_gradients_through_reads_over_a_defined_dimension(extent: int) -> None:
    m = ot.dim("m", size=t.size // 2)
    x = ot.input("x", over=t)
    loss = (x[2 * m] ** 2)[:].sum(0)
    found = ot.Program(g=ot.grad(loss, x)).interpret(x=np.arange(extent))["g"]
    expected = [2.0 * k if k % 2 == 0 and k < extent // 2 * 2 else 0.0 for k in range(extent)]
    assert found.tolist() == expected


def test_loops_over_a_defined_dimension_carry_values() -> None:
    e, i = ot.dims("e i")
    m = ot.dim("m", size=t.size // 2)
    x = ot.carry("x", 0, over=(i, e, m))
    x.step(x + 1)
    assert both(ot.Program(final=x.final, start=x.at(e=0, m=0)), I=2, E=2, T=7) == {
        "final": 12,
        "start": [0, 6],
    }
