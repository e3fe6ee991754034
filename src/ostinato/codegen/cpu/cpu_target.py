"""The CPU as a target. What writes its code is imported when it is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ostinato.codegen.cpu.flags import LINE_BYTES, VECTOR_BYTES, digest
from ostinato.codegen.target import Target, Tiles, Writer

if TYPE_CHECKING:
    from ostinato.codegen.loops.statements import Function


PRELUDE = "ostinato.codegen.cpu.prelude"
ALIASES = (
    "f32, f64, i32, i64 = np.float32, np.float64, np.int32, np.int64",
    "u16, u32 = np.uint16, np.uint32",
)


def _names() -> frozenset[str]:
    from ostinato.codegen.cpu.prelude import NAMES

    return NAMES


def _vector_functions() -> frozenset[str]:
    from ostinato.codegen.cpu.step_expression import CODE

    return frozenset(CODE)


def _text(function: Function) -> str:
    from ostinato.codegen.loops import numba_source

    return numba_source.function(function)


def _module(
    title: str, extents: Sequence[str], functions: Sequence[Function], texts: Sequence[str]
) -> str:
    """Functions as a module; importing it compiles ``main``, which each worker calls."""
    from ostinato.codegen.loops.numba_source import within_docstring

    about = within_docstring(title or "A program")
    kernels = [each.name for each in functions if not each.is_driver]
    table = f"KERNELS = ({''.join(f'{name}, ' for name in kernels)})\n"
    body = "\n\n".join([*texts, table])
    called = sorted(set(re.findall(r"\b(\w+)\(", body)) & _names())
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


def _writer() -> Writer:
    from ostinato.codegen.cpu.native.llvm_modules import Known, units

    known = Known()
    return lambda functions: units(functions, known)


CPU = Target(
    name="cpu",
    vector_bytes=VECTOR_BYTES,
    line_bytes=LINE_BYTES,
    page_bytes=4096,
    near_bytes=1 << 20,
    far_bytes=1 << 22,
    tiles=Tiles(
        usual=32,
        narrow=128,
        narrowest=8,
        block=4,
        beside=((1 << 14, 32), (1 << 16, 64)),
        beside_more=128,
        adding=64,
    ),
    usual_workers=8,
    alone_elements=2048,
    shared_elements=8192,
    listed_rows=256,
    names=_names,
    vector_functions=_vector_functions,
    text=_text,
    module=_module,
    writer=_writer,
    digest=digest,
    keeps_parts=True,
)
"""What the processors have in common that programs are compiled for."""
