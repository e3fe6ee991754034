"""A program after each pass of the compiler, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from ostinato.codegen.ir.system import Load, Statement, System
from ostinato.codegen.ir.tree import Calling, Contraction, Fill, Loop, Nest, Sweep
from ostinato.codegen.loops.numba_source import function
from ostinato.codegen.loops.statements import Function
from ostinato.codegen.masks.early_exits import End
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.kernel_partition import Driven
from ostinato.codegen.planning.liveness import Life
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.scheduler import Scheduled
from ostinato.codegen.planning.show import (
    show_plan,
    show_statement,
    show_storage,
    show_trees,
    show_value,
)
from ostinato.codegen.scheduling.deps import Dep
from ostinato.codegen.scheduling.deps import Unit as Together
from ostinato.codegen.systems.tile import Tiled
from ostinato.compiler.options import Options
from ostinato.compiler.passes import every_pass
from ostinato.compiler.pipeline import build
from ostinato.machine.profile_store import profile_in_use
from ostinato.pdg.errors import OptionError, guess
from ostinato.pdg.node import Pdg
from ostinato.pdg.text.printer import show
from ostinato.report.formatting import columns, table
from ostinato.rewrite.extract.choose import Selection
from ostinato.rewrite.extract.export import EGraph
from ostinato.rewrite.extract.rebuild import Rebuilt
from ostinato.rewrite.load.joined_products import Join
from ostinato.rewrite.load.tables import Loaded
from ostinato.runtime.machine_code.ports import Unit

Statements = Mapping[str, Statement]
NOTHING = "nothing"


def list_of_passes() -> str:
    """All passes in order, one line each."""
    rows = [
        ("  " * bool(p.within) + p.name, "optimisation" if p.is_optimisation else "", p.about)
        for p in every_pass()
    ]
    return columns(rows, ())


def one_pass(name: str) -> str:
    """What a pass does, needs and guarantees.

    Errors: OptionError for a name that is no pass.
    """
    found = next((each for each in every_pass() if each.name == name), None)
    if found is None:
        known = [each.name for each in every_pass()]
        fact, remedy = f"no pass is called `{name}`", f"Passes: {', '.join(known)}."
        raise OptionError(fact, guess(name, known) + remedy)
    why = found.necessary or "an optimisation"
    told = {"does": found.about, "in": found.at, "needs": found.needs, "gives": found.gives}
    return "\n".join([name, *(f"  {k:6} {v}" for k, v in {**told, "is": why}.items())])


def after_passes(pdg: Pdg, options: Options) -> dict[str, str]:
    """A program after each pass that runs, in the order of the list."""
    watched = _Watched()
    profile = options.profile or profile_in_use()
    build(pdg, None, replace(options, profile=profile, seen=watched))
    names = [each.name for each in every_pass() if each.name in watched.last]
    return {name: watched.text(name) for name in names}


def after_pass(pdg: Pdg, options: Options, name: str = "") -> str:
    """A program after the pass of this name, or after each pass that runs.

    Errors: OptionError for a name that is no pass, or whose pass this program does not need.
    """
    known = [each.name for each in every_pass() if not each.within]
    if name and name not in known:
        fact = f"no pass that makes a program is called `{name}`"
        raise OptionError(fact, f"{guess(name, known)}Passes: {', '.join(known)}.")
    found = after_passes(pdg, options)
    if name and name not in found:
        fact = f"the pass `{name}` does not run for this program"
        raise OptionError(fact, f"Passes that run: {', '.join(found)}.")
    return found[name] if name else "\n\n".join(_titled(found))


def _titled(found: Mapping[str, str]) -> Iterator[str]:
    """The text after each pass; the name of the pass that gave the same text instead of it."""
    said: dict[str, str] = {}
    for name, text in found.items():
        first = said.setdefault(text, name)
        is_new = text == NOTHING or first == name
        yield f"== {name} ==\n{text if is_new else f'as after `{first}`'}"


@dataclass
class _Watched:
    """What each pass made last, with the statements that it is about."""

    last: dict[str, tuple[object, Statements]] = field(
        default_factory=dict[str, tuple[object, Statements]]
    )
    statements: Statements = field(default_factory=dict[str, Statement])

    def __call__(self, name: str, value: object) -> None:
        for part in cast(tuple[object, ...], value) if isinstance(value, tuple) else (value,):
            self.statements = _statements(part) or self.statements
        self.last[name] = value, self.statements

    def text(self, name: str) -> str:
        return "\n".join(_lines(*self.last[name])).rstrip() or NOTHING


def _statements(value: object) -> Statements:
    """The statements that a pass made, if it made any."""
    if isinstance(value, System | Tiled | Scheduled):
        return value.statements
    if isinstance(value, Mapping):
        found = cast(Mapping[str, object], value)
        return {n: s for n, s in found.items() if isinstance(s, Statement)}
    return {}


def _lines(value: object, statements: Statements) -> Iterator[str]:
    """What a pass made, as text."""
    match value:
        case Pdg() | Rebuilt():
            yield show(value if isinstance(value, Pdg) else value.pdg)
        case Loaded(rows=rows):
            yield table(("rows", "number"), [(n, str(len(rows[n]))) for n in sorted(rows)])
        case EGraph():
            yield f"{value.count()} terms in {len(value.classes)} classes"
        case Selection():
            yield f"{len(value.terms.items)} terms, {value.price / 1e6:.3g} ms predicted"
        case System() | Tiled():
            yield from _lines(value.statements, statements)
        case Scheduled():
            yield from show_trees(value.trees, statements)
        case Plan():
            yield show_plan(value)
        case Driven():
            for kernel in value.kernels:
                yield f"{kernel.name}:"
                yield from show_trees(kernel.body, statements, 1)
        case Statement():
            yield from [show_statement(value)] if value.clauses else []
        case Together():
            joined = ", ".join(s.name for s in value.epilogues)
            yield from [f"{value.name} is joined by {joined}"] if joined else []
        case Loop() | Nest() | Contraction() | Sweep() | Fill() | Calling():
            yield from show_trees((value,), statements)
        case Function():
            yield function(value)
        case Mapping():
            yield from _entries(cast(Mapping[object, object], value), statements)
        case tuple() | list():
            for each in cast(Iterable[object], value):
                yield from _lines(each, statements)
        case partial():  # what writes the units
            for unit in cast(Iterable[Unit], cast("partial[object]", value)()):
                yield unit.text
        case _:
            yield _short(value)


def _entries(value: Mapping[object, object], statements: Statements) -> Iterator[str]:
    storage = {str(k): s for k, s in value.items() if isinstance(s, Storage)}
    yield from show_storage(storage)
    for key, each in value.items():
        if isinstance(each, Statement | Contraction):
            yield from _lines(each, statements)
        elif not isinstance(each, Storage):
            yield f"{_short(key)}: {_short(each)}"


def _short(value: object) -> str:
    """A part of what a pass made, in a few words."""
    match value:
        case Loop():
            return f"the loop over {value.dim}"
        case End():
            return f"ends where no row of {value.mask} is true"
        case Life():
            return f"phases {value.first} .. {value.last}"
        case Load():
            return show_value(value)
        case Dep():
            return f"{value.reader.name} reads {show_value(value.load)}"
        case Join():
            return f"{len(value.products)} products of {value.shared}"
        case _:
            return str(value)
