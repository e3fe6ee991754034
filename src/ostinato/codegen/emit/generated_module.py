"""The whole generated module: header, definitions, kernels, driver."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from ostinato.codegen.emit.carried_tensors import carried
from ostinato.codegen.emit.driver import (
    Driver,
    Inside,
    Stamps,
    emit_driver,
    published_loop,
    streamed_loop,
)
from ostinato.codegen.emit.kernel import emit_kernel
from ostinato.codegen.emit.offset_table import offset_table
from ostinato.codegen.ir.tree import DriverLoop
from ostinato.codegen.loops.expression import (
    SUFFIX,
    Constant,
    Expression,
    binary,
    call,
    compare,
    item,
)
from ostinato.codegen.loops.shared_words import BEFORE, DECISION, FROM_LOOP, LIMIT, PART, START
from ostinato.codegen.loops.statements import Function, Return
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.target import Target
from ostinato.pdg.index import Expr
from ostinato.runtime.machine_code.ports import Paused, Profiled, Unit

CONTROL = "control"
PAUSES = (START, LIMIT, PART, BEFORE, FROM_LOOP)


class PausedDriver(Driver):
    """Writes another driver, whose published loop can be left and entered at any step.

    The host says in words of ``control`` what is run: all, what stands before the published loop,
    or the loop and what stands after it; how many steps of the loop are done; and after how many
    to leave, 0 for none. Between two parts of a run the host copies what the loop carries.
    """

    def whole(self) -> None:
        """Write all steps: those before the loop are one part, all others the other one."""
        steps, loop = self.plan.driver, published_loop(self.plan)
        assert loop is not None, "a program without a published loop has no parts"
        at = steps.index(loop)
        if at:
            with self.out.when(compare("!=", item(CONTROL, PART), FROM_LOOP)):
                self.steps(steps[:at], {})
        with self.out.when(compare("==", item(CONTROL, PART), BEFORE)):
            self.out.add(Return())
        self.steps(steps[at:], {})

    def bounds(self, loop: DriverLoop, dims: Inside) -> tuple[Expression, ...]:
        """The published loop begins behind the steps that are done."""
        usual = super().bounds(loop, dims)
        if loop is not published_loop(self.plan):
            return usual
        lo, hi = usual if len(usual) == 2 else (Constant(0), *usual)
        start = item(CONTROL, START)
        return (start if lo == Constant(0) else binary("+", lo, start)), hi

    def decided(self, loop: DriverLoop, done: Expression) -> None:
        """All leave the published loop after so many steps."""
        if loop is published_loop(self.plan):
            with self.out.when(compare("==", item(CONTROL, LIMIT), done)):
                self.out.do(call("store_release", CONTROL, DECISION, 1))


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
