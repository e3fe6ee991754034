"""Operators of ragged tensors: each states what it does with a mask, or refuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from ostinato.language.array import dtypes, movement
from ostinato.language.array import elementwise as element
from ostinato.language.ragged import moves, operators
from ostinato.language.ragged.folds import FOLDING
from ostinato.language.ragged.moves import MOVING
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.naming import called
from ostinato.pdg.node import Node
from ostinato.provenance.place import called_function, place

HANDLERS: dict[object, Callable[..., Tensor]] = {
    **FOLDING,
    **MOVING,
    dtypes.convert: operators.convert,
    element.select: operators.select,
    element.choose: operators.choose,
    element.power: operators.power,
    element.bitwise: operators.bitwise,
    element.invert: operators.invert,
    element.one_hot: operators.one_hot,
}
_SPOKEN = {
    "__setitem__": "an equation",
    "step": "an equation",
    "differentiable": "a function with its own gradient",
}
JOINING = {movement.concatenate: moves.concatenate, movement.stack: moves.stack}


def ragged(fn: Callable[..., Node], arguments: Sequence[object]) -> Tensor:
    """Return a node-level function of operands of which some are ragged.

    Errors: ShapeError if the function has no meaning for steps that do not exist.
    """
    handler = HANDLERS.get(fn)
    if handler is None:
        refuse(arguments)
    return handler(*arguments)


def joined(join: Callable[..., Node], several: Sequence[Tensor], axis: int) -> Tensor:
    """Return ragged tensors joined along an axis."""
    return JOINING[join](several, axis)


def refuse(arguments: Iterable[object]) -> NoReturn:
    """Say that the function that was called does not take ragged operands."""
    found = next(a for a in arguments if isinstance(a, Tensor) and a.mask.parts)
    name = called_function()
    what = _SPOKEN.get(name, f"`{name}`")
    fact = f"{what} does not take the ragged steps of {called(found.node)}"
    remedy = "Give the steps beyond the end a value: x.filled(0.0); or fold them first."
    raise ShapeError(fact, remedy, place())
