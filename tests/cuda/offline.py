"""Kernels compiled for devices that are not there: PTX, and what ptxas reports of it."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import types as python_types
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock


@dataclass(frozen=True)
class Report:
    """What a kernel takes of a multiprocessor."""

    registers: int
    stack_bytes: int
    spilled_bytes: int
    shared_bytes: int


def lacks() -> str:
    """Why nothing can be compiled here; "" if it can."""
    try:
        nvvm = importlib.import_module("numba.cuda.cudadrv.nvvm")
        importlib.import_module("numba_cuda")
        nvvm.NVVM()
        importlib.import_module("numba.cuda.libdevice")
        importlib.import_module("cuda.bindings.nvrtc").nvrtcVersion()
    except Exception as failure:
        return f"numba-cuda with nvvm and nvrtc is not installed ({type(failure).__name__})"
    return ""


@contextmanager
def pretended(capability: tuple[int, int]) -> Generator[None]:
    """Let Numba compile as if a device of that kind were there: device functions ask for one."""
    device = python_types.SimpleNamespace(compute_capability=capability)
    with mock.patch("numba.cuda.dispatcher.get_current_device", lambda: device):
        yield


def ptx(source: str, kernel: str, integers: int, capability: tuple[int, int]) -> str:
    """A kernel of a generated module as PTX; ``integers`` is the number of its int64 arguments."""
    cuda: Any = importlib.import_module("numba.cuda")
    types: Any = importlib.import_module("numba.core.types")
    scope: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, "<generated>", "exec"), scope)
    made = scope["Arena"]
    names = {"bool": "uint8", "met": "uint32"}
    views = [getattr(types, names.get(n, n))[::1] for n in map(str, made._fields)]
    words = types.int64[::1]
    arrays = [words, words] if kernel == "main" else [words]
    given = (types.NamedTuple(views, made), *arrays, *[types.int64] * integers)
    with pretended(capability):
        found: tuple[str, object] = cuda.compile_ptx(
            scope[kernel].py_func, given, cc=capability, device=kernel.startswith("k")
        )
    return found[0]


def ptxas() -> str | None:
    """Where the assembler is, if it is: the one of the packages is as new as their PTX."""
    beside = [Path(p) for p in importlib.import_module("nvidia").__path__]
    inside = (found for place in beside for found in place.glob("*/bin/ptxas"))
    return next((str(p) for p in inside), None) or shutil.which("ptxas")


_USED = re.compile(r"Used (\d+) registers")
_SMEM = re.compile(r"(\d+) bytes smem")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def report(text: str, capability: tuple[int, int], folder: Path) -> Report:
    """What ptxas says of the kernel in PTX."""
    tool, source = ptxas(), folder / "kernel.ptx"
    assert tool is not None, "no assembler"
    source.write_text(text)
    kind = f"-arch=sm_{capability[0]}{capability[1]}"
    out = subprocess.run(
        [tool, kind, "-v", "-c", str(source), "-o", str(folder / "kernel.o")],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    stack, stores, loads = map(int, _one(_STACK, out))
    shared = _SMEM.search(out)
    return Report(int(_one(_USED, out)[0]), stack, stores + loads, int(shared[1]) if shared else 0)


def _one(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = pattern.search(text)
    assert found is not None, f"ptxas does not say {pattern.pattern}: {text}"
    return found.groups()
