"""How long the axes of a padded result are: as long as the longest over the points of the run.

Memory is laid out for a bound of each size that extents alone decide, which no point may attain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt

from ostinato.pdg.index import Atom, Dim, Expr, Extent, Extremum, FloorDiv, Mod, dims_of, evaluate

Numbers = npt.NDArray[np.object_]  # Python's integers, which do not overflow


def longest(
    shape: Sequence[Expr], bounds: Sequence[int], extents: Mapping[str, int]
) -> tuple[int, ...]:
    """The longest of each size over the points of a run; ``bounds`` are never below the sizes."""
    return tuple(
        _greatest(size, bound, extents) if dims_of(size) else bound
        for size, bound in zip(shape, bounds, strict=True)
    )


def _greatest(size: Expr, bound: int, extents: Mapping[str, int]) -> int:
    dims = sorted(dims_of(size), key=str)
    known: dict[Dim | Extent, int] = {Extent(name): n for name, n in extents.items()}
    counts = [evaluate(d.extent, known) for d in dims]
    for corner in product(*({0, n - 1} for n in counts)):
        if evaluate(size, known | dict(zip(dims, corner, strict=True))) == bound:
            return bound
    point: dict[Dim | Extent, Numbers] = {s: np.array(n, object) for s, n in known.items()}
    for k, (dim, count) in enumerate(zip(dims, counts, strict=True)):
        steps = np.array(range(count), object)
        point[dim] = steps.reshape(-1, *(1,) * (len(dims) - 1 - k))
    return int(np.max(_values(size, point)))


def _values(of: Expr, point: Mapping[Dim | Extent, Numbers]) -> Numbers:
    """The values of an expression at many points, as `evaluate` gives them one by one."""
    total = np.array(of.const, object)
    for atom, k in of.terms:
        total = np.asarray(total + k * _atom(atom, point), object)
    return total


def _atom(atom: Atom, point: Mapping[Dim | Extent, Numbers]) -> Numbers:
    match atom:
        case Dim() | Extent():
            return point[atom]
        case FloorDiv(of, by):
            return np.asarray(_values(of, point) // by, object)
        case Mod(of, by):
            return np.asarray(_values(of, point) % by, object)
        case Extremum(kind, of):
            chosen = np.minimum if kind == "min" else np.maximum
            out = _values(of[0], point)
            for x in of[1:]:
                out = np.asarray(chosen(out, _values(x, point)), object)
            return out
        case _:
            out = np.array(1, object)
            for x in atom.of:
                out = np.asarray(out * _values(x, point), object)
            return out
