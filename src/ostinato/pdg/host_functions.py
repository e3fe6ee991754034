"""Python functions that a program calls: what they are given, what they must return, and errors.

A function is kept outside the graph, by the number of its call. Several results travel as one
array, in a type that holds each of them exactly; `Result` says where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from ostinato.pdg.errors import HostError
from ostinato.pdg.functions import INTS, Array
from ostinato.pdg.given_arrays import converted, masked
from ostinato.pdg.index import Dim, Expr, Extent, evaluate, expr, product
from ostinato.pdg.naming import show_shape
from ostinato.pdg.node import Dtype

Env = Mapping[Dim | Extent, int]
_point: ContextVar[Mapping[str, int] | None] = ContextVar("point", default=None)


@dataclass(frozen=True, slots=True)
class Result:
    """One declared result: its shape at a point, and its type."""

    shape: tuple[Expr, ...]
    dtype: Dtype


def carrier(results: Sequence[Result]) -> Dtype:
    """The type that holds every value of all results; an int64 may take two numbers of it.

    >>> carrier([Result((), "float32"), Result((), "bool")])
    'float32'
    """
    kinds: set[Dtype] = {r.dtype for r in results}
    if len(kinds) > 1:
        kinds.discard("bool")
    if len(kinds) == 1:
        return next(iter(kinds))
    if not kinds:
        return "int32"
    return "int64" if kinds.issubset(INTS) else "float64"


def parts(result: Result, dtype: Dtype) -> int:
    """How many numbers of the common type an element takes."""
    return 2 if result.dtype == "int64" and dtype == "float64" else 1


@dataclass(frozen=True, eq=False)
class HostFunction:
    """A function, its declared results, and the dimensions of which it gets all points at once.

    It does not run where one of its last operands, the ``masks``, is false everywhere.
    """

    fn: Callable[..., object]
    name: str
    where: str
    results: tuple[Result, ...]
    over: tuple[Dim, ...]
    masks: int = 0

    @cached_property
    def lead(self) -> tuple[Expr, ...]:
        return tuple(expr(d.extent) for d in self.over)

    @cached_property
    def dtype(self) -> Dtype:
        return carrier(self.results)

    @cached_property
    def shape(self) -> tuple[Expr, ...]:
        """The shape of the array of all results; of none, that of a number."""
        if not self.results:
            return ()
        if not self.is_packed:
            return (*self.lead, *self.results[0].shape)
        numbers = (product(r.shape) * parts(r, self.dtype) for r in self.results)
        return (*self.lead, sum(numbers, expr(0)))

    @property
    def is_packed(self) -> bool:
        return len(self.results) != 1

    def __call__(self, args: Sequence[Array], point: Mapping[Dim, int], env: Env) -> Array:
        """Return the results of one call as one array; zeros where it does not run.

        Errors: HostError if the function raises, or returns what does not fit.
        """
        out: Array = np.empty(_sizes(self.shape, env), self.dtype)
        self.write(out, args, point, env)
        return out

    def write(self, out: Array, args: Sequence[Array], point: Mapping[Dim, int], env: Env) -> None:
        """Put the results of one call into an array of their common type, as `__call__` does.

        It may share memory with ``args``. An error leaves it as it was.
        """
        own = len(args) - self.masks
        if not all(mask.any() for mask in args[own:]):
            out[...] = 0
            return
        args = args[:own]
        named = {d.name: k for d, k in point.items()}
        views = [_readonly(a) for a in args]
        token = _point.set(named)
        try:
            returned = self.fn(*views)
        except Exception as failure:
            text = f"{type(failure).__name__}: {failure}".strip(": ")
            fact = f"`{self.name}` failed{_at(named)}: {text}"
            remedy = "The error that it raised is shown above this one."
            raise HostError(fact, remedy, self.where) from failure
        finally:
            _point.reset(token)
        try:
            found = self._each(returned, env)
        except _Misfit as misfit:
            fact = f"`{self.name}` returned {misfit.found}{_at(named)}"
            raise HostError(fact, f"Return {misfit.wanted}, as declared.", self.where) from None
        self._put(out, found)

    def _each(self, returned: object, env: Env) -> list[Array]:
        """The declared results in what was returned, which may still be the arrays of others."""
        if not self.results:
            return [np.zeros((), "int32")]
        values = [returned]
        if self.is_packed:
            count = len(self.results)
            if not isinstance(returned, tuple | list):
                raise _Misfit(f"a {type(returned).__name__}", f"a tuple of {count} arrays")
            values = list(cast(Sequence[object], returned))
            if len(values) != count:
                raise _Misfit(f"{len(values)} results", f"{count} results")
        return [self._fitted(v, r, env) for v, r in zip(values, self.results, strict=True)]

    def _put(self, out: Array, found: Sequence[Array]) -> None:
        """Write results where `Result` says; the first may be written before the last is read."""
        if not self.results or not self.is_packed:
            out[...] = found[0]
            return
        safe = [x.copy() if np.may_share_memory(x, out) else x for x in found]
        at = 0
        for array, result in zip(safe, self.results, strict=True):
            for row in _split(array, len(self.over), parts(result, self.dtype)):
                out[..., at : at + row.shape[-1]] = row
                at += row.shape[-1]

    def _fitted(self, value: object, result: Result, env: Env) -> Array:
        """A returned value in its declared type and shape."""
        if hidden := masked(value):
            found = f"a masked array, which hides {hidden} of its elements,"
            raise _Misfit(found, f"x.filled(0), an array of {result.dtype}")
        try:
            array: Array = np.asarray(value)
        except (ValueError, OverflowError):
            raise _Misfit("rows of different lengths", f"an array of {result.dtype}") from None
        symbolic = (*self.lead, *result.shape)
        shape = _sizes(symbolic, env)
        target = np.dtype(result.dtype)
        if array.shape == shape and array.dtype == target:
            return array
        wanted = f"an array of shape {shape} and type {result.dtype}"
        if value is None:
            raise _Misfit("None", wanted)
        if array.shape != shape:
            declared = show_shape(symbolic)
            known = f" = {declared}" if any(not s.is_const for s in symbolic) else ""
            wanted = f"an array of shape {shape}{known} and type {result.dtype}"
            raise _Misfit(f"an array of shape {array.shape}", wanted)
        whole = array.dtype.kind in "iu" and target.kind in "iu"  # the values decide
        if array.dtype.kind not in "biuf" or not (
            whole or np.can_cast(array.dtype, target, "same_kind")
        ):
            raise _Misfit(f"an array of type {array.dtype}", wanted)
        out = converted(array, result.dtype)
        if out is None:
            raise _Misfit(f"values outside {result.dtype}", wanted)
        return out


class _Misfit(Exception):
    """What was returned, and what should have been."""

    def __init__(self, found: str, wanted: str) -> None:
        self.found, self.wanted = found, wanted
        super().__init__(found)


def _sizes(shape: Sequence[Expr], env: Env) -> tuple[int, ...]:
    return tuple(max(0, evaluate(size, env)) for size in shape)


def _readonly(array: Array) -> Array:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _split(array: Array, lead: int, count: int) -> list[Array]:
    """An array as rows behind ``lead`` axes; of int64 numbers the high halves, then the low."""
    flat = array.reshape(*array.shape[:lead], math.prod(array.shape[lead:]))
    return [flat] if count == 1 else [flat >> 32, flat & 0xFFFFFFFF]


def _at(point: Mapping[str, int]) -> str:
    text = ", ".join(f"{d} = {k}" for d, k in point.items())
    return f" at {text}" if text else ""


def current_point() -> dict[str, int]:
    """The point of the call that runs here.

    Errors: HostError outside a call.
    """
    found = _point.get()
    if found is None:
        fact = "a point was asked for, but no program is calling a function here"
        raise HostError(fact, "Use `ot.debug.point()` inside a function given to `ot.host`.")
    return dict(found)
