"""The module of Numba source that a program is printed as."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ostinato.codegen.cpu.flags import digest
from ostinato.codegen.cpu.prelude import NAMES
from ostinato.codegen.loops.numba_source import within_docstring

PRELUDE = "ostinato.codegen.cpu.prelude"
ALIASES = (
    "f32, f64, i32, i64 = np.float32, np.float64, np.int32, np.int64",
    "u16, u32 = np.uint16, np.uint32",
)


def module(title: str, extents: Sequence[str], kernels: Sequence[str], body: str) -> str:
    """Functions as a module; importing it compiles ``main``, which each worker calls."""
    about = within_docstring(title or "A program")
    called = sorted(set(re.findall(r"\b(\w+)\(", body)) & NAMES)
    header = [
        f'"""{about}, compiled by ostinato for the CPU. Generated: do not edit.',
        "",
        f"extents: {', '.join(extents) or 'none'}",
        f"kernels: {', '.join(kernels)}",
        f"primitives: {digest()}",
        '"""',
        "",
        "import numpy as np",
        "",
        f"from {PRELUDE} import (",
        *(f"    {name}," for name in called),
        ")",
        "",
        *ALIASES,
    ]
    return "\n".join([*header, "", ""]) + body
