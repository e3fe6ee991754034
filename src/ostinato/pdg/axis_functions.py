"""The functions of a whole axis: operands, types, and NumPy meaning.

An `Along` node applies one of them along one axis of its operands; all other axes are pointwise.
Like `ostinato.pdg.functions`, this table is the only place that says what a function means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ostinato.pdg.functions import FLOATS, FOLDS, FUNCTIONS, NUMBERS, REPEATED, Array
from ostinato.pdg.node import Dtype

SizeOf = Literal["first", "last", "declared"]
Work = Literal["running", "exponential", "in turn", "sorted", "selected", "searched"]


@dataclass(frozen=True, slots=True)
class AxisFunction:
    """A function of whole rows: ``numpy(rows, size)`` works on the last axis of equal batches.

    ``size_of`` says where the size of the result's axis comes from: an operand, or a field of the
    node. ``equal`` demands that all operands have one size along the axis.

    A running value ``repeats`` a function of two, from what the fold ``begins`` gives for nothing.
    ``work`` is what takes the time: an operation for every element, an exponential and a logarithm
    too, a step that waits for the one before, or the comparisons of a sort, of a search, or of a
    selection.
    """

    name: str
    shown: str
    arity: int
    accepts: tuple[Dtype, ...]
    numpy: Callable[[Sequence[Array], int], Array]
    positions: bool = False  # the result is int32 positions, not values
    size_of: SizeOf = "first"
    equal: bool = True
    repeats: str = ""
    begins: str = ""
    work: Work = "running"


def _accumulated(function: np.ufunc) -> Callable[[Sequence[Array], int], Array]:
    def run(rows: Sequence[Array], size: int) -> Array:
        (x,) = rows
        return np.asarray(function.accumulate(x, axis=-1, dtype=x.dtype))

    return run


def _summed(rows: Sequence[Array], size: int) -> Array:
    """Sums that begin with 0, as every sum does: none is -0.0."""
    return np.asarray(_accumulated(np.add)(rows, size) + rows[0].dtype.type(0))


def _linear(rows: Sequence[Array], size: int) -> Array:
    """``y[k] = a[k] + g[k] * y[k - 1]`` with nothing before the first."""
    gates, values = rows
    out = np.empty_like(values)
    for k in range(size):
        before = out[..., k - 1] if k else np.zeros_like(values[..., k])
        out[..., k] = values[..., k] + gates[..., k] * before
    return out


def _argsort(rows: Sequence[Array], size: int) -> Array:
    return np.argsort(rows[0], axis=-1, kind="stable").astype("int32")


def _top(rows: Sequence[Array], size: int) -> Array:
    """The positions of the greatest, in descending order: of equals the first, and NaN first."""
    (x,) = rows
    backwards = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return np.asarray(x.shape[-1] - 1 - backwards[..., :size], "int32")


def _shuffled(rows: Sequence[Array], size: int) -> Array:
    """Each number in turn goes to the place that its choice names; what was there goes last.

    Choice ``k`` is one of 0 ... k, and taken as the nearest one. Independent choices, each of equal
    probability, give every order with equal probability. Source: Fisher and Yates 1938, in the
    form of Durstenfeld 1964 that fills the row from the left.
    """
    (choices,) = rows
    out = np.zeros(choices.shape, "int32")
    for k in range(size):
        place = np.clip(choices[..., k : k + 1], 0, k)
        out[..., k : k + 1] = np.take_along_axis(out, place, -1)
        np.put_along_axis(out, place, k, -1)
    return out


def _searched(side: Literal["left", "right"]) -> Callable[[Sequence[Array], int], Array]:
    def run(rows: Sequence[Array], size: int) -> Array:
        ordered, values = rows
        out = np.zeros(values.shape, "int32")
        for at in np.ndindex(values.shape[:-1]):
            out[at] = np.searchsorted(ordered[at], values[at], side)
        return out

    return run


def _scattered(rows: Sequence[Array], size: int) -> Array:
    """Add each update at its position, in order; positions outside drop out."""
    updates, index = rows
    out = np.zeros((*updates.shape[:-1], size), updates.dtype)
    for at in np.ndindex(updates.shape[:-1]):
        inside = (index[at] >= 0) & (index[at] < size)
        np.add.at(out[at], index[at][inside], updates[at][inside])
    return out


def _running(fold: str) -> AxisFunction:
    """The fold of all elements up to each."""
    repeats = REPEATED[fold]
    function = FUNCTIONS[repeats].numpy
    assert isinstance(function, np.ufunc), f"{repeats} is no ufunc of NumPy's"
    numpy = _summed if fold == "sum" else _accumulated(function)
    return AxisFunction(
        fold, f"cum{fold}", 1, FOLDS[fold].accepts, numpy, repeats=repeats, begins=fold
    )


def _search(side: Literal["left", "right"], shown: str) -> AxisFunction:
    return AxisFunction(
        f"search{side}", shown, 2, NUMBERS, _searched(side), True, "last", equal=False,
        work="searched",
    )  # fmt: skip


_TABLE = (
    _running("sum"),
    _running("prod"),
    _running("max"),
    _running("min"),
    AxisFunction(
        "logsumexp", "logcumsumexp", 1, FLOATS, _accumulated(np.logaddexp),
        repeats="logaddexp", begins="max", work="exponential",
    ),
    AxisFunction("linear", "linear_recurrence", 2, NUMBERS, _linear, begins="sum"),
    AxisFunction("argsort", "argsort", 1, NUMBERS, _argsort, positions=True, work="sorted"),
    AxisFunction(
        "top", "top_k", 1, NUMBERS, _top, positions=True, size_of="declared", work="selected"
    ),
    AxisFunction("shuffle", "shuffle", 1, ("int32",), _shuffled, positions=True, work="in turn"),
    _search("left", "searchsorted"),
    _search("right", "searchsorted_right"),
    AxisFunction("scatter", "scatter_add", 2, NUMBERS, _scattered, size_of="declared"),
)  # fmt: skip

AXIS_FUNCTIONS: dict[str, AxisFunction] = {function.name: function for function in _TABLE}


def along_axis(fn: str, args: Sequence[Array], axis: int, size: int) -> Array:
    """Return a function of the whole of one axis; the other axes broadcast.

    >>> along_axis("argsort", [np.array([[3.0, 1.0, 2.0]])], -1, 3).tolist()
    [[1, 2, 0]]
    """
    last = [np.moveaxis(a, axis, -1) for a in args]
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in last))
    rows = [np.broadcast_to(a, (*lead, a.shape[-1])) for a in last]
    return np.moveaxis(AXIS_FUNCTIONS[fn].numpy(rows, size), -1, axis)
