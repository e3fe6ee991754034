"""How many processors this process may use: its affinity, and the CPU quota of its cgroups."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

FRESH_S = 1.0  # how long an answer is not asked for again


def available_cores() -> int:
    """The number of processors that this process may use, which may change while it runs."""
    now = time.monotonic()
    if not _known or now - _known[0][0] > FRESH_S:
        _known[:] = [(now, _cores())]
    return _known[0][1]


_known: list[tuple[float, int]] = []


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    found = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    limit = quota()
    return found if limit is None else max(1, min(found, int(limit + 0.5)))


def quota(process: Path = Path("/proc/self"), root: Path = Path("/")) -> float | None:
    """The processors that the cgroups of a process may use together; None without a limit.

    That is the least of its own group's quota and those of the groups around it.
    """
    try:
        groups = (process / "cgroup").read_text().splitlines()
        mounts = (process / "mountinfo").read_text().splitlines()
    except OSError:
        return None
    limits = [
        limit
        for folder in _folders(groups, mounts)
        if (limit := _limit(root / folder.lstrip("/"))) is not None
    ]
    return min(limits, default=None)


def _folders(groups: list[str], mounts: list[str]) -> Iterator[str]:
    """Where the group of a process and those around it are mounted."""
    for mount in mounts:
        before, _, after = mount.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        if kind[0] == "cgroup" and "cpu" not in kind[2].split(","):
            continue
        path = _group(groups, "" if kind[0] == "cgroup2" else "cpu")
        inside = _below(path, fields[3])
        for part in (inside, *inside.parents):
            yield str(PurePosixPath(fields[4]) / part)


def _group(groups: list[str], controller: str) -> str:
    """The path of a process's group for a controller; for "" that of the one hierarchy."""
    for line in groups:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return path
    return "/"


def _below(path: str, mounted: str) -> PurePosixPath:
    """A group's path below the mounted one; the mounted one if it lies elsewhere."""
    try:
        return PurePosixPath(path).relative_to(mounted)
    except ValueError:
        return PurePosixPath()


def _limit(folder: Path) -> float | None:
    """The quota of one group in processors: ``cpu.max``, or that of the first version."""
    both = _words(folder / "cpu.max")
    if not both:
        both = [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
    try:
        allowed, period = (int(word) for word in both)
    except ValueError:
        return None  # "max", or no such files
    return allowed / period if allowed > 0 and period > 0 else None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
