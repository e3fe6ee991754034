"""Tables that are carried, of which each step changes few entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ostinato as ot
from ostinato.language.dims import Dimension
from ostinato.language.tensor import Tensor
from tests.property.constructs.computed import step_of
from tests.property.constructs.table import Step, Workshop, construct, place, ragged

ENTRIES = 21


@dataclass(frozen=True)
class Entry:
    """What a step knows of an entry: its number, a number that was computed, and the step."""

    number: Tensor
    chosen: Tensor
    d: Dimension
    x: Tensor
    c: int


TESTS: dict[str, Callable[[Entry], Tensor]] = {
    "entry_chosen": lambda e: e.number == e.chosen,
    "entry_chosen_or_none": lambda e: e.chosen - 3 == e.number,
    "entry_of_a_condition": lambda e: (e.number == e.chosen) & (e.x > 0.0),
    "entries_below": lambda e: e.number < e.chosen,
    "entries_from": lambda e: ~(e.number < e.chosen),
    "entries_between": lambda e: (e.number > e.chosen - e.c) & (e.number <= e.chosen),
    "entries_of_two": lambda e: (e.number == e.chosen) | (e.number == e.c),
    "all_but_one": lambda e: e.number != e.chosen,
    "entry_of_the_step": lambda e: e.number == ot.index(e.d) % ENTRIES,
    "entries_so_far": lambda e: e.number < ot.index(e.d),
    "entries_at_some_steps": lambda e: (ot.index(e.d) % (e.c + 1) == 0) & (e.number >= e.c),
    "all_where_a_value_asks": lambda e: (e.x > 0.0) & (e.number >= 0),
}


def number_along(w: Workshop, s: Step) -> tuple[Dimension | None, Tensor]:
    """A dimension, if there is one for an operand, and a number at each of its points."""
    d, x = w.along(s), w.real(s)
    if ragged(x):
        return None, x
    return d, ot.sin(x.sum()) if x.ndim else x


@construct("tables", *TESTS)
def updated_entries(w: Workshop, s: Step) -> Tensor | None:
    """Entries that pass a test take a new value; one of them is read, or all are."""
    d, x = number_along(w, s)
    if d is None:
        return None
    number = ot.arange(d.size if s.c == 3 else ENTRIES)
    changes = TESTS[s.op](Entry(number, step_of(x, d, ENTRIES + 2), d, x, s.c))
    table = ot.recurrent(f"r{w.number}", shape=number.shape, dtype=x.dtype, over=w.over(x))
    table[tuple(0 if e.name == d.name else e for e in w.over(x))] = number.cast(x.dtype) * 0.125
    following = tuple(d + 1 if e.name == d.name else e for e in w.over(x))
    table[following] = ot.where(changes, table * 0.5 + x, table)
    if s.c == 2:
        return table.sum() * 0.25
    return table.take(step_of(x, d), axis=0)


@construct("tables")
def updated_cell(w: Workshop, s: Step) -> Tensor | None:
    """A cell of a matrix takes a new value, and another matrix counts how often."""
    d, x = number_along(w, s)
    if d is None:
        return None
    over, shape = w.over(x), (9, ENTRIES)
    row, column = step_of(x, d, 9), step_of(x * 0.7, d, ENTRIES)
    is_cell = (ot.arange(9)[..., None] == row) & (ot.arange(ENTRIES) == column)
    cells = ot.recurrent(f"r{w.number}", shape=shape, dtype=x.dtype, over=over)
    count = ot.recurrent(f"n{w.number}", shape=shape, dtype="int32", over=over)
    first = tuple(0 if e.name == d.name else e for e in over)
    following = tuple(d + 1 if e.name == d.name else e for e in over)
    cells[first], count[first] = ot.zeros(shape, x.dtype), ot.zeros(shape, "int32")
    cells[following] = ot.where(is_cell, cells + (x - cells) * 0.5, cells)
    count[following] = ot.where(is_cell, count + 1, count)
    seen = place(cells, d, d)[s.c]
    return seen.sum() + count.max().cast(x.dtype) * 0.125


@construct("tables")
def added_at_places(w: Workshop, s: Step) -> Tensor | None:
    """Several entries of a table change in a step, by what is added at their positions."""
    d, x = number_along(w, s)
    if d is None:
        return None
    chosen = step_of(x, d, ENTRIES + 2)
    places = ot.stack([chosen, chosen * 0 + s.c, step_of(x * 0.5, d, ENTRIES) - 2])
    table = ot.carry(f"r{w.number}", ot.arange(64).cast(x.dtype), over=w.over(x))
    read = table.take(step_of(x, d), axis=0)
    more = ot.scatter_add(0.25 * (x - read) if s.c == 1 else x, places, 64)
    table.step(table - 0.5 * more if s.c == 2 else table + more)
    return read
