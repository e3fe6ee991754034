"""The loop IR of whole programs means what the programs mean, in any order of items."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn
from ostinato.codegen.loops.expression import Binary, Call, Constant, Name
from ostinato.codegen.loops.interpreter import compute
from ostinato.codegen.loops.memory import POISON, ByteRange, Memory, Poison, Trap, unwritten
from ostinato.codegen.loops.statements import Body, Do, For, Function, If, Nothing, Statement, While
from tests.codegen.loops.interpreting import interpreted

RNG = np.random.default_rng(7)
Made = tuple[ot.Program, dict[str, Any]]


def numbers(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def running() -> Made:
    """Averages so far and discounted sums of what comes, over rows."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    mean = x[b, : t + 1].mean(0)
    program = ot.Program(mean=mean, to_come=ot.discounted_sum(x[b, t:], 0.9))
    return program, {"x": numbers(5, 9), "B": 5, "T": 9}


def network() -> Made:
    """A network on rows, whose number is no multiple of a tile."""
    b = ot.dims("b")
    y = nn.MLP(3, [8, 8], 2)(ot.input("x", shape=(3,), over=b))
    return ot.Program(y=y, best=y.argmax()), {"x": numbers(37, 3), "B": 37}


def learning() -> Made:
    """Gradient descent: products with epilogues, sums over tiles, parameters in place."""
    b, i = ot.dims("b i")
    model = nn.MLP(3, [4], 1, over=i)
    miss = model(ot.input("x", shape=(3,), over=b))[..., 0] - ot.input("y", over=b)
    loss = (miss**2)[:, i].mean()
    model.update(ot.optim.SGD(0.1), loss)
    return ot.Program(loss=loss), {"x": numbers(40, 3), "y": numbers(40), "B": 40, "I": 3}


def attention() -> Made:
    b, t = ot.dims("b t")
    q, k, v = (ot.input(name, shape=(4,), over=(b, t)) for name in "qkv")
    weight = ot.softmax((k[b, : t + 1] @ q[..., None])[..., 0])
    program = ot.Program(y=(weight[..., None] * v[b, : t + 1]).sum(0))
    return program, {**{name: numbers(2, 6, 4) for name in "qkv"}, "B": 2, "T": 6}


def rows_of_numbers() -> Made:
    """Sorting, running values, additions at positions, and random numbers."""
    b = ot.dims("b")
    x = ot.input("x", shape=(7,), over=b)
    place = (ot.abs(x) * 2.0).cast("int32")
    program = ot.Program(
        order=ot.argsort(x),
        running=ot.cumsum(x),
        sums=ot.scatter_add(x, place, 5, axis=0),
        drawn=ot.random.normal((3,), over=b),
    )
    return program, {"x": numbers(6, 7), "B": 6}


def stopping() -> Made:
    """Episodes that end: lists of living rows, and a loop that ends early."""
    b, t = ot.dims("b t")
    x = ot.recurrent("x", over=(b, t))
    x[b, 0] = ot.input("start", over=b)
    x[b, t + 1] = x * 1.5
    ot.stop(t, when=x > 4.0)
    return ot.Program(total=x[b, :].sum(0)), {
        "start": 1.0 + RNG.random(5, np.float32),
        "B": 5,
        "T": 8,
    }


MADE: dict[str, Callable[[], Made]] = {
    make.__name__: make
    for make in (running, network, learning, attention, rows_of_numbers, stopping)
}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", MADE)
def test_the_loop_ir_means_the_program(name: str, workers: int) -> None:
    program, given = MADE[name]()
    expected = program.interpret(**given)
    found = interpreted(program, workers, **given)
    for output, value in found.items():
        np.testing.assert_allclose(value, np.asarray(expected[output]), rtol=2e-5, atol=2e-6)


Change = Callable[[Statement], Statement | None]


def changed(body: Body, change: Change) -> Body:
    """Statements with some changed, or left out."""
    out: list[Statement] = []
    for statement in body:
        match statement:
            case For() | While():
                statement = replace(statement, body=changed(statement.body, change))
            case If(_, then, other):
                then, other = changed(then, change), changed(other, change)
                statement = replace(statement, then=then, other=other)
            case _:
                pass
        found = change(statement)
        out += [] if found is None else [found]
    return tuple(out)


