"""``ostinato explain``: what the compiler made of a program, as text, JSON or a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ostinato.cli.as_json import write_json
from ostinato.cli.program_file import load_program
from ostinato.cli.rules import hints_from, rules_of
from ostinato.compiler.program import Program
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
    made = load_program(asked.place, asked.settings)
    program = made if isinstance(made, Program) else made.program
    given: Mapping[str, object] = {} if isinstance(made, Program) else made.arguments
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
