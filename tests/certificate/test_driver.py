"""The text of the driver is read: what leaves a barrier out, or does more or less, is refused."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

import ostinato as ot
from ostinato.certificate.emitted import Misemitted, check_driver
from ostinato.certificate.memory import Timeline
from ostinato.certificate.timeline import timeline_of
from ostinato.codegen.emit.program import emit
from ostinato.options import Options
from ostinato.pdg.half import encoded
from ostinato.rewrite.registry import every_rule
from ostinato.stages import optimize_pdg, plan_of
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
    assert "calls and" in check_driver(*driver(name))


def test_barriers_that_are_left_out_are_counted() -> None:
    assert check_driver(*driver("squares")) == "4 calls and 4 barriers, 1 left out at times"


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
        ("if tid == 0:", "if tid == 1:"),
        ("range(tid, (B + 31) // 32, nt)", "range(tid, (B + 31) // 32, 1)"),
        ("range(tid, (B + 31) // 32, nt)", "range(0, (B + 31) // 32, nt)"),
        ("range(tid, (B + 31) // 32, nt)", "range(tid, (B + 30) // 32, nt)"),
        ("for t in range(T)", "for t in range(T - 1)"),
        ("for t in range(T)", "for t in range(T - 1, -1, -1)"),
        ("kernels[1]", "kernels[2]"),
        ("B, T, t, b_o", "B, T, b_o, t"),
        ("(local, key, B, T, t)", "(0, key, B, T, t)"),
        ("barrier(bar, nt)", "barrier(bar, 1)"),
        ("load_acquire(control, 0)", "tid"),
        ("if control[last] != 0", "if control[last] != 0 or tid"),
        ("tid * stride", "stride"),
        ("store_release(control, 8, t + 1)", "store_release(control, 8, t)"),
        ("8 * (t & 1)", "8 * (B & 1)"),
    ],
)
def test_a_driver_that_does_something_else_is_refused(old: str, new: str) -> None:
    text, order, extents = driver("squares")
    assert old in text
    with pytest.raises(Misemitted):
        check_driver(text.replace(old, new, 1), order, extents)


def test_what_one_worker_does_alone_stands_between_barriers() -> None:
    """Other workers may be in what comes before, if no barrier stands before the loop."""
    text, order, extents = driver("squares")
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.strip() == "barrier(bar, nt)")
    text = "\n".join(lines[:first] + lines[first + 1 :])
    memory = order.memory
    fewer = tuple(time for time in memory.barriers if time != (1,))
    assert len(fewer) == len(memory.barriers) - 1
    without = Timeline(order.steps, replace(memory, barriers=fewer))
    with pytest.raises(Misemitted, match="no barrier stands before and behind"):
        check_driver(text, without, extents)
