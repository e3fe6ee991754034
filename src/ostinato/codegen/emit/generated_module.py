"""The whole generated module: header, definitions, kernels, driver."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ostinato.codegen.cpu import prelude, target
from ostinato.codegen.cpu.digest import digest
from ostinato.codegen.emit.driver import Stamps, emit_driver
from ostinato.codegen.emit.kernel import emit_kernel
from ostinato.codegen.loops.printer import function, within_docstring
from ostinato.codegen.loops.statements import Function
from ostinato.codegen.planning.planned import Plan

MODULE = "ostinato.codegen.cpu.prelude"
STAMPING, STAMPS = "ostinato.codegen.cpu.stamps", ("begin", "mark", "stamp")


Told: TypeAlias = Callable[[Function], object]


def emit(plan: Plan, title: str = "", told: Told | None = None) -> str:
    """Return the Numba source of a plan; the same plan always gives the same text.

    Importing it under a name in ``sys.modules`` compiles ``main``, which each worker calls.
    ``told`` gets the functions, each as soon as it is written.
    """
    known = prelude.NAMES
    taken = {"np", *target.SUFFIX.values(), *dir(builtins)}
    reserved = known | frozenset(k.name for k in plan.kernels) | taken
    pieces: list[str] = []
    for made in _functions(plan, reserved):
        if told is not None:
            told(made)
        pieces.append(function(made))
    pieces.append(f"KERNELS = ({''.join(f'{k.name}, ' for k in plan.kernels)})\n")
    body = "\n\n".join(pieces)
    return "\n".join([*_header(plan, title, body, known), "", ""]) + body


def _functions(plan: Plan, reserved: frozenset[str]) -> Iterator[Function]:
    """The kernels and the driver."""
    for k, kernel in enumerate(plan.kernels):
        yield emit_kernel(plan, kernel, k, reserved)
    yield emit_driver(plan, reserved)


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
    """A driver that writes a log: its module, and what the slots and marks of the log stand for.

    ``waits`` gives for every barrier the kernels that it waits for.
    """

    source: str
    kernels: tuple[str, ...]
    waits: tuple[tuple[int, ...], ...]
    loops: tuple[str, ...]


def emit_profiled(plan: Plan) -> Profiled:
    """Return a module with another driver for the kernels of a plan: one that stamps the time."""
    known = prelude.NAMES
    names = tuple(k.name for k in plan.kernels)
    stamps = Stamps(len(names))
    reserved = known | {*names, *STAMPS, "np", *target.SUFFIX.values(), *dir(builtins)}
    driver = function(emit_driver(plan, frozenset(reserved), stamps))
    used = ", ".join(target.helpers(driver, known))
    head = [
        '"""A profiled driver, made by ostinato for the CPU. Generated: do not edit.',
        "",
        f"primitives: {digest()}",
        '"""',
        "",
        f"from {MODULE} import {used}",
        f"from {STAMPING} import {', '.join(STAMPS)}",
    ]
    source = "\n".join([*head, "", "", driver])
    return Profiled(source, names, tuple(stamps.waits), tuple(stamps.loops))
