"""The surface of the package: every public function looks at its arguments before it runs.

`declare` puts a check in front of the public functions and methods of a module. What a parameter
accepts is read from its annotation (`kinds.py`), at the first call. A wrong argument is refused
with the user's line, the function, the value and what to give instead.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, update_wrapper
from types import FunctionType
from typing import NoReturn, cast

from ostinato.language.kinds import ANYTHING, REFUSED, Kind, kind_of, remedy_for
from ostinato.language.shown import shown
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError, OptionError, guess
from ostinato.pdg.naming import called
from ostinato.provenance.place import place

PACKAGE = "ostinato"
Function = Callable[..., object]
# Where names stand that annotations mention and that neither their module has at run time, nor the
# package.
ELSEWHERE = {
    "By": "ostinato.inspection.rule_questions",
    "Mask": "ostinato.language.ragged.mask",
    "Optimizer": "ostinato.optim.optimizer",
    # what a program takes; ot.RuleSet is one of these
    "RuleSet": "ostinato.rewrite.registry",
}
# Constructors that only the package itself has arguments for.
MADE_BY = {
    "Tensor": "Make one by ot.constant, ot.input or ot.recurrent.",
    "Recurrent": 'Make one by ot.recurrent("x", over=t).',
    "Carry": 'Make one by ot.carry("x", 0.0, over=(i, t)).',
    "Dimension": 'Make one by ot.dims("t").',
    "IndexExpression": 'Make one of a dimension: t + 1, with t = ot.dims("t").',
    "Condition": "Make one by a comparison: t > 0.",
    "dims": 'Name them in one text: b, t = ot.dims("b t").',
    "Sample": "Make one by rl.Categorical(logits).sample().",
}


@dataclass(slots=True)
class Parameters:
    """The parameters of a function: their names, and the kinds of those that are checked."""

    name: str  # as the user writes it
    owner: type | None = None  # the class of a method
    placed: list[str] = field(default_factory=list[str])  # those that may be given by place
    only_placed: int = 0
    required: list[str] = field(default_factory=list[str])
    kinds: dict[str, Kind] = field(default_factory=dict[str, Kind])
    rest: Kind | None = None  # of further arguments by place
    more: Kind | None = None  # of further arguments by name

    def accepted(
        self, args: tuple[object, ...], named: Mapping[str, object]
    ) -> tuple[list[object], dict[str, object]]:
        """Return the arguments as the function gets them.

        Errors: ArgumentError for one that is unknown, missing, given twice, or of another kind.
        """
        count = len(self.placed)
        if self.owner and not (args and isinstance(args[0], self.owner)):
            fact = f"`{self.name}`, a method of `{self.owner.__name__}`, is called on a class"
            raise ArgumentError(fact, "Make an object first, and call its method.", place())
        if len(args) > count and self.rest is None:
            self._refuse_extra(len(args))
        found: list[object] = []
        for k, value in enumerate(args):
            name = self.placed[k] if k < count else ""
            kind = self.kinds[name] if name else self.rest or ANYTHING
            accepted = value if kind is ANYTHING else kind.accept(value)
            found.append(self._refuse(args, name, value, kind) if accepted is REFUSED else accepted)
        by_name: dict[str, object] = {}
        for name, value in named.items():
            kind = self._named(name, len(args))
            accepted = value if kind is ANYTHING else kind.accept(value)
            by_name[name] = (
                self._refuse(args, name, value, kind) if accepted is REFUSED else accepted
            )
        for name in self.required:
            if name not in named and name not in self.placed[: len(args)]:
                self._refuse_missing(name)
        return found, by_name

    def _named(self, name: str, given: int) -> Kind:
        kind = self.kinds.get(name)
        if kind is None or name in self.placed[: self.only_placed]:
            if self.more is None:
                self._refuse_unknown(name)
            return self.more
        if name in self.placed[:given]:
            fact = f"`{self.name}` gets `{name}` twice"
            raise ArgumentError(fact, "Give it once, by place or by name.", place())
        return kind

    def _refuse(self, args: tuple[object, ...], name: str, value: object, kind: Kind) -> NoReturn:
        first = args[0] if args and self.name[:1].islower() else None
        of = f" of {called(first.node)}" if isinstance(first, Tensor) and first is not value else ""
        where = f" for `{name}`" if name else ""
        fact = f"`{self.name}`{of} gets {shown(value)}{where}"
        raise ArgumentError(fact, MADE_BY.get(self.name) or remedy_for(value, kind), place())

    def _refuse_unknown(self, name: str) -> NoReturn:
        known = [p for p in self.kinds if p not in self.placed[: self.only_placed] and p != "self"]
        takes = f"It takes: {', '.join(known)}." if known else "It takes none by name."
        fact = f"`{self.name}` has no parameter `{name}`"
        spelt = {"".join(word[0] for word in known.split("_")): known for known in known}
        near = f"Did you mean `{spelt[name]}`? " if name in spelt else guess(name, known)
        raise ArgumentError(fact, f"{near}{takes}", place())

    def _refuse_missing(self, name: str) -> NoReturn:
        fact = f"`{self.name}` is called without `{name}`"
        if self.name in MADE_BY:
            raise ArgumentError(fact, MADE_BY[self.name], place())
        raise ArgumentError(fact, f"Write {self.name}({', '.join(self._written())}).", place())

    def _written(self) -> list[str]:
        by_name = [f"{name}=..." for name in self.required if name not in self.placed]
        return [name for name in self.required if name in self.placed and name != "self"] + by_name

    def _refuse_extra(self, given: int) -> NoReturn:
        bound = self.placed[:1] == ["self"]
        names = self.placed[bound:]
        count = f"{given - bound} argument{'s' * (given - bound > 1)}"
        fact = f"`{self.name}` gets {count} by place, it takes {len(names) or 'none'}"
        remedy = f"It takes: {', '.join(names)}." if names else ""
        remedy = MADE_BY.get(self.name, remedy)
        if self.more is not None:
            remedy = f"Give them by name: {self.name}(name=...)."
        by_name = [name for name in self.kinds if name not in self.placed]
        if by_name and self.more is None:
            remedy = f"{remedy} By name: {', '.join(by_name)}.".strip()
        raise ArgumentError(fact, remedy or f"Write {self.name}().", place())


def parameters_of(fn: Function, name: str, owner: type | None) -> Parameters:
    """Return what a function takes, by its signature; the first of a method is the object."""
    out = Parameters(name, owner)
    names = Names(fn, owner)
    for k, (key, p) in enumerate(inspect.signature(fn).parameters.items()):
        kind = ANYTHING if owner and k == 0 else names.kind(p.annotation)
        match p.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                out.rest = kind
                continue
            case inspect.Parameter.VAR_KEYWORD:
                out.more = kind
                continue
            case inspect.Parameter.KEYWORD_ONLY:
                pass
            case _:
                out.placed.append(key)
                out.only_placed += p.kind is inspect.Parameter.POSITIONAL_ONLY
        out.kinds[key] = kind
        if p.default is inspect.Parameter.empty:
            out.required.append(key)
    return out


class Names(dict[str, object]):
    """The names that a function's annotations mention.

    The constructor of a record mentions those of the fields that its class inherits.
    """

    def __init__(self, fn: Function, owner: type | None = None) -> None:
        super().__init__()
        bases = owner.__mro__[:-1] if owner else ()
        inherited = [vars(sys.modules[base.__module__]) for base in bases]
        self._spaces = (cast(FunctionType, fn).__globals__, *inherited, vars(builtins))

    def __missing__(self, name: str) -> object:
        for known in self._spaces:
            if name in known:
                return known[name]
        return getattr(importlib.import_module(ELSEWHERE.get(name, PACKAGE)), name)

    def kind(self, annotation: object) -> Kind:
        """Return the kind of an annotation, which is a text."""
        if isinstance(annotation, str):
            annotation = eval(annotation, {}, self)  # noqa: S307  # a text of this package
        return ANYTHING if annotation is inspect.Parameter.empty else kind_of(annotation)


def refuse_low_limit(name: str) -> None:
    """Say that Python allows too few calls, unless most of them are the user's own.

    Errors: OptionError.
    """
    limit, own = sys.getrecursionlimit(), 0
    frame = inspect.currentframe()
    while frame is not None:
        own += not str(frame.f_globals.get("__name__")).startswith(PACKAGE)
        frame = frame.f_back
    if 2 * own < limit:
        fact = f"`{name}` needs more calls within calls than Python's limit of {limit}"
        remedy = f"Raise it first: sys.setrecursionlimit({max(10_000, 2 * limit)})."
        raise OptionError(fact, remedy, place())


def checked(fn: Function, name: str, owner: type | None = None) -> Function:
    """Return a function, or a method of a class, that looks at its arguments first."""
    parameters = cache(lambda: parameters_of(fn, name, owner))
    refuse = refuse_low_limit  # a cell of `call`, whose globals are those of the function

    def call(*args: object, **named: object) -> object:
        try:
            placed, by_name = parameters().accepted(args, named)
            return fn(*placed, **by_name)
        except RecursionError:
            refuse(name)
            raise

    # Under the function's own name and globals: tracebacks, doctests and errors show the function.
    inner = cast(FunctionType, fn)
    code = call.__code__.replace(co_name=inner.__name__, co_qualname=inner.__qualname__)
    out = FunctionType(code, inner.__globals__, inner.__name__, None, call.__closure__)
    return cast(Function, update_wrapper(out, fn))


def declare(module: str, names: Iterable[str] | None = None) -> None:
    """Check the arguments of a module's public functions, and of the methods of its classes.

    ``names`` are the public names; without them, the functions that the module defines.
    """
    space = vars(sys.modules[module])
    if names is None:
        own = {n: v for n, v in space.items() if getattr(v, "__module__", "") == module}
        names = [n for n, v in own.items() if not n.startswith("_") and inspect.isfunction(v)]
    for name in names:
        value: object = space.get(name)
        if isinstance(value, type):
            declare_class(value)
        elif inspect.isfunction(value) and not hasattr(value, "__wrapped__"):
            made = checked(value, name)
            space[name] = vars(sys.modules[value.__module__])[value.__name__] = made


def declare_class(kind: type, besides: Iterable[str] = ()) -> None:
    """Check the arguments of a class's constructor and public methods, inherited ones too."""
    if Exception in kind.__mro__ or getattr(kind, "_is_protocol", False):
        return
    for each in kind.__mro__:
        if not each.__module__.startswith(PACKAGE):
            continue
        for name, method in list(vars(each).items()):
            if not inspect.isfunction(method) or hasattr(method, "__wrapped__"):
                continue
            if name in besides or name.startswith("_") and name not in ("__init__", "__call__"):
                continue
            spoken = each.__name__ if name.startswith("_") else name
            setattr(each, name, checked(method, spoken, each))
