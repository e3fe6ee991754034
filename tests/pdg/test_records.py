"""Every record of a function or fold is complete, and every stage knows what it must of each."""

import re
from itertools import product

import numpy as np
import pytest

from ostinato.calibration import measure, workloads
from ostinato.codegen.cpu.prelude import NAMES
from ostinato.codegen.cpu.step_expression import CODE
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import SUFFIX, Name
from ostinato.machine.profile import Profile
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS, AxisFunction
from ostinato.pdg.functions import (
    FLOATS,
    FOLDS,
    FUNCTIONS,
    POSITIONS,
    REPEATED,
    Fold,
    Function,
    fold_unit,
)
from ostinato.rewrite.prove import model

RECORDS = list(FUNCTIONS.values())
HALVES = [f.name for f in RECORDS if f.name.endswith(("_bits", "_value"))]
# Not vector code of floats: divisions with branches, integers only, and what is no instruction.
ELSEWHERE = {"floordiv", "mod", "cast", "stop_gradient", "bitand", "bitor", "bitxor", "shl", "shr"}
FLAT = {"floor", "ceil", "round", "sign", "floordiv", "stop_gradient"}


@pytest.mark.parametrize("function", RECORDS, ids=lambda f: f.name)
def test_a_record_has_a_derivative_by_each_operand_or_none(function: Function) -> None:
    assert len(function.partials) in (0, function.arity)
    real = function.result in ("same", "declared") and {*FLOATS} <= {*function.accepts}
    assert bool(function.partials) == (real and function.name not in FLAT)


@pytest.mark.parametrize("function", RECORDS, ids=lambda f: f.name)
def test_generated_code_knows_every_function_of_every_type(function: Function) -> None:
    for dtype in function.accepts if function.name not in ("cast", *HALVES) else ():
        text = calls.function(function.name, dtype, tuple(map(Name, "xyz"[: function.arity])))
        called = set(re.findall(r"\b(\w+)\(", str(text)))
        assert called <= NAMES | {*SUFFIX.values()}


def test_vector_code_knows_every_function_of_floats() -> None:
    assert CODE.keys() == FUNCTIONS.keys() - ELSEWHERE - {*HALVES}


@pytest.mark.parametrize("function", RECORDS, ids=lambda f: f.name)
def test_a_tame_function_is_finite_at_every_finite_operand(function: Function) -> None:
    if not function.is_tame or "float64" not in function.accepts:
        return
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e9, -1e9])
    columns = [np.ravel(c) for c in np.meshgrid(*[values] * function.arity)]
    columns[0] = columns[0] > 0 if function.name == "where" else columns[0]
    assert np.isfinite(function.numpy(*columns)).all()


@pytest.mark.parametrize("function", RECORDS, ids=lambda f: f.name)
def test_operands_commute_exactly_if_the_record_says_so(function: Function) -> None:
    if function.arity != 2:
        assert not function.commutes
        return
    dtype = function.accepts[-1]
    some = np.array([1, 0] if dtype == "bool" else [1, 2, 3]).astype(dtype)
    x, y = np.meshgrid(some, some)
    same = bool(np.array_equal(function.numpy(x, y), function.numpy(y, x)))
    assert same == function.commutes


def test_a_profile_prices_what_takes_longer_than_a_step() -> None:
    dear = {f.name for f in RECORDS if f.price in ("slow", "long")}
    assert Profile().functions.keys() == dear
    assert workloads.FUNCTIONS.keys() | measure.ALIKE.keys() == dear
    assert {*measure.ALIKE.values()} <= workloads.FUNCTIONS.keys()


@pytest.mark.parametrize("fold", FOLDS.values(), ids=lambda f: f.name)
def test_a_fold_of_nothing_changes_no_value_that_is_added(fold: Fold) -> None:
    assert (fold.name in REPEATED) != (fold.name in POSITIONS)
    assert model.FOLDS.keys() >= FOLDS.keys()
    for dtype, value in product(fold.accepts, (0, 1, 3)):
        unit, x = np.asarray(fold_unit(fold.name, dtype), dtype), np.asarray(value, dtype)
        if fold.repeats:
            assert FUNCTIONS[fold.repeats].numpy(unit, x) == x
            assert {*fold.accepts} <= {*FUNCTIONS[fold.repeats].accepts}
        else:
            assert FUNCTIONS[fold.beats].numpy(x, unit) or x == unit


@pytest.mark.parametrize("function", AXIS_FUNCTIONS.values(), ids=lambda f: f.name)
def test_a_running_value_begins_with_what_changes_nothing(function: AxisFunction) -> None:
    assert bool(function.begins) == (function.work in ("running", "exponential")) or (
        function.name == "scatter"
    )
    if function.repeats in FUNCTIONS:
        assert REPEATED[function.begins] == function.repeats
        assert function.accepts == FOLDS[function.begins].accepts
