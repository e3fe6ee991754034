"""Programs that were proved to be defined before: isl is not asked twice.

The proof takes a third of a second for a training loop, and depends on the graph alone. One small
file per program is kept in the cache directory: the least extents that the program needs.
"""

from __future__ import annotations

import json
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
        found = prove(pdg)
        _keep(place, found)
        return found
    except (OSError, ValueError) as failure:
        trust.warn_once(f"a proof that was kept is made again: {failure}")
        return prove(pdg)


def _as_found(pdg: Pdg, place: Path) -> Pdg:
    found = json.loads(trust.read(place))
    if not isinstance(found, dict):
        raise ValueError(f"{place} is damaged")
    least = {str(name): int(size) for name, size in cast(dict[str, int], found).items()}
    return replace(pdg, minimum_extents=least) if least else pdg


def _keep(place: Path, found: Pdg) -> None:
    try:
        trust.write(place, json.dumps(dict(found.minimum_extents)).encode())
    except OSError as failure:
        trust.warn_once(f"nothing is cached: {failure}")
