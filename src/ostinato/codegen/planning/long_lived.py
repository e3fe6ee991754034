"""Values that a plan keeps for later loops: how much memory they take, and who reads them there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from ostinato.codegen.ir.tree import Barrier, Call, DriverLoop, Fill, Step, computed, leaves
from ostinato.codegen.planning.arena import sizes_bytes
from ostinato.pdg.index import Dim

if TYPE_CHECKING:
    from ostinato.codegen.planning.planned import Plan

Path = tuple[tuple[Dim, int], ...]  # loops from the outside: a dim, and the identity of the loop


@dataclass(frozen=True)
class Kept:
    """A lowered statement of which many points are stored, because later loops read them.

    ``far`` are the lowered statements that read it in other loops, each with the first loop that
    it does not share. ``gone`` are the lowered statements, read by this one or not, whose values do
    not reach those loops.
    """

    tensor: str
    bytes: int
    far: Mapping[str, int]
    gone: frozenset[str]
    dims: frozenset[Dim] = frozenset()  # the dims of the system that all points are kept of


@dataclass(frozen=True)
class _Stored:
    """A plan by lowered statements: their copies, loops, readers, and the dims stored in full."""

    plan: Plan
    copies: dict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))
    readers: dict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))
    paths: dict[str, Path] = field(default_factory=dict[str, Path])

    def __post_init__(self) -> None:
        for name, s in self.plan.statements.items():
            self.copies[s.lowered].append(name)
            for tensor in dict.fromkeys(x.tensor for x in s.reads):
                self.readers[tensor].append(name)
        for number, outer in _calls(self.plan.driver, ()):
            kernel = self.plan.kernels[number]
            if kernel.parallel is not None:
                outer = (*outer, (kernel.parallel.dim, id(kernel)))
            for leaf, inner, _ in leaves(kernel.body):
                if not isinstance(leaf, Fill):
                    path = (*outer, *((loop.dim, id(loop)) for loop in inner))
                    self.paths.update(dict.fromkeys(computed(leaf), path))

    def full(self, tensor: str) -> frozenset[Dim] | None:
        """The dims of which all points are in memory; None if nothing is."""
        stored = [self.plan.storage[n] for n in self.copies[tensor]]
        stored = [s for s in stored if s.place != "register"]
        slots = {slot.dim for s in stored for slot in s.slots if slot.kind == "full"}
        return frozenset(slots) if stored else None

    def reaches(self, tensor: str, dims: frozenset[Dim]) -> bool:
        """Whether every point along some dims is in memory, where a tensor has these dims."""
        full = self.full(tensor)
        own = self.plan.statements[tensor].result_dims if tensor in self.plan.statements else ()
        return full is not None and dims & frozenset(own) <= full

    def far(self, tensor: str, dims: frozenset[Dim]) -> dict[str, int]:
        """The readers that share no loop over one of the dims, by the first loop not shared."""
        out: dict[str, int] = {}
        for reader in (r for name in self.copies[tensor] for r in self.readers[name]):
            lowered = self.plan.statements[reader].lowered
            if lowered == tensor:
                continue
            shared = _common(self.paths[tensor], self.paths[reader])
            if dims - {dim for dim, _ in shared}:
                rest = self.paths[reader][len(shared) :]
                out[lowered] = rest[0][1] if rest else 0
        return out


def kept(plan: Plan, extents: Mapping[str, int], workers: int) -> list[Kept]:
    """What a plan keeps for later loops, the largest first."""
    sizes, found = sizes_bytes(plan, extents), _Stored(plan)
    ends = {plan.statements[port.tensor].lowered for port in (*plan.inputs, *plan.outputs)}
    out: list[Kept] = []
    for tensor, names in found.copies.items():
        if tensor in ends or tensor not in found.paths:
            continue
        dims = (found.full(tensor) or frozenset()) & {*plan.statements[tensor].result_dims}
        if not dims:
            continue
        far = found.far(tensor, dims)
        if far:
            total = sum(
                sizes[s.owner] * (workers if s.place == "local" else 1)
                for s in (plan.storage[n] for n in names)
                if s.owner in sizes
            )
            gone = frozenset(t for t in found.copies if not found.reaches(t, dims))
            whole = frozenset(plan.pieces.get(d, d) for d in dims)
            if total:  # else it has no elements at these extents
                out.append(Kept(tensor, total, far, gone, whole))
    return sorted(out, key=lambda k: (-k.bytes, k.tensor))


def _common(a: Sequence[tuple[Dim, int]], b: Sequence[tuple[Dim, int]]) -> Path:
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return tuple(a[:count])


def _calls(steps: Sequence[Step], outer: Path) -> Iterator[tuple[int, Path]]:
    """Every kernel with the loops of the driver around it."""
    for step in steps:
        match step:
            case Barrier():
                pass
            case Call(kernel):
                yield kernel, outer
            case DriverLoop(span, body=body):
                yield from _calls(body, (*outer, (span.dim, id(step))))
            case unknown:
                assert_never(unknown)
