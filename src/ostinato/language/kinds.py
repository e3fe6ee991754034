"""What the parameters of public functions accept, read from their annotations.

A kind is made of an annotation: ``int``, ``Tensor | float``, ``Sequence[Dimension]``. A narrower
one is written in the signature itself, such as ``eps: Positive`` or ``rate: Tensor | Probability``.
"""

from __future__ import annotations

import math
import os
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import numpy as np

from ostinato.language.dims import Dimension, is_integer
from ostinato.language.shown import is_a, with_article
from ostinato.language.tensor import Tensor, as_tensor, is_like

REFUSED: Final = object()  # what a kind answers instead of a value
_SEVERAL = "a list of "
LARGEST = 2**63 - 1  # of an integer: extents and positions are int64


def _nothing_else(_: object) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a parameter accepts, in words, and the value that its function gets: or `REFUSED`."""

    words: str
    accept: Callable[[object], object]
    # what to give instead of a value, where its class knows more than words; else ""
    instead: Callable[[object], str] = _nothing_else


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A condition on a number, and its words."""

    words: str
    holds: Callable[[float], bool]


Positive = Annotated[float, Narrowed("a number above 0", lambda x: 0 < x < math.inf)]
NonNegative = Annotated[float, Narrowed("a number from 0", lambda x: 0 <= x < math.inf)]
Finite = Annotated[float, Narrowed("a finite number", math.isfinite)]
Limit = Annotated[float, Narrowed("a number above 0", lambda x: x > 0)]  # math.inf: none
Probability = Annotated[float, Narrowed("a number from 0 to 1", lambda x: 0 <= x <= 1)]
Fraction = Annotated[float, Narrowed("a number from 0 to below 1", lambda x: 0 <= x < 1)]
Count = Annotated[int, Narrowed("an integer from 1", lambda n: n >= 1)]
Natural = Annotated[int, Narrowed("an integer from 0", lambda n: n >= 0)]
Text = Annotated[str, "a text that is not empty"]


