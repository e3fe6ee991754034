"""What a reader needs to judge the figures of this machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("numpy", "numba", "llvmlite", "numba-cuda")
GPU = "name,driver_version,clocks.sm,clocks.max.sm,power.limit"  # as nvidia-smi calls them


def machine(peers: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return processor, cores, memory, load and versions; ``peers`` are versions of theirs."""
    return {
        "processor": processor(),
        "vectors": vectors(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "load_before": round(os.getloadavg()[0], 2),
        "commit": commit(),
        **({"gpu": card} if (card := gpu()) else {}),
        "python": platform.python_version(),
        **{name: found for name in OURS if (found := installed(name))},
        **(peers or {}),
    }


def gpu() -> str:
    """Return the name of the GPU, its driver, clocks as found and at most, and its power limit."""
    command = ["nvidia-smi", f"--query-gpu={GPU}", "--format=csv,noheader"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""  # no driver
    return found.stdout.splitlines()[0].strip() if found.returncode == 0 else ""


def identity(described: Mapping[str, object]) -> tuple[object, object]:
    """Return what two runs must share for their figures to be compared."""
    return described.get("processor"), described.get("cores")


def processor() -> str:
    names = _information("model name")
    return names[0] if names else platform.machine()


def vectors() -> str:
    """Return the widest vector instructions that the processor says it has."""
    flags = (_information("flags") or _information("Features") or [""])[0].split()
    known = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON"))
    return next((name for flag, name in known if flag in flags), "unknown")


def commit() -> str:
    """Return the short name of the commit that is measured, marked when files have changed."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "unknown"  # a copy without git
    return found.stdout.strip() or "unknown"


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _information(field: str) -> list[str]:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.is_file() else []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(field)]
