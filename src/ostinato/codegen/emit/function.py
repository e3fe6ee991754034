"""One generated function under construction: its names, its tensors and where they lie."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ostinato.codegen.emit.index_arithmetic import Names as IndexNames
from ostinato.codegen.emit.index_arithmetic import expression
from ostinato.codegen.emit.value import Scope, print_index
from ostinato.codegen.ir.system import Axis, Clamp, Load, Statement
from ostinato.codegen.ir.tree import Span
from ostinato.codegen.loops.expression import (
    ITEM_BYTES,
    Constant,
    Expression,
    Name,
    binary,
    call,
    item,
)
from ostinato.codegen.loops.statements import Block, Definition, Do, Let
from ostinato.codegen.memory.storage import Slot, Storage
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.planning.visits import Walk
from ostinato.pdg.index import Atom, Dim, Expr, Extent, FloorDiv, Mod, expr


@dataclass(frozen=True, slots=True)
class Part:
    """One summand of an offset: an index, perhaps computed at run time, times a stride."""

    index: Expression
    stride: Expr
    is_inner: bool  # depends on an axis of the nest: stays in the loop


def slot_parts(
    storage: Storage, dims: Sequence[Expr], inner: frozenset[Dim], names: IndexNames, clamp: Clamp
) -> list[Part]:
    """The summands for a tensor's slots."""
    out: list[Part] = []
    steps = storage.strides[: len(storage.slots)]
    for slot, stride, at in zip(storage.slots, steps, dims, strict=True):
        if slot.kind == "one":
            continue
        if slot.kind == "full" and not clamp:
            out.extend(_affine(at, stride, inner, names))
        else:
            index = _stored(slot, at, names)
            out.append(Part(index, stride, bool(at.dims & inner)))
    return out


def _stored(slot: Slot, at: Expr, names: IndexNames) -> Expression:
    index, extent = expression(at, names), expression(slot.extent, names)
    if slot.kind == "circular":
        return binary("%", index, extent)
    return clamped(index, slot.extent, names)


def clamped(index: Expression, size: Expr, names: IndexNames) -> Expression:
    """The nearest index inside ``0 <= index < size``; 0 where there is none."""
    return call("max", call("min", index, expression(size - 1, names)), 0)


def _affine(at: Expr, stride: Expr, inner: frozenset[Dim], names: IndexNames) -> list[Part]:
    """Separate the terms that move in the nest from those that stand still."""
    moving = Expr(tuple((a, k) for a, k in at.terms if _term(a).dims & inner), 0)
    still = at - moving
    parts = [Part(expression(moving, names), stride, True)] if moving.terms else []
    return parts + ([] if still == expr(0) else [Part(expression(still, names), stride, False)])


def _term(atom: Atom) -> Expr:
    return Expr(((atom, 1),), 0)


def rejoined(
    storage: Storage, load: Load
) -> tuple[tuple[Expr, ...], tuple[Expr, ...], list[tuple[Expr, Expr]]]:
    """The indices of a load, but for positions that are cut into a tile and the place in it.

    Where tiles lie one after the other, such a position counts by itself: the last of the results
    are positions with their strides.
    """
    if load.clamp or not any(isinstance(a, Mod) for e in load.axes for a, _ in e.terms):
        return load.dims, load.axes, []
    dims, axes, whole = list(load.dims), list(load.axes), list[tuple[Expr, Expr]]()
    tiles, places = storage.strides[: len(dims)], storage.strides[len(dims) :]
    for (k, place), (i, slot) in itertools.product(enumerate(axes), enumerate(storage.slots)):
        atom = place.terms[0][0] if len(place.terms) == 1 else None
        if not isinstance(atom, Mod) or place != _term(atom) or slot.kind != "full":
            continue
        tile = (FloorDiv(atom.of, atom.by), 1)
        if tile in dims[i].terms and tiles[i] == places[k] * atom.by:
            dims[i], axes[k] = dims[i] - _term(tile[0]), expr(0)
            whole.append((atom.of, places[k]))
    return tuple(dims), tuple(axes), whole


def axis_parts(
    storage: Storage, axes: Sequence[Expr], names: IndexNames, clamp: Clamp
) -> Iterator[Part]:
    """The summands for a tensor's axes: all of them stay in the loop."""
    steps = storage.strides[len(storage.slots) :]
    for axis, stride, at in zip(storage.axes, steps, axes, strict=True):
        if at != expr(0):
            index = expression(at, names)
            yield Part(clamped(index, axis.pad, names) if clamp == "all" else index, stride, True)


