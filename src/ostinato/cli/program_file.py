"""From ``FILE[:FUNCTION]`` and ``--set name=value`` to what the function returns."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from ostinato.cli.settings import closest, known_annotations, read_settings
from ostinato.compiler.experiment import Experiment
from ostinato.compiler.program import Program
from ostinato.inspection.rule_file import run_file
from ostinato.pdg.errors import OptionError


def load_function(place: str) -> Callable[..., object]:
    """Return the function that ``FILE[:FUNCTION]`` names.

    Without a name: ``main``, or else the only function of the file annotated to return an
    `Experiment`, or where there is none, a `Program`.
    Errors: OptionError if the file or the function is not there.
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
    found = _annotated(own.values(), Experiment) or _annotated(own.values(), Program)
    if len(found) != 1:
        raise OptionError(
            f"{file} has no function `main`, and {len(found)} functions annotated to return an "
            "Experiment.",
            f"Name one: {file}:FUNCTION. Known: {', '.join(own) or 'none'}.",
        )
    return found[0]


def _annotated(
    functions: Iterable[Callable[..., object]], kind: type
) -> list[Callable[..., object]]:
    """The functions with such a result, such as an `rl.Training`, which is an `Experiment`."""
    return [each for each in functions if _is_kind(known_annotations(each).get("return"), kind)]


def _is_kind(annotation: object, kind: type) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, kind)


def load_experiment(place: str, settings: Iterable[str]) -> Experiment:
    """Return the experiment of ``FILE[:FUNCTION]`` under these settings."""
    made = _call(place, settings)
    if not isinstance(made, Experiment):
        raise OptionError(
            f"{place} returns a {type(made).__name__}, not an Experiment.",
            "Return ostinato.Experiment(program=..., over=..., arguments=..., ...).",
        )
    _check_metrics(made, place)
    return made


def _check_metrics(made: Experiment, place: str) -> None:
    """Refuse to record what no record has.

    Errors: OptionError.
    """
    over = str(made.over)
    known = [n for n, node in made.program.pdg.outputs if [*map(str, node.domain)][:1] == [over]]
    known = [name for name in known if name in made.program.outputs]
    for name in (made.metric, *(() if made.stop is None else (made.stop.metric,))):
        if known and name not in known:
            fact = f"{place} records `{name}`, which is no output over `{over}` of its program."
            raise OptionError(fact, f"Give its Experiment a `metric`: {', '.join(known)}.")


def load_program(place: str, settings: Iterable[str]) -> Program | Experiment:
    """Return what ``FILE[:FUNCTION]`` returns: a program, or an experiment with one."""
    made = _call(place, settings)
    if not isinstance(made, Program | Experiment):
        raise OptionError(
            f"{place} returns a {type(made).__name__}, not a Program or an Experiment.",
            "Return ostinato.Program(name=tensor, ...).",
        )
    return made


def _call(place: str, settings: Iterable[str]) -> object:
    function = load_function(place)
    return function(**read_settings(function, settings))


def _load_module(path: Path) -> ModuleType:
    if not path.is_file():
        is_there = "is no file" if path.exists() else "does not exist"
        raise OptionError(f"`{path}` {is_there}.", "Give the path of a Python file.")
    if path.suffix != ".py":
        raise OptionError(f"{path} is not a Python file.", "Give the path of a .py file.")
    # A program called random.py must not replace the library module.
    try:
        return run_file(path, f"_run_{path.stem}")
    except SyntaxError as error:
        if error.lineno is not None and error.filename != str(path):
            raise  # of a file that it imports
        line = "" if error.lineno is None else f":{error.lineno}"
        fact = f"{path}{line}: {error.msg}."
        raise OptionError(fact, "Correct the line, or give the path of a Python file.") from None


def _own_functions(module: ModuleType) -> dict[str, Callable[..., object]]:
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }
