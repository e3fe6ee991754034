"""Programs that were proved to be defined before: isl is not asked twice.

The proof of a training loop takes longer than loading its machine code, and depends on the graph
alone. One small file per program is kept in the cache directory: the least extents it needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from ostinato.pdg.fingerprint import fingerprint
from ostinato.pdg.node import Pdg
from ostinato.runtime import trust
from ostinato.runtime.folder import require_root, root
from ostinato.runtime.kept import CHECKS
from ostinato.stages import code_digest

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
        require_root()
        return _as_found(pdg, place)
    except FileNotFoundError:
        pass  # nobody proved it before
    except (OSError, ValueError) as failure:
        trust.warn_once(f"a proof that was kept is made again: {failure}")
    found = prove(pdg)
    _keep(place, found)
    return found


def _as_found(pdg: Pdg, place: Path) -> Pdg:
    """The program with the least extents that were kept. Reading counts as use."""
    found = json.loads(trust.read(place))
    if not isinstance(found, dict):
        raise ValueError(f"{place} is damaged")
    least = cast(dict[str, object], found)
    if not all(isinstance(size, int) for size in least.values()):
        raise ValueError(f"{place} is damaged")
    os.utime(place)
    return replace(pdg, minimum_extents=cast(dict[str, int], least)) if least else pdg


def _keep(place: Path, found: Pdg) -> None:
    try:
        trust.write(place, json.dumps(dict(found.minimum_extents)).encode())
    except OSError as failure:
        trust.warn_once(f"nothing is cached: {failure}")
