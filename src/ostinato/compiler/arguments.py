"""Binding the arguments of a call: extents, inputs and the seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from ostinato.language.dims import is_integer
from ostinato.language.shown import is_a, shown
from ostinato.pdg.errors import ArgumentError, guess
from ostinato.pdg.functions import Array
from ostinato.pdg.given_arrays import converted, masked
from ostinato.pdg.index import Dim, Expr, Extent, Index, Slice, evaluate, expr, symbols
from ostinato.pdg.intervals import LONGEST
from ostinato.pdg.limits import Count, counts
from ostinato.pdg.naming import show_shape
from ostinato.pdg.node import Affine, Case, Gather, Input, Iota, Node, Part, Pdg, Read
from ostinato.runtime.run.execution import Bound

LARGEST_SEED = 2**64 - 1  # draws are keyed by 64 bits of it
# What a call or a stream takes besides a program's own arguments.
TAKEN = frozenset({"seed", "self", "check_finite", "over", "every", "resume", "keep"})
LONGEST_SEARCH = 10_000  # how far an extent is tried until another one that it defines is enough


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments a program takes: input nodes and extents, by name in alphabetical order."""

    inputs: dict[str, Node]
    extents: tuple[str, ...]
    least: dict[str, int]  # extents that start above 1
    derived: dict[str, Expr] = field(default_factory=dict[str, Expr])  # by those of ``extents``
    counts: tuple[Count, ...] = ()  # what could be too many
    _last: dict[object, dict[str, int]] = field(  # the extents of the last call, by its sizes
        default_factory=dict[object, dict[str, int]], compare=False, repr=False
    )

    def bind(self, arguments: Mapping[str, object], where: str = "") -> Bound:
        """Return checked arguments of a call at a place of the user's program.

        Extents are given by name or follow from the shapes of inputs; ``seed`` is 0 if not given.
        Errors: ArgumentError for unknown, missing, contradicting and misshapen arguments.
        """
        try:
            return self._bound(arguments)
        except ArgumentError as error:
            raise error.at(where) from None

    def _bound(self, arguments: Mapping[str, object]) -> Bound:
        self._refuse_unknown(arguments)
        seed = _integer("seed", arguments.get("seed", 0), 0, LARGEST_SEED)
        given = {
            name: _integer(name, arguments[name], 1, LONGEST)
            for name in (*self.extents, *self.derived)
            if name in arguments
        }
        arrays = {
            name: _array(name, node, arguments[name])
            for name, node in self.inputs.items()
            if name in arguments
        }
        shapes = tuple((name, array.shape) for name, array in arrays.items())
        key = (tuple(given.items()), shapes)
        if key not in self._last:
            found = self._sizes(given, dict(shapes))
            self._last.clear()
            self._last[key] = found
        return Bound(dict(self._last[key]), arrays, seed)

    def sized(self, given: Mapping[str, object], where: str) -> dict[str, int]:
        """Return checked extents that are given by name, without inputs.

        Errors: ArgumentError for unknown, missing and contradicting ones.
        """
        known = (*self.extents, *self.derived)
        try:
            for name in given:
                if name not in known:
                    remedy = f"{guess(name, known)}It has: {', '.join(self.extents) or 'none'}."
                    raise ArgumentError(f"the program has no extent `{name}`", remedy)
            sizes = {n: _integer(n, size, 1, LONGEST) for n, size in given.items()}
            extents = {name: (size, f"{name}={size}") for name, size in sizes.items()}
            self._refuse_missing(self.inputs, extents)
            self._check_derived(extents)
            self._refuse_short(extents)
        except ArgumentError as error:
            raise error.at(where) from None
        return {name: sizes[name] for name in self.extents}

    def _sizes(
        self, given: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
    ) -> dict[str, int]:
        """The extents that are given by name or by the shapes of inputs."""
        extents = {name: (size, f"{name}={size}") for name, size in given.items()}
        for name, shape in shapes.items():
            _extents_from(name, declared_shape(self.inputs[name]), shape, extents)
        self._refuse_missing(shapes, extents)
        self._check_derived(extents)
        self._refuse_short(extents)
        self._refuse_long(extents)
        for name, shape in shapes.items():
            _check_shape(name, declared_shape(self.inputs[name]), shape, extents)
        return {name: extents[name][0] for name in self.extents}

    def _refuse_unknown(self, arguments: Mapping[str, object]) -> None:
        known = (*self.inputs, *self.extents, *self.derived, "seed")
        for name in arguments:
            if name not in known:
                takes = (*self.inputs, *self.extents, "seed")  # what is derived need not be given
                remedy = f"{guess(name, known)}It takes: {', '.join(takes)}."
                raise ArgumentError(f"the program has no argument `{name}`", remedy)

    def _refuse_missing(self, given: Mapping[str, object], extents: Iterable[str]) -> None:
        for name, node in self.inputs.items():
            if name not in given:
                shape = show_shape(declared_shape(node))
                remedy = f"Pass {name}=... of shape {shape} and type {node.dtype}."
                raise ArgumentError(f"the input `{name}` is missing", remedy)
        for name in self.extents:
            if name not in extents:
                remedy = f"Pass {name}=..., the number of steps of `{name.lower()}`."
                raise ArgumentError(f"the extent `{name}` is missing", remedy)

    def _check_derived(self, extents: Mapping[str, tuple[int, str]]) -> None:
        """Refuse extents that make a derived one empty, or another than what was given."""
        for name, of in self.derived.items():
            found, because = _evaluated(of, extents)
            if found < 1:
                fact = f"the extent `{name}` = {of} is {found} ({because})"
                raise ArgumentError(fact, "Pass extents for which it is at least 1.")
            given, source = extents.get(name, (found, ""))
            if given != found:
                fact = f"the extent `{name}` is {given} ({source}) and {of} = {found} ({because})"
                raise ArgumentError(fact, "Leave it out: the other extents give it.")

    def _refuse_short(self, extents: Mapping[str, tuple[int, str]]) -> None:
        for name, least in self.least.items():
            size, because = extents[name]
            if size < least:
                fact = f"the extent `{name}` is {size} ({because}), the program reads {least} steps"
                raise ArgumentError(fact, f"Pass at least {least} steps of `{name.lower()}`.")

    def _refuse_long(self, extents: Mapping[str, tuple[int, str]]) -> None:
        """Refuse extents for which int32 positions or int64 indices could not count."""
        derived = {name: _evaluated(of, extents) for name, of in self.derived.items()}
        for name, (size, because) in {**extents, **derived}.items():
            if size > LONGEST:
                fact = f"the extent `{name}` is {size} ({because}), the most is {LONGEST}"
                raise ArgumentError(fact, "Split the steps into several runs.")
        for count in self.counts:
            found, because = _evaluated(count.size, extents)
            if found > count.most:
                fact = f"{count.what} counts {count.size} = {found} ({because})"
                raise ArgumentError(f"{fact}, the most is {count.most}", "Pass smaller extents.")


