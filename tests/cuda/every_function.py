"""A kernel that calls every elementary function, as a module of the CUDA target."""

from __future__ import annotations

from typing import Any

from ostinato.codegen.cpu import prelude
from ostinato.codegen.cpu.primitive import Written
from ostinato.codegen.cuda.cuda_module import module
from ostinato.codegen.loops.expression import ITEM_BYTES, call
from ostinato.codegen.loops.statements import Block, Definition, Function, Kind

ARRAYS: tuple[tuple[str, Kind], ...] = (("memory", "uint8[::1]"), ("table", "int64[::1]"))
DTYPES = tuple(ITEM_BYTES)


def functions() -> dict[str, Written]:
    """The functions of numbers that programs call."""
    found: dict[str, Written] = {}
    for name in sorted(prelude.NAMES - {*prelude.OF_NUMBA, "where"}):
        of: Any = getattr(prelude, name)
        if isinstance(of, Written) and "array" not in of.arguments and of.result != "void":
            found[name] = of
    return found


def kernel() -> Function:
    """A kernel that stores what each function makes of numbers in memory."""
    access = [
        Definition((f"ld_{k}", f"st_{k}"), "access", (n, len(DTYPES), k))
        for n, k in enumerate(DTYPES)
    ]
    out = Block()
    out.let("both", call("carray", "memory", 1))
    for n, (name, of) in enumerate(functions().items()):
        given = (call(f"ld_{kind}", "arena", k) for k, kind in enumerate(of.arguments))
        out.do(call(f"st_{of.result}", "arena", n, call(name, *given)))
    return Function("k0", ARRAYS, out.body, tuple(access), tensors=DTYPES)


def source() -> str:
    """A module with this kernel, which its driver calls once."""
    names = ("tid", "nt", "bar", "kernels", "arena", "at", "stride", "seed", "control")
    driver = Function("main", tuple((n, "int64") for n in names), (), is_driver=True)
    return module("every function", (), (kernel(), driver))
