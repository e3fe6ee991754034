"""Copies that cost nothing: what is copied and its copy share memory, where a proof allows.

A parameter carried through nested loops is a tensor per loop, and each begins as a copy of what the
loop around it or the step before left. Where they share memory such a copy has nothing to do, and
the update at the end of a step takes place where the parameter lies.

What is shared has the slots of the member that keeps the most points: a value of one step, or
of one worker, then lies where all of them have room. What workers keep for themselves, all of it in
one parallel loop, they share so too: its values never leave an iteration of that loop.

Where an update would be in the way of a later read of the last value, it is left out at points at
which nobody asks for it, such as the last step.

The proof is by time. A read finds its value unless another statement of the shared memory writes
its slot between. A clause that copies from the same memory writes nothing: its own read, which
finds its value, shows that the memory holds what it would write. All other clauses count as writes,
and isl shows for every read that none of them comes between.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import takewhile
from typing import TYPE_CHECKING

from ostinato.codegen.ir.system import Call, Load, Statement, Value
from ostinato.codegen.ir.tree import (
    Contraction,
    Loop,
    Nest,
    Site,
    Tree,
    computed,
    computed_in,
    sites,
)
from ostinato.codegen.ir.values import alone
from ostinato.codegen.memory.reuse import Prover, orders_of, ranked
from ostinato.codegen.memory.storage import Place, Slot, Storage
from ostinato.codegen.scheduling.deps import HERE, Dep
from ostinato.codegen.scheduling.leaves import reads_same_element
from ostinato.codegen.scheduling.legality import Moment, schedule_map
from ostinato.pdg.bounds import conjuncts, simplified
from ostinato.pdg.condition import ALWAYS, Compare, Cond, at_least, equal, every, some
from ostinato.pdg.index import Dim, Expr, expr

if TYPE_CHECKING:
    from ostinato.pdg.isl import Relation


Kept = Mapping[Dim, Slot]  # the dims of which every point has a slot of its own, in order
Pair = tuple[int, str, int, Cond, tuple[Dim, ...]]
"""A dependence by identity, a statement, its writing clause and where, and what has slots."""


@dataclass(frozen=True)
class Move:
    """A clause that copies what it reads, element by element."""

    to: str
    clause: int
    read: Dep

    @cached_property
    def ends(self) -> frozenset[str]:
        return frozenset((self.to, self.read.tensor))


@dataclass(frozen=True)
class Write:
    """A clause of a statement of shared memory that writes: where its condition holds.

    ``apart`` are the dims of which no two points are in one slot of that memory.
    """

    by: Statement
    clause: int
    cond: Cond
    apart: tuple[Dim, ...] = ()


@dataclass(frozen=True)
class Coalesced:
    """Trees without copies inside shared memory, and the storage that says what is shared.

    ``only`` are conditions on the points of statements that may be computed nowhere else.
    """

    trees: tuple[Tree, ...]
    storage: dict[str, Storage]
    only: dict[str, Cond] = field(default_factory=dict[str, Cond])


def coalesced(
    trees: Sequence[Tree],
    storage: Mapping[str, Storage],
    deps: Sequence[Dep],
    proofs: Prover,
    outputs: frozenset[str],
) -> Coalesced:
    """What becomes of trees and storage where copies share memory with what they copy."""
    found = _Coalescing(storage, deps, proofs, outputs, sites(trees))
    still: dict[str, set[int]] = {}
    out = dict(storage)
    for group, moves in found.groups():
        owner, kept = found.owner(group, moves), found.kept(group)
        place: Place = "local" if found.own(group) else "global"
        for name in sorted(group):
            slots = tuple(kept.get(slot.dim, slot) for slot in storage[name].slots)
            own = replace(storage[name], place=place, slots=slots)
            out[name] = own if name == owner else replace(own, shares=owner)
        for move in moves:
            still.setdefault(move.to, set()).add(move.clause)
    made = tuple(_tree(t, still) for t in trees) if still else tuple(trees)
    return Coalesced(made, out, found.only)


def updates_last(trees: Sequence[Tree], deps: Sequence[Dep]) -> tuple[Tree, ...]:
    """The trees in whose nests what a later step begins with comes last, if that is free.

    Others then read the value of before while it is still there: those of the nest, and nests and
    loops behind it.
    """
    begun: dict[str, set[str]] = {}  # what begins with an update, by the update
    related: dict[str, set[str]] = {}
    for d in deps:
        related.setdefault(d.tensor, set()).add(d.reader.name)
        related.setdefault(d.reader.name, set()).add(d.tensor)
        if _begins(d):
            begun.setdefault(d.tensor, set()).add(d.reader.name)

    def tree(t: Tree) -> Tree:
        if isinstance(t, Loop):
            body = tuple(map(tree, t.body))
            return replace(t, body=_behind_readers(body, begun, related))
        if not isinstance(t, Nest) or not begun.keys() & set(t.statements):
            return t
        return replace(t, statements=reordered(t.statements, begun, related))

    return tuple(map(tree, trees))


def _behind_readers(
    body: tuple[Tree, ...], begun: Mapping[str, set[str]], related: Mapping[str, set[str]]
) -> tuple[Tree, ...]:
    """The body of a loop in which nests with updates stand behind what reads the value of before.

    One that others wait for stays where it is.
    """
    out = list(body)
    for nest in reversed(body):
        if not isinstance(nest, Nest) or not begun.keys() & {*nest.statements}:
            continue
        here = out.index(nest)
        near = frozenset[str]().union(*(related.get(n, ()) for n in nest.statements))
        old = frozenset[str]().union(*(begun.get(n, ()) for n in nest.statements))
        readers = frozenset[str]().union(*(related.get(n, ()) for n in old))
        behind = (computed_in((t,)).keys() for t in out[here + 1 :])
        free = takewhile(near.isdisjoint, behind)
        last = max((k for k, names in enumerate(free) if names & readers), default=-1)
        out[here : here + 2 + last] = [*out[here + 1 : here + 2 + last], nest]
    return tuple(out)


def _begins(d: Dep) -> bool:
    """Whether a read only copies the value of an earlier step."""
    moved = d.load.dims != tuple(map(expr, d.source.result_dims))
    return moved and any(_copied(value) == d.load for _, value in d.reader.clauses)


def reordered(
    names: Sequence[str], updates: Container[str], related: Mapping[str, set[str]]
) -> tuple[str, ...]:
    """Statements in an order that keeps that of any two of which one reads the other.

    Of those that wait for no other one the first comes next, updates after all others.
    """
    place = {name: k for k, name in enumerate(names)}
    later: list[list[int]] = [[] for _ in names]
    waits = [0] * len(names)
    for k, name in enumerate(names):
        for before in {place[m] for m in related.get(name, ()) if place.get(m, k) < k}:
            later[before].append(k)
            waits[k] += 1
    free = sorted((name in updates, k) for k, name in enumerate(names) if not waits[k])
    out = list[str]()
    while free:
        _, k = heappop(free)
        out.append(names[k])
        for other in later[k]:
            waits[other] -= 1
            if not waits[other]:
                heappush(free, (names[other] in updates, other))
    return tuple(out)


def _tree(tree: Tree, still: Mapping[str, set[int]]) -> Tree:
    match tree:
        case Loop(body=body):
            return replace(tree, body=tuple(_tree(t, still) for t in body))
        case Nest(statements):
            kept = {(n, k) for n in statements for k in still.get(n, ())}
            return replace(tree, still=frozenset(kept)) if kept else tree
        case _:
            return tree


@dataclass
class _Coalescing:
    storage: Mapping[str, Storage]
    deps: Sequence[Dep]
    proofs: Prover
    outputs: frozenset[str]
    sites: Mapping[str, Site]
    known: dict[Hashable, bool] = field(default_factory=dict[Hashable, bool])
    asked: dict[Pair, bool] = field(default_factory=dict[Pair, bool])
    clauses: dict[str, list[Write]] = field(default_factory=dict[str, list[Write]])
    only: dict[str, Cond] = field(default_factory=dict[str, Cond])

    def __post_init__(self) -> None:
        self.by_name: dict[str, Statement] = {}
        self.readers: dict[str, list[Dep]] = {}
        for d in self.deps:
            for unit in (d.consumer, d.producer):
                self.by_name |= {s.name: s for s in unit.statements}
            self.readers.setdefault(d.tensor, []).append(d)

    def groups(self) -> Iterator[tuple[frozenset[str], list[Move]]]:
        """What shares memory, with the copies that this saves."""
        moves = [m for d in self.deps for m in self.moves(d)]
        of: dict[str, frozenset[str]] = {}
        for move in moves:
            group = frozenset[str]().union(*(of.get(n, {n}) for n in move.ends))
            if of.get(move.to) != group and self.may_share(group, moves):
                of |= dict.fromkeys(group, group)
        for group in dict.fromkeys(of.values()):
            yield group, [m for m in moves if m.ends <= group]

    def owner(self, group: frozenset[str], moves: Sequence[Move]) -> str:
        """Whose place it is: that of the innermost copy, if it has a name."""
        copies = {m.to for m in moves}

        def rank(name: str) -> tuple[int, bool, bool, str]:
            s = self.by_name[name]
            return -len(s.dims), not s.label, name not in copies, name

        return min(group, key=rank)

    # ------------------------------------------------------------ candidates

    def moves(self, d: Dep) -> Iterator[Move]:
        """The clauses that copy with a read."""
        s = d.reader
        if s.name == d.tensor or not self.is_free(s) or not self.is_free(d.source):
            return
        if not isinstance(self.sites[s.name].leaf, Nest) or not self.is_copy(d):
            return
        for k, clause in enumerate(alone(s)):
            ((cond, value),) = clause.clauses
            if cond == d.cond and _copied(value) == d.load:
                yield Move(s.name, k, d)

    def is_free(self, s: Statement) -> bool:
        """Whether a tensor may share its memory: it has some, and nobody keeps it."""
        storage = self.storage[s.name]
        if s.kind != "map" or s.name in self.outputs or storage.place == "register":
            return False
        return all(slot.kind != "circular" for slot in storage.slots)

    def kept(self, group: Collection[str]) -> Kept:
        """The dims of which memory that is shared has every point."""
        return max((_kept(self.storage[n]) for n in sorted(group)), key=len)

    def own(self, group: Collection[str]) -> frozenset[Dim]:
        """The dims of parallel loops in which each worker keeps all of a group for itself."""
        if any(self.storage[n].place != "local" for n in group):
            return frozenset()
        around = [{id(x): x.dim for x in self.sites[n].path if x.parallel} for n in group]
        shared = set(around[0]).intersection(*around)
        full = {dim for n in group for dim in _kept(self.storage[n])}
        return frozenset(around[0][x] for x in shared) - full

    def has_room(self, group: frozenset[str], moves: Sequence[Move]) -> bool:
        """Whether all of a group fits where most is kept, and every copy is of its own slot.

        What needs one point alone lies there only if it is a copy, or copied, at more than one.
        """
        kept, own = [*self.kept(group)], self.own(group)

        def fits(name: str) -> bool:
            dims = [slot.dim for slot in self.storage[name].slots if slot.dim in kept]
            parallel = {loop.dim for loop in self.sites[name].path if loop.parallel} - own
            full = {*_kept(self.storage[name])}
            conds = [m.read.cond for m in moves if name in m.ends]
            spread = not any(all(_is_once(c, d) for c in conds) for d in kept if d not in full)
            return dims == kept and full | parallel <= {*kept} and spread

        return all(map(fits, group)) and all(_stays(m.read, kept) for m in moves)

    def is_copy(self, d: Dep) -> bool:
        """Whether a read is of the same element, and both tensors lie alike."""
        s, load, mine, other = d.reader, d.load, self.storage[d.reader.name], self.storage[d.tensor]
        return (
            mine.dtype == other.dtype
            and [a.pad for a in mine.axes] == [a.pad for a in other.axes]
            and load.axes == s.here.axes
            and _stays(d, _kept(mine) | _kept(other))
        )

    # ------------------------------------------------------------ the proof

    def may_share(self, group: frozenset[str], moves: Sequence[Move]) -> bool:
        """Whether every read of a group finds its value in the shared memory."""
        inside = [m for m in moves if m.ends <= group]
        if not self.has_room(group, inside):
            return False
        apart = (*self.kept(group), *sorted(self.own(group), key=str))
        still = {(m.to, m.clause) for m in inside}
        of = (replace(w, apart=apart) for n in sorted(group) for w in self.writes(n))
        writes = [w for w in of if (w.by.name, w.clause) not in still]
        reads = [d for n in sorted(group) for d in self.readers.get(n, ())]
        only = dict[str, Cond]()
        for w in writes:
            if all(self.is_safe(d, w) for d in reads):
                continue
            asked = only[w.by.name] = self.asked_for(w.by.name)
            less = replace(w, cond=every(w.cond, asked))
            if asked == ALWAYS or not all(self.is_safe(d, less) for d in reads):
                return False
        for name, cond in only.items():
            self.only |= dict.fromkeys(computed(self.sites[name].leaf), cond)
        return True

    def asked_for(self, name: str) -> Cond:
        """The points at which a nest may leave a statement out elsewhere: all, or some of them."""
        leaf = self.sites[name].leaf
        stored = [n for n in computed(leaf) if self.storage[n].place != "register"]
        if not isinstance(leaf, Nest) or self.outputs.intersection(stored):
            return ALWAYS
        conds = {_asked_for(self.by_name[n], self.readers.get(n, ())) for n in stored}
        return conds.pop() if len(conds) == 1 else ALWAYS

    def writes(self, name: str) -> list[Write]:
        """All clauses of a statement, each where its place among them lets it write."""
        if name not in self.clauses:
            s = self.by_name[name]
            apart = enumerate(alone(s))
            self.clauses[name] = [Write(s, k, c) for k, one in apart for c, _ in one.clauses]
        return self.clauses[name]

    def is_safe(self, d: Dep, w: Write) -> bool:
        """Whether a write never comes between a value and its read."""
        pair = (id(d), w.by.name, w.clause, w.cond, w.apart)
        if pair not in self.asked:
            self.asked[pair] = self.is_proved(d, w)
        return self.asked[pair]

    def is_proved(self, d: Dep, w: Write) -> bool:
        """The same, by the order of time; alike questions are asked of isl once."""
        if not self.is_in_turn(d, w):
            return False
        when = self.proofs.when
        times = when[d.tensor], when[w.by.name], when[d.reader.name]
        if _is_evident(d, *times):
            return True
        key = self.question(d, w, times)
        if key not in self.known:
            found = (self.between(d, w, times, turned) for turned in orders_of(times))
            self.known[key] = all(r.is_empty() for r in found)
        return self.known[key]

    def is_in_turn(self, d: Dep, w: Write) -> bool:
        """Whether a reader in the leaf of a write reads the element that is written in turn."""
        leaf = self.sites[w.by.name].leaf
        if self.sites[d.reader.name].leaf is not leaf:
            return True
        if isinstance(leaf, Contraction) and d.reader.name == leaf.statement:
            return False
        return reads_same_element(d, at_any_point=True, every_axis=d.reader.name == w.by.name)

    def question(self, d: Dep, w: Write, times: tuple[Moment, Moment, Moment]) -> Hashable:
        """Everything that the answer depends on."""
        used = {x for e in d.load.dims for x in e.dims} | d.cond.symbols
        return (
            d.consumer.dims,
            d.producer.dims,
            d.source.result_dims,
            d.load.dims,
            d.cond,
            tuple(a for a in d.reader.axes if a.index in used),
            tuple(pick.axis for pick in d.load.picks),
            (w.by.dims, w.cond),
            w.apart,
            ranked([m.time for m in times]),
        )

    def between(
        self, d: Dep, w: Write, times: tuple[Moment, Moment, Moment], turned: bool
    ) -> Relation:
        """Reading points, and points of the write between the value that is read and the read."""
        from ostinato.pdg import isl

        length = max(len(m.time) for m in times)
        later = isl.lex_later(length)
        begun = schedule_map(d.producer.dims, times[0], length, turned)
        writing = schedule_map(w.by.dims, times[1], length, turned)
        reading = schedule_map(d.consumer.dims, times[2], length, turned)
        after = self.same_slot(d, w) & begun.then(later.reverse()).then(writing.reverse())
        return d.relation.then(after) & reading.then(later).then(writing.reverse())

    def same_slot(self, d: Dep, w: Write) -> Relation:
        """Points of a tensor, and points of a write that share their slot."""
        from ostinato.pdg import isl

        dims = w.by.dims
        other = dict(zip(dims, isl.anonymous(len(dims), "other"), strict=True))
        renamed: dict[Dim, Expr] = {x: expr(y) for x, y in other.items()}
        same = [equal(dim, renamed[dim]) for dim in w.apart]
        sizes = {other[x]: d.spans[x].hi.at(renamed) for x in dims}
        others = tuple(other.values())
        cond = every(*same, w.cond.at(renamed), isl.box_cond(others, sizes))
        return isl.pairs(d.producer.dims, others, cond)


def _asked_for(s: Statement, readers: Sequence[Dep]) -> Cond:
    """The points that reads ask for, as far as indices a fixed distance away tell."""
    found: list[Cond] = []
    for d in readers:
        conds: list[Cond] = []
        for dim, at in zip(s.result_dims, d.load.dims, strict=True):
            size, gap = d.spans[dim].hi, at - dim
            if gap.is_const and dim in d.consumer.dims and not size.dims:
                conds += [at_least(dim - gap, 0), at_least(size - 1 + gap, dim)]
            elif not at.dims:
                conds.append(equal(dim, at))
        found.append(every(*conds))
    return simplified(some(*found))


def _is_once(cond: Cond, dim: Dim) -> bool:
    """Whether a condition says which point of a dim it means."""
    equalities = (c for c in conjuncts(cond) if isinstance(c, Compare) and c.kind == "eq")
    return any(dim in c.symbols for c in equalities)


def _copied(value: Value) -> Load | None:
    while isinstance(value, Call) and value.fn == "stop_gradient":
        (value,) = value.args
    return value if isinstance(value, Load) and not value.picks else None


def _stays(d: Dep, dims: Iterable[Dim]) -> bool:
    """Whether a read is at the reader's point of some dims."""
    at = dict(zip(d.source.result_dims, d.load.dims, strict=True))
    return all(at.get(dim) == expr(dim) for dim in dims)


def _kept(s: Storage) -> dict[Dim, Slot]:
    return {slot.dim: slot for slot in s.slots if slot.kind == "full"}


def _is_evident(d: Dep, value: Moment, write: Moment, read: Moment) -> bool:
    """Whether the places of value, write and read in their loops alone show the order.

    A value is read in the iteration that computes it, and the write stands outside of all that lies
    between the two.
    """
    level = 0
    for a, b in zip(value.time, read.time, strict=False):
        if a is not b and a != b:
            break
        if isinstance(a, Loop) and d.gap(a.dim) != HERE:
            return False
        level += 1
    if level >= min(len(value.time), len(read.time)):
        return False
    first, last = value.time[level], read.time[level]
    if not isinstance(first, int) or not isinstance(last, int) or first > last:
        return False
    if len(write.time) <= level or write.time[:level] != value.time[:level]:
        return True  # in other iterations of the loops around, or outside of them
    here = write.time[level]
    if not isinstance(here, int):
        return False
    alone = level == len(write.time) - 1
    return here < first or here > last or (alone and here in (first, last))
