"""The driver: which trees become kernels, and where workers wait for each other.

A parallel loop is one kernel that workers run for the tiles that they claim; a run of trees
without parallel work is kernels of one worker, and kernels of which workers compute slices. A
sequential loop around parallel work, or around much work in slices, and a published one that hosts
other loops, is a loop of the driver; so is one with more statements than one kernel should have. A
barrier stands before a call that conflicts with one since the last barrier, and at the end of every
loop body with shared work or published records. The outermost loops over the first dim of an output
are published: their iterations complete records.

What stands between two barriers is a phase: items that workers claim. Nothing in a phase needs
anything else in it, but for what belongs together: the serial steps, the kernels that run in the
same tiles, those of which each worker computes slices. Such a chain is done for one item by one
worker, in its order, whichever worker claims the item; what one kernel leaves there the next one
finds. A loop around shared work has phases of its own in every iteration.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from ostinato.codegen.ir.system import Statement
from ostinato.codegen.ir.tree import (
    Barrier,
    Call,
    DriverLoop,
    Fill,
    Kernel,
    Loop,
    Span,
    Step,
    Tree,
    active,
    computed,
    leaves,
)
from ostinato.codegen.memory.storage import Storage, scratch
from ostinato.codegen.planning.joined_nests import parts, streams_of
from ostinato.codegen.planning.slices import Access, Slicer
from ostinato.codegen.scheduling.deps import HERE, Dep
from ostinato.codegen.target import Target
from ostinato.pdg.index import Dim
from ostinato.pdg.pass_record import ALL_PASSES, Passes


@dataclass(frozen=True)
class Chain:
    """Steps that one worker does for an item, one after the other.

    The items are the tiles of ``span``, each in some parts if its steps are shared out ``along`` a
    loop, or parts of arrays of a chain that is ``sliced``; without these there is one item.
    """

    steps: tuple[Step, ...]
    span: Span | None = None
    along: Span | None = None
    sliced: bool = False
    slices: int = 0  # of the array that has most


Phase = tuple[Chain, ...]


def phases(steps: Sequence[Step], kernels: Sequence[Kernel]) -> Iterator[Phase | DriverLoop]:
    """The phases of a body in order, and the loops that have phases of their own."""
    since: list[Step] = []
    for step in steps:
        is_loop = isinstance(step, DriverLoop) and is_shared(step, kernels)
        if not is_loop and not isinstance(step, Barrier):
            since.append(step)
            continue
        if since:
            yield tuple(_chains(since, kernels))
            since = []
        if isinstance(step, DriverLoop):
            yield step
    if since:
        yield tuple(_chains(since, kernels))


def is_shared(loop: DriverLoop, kernels: Sequence[Kernel]) -> bool:
    """Whether the iterations of a loop have phases: it has shared work, or completes records."""
    return loop.outermost or any(_is_shared(step, kernels) for step in loop.body)


def _is_shared(step: Step, kernels: Sequence[Kernel]) -> bool:
    if isinstance(step, Call):
        return kernels[step.kernel].is_shared
    return isinstance(step, DriverLoop) and is_shared(step, kernels)


def _chains(steps: Sequence[Step], kernels: Sequence[Kernel]) -> Iterator[Chain]:
    """The steps of a phase, those together that one worker has to do; serial ones come first."""
    found: dict[Hashable, list[Step]] = {}
    for step in steps:
        found.setdefault(_key(step, kernels), []).append(step)
    for key in sorted(found, key=lambda key: key != ()):
        first = found[key][0]
        kernel = kernels[first.kernel] if isinstance(first, Call) else None
        if key == () or kernel is None:
            yield Chain(tuple(found[key]))
        else:
            of = [kernels[step.kernel] for step in found[key] if isinstance(step, Call)]
            slices = max((n for k in of for n in k.slices), default=0)
            yield Chain(tuple(found[key]), kernel.parallel, kernel.along, kernel.sliced, slices)


def _key(step: Step, kernels: Sequence[Kernel]) -> Hashable:
    """Equal for steps whose items are the same."""
    kernel = kernels[step.kernel] if isinstance(step, Call) else None
    if kernel is None or not kernel.is_shared:
        return ()
    spans = (kernel.parallel, kernel.along)
    return kernel.sliced, *((s.lo, s.hi) if s is not None else None for s in spans)


LARGEST = 32  # statements of one kernel: compiling takes longer than their number grows


@dataclass
class _Driver:
    statements: Mapping[str, Statement]
    storage: Mapping[str, Storage]
    readers: Mapping[str, Sequence[Dep]]
    published: frozenset[Dim]
    slicer: Slicer | None  # where there is other work for several workers
    streamed: Dim | None  # whose steps complete records, however little they do
    kernels: list[Kernel] = field(default_factory=list[Kernel])
    accesses: list[Access] = field(default_factory=list[Access])

    def steps(self, trees: Sequence[Tree], outer: tuple[Dim, ...]) -> list[Step]:
        """Calls and loops without barriers."""
        out: list[Step] = []
        run: list[Tree] = []
        for tree in trees:
            published = isinstance(tree, Loop) and not outer and tree.dim in self.published
            if not isinstance(tree, Loop) or not self.drives(tree, published):
                run.append(tree)
                continue
            out += self.serial(run, outer)
            run = []
            if tree.parallel:
                out.append(self.call(tree.body, (*outer, tree.dim), tree))
            else:
                body = self.steps(tree.body, (*outer, tree.dim))
                out.append(DriverLoop(tree.span, tree.reverse, published, tuple(body)))
        return out + self.serial(run, outer)

    def drives(self, loop: Loop, published: bool) -> bool:
        """Whether a loop belongs to the driver, so that workers can share its steps."""
        if is_driven(loop, published) or (published and loop.dim == self.streamed):
            return True
        return self.slicer is not None and self.slicer.shares(loop)

    def serial(self, run: Sequence[Tree], outer: tuple[Dim, ...]) -> list[Step]:
        """Kernels of one worker, and those of which workers compute slices."""
        groups = self.slicer.groups(run) if self.slicer else [(False, tuple(run))]
        return [s for sliced, trees in groups for s in self.straight(trees, outer, sliced)]

    def straight(self, run: Sequence[Tree], outer: tuple[Dim, ...], sliced: bool) -> list[Step]:
        """Kernels of limited size; of a loop with too many statements the driver has the loop."""
        out: list[Step] = []
        part: list[Tree] = []
        for tree in run:
            apart = parts(tree, self.statements, self.storage)
            if len(apart) > 1:
                out += [self.call(tuple(part), outer, None, sliced)] if part else []
                out += [self.part(each, outer, sliced) for each in apart]
                part = []
                continue
            if part and sum(map(_weight, part)) + _weight(tree) > LARGEST:
                out.append(self.call(tuple(part), outer, None, sliced))
                part = []
            if isinstance(tree, Loop) and _weight(tree) > LARGEST and not sliced:
                body = self.straight(tree.body, (*outer, tree.dim), False)
                out.append(DriverLoop(tree.span, tree.reverse, False, tuple(body)))
            else:
                part.append(tree)
        return [*out, self.call(tuple(part), outer, None, sliced)] if part else out

    def call(
        self,
        body: tuple[Tree, ...],
        outer: tuple[Dim, ...],
        loop: Loop | None,
        sliced: bool = False,
    ) -> Call:
        number = len(self.kernels)
        span, along = (loop.span, shared_steps(loop)) if loop else (None, None)
        self.kernels.append(Kernel(f"k{number}", body, outer, span, sliced, along))
        self.accesses.append(self.access(body))
        return Call(number)

    def part(self, tree: Tree, outer: tuple[Dim, ...], sliced: bool) -> Call:
        """A call of a kernel that has many equal ones."""
        call = self.call((tree,), outer, None, sliced)
        streams = streams_of(tree, self.statements)
        self.kernels[call.kernel] = replace(self.kernels[call.kernel], streams=streams)
        return call

    def access(self, body: tuple[Tree, ...]) -> Access:
        writes: set[str] = set()
        reads: set[str] = set()
        for leaf, _, _ in leaves(body):
            writes.update(computed(leaf))
            beside = scratch(leaf, self.storage)
            if beside is not None:
                writes.add(beside.tensor)
            if not isinstance(leaf, Fill):
                for name in computed(leaf):
                    reads.update(x.tensor for x in self.statements[name].reads)
        apart = self.slicer.joined(body).apart if self.slicer else frozenset[str]()
        return Access(self.memory(writes), self.memory(reads), apart)

    def memory(self, names: Iterable[str]) -> frozenset[str]:
        """The tensors in whose memory some tensors lie."""
        found = (self.storage[n] for n in names)
        return frozenset(s.owner for s in found if s.place != "register")

    def conflict(self, a: int, b: int) -> bool:
        """Whether two kernels that may run at once on different workers share written memory."""
        first, second = self.kernels[a], self.kernels[b]
        if not first.is_shared and not second.is_shared:
            return False
        x, y = self.accesses[a], self.accesses[b]
        shared = x.shared(y)
        if first.sliced and second.sliced:
            return bool(shared & (x.apart | y.apart))
        same = first.parallel is not None and first.parallel == second.parallel
        same = same and first.along is second.along is None
        dim = first.parallel.dim if first.parallel else None
        return any(
            self.storage[n].place == "global" and not (same and self.stays(n, dim)) for n in shared
        )

    def stays(self, tensor: str, dim: Dim | None) -> bool:
        """Whether every tile touches only its own part of a tensor."""
        slots = self.storage[tensor].slots
        if not any(s.dim == dim and s.kind == "full" for s in slots) or dim is None:
            return False
        return all(d.gap(dim) == HERE for d in self.readers.get(tensor, ()))

    def guarded(self, steps: Sequence[Step], since: set[int]) -> list[Step]:
        """The steps with barriers; ``since`` are the calls since the last one, updated."""
        out: list[Step] = []
        for step in steps:
            if isinstance(step, DriverLoop) and not is_shared(step, self.kernels):
                if any(self.conflict(k, called) for k in since for called in calls(step.body)):
                    out.append(Barrier())
                    since.clear()
                since.update(calls(step.body))
            elif isinstance(step, DriverLoop):
                if since:  # the body may start with a conflict only at its first iteration
                    out.append(Barrier())
                since.clear()
                body = self.guarded(step.body, since)
                if since:
                    body.append(Barrier())
                since.clear()
                out.append(DriverLoop(step.span, step.reverse, step.outermost, tuple(body)))
                continue
            if isinstance(step, Call):
                if any(self.conflict(k, step.kernel) for k in since):
                    out.append(Barrier())
                    since.clear()
                since.add(step.kernel)
            out.append(step)
        return out


def _weight(tree: Tree) -> int:
    return sum(len(active(leaf)) for leaf, _, _ in leaves((tree,)))


def is_driven(loop: Loop, published: bool) -> bool:
    """Whether a loop belongs to the driver: it is or hosts parallel work, or completes records."""
    if has_parallel(loop):
        return True
    return published and any(isinstance(t, Loop) for t in loop.body)


def shared_steps(loop: Loop) -> Span | None:
    """The steps of a parallel loop over tiles that several workers may share out."""
    if len(loop.body) != 1 or not isinstance(loop.body[0], Loop) or not loop.body[0].parallel:
        return None
    span = loop.body[0].span
    return None if span.lo.dims | span.hi.dims else span


def has_parallel(tree: Tree) -> bool:
    return isinstance(tree, Loop) and (tree.parallel or any(map(has_parallel, tree.body)))


@dataclass(frozen=True)
class Driven:
    """Kernels with what they touch, and the steps of the driver."""

    kernels: tuple[Kernel, ...]
    accesses: tuple[Access, ...]
    steps: tuple[Step, ...]


def drive(
    trees: Sequence[Tree],
    statements: Mapping[str, Statement],
    storage: Mapping[str, Storage],
    deps: Sequence[Dep],
    target: Target,
    outputs: Iterable[str] = (),
    passes: Passes = ALL_PASSES,
    streamed: Dim | None = None,
) -> Driven:
    """Cut the trees into kernels and synchronise the workers.

    The outermost loop over the dim ``streamed`` completes a record with every step.
    """
    published = {d for name in outputs for d in statements[name].result_dims[:1]}
    readers: dict[str, list[Dep]] = {}
    for d in deps:
        readers.setdefault(storage[d.tensor].owner, []).append(d)
    slicer = _slicer(trees, Slicer(statements, storage, target), passes)
    driver = _Driver(statements, storage, readers, frozenset(published), slicer, streamed)
    steps = driver.guarded(driver.steps(trees, ()), set())
    kernels = list(driver.kernels)
    for chain in _sliced(steps, kernels) if slicer else ():
        bodies = [kernels[number].body for number in chain]
        left = iter(slicer.numbers([tree for body in bodies for tree in body]) if slicer else ())
        for number, body in zip(chain, bodies, strict=True):
            kernels[number] = replace(kernels[number], slices=tuple(islice(left, len(body))))
    return Driven(tuple(kernels), tuple(driver.accesses), tuple(steps))


def _slicer(trees: Sequence[Tree], slicer: Slicer, passes: Passes) -> Slicer | None:
    """What cuts arrays, in a program that has work for several workers."""
    if "slices" in passes.without:
        return None
    is_shared = any(map(has_parallel, trees))
    is_shared = is_shared or any(isinstance(t, Loop) and slicer.shares(t) for t in trees)
    return slicer if is_shared else None


def _sliced(steps: Sequence[Step], kernels: Sequence[Kernel]) -> Iterator[tuple[int, ...]]:
    """The kernels of every chain that is done in slices."""
    for phase in phases(steps, kernels):
        if isinstance(phase, DriverLoop):
            yield from _sliced(phase.body, kernels)
            continue
        for chain in phase:
            if chain.sliced:
                yield tuple(step.kernel for step in chain.steps if isinstance(step, Call))


def calls(steps: Sequence[Step]) -> Iterator[int]:
    """The kernels in calling order, loop bodies once."""
    for step in steps:
        if isinstance(step, Call):
            yield step.kernel
        elif isinstance(step, DriverLoop):
            yield from calls(step.body)