def total(parts: Sequence[Part], start: Expression | None, names: IndexNames) -> Expression:
    """The sum of the parts, after ``start``."""
    out = start
    for part in parts:
        term = scaled(part.index, part.stride, names)
        out = term if out is None else binary("+", out, term)
    return out if out is not None else Constant(0)


def scaled(index: Expression, stride: Expr, names: IndexNames) -> Expression:
    if stride == expr(1):
        return index
    if stride.is_const and isinstance(index, Constant) and index.value >= 0:
        return Constant(int(index.value) * stride.as_int())
    return binary("*", index, expression(stride, names))


def identifier(text: str) -> str:
    """The nearest valid Python name.

    >>> identifier("policy.0 weight"), identifier("class"), identifier("2x")
    ('policy_0_weight', 'class_', '_2x')
    """
    name = re.sub(r"\W", "_", text, flags=re.ASCII) or "_"
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


class Names:
    """Hands out names that no one else in the same scope has."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """Return the stem, or the stem with the first number that makes it unused."""
        base = identifier(stem)
        name, k = base, self._next.get(base, 0)
        while name in self._taken:
            k += 1
            name = f"{base}{'' if base.endswith('_') else '_'}{k}"
        self._next[base] = k
        self._taken.add(name)
        return name

    def copy(self) -> Names:
        """Names for a nested scope, which sees all of these."""
        return Names(self._taken)


ARENA, OFFSETS, LOCAL, KEY = "arena", "at", "local", "key"
ENTRY = "entry"  # the first one of a kernel in the offset table
PART, PARTS = "part", "parts"  # which slice of the elements a worker computes, and of how many


@dataclass
class Function:
    """What the leaves of one kernel share: the plan, local names, and the tensors used so far."""

    plan: Plan
    number: int
    places: dict[str, int]  # tensor -> its entry, counted from the kernel's first one
    words: int  # entries of the whole offset table: words of walks follow
    names: Names
    dims: dict[Dim | Extent, str]
    slices: int = 0  # that the parts of workers consist of, in the tree that is written
    streams: Mapping[int, str] = field(default_factory=dict[int, str])  # of draws: arguments
    along: Span | None = None  # of the loop whose steps are shared out
    walks: tuple[Walk, ...] = ()  # that tell where they are
    steps: dict[int, str] = field(default_factory=dict[int, str])  # variables: see `arrivals`
    rounds: dict[int, str] = field(default_factory=dict[int, str])
    entries: int = 0  # words for calls of Python follow those of all walks
    tensors: dict[str, str] = field(default_factory=dict[str, str])  # tensor -> local name
    products: list[Definition] = field(default_factory=list[Definition])
    around: list[Dim] = field(default_factory=list[Dim])  # of the loops that are being written
    blocks: list[dict[tuple[str, Expression], str]] = field(default_factory=lambda: [{}])
    bounds: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])

    @contextmanager
    def loop(self, dim: Dim) -> Generator[None]:
        """The body of a loop."""
        self.around.append(dim)
        with self.block():
            yield
        self.around.pop()

    def rows(self, s: Statement) -> list[Axis]:
        """The axes of a statement that no loop runs over: what remains is the row in turn."""
        found = [axis for axis in s.result_axes if axis.index not in self.around]
        for axis in found:
            self.dims.setdefault(axis.index, self.names.fresh(axis.index.name))
        return found

    @contextmanager
    def block(self) -> Generator[None]:
        """A loop or a branch: bases that are computed inside are unknown after it."""
        self.blocks.append({})
        try:
            yield
        finally:
            self.blocks.pop()

    def slice(self, size: int) -> tuple[Expression, ...]:
        """The bounds of this worker's part of so many positions."""
        if self.slices not in self.bounds:
            self.bounds[self.slices] = self.names.fresh("first"), self.names.fresh("end")
        each, bounds = size // self.slices, self.bounds[self.slices]
        if each == 1:
            return tuple(map(Name, bounds))
        return tuple(binary("*", each, bound) for bound in bounds)

    def base(self, tensor: str, at: Expression) -> tuple[str, bool]:
        """The variable that holds an offset here, and whether it is new."""
        for known in self.blocks:
            if (tensor, at) in known:
                return known[tensor, at], False
        name = self.names.fresh(f"o_{tensor}")
        self.blocks[-1][tensor, at] = name
        return name, True

    def storage(self, tensor: str) -> Storage:
        return self.plan.storage[tensor]

    def statement(self, name: str) -> Statement:
        return self.plan.statements[name]

    def start(self, tensor: str) -> str:
        """The variable that holds the tensor's first element's offset."""
        tensor = self.storage(tensor).owner
        if tensor not in self.tensors:
            self.tensors[tensor] = self.names.fresh(f"at_{tensor}")
        return self.tensors[tensor]

    def access(self, kind: str, tensor: str) -> str:
        """The name of the function that loads ("ld") or stores ("st") the tensor here."""
        return f"{kind}{self.number}_{self.start(tensor).removeprefix('at_')}"

    def load(self, tensor: str, offset: Expression) -> Expression:
        return call(self.access("ld", tensor), ARENA, offset)

    def store(self, tensor: str, offset: Expression, value: Expression) -> Do:
        return Do(call(self.access("st", tensor), ARENA, offset, value))

    def prologue(self) -> Iterable[Let]:
        """Find this worker's slices, and the start of every tensor that is used."""
        for slices, bounds in self.bounds.items():
            for part, name in zip((Name(PART), binary("+", PART, 1)), bounds, strict=True):
                yield Let((name,), binary("//", binary("*", part, slices), PARTS))
        for tensor, name in self.tensors.items():
            storage = self.storage(tensor)
            place = self.places[tensor]
            start: Expression = item(OFFSETS, binary("+", ENTRY, place) if place else ENTRY)
            if storage.place == "local":
                start = binary("+", start, binary("//", LOCAL, ITEM_BYTES[storage.dtype]))
            yield Let((name,), start)

    def accessors(self) -> Iterable[Definition]:
        """Definitions of the loads and stores: no two tensors of a kernel overlap."""
        for scope, tensor in enumerate(self.tensors):
            load, store = self.access("ld", tensor), self.access("st", tensor)
            dtype = self.storage(tensor).dtype
            yield Definition((load, store), "access", (scope, len(self.tensors), dtype))


