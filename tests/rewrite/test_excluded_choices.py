"""Choices that exclude each other are never combined, whatever the prices make cheap.

Where two terms of one class are each right alone, both together may be wrong: two recurrences that
are equal could each be read off the other, a running fold off the row that is made of it. Prices
that are drawn make the extractor choose among all of them; the interpreter judges what it chose.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.machine.profile import Profile
from ostinato.pdg.demand.check import check
from ostinato.pdg.interpret import interpret
from ostinato.pdg.invariants import verify
from ostinato.pdg.node import Pdg
from ostinato.pdg.text.printer import show
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.pricing import Pricing
from ostinato.rewrite.extract.sizes import Sizes
from ostinato.rewrite.optimize import RewriteOptions, optimize
from tests.rewrite import programs

DRAWS = 6  # of prices, for each program
EXTENTS = {"B": 2, "T": 5, "I": 3}


def drawn(salt: int) -> Callable[[EGraph, Sizes, Profile], Pricing]:
    """Prices between 1 and 100 for every operator with its fields, that say nothing of time."""

    class Drawn(Pricing):
        def time(self, cls: int, node: ENode) -> float:
            text = f"{salt} {node.op} {node.fields[:2]}"
            return 1 + 99 * random.Random(zlib.crc32(text.encode())).random()

    return Drawn


def equal_recurrences() -> ot.Program:
    """Two recurrences of one law: each is the other."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    g, h = ot.recurrent("g", over=t), ot.recurrent("h", over=t)
    g[0], h[0] = 0.0, 0.0
    g[t + 1] = 0.5 * g + x
    h[t + 1] = 0.5 * h + x
    return ot.Program(g=g, h=h)


def one_law_in_three_spellings() -> ot.Program:
    """Three recurrences that are one, each written in its own way, and what reads two of them."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    f, g, h = (ot.recurrent(name, over=t) for name in "fgh")
    f[0], g[0], h[0] = 1.0, 1.0, 1.0
    f[t + 1] = 0.75 * f + x
    g[t + 1] = x + g * 0.75
    h[t + 1] = h - 0.25 * h + x
    return ot.Program(f=f, g=g, h=h, both=f - h[t])


def each_reads_the_other() -> ot.Program:
    """Two recurrences that read each other's step before."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    g, h = ot.recurrent("g", over=t), ot.recurrent("h", over=t)
    g[0], h[0] = 0.0, 0.0
    g[t + 1] = 0.5 * h + x
    h[t + 1] = 0.5 * g + x
    return ot.Program(g=g, h=h)


def each_is_linear_given_the_other() -> ot.Program:
    """Two recurrences, each of which is a linear one that adds the other: not both may be."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    g, h = ot.recurrent("g", over=t), ot.recurrent("h", over=t)
    g[0], h[0] = 1.0, 2.0
    g[t + 1] = 0.5 * g + h
    h[t + 1] = 0.25 * h + g * x
    return ot.Program(g=g, h=h, sums=(g + h)[: t + 1].sum(0))


def one_follows_within_the_step() -> ot.Program:
    """Two linear recurrences, the second of which reads the first at the same step."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    g, h = ot.recurrent("g", over=t), ot.recurrent("h", over=t)
    g[0], h[0] = 1.0, 2.0
    g[t + 1] = 0.5 * g + 0.1 * h
    h[t + 1] = 0.25 * h + g[t + 1] - x
    return ot.Program(g=g, h=h)


def linear_in_itself_through_another() -> ot.Program:
    """A step that reads its recurrence in the open, and once more through another one."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    g, h = ot.recurrent("g", over=t), ot.recurrent("h", over=t)
    h[0] = 0.0
    h[t + 1] = g * x
    g[0] = 1.0
    g[t + 1] = 0.5 * g + h[t]
    return ot.Program(g=g, all=g[:].sum(0))


def from_both_ends() -> ot.Program:
    """One sum as a running sum from the start, from the end, and as a whole."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    past, rest = x[b, : t + 1].sum(0), x[b, t:].sum(0)
    return ot.Program(past=past, rest=rest, all=x[b, :].sum(0), twice=past + rest - x)


def a_sum_beside_its_recurrence() -> ot.Program:
    """A recurrence that is a running sum, the sum of its range, and a sum of the recurrence."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    s = ot.recurrent("s", over=t)
    s[0] = x[0]
    s[t + 1] = s + x[t + 1]
    return ot.Program(s=s, sums=x[: t + 1].sum(0), of_sums=s[: t + 1].sum(0))


def points_and_rows() -> ot.Program:
    """A recurrence that is read at points, in rows of a batch, and in a history."""
    b, t = ot.dims("b t")
    x, w = ot.input("x", (3,), over=(b, t)), ot.input("w", (3, 3))
    h = ot.recurrent("h", (3,), over=(b, t))
    h[b, 0] = 0.0
    h[b, t + 1] = ot.tanh(h @ w + x)
    return ot.Program(point=h, rows=h[:].sum(0), past=h[b, : t + 1].sum(0), last=h[b, t.size - 1])


def windows_of_several_lengths() -> ot.Program:
    """Windows that are each made of the others' halves."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    found = {f"sum{n}": x[ot.maximum(t - n + 1, 0) : t + 1].sum(0) for n in (4, 7, 8)}
    return ot.Program(**found, most=x[ot.maximum(t - 7, 0) : t + 1].max(0))


def products_that_may_be_joined() -> ot.Program:
    """Products of one operand, any two of which may be parts of one, within a recurrence."""
    t = ot.dims("t")
    w = [ot.input(f"w{k}", (4, n)) for k, n in enumerate((4, 2, 1))]
    h = ot.recurrent("h", (4,), over=t)
    h[0] = 1.0
    h[t + 1] = ot.tanh(h @ w[0])
    return ot.Program(h=h, y=h @ w[1], z=h @ w[2], sums=(h @ w[1])[:].sum(0))


def cases_with_a_prompt() -> ot.Program:
    """What is known before the loop, and what the loop computes, of one recurrence."""
    t = ot.dims("t")
    p = ot.input("p", over=t)
    h = ot.recurrent("h", over=t)
    h[t < 2] = p
    h[True] = 0.5 * h[t - 1] + h[t - 2]
    return ot.Program(h=h, sums=h[: t + 1].sum(0), known=ot.where(p > 0, h, p))


PROGRAMS = (
    equal_recurrences,
    one_law_in_three_spellings,
    each_reads_the_other,
    each_is_linear_given_the_other,
    one_follows_within_the_step,
    linear_in_itself_through_another,
    from_both_ends,
    a_sum_beside_its_recurrence,
    points_and_rows,
    windows_of_several_lengths,
    products_that_may_be_joined,
    cases_with_a_prompt,
)


def chosen(pdg: Pdg, salt: int) -> Pdg:
    return optimize(pdg, RewriteOptions(hints=EXTENTS, pricing=drawn(salt))).pdg


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_whatever_is_cheap_the_choice_means_the_program(make: Callable[[], ot.Program]) -> None:
    pdg = make().pdg
    values = programs.arguments(pdg, EXTENTS, np.random.default_rng(0))
    expected = interpret(pdg, EXTENTS, values, exact=True)
    for salt in range(DRAWS):
        found = chosen(pdg, salt)
        verify(found)
        check(found, pdg.minimum_extents)
        for name, value in interpret(found, EXTENTS, values, exact=True).items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-12)


def test_prices_make_the_choice() -> None:
    several = [make for make in PROGRAMS if len({show(chosen(make().pdg, k)) for k in (0, 1)}) > 1]
    assert len(several) >= len(PROGRAMS) / 2, [make.__name__ for make in several]
