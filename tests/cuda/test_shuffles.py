"""Shuffles by all threads of a block give the orders that one thread gives."""

import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostinato as ot
from ostinato.codegen.cuda.cuda_module import Source
from ostinato.codegen.loops.primitives import linked_shuffle
from ostinato.compiler.options import options_from
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.axis_functions import along_axis
from tests.cuda.simulator import Fault, Memory, launch, simulated

pytestmark = pytest.mark.cuda_sim
ALONE = """
@kernel
def main(arena, choice_step, at, step, scratch, count):
    thread = block_thread()
    threads = block_threads()
    linked_shuffle(arena, 0, choice_step, at, step, scratch, count, thread, threads)
    block_barrier()
    if thread == 0:
        for k in range(count):
            arena.int32[at + k * step] = arena.int32[at + k * step] + 0
"""


def source() -> str:
    made = Source(is_exact=False)
    made.shuffle()
    return "\n\n".join((*made.texts.values(), ALONE))


def shuffled(
    choices: Sequence[int], threads: int = 3, steps: tuple[int, int] = (1, 1), text: str = ""
) -> list[int]:
    """What a block makes of choices."""
    count, (choice_step, step) = len(choices), steps
    at = count * choice_step
    scratch = at + count * step
    arena = np.full(4 * (scratch + 2 * count + 2) // 8 * 8, 0xFF, np.uint8)
    words = arena.view(np.int32)
    words[:at:choice_step] = choices
    memory = Memory(arena)
    args = (memory.views(), choice_step, at, step, scratch, count)
    launch(simulated(text or source())["main"], 1, threads, memory, args, random.Random(count))
    found: list[int] = words[at:scratch:step].tolist()
    return found


ROWS = st.integers(0, 40).flatmap(
    lambda n: st.lists(st.integers(-2, n + 2), min_size=n, max_size=n)
)


@given(ROWS, st.integers(1, 9), st.tuples(st.integers(1, 3), st.integers(1, 3)))
def test_any_choices_give_the_order_that_turns_give(
    choices: list[int], threads: int, steps: tuple[int, int]
) -> None:
    row = np.array(choices, np.int32)
    expected = along_axis("shuffle", [row], -1, len(choices)).tolist()
    assert shuffled(choices, threads, steps) == expected


@pytest.mark.parametrize("choices", [[0] * 30, list(range(30)), [max(0, k - 1) for k in range(30)]])
def test_the_longest_lists_and_ways_end(choices: list[int]) -> None:
    row = np.array(choices, np.int32)
    assert shuffled(choices) == along_axis("shuffle", [row], -1, 30).tolist()


@pytest.mark.parametrize("number", [0, 1])
def test_each_barrier_is_needed(number: int) -> None:
    parts = source().split("block_barrier()")
    parts[number : number + 2] = ["pass".join(parts[number : number + 2])]
    with pytest.raises(Fault, match="without a barrier|writes what|reads what|exchanges what"):
        shuffled([0] * 9, text="block_barrier()".join(parts))


def test_the_interpreter_of_the_loop_ir_means_the_same() -> None:
    choices = [0, 0, 2, 1, -1, 9]
    memory: Any = [*choices, *[-1] * 18]
    load: Any = operator.getitem
    store: Any = operator.setitem
    meaning = linked_shuffle("int32", load, load, store, load, store)
    meaning(memory, 0, 1, 6, 1, 12, 6)
    assert memory[6:12] == shuffled(choices)
    with pytest.raises(IndexError):
        meaning(memory[:-1], 0, 1, 6, 1, 12, 6)


def per_game() -> ot.Program:
    b, t = ot.dims("b t")
    x = ot.input("x", (21,), over=(b, t))
    return ot.Program(y=x.take(ot.random.permutation(21, over=(b, t)), axis=0)[b, :].sum(0))


@pytest.mark.parametrize("width", [1, 3, 32])
def test_blocks_that_shuffle_at_once_have_lists_of_their_own(
    width: int, simulate: Callable[..., None]
) -> None:
    program, x = per_game(), np.random.default_rng(0).random((10, 3, 21), np.float32)
    expected = program.compile(threads=2, exact=True)(x=x, seed=1)
    simulate()
    found = program.compile(target="cuda", threads=3, exact=True, widths={"b": width})
    assert ("linked_shuffle" in found.executable.artifact.source) == (width < 8)
    np.testing.assert_array_equal(found(x=x, seed=1)["y"], expected["y"])


def scratch(program: ot.Program, target: str, **options: object) -> list[tuple[str, str]]:
    """The place and the shape of all scratch memory of a program."""
    chosen = options_from({"target": target, **options}, program.pdg)
    plan, _ = plan_of(optimize_pdg(program.pdg, None, chosen), chosen)
    stored = (s for s in plan.storage.values() if s.tensor.endswith(" scratch"))
    return [(s.place, " x ".join(map(str, s.shape))) for s in stored]


def test_there_are_lists_for_each_block_that_may_need_them() -> None:
    n = ot.dims("n")
    whole = ot.Program(y=ot.random.permutation(n.size))
    assert scratch(whole, "cuda") == [("global", "2*N")]
    assert scratch(whole, "cpu") == []
    assert scratch(per_game(), "cuda", widths={"b": 4}) == [("local", "42")]
    assert scratch(per_game(), "cuda") == []
