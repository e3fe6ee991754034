"""The only module that touches egglog: programs as text, rows in bulk, tables out.

The compiled bindings are loaded without the package's Python front end, which takes ten times
longer to import and is not used: rules are written in egglog's own language.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ostinato.pdg.errors import OptionError
from ostinato.pdg.forked import Guard

Cell = int | float | str
Row = tuple[Cell, ...]
KEPT = 6  # engines per thread; one with all rules holds 50 MB and takes 0.3 s to make
FEW = 32  # rules that take less to declare than an engine takes to make
# An engine keeps a report of every run and copies all of them for each scope: after 900 scopes of
# one rule a scope took 50 ms instead of 5. A new engine takes some 100 ms.
SCOPES = 50
MEMORY = Path("/dev/shm")  # where Linux keeps files in memory
_HOLDS_THREAD = threading.local()
_LOADING = Guard()


class EngineError(Exception):
    """egglog refused a command or panicked; the graph it happened in is gone."""

    def __init__(self, fact: str, command: str = "") -> None:
        self.fact, self.command = fact, command
        super().__init__(f"{fact}\n  in {command[:200]}" if command else fact)


def _bindings() -> ModuleType:
    with _LOADING.lock:  # a module is found before it is complete, and may not be run twice
        return sys.modules.get("egglog.bindings") or _loaded()


def _loaded() -> ModuleType:
    package = importlib.util.find_spec("egglog")
    if package is None or package.origin is None:
        raise EngineError("the package egglog is not installed; install ostinato's requirements")
    folder = Path(package.origin).parent
    binary = sorted([*folder.glob("bindings.*so"), *folder.glob("bindings.*pyd")])[0]
    spec = importlib.util.spec_from_file_location("egglog.bindings", binary)
    assert spec is not None and spec.loader is not None, f"{binary} is no extension module"
    module = importlib.util.module_from_spec(spec)
    sys.modules["egglog.bindings"] = module  # the extension may be initialised only once
    spec.loader.exec_module(module)
    return module


def _graph() -> Any:
    """An empty e-graph that matches a rule's facts one after the other.

    A tree decomposition of the facts, which egglog 14 makes by default and 13 cannot leave out,
    takes two to three times as long for rules of many facts.
    """
    kind = _bindings().EGraph
    return kind(no_decomp=True) if hasattr(kind, "no_decomp") else kind()


@dataclass(frozen=True, slots=True)
class Round:
    """What one run of a ruleset did."""

    matches: Mapping[str, int]
    updated: bool


@dataclass(frozen=True, slots=True)
class Table:
    """One function or constructor: decoded inputs and output per row."""

    rows: tuple[tuple[tuple[Cell, ...], Cell], ...]


class Engine:
    """An e-graph with a program loaded; rows and rounds come and go between `open` and `close`."""

    def __init__(self, program: Sequence[str]) -> None:
        self._graph = _graph()
        self.filled = set[str]()  # the relations that were given rows in this scope
        self.declared = set[tuple[str, ...]]()  # rules that were declared since
        self.scopes = 0  # that were opened
        self._commands = list[str]()
        self.declare(program)

    def declare(self, commands: Sequence[str]) -> None:
        """Run commands that have no outputs; other threads run Python meanwhile.

        Each is parsed by itself, because one text of all takes ten times longer. Where one is
        refused they run again one after the other, to tell which.
        """
        self._commands += commands
        try:
            parsed = [each for text in commands for each in self._graph.parse_program(text)]
            self._graph.run_program(*parsed)
        except BaseException as problem:  # Rust panics derive from BaseException
            if isinstance(problem, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            self._graph = _graph()
            for text in self._commands:
                self.execute(text)

    def execute(self, text: str) -> list[Any]:
        """Run commands and return their outputs."""
        try:
            return list(self._graph.run_program(*self._graph.parse_program(text)))
        except BaseException as problem:  # Rust panics derive from BaseException
            if isinstance(problem, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            raise EngineError(f"egglog: {problem}", text) from problem

    def insert(self, rows: Mapping[str, Iterable[Row]]) -> None:
        """Add rows to relations and to functions with primitive results, through files.

        Errors: OptionError where no temporary file can be written.
        """
        filled = texts_of(rows)
        places = _places()
        for place in places:
            try:
                with tempfile.TemporaryDirectory(prefix="ostinato", dir=place) as folder:
                    self._insert(filled, Path(folder))
                return
            except OSError as failure:
                if place != places[-1]:
                    continue
                fact = f"the rules cannot run: no temporary file can be written ({failure})"
                remedy = "Free some space, or set TMPDIR to a directory that can be written."
                raise OptionError(fact, remedy) from failure

    def _insert(self, texts: Mapping[str, str], folder: Path) -> None:
        commands: list[str] = []
        for k, (name, text) in enumerate(texts.items()):
            path = folder / f"{k}.tsv"
            path.write_text(text)
            commands.append(f'(input {name} "{path.as_posix()}")')
        self.execute("\n".join(commands))
        self.filled |= texts.keys()

    def run(self, ruleset: str) -> Round:
        """Run every rule of a ruleset once."""
        report = self.execute(f"(run-schedule (run {ruleset}))")[-1].report
        matches = {k: v for k, v in report.num_matches_per_rule.items() if v}
        return Round(dict(sorted(matches.items())), bool(report.updated))

    def size(self) -> int:
        """The number of rows in all tables."""
        output = self.execute("(print-size)")[-1]
        return sum(size for _, size in output.sizes)

    def tables(self, names: Sequence[str]) -> dict[str, Table]:
        """Rows of the named tables; identities of terms become integers that compare."""
        graph = self._graph
        decoders = {
            "i64": graph.value_to_i64,
            "f64": graph.value_to_f64,
            "String": graph.value_to_string,
        }
        ids: dict[Any, int] = {}

        def name_of(value: Any) -> int:
            return ids.setdefault(value, len(ids))

        functions = graph.freeze().functions
        out: dict[str, Table] = {}
        for name in names:
            function = functions[name]
            ins = [decoders.get(sort, name_of) for sort in function.input_sorts]
            outs = decoders.get(function.output_sort, name_of)
            out[name] = Table(
                tuple(
                    (tuple(f(v) for f, v in zip(ins, row.inputs, strict=True)), outs(row.output))
                    for row in function.rows
                    if not (row.subsumed and row.output in row.inputs)
                )
            )
        return out


def _places() -> tuple[Path | None, ...]:
    """The directories for temporary files, the first choice first; None is that of `tempfile`.

    Disks take half a millisecond for a file, and a program has rows for some thirty relations.
    """
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK | os.X_OK):
        return MEMORY, None
    return (None,)


def texts_of(rows: Mapping[str, Iterable[Row]]) -> dict[str, str]:
    """Relations as egglog reads them, but for those without rows."""
    texts = {name: "".join(map(_line, table)) for name, table in rows.items()}
    return {name: text for name, text in texts.items() if text}


def _line(row: Row) -> str:
    return "\t".join(map(_cell, row)) + "\n"


def _cell(value: Cell) -> str:
    """A cell as a file has it: nothing in one may begin another cell or row."""
    if isinstance(value, str):
        assert value.isprintable(), f"{value!r} is no cell"
        return value
    return str(value)


def engine(program: tuple[str, ...], of: Hashable = ()) -> Engine:
    """The engine of this thread with a program loaded (egglog graphs are bound to a thread).

    The engines that were asked for last are kept, for `SCOPES` programs each; those ``of``
    different rules are different.
    """
    engines: dict[Hashable, Engine] | None = getattr(_HOLDS_THREAD, "engines", None)
    if engines is None:
        engines = _HOLDS_THREAD.engines = {}
    found = engines.pop((program, of), None)
    if found is None or found.scopes >= SCOPES:
        found = Engine(program)
    engines[program, of] = found
    while len(engines) > KEPT:
        del engines[next(iter(engines))]
    return found


class Program(NamedTuple):
    """The commands that programs with any rules begin with, and those that declare the rules.

    Those of ``gated`` are rules in groups, each in its own ruleset, that not all programs need;
    ``of`` stands for all rules that there are.
    """

    base: tuple[str, ...]
    rules: tuple[str, ...]
    gated: tuple[tuple[str, ...], ...] = ()
    of: Hashable = ()


class Session:
    """A scope in which an engine holds the rows of one program; always leaves it empty.

    A few rules are declared anew in every scope, which is cheaper than an engine of their own.
    Errors, when it is entered: EngineError for a command that egglog refuses.
    """

    def __init__(self, program: Program) -> None:
        base, rules, gated, of = program
        every = (*rules, *(text for group in gated for text in group))
        is_brief = len(every) <= FEW
        self._program, self._declared = (base, every) if is_brief else (base + rules, ())
        self._gated, self._of = ((), ()) if is_brief else (gated, of)

    def declare(self) -> None:
        """Make the engine before there is a program: meanwhile other threads run Python."""
        engine(self._program, self._of)

    def __enter__(self) -> Engine:
        found = engine(self._program, self._of)
        try:
            for group in self._gated:
                if group not in found.declared:
                    found.declare(group)
                    found.declared.add(group)
            found.scopes += 1
            found.execute("(push)")
            found.filled.clear()
            for command in self._declared:
                found.execute(command)
        except EngineError:
            self._drop()
            raise
        self._engine = found
        return found

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        if problem is None:
            self._engine.execute("(pop)")
        else:
            self._drop()

    def _drop(self) -> None:
        _HOLDS_THREAD.engines.pop((self._program, self._of), None)
