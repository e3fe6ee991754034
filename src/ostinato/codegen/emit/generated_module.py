"""The whole generated module: header, definitions, kernels, driver."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from ostinato.codegen.emit.carried_tensors import carried
from ostinato.codegen.emit.driver import Stamps, emit_driver, streamed_loop
from ostinato.codegen.emit.kernel import emit_kernel
from ostinato.codegen.emit.offset_table import offset_table
from ostinato.codegen.emit.paused_driver import PAUSES, PausedDriver
from ostinato.codegen.loops.expression import SUFFIX
from ostinato.codegen.loops.statements import Function
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.target import Target
from ostinato.pdg.index import Expr
from ostinato.runtime.machine_code.ports import Paused, Profiled, Unit

STAMPS = ("begin", "mark", "stamp")


def emit(plan: Plan, title: str = "") -> str:
    """Return the Numba source of a plan; the same plan always gives the same text.

    Importing it under a name in ``sys.modules`` compiles ``main``, which each worker calls.
    """
    return printed(plan, tuple(functions(plan)), title=title)


def functions(plan: Plan) -> Iterator[Function]:
    """The kernels of a plan and its driver as loop IR, each as soon as it is written."""
    reserved, table = _reserved(plan), offset_table(plan)
    for k in range(len(plan.kernels)):
        yield emit_kernel(plan, k, table, reserved)
    parts = plan.target.has_one_driver and streamed_loop(plan) is not None
    kind = PausedDriver if parts else None
    yield emit_driver(plan, reserved, kind=kind, first=table.first)


def _reserved(plan: Plan) -> frozenset[str]:
    """The names that no variable may have."""
    taken = {"np", *SUFFIX.values(), *dir(builtins)}
    return plan.target.names() | frozenset(k.name for k in plan.kernels) | taken


def printed(
    plan: Plan, made: Sequence[Function], texts: Sequence[str] | None = None, title: str = ""
) -> str:
    """The functions of a plan as a module of Numba source; their ``texts`` may be known."""
    texts = tuple(map(plan.target.text, made)) if texts is None else texts
    return plan.target.module(title, plan.extents, made, texts)


def units(target: Target, made: Iterable[Function]) -> Iterator[Unit]:
    """Functions and the parts that they share, as modules of the target."""
    return target.writer()(made)


class Written:
    """The units of a plan; it is pickled without its functions, which the plan gives again."""

    def __init__(self, plan: Plan, made: Iterable[Function] | None = None) -> None:
        """Keep the functions of a plan if they are written already."""
        self.plan, self.made = plan, made

    def __call__(self) -> Iterator[Unit]:
        """Write them."""
        return units(self.plan.target, functions(self.plan) if self.made is None else self.made)

    def __reduce__(self) -> tuple[type[Written], tuple[Plan]]:
        return Written, (self.plan,)


def emit_profiled(plan: Plan) -> Profiled:
    """Return another driver for the kernels of a plan: one that stamps the time."""
    names = tuple(k.name for k in plan.kernels)
    stamps = Stamps(len(names))
    driver = emit_driver(plan, _reserved(plan) | {*STAMPS}, stamps)
    made = partial(units, plan.target, (driver,))
    return Profiled(made, names, tuple(stamps.waits), tuple(stamps.loops))


def emit_paused(plan: Plan, shapes: Mapping[str, tuple[Expr, ...]]) -> Paused:
    """Return another driver for the kernels of a plan: one whose published loop runs in parts.

    ``shapes`` are those of the user's recurrences.
    """
    driver = emit_driver(plan, _reserved(plan), kind=PausedDriver)
    return Paused(partial(units, plan.target, (driver,)), carried(plan, shapes), PAUSES)
