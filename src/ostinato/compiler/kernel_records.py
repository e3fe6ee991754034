"""The kernels of a plan as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.codegen.cost.estimate import estimate
from ostinato.codegen.cost.work import KernelWork, limit_ns, work
from ostinato.codegen.ir.tree import Kernel, computed, leaves
from ostinato.codegen.planning.planned import Plan
from ostinato.compiler.serving import UNKNOWN, Shares
from ostinato.machine.profile import Profile
from ostinato.pdg.index import dims_of
from ostinato.report.kernels import KernelRecord, Served


@dataclass(frozen=True)
class Records:
    """Makes the records of a plan's kernels for any extents; ``shares`` are of its statements."""

    plan: Plan
    profile: Profile
    shares: Mapping[str, Shares]

    def __call__(self, extents: Mapping[str, int], workers: int) -> tuple[KernelRecord, ...]:
        """The records of a run with these extents; `TYPICAL_EXTENT` where one is missing."""
        predicted = estimate(self.plan, self.profile, extents, workers).kernels
        found = work(self.plan, self.profile, extents, workers)
        return tuple(
            self._record(kernel, done, predicted[kernel.name])
            for kernel, done in zip(self.plan.kernels, found, strict=True)
        )

    def _record(self, kernel: Kernel, done: KernelWork, predicted_ns: float) -> KernelRecord:
        operations: dict[str, float] = {}
        moved: dict[str, float] = {}
        for each in done.statements.values():
            for kind, count in each.operations.items():
                operations[kind] = operations.get(kind, 0.0) + count
            for level, count in each.bytes.items():
                moved[level] = moved.get(level, 0.0) + count
        dim = kernel.parallel.dim if kernel.parallel else None
        return KernelRecord(
            kernel.name,
            self._equations(kernel),
            self.plan.pieces.get(dim, dim).name if dim else "",
            self._width(kernel),
            round(done.calls),
            operations,
            moved,
            predicted_ns,
            limit_ns(done, self.profile),
            self._shares(done),
            workers=done.share,
        )

    def _equations(self, kernel: Kernel) -> tuple[Served, ...]:
        statements = self.plan.statements
        names = dict.fromkeys(n for leaf, _, _ in leaves(kernel.body) for n in computed(leaf))
        lowered = dict.fromkeys(statements[n].lowered for n in names)
        found: dict[Served, None] = {}
        for name in lowered:
            s = statements.get(name)
            s = s or next(statements[n] for n in names if statements[n].lowered == name)
            mine = self.shares.get(name, UNKNOWN)
            operation, _ = max(mine, key=lambda o: mine[o])
            found[Served(s.label or name, str(s.where), operation)] = None
        return tuple(found)

    def _width(self, kernel: Kernel) -> int:
        """The points of the tiled dimension in one tile: the room of the axis that runs in it."""
        if kernel.parallel is None:
            return 1
        names = {n for leaf, _, _ in leaves(kernel.body) for n in computed(leaf)}
        axes = (a for name in sorted(names) for a in self.plan.statements[name].axes)
        found = (a.pad for a in axes if kernel.parallel.dim in dims_of(a.size))
        return next((pad.as_int() for pad in found if pad.is_const), 1)

    def _shares(self, done: KernelWork) -> Shares:
        """By predicted time; copies that take none count alike where there is nothing else."""
        out: dict[tuple[str, str], float] = {}
        is_idle = not any(each.ns for each in done.statements.values())
        for name, each in done.statements.items():
            mine = self.shares.get(self.plan.statements[name].lowered, UNKNOWN)
            for key, share in mine.items():
                out[key] = out.get(key, 0.0) + share * (1.0 if is_idle else each.ns)
        total = sum(out.values())
        return {key: ns / total for key, ns in out.items()} if total else UNKNOWN
