"""An arena of which a part lies in a file that has no name.

The file is mapped behind the memory, so compiled code reads and writes it by address. The system
writes pages out when memory is short, and a page that is read is there before the read goes on: no
value is read before it is back. The file is unlinked as soon as it is open, so nothing is left of
it when the process ends, however it ends. All of its room is reserved before a run begins, so that
a full disk is an error and no signal in the middle of a run.

What leaves memory stays in the system's cache of the disk as long as there is room. With
`OSTINATO_SPILL_CACHE=0` it is written and dropped there too, as others may need the memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import warnings
import weakref
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ostinato.pdg.errors import MemoryLimitError

MAPPED = 1 << 16  # as in `ostinato.codegen.planning.arena`
FOLDER = "OSTINATO_SPILL_DIR"
CACHE = "OSTINATO_SPILL_CACHE"  # 0: nothing of the file stays in the system's cache
WRITTEN = 4  # of msync: return when all is on the disk
FIXED = 0x10  # mmap at the address that is given, on every system that has it
NOWHERE = -1
BLOCK = 1 << 20  # bytes that are written at once where a system reserves no room
MOUNTS = Path("/proc/self/mounts")  # where Linux says what keeps the files of a folder
IN_MEMORY = ("tmpfs", "ramfs")
POPULATE = 22  # advice to read pages and to map them, of Linux from 5.14 on
FAILED = ctypes.c_void_p(-1).value

# Files to be dropped from the cache, by where they are mapped.
_files: dict[int, int] = {}


def spilled_arena(
    total_bytes: int, memory_bytes: int, extents: Mapping[str, int]
) -> npt.NDArray[np.uint8]:
    """Return bytes of which those behind the first ``memory_bytes`` lie in a file.

    The file begins at the next multiple of 64 KiB, as its part of a layout does.

    Errors: MemoryLimitError if there is no room for the file, or no memory.
    """
    start = first_byte(memory_bytes)
    file = _reserved(total_bytes - start, extents)
    try:
        address = _mapped(0, total_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, NOWHERE, extents)
        _mapped(address + start, total_bytes - start, mmap.MAP_SHARED | FIXED, file, extents)
        _advise(address + start, total_bytes - start, "MADV_RANDOM")
    except MemoryLimitError:
        os.close(file)
        raise
    if os.environ.get(CACHE) == "0" and hasattr(os, "posix_fadvise"):
        _files[address + start] = file
    else:
        os.close(file)  # the mapping keeps it
    made = np.ctypeslib.as_array((ctypes.c_uint8 * total_bytes).from_address(address))
    weakref.finalize(
        made.base if made.base is not None else made, _unmap, address, start, total_bytes
    )
    return made


def first_byte(memory_bytes: int) -> int:
    """Where the part of an arena begins that lies in a file."""
    return -(-memory_bytes // MAPPED) * MAPPED


def forget(address: int, size_bytes: int, start: int) -> None:
    """Take pages of a mapped file out of the memory of the process; what was written stays.

    The file is mapped from ``start`` on.
    """
    file = _files.get(start)
    if file is not None:
        _system().msync(address, size_bytes, WRITTEN)
    _advise(address, size_bytes, "MADV_DONTNEED")
    if file is not None:
        os.posix_fadvise(file, address - start, size_bytes, os.POSIX_FADV_DONTNEED)


def bring(address: int, size_bytes: int) -> None:
    """Take pages of a mapped file into the memory of the process, from the disk if need be."""
    _advise(address, size_bytes, "MADV_WILLNEED")  # reads all of them at once
    _system().madvise(address, size_bytes, POPULATE)  # where a system has none, reads map them


def _advise(address: int, size_bytes: int, name: str) -> None:
    """Advise the system, if it knows the advice.

    Read at random, a file is kept in single pages: of larger ones a process gets all, whatever it
    touches.
    """
    advice = getattr(mmap, name, None)
    if advice is not None:
        _system().madvise(address, size_bytes, advice)


def _reserved(size_bytes: int, extents: Mapping[str, int]) -> int:
    """An open file without a name that has room for so many bytes."""
    folder = os.environ.get(FOLDER) or tempfile.gettempdir()
    try:
        file, path = tempfile.mkstemp(prefix="ostinato-spill-", dir=folder)
    except OSError as failure:
        raise _no_room(size_bytes, folder, failure, extents) from None
    os.unlink(path)
    _tell_if_in_memory(folder)
    try:
        _reserve(file, size_bytes)
    except OSError as failure:
        os.close(file)
        raise _no_room(size_bytes, folder, failure, extents) from None
    return file


@cache
def _tell_if_in_memory(folder: str) -> None:
    """Warn, once, where what lies in a file takes memory all the same."""
    if not MOUNTS.exists():
        return
    rows = (line.split() for line in MOUNTS.read_text(encoding="utf-8").splitlines())
    kinds = {Path(row[1]): row[2] for row in rows}
    place = Path(folder).resolve()
    kind = next((kinds[p] for p in (place, *place.parents) if p in kinds), "")
    if kind in IN_MEMORY:
        fact = f"{folder} is kept in memory ({kind}): what lies in a file there takes memory, too"
        warnings.warn(f"{fact}. Name a folder on a disk in {FOLDER}.", stacklevel=2)


def _reserve(file: int, size_bytes: int) -> None:
    """Give a file its room on the disk."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size_bytes)
        return
    block = bytes(BLOCK)
    for at in range(0, size_bytes, BLOCK):
        os.pwrite(file, block[: size_bytes - at], at)


def _no_room(
    size_bytes: int, folder: str, failure: OSError, extents: Mapping[str, int]
) -> MemoryLimitError:
    at = ", ".join(f"{name}={n}" for name, n in sorted(extents.items()))
    fact = (
        f"the run at {at} keeps {size_bytes:,} bytes in a file, which {folder} has no room for: "
        f"{failure.strerror}"
    )
    remedy = f"Name a folder with more room in {FOLDER}, or compile with a larger memory_limit."
    return MemoryLimitError(fact, remedy)


def _mapped(
    address: int, size_bytes: int, flags: int, file: int, extents: Mapping[str, int]
) -> int:
    access = mmap.PROT_READ | mmap.PROT_WRITE
    found: int | None = _system().mmap(address or None, size_bytes, access, flags, file, 0)
    if found is None or found == FAILED:
        number = ctypes.get_errno()
        failure = OSError(number, os.strerror(number))
        raise _no_room(size_bytes, "this process", failure, extents)
    return found


def _unmap(address: int, start: int, size_bytes: int) -> None:
    file = _files.pop(address + start, None)
    _system().munmap(address, size_bytes)
    if file is not None:
        os.close(file)


@cache
def _system() -> ctypes.CDLL:
    found = ctypes.CDLL(None, use_errno=True)
    found.mmap.restype = ctypes.c_void_p
    found.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    )  # fmt: skip
    found.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    found.msync.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    found.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return found