@dataclass
class Body:
    """The code of one leaf: bases stand before its loops, the rest inside."""

    function: Function
    inner: frozenset[Dim]  # the axes that the leaf's own loops run over
    hoisted: list[Let] = field(default_factory=list[Let])  # what stands before the loops

    def scope(self, out: Block) -> Scope:
        of = self.function
        return Scope(out, of.names.fresh, of.dims, load=self.read, key=KEY, streams=of.streams)

    def base(self, tensor: str, still: list[Part]) -> Expression:
        """The hoisted start of the elements that one load reads in the leaf's loops."""
        start = Name(self.function.start(tensor))
        if not still:
            return start
        return Name(self.hoist(tensor, total(still, start, self.function.dims)))

    def hoist(self, tensor: str, at: Expression) -> str:
        """The variable that holds a value before the loops."""
        name, is_new = self.function.base(tensor, at)
        if is_new:
            self.hoisted.append(Let((name,), at))
        return name

    def names(self, load: Load, scope: Scope | None) -> IndexNames:
        """The names of all indices of a load, after the lines that compute some of them."""
        if not load.picks:
            return self.function.dims
        assert scope is not None, f"{load.tensor} is gathered where no value can be computed"
        names = dict(self.function.dims)
        for pick in load.picks:
            names[pick.axis.index] = print_index(pick, scope.under(names)).id
        return names

    def parts(self, load: Load, names: IndexNames) -> list[Part]:
        """The summands of a load's offset."""
        storage = self.function.storage(load.tensor)
        inner = self.inner | {pick.axis.index for pick in load.picks}
        dims, axes, whole = rejoined(storage, load)
        out = slot_parts(storage, dims, inner, names, load.clamp)
        out.extend(axis_parts(storage, axes, names, load.clamp))
        for position, stride in whole:
            out.extend(_affine(position, stride, inner, names))
        return out

    def offset(self, load: Load, scope: Scope | None = None) -> Expression:
        """The offset of an element."""
        names = self.names(load, scope)
        parts = self.parts(load, names)
        base = self.base(load.tensor, [p for p in parts if not p.is_inner])
        return total([p for p in parts if p.is_inner], base, names)

    def read(self, load: Load, scope: Scope) -> Expression:
        """The load of an element from memory."""
        place = self.function.storage(load.tensor).place
        assert place in ("global", "local"), f"{load.tensor} has no memory ({place})"
        return self.function.load(load.tensor, self.offset(load, scope))
