"""The machine code of an extracted program, made by the verifier itself.

Nothing that an earlier compilation left on this machine is used: source is emitted again, and its
kernels, and what its workers need, are compiled into a directory of this process.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path

from ostinato.certificate.document import Certificate
from ostinato.certificate.replay import options_of, replanned
from ostinato.compiler.pipeline import in_types_of, whole_shape
from ostinato.runtime.cache.programs import digest
from ostinato.runtime.disk import folder
from ostinato.runtime.run.artifact import Artifact, Words
from ostinato.runtime.run.executor import Executable


def machine_code(certificate: Certificate) -> Executable:
    """The extracted program, planned, emitted and compiled by this process, in `own_cache`."""
    from ostinato.codegen.emit.driver import WORDS
    from ostinato.codegen.emit.generated_module import functions, printed, units
    from ostinato.codegen.emit.interface import interface
    from ostinato.codegen.planning.arena import layout

    plan, constants = replanned(certificate, options_of(certificate.schedule))
    made, written = tuple(functions(plan)), certificate.source
    source = printed(plan, made)
    artifact = Artifact(
        source=source,
        units=partial(units, plan.target, made),
        interface=in_types_of(written, interface(plan)),
        place=partial(layout, plan),
        domains={name: tuple(d.name for d in node.domain) for name, node in written.outputs},
        shapes={name: whole_shape(node) for name, node in written.outputs},
        words=Words(*WORDS),
        constants=constants,
    )
    return Executable(artifact, None, digest(source), certificate.schedule.workers)


def own_cache() -> AbstractContextManager[None]:
    """Compile and run inside it: the user's cache is not looked at."""
    return folder.elsewhere(_own_place())


@cache
def _own_place() -> Path:
    """A directory of this process, which is removed with it."""
    place = Path(tempfile.mkdtemp(prefix="ostinato-verify-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
