"""The functions of an extracted program, emitted by the verifier itself, and their machine code.

Nothing that an earlier compilation left on this machine is used: functions are emitted again, and
machine code of kernels and workers is compiled into a directory of this process.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.compiler.pipeline import in_types_of, whole_shape
from ostinato.pdg.functions import Array
from ostinato.pdg.node import Pdg
from ostinato.runtime.cache.programs import digest
from ostinato.runtime.disk import folder
from ostinato.runtime.run.artifact import Artifact, Words
from ostinato.runtime.run.executor import Executable

if TYPE_CHECKING:
    from ostinato.codegen.loops.statements import Function
    from ostinato.codegen.planning.planned import Plan


@dataclass(frozen=True)
class Emission:
    """The functions of a plan as loop IR, and the artifact that is made of them."""

    plan: Plan
    functions: tuple[Function, ...]
    artifact: Artifact


def emission_of(written: Pdg, plan: Plan, constants: Mapping[str, Array]) -> Emission:
    """Emit a plan of a program that was written so; literal arrays have these values."""
    from ostinato.codegen.emit.driver import WORDS
    from ostinato.codegen.emit.generated_module import functions, printed, units
    from ostinato.codegen.emit.interface import interface
    from ostinato.codegen.planning.arena import layout

    made = tuple(functions(plan))
    artifact = Artifact(
        source=printed(plan, made),
        units=partial(units, plan.target, made),
        interface=in_types_of(written, interface(plan)),
        place=partial(layout, plan),
        domains={name: tuple(d.name for d in node.domain) for name, node in written.outputs},
        shapes={name: whole_shape(node) for name, node in written.outputs},
        varying={
            name: x.shape for name, x in written.outputs if any(each.dims for each in x.shape)
        },
        words=Words(*WORDS),
        constants=constants,
    )
    return Emission(plan, made, artifact)


def machine_code(emission: Emission, workers: int) -> Executable:
    """The functions compiled by this process, in `own_cache`."""
    return Executable(emission.artifact, None, digest(emission.artifact.source), workers)


def own_cache() -> AbstractContextManager[None]:
    """Compile and run inside it: the user's cache is not looked at."""
    return folder.elsewhere(_own_place())


@cache
def _own_place() -> Path:
    """A directory of this process, which is removed with it."""
    place = Path(tempfile.mkdtemp(prefix="ostinato-verify-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
