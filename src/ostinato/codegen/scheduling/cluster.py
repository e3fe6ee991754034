"""Typed fusion: items in topological order become ordered groups of one header each.

An item joins the first group at or after its producers whose header is compatible; then items move
between feasible groups while that shrinks what crosses groups (or takes them closer to their
readers at no cost), whole groups merge, and chains move to where their end is needed. Loop fusion
and elementwise fusion are both this function, with other headers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ostinato.codegen.scheduling.deps import Dep

H = TypeVar("H", bound=Hashable)
APART = -1  # a group in which nothing is
ROUNDS = 20  # local moves converge in two or three rounds; the limit only guards against cycles


@dataclass(frozen=True)
class Rules(Generic[H]):
    """What a header means.

    ``merge`` gives the headers that two merged items may have, best first (none: they cannot share
    a group), ``allows`` says whether a dependence may stay inside a group, ``size`` what a tensor
    that crosses groups costs.
    """

    merge: Callable[[H, H], Sequence[H]]
    allows: Callable[[H, Dep], bool]
    size: Callable[[str], float]


@dataclass(frozen=True)
class Edge:
    """A dependence from item ``source`` to item ``target``."""

    source: int
    target: int
    dep: Dep


@dataclass
class _Clusters(Generic[H]):
    headers: Sequence[H]
    edges: Sequence[Edge]
    rules: Rules[H]
    members: list[list[int]] = field(default_factory=list[list[int]])
    group_headers: list[H] = field(default_factory=list[H])
    at: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        count = len(self.headers)
        self.before: list[list[Edge]] = [[] for _ in range(count)]
        self.after: list[list[Edge]] = [[] for _ in range(count)]
        self.users: dict[str, list[Edge]] = {}
        self.numbers: dict[H, int] = {}  # headers are compared often
        self.kinds = [self.number(header) for header in self.headers]
        self.group_kinds: list[int] = []
        self.together: dict[tuple[int, int], Sequence[H]] = {}
        self.firsts: dict[int, int] = {}  # while groups are merged
        self.lasts: dict[int, int] = {}
        self.fitting: dict[int, list[bool]] = {kind: [] for kind in self.kinds}
        for edge in self.edges:
            self.before[edge.target].append(edge)
            self.after[edge.source].append(edge)
            self.users.setdefault(edge.dep.tensor, []).append(edge)

    def touching(self, item: int, group: int) -> list[Dep]:
        """The dependences between an item and a group."""
        near = [e.dep for e in self.before[item] if self.at.get(e.source) == group]
        return near + [e.dep for e in self.after[item] if self.at.get(e.target) == group]

    def inside(self, group: int) -> list[Dep]:
        return [
            e.dep
            for item in self.members[group]
            for e in self.before[item]
            if self.at[e.source] == group
        ]

    def joined(self, item: int, group: int) -> H | None:
        """The group's header with the item in it, or None if it does not fit."""
        old = self.group_headers[group]
        touched = self.touching(item, group)
        for header in self.rules.merge(old, self.headers[item]):
            deps = touched if header == old else [*touched, *self.inside(group)]
            if all(self.rules.allows(header, d) for d in deps):
                return header
        return None

    def number(self, header: H) -> int:
        return self.numbers.setdefault(header, len(self.numbers))

    def head(self, group: int, header: H) -> None:
        """Give a group another header."""
        self.group_headers[group] = header
        self.group_kinds[group] = self.number(header)

    def merging(self, a: int, b: int) -> Sequence[H]:
        """The headers that two groups may have together, best first."""
        kinds = self.group_kinds[a], self.group_kinds[b]
        if kinds not in self.together:
            self.together[kinds] = self.rules.merge(self.group_headers[a], self.group_headers[b])
        return self.together[kinds]

    def fit(self, item: int, groups: range) -> list[int]:
        """The groups whose header may be merged with that of an item."""
        kinds, fits = self.group_kinds, self.fitting[self.kinds[item]]
        if len(fits) < len(self.numbers):
            headers = list(self.numbers)[len(fits) :]
            fits += [bool(self.rules.merge(header, self.headers[item])) for header in headers]
        return [group for group in groups if fits[kinds[group]]]

    def place(self, item: int) -> None:
        """Join the first group that fits at or after all producers, or open a group."""
        first = max((self.at[e.source] for e in self.before[item]), default=0)
        for group in self.fit(item, range(first, len(self.members))):
            header = self.joined(item, group)
            if header is not None:
                self.members[group].append(item)
                self.head(group, header)
                self.at[item] = group
                return
        self.members.append([item])
        self.group_headers.append(self.headers[item])
        self.group_kinds.append(self.kinds[item])
        self.at[item] = len(self.members) - 1

    def crossing(self, tensors: set[str]) -> float:
        return sum(
            self.rules.size(t)
            for t in sorted(tensors)
            if any(self.at[e.source] != self.at[e.target] for e in self.users[t])
        )

    def move(self, item: int) -> bool:
        """Move an item to another group if less crosses groups then."""
        here = self.at[item]
        low = max((self.at[e.source] for e in self.before[item]), default=0)
        high = min((self.at[e.target] for e in self.after[item]), default=len(self.members) - 1)
        near = self.fit(item, range(low, high + 1))
        others = [g for g in near if g != here and self.members[g]]
        if not others:
            return False
        tensors = {e.dep.tensor for e in (*self.before[item], *self.after[item])}
        touched = {self.at[e.source] for e in self.before[item]}
        touched |= {self.at[e.target] for e in self.after[item]}
        now, apart = self.crossing(tensors), self.crossing_from(item, APART, tensors)
        for group in others:
            after = self.crossing_from(item, group, tensors) if group in touched else apart
            if after < now or (after == now and group > here and self.after[item]):
                header = self.joined(item, group)
                if header is not None:
                    self.at[item] = group
                    self.members[here].remove(item)
                    self.members[group].append(item)
                    self.head(group, header)
                    return True
        return False

    def crossing_from(self, item: int, group: int, tensors: set[str]) -> float:
        """What of some tensors would cross groups if an item were in another one."""
        here, self.at[item] = self.at[item], group
        found = self.crossing(tensors)
        self.at[item] = here
        return found

    def merge_groups(self, a: int, b: int) -> bool:
        """Move all of group ``a`` to the later group ``b``, or the other way round, if allowed."""
        later = self.first_user(a) >= b
        if not self.merging(a, b) or not (later or self.last_source(b) <= a):
            return False
        deps = [*self.between(a, b), *self.inside(a), *self.inside(b)]
        for header in self.merging(a, b):
            if all(self.rules.allows(header, d) for d in deps):
                self.absorb(*((a, b) if later else (b, a)), header)
                return True
        return False

    def first_user(self, group: int) -> int:
        """The first group behind that needs something of a group."""
        if group not in self.firsts:
            ends = (self.at[e.target] for item in self.members[group] for e in self.after[item])
            self.firsts[group] = min(
                (end for end in ends if end != group), default=len(self.members)
            )
        return self.firsts[group]

    def last_source(self, group: int) -> int:
        """The last group before that a group needs something of."""
        if group not in self.lasts:
            starts = (self.at[e.source] for item in self.members[group] for e in self.before[item])
            self.lasts[group] = max((start for start in starts if start != group), default=-1)
        return self.lasts[group]

    def between(self, a: int, b: int) -> list[Dep]:
        into = (e for item in self.members[b] for e in self.before[item])
        return [e.dep for e in into if self.at[e.source] == a]

    def absorb(self, source: int, target: int, header: H) -> None:
        for item in self.members[source]:
            self.at[item] = target
            for e in self.before[item]:
                self.firsts.pop(self.at[e.source], None)
            for e in self.after[item]:
                self.lasts.pop(self.at[e.target], None)
        for known in (self.firsts, self.lasts):
            known.pop(source, None)
            known.pop(target, None)
        self.members[target] += self.members[source]
        self.members[source] = []
        self.head(target, header)

    def drain(self, a: int, b: int) -> bool:
        """Move what no group before ``b`` needs there from group ``a``, if less crosses then.

        A chain of items that lies in ``a`` although its end is in ``b`` does not move item by item:
        a cut through its middle costs as much as the one at its end.
        """
        going = self.needed_from(a, b) if self.merging(b, a) else []
        if not going:
            return False
        tensors = {e.dep.tensor for i in going for e in (*self.before[i], *self.after[i])}
        now, there = self.crossing(tensors), {*going, *self.members[b]}
        deps = [e.dep for i in there for e in self.before[i] if e.source in there]
        for header in self.merging(b, a):
            if all(self.rules.allows(header, d) for d in deps):
                self.at |= dict.fromkeys(going, b)
                if self.crossing(tensors) < now:
                    self.members[a] = [i for i in self.members[a] if i not in there]
                    self.members[b] += going
                    self.head(b, header)
                    return True
                self.at |= dict.fromkeys(going, a)
        return False

    def needed_from(self, a: int, b: int) -> list[int]:
        """The items of group ``a`` whose users are among them or in groups from ``b`` on."""
        going: list[int] = []
        for item in sorted(self.members[a], reverse=True):
            ends = [e.target for e in self.after[item]]
            if ends and all(self.at[end] >= b or end in going for end in ends):
                going.append(item)
        return going

    def drained(self) -> bool:
        """Try every pair of groups once."""
        found = False
        for a in range(len(self.members)):
            for b in self.users_from(a):
                found = self.drain(a, b) or found
        return found

    def users_from(self, group: int) -> Iterator[int]:
        """The groups that need something of a group, in order, while it loses items to them.

        To another one nothing is drained: no less would cross groups.
        """
        last = group
        while True:
            ends = (self.at[e.target] for item in self.members[group] for e in self.after[item])
            more = [end for end in ends if end > last]
            if not more:
                return
            last = min(more)
            yield last

    def merged(self) -> bool:
        """Try every pair of groups once, but for those of which others between need one."""
        found, self.firsts, self.lasts = False, {}, {}
        for a in range(len(self.members)):
            kinds, rest = self.group_kinds, range(a + 1, len(self.members))
            for b in rest if self.members[a] else ():
                if not self.members[b]:
                    continue
                fits = self.together.get((kinds[a], kinds[b]), True)
                first, last = self.firsts.get(a, b), self.lasts.get(b, a)
                if fits and (first >= b or last <= a):  # what is not known yet may be
                    found = self.merge_groups(a, b) or found
                    if not self.members[a]:
                        break
        return found


def cluster(
    headers: Sequence[H], edges: Sequence[Edge], rules: Rules[H]
) -> list[tuple[H, list[int]]]:
    """Groups in order, each with its header and its items (topologically ordered numbers).

    ``headers[k]`` is the header of item ``k`` on its own; items are numbered topologically.
    """
    state = _Clusters(headers, edges, rules)
    for item in range(len(headers)):
        state.place(item)
    for _ in range(ROUNDS):
        moved = [state.move(item) for item in reversed(range(len(headers)))]
        if not any(moved) and not state.merged() and not state.drained():
            break
    return [
        (header, sorted(items))
        for header, items in zip(state.group_headers, state.members, strict=True)
        if items
    ]
