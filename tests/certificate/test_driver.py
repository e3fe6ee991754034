"""The text of the driver is read: what leaves a barrier out, or does more or less, is refused."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

import ostinato as ot
from ostinato.certificate.emitted import check_driver
from ostinato.certificate.fitted import Misemitted
from ostinato.certificate.order import Moment
from ostinato.certificate.plan_memory import Timeline
from ostinato.certificate.timeline import timeline_of
from ostinato.codegen.emit.generated_module import emit
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.half_storage import encoded
from ostinato.rewrite.registry import every_rule
from tests.certificate.programs import policy_gradient
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


@cache
def driver(name: str) -> tuple[str, Timeline, tuple[str, ...]]:
    """The text of a program's driver, its schedule, and its extents."""
    options = Options(threads=2)
    optimized = optimize_pdg(encoded(MAKERS[name]().pdg), every_rule(), options)
    plan, _ = plan_of(optimized, options)
    source = emit(plan)
    (found,) = (
        x for x in ast.parse(source).body if isinstance(x, ast.FunctionDef) and x.name == "main"
    )
    return ast.unparse(found), timeline_of(plan), plan.extents


@pytest.mark.parametrize("name", MAKERS)
def test_the_driver_is_that_of_the_schedule(name: str) -> None:
    assert "phases" in check_driver(*driver(name))


def test_barriers_that_are_left_out_are_counted() -> None:
    found = check_driver(*driver("squares"))
    assert found == "4 calls in 4 phases, 4 barriers between them, 1 left out at times"


def bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function."""
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            found: object = getattr(node, field, None)
            if isinstance(found, list) and found and not isinstance(node, ast.Module):
                yield found


def statement(tree: ast.AST, place: int) -> tuple[list[ast.stmt], int]:
    """The list that has the statement of a number, and its place in that list."""
    for body in bodies(tree):
        if place < len(body):
            return body, place
        place -= len(body)
    raise IndexError(place)


def alterations(text: str) -> Iterator[tuple[str, str]]:
    """A driver with a statement less, twice, or after the next one, and what was altered."""
    count = sum(map(len, bodies(ast.parse(text))))
    for place in range(count):
        for kind in ("less", "twice", "later"):
            tree = ast.parse(text)
            body, k = statement(tree, place)
            about = f"{kind}: {ast.unparse(body[k]).splitlines()[0]}"
            if kind == "less":
                body[k : k + 1] = [] if len(body) > 1 else [ast.Pass()]
            elif kind == "twice":
                body.insert(k, body[k])
            elif k + 1 < len(body):
                body[k : k + 2] = body[k + 1], body[k]
            yield about, ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("name", ALTERED)
def test_a_driver_with_any_statement_less_twice_or_moved_is_refused(name: str) -> None:
    text, order, extents = driver(name)
    kept: list[str] = []
    for about, other in alterations(text):
        if other != text:
            try:
                check_driver(other, order, extents)
            except Misemitted:
                continue
            kept.append(about)
    assert kept == []


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
        ("(local, key, B, T, t)", "(0, key, B, T, t)"),
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
    text, order, extents = driver("squares")
    assert old in text
    with pytest.raises(Misemitted):
        check_driver(text.replace(old, new, 1), order, extents)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("end = nt", "end = 1"),
        ("end_1 = end + nt", "end_1 = nt"),
        ("items = end_1 + max(0, (B + 31) // 32)", "items = end + max(0, (B + 31) // 32)"),
        ("if item < end:", "if item < end_1:"),
        ("elif item < end_1:", "elif item <= end_1:"),
        ("if item < 1:", "if item < nt:"),
        ("if item - end < min(nt, 8):", "if item - end < nt:"),
        ("item - end, min(nt, 8)))", "item - end, nt))"),
        ("item - end, min(nt, 8)))", "item, min(nt, 8)))"),
        ("b_o = item - end_1", "b_o = item - end"),
        ("parts = max(1, nt // max(1, (B + 31) // 32))", "parts = max(1, nt // max(1, B))"),
        ("(B + 31) // 32 * parts", "(B + 31) // 32 * nt"),
        ("b_o_1 = item // parts", "b_o_1 = item % parts"),
        ("item % parts, parts", "item % nt, parts"),
        ("item % parts, parts", "item % parts, nt"),
    ],
)
def test_items_that_are_not_in_exactly_one_chain_are_refused(old: str, new: str) -> None:
    text, order, extents = driver("judged")
    assert old in text
    with pytest.raises(Misemitted):
        check_driver(text.replace(old, new, 1), order, extents)


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
    text, order, extents = driver("judged")
    with pytest.raises(Misemitted):
        check_driver(text, spread(order, place), extents)


def test_two_phases_that_the_schedule_has_as_one_are_refused() -> None:
    text, order, extents = driver("judged")
    merged = Timeline(order.steps, replace(order.memory, barriers=()))
    with pytest.raises(Misemitted, match="more before the next barrier"):
        check_driver(text, merged, extents)
