"""Long functions are compiled by themselves, and loops call their vector forms."""

from typing import cast

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.cpu import random_bits
from ostinato.codegen.cpu.llvm import Builder, define, emit_loop
from ostinato.codegen.cpu.llvm_text import F32, I64, VOID, Module, Value, i64
from ostinato.codegen.cpu.primitive import Written
from ostinato.runtime.machine_code import optimise
from ostinato.runtime.machine_code.linking import Library
from ostinato.runtime.machine_code.ports import SYMBOL

ENTRY = f"{SYMBOL}.k"


@pytest.fixture(scope="module")
def draws() -> Module:
    """The LLVM module of ``f(x, n)``: so many normal numbers."""
    normal = cast(Written, random_bits.normal_apart_f32)

    def body(b: Builder, args: list[Value]) -> None:
        x, count = args

        def draw(i: Value) -> None:
            number = normal.emit(b, [i, *(i64(0) for _ in range(5))])
            assert number is not None
            b.store(number, b.gep(x, i))

        emit_loop(b, count, draw)

    module = Module()
    define(module, ENTRY, VOID, [F32.as_pointer(), I64], body)
    return module


def test_a_loop_calls_a_vector_form(draws: Module) -> None:
    (part,) = draws.parts.values()
    assert f"@{part.symbol}_x" in str(optimise.optimised(str(draws))).partition("declare")[0]


def test_the_forms_give_the_bits_of_one_element(draws: Module) -> None:
    modules = [str(draws), *(part.text for part in draws.parts.values())]
    library = Library({str(k): optimise.machine_code(each) for k, each in enumerate(modules)})
    many, few = np.zeros(70, np.float32), np.zeros(3, np.float32)
    for numbers in (many, few):
        library.entry("k")(numbers, len(numbers))
    assert np.unique(many).size == 70
    assert many[:3].tolist() == few.tolist()


@pytest.mark.parametrize(("size", "is_apart"), [(64, True), (1 << 15, False)])
def test_few_draws_once_in_a_run_call_it(size: int, is_apart: bool) -> None:
    once = ot.Program(y=ot.random.normal((size,))).compile()
    assert ("normal_apart_f32(" in once.explain().source) == is_apart


def test_draws_in_a_loop_are_written_at_their_place() -> None:
    often = ot.Program(y=ot.random.normal((8,), over=ot.dims("t"))).compile()
    assert "= normal_f32(" in often.explain().source