def stores(statement: Statement) -> bool:
    return isinstance(statement, Do) and statement.call.function.startswith("st")


def without_stores(functions: Sequence[Function]) -> list[Function]:
    """The first kernel writes nothing."""
    first, *rest = functions
    body = changed(first.body, lambda each: None if stores(each) else each)
    return [replace(first, body=body), *rest]


def one_further(functions: Sequence[Function]) -> list[Function]:
    """The last kernel writes behind the end of its tensors."""

    def moved(each: Statement) -> Statement:
        if not (isinstance(each, Do) and stores(each)):
            return each
        arena, offset, value = each.call.args
        if arena != Name("arena"):
            return each  # lanes of a fold
        far = Binary("+", offset, Constant(1 << 20))
        return Do(Call(each.call.function, (arena, far, value)))

    *rest, last, driver = functions
    return [*rest, replace(last, body=changed(last.body, moved)), driver]


def without_barriers(functions: Sequence[Function]) -> list[Function]:
    """Phases end without waiting for what others do."""

    def ends(each: Statement) -> bool:
        return isinstance(each, Do) and each.call.function == "rest"

    *kernels, driver = functions
    waiting = changed(driver.body, lambda each: Nothing("") if ends(each) else each)
    return [*kernels, replace(driver, body=waiting)]


@pytest.mark.parametrize("name", ["running", "network", "learning", "attention"])
def test_a_store_that_is_missing_is_a_trap(name: str) -> None:
    program, given = MADE[name]()
    with pytest.raises(Trap, match="never written"):
        interpreted(program, change=without_stores, **given)


@pytest.mark.parametrize("name", ["running", "attention", "rows_of_numbers"])
def test_an_access_outside_of_a_tensor_is_a_trap(name: str) -> None:
    program, given = MADE[name]()
    with pytest.raises(Trap, match="k[0-9]+: .* writes byte [0-9]+, outside of `"):
        interpreted(program, change=one_further, **given)


def test_a_barrier_that_is_missing_is_a_trap() -> None:
    """Sums of tiles are combined by one worker, after all tiles are done."""
    program, given = learning()
    with pytest.raises(Trap, match="what another item (wrote|read): .* no barrier is between them"):
        interpreted(program, change=without_barriers, **given)


def test_what_was_never_written_finds_a_place_only_where_every_one_may_be_read() -> None:
    """Rows that fill a tile look elements up at limited positions; nobody reads what they find."""
    memory = Memory(64, {"table": ByteRange(0, 20)})
    limited = Poison().bounded("minimum", 4).bounded("maximum", 0)
    assert memory.read("table", limited, "float32") == POISON
    assert unwritten("+", limited, 0) == limited and unwritten("*", limited, -1) == Poison(-4, 0)
    with pytest.raises(Trap, match="reads byte 20, outside of `table`"):
        memory.read("table", unwritten("+", limited, 1), "float32")
    with pytest.raises(Trap, match="finds a place by a value that was never written"):
        memory.read("table", Poison().bounded("minimum", 4), "float32")


def test_arithmetic_on_what_was_never_written_gives_every_number_that_it_may_be() -> None:
    ranges = [(least, least + more) for least in range(-5, 6) for more in range(5)]
    for op, (a, b), (c, d) in itertools.product("+-*", ranges, ranges):
        found = unwritten(op, Poison(a, b), Poison(c, d))
        values = [compute(op, x, y) for x in range(a, b + 1) for y in range(c, d + 1)]
        assert (found.least, found.most) == (min(values), max(values))
    for op, (a, b), by in itertools.product(("//", "%"), ranges, (1, 2, 3, 7)):
        found, values = (
            unwritten(op, Poison(a, b), by),
            [compute(op, x, by) for x in range(a, b + 1)],
        )
        assert found.least is not None and found.least <= min(values)
        assert found.most is not None and found.most >= max(values)
    assert POISON == unwritten("//", Poison(1, 2), 0) == unwritten("+", POISON, 1)
    assert POISON == unwritten("%", 5, Poison(1, 2)) == unwritten("+", Poison(1, 2), 0.5)