def signature(pdg: Pdg) -> Signature:
    """Return the arguments a program takes.

    Errors: ArgumentError if two inputs share a name, or an input is called like an extent.
    """
    inputs: dict[str, Node] = {}
    mentioned: set[Dim | Extent] = set(pdg.dims())
    for node in pdg.nodes():
        mentioned |= node_symbols(node)
        if isinstance(node.op, Input):
            other = inputs.setdefault(node.op.name, node)
            if other != node:
                fact = f"two inputs are called `{node.op.name}`"
                remedy = f"Rename one; the other is made at {other.where or 'an unknown place'}."
                raise ArgumentError(fact, remedy, node.where)
    extents = {s.name for of in mentioned for s in _extents_of(of)}
    derived = {d.symbol.name: d.size for d in mentioned if isinstance(d, Dim) and d.size}
    _check_derived_names(derived, extents)
    for name in inputs:
        if name in extents or name in derived or name in TAKEN:
            fact = f"the input `{name}` has the name of another argument"
            raise ArgumentError(fact, "Rename it.", inputs[name].where)
    return Signature(
        dict(sorted(inputs.items())),
        tuple(sorted(extents)),
        pdg.minimum_extents,
        dict(sorted(derived.items())),
        counts(pdg),
    )


def _check_derived_names(derived: Mapping[str, Expr], extents: Iterable[str]) -> None:
    for name, of in derived.items():
        if name in extents:
            fact = f"the extent `{name}` is an argument, and defined as {of}"
            remedy = f"Rename one of the dimensions called `{name.lower()}`."
            raise ArgumentError(fact, remedy)


def _extents_of(symbol: Dim | Extent) -> set[Extent]:
    of = symbol.extent if isinstance(symbol, Dim) else symbol
    return {s for s in symbols(of) if isinstance(s, Extent)}


