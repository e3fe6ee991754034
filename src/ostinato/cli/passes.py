"""``ostinato passes``: the list of passes, and a program after them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from ostinato.cli.program_file import load_program
from ostinato.compiler.options import options_from
from ostinato.compiler.program import Program
from ostinato.inspection.after_passes import after_pass, list_of_passes, one_pass


def show_passes(
    place: str | None, settings: Iterable[str], after: str, without: Iterable[str], console: Console
) -> None:
    """Show the program of ``FILE[:FUNCTION]`` after each pass, or after one; else the passes.

    Errors: OptionError for a name that is no pass.
    """
    if place is None:
        text = one_pass(after) if after else list_of_passes()
    else:
        made = load_program(place, settings)
        pdg = (made if isinstance(made, Program) else made.program).pdg
        text = after_pass(pdg, options_from({"without": [*without]}, pdg), after)
    console.print(text, soft_wrap=True)
