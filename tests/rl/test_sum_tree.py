"""Weights in blocks: draws are in proportion, and a change reaches all sums."""

from __future__ import annotations

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.functions import Array
from ostinato.rl.prioritised import WIDTH, drawn, empty_tree, with_weight

SLOTS, WRITES = 5000, 40
k, n = ot.dims("k n")


def written() -> ot.Record:
    """A tree after some changes."""
    slot = ot.input("slot", dtype="int32", over=k)
    weight = ot.input("weight", over=k)
    tree = ot.carry("tree", empty_tree(n.size), over=k)
    tree.step(with_weight(tree, slot, weight))
    return tree.final


def changes(seed: int) -> dict[str, Array]:
    """Changes of few slots, some twice, some to nothing, some outside."""
    rng = np.random.default_rng(seed)
    slot = rng.choice([0, 1, 31, 32, 1023, 1024, 4096, SLOTS - 1, -1, 9000], WRITES).astype(
        np.int32
    )
    weight = np.where(rng.random(WRITES) < 0.3, 0.0, rng.exponential(size=WRITES) ** 3)
    weight[-1], slot[-1] = 2.0, 4096
    return {"slot": slot, "weight": weight.astype(np.float32)}


def expected(given: dict[str, Array]) -> Array:
    out = np.zeros(-(-SLOTS // WIDTH**2) * WIDTH**2, np.float32)
    for slot, weight in zip(given["slot"], given["weight"], strict=True):
        if 0 <= slot < len(out):
            out[slot] = weight
    return out


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_of_the_weights(seed: int) -> None:
    given, program = changes(seed), ot.Program(**written().fields)
    found, weights = program.compile()(N=SLOTS, **given), expected(given)
    np.testing.assert_array_equal(found["slots"], weights)
    np.testing.assert_allclose(found["blocks"], weights.reshape(-1, WIDTH).sum(-1), rtol=1e-6)
    np.testing.assert_allclose(found["top"], weights.reshape(-1, WIDTH**2).sum(-1), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_draws_are_in_proportion_to_weights(seed: int) -> None:
    slot, share = drawn(written(), (ot.arange(999) + 0.5) / 999)
    given = changes(seed)
    found = ot.Program(slot=slot, share=share).compile()(N=SLOTS, **given)
    weights = expected(given).astype(np.float64)
    parts = weights / weights.sum()
    np.testing.assert_allclose(found["share"], parts[found["slot"]], rtol=1e-5)
    counts = np.bincount(found["slot"], minlength=len(weights)) / 999
    np.testing.assert_allclose(counts, parts, atol=2 / 999)
    assert (found["slot"][1:] >= found["slot"][:-1]).all()


@pytest.mark.parametrize("part", [0.0, 1.0 - 2.0**-24])
def test_no_slot_without_weight_is_drawn(part: float) -> None:
    slot, share = drawn(written(), ot.constant([part]))
    compiled = ot.Program(slot=slot, share=share).compile()
    for seed in range(20):
        given = changes(seed)
        found = compiled(N=SLOTS, **given)
        assert expected(given)[found["slot"][0]] > 0.0 and found["share"][0] > 0.0
