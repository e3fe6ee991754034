"""Compile a plan in a temporary directory and run it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.codegen.cpu.native.llvm_modules import units
from ostinato.codegen.emit.driver import WORDS
from ostinato.codegen.emit.generated_module import functions, printed
from ostinato.codegen.emit.interface import interface
from ostinato.codegen.planning.plan import Plan
from ostinato.runtime.cache.programs import digest
from ostinato.runtime.run.artifact import Artifact, Words
from ostinato.runtime.run.execution import Bound
from ostinato.runtime.run.executor import Executable
from tests.codegen.emit.plans import placed


def artifact(plan: Plan, **domains: tuple[str, ...]) -> Artifact:
    view = interface(plan)
    shapes = {field.name: field.shape for field in view.outputs}
    made = tuple(functions(plan))
    code = printed(plan, made), partial(units, made)
    return Artifact(*code, view, placed(plan), domains, shapes, Words(*WORDS))


def build(plan: Plan, directory: Path, threads: int = 2, **domains: tuple[str, ...]) -> Executable:
    made = artifact(plan, **domains)
    (directory / "program.py").write_text(made.source)
    return Executable(made, directory, digest(str(directory), made.source), threads)


def run(
    plan: Plan,
    directory: Path,
    extents: dict[str, int],
    inputs: dict[str, npt.NDArray[Any]] | None = None,
    seed: int = 0,
) -> dict[str, npt.NDArray[Any]]:
    arrays = {k: np.ascontiguousarray(v) for k, v in (inputs or {}).items()}
    return build(plan, directory).run(Bound(extents, arrays, seed))
