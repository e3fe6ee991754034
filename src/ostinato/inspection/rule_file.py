"""Rules that a user's Python file declares, with the line of each."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast

from ostinato.pdg.errors import OptionError
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.registry import RuleSet, every_rule


class _Fresh(SourceFileLoader):
    """Compiles the text: what Python kept of a file counts as new for a second, at equal size."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def run_file(path: Path, name: str) -> ModuleType:
    """Return the module that a Python file is, under a name that is no module's.

    The file's folder comes first in ``sys.path``, as in a script that Python runs.
    Errors: those of the file.
    """
    spec = importlib.util.spec_from_file_location(name, path, loader=_Fresh(name, str(path)))
    assert spec is not None and spec.loader is not None, f"{path} has no loader"
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_HEAD = "rules"  # the name of the set, where a file makes several


@dataclass(frozen=True, slots=True)
class RuleFile:
    """What a file declares: a set that it made, or None, and rules that it leaves to be added."""

    path: Path
    made: RuleSet | None
    declared: tuple[Rule, ...]
    lines: Mapping[str, int]

    def place(self, rule: Rule) -> str:
        """``file:line`` of a rule."""
        return f"{self.path.name}:{self.lines.get(rule.name, 1)}"

    @property
    def own(self) -> tuple[Rule, ...]:
        """The rules of the file that are not the compiler's."""
        known = frozenset(every_rule())
        made = () if self.made is None else (r for r in self.made if r not in known)
        return (*made, *self.declared)

    def added(self, base: RuleSet) -> RuleSet:
        """The set that the file made, or else ``base``, with the rules that it declares.

        Errors: OptionError with the line of a rule that is refused.
        """
        found = base if self.made is None else self.made
        for rule in self.declared:
            try:
                found = found.checked((rule,))
            except OptionError as error:
                raise error.at(self.place(rule)) from None
        return found

    def check_form(self) -> None:
        """Refuse a declared rule that is not well formed; nothing is proved.

        Errors: OptionError with its line.
        """
        from ostinato.rewrite.registration import check_form

        for rule in self.declared:
            try:
                check_form(rule)
            except OptionError as error:
                raise error.at(self.place(rule)) from None


def read_rules(path: Path) -> RuleFile:
    """Run a file and return what it declares at its top: `ostinato.Rule`s, lists of them, a set.

    Errors: OptionError if it is no Python file, or declares no rules; what the file itself raises.
    """
    tree = _parsed(path)
    values = vars(_run(path))
    sets = {n: v for n, v in values.items() if isinstance(v, RuleSet) and v != every_rule()}
    if len(sets) > 1 and _HEAD not in sets:
        names = ", ".join(f"`{name}`" for name in sets)
        raise OptionError(
            f"{path.name} makes several sets of rules: {names}",
            f"Call the one to use `{_HEAD}`.",
            f"{path.name}:1",
        )
    made = sets.get(_HEAD, next(iter(sets.values()), None))
    known = frozenset(every_rule())
    added = {rule.name for rule in made or () if rule not in known}
    declared = (r for r in _rules_in(values) if r not in known and r.name not in added)
    found = RuleFile(path, made, tuple(dict.fromkeys(declared)), dict(_lines(tree, values)))
    if not found.own:
        remedy = "Assign an `ot.Rule`, or the set that `ot.rules.add` returns, to a name in it."
        raise OptionError(f"{path.name} declares no rules", remedy, f"{path.name}:1")
    return found


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"), path.name)
    except OSError as problem:
        fact = f"the rules of `{path}` cannot be read: {problem.strerror}"
        raise OptionError(fact, "Give the path of a Python file.") from None
    except (SyntaxError, ValueError) as problem:
        line = getattr(problem, "lineno", None) or 1
        fact = f"this is no Python: {getattr(problem, 'msg', problem)}"
        raise OptionError(fact, "Correct the line.", f"{path.name}:{line}") from None


def _run(path: Path) -> ModuleType:
    if path.suffix != ".py":
        raise OptionError(f"{path} is not a Python file", "Give the path of a .py file.")
    try:
        return run_file(path, f"_rules_{path.stem}")
    finally:
        sys.path.pop(0)


def _rules_in(values: Mapping[str, object]) -> Iterator[Rule]:
    for value in values.values():
        if isinstance(value, Rule):
            yield value
        elif isinstance(value, list | tuple):
            yield from (part for part in cast(Sequence[object], value) if isinstance(part, Rule))


def _lines(tree: ast.Module, values: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    """The line of every rule: where its value is assigned, or better where its name stands."""
    for line in tree.body:
        targets = line.targets if isinstance(line, ast.Assign) else ()
        for target in targets:
            if isinstance(target, ast.Name):
                assigned = {target.id: values.get(target.id)}
                yield from ((rule.name, line.lineno) for rule in _rules_in(assigned))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            words = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
            for word in words:
                if isinstance(word, ast.Constant) and isinstance(word.value, str):
                    yield word.value, node.lineno
