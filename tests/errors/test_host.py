"""Errors of host calls: the line, the function, the point; the cause is kept."""

# A lambda that a host call is given has arguments without types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import HostError
from tests.errors.refusal import here, refusal

b, t = ot.dims("b t")


def runs(program: ot.Program, **arguments: object) -> list[Callable[[], object]]:
    return [lambda: program.interpret(**arguments), lambda: program.compile()(**arguments)]


def made(fn: Callable[..., object], **how: object) -> ot.Program:
    x = ot.input("x", over=t)
    y = ot.host(fn, x, **how)  # type: ignore[arg-type]  # as a user who checks no types
    assert isinstance(y, ot.Tensor)
    return ot.Program(y=y)


LINE = here(-5)


def explode(value: object) -> float:
    raise ValueError("no such state")


def test_an_exception_names_the_point_and_is_kept() -> None:
    for run in runs(made(explode, effects="env"), x=[1.0, 2.0]):
        with pytest.raises(HostError) as caught:
            run()
        assert str(caught.value) == (
            f"{LINE}: `explode` failed at t = 0: ValueError: no such state\n"
            "  The error that it raised is shown above this one."
        )
        assert isinstance(caught.value.__cause__, ValueError)


def test_a_wrong_shape_says_what_is_declared() -> None:
    program = made(lambda v: np.zeros(3), shape=(t.size, 2), name="walk")
    for run in runs(program, x=[1.0, 2.0]):
        assert refusal(HostError, run) == (
            f"{LINE}: `walk` returned an array of shape (3,) at t = 0\n"
            "  Return an array of shape (2, 2) = (T, 2) and type float32, as declared."
        )


def test_a_wrong_type_says_what_is_declared() -> None:
    for run in runs(made(lambda v: 0.5, dtype="int32", name="count"), x=[1.0]):
        assert refusal(HostError, run) == (
            f"{LINE}: `count` returned an array of type float64 at t = 0\n"
            "  Return an array of shape () and type int32, as declared."
        )


def test_what_no_type_holds_is_no_result() -> None:
    cases: dict[str, tuple[Callable[..., object], str, str]] = {
        "none": (lambda v: None, "None", "an array of shape () and type float32"),
        "wide": (
            lambda v: 1e300,
            "values outside float32",
            "an array of shape () and type float32",
        ),
        "hidden": (
            lambda v: np.ma.masked_array(v, True),
            "a masked array, which hides 1 of its elements,",
            "x.filled(0), an array of float32",
        ),
    }
    for name, (fn, found, wanted) in cases.items():
        for run in runs(made(fn, name=name), x=[1.0]):
            assert refusal(HostError, run) == (
                f"{LINE}: `{name}` returned {found} at t = 0\n  Return {wanted}, as declared."
            )
    assert made(lambda v: np.inf).compile()(x=[1.0])["y"] == np.inf


def test_too_few_results_are_counted() -> None:
    x = ot.input("x")
    pair = ot.host(lambda v: (1.0,), x, shape=(((), "float32"), ((), "bool")), name="pair")
    assert isinstance(pair, tuple)
    for run in runs(ot.Program(y=pair[0]), x=0.0):
        assert "`pair` returned 1 results\n  Return 2 results, as declared." in refusal(
            HostError, run
        )


def test_no_result_without_effects_never_runs() -> None:
    def call() -> object:
        return ot.host(explode, ot.input("x"), shape=None)

    assert refusal(HostError, call) == (
        f"{here(-3)}: `explode` has no result and no effects, so it would never run\n"
        '  Write effects="ordered", or declare a result.'
    )


def test_a_logger_of_nothing_is_refused() -> None:
    text = refusal(HostError, lambda: ot.host(explode, 1.0, shape=None, effects="log"))
    assert "`explode` is given nothing of a program, so no program calls it" in text


def test_half_types_are_refused() -> None:
    text = refusal(HostError, lambda: ot.host(explode, ot.input("h", dtype="float16")))
    assert "`explode` is called with float16, which only stores numbers" in text


def test_a_point_outside_a_call_is_refused() -> None:
    assert "no program is calling a function here" in refusal(HostError, ot.debug.point)
