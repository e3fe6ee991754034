"""What stands for primitives, libraries and the machine, without importing any of them."""

import hashlib
import importlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ostinato.codegen.cpu.flags import DRIVER, KERNEL, host_features


@cache
def digest() -> str:
    """Return 16 hex digits that change with the primitives, their libraries, and the machine."""
    here = Path(__file__).parent
    parts = [path.read_bytes() for path in sorted(here.rglob("*.py"))]
    parts += [_version(library) for library in ("numba", "llvmlite")]
    features = host_features()
    name = str(importlib.import_module("llvmlite.binding").get_host_cpu_name())
    host = [name, *sorted(name for name, has in features.items() if has)]
    text = "\n".join([*host, repr(DRIVER), repr(KERNEL)]).encode()
    return hashlib.sha256(b"\n".join([*parts, text])).hexdigest()[:16]


def _version(library: str) -> bytes:
    """The file that says which version is installed: importing it would take longer."""
    found = find_spec(library)
    assert found is not None, f"{library} is not installed"
    assert found.origin is not None, f"{library} has no file"
    return Path(found.origin).with_name("_version.py").read_bytes()
