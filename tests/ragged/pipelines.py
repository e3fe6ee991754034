"""Random pipelines of operators on a ragged row, beside what they do to a true list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import ostinato as ot
from tests.ragged.episodes import Array

Ragged = Callable[[ot.Tensor, ot.Tensor], ot.Tensor]
ByHand = Callable[[Array, float, int], Array]


@dataclass(frozen=True)
class Step:
    """An operator on a ragged row and a weight, and on a true row, the weight and T."""

    name: str
    ragged: Ragged
    by_hand: ByHand


def softmax(row: Array) -> Array:
    powers = np.exp(row - row.max(initial=-np.inf))
    return np.asarray(powers / powers.sum())


def taken(row: Array, at: Sequence[int], size: int) -> Array:
    """Elements at positions that are clamped to T, as far as they exist."""
    places = [min(k, size - 1) for k in at]
    return np.array([row[k] for k in places if k < len(row)])


STEPS = (
    Step("scale", lambda x, w: x * w, lambda r, w, n: r * w),
    Step("shift", lambda x, w: x + w, lambda r, w, n: r + w),
    Step("squash", lambda x, w: ot.tanh(x), lambda r, w, n: np.tanh(r)),
    Step("exp", lambda x, w: ot.exp(-(x * x)), lambda r, w, n: np.exp(-r * r)),
    Step("log", lambda x, w: ot.log(abs(x) + 0.5), lambda r, w, n: np.log(abs(r) + 0.5)),
    Step("root", lambda x, w: ot.sqrt(x * x + w), lambda r, w, n: np.sqrt(r * r + w)),
    Step("quotient", lambda x, w: w / (x * x + 1.0), lambda r, w, n: w / (r * r + 1.0)),
    Step("inverse", lambda x, w: (x * x + 0.1) ** -1.0, lambda r, w, n: (r * r + 0.1) ** -1.0),
    Step("where", lambda x, w: ot.where(x > 0, x, w), lambda r, w, n: np.where(r > 0, r, w)),
    Step("clip", lambda x, w: ot.clip(x, -1.0, w), lambda r, w, n: np.clip(r, -1.0, w)),
    Step("centre", lambda x, w: x - x.mean(), lambda r, w, n: r - r.mean()),
    Step("softmax", lambda x, w: ot.softmax(w * x), lambda r, w, n: softmax(w * r)),
    Step("cumsum", lambda x, w: ot.cumsum(x, 0), lambda r, w, n: np.cumsum(r)),
    Step("cummax", lambda x, w: ot.cummax(x, 0), lambda r, w, n: np.maximum.accumulate(r)),
    Step("flip", lambda x, w: ot.flip(x, 0), lambda r, w, n: r[::-1]),
    Step("column", lambda x, w: x.reshape(-1, 1)[..., 0], lambda r, w, n: r),
    Step(
        "outer",
        lambda x, w: (ot.expand_dims(x, 1) @ ot.constant([[1.0, -2.0]], "float64")).sum(1),
        lambda r, w, n: -r,
    ),
    Step(
        "stack", lambda x, w: ot.stack([x, w * x], 1).max(1), lambda r, w, n: np.maximum(r, w * r)
    ),
    Step(
        "join",
        lambda x, w: ot.concatenate([x, 2 * x], 0),
        lambda r, w, n: np.concatenate([r, 2 * r]),
    ),
    Step(
        "join dense",
        lambda x, w: ot.concatenate([x, w * ot.ones((2,), "float64")], 0),
        lambda r, w, n: np.concatenate([r, [w, w]]),
    ),
    Step("transposed", lambda x, w: ot.stack([x, x], 0).T.mean(1), lambda r, w, n: r),
)
FOLDS: dict[str, tuple[Ragged, Callable[[Array], Any]]] = {
    "sum": (lambda x, w: x.sum(), np.sum),
    "mean": (lambda x, w: x.mean(), np.mean),
    "max": (lambda x, w: x.max(), np.max),
    "min": (lambda x, w: x.min(), np.min),
    "var": (lambda x, w: x.var(), np.var),
    "logsumexp": (lambda x, w: ot.logsumexp(x), lambda r: np.log(np.exp(r).sum())),
    "dot": (lambda x, w: x @ x, lambda r: r @ r),
}


@dataclass(frozen=True)
class Pipeline:
    """Steps and a fold of a row of every episode."""

    steps: tuple[Step, ...]
    fold: str

    def __repr__(self) -> str:
        return " > ".join([*(step.name for step in self.steps), self.fold])

    def ragged(self, x: ot.Tensor, w: ot.Tensor) -> ot.Tensor:
        x = w * x
        for step in self.steps:
            x = step.ragged(x, w)
        return FOLDS[self.fold][0](x, w)

    def by_hand(self, row: Array, w: float, size: int) -> float:
        row = w * row
        for step in self.steps:
            row = step.by_hand(row, w, size)
        return float(FOLDS[self.fold][1](row))


def pipelines() -> st.SearchStrategy[Pipeline]:
    steps = st.lists(st.sampled_from(STEPS), min_size=1, max_size=4).map(tuple)
    return st.builds(Pipeline, steps, st.sampled_from(sorted(FOLDS)))


def patterns() -> st.SearchStrategy[Array]:
    """When up to three episodes of up to five steps are done."""
    sizes = st.tuples(st.integers(1, 3), st.integers(1, 5))
    return sizes.flatmap(
        lambda s: st.lists(st.booleans(), min_size=s[0] * s[1], max_size=s[0] * s[1]).map(
            lambda flat: np.array(flat).reshape(s)
        )
    )
