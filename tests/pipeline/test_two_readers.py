"""The loop IR means the same written as LLVM, and printed and compiled by Numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn
from ostinato.runtime.cache import programs
from ostinato.runtime.machine_code.source_module import load_with_numba


def trained() -> ot.Program:
    """Steps of gradient descent on shuffled rows, with a network, a sort and random numbers."""
    i = ot.dims("i")
    network = nn.MLP(3, [5], 2, ot.carried(i), name="network")
    x = ot.random.normal((8, 3), over=i)
    order = ot.random.permutation(8, over=i)
    found = network(x.take(order, axis=0))
    loss = (ot.log(1.0 + ot.exp(found)) // 0.25 + found**2).mean()
    ot.optim.SGD(0.1).minimize(loss, network.parameters)
    ranks = found[:, 0].argsort()
    return ot.Program(loss=loss, found=found, ranks=ranks)


def smoothed() -> ot.Program:
    """A recurrence with cases, and integers that wrap and round down."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    h = ot.recurrent("h", over=t)
    h[0] = x[0]
    h[t + 1] = ot.where(x[t + 1] > h[t], ot.tanh(h[t]) + x[t + 1], -h[t])
    n = ot.index(t) * 1_000_003 % 17 - 9
    return ot.Program(h=h, n=n // 4, total=h[: t + 1].sum(0))


def selected() -> ot.Program:
    """Folds in lanes, of rows and of columns; the greatest of a row, and places in an order."""
    t = ot.dims("t")
    x = ot.input("x", over=t)[:]
    rows = x + ot.arange(20).cast("float32")[:, None]
    found = ot.searchsorted(ot.sort(x), ot.sin(x))
    best, place = ot.top_k(ot.constant(np.cos(np.arange(90.0))), 5)
    return ot.Program(
        total=ot.exp(rows).sum(1), last=rows.argmin(1), column=rows.argmax(0), found=found,
        best=best, place=place,
    )  # fmt: skip


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", ["trained", "smoothed", "selected"])
def test_both_compute_the_same_bits(name: str, exact: bool) -> None:
    made: dict[str, tuple[Callable[[], ot.Program], dict[str, Any]]] = {
        "trained": (trained, {"I": 3}),
        "smoothed": (smoothed, {"x": np.sin(np.arange(37.0, dtype=np.float32))}),
        "selected": (selected, {"x": np.sin(np.arange(137.0, dtype=np.float32))}),
    }
    program, arguments = made[name]
    run = program().compile(exact=exact)
    executable = run.executable
    ours = run(**arguments)
    directory = programs.directory_of(executable.key)
    executable.loaded = load_with_numba(directory, executable.key)
    theirs = run(**arguments)
    for each in ours:
        np.testing.assert_array_equal(np.asarray(ours[each]), np.asarray(theirs[each]))
