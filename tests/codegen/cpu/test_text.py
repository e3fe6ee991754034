"""The text of LLVM functions: what is written once, and where that holds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostinato.codegen.cpu.access import emit_prefetch
from ostinato.codegen.cpu.llvm import define
from ostinato.codegen.cpu.llvm_text import F32, I64, VOID, Module, constant, i64, vector_type
from ostinato.runtime.machine_code.linking import Library
from ostinato.runtime.machine_code.optimise import machine_code, optimised
from ostinato.runtime.machine_code.ports import SYMBOL


def written(body: Callable[[Any, list[Any]], None], freedom: tuple[str, ...] = ()) -> str:
    """A function of words and a number."""
    module = Module(freedom)
    define(module, f"{SYMBOL}.k", VOID, [I64.as_pointer(), I64], body)
    return str(module)


def run(text: str, number: int) -> list[int]:
    words = np.zeros(4, np.int64)
    Library({"k": machine_code(text)}).entry("k")(words, number)
    return words.tolist()


def test_a_sum_is_written_once_on_the_way_to_both_of_its_uses() -> None:
    def body(b: Any, args: list[Any]) -> None:
        b.store(b.add(args[1], i64(5)), args[0])
        with b.if_then(b.icmp_signed("<", args[1], i64(9))):
            b.store(b.add(args[1], i64(5)), b.gep(args[0], i64(1)))

    text = written(body)
    assert text.count("= add i64") == 1
    assert run(text, 3) == [8, 8, 0, 0]


def test_what_one_branch_computed_is_computed_again_in_the_other_and_after_both() -> None:
    def body(b: Any, args: list[Any]) -> None:
        then, other, end = (b.append_basic_block() for _ in range(3))
        b.cbranch(b.icmp_signed("<", args[1], i64(9)), then, other)
        for place, block in enumerate((then, other)):
            b.position_at_end(block)
            b.store(b.mul(args[1], i64(3)), b.gep(args[0], i64(place)))
            b.branch(end)
        b.position_at_end(end)
        b.store(b.mul(args[1], i64(3)), b.gep(args[0], i64(2)))

    text = written(body)
    assert text.count("= mul i64") == 3
    assert [run(text, k) for k in (2, 10)] == [[6, 0, 6, 0], [0, 30, 30, 0]]


@pytest.mark.parametrize("is_rolled", [True, False])
def test_llvm_unrolls_a_loop_unless_it_is_to_stay_rolled(is_rolled: bool) -> None:
    def body(b: Any, args: list[Any]) -> None:
        def turn(k: Any) -> None:
            emit_prefetch(b, b.gep(args[0], b.mul(k, i64(7))))

        b.turns(i64(0), args[1], i64(1), turn, is_rolled)

    made = str(optimised(written(body)))
    assert (made.count("call void @llvm.prefetch") == 1) == is_rolled


def test_memory_is_read_each_time() -> None:
    def body(b: Any, args: list[Any]) -> None:
        for _ in range(2):
            b.store(b.add(b.load(args[0]), args[1]), args[0])

    assert run(written(body), 4) == [8, 0, 0, 0]


@pytest.mark.parametrize("freedom", [(), ("nsz", "contract")])
def test_floats_have_the_freedom_of_their_module(freedom: tuple[str, ...]) -> None:
    def body(b: Any, args: list[Any]) -> None:
        b.fmul(b.sitofp(args[1], F32), constant(F32, 0.5))

    wanted = " ".join(("fmul", *sorted(freedom), "float"))
    assert wanted in written(body, freedom)


def test_minus_zero_is_no_zero() -> None:
    two = vector_type(F32, 2)
    assert constant(two, [0.0, 0.0]).ref == "zeroinitializer"
    assert constant(two, [0.0, -0.0]).ref != "zeroinitializer"


def test_equal_lanes_are_written_once() -> None:
    ones = constant(vector_type(I64, 4), [7] * 4)
    assert ones.ref == "splat (i64 7)"

    def body(b: Any, args: list[Any]) -> None:
        vector = b.insert_element(constant(ones.type, [0] * 4), args[1], i64(0))
        b.store(b.extract_element(b.add(vector, ones), i64(0)), args[0])

    assert run(written(body), 4) == [11, 0, 0, 0]