def test_rows_that_fill_a_tile_look_up_rows_of_other_tiles() -> None:
    """The place of a row in memory is a quotient and a remainder of its number."""
    b, s = ot.dims("b s")
    x = ot.input("x", over=(b, s), shape=3)
    y = ot.sigmoid(x * (x[b, : s + 1].sum(0) + 0.1))
    place = ot.floor(ot.abs(y.sum()) * 5).cast("int32") % b.size
    program = ot.Program(y=y.at(b=place) - y)
    given: dict[str, Any] = {"x": numbers(3, 2, 3), "B": 3, "S": 2}
    found = interpreted(program, **given)["y"]
    np.testing.assert_allclose(found, np.asarray(program.interpret(**given)["y"]), rtol=2e-5)


def tables() -> Made:
    """Tables of rows, of which every step changes the entries from a place on."""
    s, t = ot.dims("s t")
    x = ot.input("x", over=(s, t), shape=3)
    place = ot.floor(ot.abs(ot.sin(x.sum())) * 5).cast("int32").named("place")
    table = ot.carry("table", ot.arange(21).cast("float32"), over=(s, t))
    table.step(ot.where(ot.arange(21) < place, table, 0.5 * table + place))
    read = table.take(20, axis=0)
    return ot.Program(y=read.at(t=slice(None)).sum()), {"x": numbers(3, 4, 3), "S": 3, "T": 4}


def test_rows_that_fill_a_tile_may_change_any_entries_of_their_tables() -> None:
    """Loops over the entries that change are bounded by numbers that such rows have not."""
    program, given = tables()
    found = interpreted(program, **given)["y"]
    np.testing.assert_allclose(found, np.asarray(program.interpret(**given)["y"]), rtol=2e-5)


def test_what_may_have_been_changed_is_as_good_as_never_written() -> None:
    """The places of all rows are lost: every entry may be the one of before."""
    program, given = tables()

    def without_places(functions: Sequence[Function]) -> list[Function]:
        def is_lost(each: Statement) -> bool:
            return isinstance(each, Do) and bool(re.fullmatch(r"st\d+_place", each.call.function))

        return [
            replace(f, body=changed(f.body, lambda x: Nothing("") if is_lost(x) else x))
            for f in functions
        ]

    with pytest.raises(Trap, match="a part of the result `y` was never written"):
        interpreted(program, change=without_places, **given)


def test_a_loop_in_a_loop_over_rows_ends_with_the_row_in_turn() -> None:
    """The inner loop asked for all rows of the tile, by the name of the row in turn."""
    s, t = ot.dims("s t")
    x, alive = ot.input("x", over=(s, t)), ot.recurrent("alive", over=(s, t), dtype="bool")
    alive[s, 0] = True
    alive[s, t + 1] = alive & ~(x > 0.4)
    kept = ot.where(alive, ot.tanh(x), 0.0)
    program = ot.Program(y=ot.where(alive, kept[(s % 3) : s + 1 : 3].max(0), 0.0))
    given: dict[str, Any] = {"x": numbers(5, 4), "S": 5, "T": 4}
    expected = np.asarray(program.interpret(**given)["y"])
    for found in (interpreted(program, **given)["y"], program.compile()(x=given["x"])["y"]):
        np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_rows_that_fill_a_tile_look_up_no_element_of_their_own() -> None:
    b = ot.dims("b")
    place = ot.input("place", over=b, dtype="int32") + 0
    table = ot.input("table", shape=(5, 2))
    program = ot.Program(y=ot.tanh(table[place + 1] @ ot.ones((2, 3))))
    given: dict[str, Any] = {"place": np.array([1, 3, 0], np.int32), "table": numbers(5, 2), "B": 3}
    found = interpreted(program, **given)["y"]
    np.testing.assert_allclose(found, np.asarray(program.interpret(**given)["y"]), rtol=2e-5)
