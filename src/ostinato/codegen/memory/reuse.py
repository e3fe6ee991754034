"""The proof of storage: no value is overwritten before its last read.

Two points share a slot if their indices agree in every dim stored in full and modulo the slots of a
circular one. A point is written from the fill of its accumulator (if it has one) to its last
addition. A read at the point where its value was computed is safe: only the shared loops reuse
slots, and they have not moved. For a read across points isl shows that no other point of the slot
is written between the first write of the value and the read.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from ostinato.codegen.ir.tree import Fill, Loop, Time, Tree, leaves
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.scheduling.deps import HERE, Dep
from ostinato.codegen.scheduling.legality import Moment, moments, schedule_map, shared_loops
from ostinato.pdg.condition import Cond, at_least, equal, every, some
from ostinato.pdg.index import Dim, Expr, expr, mod, substitute

if TYPE_CHECKING:
    from ostinato.pdg.isl import Relation


@dataclass(frozen=True)
class Prover:
    """Answers for one schedule; alike questions (all parameters of a program) are asked once."""

    when: Mapping[str, Moment]
    fills: Mapping[str, Moment]
    known: dict[Hashable, bool] = field(default_factory=dict[Hashable, bool])

    def is_safe(self, dep: Dep, s: Storage) -> bool:
        """Whether a read finds its value in the given storage."""
        if all(slot.kind == "full" for slot in s.slots) or self.is_evident(dep, s):
            return True
        key = self.question(dep, s)
        if key not in self.known:
            orders = orders_of(self.times(dep)) if s.place == "global" else (False,)
            self.known[key] = all(self.overwrites(dep, s, o).is_empty() for o in orders)
        return self.known[key]

    def is_evident(self, dep: Dep, s: Storage) -> bool:
        """Whether writer and reader are at one point of every loop that reuses slots."""
        shared = [loop.dim for loop in shared_loops(dep, self.when)]
        here = all(dep.gap(dim) == HERE for dim in shared)
        return here and all(slot.dim in shared for slot in s.slots if slot.kind != "full")

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

    def overwrites(self, dep: Dep, s: Storage, turned: bool) -> Relation:
        """Reading points and other points of the slot, written between first write and read.

        Workers take the tiles of a parallel loop in any order: of two tiles either may be first, so
        what all workers share has to be safe in the order of tiles and, ``turned``, against it.
        """
        from ostinato.pdg import isl

        begun, written, read = self.times(dep)
        length = max(len(m.time) for m in (begun, written, read))
        later = isl.lex_later(length)
        begin = schedule_map(dep.producer.dims, begun, length, turned)
        end = schedule_map(dep.producer.dims, written, length, turned)
        reading = schedule_map(dep.consumer.dims, read, length, turned)
        again = same_slot(dep, s) & begin.then(later.reverse()).then(end.reverse())
        return dep.relation.then(again) & reading.then(later).then(begin.reverse())


def prover(filled: Sequence[Tree]) -> Prover:
    """A prover for trees with fills."""
    fills = {
        leaf.tensor: Moment(path, time)
        for leaf, path, time in leaves(tuple(filled))
        if isinstance(leaf, Fill)
    }
    return Prover(moments(filled), fills)


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
    sizes = {other[d]: substitute(dep.spans[d].hi, renamed) for d in dims}
    others = tuple(other.values())
    return isl.pairs(dims, others, every(*conds, some(*moved), isl.box_cond(others, sizes)))
