"""Where every tensor lives: how many points of each dim are stored, and whose memory holds them.

A dim whose loop hosts the producer and all readers needs as many slots as the longest distance
between them; any other dim is stored in full. A value that an outer loop carries keeps every point
of the dims inside it, and one carried around a parallel loop belongs to its tile, not its worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Literal

from ostinato.codegen.ir.extents import Spans, stored_points
from ostinato.codegen.ir.partial_sums import is_short_row
from ostinato.codegen.ir.system import Axis, Statement
from ostinato.codegen.ir.tree import Contraction, Leaf, Loop, Nest, Site, Sweep, Tree, leaves, sites
from ostinato.codegen.scheduling.deps import HERE, Dep, Unit, idle_loads
from ostinato.codegen.scheduling.leaves import reads_same_element
from ostinato.codegen.target import Target
from ostinato.pdg.index import Dim, Expr, expr, product
from ostinato.pdg.node import Dtype

Place = Literal["global", "local", "register"]
LINKED_WORDS = 2  # for each element of a row that threads shuffle together
LINKED_ROWS = 8  # are shuffled so, in turn: one thread takes longer for one than all for several
MOST_SLOTS = 2**20  # of a window: a longer distance is mostly longer than the run itself


@dataclass(frozen=True, slots=True)
class Slot:
    """How many points of a dim are stored: all, the last ``extent`` ones, or one.

    The index ``e`` addresses position ``e`` ("full"), ``e % extent`` ("circular") or 0 ("one").
    """

    dim: Dim
    kind: Literal["full", "circular", "one"]
    extent: Expr


class _Laid:
    """Room for what every access asks for."""

    __slots__ = ("_strides",)
    _strides: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Storage(_Laid):
    """A tensor's place and row-major shape: its slots, then its axes by their ``pad``.

    "global": one copy in the arena; "local": one copy per worker; "register": a variable of the
    nest or product that computes it. What ``shares`` the memory of another tensor has none of its
    own.
    """

    tensor: str
    place: Place
    slots: tuple[Slot, ...]
    axes: tuple[Axis, ...]
    dtype: Dtype
    shares: str = ""

    @property
    def owner(self) -> str:
        """The tensor in whose memory this one lies."""
        return self.shares or self.tensor

    @property
    def is_long(self) -> bool:
        """Whether all points of a dim are kept."""
        return any(slot.kind == "full" for slot in self.slots)

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The stored extents, outermost first."""
        return (*(s.extent for s in self.slots), *(a.pad for a in self.axes))

    @property
    def strides(self) -> tuple[Expr, ...]:
        """Elements between neighbours along each stored axis, slots first."""
        try:
            return self._strides
        except AttributeError:
            found = _strides(self.shape)
            object.__setattr__(self, "_strides", found)
            return found

    @property
    def elements(self) -> Expr:
        """The number of stored elements (of one copy)."""
        return product(self.shape)


