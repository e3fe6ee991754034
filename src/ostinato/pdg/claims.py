"""What a run may check: outputs that must hold everywhere, and the error where one does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from ostinato.pdg.errors import DomainError, OstinatoError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import Dim, Expr, Extent, Slice, evaluate
from ostinato.pdg.meaning import window_error


@dataclass(frozen=True)
class Inside:
    """Positions of an axis: the steps of a dimension in a window, or all from 0."""

    tensor: str
    axis: int
    size: Expr
    window: tuple[Dim, Slice] | None


@dataclass(frozen=True)
class Said:
    """An error whose fact has ``{at}`` where the point belongs, as in "check failed{at}: x > 0"."""

    kind: type[OstinatoError]
    fact: str
    remedy: str


@dataclass(frozen=True)
class Unseen:
    """An output that the user does not see."""

    name: str
    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class Claim:
    """An output that must hold everywhere, and what is said of the first point where it does not.

    ``ok`` is a boolean output, ``shown`` one of the positions that it is about, if any. The error
    names ``dims``; an output may have fewer, where it is the same for all values of the others.
    """

    ok: Unseen
    dims: tuple[Dim, ...]
    about: Inside | Said
    where: str
    shown: Unseen | None = None

    @property
    def outputs(self) -> tuple[Unseen, ...]:
        return (self.ok,) if self.shown is None else (self.ok, self.shown)


def failure(
    claim: Claim, values: tuple[Array, Array], extents: Mapping[str, int], step: int | None = None
) -> OstinatoError | None:
    """The error of the first point at which a claim fails, or None.

    ``values`` are those of the claim's outputs; with a ``step`` only those at that index of the
    first dim.
    """
    ok, shown = (value if step is None else value[None] for value in values)
    if ok.all():
        return None
    env: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    env |= dict.fromkeys(claim.dims, 0)  # it fails for all values of dims that the output lacks
    env |= dict(zip(claim.ok.dims, map(int, np.argwhere(~ok)[0]), strict=True))
    positions = shown[tuple(env[d] for d in claim.shown.dims)] if claim.shown else shown
    if step is not None:
        env[claim.ok.dims[0]] = step
    point = ", ".join(f"{d} = {env[d]}" for d in claim.dims)
    at = f" at {point}" if point else ""
    match claim.about:
        case Said(kind, fact, remedy):
            return kind(fact.replace("{at}", at), remedy, claim.where)
        case Inside(tensor, axis, size_, window):
            size = evaluate(size_, env)
            bad = int(positions[(positions < 0) | (positions >= size)].flat[0])
            if window is not None:
                return window_error(tensor, window, env, bad, (claim.dims, claim.where))
            fact = f"{tensor} is taken at position {bad}{at}, where axis {axis} has size {size}"
            return DomainError(fact, "Clip the positions to the axis with `ot.clip`.", claim.where)
        case other:
            assert_never(other)