@cache
def kind_of(annotation: object) -> Kind:
    """Return what an annotation accepts.

    >>> kind_of(int | None).words, kind_of(int).accept(True) is REFUSED
    ('an integer or None', True)
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation is Any or isinstance(annotation, TypeVar):
        return ANYTHING
    if (meant := getattr(origin or annotation, "__value__", None)) is not None:
        return kind_of(meant)  # an alias, as which NumPy 2.5 has `NDArray`
    if origin is Annotated:
        return _narrowed(parts[0], parts[1])
    if origin in (Union, types.UnionType):
        return _any_of(parts)
    if origin is Literal:
        return _one_of(parts)
    if isinstance(annotation, type) and origin is None:
        return _PLAIN.get(annotation) or _instance(annotation)
    if origin is not None and origin is tuple and parts[-1:] != (Ellipsis,):
        return _row(tuple(map(kind_of, parts)))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _plain("a dictionary", Mapping)
    if origin is frozenset:
        return _instance(frozenset)
    if isinstance(origin, type) and issubclass(origin, np.ndarray):
        return _ARRAY
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _several(kind_of(parts[0]))
    if isinstance(origin, type) and getattr(origin, "_is_protocol", False):
        return _instance(origin)  # such as Env[Discrete]: the parameters are not looked at
    if origin is Callable or annotation is Callable:
        return Kind("a function", lambda x: x if callable(x) else REFUSED)
    if annotation is None:
        return _PLAIN[type(None)]
    raise AssertionError(f"no kind for {annotation!r}")


def _one_of(words: Sequence[str]) -> Kind:
    said = [f'"{word}"' for word in words]
    together = ", ".join([*said[:-2], " or ".join(said[-2:])])
    return Kind(together, lambda x: x if isinstance(x, str) and x in words else REFUSED)


def _number(x: object) -> object:
    if is_a(x, np.integer, np.floating):
        x = cast("np.generic", x).item()
    if isinstance(x, bool) or not isinstance(x, int | float):
        return REFUSED
    return x if isinstance(x, float) or abs(x) <= 2**1023 else REFUSED


def _integer(x: object) -> object:
    return int(x) if is_integer(x) and abs(int(x)) <= LARGEST else REFUSED


def _truth(x: object) -> object:
    return bool(x) if is_a(x, bool, np.bool_) else REFUSED


def _operand(x: object) -> object:
    """A tensor, and whatever can be made one."""
    if isinstance(x, Tensor):
        return x
    return as_tensor(x) if is_like(x) or is_a(x, list, tuple) else REFUSED


def _path(x: object) -> object:
    named = str(x) if is_a(x, str, os.PathLike) else ""
    return x if named and "\0" not in named else REFUSED


def _plain(words: str, *types: type) -> Kind:
    """What accepts the objects of some types, as they are."""
    return Kind(words, lambda x: x if is_a(x, *types) else REFUSED)


ANYTHING = Kind("anything", lambda x: x)
_TENSOR = Kind("a tensor", _operand)
_NO_NUMBER = Kind("a tensor", lambda x: REFUSED if _number(x) is not REFUSED else _operand(x))
_FLOAT = Kind("a number", _number)
_ARRAY = _plain("an array", np.ndarray)
_PLAIN: dict[type, Kind] = {
    object: ANYTHING,
    type(None): _plain("None", type(None)),
    int: Kind("an integer", _integer),
    float: _FLOAT,
    bool: Kind("True or False", _truth),
    str: _plain("a text", str),
    Path: Kind("a path", _path),
    Tensor: _TENSOR,
}
_WORDS = {
    "Tensor": "a tensor",
    "Experiment": "an ot.Experiment",
    "Rule": "an ot.Rule",
    "Expression": "a term of ostinato.rewrite.terms",
    "Fact": "a fact of ostinato.rewrite.terms, such as eq(a, b)",
    "IndexExpression": "an index expression",
    "Condition": "a condition such as t > 0",
    "Dim": "a dimension of ot.dims",
    "Dimension": "a dimension of ot.dims",
    "Recurrent": "a recurrent tensor",
    "Record": "an ot.Record",
    "Env": "an environment such as rl.CartPole()",
    "Program": "an ot.Program",
    "RuleSet": 'a set of rules, such as ot.rules.without("vectorize")',
    "Optimizer": "an optimizer such as optim.Adam(1e-3)",
}


def _instance(of: type) -> Kind:
    words = _WORDS.get(of.__name__, with_article(of.__name__))
    if getattr(of, "_is_protocol", False):
        parts = [name for name in vars(of) if not name.startswith("_")]

        def accept(x: object) -> object:
            has_all = not isinstance(x, type) and all(hasattr(x, part) for part in parts)
            return x if has_all else REFUSED

        return Kind(words, accept)
    instead: Callable[[object], str] = getattr(of, "instead", _nothing_else)
    return Kind(words, lambda x: x if isinstance(x, of) else REFUSED, instead)


def _narrowed(base: object, by: object) -> Kind:
    wide = kind_of(base)
    if not isinstance(by, Narrowed):  # a text that is not empty
        return Kind(str(by), lambda x: x if wide.accept(x) is not REFUSED and x else REFUSED)

    def accept(x: object) -> object:
        found = wide.accept(x)
        return found if found is not REFUSED and by.holds(cast(float, found)) else REFUSED

    return Kind(by.words, accept)


def _any_of(annotations: Sequence[object]) -> Kind:
    """The first kind that accepts a value as it is; a number stays one beside a tensor."""
    kinds = [kind_of(a) for a in annotations if a is not str or Path not in annotations]
    if _TENSOR in kinds and len(kinds) > 1:
        kinds.remove(_TENSOR)
        several = any(_is_several(a) for a in annotations)
        kinds.append(_instance(Tensor) if several else _NO_NUMBER)
    words = list(dict.fromkeys(kind.words for kind in kinds))
    short = [word for word in words if not word.startswith(_SEVERAL)]
    same = _SEVERAL + " or ".join(short)
    words = ["a list of these" if word == same else word for word in words]

    def accept(x: object) -> object:
        return next((y for kind in kinds if (y := kind.accept(x)) is not REFUSED), REFUSED)

    return Kind(", ".join([*words[:-2], " or ".join(words[-2:])]), accept)


def _is_several(annotation: object) -> bool:
    origin = get_origin(annotation)
    return isinstance(origin, type) and issubclass(origin, Sequence)


def items_of(x: object) -> Sequence[object] | None:
    """Return the items of what holds some in an order, and None of anything else."""
    if isinstance(x, list | tuple):
        return cast(Sequence[object], x)
    if isinstance(x, str | bytes | Mapping | set | frozenset | Tensor):
        return None
    if isinstance(x, np.ndarray):
        return cast(list[object], x.tolist()) if x.ndim else None
    return tuple(cast(Collection[object], x)) if isinstance(x, Collection) else None


def _several(of: Kind) -> Kind:
    def accept(x: object) -> object:
        items = items_of(x)
        if items is None:
            return REFUSED
        found = [of.accept(item) for item in items]
        if any(item is REFUSED for item in found):
            return REFUSED
        return _unless_same(items, found)

    words = f"{_SEVERAL}{_plural(of.words)}" if of is not ANYTHING else "a list"
    return Kind(words, accept, of.instead)


def _unless_same(items: Sequence[object], found: Sequence[object]) -> Sequence[object]:
    """The items as they were given, unless one was replaced by what its kind makes of it."""
    return items if all(a is b for a, b in zip(items, found, strict=True)) else tuple(found)


def _plural(words: str) -> str:
    """Several of what words say: "a number from 0" as "numbers from 0"."""
    one = re.fullmatch(r"an? (.+?)((?: of| such| from| above| that).*|)", words)
    return words if one is None or " or " in words else f"{one[1]}s{one[2]}"


def _row(kinds: Sequence[Kind]) -> Kind:
    def accept(x: object) -> object:
        items = items_of(x)
        if items is None or len(items) != len(kinds):
            return REFUSED
        found = tuple(kind.accept(item) for kind, item in zip(kinds, items, strict=True))
        if any(item is REFUSED for item in found):
            return REFUSED
        return found if isinstance(items, list) else _unless_same(items, found)

    count = "a pair" if len(kinds) == 2 else f"{len(kinds)} values"
    return Kind(f"{count} ({', '.join(kind.words for kind in kinds)})", accept)


def remedy_for(value: object, kind: Kind) -> str:
    """Return what to give instead."""
    if instead := kind.instead(value):
        return instead
    given = f"Give {kind.words}"
    is_plain = any(word in kind.words for word in ("integer", "number", "True", "text"))
    if isinstance(value, Tensor) and is_plain and "tensor" not in kind.words:
        return f"{given}: what a tensor holds is known only when a program runs."
    if isinstance(value, Dimension) and "integer" in kind.words:
        return f"{given}: `x.at({value}=slice(None))` has the points of `{value}` along axis 0."
    if isinstance(value, types.GeneratorType):
        return f"{given}: list(...) makes a list of a generator."
    return f"{given}."
