"""A CUDA device through Numba CUDA: one allocation for the arena, and launches on one stream."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from ostinato.pdg.errors import MemoryLimitError, OptionError, OstinatoError
from ostinato.pdg.philox import seed_key
from ostinato.runtime.machine_code.source_module import FILE
from ostinato.runtime.run.device import Arguments, Bytes, Device, Note, Wait, form

OLDEST = (7, 0)  # of the devices whose threads meet at barriers of their own
WORD = 8  # bytes: the arena is as long as a whole number of them
LAUNCHES = 20  # of which the least says what one takes by itself
Launch = Callable[[Any, int, Sequence[Any]], None]  # a kernel, blocks, arguments


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


class Taken(NamedTuple):
    """Arrays on the device that a kernel takes besides the arena."""

    table: Any
    words: Any


class CudaMemory:
    """An allocation on the device, as the arena of runs one after the other."""

    def __init__(self, module: CudaModule, size_bytes: int) -> None:
        """Allocate it.

        Errors: MemoryLimitError.
        """
        self.module = module
        count = -(-max(size_bytes, 1) // WORD) * WORD
        with reported(size_bytes):
            self.whole = module.cuda.device_array(count, np.uint8)
        self.views = module.views(self.whole)

    @property
    def size_bytes(self) -> int:
        return int(self.whole.size)

    def put(self, first: int, body: Bytes) -> None:
        with reported(self.size_bytes):
            self.whole[first : first + body.size].copy_to_device(body)

    def take(self, first: int, out: Bytes) -> None:
        with reported(self.size_bytes):
            self.whole[first : first + out.size].copy_to_host(out)

    def run(self, given: Arguments) -> Wait:
        """Begin to run the driver, or run it if the host decides what is next.

        Errors: MemoryLimitError, OptionError for what the device or its driver report.
        """
        with reported(self.size_bytes), self.module.taken:
            if not self.module.is_cooperative:
                self.module.apart(self.views, given, self.module.launch)
                return lambda: None
            taken = self.module.together(self.views, given)  # they stay until the kernel has ended

        def wait() -> None:
            with reported(self.size_bytes):
                taken.words.copy_to_host(given.control)

        return wait

    def run_apart(self, given: Arguments, note: Note) -> None:
        """Run the driver with a launch for each phase, by the clock of the host.

        Errors: as `run`.
        """
        module = self.module

        def launch(kernel: Any, blocks: int, args: Sequence[Any]) -> None:
            begun = time.perf_counter_ns()
            module.launch(kernel, blocks, args)
            module.cuda.synchronize()
            note(kernel.py_func.__name__, begun, time.perf_counter_ns())

        with reported(self.size_bytes), module.taken:
            module.apart(self.views, given, launch)


@contextmanager
def reported(size_bytes: int) -> Generator[None]:
    """Raise what a device, its driver or a linker report as an error of ours.

    Errors: MemoryLimitError, OptionError.
    """
    try:
        yield
    except OstinatoError:
        raise
    except Exception as failure:
        if "OUT_OF_MEMORY" in str(failure):
            fact = f"the run takes {size_bytes:,} bytes, more than are free on the device"
            remedy = "Pass smaller extents, or compile with memory_limit=."
            raise MemoryLimitError(fact, remedy) from failure
        fact = f"the device failed: {type(failure).__name__}: {failure}"
        remedy = 'Report the program, and compile it with target="cpu".'
        raise OptionError(fact, remedy) from failure


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
        self.launchers: dict[tuple[str, int], Any] = {}
        self.taken = Lock()  # by one run at a time: Numba compiles a kernel once
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

    def memory(self, size_bytes: int) -> CudaMemory:
        return CudaMemory(self, size_bytes)

    def views(self, whole: Any) -> Any:
        """The arena as an array of each type."""
        made = self.scope["Arena"]
        types = ("uint8" if name == "bool" else name for name in made._fields[:-1])
        met = self.cuda.to_device(np.zeros(1, np.uint32))
        return made(*(whole.view(np.dtype(name)) for name in types), met)

    def compiled(self, kernel: Any, args: Sequence[Any]) -> Any:
        """The machine code of a kernel for arguments of these types."""
        return kernel.compile(tuple([kernel.typeof_pyval(each) for each in args]))

    def ready_apart(self) -> int:
        """Compile every phase, and return the least time of some launches that do nothing.

        Errors: as `run`.
        """

        def nothing(memory: object) -> None:
            pass

        with reported(WORD), self.taken:
            views = self.memory(WORD).views
            table, kernels = self.cuda.to_device(np.zeros(1, np.int64)), self.kernels()
            for kernel in kernels:
                if kernel.py_func.__name__ != "main":
                    integers = kernel.py_func.__code__.co_argcount - 2  # of arena and table
                    args = (views, table, *[np.int64(0)] * integers)
                    self.compiled(kernel, args).bind()
            empty, taken = self.cuda.jit(nothing), list[int]()
            for _ in range(LAUNCHES):
                begun = time.perf_counter_ns()
                self.launch(empty, 1, (views,))
                self.cuda.synchronize()
                taken.append(time.perf_counter_ns() - begun)
        return min(taken)

    def together(self, views: Any, given: Arguments) -> Taken:
        """One cooperative launch of no more blocks than are resident; it goes on meanwhile."""
        taken = Taken(self.cuda.to_device(given.table), self.cuda.to_device(given.control))
        integers = [np.int64(n) for n in (given.stride, given.seed, *given.extents)]
        args = (views, *taken, *integers)
        main = self.scope["main"]
        if (main.py_func.__name__, given.blocks) not in self.launchers:
            self.require_resident(main, args, given.blocks)
        self.launch(main, given.blocks, args)
        return taken

    def require_resident(self, kernel: Any, args: Sequence[Any], blocks: int) -> None:
        """Raise OptionError if the device does not run so many blocks at once."""
        threads, shared = self.scope["THREADS"], self.scope["SHARED"]
        compiled = self.compiled(kernel, args)
        compiled.cooperative = True  # Numba sees only that of kernels with barriers of its own
        most = int(compiled.max_cooperative_grid_blocks(threads, shared))
        if most < blocks:
            asked = f"{blocks} are asked"
            fact = f"the device runs {most} blocks of this kernel at once, and {asked}"
            raise OptionError(fact, f"Compile with threads={max(1, most)}.")

    def apart(self, views: Any, given: Arguments, launch: Launch) -> None:
        """A launch for each phase; the host decides which one is next."""
        table = self.cuda.to_device(given.table)

        def phase(kernel: Any, items: int, args: Sequence[int]) -> None:
            blocks = max(1, min(given.blocks, int(items)))
            integers = [np.int64(n) for n in (given.stride, *args)]
            launch(kernel, blocks, (views, table, *integers))

        key = (seed_key(given.seed) + 2**63) % 2**64 - 2**63  # as an int64
        run: Callable[..., None] = self.scope["run"]
        run(phase, self.cuda.synchronize, given.control, given.blocks, key, *given.extents)
        self.cuda.synchronize()

    def launch(self, kernel: Any, blocks: int, args: Sequence[Any]) -> None:
        """Launch a kernel for a grid. Numba warns of small ones, which few rows need."""
        key = kernel.py_func.__name__, blocks
        threads, shared = self.scope["THREADS"], self.scope["SHARED"]
        if key not in self.launchers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.launchers[key] = kernel[blocks, threads, 0, shared]
        self.launchers[key](*args)
