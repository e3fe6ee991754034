"""A cell applied along a dimension: its state is a recurrence."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import broadcast_to, where
from ostinato.language.record import Record, matched
from ostinato.language.recurrent import recurrent
from ostinato.language.shown import shown
from ostinato.language.tensor import Tensor
from ostinato.pdg.build import order
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place

Cell = Callable[[Tensor, Record], Record]


def unroll(
    cell: Cell,
    x: Tensor,
    t: Dimension,
    start: Record,
    *,
    reset: Tensor | None = None,
    reverse: bool = False,
    name: str = "state",
) -> Record:
    """Return the states of a cell: ``state[t] = cell(x[t], state[t - 1])``, ``start`` before them.

    Where the boolean ``reset`` is true the cell sees ``start`` in place of the state before: the
    first step of an episode, or of a document. ``reverse`` runs from the last step to the first.
    A gradient of the states is taken through time.

    Shapes: start broadcasts to what ``cell`` returns; over the dimensions of all operands and t.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> def add(x: ot.Tensor, state: ot.Record) -> ot.Record:
    ...     return ot.Record(total=state.total + x)
    >>> sums = nn.unroll(add, x, t, ot.Record(total=ot.constant(0.0)))
    >>> ot.Program(y=sums.total).interpret(x=[1.0, 2.0, 3.0])["y"].tolist()
    [1.0, 3.0, 6.0]
    """
    # One application whose state is never read says what shape and domain the states have.
    like = cast(object, cell(x, start))
    if not isinstance(like, Record):
        fact = f"the cell of `{name}` returns {shown(like)}"
        raise ArgumentError(fact, "Return an ot.Record with the fields of `start`.", place())
    matched(start, like)
    operands = [x, *start, *like, *(() if reset is None else (reset,))]
    over = order({dim for operand in operands for dim in operand.over} | {t.dim})
    state = recurrent(name, over=tuple(map(Dimension, over)), like=like)
    before = state.map(lambda field: field.at(**{t.name: t + 1 if reverse else t - 1}))
    first = t == (t.size - 1 if reverse else 0)
    given = where(first, _spread(start, like), before)
    if reset is not None:
        given = where(reset, _spread(start, like), given)
    state[True] = cell(x, given)
    return state


def _spread(start: Record, like: Record) -> Record:
    """The start in the shapes of the states."""
    return start.combine(like, lambda value, field: broadcast_to(value, field.shape))
