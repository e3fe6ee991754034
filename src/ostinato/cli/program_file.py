"""From ``FILE[:FUNCTION]`` and ``--set name=value`` to what the function returns."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

from ostinato.compiler.experiment import Experiment
from ostinato.compiler.program import Program
from ostinato.inspection.rule_file import run_file
from ostinato.pdg.errors import OptionError, guess

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def load_function(place: str) -> Callable[..., object]:
    """Return the function that ``FILE[:FUNCTION]`` names.

    Without a name: ``main``, or else the only function of the file annotated to return an
    `Experiment`. Errors: OptionError if the file or the function is not there.
    """
    file, _, name = place.partition(":")
    module = _load_module(Path(file))
    own = _own_functions(module)
    if name:
        if name not in own:
            raise OptionError(f"{file} has no function `{name}`.", closest(name, own))
        return own[name]
    if "main" in own:
        return own["main"]
    found = [made for made in own.values() if get_type_hints(made).get("return") is Experiment]
    if len(found) != 1:
        raise OptionError(
            f"{file} has no function `main`, and {len(found)} functions that return an Experiment.",
            f"Name one: {file}:FUNCTION. Known: {', '.join(own) or 'none'}.",
        )
    return found[0]


def read_settings(function: Callable[..., object], settings: Iterable[str]) -> dict[str, object]:
    """Return the keyword arguments that ``name=value`` texts mean, typed by the annotations.

    Errors: OptionError for an unknown name, for a value that is not of the annotated type, and
    for a parameter left without a value.
    """
    kinds = _setting_types(function)
    values: dict[str, object] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise OptionError(f"`--set {setting}` has no value.", "Write --set name=value.")
        if name not in kinds:
            raise OptionError(
                f"`{name}` is no setting of `{function.__name__}`.", closest(name, kinds)
            )
        values[name] = _parse(name, text, kinds[name])
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise OptionError(
                f"`{function.__name__}` needs a value for `{name}`.", f"Add --set {name}=VALUE."
            )
    return values


def load_experiment(place: str, settings: Iterable[str]) -> Experiment:
    """Return the experiment of ``FILE[:FUNCTION]`` under these settings."""
    made = _call(place, settings)
    if not isinstance(made, Experiment):
        raise OptionError(
            f"{place} returns a {type(made).__name__}, not an Experiment.",
            "Return ostinato.Experiment(program=..., over=..., arguments=..., ...).",
        )
    return made


def load_program(place: str, settings: Iterable[str]) -> Program | Experiment:
    """Return what ``FILE[:FUNCTION]`` returns: a program, or an experiment with one."""
    made = _call(place, settings)
    if not isinstance(made, Program | Experiment):
        raise OptionError(
            f"{place} returns a {type(made).__name__}, not a Program or an Experiment.",
            "Return ostinato.Program(name=tensor, ...).",
        )
    return made


def closest(name: str, known: Iterable[str]) -> str:
    """Return a remedy for a misspelt name: the nearest known one and the whole list."""
    names = sorted(known)
    return f"{guess(name, names)}Known: {', '.join(names) or 'none'}."


def _call(place: str, settings: Iterable[str]) -> object:
    function = load_function(place)
    return function(**read_settings(function, settings))


def _load_module(path: Path) -> ModuleType:
    if not path.is_file():
        raise OptionError(f"There is no file {path}.", "Give the path of a Python file.")
    if path.suffix != ".py":
        raise OptionError(f"{path} is not a Python file.", "Give the path of a .py file.")
    # A program called random.py must not replace the library module.
    return run_file(path, f"_run_{path.stem}")


def _own_functions(module: ModuleType) -> dict[str, Callable[..., object]]:
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }


def _setting_types(function: Callable[..., object]) -> Mapping[str, type]:
    hints = get_type_hints(function)
    return {
        name: hints[name]
        for name in inspect.signature(function).parameters
        if hints.get(name) in CONVERSIONS
    }


def _parse(name: str, text: str, kind: type) -> object:
    convert, example = CONVERSIONS[kind]
    try:
        return convert(text)
    except ValueError as error:
        raise OptionError(
            f"`{name}={text}`: {text!r} is not of type {kind.__name__}.",
            f"Give {name} a value such as {example}.",
        ) from error


def _truth(text: str) -> bool:
    if text.lower() not in TRUE + FALSE:
        raise ValueError(text)
    return text.lower() in TRUE


# The types a setting can have, with the reader and an example of each.
CONVERSIONS: Mapping[type, tuple[Callable[[str], object], str]] = {
    bool: (_truth, "true"),
    int: (int, "64"),
    float: (float, "0.5"),
    str: (str, "text"),
}
