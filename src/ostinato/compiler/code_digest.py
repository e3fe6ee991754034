"""What tells this compiler from an older one."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_digest() -> str:
    """A hash of the compiler itself: a changed stage finds none of its older results."""
    total = hashlib.sha256()
    root = Path(__file__).parents[1]
    for part in ("provenance", "machine", "pdg", "rewrite", "codegen", "runtime", "compiler"):
        for path in sorted((root / part).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()[:16]
