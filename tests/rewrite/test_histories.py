"""What is done to every element of a range that follows the point is done once per point."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.functions import Array
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import (
    Affine,
    Broadcast,
    Const,
    Input,
    Map,
    Node,
    Part,
    Pdg,
    Read,
    Reduce,
    Reshape,
    Transpose,
)
from ostinato.rewrite.optimize import RewriteOptions, optimize

b, t = ot.dims("b t")
row = ot.input("x", (8,), over=(b, t))
matrix = ot.input("y", (4, 6), over=(b, t))
word = ot.input("word", dtype="int32", over=(b, t))
shared = {
    name: ot.input(name, shape)
    for name, shape in {
        "w": (8, 6),
        "table": (10, 6),
        "right": (6, 5),
        "left": (3, 4),
        "each": (4, 6, 5),
        "speed": (3,),
        "copies": (3, 4, 6),
    }.items()
}
w = shared["w"]
RANGES: dict[str, slice] = {
    "so far": slice(0, t + 1),
    "before": slice(0, t),
    "to come": slice(t, None),
    "window": slice(ot.maximum(t - 31, 0), t + 1),
}
Past = Callable[[ot.Tensor], ot.Tensor]


def rms(x: ot.Tensor) -> ot.Tensor:
    return x / ot.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def centred(x: ot.Tensor) -> ot.Tensor:
    c = x - x.mean(-1, keepdims=True)
    return c / ot.sqrt((c * c).mean(-1, keepdims=True) + 1e-5)


def rotated(x: ot.Tensor, positions: ot.Tensor) -> ot.Tensor:
    angle = positions.cast("float32")[..., None, None] * shared["speed"]
    p, q = x[..., :3], x[..., 3:]
    turned = (p * ot.cos(angle) - q * ot.sin(angle), p * ot.sin(angle) + q * ot.cos(angle))
    return ot.concatenate(turned, -1)


FORMS: dict[str, Callable[[Past], ot.Tensor]] = {
    "projection": lambda past: past(row) @ w,
    "heads": lambda past: (past(row) @ w).reshape((-1, 2, 3)),
    "heads in front": lambda past: (past(row) @ w).reshape((-1, 2, 3)).transpose(1, 0, 2),
    "columns": lambda past: w.T @ past(row).T,
    "two layers": lambda past: ot.tanh(past(row) @ w) @ shared["right"],
    "range behind": lambda past: ot.swapaxes(past(matrix), 0, 1),
    "range last": lambda past: past(matrix).transpose(1, 2, 0),
    "transposed": lambda past: ot.swapaxes(past(matrix), -1, -2),
    "new axis": lambda past: past(matrix)[..., None, :],
    "new axis in front": lambda past: past(row)[..., None, :, :],
    "merged axes": lambda past: past(matrix).reshape((-1, 24)),
    "joined": lambda past: ot.concatenate([past(row), 2.0 * past(row)], -1),
    "stacked": lambda past: ot.stack([past(row), past(row) + 1.0], -1),
    "padded": lambda past: ot.pad(past(matrix), ((0, 0), (1, 1), (0, 0))),
    "element": lambda past: past(matrix)[..., 2, :],
    "cut": lambda past: past(matrix)[..., 1:3, :],
    "flipped": lambda past: ot.flip(past(matrix), -1),
    "repeated": lambda past: ot.repeat(past(matrix), 2, axis=1),
    "beside a constant": lambda past: past(matrix)[..., None, :, :] * shared["copies"],
    "root mean square": lambda past: rms(past(row)),
    "layer norm": lambda past: centred(past(matrix)),
    "normalised heads": lambda past: rms(ot.swapaxes(past(matrix), 0, 1)),
    "softmax of rows": lambda past: ot.softmax(past(matrix), 1),
    "running sums": lambda past: ot.cumsum(past(matrix), -1),
    "sorted": lambda past: ot.sort(past(matrix), -1),
    "looked up": lambda past: ot.take(shared["table"], past(word), axis=0),
    "one hot": lambda past: ot.one_hot(past(word), 10),
    "product of each": lambda past: past(matrix) @ shared["right"],
    "product from the left": lambda past: shared["left"] @ past(matrix),
    "product with many": lambda past: past(matrix)[..., None, :] @ shared["each"],
    "product of both": lambda past: past(matrix) @ ot.swapaxes(past(matrix), -1, -2),
    "einsum": lambda past: ot.einsum("nab,bc->nac", past(matrix), shared["right"]),
    "einsum, other order": lambda past: ot.einsum("nab,abc->anc", past(matrix), shared["each"]),
    "rotated by index": lambda past: rotated(past(matrix), past(ot.index(t))),
    "mask": lambda past: ot.where(past(word)[..., None, None] > 3, past(matrix), 0.0),
}
VIEWS = (Read, Reshape, Transpose, Part, Broadcast, Input, Const, Affine)


def repeated(pdg: Pdg) -> list[str]:
    """What a program computes from all elements of a range that follows the point."""
    found: list[str] = []
    for node in pdg.nodes():
        sizes = (s for x in (node, *node.args) for s in x.shape)
        if any(each.dims for each in sizes) and not isinstance(node.op, VIEWS):
            fn = node.op.fn if isinstance(node.op, Map | Reduce) else type(node.op).__name__
            found.append(fn)
    return sorted(found)


def program(value: ot.Tensor) -> ot.Program:
    """The greatest of the values of a range, each weighted by a number of the point."""
    node: Node = value.node
    place = next(k for k, size in enumerate(node.shape) if size.dims)
    return ot.Program(y=(ot.tanh(value) * ot.input("weight", over=(b, t))).max(place))


def arguments(made: ot.Program, extents: Mapping[str, int]) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    out: dict[str, Array] = {}
    for node in made.pdg.nodes():
        if isinstance(node.op, Input):
            sizes = [extents[d.symbol.name] for d in node.domain]
            drawn = rng.normal(size=(*sizes, *(size.as_int() for size in node.shape)))
            whole = node.dtype == "int32"
            out[node.op.name] = abs(4 * drawn).astype("int32") if whole else drawn
    return out


CASES = tuple(zip(FORMS, itertools.cycle(RANGES)))


@functools.cache
def rewritten(name: str, part: str) -> tuple[ot.Program, Pdg]:
    made = program(FORMS[name](lambda x: x.at(t=RANGES[part])))
    return made, optimize(made.pdg, RewriteOptions(hints={"B": 4, "T": 256})).pdg


@pytest.mark.parametrize(("name", "part"), CASES)
def test_only_what_depends_on_the_point_is_done_again(name: str, part: str) -> None:
    assert repeated(rewritten(name, part)[1]) == ["max", "mul"]


@pytest.mark.parametrize(("name", "part"), CASES)
def test_the_rewritten_form_has_the_same_values(name: str, part: str) -> None:
    made, pdg = rewritten(name, part)
    extents = {"B": 2, "T": 5}
    given = arguments(made, extents)
    expected, found = (interpret(p, extents, given) for p in (made.pdg, pdg))
    np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-4, atol=1e-5)


def test_forms_of_a_value_do_not_multiply() -> None:
    heads = (row.at(t=RANGES["so far"]) @ w).reshape((-1, 1, 6))
    made = program(rotated(centred(heads), ot.index(t).at(t=RANGES["so far"])))
    report = optimize(made.pdg).report  # they were 300,000 where each range had two inner forms
    assert report.saturation.complete and report.enodes < 25 * len(made.pdg.nodes())


@pytest.mark.parametrize("part", RANGES)
def test_every_kind_of_range_keeps_its_history(part: str) -> None:
    heads = (row.at(t=RANGES[part]) @ w).reshape((-1, 1, 6))
    made = program(rotated(centred(heads), ot.index(t).at(t=RANGES[part])))
    pdg = optimize(made.pdg, RewriteOptions(hints={"B": 4, "T": 256})).pdg
    assert repeated(pdg) == ["max", "mul"]


def test_positions_may_be_counted_from_the_start() -> None:
    made = program(rotated(matrix.at(t=RANGES["so far"]), ot.arange(t + 1)))
    pdg = optimize(made.pdg, RewriteOptions(hints={"B": 4, "T": 256})).pdg
    assert repeated(pdg) == ["max", "mul"]
    given = arguments(made, {"B": 2, "T": 5})
    found, expected = made.compile()(**given)["y"], made.interpret(**given)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_what_depends_on_the_point_stays_in_the_range() -> None:
    gain = ot.input("gain", (8,), over=(b, t))
    made = program(row.at(t=RANGES["so far"]) * gain)
    pdg = optimize(made.pdg, RewriteOptions(hints={"B": 4, "T": 256})).pdg
    assert "tanh" in repeated(pdg)
