"""Machine code on disk, one file for each kernel, found by its content.

The name of a file is a digest of the LLVM module that it was made from, the machine and the
compiler: programs with an equal kernel share its code. The first line of a file is a digest of
its name and the rest.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from ostinato.runtime.disk import folder, trust

FOLDER = "objects"


def path_of(key: str) -> Path:
    """Where the object with this key is or will be."""
    return folder.root() / FOLDER / key[:2] / f"{key}.o"


def _head(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + body).hexdigest().encode()


def load(key: str) -> bytes | None:
    """The machine code with this key, or None if there is none that can be trusted.

    Reading counts as use. A damaged or foreign file is told once, and made again.
    """
    path = path_of(key)
    try:
        folder.require_place(path.parent)
        head, _, body = trust.read(path).partition(b"\n")
        if head != _head(key, body):
            raise ValueError("its digest is wrong")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as failure:
        trust.not_read(failure, f"the cached kernel {key} is compiled again")
        return None
    except ValueError as failure:
        trust.warn_once(f"the cached kernel {key} is not used ({failure}): compiled again")
        return None
    with suppress(OSError):  # a cache that can only be read does not count uses
        os.utime(path)
    return body


def store(key: str, body: bytes) -> None:
    """Keep machine code; a cache that cannot be written is told once."""
    try:
        folder.ready_root()
        trust.write(path_of(key), _head(key, body) + b"\n" + body)
    except OSError as failure:
        trust.not_cached(failure)
