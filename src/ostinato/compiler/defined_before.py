"""Programs that were proved to be defined before: isl is not asked twice.

The proof of a training loop takes longer than loading its machine code, and depends on the graph
alone. One small file per program is kept in the cache directory: the least extents it needs, and
whether it reads expressions outside their box.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard, cast

from ostinato.compiler.code_digest import code_digest
from ostinato.pdg.node import Pdg
from ostinato.pdg.text.fingerprint import fingerprint
from ostinato.runtime.cache.eviction import CHECKS
from ostinato.runtime.disk import sealed, trust
from ostinato.runtime.disk.folder import ready_root, require_place, root

LARGE = 200  # nodes: a smaller program is proved faster than files are found


def once(pdg: Pdg, prove: Callable[[Pdg], Pdg]) -> Pdg:
    """Return what ``prove`` makes of a program, or made of an equal one in another process.

    Errors: those of ``prove``.
    """
    if len(pdg.nodes()) < LARGE:
        return prove(pdg)
    key = fingerprint(pdg, code_digest())
    place = root() / CHECKS / key[:2] / key
    try:
        require_place(place.parent)
        return _as_found(pdg, place)
    except (FileNotFoundError, NotADirectoryError):
        pass  # nobody proved it before
    except OSError as failure:
        trust.not_read(failure, f"a proof that was kept is made again: {place}")
    except ValueError as failure:
        trust.warn_once(f"a proof that was kept is made again: {place} is not used: {failure}")
    found = prove(pdg)
    _keep(place, found)
    return found


def _as_found(pdg: Pdg, place: Path) -> Pdg:
    """The program with what was kept of its proof. Reading counts as use."""
    found = json.loads(sealed.read(place, place.name))
    match found:
        case {"least": least, "outside": bool(outside)} if _are_sizes(least):
            with suppress(OSError):  # a cache that can only be read does not count uses
                os.utime(place)
            return replace(pdg, minimum_extents=least, reads_outside=outside)
        case _:
            raise ValueError(f"{place} is damaged")


def _are_sizes(found: object) -> TypeGuard[dict[str, int]]:
    if not isinstance(found, dict):
        return False
    return all(isinstance(size, int) for size in cast(dict[str, object], found).values())


def _keep(place: Path, found: Pdg) -> None:
    try:
        ready_root()
        kept = {"least": dict(found.minimum_extents), "outside": found.reads_outside}
        sealed.write(place, place.name, json.dumps(kept).encode())
    except OSError as failure:
        trust.not_cached(failure)
