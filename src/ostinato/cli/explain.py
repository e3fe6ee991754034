"""``ostinato explain``, ``passes`` and ``verify``: what the compiler made of a program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from ostinato.cli.output import write_json
from ostinato.cli.program_file import load_program
from ostinato.cli.rules import hints_from, rules_of
from ostinato.compiler.experiment import parted
from ostinato.compiler.options import options_from
from ostinato.inspection.after_passes import after_pass, list_of_passes, one_pass
from ostinato.language.dims import is_integer


@dataclass(frozen=True, slots=True)
class Asked:
    """A program and how it is compiled: settings of its function, hints, and a file of rules."""

    place: str
    settings: Iterable[str] = ()
    hints: Iterable[str] = ()
    rules: Path | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """The files that the explanation goes to, besides the terminal; with ``limits`` it has more."""

    json: Path | None = None
    html: Path | None = None
    certificate: Path | None = None
    limits: bool = False


def explain(asked: Asked, written: Written, console: Console) -> None:
    """Compile the program of ``FILE[:FUNCTION]`` and show the stages of the compilation."""
    program, given = parted(load_program(asked.place, asked.settings))
    extents = {n: size for n, size in given.items() if n in program.extents and is_integer(size)}
    hints = hints_from(asked.hints)
    compiled = program.compile(
        rules=None if asked.rules is None else rules_of(asked.rules),
        hints=hints,
        certificate=written.certificate,
        extents=extents or None,
    )
    explanation = compiled.explain(**(hints | extents))
    console.print(str(explanation), soft_wrap=True)
    curve = explanation.memory.curve() if written.limits else None
    if curve is not None:
        console.print(f"\n== limits of memory ==\n{curve.table()}", soft_wrap=True)
    write_json(written.json, explanation.data())
    if written.html is not None:
        explanation.to_html(written.html, curve)


def verify(
    path: Path, place: str | None, settings: Iterable[str], written: Path | None, console: Console
) -> int:
    """Show what each check of a certificate found; return 1 if one does not hold.

    It must be about the program of ``place``, a FILE[:FUNCTION], if there is one. The file
    ``written`` gets ``holds`` and the ``findings``: check, holds, about, seconds.
    Errors: CertificateError if the file is no intact certificate.
    """
    from ostinato.certificate import verify_certificate

    program = None if place is None else parted(load_program(place, settings))[0]
    verdict = verify_certificate(path, program)
    console.print(str(verdict), soft_wrap=True)
    findings = [asdict(finding) for finding in verdict.findings]
    write_json(written, {"holds": verdict.holds, "findings": findings})
    return 0 if verdict.holds else 1


def show_passes(
    place: str | None, settings: Iterable[str], after: str, without: Iterable[str], console: Console
) -> None:
    """Show the program of ``FILE[:FUNCTION]`` after each pass, or after one; else the passes.

    Errors: OptionError for a name that is no pass.
    """
    if place is None:
        text = one_pass(after) if after else list_of_passes()
    else:
        pdg = parted(load_program(place, settings))[0].pdg
        text = after_pass(pdg, options_from({"without": [*without]}, pdg), after)
    console.print(text, soft_wrap=True)
