"""Weights of many slots, of which a step changes few, and draws in proportion to them."""

from __future__ import annotations

from ostinato.language.dims import IndexExpression
from ostinato.language.functions.along import cumsum, searchsorted
from ostinato.language.functions.basic import arange, minimum, where, zeros
from ostinato.language.record import Record
from ostinato.language.tensor import Tensor

WIDTH = 32  # entries of a block, whose sum is an entry of the next level
BELOW_ONE = 1.0 - 2.0**-20  # of a sum: rounding draws no slot that has no weight


def empty_tree(slots: IndexExpression) -> Record:
    """Return no weight for at least so many slots, the sums of blocks, and the sums of these.

    Shapes: slots (1024 n,), blocks (32 n,), top (n,).
    """
    count = (slots + (WIDTH**2 - 1)) // WIDTH**2
    sizes = {"slots": count * WIDTH**2, "blocks": count * WIDTH, "top": count}
    return Record(**{name: zeros((size,)) for name, size in sizes.items()})


def with_weight(tree: Record, slot: Tensor, weight: Tensor) -> Record:
    """Return the tree in which one slot has another weight; a slot outside changes nothing."""
    slots, block = _changed(tree.slots, slot, weight), slot // WIDTH
    blocks = _changed(tree.blocks, block, _rows(slots).take(block, axis=0).sum(-1))
    top = block // WIDTH
    return Record(
        slots=slots,
        blocks=blocks,
        top=_changed(tree.top, top, _rows(blocks).take(top, axis=0).sum(-1)),
    )


def drawn(tree: Record, parts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the slots at parts of the sum of all weights, and the share that each has of it.

    Shapes: parts (n,), of [0, 1) -> int32 (n,), float32 (n,).
    """
    sums = cumsum(tree.top, axis=-1)
    total = sums[..., -1]
    wanted = minimum(parts, BELOW_ONE) * total
    top = searchsorted(sums, wanted, side="right")
    rest = wanted - where(top > 0, sums.take(top - 1, axis=0), 0.0)
    block, rest = _found(_rows(tree.blocks).take(top, axis=0), rest)
    block = top * WIDTH + block
    slot, _ = _found(_rows(tree.slots).take(block, axis=0), rest)
    slot = block * WIDTH + slot
    return slot, tree.slots.take(slot, axis=0) / total


def _rows(level: Tensor) -> Tensor:
    return level.reshape((level.shape[-1] // WIDTH, WIDTH))


def _changed(level: Tensor, at: Tensor, value: Tensor) -> Tensor:
    return where(arange(level.shape[-1]) == at, value, level)


def _found(weights: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """In each row the first entry whose running sum is greater than a value, and what is left."""
    sums = cumsum(weights, axis=-1)
    below = minimum(value, BELOW_ONE * sums[..., -1])
    passed = sums <= below[..., None]
    before = where(passed, sums, 0.0).max(-1)
    return passed.cast("int32").sum(-1), below - before
