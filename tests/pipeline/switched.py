"""Programs of which each is made otherwise by some pass, with the sizes of a run and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import ostinato as ot
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.pdg.node import Input
from tests.api.test_memory_limit import HINTS, trained
from tests.codegen.test_apart import attention as wide_attention
from tests.codegen.test_frames import frames
from tests.codegen.test_rows import squares
from tests.pipeline.test_begin import descent
from tests.pipeline.test_carries import program as carried
from tests.pipeline.test_ends import episodes
from tests.pipeline.test_entries_in_turn import CHANGES, ONE
from tests.pipeline.test_entries_in_turn import program as counted
from tests.pipeline.test_kept_elements import chosen as number
from tests.pipeline.test_kept_elements import entry, table
from tests.pipeline.test_outside import prefix
from tests.pipeline.test_prompt import decoder
from tests.pipeline.test_reinforce_ragged import program as ragged
from tests.pipeline.test_spread import judged
from tests.rewrite.test_joins import heads
from tests.rewrite.test_tiles import attention, until
from tests.rewrite.test_vectorize_forms import small_rows_first


@dataclass(frozen=True)
class Switched:
    """A program, the sizes of a run, and the options of its compilation."""

    make: Callable[[], ot.Program]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def with_more_memory(self) -> Switched:
        """The same without a limit: what makes a program fit is an optimisation."""
        given = {word: each for word, each in self.options.items() if word != "memory_limit"}
        return replace(self, options=given)

    def arguments(self, program: ot.Program) -> dict[str, Any]:
        """Inputs of the right shapes, a seed, and the extents that no shape tells."""
        rng = np.random.default_rng(0)
        sizes: dict[Dim | Extent, int] = {Extent(name): n for name, n in self.sizes.items()}
        out: dict[str, Any] = {"seed": 3, **self.sizes}
        for node in program.pdg.nodes():
            if isinstance(node.op, Input):
                shape = [*(d.extent for d in node.domain), *node.shape]
                made = rng.normal(size=[evaluate(n, sizes) for n in shape])
                whole = np.abs(made * 2) if node.dtype == "int32" else made
                out[node.op.name] = whole.astype(node.dtype)
        return out


def chosen() -> ot.Program:
    """The element at a computed position of three."""
    t = ot.dims("t")
    x, k = ot.input("x", (3,), over=t), ot.input("k", dtype="int32", over=t)
    return ot.Program(y=ot.take(ot.exp(x), k % 3, axis=0))


def matrix_sum() -> ot.Program:
    """The sum of a matrix at every step."""
    t = ot.dims("t")
    x = ot.input("x", (64, 32), over=t)
    return ot.Program(y=ot.tanh(x).sum())


def spread_of_rows() -> ot.Program:
    """The variance of a few hundred rows."""
    b = ot.dims("b")
    x = ot.input("x", over=b)
    return ot.Program(y=((x - x[:].mean()) ** 2)[:].mean())


def turned() -> ot.Program:
    """The transposed value of a matrix."""
    return ot.Program(y=(ot.input("x", (16, 24)) * 2.0).T)


def past() -> ot.Program:
    """The slope of a recurrence that reads computed steps of its past."""
    t = ot.dims("t")
    x, k = ot.input("x", over=t), ot.input("k", dtype="int32", over=t)
    r = ot.recurrent("r", over=t)
    low = ot.maximum(t - 1, 0)
    r[0] = x[0]
    r[True] = r.at(t=ot.minimum(ot.index(low) + k, ot.index(t) - 1), within=(low, t)) * 0.5 + x
    return ot.Program(slope=ot.grad((r * r)[:].sum(), x))


def looking_ahead() -> ot.Program:
    """Draws and what they are three steps later, of which nothing is asked for but a sum."""
    b, t = ot.dims("b t")
    level = ot.recurrent("level", (8,), over=(b, t))
    level[b, 0] = ot.zeros(8)
    level[b, t + 1] = 0.5 * level + ot.random.uniform((8,), over=(b, t))
    later = ot.where(t + 3 < t.size, level.at(t=t + 3), 0.0)
    return ot.Program(total=(level * later)[:, :].sum((0, 1)))


def survivors() -> ot.Program:
    """What living episodes give."""
    s, goes_on = episodes()
    return ot.Program(total=ot.where(goes_on, s.sum(), 0.0)[:, :].sum())


def one_update() -> ot.Program:
    """A matrix that is moved once in every iteration."""
    i, m = ot.dims("i"), ot.dim("m", size=1)
    x, w = ot.input("x", (16, 8)), ot.recurrent("w", (8, 8), over=(i, m))
    moved = w - 1e-3 * (x.T @ ot.tanh(x @ w))
    w[0, 0] = 0.1 * ot.eye(8)
    w[i, m + 1] = moved
    w[i + 1, 0] = moved[i, -1]
    return ot.Program(total=w.sum()[i, 0])


PROGRAMS: Mapping[str, Switched] = {
    "frames": Switched(lambda: frames(ahead=0), {"I": 2, "B": 35, "T": 4}),
    "descent": Switched(descent, {"B": 70, "I": 3}),
    "squares": Switched(lambda: squares(1 << 14)),
    "judged": Switched(judged, {"B": 4, "T": 20}),
    "decoder": Switched(lambda: decoder(1), {"B": 3, "P": 5, "T": 9}),
    "heads": Switched(lambda: heads(5, 3), {"B": 40}, {"hints": {"B": 1024}}),
    "attention": Switched(lambda: attention(until), {"B": 2, "T": 40}),
    "wide attention": Switched(wide_attention, {"B": 35, "T": 6}),
    "two cases": Switched(small_rows_first, {"B": 5, "T": 6}),
    "chosen": Switched(chosen, {"T": 5}),
    "matrix sum": Switched(matrix_sum, {"T": 3}),
    "counted": Switched(lambda: counted(CHANGES["added"]), {"T": 5}),
    "seen": Switched(lambda: counted(ONE["one"]), {"T": 5}),
    "spread": Switched(spread_of_rows, {"B": 300}),
    "turned": Switched(turned),
    "survivors": Switched(survivors, {"B": 70, "T": 12}),
    "ragged": Switched(ragged, {"B": 5, "T": 12, "I": 2}),
    "trained": Switched(trained, HINTS, {"hints": HINTS, "memory_limit": 400_000}),
    "in little memory": Switched(trained, HINTS, {"hints": HINTS, "memory_limit": 120_000}),
    "looking ahead": Switched(
        looking_ahead, {"B": 3, "T": 90}, {"hints": {"B": 3, "T": 90}, "memory_limit": 9_000}
    ),
    "prefix": Switched(prefix, {"T": 5}),
    "past": Switched(past, {"T": 6}),
    "one update": Switched(one_update, {"I": 3}),
    "table": Switched(lambda: table(entry == number), {"T": 9}),
    "carried": Switched(carried, {"I": 2, "E": 2, "M": 3, "T": 5}),
}
# The optimisations, each with a program of which it makes something else.
OTHERWISE: Mapping[str, str] = {
    "merged cases": "two cases",
    "known prefixes": "decoder",
    "joined products": "heads",
    "tiles of ranges": "attention",
    "rules": "attention",
    "local search": "heads",
    "forms": "heads",
    "parts apart": "frames",
    "single steps": "one update",
    "few changed": "seen",
    "entries in turn": "counted",
    "rows at points": "frames",
    "tiles of rows": "squares",
    "choices in tiny axes": "chosen",
    "layout": "judged",
    "folds of matrices": "matrix sum",
    "products": "descent",
    "transposed copies": "squares",
    "masked sums": "ragged",
    "epilogues": "descent",
    "late updates": "carried",
    "computing again": "trained",
    "late readers": "looking ahead",
    "segments": "in little memory",
    "value numbering": "judged",
    "hoisted steps": "judged",
    "fewer slots": "descent",
    "shared places": "descent",
    "steps apart": "wide attention",
    "guards": "decoder",
    "slices": "descent",
    "early exits": "survivors",
    "lifetimes": "descent",
    "dead rows": "ragged",
    "first products": "descent",
    "kept elements": "table",
    "work of one worker": "spread",
    "padding of tiles": "judged",
    "squares": "turned",
    "LLVM passes": "two cases",
}
