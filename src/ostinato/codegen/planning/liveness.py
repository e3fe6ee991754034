"""When a tensor's memory is in use, in phases: the stretches between barriers of the driver.

Two tensors may share memory if their phases are disjoint: then a barrier lies between the last use
of one and the first of the other, and no kernel touches both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ostinato.codegen.ir.tree import Barrier, Call, DriverLoop, Step
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.kernel_partition import Driven
from ostinato.codegen.scheduling.deps import HERE, Dep


@dataclass(frozen=True, slots=True)
class Life:
    """The first and last phase in which a tensor's memory is in use."""

    first: int
    last: int

    def meets(self, other: Life) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass
class _Phases:
    """The phase of every call, and the phases and calls of every loop."""

    phase: int = 0
    at: dict[int, int] = field(default_factory=dict[int, int])
    loops: list[tuple[DriverLoop, Life, frozenset[int]]] = field(
        default_factory=list[tuple[DriverLoop, Life, frozenset[int]]]
    )

    def walk(self, steps: Sequence[Step]) -> set[int]:
        inside: set[int] = set()
        for step in steps:
            match step:
                case Barrier():
                    self.phase += 1
                case Call(kernel):
                    self.at[kernel] = self.phase
                    inside.add(kernel)
                case DriverLoop():
                    first = self.phase
                    found = self.walk(step.body)
                    self.loops.append((step, Life(first, self.phase), frozenset(found)))
                    inside |= found
        return inside


def whole_lives(driven: Driven, storage: Mapping[str, Storage]) -> dict[str, Life]:
    """Lives of all global tensors from the first phase to the last, so that none share memory."""
    phases = _Phases()
    phases.walk(driven.steps)
    kept = (name for name, s in storage.items() if s.place == "global" and not s.shares)
    return {name: Life(0, phases.phase) for name in kept}


def lifetimes(
    driven: Driven,
    storage: Mapping[str, Storage],
    deps: Sequence[Dep],
    held: frozenset[str],
    outputs: frozenset[str],
) -> dict[str, Life]:
    """The life of every global tensor; ``held`` ones (inputs) live all along, outputs to the end.

    What a loop carries lives through all of the loop; what shares memory lives with its owner.
    """
    phases = _Phases()
    phases.walk(driven.steps)
    users: dict[str, set[int]] = {}
    for kernel, access in enumerate(driven.accesses):
        for name in access.all:
            users.setdefault(name, set()).add(kernel)
    readers: dict[str, list[Dep]] = {}
    for d in deps:
        readers.setdefault(storage[d.tensor].owner, []).append(d)
    out: dict[str, Life] = {}
    for name, s in storage.items():
        if s.shares:
            continue
        if name in held:
            out[name] = Life(0, phases.phase)
        elif s.place == "global":
            life = _life(s, users[name], readers.get(name, ()), phases)
            out[name] = Life(life.first, phases.phase) if name in outputs else life
    return out


def _life(s: Storage, users: set[int], readers: Sequence[Dep], phases: _Phases) -> Life:
    first = min(phases.at[k] for k in users)
    last = max(phases.at[k] for k in users)
    for loop, span, inside in phases.loops:
        if users & inside and _persists(s, users <= inside, readers, loop):
            first, last = min(first, span.first), max(last, span.last)
    return Life(first, last)


def _persists(s: Storage, is_inside: bool, readers: Sequence[Dep], loop: DriverLoop) -> bool:
    """Whether a value lives from one iteration of a loop to another, or beyond the loop."""
    dim = loop.span.dim
    kept = any(slot.dim == dim and slot.kind != "one" for slot in s.slots)
    return not is_inside or kept or any(d.gap(dim) != HERE for d in readers)
