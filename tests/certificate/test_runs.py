"""Runs count every point: NaN, infinities, zeros with their signs, and sizes beyond a tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import ostinato as ot
from ostinato.certificate.runs import (
    LONG,
    PRIMES,
    WIDE,
    Different,
    Promise,
    check_results,
    check_runs,
    interpreted,
    trials,
    work,
)
from ostinato.pdg.functions import Array
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.node import Pdg
from ostinato.runtime.run.execution import Bound
from ostinato.runtime.run.executor import Executable

X = Callable[[ot.Tensor, ot.Dimension], ot.Tensor]


def program(value: X) -> ot.Program:
    t = ot.dims("t")
    return ot.Program(y=value(ot.input("x", over=t), t))


WRONG: dict[str, tuple[X, X, str]] = {
    "an infinity that is a number": (
        lambda x, t: x[:t].max(0),
        lambda x, t: ot.where(t == 0, 9.0, x[:t].max(0)),
        "reassociates",
    ),
    "the other infinity": (
        lambda x, t: x[:t].max(0),
        lambda x, t: ot.where(t == 0, float("inf"), x[:t].max(0)),
        "reassociates",
    ),
    "a NaN that is a number": (lambda x, t: x * 0.0, lambda x, t: x - x * 1.0, "exact"),
    "a zero of an infinity": (
        lambda x, t: x * 0.0,
        lambda x, t: ot.where(x == x, 0.0, x),
        "reassociates",
    ),
    "an infinity for a NaN": (
        lambda x, t: x - x,
        lambda x, t: ot.where(x - x == 0.0, 0.0, float("inf")),
        "reassociates",
    ),
    "the sign of a zero": (lambda x, t: x * 1.0, lambda x, t: x + 0.0, "exact"),
    "a rounding": (lambda x, t: x * 3.0, lambda x, t: x * (3.0 + 1e-9), "zero signs"),
    "a step beyond a tile": (
        lambda x, t: x * 2.0,
        lambda x, t: ot.where(t == 33, 7.0, x * 2.0),
        "reassociates",
    ),
    "the last step of an odd number": (
        lambda x, t: x * 2.0,
        lambda x, t: ot.where((t == t.size - 1) & (t >= 16), 7.0, x * 2.0),
        "reassociates",
    ),
}


@pytest.mark.parametrize("name", [n for n in WRONG if n != "a NaN that is a number"])
def test_a_program_that_differs_there_is_refused(name: str) -> None:
    one, other, exact = WRONG[name]
    source = program(one).pdg
    with pytest.raises(Different, match="the output `y` at T = .* is .* instead of"):
        check_runs(tuple(trials(source)), program(other).pdg, exact)


def test_what_a_class_leaves_open_is_no_difference() -> None:
    same: tuple[tuple[X, X, str], ...] = (
        (lambda x, t: x * 1.0, lambda x, t: x + 0.0, "zero signs"),
        (lambda x, t: x * 3.0, lambda x, t: x * (3.0 + 1e-9), "reassociates"),
        (lambda x, t: x / x, lambda x, t: x / x, "exact"),
    )
    for one, other, exact in same:
        assert "equal at" in check_runs(tuple(trials(program(one).pdg)), program(other).pdg, exact)


def test_other_orders_differ_as_far_as_the_roundings_of_the_interpreter_lead() -> None:
    far = 1e11
    source = program(lambda x, t: (x / 3.0 + far) - far)
    found, same = tuple(trials(source.pdg)), program(lambda x, t: x / 3.0)
    assert "equal at" in check_runs(found, same.pdg, "reassociates")
    with pytest.raises(Different, match="instead of"):
        check_runs(found, same.pdg, "zero signs")
    with pytest.raises(Different, match="instead of"):
        check_runs(found, program(lambda x, t: x / 3.0 + 0.01).pdg, "reassociates")


def test_of_infinite_inputs_some_classes_promise_less() -> None:
    hidden = program(lambda x, t: x * 0.0), program(lambda x, t: ot.where(x == x, 0.0, x))
    spread = program(lambda x, t: x * 0.5), program(lambda x, t: x * 1.5 - x)
    for (one, other), right, wrong in (
        (hidden, "skips zeros", "reassociates"),
        (spread, "distributes", "skips zeros"),
    ):
        found = tuple(trials(one.pdg))
        assert "equal at" in check_runs(found, other.pdg, right)
        with pytest.raises(Different, match="instead of (nan|-?inf)"):
            check_runs(found, other.pdg, wrong)


def test_runs_have_primes_beyond_tiles_and_special_inputs_within_their_budget() -> None:
    b, t, s = ot.dims("b t s")
    x = ot.input("x", (3,), over=(b, t, s))
    source = ot.Program(y=ot.tanh(x) @ ot.input("w", (3, 3))).pdg
    found = tuple(trials(source))
    sizes = [trial.bound.extents for trial in found]
    for name in "BTS":
        assert any(extents[name] == PRIMES[0] for extents in sizes)
    assert all(work(source, extents) <= LONG for extents in sizes)
    assert work(source, sizes[-1]) <= WIDE and min(sizes[-1].values()) >= 5
    values = np.concatenate([trial.bound.inputs["x"].ravel() for trial in found])
    assert np.isnan(values).any() and (values == np.inf).any() and (values == -np.inf).any()
    zeros = values[values == 0.0]
    assert np.signbit(zeros).any() and not np.signbit(zeros).all()
    assert (np.abs(values[values != 0.0]) < np.finfo("float32").tiny).any()


def test_computed_steps_are_in_their_windows() -> None:
    """Inputs are drawn without a look at the windows, to which compiled code clamps steps."""
    t = ot.dims("t")
    step = ot.input("step", dtype="int32", over=t)
    source = ot.Program(y=ot.input("x", over=t).at(t=step)).pdg
    found = tuple(trials(source))
    assert any((trial.bound.inputs["step"] >= trial.bound.extents["T"]).any() for trial in found)
    assert any((trial.bound.inputs["step"] < 0).any() for trial in found)
    assert "equal at" in check_runs(found, source, "exact")


def test_a_large_program_has_smaller_runs() -> None:
    b, t = ot.dims("b t")
    y = x = ot.input("x", over=(b, t))
    for k in range(600):
        y = ot.tanh(y + float(k)) * x
    source = ot.Program(y=y).pdg
    assert all(work(source, trial.bound.extents) <= LONG for trial in trials(source))


def test_halves_are_numbers_where_the_program_takes_these_and_bits_where_it_takes_bits() -> None:
    source = ot.Program(y=ot.input("x", over=ot.dims("t"), dtype="float16")).pdg
    first = next(trials(source))
    values = first.bound.inputs["x"]
    assert values.dtype == "float16" and np.array_equal(first.expected["y"], values)
    assert np.array_equal(interpreted(encoded(source), first.bound)["y"], values.view("uint16"))


class Altered(Executable):
    """Machine code of which one kind of results is another one."""

    def __init__(self, made: Executable, old: float, new: float) -> None:
        self.made, self.old, self.new, self.artifact = made, old, new, made.artifact

    def run(self, bound: Bound, *_: object, **__: object) -> dict[str, Array]:
        found = self.made.run(bound)
        same = found["y"] == self.old if self.old == self.old else np.isnan(found["y"])
        return {"y": np.where(same, np.float32(self.new), found["y"])}


@pytest.mark.parametrize(
    ("old", "new"),
    [(np.nan, 0.0), (np.nan, np.inf), (np.inf, np.nan), (-np.inf, np.inf), (np.inf, 3e38)],
)
def test_machine_code_that_differs_where_numbers_are_not_finite_is_refused(
    old: float, new: float
) -> None:
    made = program(lambda x, t: x * 2.0)
    found = tuple(trials(made.pdg))
    executable = made.compile().executable
    assert "equal" in check_results("it", made.pdg, found, executable.run, Promise())
    with pytest.raises(Different, match="`y` of it at"):
        check_results("it", made.pdg, found, Altered(executable, old, new).run, Promise())


def test_where_rounding_overflows_machine_code_may_too() -> None:
    made = program(lambda x, t: ot.exp(x * 0.0 + 100.0))
    found = [trial for trial in trials(made.pdg) if np.isfinite(trial.bound.inputs["x"]).all()]
    few = [replace(trial) for trial in found]
    run = made.compile().executable.run
    assert few and "equal" in check_results("it", made.pdg, few, run, Promise())


DECIDED: dict[str, X] = {
    "a comparison": lambda x, t: x * 1e38 * 1e4 < float("inf"),
    "an integer": lambda x, t: ot.where(x * 1e38 * 1e4 * 0.0 == 0.0, 1, 2),
    "NaN instead of an infinity": lambda x, t: ot.exp(ot.exp(x * 0.0 + 9)) * ot.exp(x * 0.0 - 150),
}


@pytest.mark.parametrize("name", DECIDED)
def test_machine_code_may_give_what_the_declared_types_give(name: str) -> None:
    """Float64 has other infinities: a result that they decide is right as it is rounded."""
    source = program(DECIDED[name]).pdg
    found = tuple(trials(source))
    run = partial(interpreted, source, exact=False)
    assert any((run(trial.bound)["y"] != trial.expected["y"]).any() for trial in found)
    check_results("it", source, found, run, Promise())
    with pytest.raises(Different, match="the output `y` of it"):
        check_results("it", source, found, lambda b: {"y": np.full_like(run(b)["y"], 7)}, Promise())


def test_rounding_decides_when_a_converged_search_divides_nothing_by_nothing() -> None:
    """The steps of a secant method end in 0 / 0, a step sooner or later with other roundings."""
    t = ot.dims("t")
    of = ot.exp(0.1 * ot.input("x", dtype="float64"))
    y = ot.recurrent("y", dtype="float64", over=t)
    y[0], y[1] = 1.0, 2.0
    last = y[t + 1]
    slope = (last * last - y * y) / (last - y)
    y[t + 2] = last - (last * last - of) / slope
    source = ot.Program(y=y).pdg
    found = [trial for trial in trials(source) if not trial.is_special]

    def sooner(bound: Bound) -> dict[str, Array]:
        value = interpreted(source, bound)["y"].copy()
        value[max(int(np.isfinite(value).sum()) - 1, 2) :] = np.nan
        return {"y": value}

    assert any(np.isnan(trial.expected["y"]).any() for trial in found)
    check_results("it", source, [t for t in found if t.bound.extents["T"] > 9], sooner, Promise())


def test_which_of_two_is_greater_is_left_open_where_rounding_decides_it() -> None:
    """A tie in float64 is none where sums round, and what a program makes of one may be any."""

    def greater(factor: float) -> ot.Program:
        def value(x: ot.Tensor, t: ot.Dimension) -> ot.Tensor:
            bent = ot.exp(x)
            return ot.stack([bent * factor, bent + bent + bent]).argmax().cast("float32") / 2

        return program(value)

    for factor, is_open in ((3.0, True), (2.9, False)):
        source = greater(factor).pdg
        found = [trial for trial in trials(source) if not trial.is_special]

        def other(bound: Bound, source: Pdg = source) -> dict[str, Array]:
            return {"y": 0.5 - interpreted(source, bound)["y"]}

        if is_open:
            check_results("it", source, found, other, Promise())
            continue
        with pytest.raises(Different, match="the output `y` of it"):
            check_results("it", source, found, other, Promise())
