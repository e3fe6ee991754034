"""Why a program cannot be computed: a value that needs itself, found by trying a few steps."""

from __future__ import annotations

import numpy as np

from ostinato.compiler.arguments import declared_shape, signature
from ostinato.pdg.errors import CycleError
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Pdg

FEW_STEPS = 3  # a first, a last and an inner step


def find_cycle(pdg: Pdg) -> CycleError | None:
    """Return the error of a value that needs itself at small extents, if there is one.

    The interpreter follows every dependence point by point, so its error names the points.
    """
    takes = signature(pdg)
    extents = {name: max(FEW_STEPS, takes.least.get(name, 1)) for name in takes.extents}
    sizes: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    inputs = {
        name: np.zeros([evaluate(size, sizes) for size in declared_shape(node)], node.dtype)
        for name, node in takes.inputs.items()
    }
    try:
        interpret(pdg, extents, inputs)
    except CycleError as found:
        return found
    return None
