"""Kernels count from their own entries in the offset table, so equal ones are one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.cpu.llvm_text import Part
from ostinato.codegen.cpu.native import llvm_modules
from ostinato.codegen.emit.generated_module import functions, units
from ostinato.codegen.emit.offset_table import offset_table
from ostinato.codegen.loops.expression import binary
from ostinato.codegen.loops.memory import Trap
from ostinato.codegen.loops.statements import Function, Let
from tests.codegen.loops.interpreting import interpreted, planned

b, t = ot.dims("b t")


def network(layers: int) -> ot.Program:
    """Equal layers, each of which needs means along both dimensions."""
    h = ot.input("x", (24,), over=(b, t))
    for k in range(layers):
        weight = ot.input(f"weight{k}", (24, 24))
        h = ot.tanh((h - h[:, t].mean(0)) @ weight)
        h = h - h[b, :].mean(0)
    return ot.Program(h=h)


def kernels(layers: int) -> list[str]:
    """The machine code of all kernels of a network, before it is optimised."""
    plan, _ = planned(network(layers), threads=2)
    return [u.text for u in units(plan.target, functions(plan)) if u.kind == "kernel"]


def test_kernels_of_equal_layers_are_one_function() -> None:
    few, many = kernels(3), kernels(6)
    assert len(set(many)) == len(set(few)) < len(few) < len(many)


def test_equal_layers_are_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written, made = llvm_modules.written, list[str]()

    def counted(of: Function, parts: dict[str, Part] | None = None) -> str:
        made.append(of.name)
        return written(of, parts)

    monkeypatch.setattr(llvm_modules, "written", counted)
    few, many = kernels(3), made.copy()
    made.clear()
    assert len(kernels(6)) > len(few)
    assert len(made) == len(many) < len(few)


def test_llvm_optimises_kernels_and_no_driver() -> None:
    plan, _ = planned(network(3), threads=2)
    *others, driver = functions(replace(plan, without=frozenset()))
    assert driver.is_driver
    assert driver.plain
    assert not any(each.plain for each in others)


def test_kernels_count_from_their_own_entries() -> None:
    plan, _ = planned(network(3), threads=2)
    table = offset_table(plan)
    for k, row in enumerate(table.rows):
        assert table.entries[table.first[k] :][: len(row)] == row
        assert len(set(row)) == len(row)


def test_a_kernel_that_counts_from_the_entries_of_another_is_trapped() -> None:
    def shifted(made: Sequence[Function]) -> list[Function]:
        next_entry = Let(("entry",), binary("+", "entry", 1))
        other = replace(made[2], body=(next_entry, *made[2].body))
        return [*made[:2], other, *made[3:]]

    rng = np.random.default_rng(0)
    given: dict[str, Any] = {f"weight{k}": rng.normal(size=(24, 24)) for k in range(3)}
    given["x"] = rng.normal(size=(4, 3, 24))
    assert interpreted(network(3), **given)["h"].shape == (4, 3, 24)
    with pytest.raises(Trap):
        interpreted(network(3), change=shifted, **given)