@lru_cache(maxsize=4096)  # few shapes differ
def _strides(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(product(shape[k + 1 :]) for k in range(len(shape)))


@dataclass(frozen=True)
class Placer:
    """Chooses the storage of one tensor after the other."""

    units: Mapping[str, Unit]  # by the name of every statement in them
    sites: Mapping[str, Site]
    readers: Mapping[str, Sequence[Dep]]
    addressed: frozenset[str]  # by code that no point runs
    outputs: frozenset[str]
    spans: Spans

    def storage(self, s: Statement) -> Storage:
        """The place and the slots of a computed statement."""
        place = self.unstored(s)
        common = self.common(s)
        slots = [self.slot(s, d, common) for d in s.result_dims]
        parallel = {loop.dim for loop in common if loop.parallel}
        kept = {slot.dim for slot in slots if slot.kind != "full"}
        if place is None:
            place = "local" if parallel & kept else "global"
        return Storage(s.name, place, tuple(slots), s.result_axes, s.dtype)

    def unstored(self, s: Statement) -> Place | None:
        """The place "register" if no memory is needed."""
        if s.name in self.outputs or s.name in self.addressed:
            return None
        readers = self.readers.get(s.name, ())
        leaf = self.sites[s.name].leaf
        if isinstance(leaf, Contraction):
            return None if readers or leaf.accumulate or not leaf.epilogues else "register"
        inside = isinstance(leaf, Nest) and s.name not in leaf.memory
        local = all(
            self.sites[d.reader.name].leaf is leaf and reads_same_element(d) for d in readers
        )
        return "register" if inside and local else None

    def common(self, s: Statement) -> list[Loop]:
        """The loops that host the tensor's producer and all its readers."""
        if s.name in self.outputs:
            return []
        path = self.sites[s.name].path
        others = [self.sites[d.reader.name].path for d in self.readers.get(s.name, ())]
        out: list[Loop] = []
        for k, loop in enumerate(path):
            if not all(len(p) > k and p[k] is loop for p in others):
                break
            out.append(loop)
        return out

    def slot(self, s: Statement, dim: Dim, common: list[Loop]) -> Slot:
        full = Slot(dim, "full", stored_points(self.spans[dim].hi))
        one = Slot(dim, "one", expr(1))
        place = next((k for k, loop in enumerate(common) if loop.dim == dim), None)
        if place is None:
            return full
        readers = self.readers.get(s.name, ())
        outer = common[:place]
        if any(d.gap(o.dim) != HERE for d in readers for o in outer):
            return full  # carried further out: every inner point stays live
        if common[place].parallel:
            return one
        count = 1
        for d in readers:
            needed = self.slots_for(s, d, common, place)
            if needed is None:
                return full
            count = max(count, needed)
        if count > MOST_SLOTS:
            return full
        return one if count == 1 else Slot(dim, "circular", expr(count))

    def slots_for(self, s: Statement, d: Dep, common: list[Loop], place: int) -> int | None:
        """The slots that one reader needs along a sequential loop; None: all of them."""
        loop = common[place]
        near, far = d.turns(loop)
        if near is None or far is None or near < 0:
            return None
        if isinstance(self.sites[d.reader.name].leaf, Contraction) and runs_with_axis(d, loop.dim):
            return None  # a product addresses by strides, which a circular index has not
        return far if far > 0 and self.in_place(s, d, place) else far + 1

    def in_place(self, s: Statement, d: Dep, place: int) -> bool:
        """Whether a reader is done with the oldest value before it is overwritten."""
        mine, other = self.sites[s.name], self.sites[d.reader.name]
        shared = takewhile(
            lambda pair: pair[0] is pair[1], zip(mine.path, other.path, strict=False)
        )
        if any(d.gap(loop.dim) != HERE for loop, _ in list(shared)[place + 1 :]):
            return False
        if mine.leaf is not other.leaf:
            return other.order < mine.order
        alone = isinstance(mine.leaf, Nest)
        return alone and other.order <= mine.order and overwrites_own_element(d)


def overwrites_own_element(d: Dep) -> bool:
    """Whether a reader in the producer's nest reads exactly the elements that it replaces."""
    return reads_same_element(d, at_any_point=True, every_axis=d.reader is d.producer.main)


def runs_with_axis(d: Dep, dim: Dim) -> bool:
    """Whether the index along a dim runs with an axis of the reader."""
    axes = {a.index for a in d.reader.axes}
    at = dict(zip(d.producer.main.result_dims, d.load.dims, strict=True))
    return bool(at[dim].dims & axes)


def place_tensors(
    trees: Sequence[Tree],
    units: Sequence[Unit],
    deps: Sequence[Dep],
    outputs: frozenset[str],
    spans: Spans,
) -> dict[str, Storage]:
    """The storage of every computed statement."""
    readers: dict[str, list[Dep]] = {}
    for d in deps:
        readers.setdefault(d.tensor, []).append(d)
    by_name = {s.name: u for u in units for s in u.statements}
    placer = Placer(by_name, sites(trees), readers, idle_loads(units, deps), outputs, spans)
    return {s.name: placer.storage(s) for u in units for s in u.statements}


def input_storage(s: Statement) -> Storage:
    """Inputs lie as the user gives them."""
    slots = tuple(Slot(d, "full", expr(d.extent)) for d in s.result_dims)
    return Storage(s.name, "global", slots, s.result_axes, s.dtype)


def scratch(leaf: Leaf, storage: Mapping[str, Storage]) -> Storage | None:
    """The scratch memory of a leaf, if it has some."""
    return storage.get(_beside(leaf.statement)) if isinstance(leaf, Sweep) else None


def scratches(
    trees: Sequence[Tree], statements: Mapping[str, Statement], target: Target
) -> dict[str, Storage]:
    """The scratch memory of all leaves, by name."""
    out: dict[str, Storage] = {}
    for leaf, path, _ in leaves(tuple(trees)):
        if isinstance(leaf, Sweep):
            s, name = statements[leaf.statement], _beside(leaf.statement)
            axes = _scratch_axes(leaf, s, target)
            is_alone = target.deals_out_rows and not any(loop.parallel for loop in path)
            if axes:
                out[name] = Storage(name, "global" if is_alone else "local", (), axes, s.dtype)
    return out


def _scratch_axes(leaf: Sweep, s: Statement, target: Target) -> tuple[Axis, ...]:
    """The axes of a leaf's scratch memory; () without any.

    Sorting merges to and fro between two rows of positions: rows that are sorted at once have each
    their own. Where threads shuffle a row together it has the heads and links of lists.
    """
    single = Axis(Dim("k"), expr(1), expr(1))
    row = next((a for a in s.result_axes if a.index == s.along), single)
    match s.fold:
        case "argsort":
            kept = (*leaf.rows, row) if target.deals_out_rows else (row,)
        case "shuffle" if target.deals_out_rows and _is_linked(leaf, row):
            kept = (replace(row, pad=row.pad * LINKED_WORDS),)
        case _:
            kept = ()
    return tuple(Axis(a.index, a.pad, a.pad) for a in kept)


def _is_linked(leaf: Sweep, row: Axis) -> bool:
    """Whether threads shuffle a row together: of many rows each thread takes some."""
    rows = product(a.pad for a in leaf.rows)
    return rows.is_const and rows.const <= LINKED_ROWS and not is_short_row(row.size)


def _beside(statement: str) -> str:
    return f"{statement} scratch"
