"""Which elements of a ragged tensor exist, and how that moves through operators.

Elements that do not exist are *dead*. Two invariants keep what lies there from leaking: a dead
element has a finite value (a slice fills it, and a function that could make it infinite gets a safe
operand), and folds leave it out by ``where``, which also stops its derivative.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ostinato.language.array.elementwise import select
from ostinato.language.array.movement import broadcast_to, transpose
from ostinato.pdg import build
from ostinato.pdg.build import ONE, Shape, pad_rank
from ostinato.pdg.constant import Scalar
from ostinato.pdg.node import Node


@dataclass(frozen=True, slots=True)
class Live:
    """A boolean tensor of the rank of what it masks, of size 1 where it does not vary.

    ``ragged`` are the axes (negative) whose positions may be dead; along the others it only varies.
    """

    node: Node
    ragged: frozenset[int]

    @property
    def touches(self) -> frozenset[int]:
        """The axes along which it varies or is ragged."""
        rank = self.node.rank
        return self.ragged | {k - rank for k, size in enumerate(self.node.shape) if size != ONE}

    def padded(self, rank: int) -> Live:
        return Live(pad_rank(self.node, rank), self.ragged)


Parts = tuple[Live, ...]


@dataclass(frozen=True, slots=True)
class Mask:
    """An element is live where every part is true; dead ones have the value ``fill``, if known.

    All elements of a tensor that is not ragged are live: its mask has no parts.
    """

    parts: Parts = ()
    fill: Scalar | None = None


WHOLE = Mask()


def union(several: Iterable[Parts], rank: int) -> Parts:
    """Return the parts of all operands, each once, at a common rank."""
    return tuple(dict.fromkeys(part.padded(rank) for parts in several for part in parts))


def together(parts: Parts) -> Node:
    """Return where every part is true."""
    node = parts[0].node
    for part in parts[1:]:
        node = build.map_node("and", [node, part.node])
    return node


def replaced(x: Node, parts: Parts, value: Scalar, where: str = "") -> Node:
    """Return ``x`` with the elements that some part says are dead replaced by a value."""
    return select(together(parts), x, build.const(value, x.dtype, (ONE,) * x.rank), where)


def folded(parts: Parts, axes: Collection[int]) -> Parts:
    """Return what is live after a fold over axes (negative), which stay with size 1.

    Folding every ragged axis of a part ends it. Folding another axis along which it varies, such as
    the episodes at each step, leaves an element live if one of those that it was made of is.
    """
    met = tuple(part for part in parts if part.touches.intersection(axes))
    kept = tuple(part for part in parts if part not in met)
    ragged = frozenset[int]().union(*(part.ragged for part in met)).difference(axes)
    if not ragged:
        return kept
    found = together(met)
    shape = tuple(ONE if k - found.rank in axes else s for k, s in enumerate(found.shape))
    some = build.reduce_node("any", found, sorted(axes))
    return (*kept, Live(build.reshape(some, shape), ragged))


def without(parts: Parts, axes: Collection[int]) -> Parts:
    """Return the parts without axes that they do not touch."""
    return tuple(_without(part, axes) for part in parts)


def _without(part: Live, axes: Collection[int]) -> Live:
    rank = part.node.rank
    shape = tuple(s for k, s in enumerate(part.node.shape) if k - rank not in axes)
    ragged = frozenset(a + sum(gone > a for gone in axes) for a in part.ragged)
    return Live(build.reshape(part.node, shape), ragged)


def reshaped(part: Live, old: Shape, new: Shape) -> Live:
    """Return a part after a reshape of what it masks.

    Axes before and behind those that change keep their size 1; the ones between are ragged if any
    of the old ones there was.
    """
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    rank, size = len(old), len(new)
    middle = part.node.shape[head : rank - tail]
    ragged = {a for a in part.ragged if a >= -tail}
    ragged |= {a + rank - size for a in part.ragged if a < head - rank}
    inside = {a for a in part.ragged if head - rank <= a < -tail}
    node = part.node
    between: Shape = (ONE,) * (size - head - tail)
    if inside or any(s != ONE for s in middle):
        wide = (*node.shape[:head], *old[head : rank - tail], *node.shape[rank - tail :])
        node, between = broadcast_to(node, wide), new[head : size - tail]
        found = {k - size for k in range(head, size - tail) if new[k] != ONE}
        ragged |= (found or set(range(head - size, -tail))) if inside else set()
    shape = (*node.shape[:head], *between, *node.shape[rank - tail :])
    return Live(build.reshape(node, shape), frozenset(ragged))


def _common(old: Shape, new: Shape) -> int:
    """The number of equal sizes at the start."""
    count = 0
    while count < min(len(old), len(new)) and old[count] == new[count]:
        count += 1
    return count


def permuted(part: Live, axes: Sequence[int]) -> Live:
    """Return a part with its axes in another order; ``axes`` count from the left."""
    rank = part.node.rank
    ragged = frozenset(k - rank for k, a in enumerate(axes) if a - rank in part.ragged)
    return Live(transpose(part.node, axes), ragged)
