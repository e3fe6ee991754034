"""Prints and checks: where they stand, and which programs they belong to."""

import pytest

import ostinato as ot
from ostinato.pdg.errors import CheckError, DtypeError
from tests.errors.refusal import here, refusal

b, t = ot.dims("b t")


def running() -> tuple[ot.Tensor, ot.Tensor]:
    x, s = ot.input("x", over=(b, t)), ot.recurrent("s", over=(b, t))
    s[b, 0] = x[b, 0]
    s[b, t + 1] = s + x[b, t + 1]
    return x, s


def test_a_print_shows_every_point_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    _, s = running()
    ot.debug.print(s)
    ot.debug.print(s[b, :].mean(), "mean")
    ot.Program(last=s[b, -1]).interpret(x=[[1, 2], [5, 5]])
    assert capsys.readouterr().out.splitlines() == [
        "s[b=0, t=0] = 1.0",
        "s[b=0, t=1] = 3.0",
        "mean[b=0] = 2.0",
        "s[b=1, t=0] = 5.0",
        "s[b=1, t=1] = 10.0",
        "mean[b=1] = 7.5",
    ]


def test_a_print_belongs_only_to_programs_with_all_it_is_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, s = running()
    ot.debug.print(s)
    ot.Program(total=x[:, :].sum()).interpret(x=[[1]])
    assert capsys.readouterr().out == ""


def test_a_check_names_the_first_point_where_it_fails() -> None:
    _, s = running()
    ot.debug.check(s[b, t + 1] > s, "s grows")
    line = here(-1)
    program = ot.Program(s=s)
    program.interpret(x=[[1, 2], [3, 4]])
    assert refusal(CheckError, lambda: program.interpret(x=[[1, 2, 3], [3, 4, -1]])) == (
        f"{line}: check failed at b = 1, t = 1: s grows\n"
        "  Print what it reads with `ot.debug.print(...)`, or correct the equation."
    )


def test_a_check_of_an_array_names_the_element() -> None:
    x = ot.input("x", shape=(2, 2))
    ot.debug.check(x > 0, "positive")
    text = refusal(CheckError, lambda: ot.Program(y=x).interpret(x=[[1, 1], [1, 0]]))
    assert "check failed: positive (element [1, 1])" in text


def test_a_compiled_program_says_what_it_leaves_out() -> None:
    _, s = running()
    ot.debug.print(s)
    line = here(-1)
    with pytest.warns(UserWarning, match=f"without the print at {line}"):
        ot.Program(s=s).compile()


def test_debug_draws_change_no_draw_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    def drawn(is_debugged: bool) -> list[float]:
        x = ot.input("x", over=t)
        if is_debugged:
            ot.debug.print(x + ot.random.normal(over=t))
        found = ot.Program(y=x + ot.random.normal(over=t)).interpret(x=[0, 0])["y"]
        return [float(v) for v in found]

    assert drawn(True) == drawn(False)
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_check_of_no_condition_is_refused() -> None:
    text = refusal(DtypeError, lambda: ot.debug.check(ot.input("x"), "x"))
    assert "`x`, which is checked, is float32" in text


def test_a_print_about_nothing_is_refused() -> None:
    text = refusal(CheckError, lambda: ot.debug.print(3.0))
    assert "the print of the constant 3.0 is about no program" in text


def test_a_program_compiled_with_checks_finds_the_same_point() -> None:
    _, s = running()
    ot.debug.check(s[b, t + 1] > s, "s grows {always}")
    line = here(-1)
    run = ot.Program(s=s).compile(checks=True)
    assert run(x=[[1, 2], [3, 4]])["s"].tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert refusal(CheckError, lambda: run(x=[[1, 2, 3], [3, 4, -1]])) == (
        f"{line}: check failed at b = 1, t = 1: s grows {{always}}\n"
        "  Print what it reads with `ot.debug.print(...)`, or correct the equation."
    )


def test_a_compiled_check_stands_where_all_that_it_reads_is_there() -> None:
    x = ot.input("x", over=t)
    ot.debug.check(x[t + 1] - x[ot.maximum(t - 1, 0)] > 0, "grows")  # not at the last step
    run = ot.Program(last=x[-2]).compile(checks=True)
    assert run(x=[1, 2, 3])["last"].item() == 2.0
    with pytest.raises(CheckError, match="check failed at t = 1: grows"):
        run(x=[1, 2, 1])


def test_equal_programs_keep_their_own_messages() -> None:
    def program(text: str) -> ot.Program:
        x = ot.input("x")
        ot.debug.check(x > 0, text)
        return ot.Program(y=2.0 * x)

    for text in ("one", "two"):
        run = program(text).compile(checks=True)
        with pytest.raises(CheckError, match=f"check failed: {text}"):
            run(x=-1.0)


def test_a_print_of_a_call_does_not_call_again(capsys: pytest.CaptureFixture[str]) -> None:
    x = ot.input("x", over=t)
    count = [0]

    def counted(v: object) -> int:
        count[0] += 1
        return count[0]

    y = ot.host(counted, x, dtype="int32", effects="count")
    assert isinstance(y, ot.Tensor)
    ot.debug.print(y, "y")
    assert ot.Program(y=y).interpret(x=[0, 0])["y"].tolist() == [1, 2]
    assert capsys.readouterr().out == "y[t=0] = 1\ny[t=1] = 2\n"
