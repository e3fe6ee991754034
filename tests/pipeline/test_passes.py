"""The list of passes: all of them run, in its order, and each optimisation can be left out."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.planning.plan import PlanOptions, plan
from ostinato.compiler.compiled import Compiled
from ostinato.compiler.options import WITHOUT, Options, options_from
from ostinato.compiler.passes import PASSES
from ostinato.compiler.pipeline import build
from ostinato.pdg.errors import OptionError
from ostinato.pdg.functions import Array
from ostinato.pdg.pass_record import Passes
from ostinato.runtime.machine_code import optimise
from tests.codegen.builder import Builder
from tests.codegen.test_delay import second_order
from tests.codegen.test_regions import cases_in_a_circle, pairs_in_a_triangle
from tests.pipeline.switched import OTHERWISE, PROGRAMS, Switched

OPTIMISATIONS = [each.name for each in PASSES if each.is_optimisation]
PLAIN = "LLVM passes"  # what other passes do to a program is there without them, and made fast


def small() -> ot.Program:
    t = ot.dims("t")
    return ot.Program(y=ot.input("x", over=t)[: t + 1].sum(0))


def ran(made: Switched) -> list[str]:
    """The passes of a compilation, each where it ran first."""
    names: dict[str, None] = {}
    program = made.make()

    def seen(name: str, _: object) -> None:
        names.setdefault(name)

    build(program.pdg, None, Options(threads=2, seen=seen, **made.options))
    return list(names)


def planned(system: Builder) -> list[str]:
    """The passes that plan a system."""
    names: dict[str, None] = {}
    seen = Passes(seen=lambda name, _: names.setdefault(name))
    plan(system.system(), PlanOptions(CPU, passes=seen))
    return list(names)


def test_all_passes_run_in_the_order_of_the_list() -> None:
    known = [each.name for each in PASSES if not each.within]
    found = {name: ran(made) for name, made in PROGRAMS.items()}
    systems = (second_order, cases_in_a_circle, pairs_in_a_triangle)
    found |= {made.__name__: planned(made()) for made in systems}
    for name, names in found.items():
        assert names == [each for each in known if each in names], name
    assert set().union(*found.values()) == set(known)


@pytest.mark.parametrize("name", [each.name for each in PASSES])
def test_a_pass_is_a_function_of_the_compiler(name: str) -> None:
    (found,) = (each for each in PASSES if each.name == name)
    module, _, function = found.at.rpartition(".")
    assert callable(getattr(importlib.import_module(f"ostinato.{module}"), function))
    assert found.within in ("", *(each.name for each in PASSES))


def test_an_optimisation_is_left_out_by_its_name_only() -> None:
    for wrong, remedy in (
        ("epilogue", "Did you mean `epilogues`?"),
        ("storage", "which is necessary: code stores values somewhere"),
        (3, "which is no pass"),
    ):
        with pytest.raises(OptionError) as refused:
            small().compile(without=["layout", wrong])
        assert remedy in str(refused.value)
        assert all(name in str(refused.value) for name in OPTIMISATIONS)


def test_a_variable_leaves_passes_out_of_every_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    pdg = small().pdg
    monkeypatch.setenv(WITHOUT, "epilogues, LLVM passes")
    assert options_from({"without": "layout"}, pdg).without == (
        "layout",
        "epilogues",
        "LLVM passes",
    )
    monkeypatch.setenv(WITHOUT, "LLVM")
    with pytest.raises(OptionError, match="`OSTINATO_WITHOUT` names 'LLVM', which is necessary"):
        options_from({}, pdg)


def test_code_that_is_made_fast_is_other_code_with_the_bits_of_exact_programs() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", (5,), over=(b, t))
    program = ot.Program(y=ot.exp(x) * 3.0 + ot.sin(x[b, : t + 1].sum(0)))
    fast, plain = (program.compile(exact=True, without=w) for w in ((), "LLVM passes"))
    made = [run.executable.artifact.units() for run in (fast, plain)]
    texts = [[unit.text for unit in units if unit.kind != "driver"] for units in made]
    assert all(optimise.PLAIN not in text for text in texts[0])
    assert all(optimise.PLAIN in text for text in texts[1])
    given = np.random.default_rng(0).normal(size=(3, 40, 5))
    assert fast(x=given)["y"].tobytes() == plain(x=given)["y"].tobytes()
    sizes = [len(optimise.machine_code(max(of, key=len))) for of in texts]
    assert sizes[0] > sizes[1]  # loops of one number instead of several of vectors


def test_the_order_of_names_and_their_number_is_no_option() -> None:
    pdg = small().pdg
    first, second = (
        options_from({"without": given}, pdg)
        for given in (["layout", "epilogues"], ("epilogues", "layout", "layout"))
    )
    assert first == second and options_from({"without": "layout"}, pdg).without == ("layout",)


def test_what_is_left_out_is_explained_and_no_cached_program_has_it() -> None:
    usual, other = small().compile(), small().compile(without="rules")
    assert "== without ==\nrules\n" in str(other.explain())
    assert other.explain().data()["without"] == ["rules"]
    assert usual.explain().without == () and "== without ==" not in str(usual.explain())
    assert usual.executable.artifact.source != other.executable.artifact.source


@cache
def judged(name: str) -> tuple[ot.Program, dict[str, Any], dict[str, Array]]:
    """A program, arguments, and what the interpreter gives with them."""
    program = PROGRAMS[name].make()
    given = PROGRAMS[name].arguments(program)
    return program, given, program.interpret(**given)


@cache
def usual(name: str, *without: str) -> tuple[str, str]:
    """The source and the schedule of a program with all, or all other, optimisations."""
    options = PROGRAMS[name].options
    found = judged(name)[0].compile(threads=2, without=without, **options).explain()
    return found.source, found.schedule


def equal_to_the_interpreter(name: str, options: Mapping[str, Any], *without: str) -> Compiled:
    program, given, expected = judged(name)
    compiled = program.compile(threads=2, without=without, **options)
    for output, value in compiled(**given).items():
        np.testing.assert_allclose(value, expected[output], 1e-3, 1e-5, err_msg=output)
    return compiled


@pytest.mark.parametrize("name", OPTIMISATIONS)
def test_without_an_optimisation_code_is_other_and_results_are_right(name: str) -> None:
    of = OTHERWISE[name]
    fits = name in ("late readers", "segments")
    made = PROGRAMS[of].with_more_memory() if fits else PROGRAMS[of]
    beside = () if name == PLAIN else (PLAIN,)
    found = equal_to_the_interpreter(of, made.options, name, *beside).explain()
    assert (found.source, found.schedule) != usual(of, *beside)


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_any_optimisation_results_are_right(name: str) -> None:
    options = PROGRAMS[name].with_more_memory().options
    equal_to_the_interpreter(name, options, *OPTIMISATIONS)
