"""The environments of the peers: optional, with pinned versions, one folder each.

A peer named ``jax`` is described by ``bench/peers/requirements-jax.txt`` and is looked for in
``FOLDER/jax``, which `make peers` fills, then in the Python that runs the benchmark.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-peers"
REQUIREMENTS = ROOT / "bench" / "peers"

# Prints the versions of the packages it is given, or of which one there is none.
_ASK = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        found = {"missing": name}
        break
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A Python that can run a peer's programs, and the versions of its packages."""

    python: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer that cannot run here, and why, in one line."""

    reason: str


@cache
def find(name: str, folder: Path = FOLDER) -> Peer | Missing:
    """Return where a peer runs. The peer without a name is ostinato's own environment."""
    if not name:
        return Peer(sys.executable, {})
    packages = required(name)
    own = folder / name / "bin" / "python"
    reasons: list[str] = []
    for python in (str(own) if own.is_file() else "", sys.executable):
        if python:
            found = versions(python, packages)
            if "missing" not in found:
                return Peer(python, found)
            reasons.append(found["missing"])
    return Missing(f"{name} is left out: {reasons[0]} is not installed (make peers PEERS={name})")


def required(name: str) -> tuple[str, ...]:
    """Return the packages that a peer's requirements file pins, without their versions."""
    lines = (REQUIREMENTS / f"requirements-{name}.txt").read_text().splitlines()
    texts = [line.partition("#")[0].strip() for line in lines]
    names = (text.partition("==")[0] for text in texts if text and not text.startswith("-"))
    return tuple(name.partition("[")[0] for name in names)  # jax-cuda12-plugin[with-cuda]


def versions(python: str, packages: tuple[str, ...]) -> dict[str, str]:
    """Return the version of every package, or only ``missing`` with the first that is not there."""
    command = [python, "-c", _ASK, *packages]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    found: dict[str, str] = json.loads(answer)
    return found
