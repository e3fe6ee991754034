"""What the runtime must know about a generated module: its arguments, results and workers."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.codegen.emit.arrivals import walks_of, words
from ostinato.codegen.emit.calling import python_calls
from ostinato.codegen.emit.driver import published_loop, streamed_loop
from ostinato.codegen.emit.offset_table import offset_table
from ostinato.codegen.ir.system import Statement
from ostinato.codegen.ir.tree import Kernel, computed_in
from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.codegen.planning.kernel_partition import calls
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.index import Expr, expr, product
from ostinato.runtime.machine_code.ports import Area, Interface


def interface(plan: Plan) -> Interface:
    """Return what the runtime needs besides the source."""
    tensors = tuple((n, ITEM_BYTES[plan.storage[n].dtype]) for n in offset_table(plan).entries)
    return Interface(
        extents=plan.extents,
        tensors=tensors,
        inputs=tuple(p for p in plan.inputs if plan.storage[p.tensor].place == "global"),
        outputs=plan.outputs,
        tiles=tuple(map(_items, (k for k in plan.kernels if k.is_shared))),
        streamed=_streamed(plan),
        late=_late(plan),
        calls=python_calls(plan),
        areas=tuple(_area(plan, n) for n, _ in tensors) if plan.checked else (),
        together=tuple(_together(plan)) if plan.checked else (),
        walk_words=words(len(walks_of(plan))),
    )


def _area(plan: Plan, name: str) -> Area:
    """What a run that checks addresses must know about a tensor.

    One that the user did not write, such as what rewriting made, has the place of who reads it.
    """
    s, storage = plan.statements.get(name), plan.storage[name]
    label, where = (s.label or name, s.where) if s else (name, "")
    if not where:
        readers = (r for r in plan.statements.values() if name in _read(r))
        where = next((r.where for r in readers if r.where), "")
    return Area(name, label, where, storage.shape, storage.place == "local")


def _read(s: Statement) -> set[str]:
    return {x.tensor for x in s.reads}


def _together(plan: Plan) -> Iterator[tuple[str, ...]]:
    """The tensors that each kernel accesses: no two of them may lie in one place."""
    for access in plan.accesses:
        owners = {plan.storage[name].owner for name in access.all if name in plan.storage}
        yield tuple(sorted(n for n in owners if plan.storage[n].place in ("global", "local")))


def _items(kernel: Kernel) -> Expr:
    """How many workers a kernel can employ."""
    if kernel.sliced:
        return expr(max(kernel.slices, default=1))
    spans = [s for s in (kernel.parallel, kernel.along) if s]
    return product(s.hi - s.lo for s in spans)


def _late(plan: Plan) -> frozenset[str]:
    """Outputs that are not written yet when the published loop has done a step."""
    loop = published_loop(plan)
    if loop is None:
        return frozenset()
    after = calls(plan.driver[plan.driver.index(loop) + 1 :])
    trees = [tree for number in after for tree in plan.kernels[number].body]
    written = computed_in(tuple(trees))
    return frozenset(p.name for p in plan.outputs if p.tensor in written)


def _streamed(plan: Plan) -> str:
    loop = streamed_loop(plan)
    return loop.span.dim.name if loop is not None else ""
