"""What the runtime asks of Numba CUDA, by arrays and functions of the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

RESIDENT = 4  # blocks


class Arena(NamedTuple):
    """The one block of memory, as an array of some types."""

    uint8: DeviceArray
    bool: DeviceArray
    float32: DeviceArray
    met: DeviceArray


class DeviceArray:
    """An array that the host reaches by copies only."""

    def __init__(self, body: npt.NDArray[Any]) -> None:
        self.body = body

    @property
    def size(self) -> int:
        return self.body.size

    def __getitem__(self, rows: slice) -> DeviceArray:
        return DeviceArray(self.body[rows])

    def view(self, dtype: Any) -> DeviceArray:
        return DeviceArray(self.body.view(dtype))

    def copy_to_device(self, source: npt.NDArray[Any]) -> None:
        assert source.size == self.size
        self.body[...] = source

    def copy_to_host(self, out: npt.NDArray[Any]) -> None:
        assert out.size == self.size
        out[...] = self.body


def resident(threads: int, shared: int) -> int:
    return RESIDENT


class Kernel:
    """A kernel, and what was done with it."""

    def __init__(self, py_func: Callable[..., None]) -> None:
        self.py_func = py_func
        self.compiled: list[tuple[str, ...]] = []
        self.launches: list[tuple[int, int]] = []  # blocks, and the bytes that each shares

    def enable_caching(self) -> None:
        """Keep nothing."""

    def typeof_pyval(self, value: object) -> str:
        return type(value).__name__

    def compile(self, types: tuple[str, ...]) -> SimpleNamespace:
        self.compiled.append(types)
        return SimpleNamespace(bind=lambda: None, max_cooperative_grid_blocks=resident)

    def __getitem__(self, config: tuple[int, int, int, int]) -> Callable[..., None]:
        blocks, _, _, shared = config

        def launched(*args: Any) -> None:
            self.launches.append((blocks, shared))
            self.py_func(*args)

        return launched


kernel = Kernel


class Cuda:
    """The functions of ``numba.cuda``; an arena of more bytes than ``room`` fails."""

    jit = Kernel

    def __init__(self, room: int = 1 << 20) -> None:
        self.room = room
        self.waited = 0

    def get_current_device(self) -> SimpleNamespace:
        return SimpleNamespace(name=b"fake", COOPERATIVE_LAUNCH=1, MULTIPROCESSOR_COUNT=8)

    def device_array(self, count: int, dtype: Any) -> DeviceArray:
        if count > self.room:
            raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        return DeviceArray(np.zeros(count, dtype))

    def to_device(self, source: npt.NDArray[Any]) -> DeviceArray:
        return DeviceArray(source.copy())

    def synchronize(self) -> None:
        self.waited += 1


def integers(given: Sequence[str]) -> int:
    """How many int64 a kernel was compiled for, behind its arrays."""
    return sum(name == "int64" for name in given)
