"""The proof of storage: no value is overwritten before its last read.

Two points share a slot if their indices agree in every dim stored in full and modulo the slots of a
circular one. A read at the point where its value was computed is safe: only the shared loops reuse
slots, and they have not moved. For a read across points isl shows that no other point of the same
slot is written between the write and the read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ostinato.codegen.deps import HERE, Dep
from ostinato.codegen.legality import Moment, moments, schedule_map, shared_loops
from ostinato.codegen.storage import Storage
from ostinato.codegen.tree import Tree
from ostinato.pdg.condition import Cond, at_least, equal, every, some
from ostinato.pdg.index import Dim, Expr, expr, mod, substitute

if TYPE_CHECKING:
    from ostinato.pdg.isl import Relation


def check_storage(
    trees: Sequence[Tree], storage: Mapping[str, Storage], deps: Sequence[Dep]
) -> None:
    """Raise AssertionError where a slot is reused too early: that is a bug of the planner."""
    when = moments(trees)
    for dep in deps:
        s = storage[dep.tensor]
        if all(slot.kind == "full" for slot in s.slots) or is_evident(dep, s, when):
            continue
        text = f"{dep.tensor} is overwritten before {dep.reader.name} reads it"
        assert overwrites(dep, s, when).is_empty(), text


def is_evident(dep: Dep, s: Storage, when: Mapping[str, Moment]) -> bool:
    """Whether writer and reader are at one point of every loop that reuses slots."""
    shared = [loop.dim for loop in shared_loops(dep, when)]
    here = all(dep.gap(dim) == HERE for dim in shared)
    return here and all(slot.dim in shared for slot in s.slots if slot.kind != "full")


def overwrites(dep: Dep, s: Storage, when: Mapping[str, Moment]) -> Relation:
    """Reading points and writes of the slot they read, between its write and the read."""
    from ostinato.pdg import isl

    reader, writer = when[dep.reader.name], when[dep.tensor]
    length = max(len(reader.time), len(writer.time))
    written = schedule_map(dep.producer.dims, writer, length)
    read = schedule_map(dep.consumer.dims, reader, length)
    earlier = isl.lex_later(length).reverse()
    again = same_slot(dep, s) & written.then(earlier).then(written.reverse())
    before_read = read.then(isl.lex_later(length)).then(written.reverse())
    return dep.relation.then(again) & before_read


def same_slot(dep: Dep, s: Storage) -> Relation:
    """Pairs of different points of a tensor that share a slot."""
    from ostinato.pdg import isl

    dims = dep.producer.dims
    other = {d: Dim(d.name) for d in dims}
    renamed: dict[Dim, Expr] = {d: expr(x) for d, x in other.items()}
    conds: list[Cond] = []
    moved: list[Cond] = []
    for slot in s.slots:
        gap = expr(slot.dim) - other[slot.dim]
        if slot.kind == "full":
            conds.append(equal(gap, 0))
        elif slot.kind == "circular":
            conds.append(equal(mod(gap, slot.extent.as_int()), 0))
        moved += [at_least(gap, 1), at_least(-gap, 1)]
    sizes = [(other[d], substitute(dep.spans[d].hi, renamed)) for d in dims]
    cond = every(*conds, some(*moved))
    return isl.relation(dims, dims, [renamed[d] for d in dims], cond, sizes)