def least_extents(pdg: Pdg) -> dict[str, int]:
    """Return how many steps constant positions need: ``x[5]`` six, ``x[-2]`` and ``x[:2]`` two.

    An axis as long as a dimension needs them as the dimension does.
    """
    needed = [(expr(d.extent), 1) for d in pdg.dims() if d.size is not None]
    for node in pdg.nodes():
        for size, at in _positions(node):
            needed += [(size, _steps(end, size, at)) for end in at.ends]
            if isinstance(at, Slice):  # it must not end before it begins
                needed.append((size, _long_enough(at, size, 0)))
    for dim, window in filter(None, map(_window, pdg.nodes())):  # it must hold a step
        size = expr(dim.extent)
        needed.append((size, _long_enough(window, size, 1)))
    least: dict[str, int] = {}
    for size, steps in needed:
        for name, enough in _least_for(size, steps).items():
            least[name] = max(least.get(name, 1), enough)
    return {name: steps for name, steps in least.items() if steps > 1}


def _positions(node: Node) -> list[tuple[Expr, Index]]:
    """Where a node reads dimensions and axes whose sizes follow from extents, and these sizes."""
    match node.op:
        case Read(at):
            return [(expr(dim.extent), index) for dim, index in at]
        case Part(axis, index) if not node.args[0].shape[axis].dims:
            return [(node.args[0].shape[axis], index)]
        case _:
            return []


def _least_for(size: Expr, steps: int) -> dict[str, int]:
    """The least extents for that many steps; a size of several extents says nothing of each."""
    found = [s for s in symbols(size) if isinstance(s, Extent)]
    if len(found) != 1:
        return {}
    (symbol,) = found
    if size == expr(symbol):
        return {symbol.name: steps}
    tried = range(1, LONGEST_SEARCH)
    enough = next((n for n in tried if evaluate(size, {symbol: n}) >= steps), 1)
    return {symbol.name: enough}


def _window(node: Node) -> tuple[Dim, Slice] | None:
    return node.op.window if isinstance(node.op, Gather) else None


def _steps(e: Expr, size: Expr, at: Index) -> int:
    """The steps that a constant position from either end needs."""
    if e.is_const:
        return e.const if isinstance(at, Slice) else e.const + 1
    gap = e - size
    return -gap.const if gap.is_const else 1


def _long_enough(at: Slice, size: Expr, held: int) -> int:
    """The steps of a whole of which a slice from both ends holds so many."""
    short = at.hi - at.lo - size
    return held - short.const if short.is_const else 1


def node_symbols(node: Node) -> set[Dim | Extent]:
    """Return the dimensions and extents that a node mentions."""
    mentioned: list[Expr] = list(node.shape)
    match node.op:
        case Affine(of) | Iota(of):
            mentioned.append(of)
        case Read(at):
            mentioned += (end for _, index in at for end in index.ends)
        case Part(_, index):
            mentioned += index.ends
        case Case(cond):
            return {*cond.symbols, *(s for e in mentioned for s in symbols(e))}
        case _:
            pass
    return {*node.domain, *(s for e in mentioned for s in symbols(e))}


def declared_shape(node: Node) -> tuple[Expr, ...]:
    """Return the shape of an input's or an output's array: extents of its domain, then its axes."""
    return (*(expr(dim.extent) for dim in node.domain), *node.shape)


def _integer(name: str, value: object, lowest: int, largest: int) -> int:
    if is_a(value, np.ndarray) and not cast(Array, value).ndim:
        value = cast(object, cast(Array, value)[()])
    if is_integer(value) and lowest <= value <= largest:
        return int(value)
    remedy = f"Pass an integer of at least {lowest}."
    if is_integer(value) and value > largest:
        exponent = largest.bit_length()
        most = f"2**{exponent} - 1" if largest + 1 == 1 << exponent else f"{largest:,}"
        remedy = f"Pass an integer of at most {most}."
    raise ArgumentError(f"`{name}` is {shown(value)}", remedy)


