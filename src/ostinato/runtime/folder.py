"""The cache directory: where it is, whether it can be trusted, and how large it may become."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ostinato.pdg.errors import OptionError
from ostinato.runtime import trust

VARIABLE = "OSTINATO_CACHE_DIR"
SIZE_VARIABLE = "OSTINATO_CACHE_SIZE"
DEFAULT_SIZE = "1G"
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def root() -> Path:
    """The cache directory: ``$OSTINATO_CACHE_DIR``, or ``~/.cache/ostinato``."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else Path.home() / ".cache" / "ostinato"


def require_root() -> Path:
    """The cache directory, if it is this user's or can become so.

    Errors: ForeignError.
    """
    place = root()
    try:
        trust.require_own(place, place.stat())
    except (FileNotFoundError, NotADirectoryError):
        pass
    return place


def size_limit() -> int:
    """How many bytes programs and kernels may take: ``$OSTINATO_CACHE_SIZE``, or 1 GiB.

    Errors: OptionError if the variable holds no size.
    """
    text = os.environ.get(SIZE_VARIABLE) or DEFAULT_SIZE
    found = re.fullmatch(r"(\d+)([KMGT]?)", text.strip())
    if found is None:
        remedy = "Use a number of bytes, or of KiB, MiB, GiB, such as 500M or 2G."
        raise OptionError(f"{SIZE_VARIABLE} is `{text}`", remedy)
    return int(found[1]) * _UNITS[found[2]]
