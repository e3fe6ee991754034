"""A driver that leaves a barrier out, or does more or less than the schedule, is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.certificate.emitted import check_driver
from ostinato.certificate.fitted import Misemitted
from ostinato.certificate.order import Moment, Timeline
from ostinato.certificate.timeline import timeline_of
from ostinato.codegen.emit.generated_module import functions
from ostinato.codegen.emit.offset_table import offset_table
from ostinato.codegen.loops.numba_source import function, show
from ostinato.codegen.loops.statements import Body, Definition, For, Function, If, Statement, While
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.half_storage import encoded
from ostinato.rewrite.registry import every_rule
from tests.certificate.programs import policy_gradient
from tests.codegen.loops.reading import module
from tests.pipeline.programs import SMALL
from tests.pipeline.test_spread import judged


def squares() -> ot.Program:
    """Return steps of rows that all read their mean: little work between barriers, in a loop."""
    b, t = ot.dims("b t")
    x, mean = ot.input("x", over=b), ot.recurrent("mean", over=t)
    row = ot.recurrent("row", over=(b, t))
    row[b, 0] = ot.exp(x)
    row[b, t + 1] = row * 0.5 + (row - mean) * (row - mean)
    mean[t] = row[:, t].mean(0)
    return ot.Program(mean=mean, row=row)


MAKERS: dict[str, Callable[[], ot.Program]] = {
    make.__name__: make
    for make in (squares, policy_gradient, judged, *(make for make, _ in SMALL.values()))
}
ALTERED = ("squares", "judged", "normalised", "shared_weight", "crowd")


@dataclass(frozen=True)
class Emitted:
    """The functions of a program, the driver last, its schedule, and its extents."""

    functions: tuple[Function, ...]
    order: Timeline
    extents: tuple[str, ...]
    table: tuple[str, ...]

    @property
    def text(self) -> str:
        return function(self.functions[-1])

    def checked(self, driver: Function | None = None, order: Timeline | None = None) -> str:
        """Check the driver, or another one, by the schedule, or by another one."""
        functions = (*self.functions[:-1], driver or self.functions[-1])
        return check_driver(functions, order or self.order, self.extents, self.table)


@cache
def emitted(name: str) -> Emitted:
    options = Options(threads=2)
    optimized = optimize_pdg(encoded(MAKERS[name]().pdg), every_rule(), options)
    plan, _ = plan_of(optimized, options)
    table = offset_table(plan).entries
    return Emitted(tuple(functions(plan)), timeline_of(plan), plan.extents, table)


@pytest.mark.parametrize("name", MAKERS)
def test_the_driver_is_that_of_the_schedule(name: str) -> None:
    assert "phases" in emitted(name).checked()


def test_barriers_that_are_left_out_are_counted() -> None:
    found = emitted("squares").checked()
    assert found == "4 calls in 4 phases, 4 barriers between them, 1 left out at times"


def alterations(body: Body) -> Iterator[tuple[str, Body]]:
    """Statements with one less, twice, or after the next one, and what was altered."""
    for k, each in enumerate(body):
        line, before, after = next(show((each,))), body[:k], body[k + 1 :]
        yield f"less: {line}", (*before, *after)
        yield f"twice: {line}", (*before, each, each, *after)
        if after:
            yield f"later: {line}", (*before, after[0], each, *after[1:])
        for about, altered in inside(each):
            yield about, (*before, altered, *after)


def inside(of: Statement) -> Iterator[tuple[str, Statement]]:
    """A statement with an altered body."""
    match of:
        case For(_, _, body) | While(_, body):
            yield from ((about, replace(of, body=other)) for about, other in alterations(body))
        case If(_, then, other):
            yield from ((about, replace(of, then=found)) for about, found in alterations(then))
            yield from ((about, replace(of, other=found)) for about, found in alterations(other))
        case _:
            pass


@pytest.mark.parametrize("name", ALTERED)
def test_a_driver_with_any_statement_less_twice_or_moved_is_refused(name: str) -> None:
    given = emitted(name)
    driver = given.functions[-1]
    kept: list[str] = []
    for about, body in alterations(driver.body):
        if body != driver.body:
            try:
                given.checked(replace(driver, body=body))
            except Misemitted:
                continue
            kept.append(about)
    assert kept == []


def test_a_driver_that_defines_or_takes_something_else_is_refused() -> None:
    given = emitted("squares")
    driver, first, *_ = given.functions[-1], *given.functions
    own = Definition(("claim",), "access", (0, 0, "float32"))
    for other in (
        replace(driver, definitions=(own,)),
        replace(driver, name="other"),
        replace(driver, parameters=driver.parameters[:-1]),
        replace(driver, is_driver=False),
    ):
        with pytest.raises(Misemitted):
            given.checked(other)
    for kernel in (
        replace(first, parameters=first.parameters[:-1]),
        replace(first, parameters=(*first.parameters[:3], *first.parameters[:2:-1])),
    ):
        with pytest.raises(Misemitted, match="the kernel takes"):
            check_driver((kernel, *given.functions[1:]), given.order, given.extents, given.table)


@pytest.mark.parametrize("name", ["squares", "normalised"])
def test_a_kernel_counts_from_no_other_tensors_than_its_own(name: str) -> None:
    given, kept = emitted(name), list[tuple[str, ...]]()
    for call, number in re.findall(r"(\(local, key, (\d+),)", given.text):
        first, around = int(number), given.text.replace(call, "(local, key, {},")
        for other in {*range(len(given.table) + 1)} - {first}:
            (driver,) = module(around.replace("{}", str(other)))
            with suppress(Misemitted):
                given.checked(driver)
                kept.append(given.table[first:][:1] + given.table[other:][:1])
    assert all(one == other for one, other in kept)  # the only tensor that is counted from


def replaced(name: str, old: str, new: str) -> None:
    """A driver is refused whose text has something else in one place."""
    given = emitted(name)
    assert old in given.text
    (other,) = module(given.text.replace(old, new, 1))
    with pytest.raises(Misemitted):
        given.checked(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if 64 * ((B + 31) // 32) <= 2048:", "if 64 * tid <= 2048:"),
        ("if 64 * ((B + 31) // 32) <= 2048:", "if 64 * t <= 2048:"),
        ("items = (B + 31) // 32", "items = (B + 30) // 32"),
        ("items = (B + 31) // 32", "items = 1"),
        ("items = 1", "items = 2"),
        ("items = max(1, items)", "items = max(2, items)"),
        ("if items > 0:", "if items > 1:"),
        ("if item < (B + 31) // 32:", "if item < B // 32:"),
        ("b_o = item", "b_o = tid"),
        ("b_o = item", "B = item"),
        ("range((B + 31) // 32)", "range(tid, (B + 31) // 32, nt)"),
        ("for t in range(T)", "for t in range(T - 1)"),
        ("for t in range(T)", "for t in range(T - 1, -1, -1)"),
        ("for t in range(T)", "for nt in range(T)"),
        ("kernels[1]", "kernels[2]"),
        ("B, T, t, b_o_1", "B, T, b_o_1, t"),
        ("(local, key, ", "(0, key, "),
        ("claim(bar, phase, tid, nt, items, ended)", "claim(bar, phase, 0, nt, items, ended)"),
        ("finish(bar, nt, items, ended) == 1", "finish(bar, nt, items, ended) == 0"),
        ("load_acquire(bar, 0) == phase", "load_acquire(bar, 0) <= phase"),
        ("ended += 1", "ended += 2"),
        ("phase += 1", "phase += 2"),
        ("rest(bar, phase, tid, nt)", "rest(bar, 0, tid, nt)"),
        ("load_acquire(control, 0)", "tid"),
        ("if load_acquire(control, 16) != 0", "if load_acquire(control, 16) != 0 or tid"),
        ("tid * stride", "stride"),
        ("store_release(control, 8, t + 1)", "store_release(control, 8, t)"),
        ("def main(tid, nt,", "def main(nt, tid,"),
    ],
)
def test_a_driver_that_does_something_else_is_refused(old: str, new: str) -> None:
    replaced("squares", old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("end = nt", "end = 1"),
        ("end_1 = end + nt", "end_1 = nt"),
        ("items = end_1 + max(0, (B + 63) // 64)", "items = end + max(0, (B + 63) // 64)"),
        ("if item < end:", "if item < end_1:"),
        ("elif item < end_1:", "elif item <= end_1:"),
        ("if item < 1:", "if item < nt:"),
        ("if item - end < min(nt, 256):", "if item - end < nt:"),
        ("if item - end < min(nt, 256):", "if item - end < min(nt, 32):"),
        ("min(nt, 256)", "min(nt, 0)"),
        ("item - end, min(nt, 256)))", "item - end, nt))"),
        ("item - end, min(nt, 256)))", "item, min(nt, 256)))"),
        ("b_o = item - end_1", "b_o = item - end"),
        ("parts = max(1, nt // max(1, (B + 63) // 64))", "parts = max(1, nt // max(1, B))"),
        ("(B + 63) // 64 * parts", "(B + 63) // 64 * nt"),
        ("b_o_1 = item // parts", "b_o_1 = item % parts"),
        ("item % parts, parts", "item % nt, parts"),
        ("item % parts, parts", "item % parts, nt"),
    ],
)
def test_items_that_are_not_in_exactly_one_chain_are_refused(old: str, new: str) -> None:
    replaced("judged", old, new)


def spread(order: Timeline, more: int) -> Timeline:
    """A schedule with one more barrier, between two calls that follow each other."""

    def later(time: tuple[Moment, ...]) -> tuple[Moment, ...]:
        first, *inner = time
        assert isinstance(first, int)
        return (first + (first >= more), *inner)

    memory = order.memory
    return Timeline(
        tuple(replace(step, time=later(step.time)) for step in order.steps),
        replace(
            memory,
            barriers=(*map(later, memory.barriers), (more,)),
            fills=tuple(replace(fill, time=later(fill.time)) for fill in memory.fills),
        ),
    )


@pytest.mark.parametrize("place", [1, 2])
def test_a_phase_without_a_barrier_that_the_schedule_has_inside_is_refused(place: int) -> None:
    given = emitted("judged")
    with pytest.raises(Misemitted):
        given.checked(order=spread(given.order, place))


def test_two_phases_that_the_schedule_has_as_one_are_refused() -> None:
    given = emitted("judged")
    merged = Timeline(given.order.steps, replace(given.order.memory, barriers=()))
    with pytest.raises(Misemitted, match="more before the next barrier"):
        given.checked(order=merged)


def test_records_come_out_of_a_loop_before_that_of_a_gradient(tmp_path: Path) -> None:
    """The loop back through all steps writes no results over them: it does not count them."""
    i, b = ot.dims("i b")
    start, x = ot.input("start"), ot.input("x", over=b)
    theta = ot.carry("theta", start, over=i)
    miss = theta * x - 1.0
    loss = ot.square(miss).at(b=slice(None)).mean()
    theta.step(theta - 0.1 * ot.tanh(miss * x).at(b=slice(None)).mean())
    slope = ot.grad(loss.at(i=slice(None)).sum(), start)
    program = ot.Program(loss=loss, slope=slope)
    compiled = program.compile(hints={"B": 100_000, "I": 50}, certificate=tmp_path / "loops.json")
    source = compiled.executable.artifact.source
    assert source.count("if load_acquire(control, 16) != 0:") > 1
    assert ot.verify_certificate(tmp_path / "loops.json", program).holds
