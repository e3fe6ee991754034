"""From ``--set name=value`` to the arguments of a function, by its annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

from ostinato.language.kinds import REFUSED, kind_of
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import OptionError, guess

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_WRITTEN = (bool, int, float, str, Path)  # what a text can say


def read_settings(
    function: Callable[..., object], settings: Iterable[str], given: Container[str] = ()
) -> dict[str, object]:
    """Return the keyword arguments that ``name=value`` texts mean, as the annotations take them.

    ``given`` are parameters that the caller has. Several numbers have commas between them.
    Errors: OptionError for an unknown name, one that is set twice, a value that the parameter does
    not accept, and a parameter left without a value.
    """
    kinds = settable(function)
    values: dict[str, object] = {}
    for setting in settings:
        name, text = parted(setting)
        if name not in kinds:
            raise unknown(name, function, kinds)
        if name in values:
            raise OptionError(f"`{name}` is set twice.", f"Write one --set {name}=VALUE.")
        values[name] = read(name, text, kinds[name])
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is parameter.empty and name not in values and name not in given:
            raise OptionError(
                f"`{function.__name__}` needs a value for `{name}`.", f"Add --set {name}=VALUE."
            )
    return values


def parted(setting: str, option: str = "--set") -> tuple[str, str]:
    """Return the name and the text of a setting that an option gives.

    Errors: OptionError if there is no value.
    """
    name, equals, text = setting.partition("=")
    if not equals:
        raise OptionError(f"`{option} {setting}` has no value.", f"Write {option} name=value.")
    return name, text


def settable(function: Callable[..., object]) -> Mapping[str, object]:
    """Return the annotations of the parameters that a text can say."""
    hints = known_annotations(function)
    names = inspect.signature(function).parameters
    return {name: hints[name] for name in names if name in hints and _is_written(hints[name])}


def known_annotations(function: Callable[..., object]) -> dict[str, object]:
    """Return the annotations of a function that can be evaluated.

    Names that are imported for type checkers only have no meaning in a run.
    """
    written: dict[str, Any] = inspect.get_annotations(function)
    found: dict[str, object] = {}
    for name, annotation in written.items():
        alone = SimpleNamespace(__annotations__={name: annotation})
        with suppress(NameError, AttributeError, TypeError, SyntaxError):
            known = getattr(inspect.unwrap(function), "__globals__", {})
            found |= get_type_hints(alone, known, include_extras=True)
    return found


def unknown(name: str, function: Callable[..., object], known: Iterable[str]) -> OptionError:
    """Return the error about a setting that a function does not have."""
    return OptionError(f"`{name}` is no setting of `{function.__name__}`.", closest(name, known))


def read(name: str, text: str, annotation: object) -> object:
    """Return the value that a text means for a parameter.

    >>> read("hidden", "64,64", tuple[int, ...] | None)
    (64, 64)

    Errors: OptionError if the parameter does not accept it.
    """
    kind = kind_of(annotation)
    for candidate in _candidates(text, mentions(annotation, int)):
        found = kind.accept(candidate)
        if found is not REFUSED and not isinstance(found, Tensor):
            return found
    words = kind.words
    if words.endswith(" or a tensor"):  # which no text can say
        words = " or ".join(words.removesuffix(" or a tensor").rsplit(", ", 1))
    raise OptionError(f"`{name}={text}` is not {words}.", f"Give {name} {words}.")


def closest(name: str, known: Iterable[str]) -> str:
    """Return a remedy for a misspelt name: the nearest known one and the whole list."""
    names = sorted(known)
    return f"{guess(name, names)}Known: {', '.join(names) or 'none'}."


def _is_written(annotation: object) -> bool:
    return any(mentions(annotation, kind) for kind in _WRITTEN)


def mentions(annotation: object, kind: type) -> bool:
    """Return whether a kind is among what an annotation allows."""
    return annotation is kind or any(mentions(part, kind) for part in get_args(annotation))


def _candidates(text: str, may_be_integer: bool) -> Iterator[object]:
    """What a text may mean, the narrowest first."""
    if text.lower() == "none":
        yield None
    if text.lower() in TRUE + FALSE:
        yield text.lower() in TRUE
    numbers = (int, float) if may_be_integer else (float,)
    for number in numbers:
        with suppress(ValueError):
            yield number(text)
    for number in numbers:
        with suppress(ValueError):
            yield tuple(map(number, filter(None, text.split(","))))
    yield text
