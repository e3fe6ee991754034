"""Histories in a file that kernels pass through in tiles, in turns, in products and as a whole."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.certificate.order import Layout
from ostinato.certificate.slots import Misplaced
from ostinato.certificate.timeline import layouts_of, timeline_of
from ostinato.certificate.transfer_proof import check_transfers
from ostinato.codegen.planning.arena import layout
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.errors import MemoryLimitError
from tests.codegen.test_estimate import planned

ENOUGH = 1 << 40  # without a limit another form may be the fastest, whose sums round otherwise
IN_A_FILE = ("computing again", "late readers", "segments")


def rows() -> ot.Program:
    """An argument of which tiles are rows, and the gradient as one product of two histories."""
    b, t = ot.dims("b t")
    w, x = ot.input("w", (8, 8)), ot.input("x", (8,), over=(b, t))
    h = ot.recurrent("h", (8,), over=(b, t))
    h[b, 0], h[b, t + 1] = x[b, 0], ot.tanh(h @ w + x[b, t + 1])
    return ot.Program(y=h, g=ot.grad(ot.square(h).sum()[:, :].mean(), w))


def turns() -> ot.Program:
    """A recurrence over two dims, in loops over the rows of a tile."""
    b, s, t = ot.dims("b s t")
    h, x = ot.recurrent("h", (16,), over=(b, s, t)), ot.input("x", (16,), over=b)
    h[b, 0, t], h[b, s + 1, 0] = x, x * 0.5
    h[b, s + 1, t + 1] = ot.tanh(h[b, s, t + 1] + h[b, s + 1, t])
    return ot.Program(g=ot.grad(ot.square(h[:, -1, -1]).sum(), x))


def turns_of_rows() -> ot.Program:
    """The same, with weights that all rows share: they are not computed side by side."""
    b, s, t = ot.dims("b s t")
    h, x = ot.recurrent("h", (16,), over=(b, s, t)), ot.input("x", (16,), over=b)
    w = ot.input("w", (16, 16))
    h[b, 0, t], h[b, s + 1, 0] = x, x * 0.5
    h[b, s + 1, t + 1] = ot.tanh((h[b, s, t + 1] + h[b, s + 1, t])[..., None, :] @ w)[..., 0, :]
    return ot.Program(g=ot.grad(ot.square(h[:, -1, -1]).sum(), x))


def shared() -> ot.Program:
    """A history that all tiles read, each at its own pace."""
    b, t = ot.dims("b t")
    w, x = ot.recurrent("w", (256,), over=t), ot.input("x", (256,), over=b)
    w[0], w[t + 1] = 1.0, ot.sin(w * 1.1)
    h = ot.recurrent("h", (256,), over=(b, t))
    h[b, 0], h[b, t + 1] = x, ot.tanh(h * w + w)
    return ot.Program(g=ot.grad(ot.square(h[:, -1]).sum(), x))


def windows() -> ot.Program:
    """Sums over windows that begin at a step that is computed."""
    b, t = ot.dims("b t")
    w, h = ot.input("w", (16, 16)), ot.recurrent("h", (16,), over=(b, t))
    h[b, 0] = ot.input("x", (16,), over=b)
    h[b, t + 1] = ot.tanh(h @ w + h[b, ot.maximum(t - 7, 0) : t + 1].sum(0))
    return ot.Program(g=ot.grad(ot.square(h[:, -1]).sum(), w))


FORMS: dict[str, tuple[Callable[[], ot.Program], dict[str, int], dict[str, tuple[int, ...]]]] = {
    "rows": (rows, {"B": 19, "T": 700}, {"w": (8, 8), "x": (19, 700, 8)}),
    "turns": (turns, {"B": 5, "S": 20, "T": 30}, {"x": (5, 16)}),
    "shared": (shared, {"B": 40, "T": 90}, {"x": (40, 256)}),
    "windows": (windows, {"B": 4, "T": 700}, {"w": (16, 16), "x": (4, 16)}),
}


def least(program: ot.Program, **options: Any) -> int:
    """The limit that a refusal names."""
    with pytest.raises(MemoryLimitError) as refused:
        program.compile(memory_limit=1, **options)
    return int(refused.value.remedy.split("memory_limit=")[1].split()[0])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threads", [1, 2])
def test_bits_are_those_of_memory_and_all_that_moves_is_planned(form: str, threads: int) -> None:
    is_exact = form == "windows"  # whose other forms round otherwise
    make, sizes, shapes = FORMS[form]
    rng, program = np.random.default_rng(5), make()
    given = {n: (0.3 * rng.normal(size=s)).astype("float32") for n, s in shapes.items()} | sizes
    options: dict[str, Any] = {"hints": sizes, "threads": threads, "exact": is_exact}
    usual = program.compile(memory_limit=ENOUGH, **options)
    expected, peak = usual(**given), usual.explain(**sizes).memory.predicted_peak_bytes
    options |= {"spill": True, "without": IN_A_FILE}
    smallest = least(program, **options)
    assert smallest < 0.95 * peak
    for limit in (smallest, max(smallest + 1, int(0.85 * peak))):
        run = program.compile(memory_limit=limit, **options)
        found, use = run(**given), run.explain(**sizes).memory
        assert use.predicted_peak_bytes <= limit
        assert limit == smallest or is_exact or not use.unplanned
        assert all(found[n].tobytes() == value.tobytes() for n, value in expected.items())
        free = run.executable._free  # pyright: ignore[reportPrivateUsage]
        assert all(f.transfers.count for f in free if f.transfers)


@pytest.mark.parametrize("form", FORMS)
def test_the_number_that_a_refusal_names_is_enough_and_the_least(form: str) -> None:
    make, sizes, _ = FORMS[form]
    options: dict[str, Any] = {"hints": sizes, "spill": True, "without": IN_A_FILE}
    program = make()
    limit = least(program, **options)
    run = program.compile(memory_limit=limit, **options)
    assert run.explain(**sizes).memory.predicted_peak_bytes == limit
    with pytest.raises(MemoryLimitError):
        program.compile(memory_limit=limit - 1, **options)


def spilled(
    make: Callable[[], ot.Program], sizes: dict[str, int], share: float
) -> tuple[Plan, Layout]:
    plan = planned(make(), **sizes)
    most = int(share * layout(plan, sizes, 2).total_bytes)
    (made,) = layouts_of(plan, 2, [sizes], most)
    return plan, made


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("share", [0.8, 0.6, 0.3])
def test_certificates_prove_the_transfers(form: str, share: float) -> None:
    make, sizes, _ = FORMS[form]
    plan, made = spilled(make, sizes, share)
    assert check_transfers(timeline_of(plan), made, 2) > 0


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"rows": 1}, "is touched in rows that are not moved|has no history of"),
        ({"slot": 0}, "has no history of"),
        ({"slot": -1}, "has no history of"),
        ({"copies": 3}, "3 calls move"),
        ({"places": (7,)}, "where nobody waits for it"),
    ],
)
def test_another_form_of_a_walk_is_refused(change: dict[str, Any], fact: str) -> None:
    plan, made = spilled(turns_of_rows, {"B": 5, "S": 20, "T": 30}, 0.6)
    at = next(k for k, p in enumerate(made.passages) if p.rows > 1 and p.slot > 0)
    other = (*made.passages[:at], replace(made.passages[at], **change), *made.passages[at + 1 :])
    with pytest.raises(Misplaced, match=fact):
        check_transfers(timeline_of(plan), replace(made, passages=other), 2)
