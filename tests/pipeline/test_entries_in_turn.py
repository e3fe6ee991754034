"""What is added to a few entries of a carried table changes these where they lie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim

SIZE, PLACES, STEPS = 150, 4, 7
t = ot.dims("t")
places = ot.input("places", (PLACES,), "int32", over=t)
x = ot.input("x", over=t)
IN_TURN = "_in_turn["  # the table of a step


def given(seed: int = 0) -> dict[str, Any]:
    """Places of which some are outside, and some the same."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-5, SIZE + 5, (STEPS, PLACES)).astype(np.int32)
    found[0], found[1] = [0, SIZE - 1, SIZE, -1], [3, 3, 3, 8]
    return {"places": found, "x": rng.normal(size=STEPS).astype(np.float32)}


def updates() -> ot.Tensor:
    """Of each place another one."""
    return x * (ot.arange(PLACES).cast("float32") + 0.5)


def added(old: ot.Tensor) -> ot.Tensor:
    return ot.scatter_add(updates(), places, SIZE)


CHANGES: dict[str, Callable[[ot.Tensor], ot.Tensor]] = {
    "added": lambda old: old + added(old),
    "the other way round": lambda old: added(old) + old,
    "subtracted": lambda old: old - added(old),
    "scaled": lambda old: old - 0.25 * added(old) * 2.0,
    "divided": lambda old: old + -added(old) / 4.0,
    "one update for all places": lambda old: old + ot.scatter_add(x, places, SIZE),
    "of what is read": lambda old: old + ot.scatter_add(x - old.take(places, axis=0), places, SIZE),
}
WHOLE: dict[str, Callable[[ot.Tensor], ot.Tensor]] = {
    "scaled by what may be infinite": lambda old: old + added(old) * x,
    "decayed too": lambda old: 0.9 * old + added(old),
    "divided by none": lambda old: old + added(old) / 0.0,
    "the largest beside": lambda old: ot.maximum(old + added(old), 0.0),
}


def program(change: Callable[[ot.Tensor], ot.Tensor], every: bool = False) -> ot.Program:
    table = ot.carry("table", ot.arange(SIZE).cast("float32") * 0.1, over=t)
    seen = table.take(places, axis=0).sum()
    following = change(table)
    table.step(following)
    outputs = {"seen": seen, "last": table.final}
    return ot.Program(**outputs, **({"every": following} if every else {}))


def source(compiled: Any) -> str:
    return str(compiled.executable.artifact.source)


def assert_right(made: ot.Program, arguments: dict[str, Any], **options: Any) -> str:
    compiled = made.compile(**options)
    arguments = {name: value for name, value in arguments.items() if name in made.inputs}
    with np.errstate(all="ignore"):
        found, expected = compiled(**arguments), made.interpret(**arguments)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, 1e-5, 1e-5, err_msg=name)
    return source(compiled)


@pytest.mark.parametrize("name", CHANGES)
def test_entries_change_in_turn(name: str, tmp_path: Path) -> None:
    made = program(CHANGES[name])
    assert "few along a0" in assert_right(made, given(), certificate=tmp_path / "turn.json")
    assert ot.verify_certificate(tmp_path / "turn.json", made).holds
    for options in ({"hints": {"T": 1000}}, {"without": ["entries in turn"]}, {"exact": True}):
        text = assert_right(made, given(1), **options)
        assert (IN_TURN in text) is ("hints" in options)


@pytest.mark.parametrize("name", WHOLE)
def test_what_changes_all_entries_passes_over_all(name: str) -> None:
    assert IN_TURN not in assert_right(program(WHOLE[name]), given())


def test_a_table_that_others_keep_is_not_copied_at_every_place() -> None:
    """Its history is a result: steps over places would copy it at each of them."""
    assert IN_TURN not in assert_right(program(CHANGES["added"], every=True), given())
    table = ot.carry("table", ot.zeros(SIZE), over=t)
    following = table + added(table)
    table.step(following)
    change = (following * table).sum()
    made = ot.Program(change=change.at(t=slice(None)))
    assert IN_TURN not in assert_right(made, given())
    said = "`table` is added to as a whole, and not at its places only (test_entries_in_turn.py:"
    assert said in str(made.compile().explain())


def test_counts_are_the_same_in_any_order_and_so_are_exact_programs() -> None:
    count = ot.carry("count", ot.zeros(SIZE, "int32"), over=t)
    count.step(count + ot.scatter_add(1, places, SIZE))
    made = ot.Program(count=count.final)
    assert IN_TURN in assert_right(made, given(), exact=True)


