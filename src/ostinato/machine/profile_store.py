"""Profiles on disk: one per machine, and which one prices the programs of this process."""

from __future__ import annotations

import os
import platform
import warnings
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from ostinato.machine.profile import Profile, from_json
from ostinato.pdg.errors import OptionError
from ostinato.runtime.cache.programs import digest, root
from ostinato.runtime.disk import trust
from ostinato.runtime.disk.folder import ready_root
from ostinato.runtime.run.cores import available_cores

VARIABLE = "OSTINATO_PROFILE"
DEFAULT = "default"
VERSIONED = ("numba", "llvmlite", "numpy")


@dataclass(frozen=True, slots=True)
class Found:
    """The profile in use and where it comes from; ``problem`` says why a stored one is not."""

    profile: Profile
    source: Literal["shipped", "measured", "given"]
    path: Path | None = None
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return self.problem
        if self.path is None:
            return "shipped default; `ostinato calibrate` measures this machine"
        return f"{self.profile.name} ({self.source}: {self.path})"


def processor() -> str:
    """The model of the processor."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def place() -> Path:
    """Where the profile of this machine is or will be: by processor, cores and versions."""
    return root() / "profiles" / f"{_machine(available_cores())}.json"


@cache
def _machine(cores: int) -> str:
    versions = (version(package) for package in VERSIONED)
    known = (f.name for f in fields(Profile))  # a profile of other numbers is another profile
    return digest(processor(), str(cores), *versions, *known)


def store(profile: Profile) -> Path:
    """Write the profile of this machine; a reader sees the old or the new one, never a part."""
    ready_root()
    path = place()
    trust.write(path, profile.to_json().encode())
    return path


def current() -> Found:
    """The profile that prices programs: the environment's choice, a measured one, or the default.

    ``OSTINATO_PROFILE`` is "default" or the path of a profile.
    Errors: OptionError if that file holds no profile.
    """
    return _found(os.environ.get(VARIABLE, ""), place())


def profile_in_use() -> Profile:
    """The profile of `current`; a stored one that cannot be read is said once."""
    found = current()
    if found.problem:
        _warn(found.problem)
    return found.profile


def forget() -> None:
    """Read stored profiles again: one has changed."""
    _found.cache_clear()


@cache
def _warn(problem: str) -> None:
    warnings.warn(problem, stacklevel=5)


@cache
def _found(chosen: str, stored: Path) -> Found:
    if chosen == DEFAULT:
        return Found(Profile(), "shipped")
    if chosen:
        return _given(Path(chosen))
    if not stored.is_file():
        return Found(Profile(), "shipped")
    try:
        return Found(from_json(trust.read(stored).decode()), "measured", stored)
    except (OSError, ValueError) as failure:
        fact = f"the profile {stored} cannot be read ({failure}): the shipped default prices"
        return Found(Profile(), "shipped", None, f"{fact}. Run `ostinato calibrate` again.")


def _given(path: Path) -> Found:
    try:
        return Found(from_json(path.read_text(encoding="utf-8")), "given", path)
    except (OSError, ValueError) as failure:
        remedy = f"Set {VARIABLE} to `{DEFAULT}`, or to a file of `ostinato calibrate --json`."
        problem = failure.strerror if isinstance(failure, OSError) else failure
        raise OptionError(f"{VARIABLE} names no profile, `{path}`: {problem}", remedy) from None
