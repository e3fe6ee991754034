"""Updates in place of a few elements: loops pass over those that stay as they are.

``where(position == at, new, old)`` gives what is there already wherever its condition fails. Where
it is stored in the place of ``old``, only the elements for which the condition may hold are
visited: one for an equality, a range for a comparison, none where a condition on the step fails.
So a table of which a step changes one entry takes as long as that entry, whatever its size.

What is left out would store what it loads from the same address: nothing more has to be proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ostinato.codegen.ir.changed_elements import Bound, Limits, Test, changed
from ostinato.codegen.ir.system import Load, Statement, Value, loads
from ostinato.codegen.ir.tree import Kernel, Nest, leaves
from ostinato.codegen.memory.storage import Storage
from ostinato.pdg.index import Dim, expr

Clause = tuple[str, int]  # the first statement of a nest, and the number of one of its clauses


def kept_elements(
    kernels: Sequence[Kernel],
    statements: Mapping[str, Statement],
    storage: Mapping[str, Storage],
) -> dict[Clause, tuple[Test, ...]]:
    """What holds of every element that a clause of a nest changes, where something is known."""
    nests = [leaf for k in kernels for leaf, _, _ in leaves(k.body) if isinstance(leaf, Nest)]
    clauses = [(nest, clause) for nest in nests for clause in range(len(nest.conds))]
    found = {
        (nest.statements[0], clause): limits_of(nest, clause, statements, storage)
        for nest, clause in clauses
    }
    return {clause: limits for clause, limits in found.items() if limits}


def limits_of(
    nest: Nest, clause: int, statements: Mapping[str, Statement], storage: Mapping[str, Storage]
) -> tuple[Test, ...]:
    """What holds of every element that a clause of a nest changes, as far as it can be told."""
    return _Changes(nest, clause, statements, storage).limits() if nest.axes else ()


def narrow(limits: Iterable[Test]) -> frozenset[Dim]:
    """The axes along which few elements change: they are bounded on both sides."""
    sides = {(x.axis, x.side) for x in limits if isinstance(x, Bound)}
    return frozenset(axis for axis, side in sides if (axis, "low") in sides and side == "end")


@dataclass(frozen=True)
class _Changes:
    """The search in one clause of a nest."""

    nest: Nest
    clause: int
    statements: Mapping[str, Statement]
    storage: Mapping[str, Storage]

    def limits(self) -> tuple[Test, ...]:
        """What holds of every element that some statement changes."""
        inner = dict[Load, Value]()  # what is computed in the loops and kept in variables
        common: Limits | None = None
        for name in self.nest.moving(self.clause):
            s = self.statements[name]
            value = s.clauses[self.clause][1]
            if s.kind != "map":
                return ()
            if self.storage[name].place == "register":
                inner[s.here] = value
                continue
            own = [changed(value, x, inner) for x in loads(value) if self.is_own(s, x)]
            known = max((x for x in own if x), key=len, default=frozenset[Test]())
            common = known if common is None else common & known
        return tuple(sorted(filter(self.is_known, common or ()), key=repr))

    def is_own(self, s: Statement, load: Load) -> bool:
        """Whether a load reads the very element that the statement stores."""
        mine, other = self.storage[s.name], self.storage[load.tensor]
        if mine.owner != other.owner or load.axes != s.here.axes or mine.shape != other.shape:
            return False
        at = zip(mine.slots, s.result_dims, load.dims, strict=True)
        kinds = [slot.kind for slot in mine.slots] == [slot.kind for slot in other.slots]
        here = all(
            slot.kind == "one" or (slot.kind == "full" and e == expr(d)) for slot, d, e in at
        )
        return kinds and here and not load.picks

    def is_known(self, limit: Test) -> bool:
        """Whether a limit can be asked for before the loop that it spares."""
        inside = [a.index for a in self.nest.axes]
        own = [self.statements[n] for n in self.nest.statements]
        unrolled = {a.index for s in own for a in s.axes} - {*inside}
        written = {self.storage[s.name].owner for s in own}
        read = {self.storage[x.tensor].owner for x in loads(limit.of)}
        if limit.symbols & unrolled or written & read:
            return False
        if isinstance(limit, Bound) and limit.axis not in inside:
            return False
        sizes = frozenset[Dim]().union(*(a.size.dims for a in self.nest.axes))
        is_open = limit.reads_memory and bool(sizes & {*inside})
        last = inside.index(limit.axis) if isinstance(limit, Bound) else len(inside) - 1
        return not is_open and not limit.symbols & {*inside[last:]}
