"""The whole generated module: header, definitions, kernels, driver."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from ostinato.codegen.cpu import prelude, target
from ostinato.codegen.cpu.digest import digest
from ostinato.codegen.cpu.native.llvm_modules import Unit, units
from ostinato.codegen.emit.driver import Stamps, emit_driver
from ostinato.codegen.emit.kernel import emit_kernel
from ostinato.codegen.loops.numba_source import function, within_docstring
from ostinato.codegen.loops.statements import Function
from ostinato.codegen.planning.planned import Plan

MODULE = "ostinato.codegen.cpu.prelude"
STAMPS = ("begin", "mark", "stamp")


def emit(plan: Plan, title: str = "") -> str:
    """Return the Numba source of a plan; the same plan always gives the same text.

    Importing it under a name in ``sys.modules`` compiles ``main``, which each worker calls.
    """
    return printed(plan, functions(plan), title)


def functions(plan: Plan) -> Iterator[Function]:
    """The kernels of a plan and its driver as loop IR, each as soon as it is written."""
    taken = {"np", *target.SUFFIX.values(), *dir(builtins)}
    reserved = prelude.NAMES | frozenset(k.name for k in plan.kernels) | taken
    for k, kernel in enumerate(plan.kernels):
        yield emit_kernel(plan, kernel, k, reserved)
    yield emit_driver(plan, reserved)


def printed(plan: Plan, made: Iterable[Function], title: str = "") -> str:
    """The functions of a plan as a module of Numba source."""
    table = f"KERNELS = ({''.join(f'{k.name}, ' for k in plan.kernels)})\n"
    body = "\n\n".join([*map(function, made), table])
    return "\n".join([*_header(plan, title, body, prelude.NAMES), "", ""]) + body


def _header(plan: Plan, title: str, body: str, known: frozenset[str]) -> list[str]:
    names, about = target.helpers(body, known), within_docstring(title or "A program")
    return [
        f'"""{about}, compiled by ostinato for the CPU. Generated: do not edit.',
        "",
        f"extents: {', '.join(plan.extents) or 'none'}",
        f"kernels: {', '.join(k.name for k in plan.kernels)}",
        f"primitives: {digest()}",
        '"""',
        "",
        "import numpy as np",
        "",
        f"from {MODULE} import (",
        *(f"    {name}," for name in names),
        ")",
        "",
        *target.ALIASES,
    ]


@dataclass(frozen=True, slots=True)
class Profiled:
    """A driver that writes a log, and what the slots and marks of the log stand for.

    ``waits`` gives for every barrier the kernels that it waits for.
    """

    units: Callable[[], Iterator[Unit]]
    kernels: tuple[str, ...]
    waits: tuple[tuple[int, ...], ...]
    loops: tuple[str, ...]


def emit_profiled(plan: Plan) -> Profiled:
    """Return another driver for the kernels of a plan: one that stamps the time."""
    names = tuple(k.name for k in plan.kernels)
    stamps = Stamps(len(names))
    reserved = prelude.NAMES | {*names, *STAMPS, "np", *target.SUFFIX.values(), *dir(builtins)}
    driver = emit_driver(plan, frozenset(reserved), stamps)
    return Profiled(partial(units, (driver,)), names, tuple(stamps.waits), tuple(stamps.loops))
