"""Calls that differ from an earlier one in values only: nothing has to be found out again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ostinato.compiler.arguments import LARGEST_SEED, Arguments, Signature
from ostinato.pdg.functions import Array


class Alike:
    """Recognises arguments with the types, shapes and extents of a call that was checked."""

    def __init__(self, takes: Signature, given: Mapping[str, object], found: Arguments) -> None:
        """Remember a call: what was given, and what that was found to mean."""
        self._extents = found.extents
        self._arrays = tuple(
            (name, np.dtype(takes.inputs[name].dtype), array.shape)
            for name, array in found.inputs.items()
        )
        rest = given.keys() - found.inputs.keys() - {"seed"}
        self._sizes = {name: given[name] for name in sorted(rest)}
        self._count = len(self._arrays) + len(self._sizes)

    def bind(self, arguments: Mapping[str, object]) -> Arguments | None:
        """The same as `Signature.bind`, or None if these are arguments of another kind."""
        seed = arguments.get("seed", 0)
        if type(seed) is not int or not 0 <= seed <= LARGEST_SEED:
            return None
        if len(arguments) != self._count + ("seed" in arguments):
            return None
        for name, size in self._sizes.items():
            value = arguments.get(name)
            if type(value) is not int or value != size:
                return None
        inputs: dict[str, Array] = {}
        for name, dtype, shape in self._arrays:
            value = arguments.get(name)
            if type(value) is not np.ndarray:
                return None
            array: Array = value
            if array.dtype != dtype or array.shape != shape:
                return None
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned):
                return None
            inputs[name] = array
        return Arguments(self._extents, inputs, seed)
