"""An expression read outside its box has its definition's value there, compiled as interpreted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled

Build = Callable[[], ot.Program]
X = np.array([1, 2, 3, 5, 7], "float32")


def prefix() -> ot.Program:
    t = ot.dims("t")
    return ot.Program(y=ot.input("x", over=t)[: t + 1].sum(0)[t - 1])


def discounted() -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    s = ot.discounted_sum(x[t:], 0.9)
    return ot.Program(y=x + 0.9 * s[t + 1] - s)


def condition() -> ot.Program:
    b, t = ot.dims("b t")
    x = ot.input("x", over=t) + ot.index(b)
    return ot.Program(y=ot.where(t >= 0, x, 7.0)[b, t - 1])


def maximum() -> ot.Program:
    t = ot.dims("t")
    p = ot.input("x", over=t)[: ot.maximum(t + 1, 0)].max(0)
    return ot.Program(y=p[t - 3] + p[t - 1])


def product() -> ot.Program:
    t = ot.dims("t")
    p = ot.stack([ot.input("x", over=t)[: t + 1].sum(0)] * 2)
    return ot.Program(y=p[t - 1] @ ot.ones((2, 3)))


def window() -> ot.Program:
    t = ot.dims("t")
    p = ot.input("x", over=t)[ot.maximum(t - 2, 0) : ot.minimum(t + 1, t.size)].sum(0)
    return ot.Program(y=p[t + 1])


def slices() -> ot.Program:
    t = ot.dims("t")
    p = ot.input("x", over=t)[: ot.maximum(t + 1, 0)].sum(0)
    return ot.Program(y=p[t - 3 : t + 1].sum(0), z=(p * (t + 1.0))[t - 2 : t + 1 : 2])


def nested() -> ot.Program:
    t = ot.dims("t")
    p = ot.input("x", over=t)[: ot.maximum(t + 1, 0)].sum(0)
    q = ot.exp(0.1 * p[t - 1])[t - 1] + 1
    return ot.Program(y=(q * 2)[t - 2])


def two_dims() -> ot.Program:
    b, t = ot.dims("b t")
    p = ot.input("x", over=t)[: ot.maximum(t + 1, 0)].sum(0) * (ot.index(b) + 1)
    return ot.Program(y=p[b - 1, t - 1], z=p[b - 2 : b + 1, t].sum(0))


def recurrence() -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    h = ot.recurrent("h", over=t)
    p = h[: t + 1].sum(0)
    h[0] = x[0]
    h[True] = ot.tanh(p[t - 1])
    return ot.Program(y=p[t - 1], h=h)


def place() -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(y=(ot.index(t) * 2)[t - 5] + x)


def reversed_steps() -> ot.Program:
    t = ot.dims("t")
    s = ot.input("x", over=t)[ot.minimum(t, t.size) :].sum(0)
    return ot.Program(y=(s * s)[2 * t], z=s[t + 1 : t + 3].sum(0), w=s[t.size - t])


def both_ends() -> ot.Program:
    t = ot.dims("t")
    y = ot.where(t < 0, 3.0, ot.where(t >= t.size, 4.0, ot.input("x", over=t)))
    return ot.Program(y=y[t - 2 : t + 3].sum(0), z=y[t + 2], w=y[t - 4])


def gradient() -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    p = (x * x)[: t + 1].sum(0)
    return ot.Program(g=ot.grad((p[t - 1] * x)[:].sum(0), x))


PROGRAMS: tuple[Build, ...] = (
    prefix, discounted, condition, maximum, product, window, slices, nested, two_dims, recurrence,
    place, reversed_steps, both_ends, gradient,
)  # fmt: skip
EXTENTS = {condition: {"B": 2}, two_dims: {"B": 3}}


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", [{"exact": True, "checks": True}, {"rules": False}], ids=str)
def test_what_is_read_outside_is_its_definition(build: Build, options: Mapping[str, bool]) -> None:
    rules = None if options.get("rules", True) else ot.rules.only()
    exact, checks = (options.get(name, False) for name in ("exact", "checks"))
    program = build()
    assert_defined(build, program, program.compile(rules=rules, exact=exact, checks=checks))


def assert_defined(build: Build, program: ot.Program, compiled: Compiled) -> None:
    for size in (5, 1, 2):
        given: dict[str, object] = {"x": X[:size], **EXTENTS.get(build, {})}
        expected = program.interpret(**given)
        for _ in range(2):  # memory of the run before must not be seen
            found = compiled(**given)
            for name in program.outputs:
                np.testing.assert_allclose(found[name], expected[name], rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda f: f.__name__)
def test_writing_out_what_lies_outside_is_right_and_certified(build: Build, tmp_path: Path) -> None:
    path, program = tmp_path / "certificate", build()
    assert_defined(build, program, program.compile(certificate=path))
    verdict = ot.verify_certificate(path)
    assert verdict.holds, str(verdict)
