"""``ostinato verify``: check what a compilation claims."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from ostinato.certificate import verify_certificate
from ostinato.cli.as_json import write_json
from ostinato.cli.program_file import load_program
from ostinato.compiler.program import Program


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """The options of ``ostinato verify``."""

    place: str | None = None  # FILE[:FUNCTION] of the program that it must be about
    settings: tuple[str, ...] = ()  # name=value


def verify(path: Path, options: VerifyOptions, written: Path | None, console: Console) -> int:
    """Show what each check of a certificate found; return 1 if one does not hold.

    The file ``written`` gets ``holds`` and the ``findings``: check, holds, about, seconds.
    Errors: CertificateError if the file is no intact certificate.
    """
    program = None
    if options.place is not None:
        made = load_program(options.place, options.settings)
        program = made if isinstance(made, Program) else made.program
    verdict = verify_certificate(path, program)
    console.print(str(verdict), soft_wrap=True)
    findings = [asdict(finding) for finding in verdict.findings]
    write_json(written, {"holds": verdict.holds, "findings": findings})
    return 0 if verdict.holds else 1
