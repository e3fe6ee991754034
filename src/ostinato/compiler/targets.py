"""The targets that programs are compiled for, by the names that users give."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ostinato.pdg.errors import OptionError

if TYPE_CHECKING:
    from ostinato.codegen.target import Target


def _cpu() -> Target:
    from ostinato.codegen.cpu.cpu_target import CPU

    return CPU


TARGETS: dict[str, Callable[[], Target]] = {"cpu": _cpu}


def target_of(name: str) -> Target:
    """Return the target of a name.

    Errors: OptionError.
    """
    if name not in TARGETS:
        raise OptionError(f"there is no target `{name}`", f"Targets: {', '.join(TARGETS)}.")
    return TARGETS[name]()
