"""Reads of tensors whose steps end: what lies beyond the end is zero, and masked in slices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ostinato.language.array.indexing import Parts as Movements
from ostinato.language.array.indexing import position, read_at, spatial, split
from ostinato.language.ragged.ending import Ending, endings, note, stays_behind
from ostinato.language.ragged.mask import WHOLE, Live, Mask, replaced
from ostinato.language.tensor import Tensor, apply, sources_of
from ostinato.pdg import build
from ostinato.pdg.build import ONE
from ostinato.pdg.constant import Scalar
from ostinato.pdg.index import Dim, Index, Slice, expr
from ostinato.pdg.node import Node, named_if_not
from ostinato.pdg.origin import Origin
from ostinato.provenance.place import place

Given = Mapping[Dim, object]
Windows = Mapping[Dim, Slice]


def item(x: Tensor, items: Sequence[object]) -> Tensor:
    """Return ``x[items]``."""
    where = place()
    tensors = {i.node: i for i in items if isinstance(i, Tensor)}
    plain = [i.node if isinstance(i, Tensor) else i for i in items]
    at, head, tail = split(x.node, x.over, plain, where)
    read, leading = at_steps(x, at, {}, tuple(tensors.values()), where)

    def moved(value: Tensor, fn: Callable[..., Node], *arguments: object) -> Tensor:
        back = [tensors.get(a, a) if isinstance(a, Node) else a for a in arguments]
        return apply(fn, value, *back)

    return spatial(read, leading, head, tail, Movements(lambda value: value.node, moved), where)


def at_steps(
    x: Tensor, given: Given, windows: Windows, computed: Sequence[Tensor], where: str
) -> tuple[Tensor, int]:
    """Return ``x`` at positions of its dimensions, and how many axes they prepend."""
    known = _known(x, given, windows, where)
    beyond = [end for end in endings(x.over) if known and not stays_behind(known, end)]
    filled, fill = _filled(x, beyond, where)
    node, leading = read_at(filled, given, windows, where)
    if filled != x.node:
        node = named_if_not(node, Origin(where, x.node.label))
    note(node, x.over, known, where)
    parts = [Live(read_at(p.node, given, windows, where)[0], p.ragged) for p in x.mask.parts]
    for end in beyond:
        ragged = _ragged_axes(given, end, node.rank)
        if ragged:
            alive = read_at(end.alive.node, given, windows, where)[0]
            shape = (*alive.shape, *(ONE,) * (node.rank - leading))
            parts.append(Live(build.reshape(alive, shape), ragged))
    mask = Mask(tuple(dict.fromkeys(parts)), fill) if parts else WHOLE
    needed = sources_of(x, *computed, *(end.alive for end in beyond))
    return Tensor(node, needed, mask=mask), leading


def _known(x: Tensor, given: Given, windows: Windows, where: str) -> dict[Dim, Index]:
    """The positions as far as they are known: a computed one is somewhere in its window."""
    out: dict[Dim, Index] = {}
    for dim, item in given.items():
        if isinstance(item, Node):
            out[dim] = windows.get(dim, dim.whole)
        else:
            at = position(item, dim, x.node, where)
            if at != expr(dim):
                out[dim] = at
    return out


def _filled(x: Tensor, beyond: Sequence[Ending], where: str) -> tuple[Node, Scalar | None]:
    """The tensor with zeros at dead points, and what its dead elements are then."""
    node = x.node
    fill: Scalar | None = x.mask.fill if x.mask.parts else 0
    for end in beyond:
        if end.alive.node != x.node:
            value = 0 if fill is None else fill
            node = replaced(node, (Live(end.alive.node, frozenset()),), value, where)
    return node, fill


def _ragged_axes(given: Given, end: Ending, rank: int) -> frozenset[int]:
    """The axes of the steps, or, at one step, of the outer dimensions that are sliced."""
    sliced = [dim for dim, item in given.items() if isinstance(item, slice)]
    wanted = {end.dim} if end.dim in sliced else end.outer
    return frozenset(k - rank for k, dim in enumerate(sliced) if dim in wanted)
