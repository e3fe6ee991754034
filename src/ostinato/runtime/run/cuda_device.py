"""A CUDA device through Numba CUDA: one allocation for the arena, and launches on one stream."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.pdg.errors import MemoryLimitError, OptionError, OstinatoError
from ostinato.runtime.machine_code.source_module import FILE
from ostinato.runtime.run.device import Copied, Device, form

OLDEST = (7, 0)  # of the devices whose threads meet at barriers of their own
WORD = 8  # bytes: the arena is as long as a whole number of them


def missing() -> str:
    """What a CUDA target lacks on this machine; "" if nothing."""
    try:
        version("numba-cuda")
    except PackageNotFoundError:
        return "the package numba-cuda is not installed"
    return _unavailable()


def find() -> Device:
    """The device of this machine.

    Errors: OptionError.
    """
    if lacks := missing():
        remedy = (
            "Install ostinato[cuda12] or ostinato[cuda13] on a machine with an NVIDIA GPU and its "
            'driver, or compile with target="cpu".'
        )
        raise OptionError(f'target="cuda" cannot run here: {lacks}', remedy)
    return CudaDevice()


def _unavailable() -> str:
    """Why Numba CUDA cannot run anything here; "" if it can."""
    try:
        cuda = _cuda()
        if not cuda.is_available():
            return "no NVIDIA driver or no GPU was found"
        found: tuple[int, int] = cuda.get_current_device().compute_capability
    except Exception as failure:  # of a driver, or of a library that it needs
        return f"Numba CUDA fails ({type(failure).__name__}: {failure})"
    if found < OLDEST:
        return f"the GPU has compute capability {found[0]}.{found[1]}, and 7.0 is needed"
    return ""


def _cuda() -> Any:
    return importlib.import_module("numba.cuda")


def _has_bytes(of: Copied) -> bool:
    return of.end > of.first


class CudaDevice:
    """The current device of Numba CUDA."""

    def __init__(self) -> None:
        self.cuda = _cuda()
        self.current = self.cuda.get_current_device()

    @property
    def name(self) -> str:
        name = self.current.name
        return name.decode() if isinstance(name, bytes) else str(name)

    @property
    def memory_bytes(self) -> int:
        return int(self.cuda.current_context().get_memory_info().total)

    def load(self, source: str, directory: Path | None) -> CudaModule:
        return CudaModule(self, source, directory)


class CudaModule:
    """The kernels of a program, which its first run compiles for the types that they take.

    Numba keeps the machine code beside the source in ``directory``, if there is one.
    """

    def __init__(self, device: CudaDevice, source: str, directory: Path | None) -> None:
        self.device, self.cuda = device, device.cuda
        self.scope: dict[str, Any] = {"__name__": "ostinato.generated"}
        file = "<program for CUDA>" if directory is None else str(directory / FILE)
        exec(compile(source, file, "exec"), self.scope)
        for kernel in self.kernels() if directory is not None else ():
            kernel.enable_caching()
        self.arena: Any = None
        self.launchers: dict[tuple[str, int], Any] = {}
        self.taken = Lock()  # by one run at a time: all use the same arena
        can_cooperate = bool(device.current.COOPERATIVE_LAUNCH)
        phases = self.scope["PHASES"], self.scope["REPEATS"]
        self.is_cooperative, self.form = form(*phases, can_cooperate)

    def kernels(self) -> list[Any]:
        """The functions that the host may launch."""
        return [x for name, x in self.scope.items() if name == "main" or name.startswith("phase_")]

    @property
    def blocks(self) -> int:
        """As many as the multiprocessors of the device: a launch asks how many are resident."""
        return int(self.device.current.MULTIPROCESSOR_COUNT)

    def run(
        self,
        arena: npt.NDArray[np.uint8],
        there: Sequence[Copied],
        back: Sequence[Copied],
        table: npt.NDArray[np.int64],
        control: npt.NDArray[np.int64],
        stride: int,
        seed: int,
        blocks: int,
        extents: Mapping[str, int],
    ) -> None:
        """Run the driver.

        Errors: MemoryLimitError; OptionError for what the device or its driver reports.
        """
        try:
            with self.taken:
                whole = self.allocated(arena.size)
                for first, end in filter(_has_bytes, there):
                    whole[first:end].copy_to_device(arena[first:end])
                memory = self.views(whole)
                at, words = self.cuda.to_device(table), self.cuda.to_device(control)
                sizes = [np.int64(n) for n in extents.values()]
                if self.is_cooperative:
                    self.together(blocks, memory, at, words, stride, seed, sizes)
                    words.copy_to_host(control)
                else:
                    self.apart(blocks, memory, at, control, stride, seed, sizes)
                self.cuda.synchronize()
                for first, end in filter(_has_bytes, back):
                    whole[first:end].copy_to_host(arena[first:end])
        except OstinatoError:
            raise
        except Exception as failure:  # whatever driver, linker or launch report
            raise self.told(failure, arena.size) from failure

    def told(self, failure: Exception, size_bytes: int) -> Exception:
        """The failure of a device as an error of ours."""
        if "OUT_OF_MEMORY" in str(failure):
            fact = f"the run takes {size_bytes:,} bytes, more than are free on the device"
            return MemoryLimitError(fact, "Pass smaller extents, or compile with memory_limit=.")
        fact = f"the device failed: {type(failure).__name__}: {failure}"
        return OptionError(fact, 'Report the program, and compile it with target="cpu".')

    def allocated(self, size_bytes: int) -> Any:
        """The arena on the device, which is kept for the next run."""
        if self.arena is None or self.arena.size < size_bytes:
            self.arena = None
            count = -(-max(size_bytes, 1) // WORD) * WORD
            self.arena = self.cuda.device_array(count, np.uint8)
        return self.arena

    def views(self, whole: Any) -> Any:
        """The arena as an array of each type."""
        made = self.scope["Arena"]
        types = ("uint8" if name == "bool" else name for name in made._fields[:-1])
        met = self.cuda.to_device(np.zeros(1, np.uint32))
        return made(*(whole.view(np.dtype(name)) for name in types), met)

    def together(
        self,
        blocks: int,
        memory: Any,
        at: Any,
        words: Any,
        stride: int,
        seed: int,
        sizes: Sequence[np.int64],
    ) -> None:
        """One cooperative launch of no more blocks than are resident."""
        args = (memory, at, words, np.int64(stride), np.int64(seed), *sizes)
        main = self.scope["main"]
        compiled = main.compile(tuple(main.typeof_pyval(x) for x in args))
        compiled.cooperative = True  # Numba sees only that of kernels with barriers of its own
        threads, shared = self.scope["THREADS"], self.scope["SHARED"]
        most = int(compiled.max_cooperative_grid_blocks(threads, shared))
        if most < blocks:
            fact = f"the device runs {most} blocks of this kernel at once, and {blocks} are asked"
            raise OptionError(fact, f"Compile with threads={max(1, most)}.")
        self.launcher(main, blocks)(*args)

    def launcher(self, kernel: Any, blocks: int) -> Any:
        """A kernel for a grid. Numba warns of small ones, which few rows need."""
        key = kernel.py_func.__name__, blocks
        threads, shared = self.scope["THREADS"], self.scope["SHARED"]
        if key not in self.launchers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.launchers[key] = kernel[blocks, threads, 0, shared]
        return self.launchers[key]

    def apart(
        self,
        blocks: int,
        memory: Any,
        at: Any,
        control: npt.NDArray[np.int64],
        stride: int,
        seed: int,
        sizes: Sequence[np.int64],
    ) -> None:
        """A launch for each phase; the host decides which one is next."""

        def launch(kernel: Any, items: int, args: Sequence[int]) -> None:
            grid = max(1, min(blocks, int(items)))
            self.launcher(kernel, grid)(memory, at, np.int64(stride), *map(np.int64, args))

        key = (seed & 0xFFFFFFFF) ^ (seed >> 32 & 0xFFFFFFFF)
        run: Callable[..., None] = self.scope["run"]
        run(launch, self.cuda.synchronize, control, blocks, key, *map(int, sizes))
