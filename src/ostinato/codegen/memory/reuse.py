"""The proof of storage: no value is overwritten before its last read.

Two points share a slot if their indices agree in every dim stored in full and modulo the slots of a
circular one. A point is written from the fill of its accumulator (if it has one) to its last
addition. A read at the point where its value was computed is safe: only the shared loops reuse
slots, and they have not moved. For a read across points isl shows that no other point of the slot
is written between the first write of the value and the read.

``theta[i, e] = new[i - 1, E - 1]`` at ``e = 0`` reads the last epoch of an iteration only. The
direct rules keep every epoch of ``new``; `tighten` proposes fewer slots, and isl decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from ostinato.codegen.ir.tree import Fill, Loop, Nest, Time, Tree, leaves
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.scheduling.deps import HERE, Dep
from ostinato.codegen.scheduling.legality import Moment, moments, schedule_map, shared_loops
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import Compare, Cond, at_least, equal, every, some
from ostinato.pdg.index import Dim, Expr, Extremum, expr, minimum, mod

if TYPE_CHECKING:
    from ostinato.pdg.isl import Relation
from dataclasses import replace

from ostinato.codegen.ir.tree import Site
from ostinato.codegen.memory.storage import MOST_SLOTS, Slot, overwrites_own_element, runs_with_axis
from ostinato.codegen.scheduling.leaves import reads_same_element


@dataclass(frozen=True)
class Prover:
    """Answers for one schedule; alike questions (all parameters of a program) are asked once.

    With ``by_isl`` isl answers also what the loops alone show: none of its answers rests on the
    argument by which the planner decided.
    """

    when: Mapping[str, Moment]
    fills: Mapping[str, Moment]
    by_isl: bool = False
    known: dict[Hashable, bool] = field(default_factory=dict[Hashable, bool])

    def is_safe(self, dep: Dep, s: Storage) -> bool:
        """Whether a read finds its value in the given storage."""
        if all(slot.kind == "full" for slot in s.slots):
            return True
        if not self.by_isl and self.is_evident(dep, s):
            return True
        key = self.question(dep, s)
        if key not in self.known:
            orders = orders_of(self.times(dep)) if s.place == "global" else (False,)
            self.known[key] = all(self.keeps(dep, s, o) for o in orders)
        return self.known[key]

    def is_evident(self, dep: Dep, s: Storage) -> bool:
        """Whether the loops around writer and reader alone show it.

        Both are in one iteration of all loops that reuse slots; or a fixed number of iterations of
        the innermost loop around both apart, of which there are enough slots.
        """
        shared = shared_loops(dep, self.when)
        dims = [loop.dim for loop in shared]
        if any(slot.dim not in dims for slot in s.slots if slot.kind != "full"):
            return False
        if any(dep.gap(dim) != HERE for dim in dims[:-1]):
            return False
        return not shared or dep.gap(dims[-1]) == HERE or self.is_near(dep, s, shared[-1])

    def is_near(self, dep: Dep, s: Storage, loop: Loop) -> bool:
        """Whether a loop has more slots than the iterations from the write to the read.

        As many are enough where an iteration reads before it writes.
        """
        (low, high), slot = dep.gap(loop.dim), next((x for x in s.slots if x.dim == loop.dim), None)
        if loop.parallel or slot is None:
            return False
        if slot.kind == "full":  # what shares a slot is of other iterations of the loops outside
            return True
        if low is None or low != high:
            return False
        far, count = -low if loop.reverse else low, slot.extent.as_int()
        begun, _, read = self.times(dep)
        return 0 < far < count or (far == count and comes_before(read, begun))

    def times(self, dep: Dep) -> tuple[Moment, Moment, Moment]:
        """When the value is begun, completed, and read."""
        written = self.when[dep.tensor]
        return self.fills.get(dep.tensor, written), written, self.when[dep.reader.name]

    def question(self, dep: Dep, s: Storage) -> Hashable:
        """Everything that the answer depends on."""
        return (
            dep.consumer.dims,
            tuple(a for a in dep.reader.axes if a.index not in dep.consumer.dims),
            dep.producer.dims,
            dep.producer.main.result_dims,
            dep.load.dims,
            tuple(pick.axis for pick in dep.load.picks),
            dep.cond,
            tuple((slot.dim, slot.kind, slot.extent) for slot in s.slots),
            s.place,
            ranked([m.time for m in self.times(dep)]),
        )

    def keeps(self, dep: Dep, s: Storage, turned: bool) -> bool:
        """Whether no other point of the slot is written between first write and read.

        Workers take the tiles of a parallel loop in any order: of two tiles either may be first, so
        what all workers share has to be safe in the order of tiles and, ``turned``, against it.
        Five relations decide; plans of one program within limits of memory ask much the same.
        """
        begun, written, read = self.times(dep)
        length = max(len(m.time) for m in (begun, written, read))
        begin = schedule_map(dep.producer.dims, begun, length, turned)
        end = schedule_map(dep.producer.dims, written, length, turned)
        reading = schedule_map(dep.consumer.dims, read, length, turned)
        asked = dep.relation, same_slot(dep, s), begin, end, reading
        key = tuple(each.key for each in asked)
        answer = _KEPT.get(key)
        if answer is None:
            if len(_KEPT) >= MOST_KEPT:
                _KEPT.clear()
            answer = _KEPT[key] = overwritten(*asked).is_empty()
        return answer


MOST_KEPT = 10_000
_KEPT: dict[Hashable, bool] = {}


def overwritten(
    reads: Relation, same: Relation, begin: Relation, end: Relation, reading: Relation
) -> Relation:
    """Reading points and other points of the slot, written between first write and read.

    ``reads`` leads from a reading point to what it reads, ``same`` to the others of its slot,
    ``begin``, ``end`` and ``reading`` from points to times.
    """
    from ostinato.pdg import isl

    later = isl.lex_later(len(begin.outs))
    again = same & begin.then(later.reverse()).then(end.reverse())
    return reads.then(again) & reading.then(later).then(begin.reverse())


def prover(filled: Sequence[Tree], by_isl: bool = False) -> Prover:
    """A prover for trees with fills."""
    fills = {
        leaf.tensor: Moment(path, time)
        for leaf, path, time in leaves(tuple(filled))
        if isinstance(leaf, Fill)
    }
    return Prover(moments(filled), fills, by_isl)


def comes_before(first: Moment, other: Moment) -> bool:
    """Whether one of two moments is earlier in every iteration of the loops around both."""
    for a, b in zip(first.time, other.time, strict=False):
        if a is not b and a != b:
            return isinstance(a, int) and isinstance(b, int) and a < b
    return False


def orders_of(moments: Sequence[Moment]) -> tuple[bool, ...]:
    """The orders of tiles that matter: where loops are parallel, also the reverse one."""
    parallel = any(loop.parallel for m in moments for loop in m.path)
    return (False, True) if parallel else (False,)


def ranked(times: Sequence[Time]) -> Hashable:
    """Times up to what matters: the loops, and the order of the constants at each depth."""
    out: list[Hashable] = []
    for here in zip_longest(*times, fillvalue=0):
        order = sorted({x for x in here if not isinstance(x, Loop)})
        out += [
            (x.dim, x.reverse, x.parallel) if isinstance(x, Loop) else order.index(x) for x in here
        ]
    return len(times), tuple(out)


def check_storage(proofs: Prover, storage: Mapping[str, Storage], deps: Sequence[Dep]) -> None:
    """Raise AssertionError where a slot is reused too early: that is a bug of the planner."""
    for dep in deps:
        text = f"{dep.tensor} is overwritten before {dep.reader.name} reads it"
        assert proofs.is_safe(dep, storage[dep.tensor]), text


def same_slot(dep: Dep, s: Storage) -> Relation:
    """Pairs of different points of a tensor that share a slot."""
    from ostinato.pdg import isl

    dims = dep.producer.dims
    other = dict(zip(dims, isl.anonymous(len(dims), "other"), strict=True))
    renamed: dict[Dim, Expr] = {d: expr(x) for d, x in other.items()}
    conds: list[Cond] = []
    moved: list[Cond] = []
    for slot in s.slots:
        gap = expr(slot.dim) - other[slot.dim]
        if slot.kind == "full":
            conds.append(equal(gap, 0))
            continue
        if slot.kind == "circular":
            conds.append(equal(mod(gap, slot.extent.as_int()), 0))
        moved += [at_least(gap, 1), at_least(-gap, 1)]
    sizes = {other[d]: dep.spans[d].hi.at(renamed) for d in dims}
    others = tuple(other.values())
    return isl.pairs(dims, others, every(*conds, some(*moved), isl.box_cond(others, sizes)))


@dataclass(frozen=True)
class _Tightener:
    proofs: Prover
    sites: Mapping[str, Site]
    readers: Mapping[str, Sequence[Dep]]

    def storage(self, s: Storage) -> Storage:
        """The storage with as few slots as can be proved, innermost loops first."""
        readers = self.readers.get(s.tensor, ())
        path = self.sites[s.tensor].path
        if s.place == "register" or not readers or not all(map(self.is_ordered, readers)):
            return s
        for loop in reversed(path):
            place = next((k for k, slot in enumerate(s.slots) if slot.dim == loop.dim), None)
            if place is not None and not loop.parallel and s.slots[place].kind != "one":
                s = self.fewer(s, place, loop, readers)
        return s

    def is_ordered(self, d: Dep) -> bool:
        """Whether a reader in the nest of the writer reads the element that it replaces."""
        if self.sites[d.reader.name].leaf is not self.sites[d.tensor].leaf:
            return True
        return reads_same_element(d) or overwrites_own_element(d)

    def fewer(self, s: Storage, place: int, loop: Loop, readers: Sequence[Dep]) -> Storage:
        slot = s.slots[place]
        windows = [self.window(d, loop) for d in readers]
        pairs = zip(readers, windows, strict=True)
        reach = [self.reach(d, loop) if window is None else 0 for d, window in pairs]
        farthest, window = max(r or 0 for r in reach), max(w or 0 for w in windows)
        if None in reach or any(self.reads_all(d, loop) for d in readers):
            return s
        counts = {window} if window > farthest + 1 else {max(farthest, 1), farthest + 1}
        for count in sorted(counts):
            if count > MOST_SLOTS or (slot.kind == "circular" and count >= slot.extent.as_int()):
                break
            kept = Slot(slot.dim, "one" if count == 1 else "circular", expr(count))
            proposed = replace(s, slots=(*s.slots[:place], kept, *s.slots[place + 1 :]))
            if all(self.proofs.is_safe(d, proposed) for d in readers):
                return proposed
        return s

    def window(self, d: Dep, loop: Loop) -> int | None:
        """How many of the last steps a later loop reads, where that is plain.

        A condition says it, or an index that counts from the end on.
        """
        if any(each.dim == loop.dim for each in shared_loops(d, self.proofs.when)):
            return None
        index = _index(d, loop.dim)
        if index != expr(loop.dim):
            return None if self.is_by_strides(d, loop) else _last_steps(loop.span.hi - index)
        bounds = (c.of for c in conjuncts(d.cond) if isinstance(c, Compare) and c.kind == "ge")
        gaps = (of - loop.dim + loop.span.hi for of in bounds)
        return max((gap.const for gap in gaps if gap.is_const), default=0) or None

    def is_by_strides(self, d: Dep, loop: Loop) -> bool:
        """Whether a reader takes several steps at once, by strides that a window has not."""
        leaf = self.sites[d.reader.name].leaf
        return not isinstance(leaf, Nest) and runs_with_axis(d, loop.dim)

    def reach(self, d: Dep, loop: Loop) -> int | None:
        """How many steps back a reader looks: none if it reads the last step; None: anywhere."""
        return None if self.is_by_strides(d, loop) else _reach(d, loop)

    def reads_all(self, d: Dep, loop: Loop) -> bool:
        """Whether a reader takes every step, one by one, after the loop has ended.

        isl would take long to find that out where the loop is a part of a long row.
        """
        if any(each.dim == loop.dim for each in shared_loops(d, self.proofs.when)):
            return False
        own = loop.dim in d.consumer.dims and _index(d, loop.dim) == expr(loop.dim)
        return own and loop.dim not in d.cond.symbols


def _reach(d: Dep, loop: Loop) -> int | None:
    index = _index(d, loop.dim)
    if index == loop.span.lo if loop.reverse else index + 1 in _ends(d, loop):
        return 0
    near, far = d.turns(loop)
    return None if near is None or near < 0 else far


def _last_steps(left: Expr) -> int | None:
    """The most steps that are left at an index, if dims that run from 0 on alone lessen them."""
    few = all(isinstance(atom, Dim) and k < 0 for atom, k in left.terms)
    return max(0, left.const) if few and left.terms else None


def _ends(d: Dep, loop: Loop) -> tuple[Expr, ...]:
    """What may be the number of steps of a loop where a value of it is read."""
    hi = loop.span.hi
    atom = hi.terms[0][0] if len(hi.terms) == 1 else None
    if not isinstance(atom, Extremum) or hi != expr(minimum(*atom.of)):
        return (hi,)
    at = dict(zip(d.producer.main.result_dims, d.load.dims, strict=True))
    return tuple(e.at(at) for e in atom.of)


def _index(d: Dep, dim: Dim) -> Expr:
    return dict(zip(d.producer.main.result_dims, d.load.dims, strict=True))[dim]


def tightened(
    storage: Mapping[str, Storage],
    proofs: Prover,
    sites: Mapping[str, Site],
    deps: Sequence[Dep],
    outputs: frozenset[str],
) -> dict[str, Storage]:
    """The storage of every tensor with as few slots as can be proved; outputs keep all points."""
    readers: dict[str, list[Dep]] = {}
    for d in deps:
        readers.setdefault(d.tensor, []).append(d)
    tightener = _Tightener(proofs, sites, readers)
    return {
        name: s if name in outputs or name not in sites else tightener.storage(s)
        for name, s in storage.items()
    }
