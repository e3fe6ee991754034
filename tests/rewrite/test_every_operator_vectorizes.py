"""Every operator without a recurrence can run over whole axes, but for a list of reasons.

The machine of this test takes ages to start a loop, so that extraction takes the largest axes that
there are.
"""

from __future__ import annotations

import pytest

import ostinato as ot
from ostinato.pdg.index import Dim
from ostinato.pdg.node import (
    Along,
    Concat,
    Gather,
    Linear,
    Map,
    Matmul,
    Pdg,
    Reduce,
    Scan,
    postorder,
)
from ostinato.rewrite.extract.export import ENode
from ostinato.rewrite.extract.pricing import VIEWS, Pricing
from ostinato.rewrite.load import program_rows
from ostinato.rewrite.optimize import RewriteOptions, optimize
from tests.property.constructs import TABLE, Step, Workshop
from tests.property.constructs.attention import RANGES

WORK = Map | Reduce | Matmul | Concat | Gather | Along | Scan | Linear
FREE = VIEWS | {"leaf", "rec", "sl", "part", "at"}


class Started(Pricing):
    """Starting an operator is what takes time, however much it has to do."""

    def price(self, cls: int, node: ENode) -> float:
        starts = 0.0 if node.op in FREE else float(self._sizes.trips(self._graph.dom[cls]))
        return super().price(cls, node) + 1e7 * starts


GROWING = "a slice grows or moves with t"
LEFT: dict[str, tuple[set[str], str]] = {
    "conv1d": ({"b"}, "only one b is read"),
    "pool1d": ({"b"}, "only one b is read"),
    "gather_history": ({"t"}, GROWING),
    "within_window": ({"t"}, GROWING),
    "up_to_other": ({"b"}, "a slice of t grows with b"),
    "from_other": ({"b"}, "a slice of t grows with b"),
    "triangle": ({"b", "t"}, "a slice moves with b and t"),
    "sum_ends": ({"b", "t"}, "a slice moves with b and t"),
    "two_slices": ({"b", "t"}, "a slice moves with b and t"),
    **{
        name: ({"t"}, GROWING)
        for name in (
            "prefix suffix window future around half_open blocks strided strided_past mirrored "
            "doubling strict slice_and_point slice_of_slice fold_kept whole_of_slice "
            "scatter_history discount_with_ends sum_with_ends recurrence_with_ends tied"
        ).split()
    },
    **{
        f"{name}_over_{span}": ({"t"}, GROWING)
        for name in ("attention", "weights")
        for span in RANGES
        if span != "full"
    },
}
NAMES = [
    name
    for name, made in TABLE.items()
    if made.kind not in ("recurrences", "nested loops") and not made.wild
]


def program(name: str, c: int) -> ot.Program | None:
    """A construct on inputs of all points; None if it needs other operands."""
    dims = tuple(ot.dims("b t"))
    pool = [ot.input(n, s, over=dims) for n, s in (("x", (2, 3)), ("y", (2, 3)), ("z", ()))]
    w = Workshop(dims, "float32", pool)
    steps = (Step(name, 0, 1, 1, c), Step(name, 2, 2, 1, c))
    made = next((x for x in (TABLE[name].make(w, s) for s in steps) if x is not None), None)
    return None if made is None else ot.Program(y=made)


def left(pdg: Pdg) -> set[str]:
    """The dimensions along which some operator still runs point by point."""
    nodes = (n for n in postorder(pdg.roots()) if isinstance(n.op, WORK))
    return {d.name for n in nodes for d in n.domain}


def no_dims(_: Pdg) -> tuple[Dim, ...]:
    return ()


@pytest.mark.parametrize("name", NAMES)
def test_operators_run_over_all_axes_but_for_a_reason(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if points of all dimensions had something in common, so that all may become axes.
    monkeypatch.setattr(program_rows, "separate_dims", no_dims)
    found: set[str] = set()
    made = [m for m in (program(name, c) for c in (1, 2)) if m is not None and not m.pdg.equations]
    for pdg in {str(m): m.pdg for m in made}.values():  # most constructs have no constant
        options = RewriteOptions(hints={"B": 64, "T": 64}, pricing=Started)
        found |= left(optimize(pdg, options).pdg)
    expected, reason = LEFT.get(name, (set[str](), "nothing holds it back"))
    assert found == expected, reason


def test_every_reason_is_about_a_construct() -> None:
    assert set(LEFT) <= set(NAMES)
