"""Tensors made longer: padding, rolling, repeating, tiling, and grids of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ostinato.language.array import padding
from ostinato.language.tensor import Tensor, apply, as_tensor, merged
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.naming import sized
from ostinato.provenance.place import place

Widths = int | tuple[int, int] | Sequence[tuple[int, int]]


def pad(
    x: object,
    widths: Widths,
    mode: Literal["constant", "edge", "reflect"] = "constant",
    value: float = 0,
) -> Tensor:
    """Return ``x`` with elements added before and after its axes.

    ``widths`` is a number, a pair (before, after), or one pair per axis. "constant" adds ``value``,
    "edge" repeats the ends, "reflect" mirrors what is next to them.
    Errors: ShapeError.

    >>> import ostinato as ot
    >>> ot.Program(y=ot.pad(ot.constant([1, 2, 3]), (2, 1), "reflect")).interpret()["y"].tolist()
    [3, 2, 1, 2, 3, 2]
    """
    operand = as_tensor(x)
    rank = operand.ndim
    if isinstance(widths, int):
        pairs: list[tuple[int, ...]] = [(widths, widths)] * rank
    elif len(widths) == 2 and isinstance(widths[0], int) and isinstance(widths[1], int):
        pairs = [(widths[0], widths[1])] * rank
    else:
        pairs = [tuple(pair) if isinstance(pair, Sequence) else () for pair in widths]
    if len(pairs) != rank or any(len(p) != 2 or min(p) < 0 for p in pairs):
        fact = f"padding of {sized(operand.node)} by {widths!r}"
        raise ShapeError(fact, "Give a number from 0, a pair, or a pair per axis.", place())
    if mode not in ("constant", "edge", "reflect"):
        raise ShapeError(f"padding {mode!r}", 'Use "constant", "edge" or "reflect".', place())
    return apply(padding.pad, operand, pairs, mode, value)


def roll(x: object, shift: int, axis: int = 0) -> Tensor:
    """Return ``x`` moved by ``shift`` positions along an axis, around its end."""
    return apply(padding.roll, as_tensor(x), shift, axis)


def _times(name: str, given: int | Sequence[int]) -> list[int]:
    counts = [given] if isinstance(given, int) else list(given)
    if any(n < 1 for n in counts):
        raise ShapeError(f"{name} by {given!r}", "Repeat at least once.", place())
    return counts


def repeat(x: object, times: int, axis: int = 0) -> Tensor:
    """Return ``x`` with each position of an axis ``times`` times in a row."""
    (count,) = _times("repetition", times)
    return apply(padding.repeat, as_tensor(x), count, axis)


def tile(x: object, times: int | Sequence[int]) -> Tensor:
    """Return copies of ``x`` side by side, ``times`` along each of the last axes."""
    return apply(padding.tile, as_tensor(x), _times("tiling", times))


def meshgrid(*vectors: object, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]:
    """Return the coordinates of a grid, one tensor per vector.

    With "xy" the first axis belongs to the second vector, as in NumPy; "ij" keeps the order.
    """
    tensors = [as_tensor(v) for v in vectors]
    swapped = indexing == "xy" and len(tensors) > 1
    order = [1, 0, *range(2, len(tensors))] if swapped else list(range(len(tensors)))
    nodes = padding.grid([tensors[k].node for k in order], place())
    made = {k: Tensor(node, merged(tensors[k])) for k, node in zip(order, nodes, strict=True)}
    return tuple(made[k] for k in range(len(tensors)))