def _array(name: str, node: Node, value: object) -> Array:
    """The array of an input, converted if that keeps its kind or widens it."""
    if hidden := masked(value):
        fact = f"the input `{name}` is a masked array, which hides {hidden} of its elements"
        raise ArgumentError(fact, f"Pass {name}.filled(0), or another number.")
    try:
        array: Array = np.asarray(value)
    except (ValueError, OverflowError):
        array = np.empty(0, object)
    if array.dtype.kind not in "biufc" and str(array.dtype) != node.dtype:
        fact = f"the input `{name}` is {shown(value)}, which is no array of numbers"
        raise ArgumentError(fact, f"Pass an array of {node.dtype}, with rows of equal lengths.")
    both = array.dtype.kind + np.dtype(node.dtype).kind
    if not np.can_cast(array.dtype, node.dtype, "same_kind") and both not in ("iu", "ui"):
        fact = f"the input `{name}` has type {array.dtype}, declared is {node.dtype}"
        raise ArgumentError(fact, f"Pass {name}.astype('{node.dtype}').")
    out = converted(array, node.dtype)
    if out is None:
        fact = f"the input `{name}` has values outside {node.dtype}"
        raise ArgumentError(fact, "Pass values inside its range, or declare a wider type.")
    rank = len(declared_shape(node))
    if array.ndim != rank:
        shape = show_shape(declared_shape(node))
        fact = f"the input `{name}` has shape {array.shape}, declared is {shape}"
        raise ArgumentError(fact, f"Pass an array with {rank} axes.")
    return np.ascontiguousarray(out).reshape(out.shape)


def _extents_from(
    name: str, shape: tuple[Expr, ...], sizes: tuple[int, ...], known: dict[str, tuple[int, str]]
) -> None:
    """Learn extents from axes such as ``T`` or ``T + 1``; known ones must agree."""
    for axis, (declared, size) in enumerate(zip(shape, sizes, strict=True)):
        extent, k = declared.terms[0] if len(declared.terms) == 1 else (None, 1)
        rest = size - declared.const
        if isinstance(extent, Extent) and rest == 0 and extent.name not in known:
            fact = f"the extent `{extent.name}` is 0 (`{name}` has {size} at axis {axis})"
            raise ArgumentError(fact, "Pass an array of at least 1 step.")
        if not isinstance(extent, Extent) or rest % k or rest // k < 1:
            continue  # where no extent fits, the shape check says so
        because = f"`{name}` has {size} at axis {axis}"
        value, reason = known.setdefault(extent.name, (rest // k, because))
        if value != rest // k:
            fact = f"the extent `{extent.name}` is {value} ({reason}) and {rest // k} ({because})"
            raise ArgumentError(fact, "Pass arrays and extents of equal sizes.")


Sourced = Mapping[str, tuple[int, str]]  # extents, and where each was given


def _evaluated(of: Expr, extents: Sourced) -> tuple[int, str]:
    """A size, and where the extents that it mentions come from."""
    values: dict[Dim | Extent, int] = {Extent(name): size for name, (size, _) in extents.items()}
    names = sorted(s.name for s in symbols(of) if isinstance(s, Extent))
    return evaluate(of, values), ", ".join(extents[name][1] for name in names)


def _check_shape(
    name: str, shape: tuple[Expr, ...], sizes: tuple[int, ...], extents: Sourced
) -> None:
    found = [_evaluated(size, extents) for size in shape]
    expected = tuple(size for size, _ in found)
    if expected != sizes:
        because = {why: None for (n, why), size in zip(found, sizes, strict=True) if n != size}
        source = "".join(f" ({why})" for why in because if why)
        fact = f"the input `{name}` has shape {sizes}, declared is {show_shape(shape)} = {expected}"
        fact += source
        raise ArgumentError(fact, f"Pass an array of shape {expected}.")


class Alike:
    """Recognises arguments with the types, shapes and extents of a call that was checked."""

    def __init__(self, takes: Signature, given: Mapping[str, object], found: Bound) -> None:
        """Remember a call: what was given, and what that was found to mean."""
        self._extents = found.extents
        self._arrays = tuple(
            (name, np.dtype(takes.inputs[name].dtype), array.shape)
            for name, array in found.inputs.items()
        )
        rest = given.keys() - found.inputs.keys() - {"seed"}
        self._sizes = {name: given[name] for name in sorted(rest)}
        self._count = len(self._arrays) + len(self._sizes)

    def bind(self, arguments: Mapping[str, object]) -> Bound | None:
        """The same as `Signature.bind`, or None if these are arguments of another kind."""
        seed = arguments.get("seed", 0)
        if type(seed) is not int or not 0 <= seed <= LARGEST_SEED:
            return None
        if len(arguments) != self._count + ("seed" in arguments):
            return None
        for name, size in self._sizes.items():
            value = arguments.get(name)
            if type(value) is not int or value != size:
                return None
        inputs: dict[str, Array] = {}
        for name, dtype, shape in self._arrays:
            value = arguments.get(name)
            if type(value) is not np.ndarray:
                return None
            array: Array = value
            if array.dtype != dtype or array.shape != shape:
                return None
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned):
                return None
            inputs[name] = array
        return Bound(self._extents, inputs, seed)