entry, place = ot.arange(SIZE), places[t, 0]
ONE: dict[str, Callable[[ot.Tensor], ot.Tensor]] = {
    "one": lambda old: old + ot.one_hot(place, SIZE),
    "a truth": lambda old: (entry == place) + old,
    "a number or 0": lambda old: old - ot.where(entry == place, x, 0.0),
    "half of one": lambda old: old + 0.5 * -ot.one_hot(place, SIZE),
    "a number times one": lambda old: old + ot.one_hot(place, SIZE) * x,
    "half a number": lambda old: 0.5 * ot.one_hot(place, SIZE) * x + old,
    "a step": lambda old: (
        old + 0.1 * (x - old.take(place, axis=0)) * (entry == place).cast("float32")
    ),
}
SPECIAL = [[1.5, np.inf, 2.0, 0.1, 0.2, 0.3, -0.0], [-0.0, 1e38, 1e38, 3e38, 0.5, np.nan, 1.0]]


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("numbers", [None, *SPECIAL])
def test_zeros_are_added_to_no_entry(name: str, numbers: list[float] | None) -> None:
    """Where 0 is multiplied by what is not finite, they are no zeros: all entries are visited."""
    made = program(ONE[name])
    arguments = given() if numbers is None else given() | {"x": np.array(numbers, np.float32)}
    assert "few along a0" in assert_right(made, arguments)
    for option in ({"exact": True}, {"without": ["few changed"]}):
        assert "few along a0" not in assert_right(made, arguments, **option)


def test_zeros_are_added_where_no_position_tells_entries_apart() -> None:
    made = program(lambda old: old + ot.where(old > 1.0, x, 0.0))
    assert "few along" not in assert_right(made, given())


def test_counts_by_one_are_exact() -> None:
    count = ot.carry("count", ot.zeros(SIZE, "int32"), over=t)
    count.step(count + ot.one_hot(place, SIZE, dtype="int32") * 2)
    made = ot.Program(count=count.final)
    assert "few along a0" in assert_right(made, given(), exact=True)


@pytest.mark.parametrize("order", ["s t", "t s"])
def test_every_row_has_a_table_of_its_own(order: str) -> None:
    over = ot.dims(order)
    at, z = ot.input("at", (PLACES,), "int32", over=over), ot.input("z", over=over)
    table = ot.carry("table", ot.zeros(SIZE), over=over)
    value = table.take(at, axis=0).sum()
    table.step(table + ot.scatter_add(0.1 * (z - value), at, SIZE))
    made = ot.Program(value=value.at(t=slice(None)).sum())
    sizes = tuple({"s": 5, "t": STEPS}[d.name] for d in over)
    rng = np.random.default_rng(0)
    arguments = {
        "at": rng.integers(-2, SIZE + 2, (*sizes, PLACES)).astype(np.int32),
        "z": rng.normal(size=sizes).astype(np.float32),
    }
    for threads in (1, 3):
        assert IN_TURN in assert_right(made, arguments, threads=threads)


@pytest.mark.parametrize("batch", [PLACES, None])
def test_embeddings_learn_at_the_rows_of_a_batch(batch: int | None) -> None:
    """By gradient descent: the gradient of a gather is a sum at its positions."""
    i, b = ot.dims("i b")
    token = ot.input("token", (batch,) if batch else (), "int32", over=i if batch else (i, b))
    table = nn.Embedding(1500, 3, over=ot.carried(i))
    score = table(token).sum(-1)
    loss = ((score - 1.0) ** 2).mean() if batch else ((score - 1.0) ** 2)[i, :].mean()
    table.update(optim.SGD(0.5), loss)
    made = ot.Program(loss=loss, table=table.final.weight)
    shape = (6, batch or 9)
    rng = np.random.default_rng(1)
    token_of = rng.integers(0, 1500, shape).astype(np.int32)
    assert IN_TURN in assert_right(made, {"token": token_of})


def test_a_gradient_through_the_steps_is_right() -> None:
    start = ot.input("start", (SIZE,))
    table = ot.carry("table", start, over=t)
    value = table.take(places, axis=0).sum()
    table.step(table + ot.scatter_add(0.1 * (x - value) ** 2, places, SIZE))
    loss = (value**2).at(t=slice(None)).sum()
    made = ot.Program(loss=loss, slope=ot.grad(loss, start))
    arguments = given() | {"start": np.linspace(0, 1, SIZE, dtype=np.float32)}
    assert_right(made, arguments)
