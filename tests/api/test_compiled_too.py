"""The language tests once more, with machine code in place of the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest

from ostinato.compiler.program import Program
from ostinato.pdg.functions import Array
from tests.api import (
    test_along,
    test_bits,
    test_computed_positions,
    test_contraction,
    test_convolution,
    test_distributions,
    test_elementary,
    test_equations,
    test_functions,
    test_indexing,
    test_operators,
    test_random,
    test_repetition,
)
from tests.nn import test_init, test_layers, test_modules
from tests.optim import test_average, test_clip, test_definitions, test_optimizers, test_schedule

LANGUAGE: tuple[ModuleType, ...] = (
    test_along,
    test_computed_positions,
    test_bits,
    test_contraction,
    test_convolution,
    test_distributions,
    test_repetition,
    test_elementary,
    test_equations,
    test_functions,
    test_indexing,
    test_operators,
    test_random,
    test_init,
    test_layers,
    test_modules,
    test_average,
    test_clip,
    test_definitions,
    test_optimizers,
    test_schedule,
)


def compiled(program: Program, **arguments: object) -> dict[str, Array]:
    return program.compile()(**arguments)


def cases() -> list[Any]:
    """Every test of the language that takes no fixture, with each of its parameters."""
    out: list[Any] = []
    for module in LANGUAGE:
        for name, test in vars(module).items():
            if not name.startswith("test_") or not isinstance(test, FunctionType):
                continue
            marks = [m for m in getattr(test, "pytestmark", ()) if m.name == "parametrize"]
            for k, values in enumerate(_values(marks)):
                out.append(pytest.param(test, values, id=f"{module.__name__}.{name}.{k}"))
    return out


def _values(marks: list[Any]) -> list[dict[str, Any]]:
    combined: list[dict[str, Any]] = [{}]
    for mark in marks:
        names = mark.args[0]
        keys = names.replace(",", " ").split() if isinstance(names, str) else list(names)
        rows = [_row(value, len(keys)) for value in mark.args[1]]
        chosen = [dict(zip(keys, row, strict=True)) for row in rows]
        combined = [{**a, **b} for a in combined for b in chosen]
    return combined


def _row(value: Any, count: int) -> Any:
    """The values of one case: wrapped by ``pytest.param``, bare if there is one, or a sequence."""
    if type(value).__name__ == "ParameterSet":
        return value.values
    return (value,) if count == 1 else value


@pytest.mark.parametrize(("test", "values"), cases())
def test_holds_for_machine_code(
    test: Callable[..., None], values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if set(test.__code__.co_varnames[: test.__code__.co_argcount]) - set(values):
        pytest.skip("needs a fixture")
    monkeypatch.setattr(Program, "interpret", compiled)
    test(**values)
