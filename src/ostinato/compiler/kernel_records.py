"""What the statements of a program serve, and the kernels of a plan, as records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.codegen.cost.estimate import estimate
from ostinato.codegen.cost.work import KernelWork, limit_ns, work
from ostinato.codegen.ir.system import System
from ostinato.codegen.ir.tree import Kernel, computed_in
from ostinato.codegen.planning.planned import Plan
from ostinato.machine.cost_model import CostModel
from ostinato.machine.profile import Profile
from ostinato.pdg.node import Along, Gather, Host, Map, Matmul, Node, Pdg, Random, Rec, Reduce
from ostinato.provenance.operations import HOST, Key, key_of
from ostinato.report.kernels import KernelRecord, Served

Shares = Mapping[tuple[str, str], float]  # of an operation and a place; they add up to 1
UNKNOWN: Shares = {("other", ""): 1.0}  # no line of the user's, nor a neighbour that has one


def shares(
    pdg: Pdg, system: System, known: Mapping[Key, str], cost: CostModel
) -> dict[str, Shares]:
    """How much of each statement of a rewritten program belongs to which operation.

    Operators of one statement count by what they take for one element. A statement that rules made
    of nothing belongs to what reads it, or to what it reads.
    """
    out: dict[str, Shares] = {}
    for name, nodes in nodes_by_statement(pdg, system).items():
        statement = system.statements[name]
        if statement.host is not None:
            out[name] = {(HOST, str(statement.where)): 1.0}
            continue
        found: dict[tuple[str, str], float] = {}
        for node in nodes:
            operation = known.get(key_of(node.where), "") if node.where else ""
            if operation:
                key = operation, str(node.where)
                found[key] = found.get(key, 0.0) + _weight(node, cost)
        total = sum(found.values())
        out[name] = {key: found[key] / total for key in sorted(found)}
    return _spread(out, system)


def _spread(found: dict[str, Shares], system: System) -> dict[str, Shares]:
    """The same, with every statement in it."""
    reads = {n: {x.tensor for x in s.reads} - {n} for n, s in system.statements.items()}
    beside: dict[str, list[str]] = {n: [] for n in reads}
    for name, read in reads.items():
        for other in sorted(read):
            beside[other].append(name)  # readers first
    for name, read in reads.items():
        beside[name] += sorted(read)
    changed = True
    while changed:
        changed = False
        for name in reads:
            near = next((m for m in beside[name] if found.get(m)), "")
            if near and not found.get(name):
                found[name], changed = found[near], True
    return {name: found.get(name) or UNKNOWN for name in reads}


def _weight(node: Node, cost: CostModel) -> float:
    """What an operator takes for one element, beside others in one equation."""
    match node.op:
        case Map(fn):
            return cost.function_ns(fn)
        case Random(fn):
            return cost.draw_ns(fn)
        case Matmul() | Reduce() | Along() | Gather() | Host():
            return cost.profile.fold_ns
        case _:
            return cost.profile.step_ns / 100  # movement


def nodes_by_statement(pdg: Pdg, system: System) -> dict[str, frozenset[Node]]:
    """The operators that each lowered statement computes: its own and those inside its equation.

    Views between an output and the statement that holds it belong to that statement.
    """
    stored = {node for node, _ in _stored(system)}
    out = {name: _inside(node, pdg, stored) for node, name in _stored(system)}
    for name, node in pdg.outputs:
        held = system.outputs[name]
        if node not in stored:
            out[held] = out.get(held, frozenset()) | _inside(node, pdg, stored)
    return out


def _stored(system: System) -> list[tuple[Node, str]]:
    return [(node, name) for name, node in system.nodes.items() if name in system.statements]


def _inside(root: Node, pdg: Pdg, stored: set[Node]) -> frozenset[Node]:
    """The nodes from one on down to the next stored ones."""
    rights = [r for _, r in pdg.equations[root.op.name].cases] if isinstance(root.op, Rec) else []
    seen = {root}
    todo = [*root.args, *rights]
    while todo:
        node = todo.pop()
        if node not in seen and node not in stored:
            seen.add(node)
            todo += node.args
    return frozenset(seen)


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
        names = computed_in(kernel.body)
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
        names = computed_in(kernel.body)
        axes = (a for name in sorted(names) for a in self.plan.statements[name].axes)
        found = (a.pad for a in axes if kernel.parallel.dim in a.size.dims)
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
