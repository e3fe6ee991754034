"""Softmax-weighted sums over long ranges in tiles: as defined, without a row in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ot
from ostinato import nn
from ostinato.compiler.compiled import Compiled
from ostinato.compiler.forms import SPARING, TILES
from ostinato.pdg.functions import Array
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Pdg
from ostinato.rewrite.load import range_rows
from ostinato.rewrite.optimize import Optimized, RewriteOptions, Rewriting
from ostinato.rewrite.prove.instance_claims import run, wrong_terms
from ostinato.rewrite.registry import every_rule
from tests.rewrite.instances.instance import Instance, Sizes
from tests.rewrite.instances.tiles import ELEMENTWISE, FOLDS, INWARDS

SIZE = 3
NARROW = 2


def until(t: ot.Dimension) -> slice:
    return slice(None, t + 1)


def window(t: ot.Dimension) -> slice:
    return slice(ot.maximum(t - 5, 0), t + 1)


def coming(t: ot.Dimension) -> slice:
    return slice(t, None)


RANGES = {"growing": until, "sliding": window, "shrinking": coming}


Steps = Callable[[ot.Dimension], slice]


def attention(steps: Steps, masked: bool = False) -> ot.Program:
    """Queries of a batch look at keys of other steps, some of which a mask hides."""
    b, t = ot.dims("b t")
    over = steps(t)
    q, k, v = (ot.input(name, shape=(SIZE,), over=(b, t)) for name in "qkv")
    scores = q[..., None, :] @ k[b, over].transpose(1, 0)
    if masked:
        scores = ot.where(ot.input("m", over=(b, t), dtype="bool")[b, over], scores, -np.inf)
    return ot.Program(y=ot.softmax(scores) @ v[b, over])


def summed(steps: Steps) -> ot.Program:
    """The same with a sum of weights times vectors, a query at a time."""
    b, t = ot.dims("b t")
    over = steps(t)
    q, k, v = (ot.input(name, shape=(SIZE,), over=(b, t)) for name in "qkv")
    weights = ot.softmax((k[b, over] * q).sum(-1))
    return ot.Program(y=(weights[..., None] * v[b, over]).sum(0))


def in_tiles(program: ot.Program) -> Optimized:
    return Rewriting(program.pdg, RewriteOptions()).best(SPARING[TILES])


def arguments(b: int, t: int, special: bool = False) -> dict[str, Array]:
    rng = np.random.default_rng(b + 10 * t)
    found: dict[str, Array] = {n: rng.standard_normal((b, t, SIZE)) * 3 for n in "qkv"}
    if special:
        found["k"][:, ::3] = -np.inf
        found["q"] = np.abs(found["q"])
    return {**found, "m": rng.random((b, t)) < 0.6}


def judged(program: ot.Program, given: dict[str, Array], pdg: Pdg | None = None) -> Array:
    """The output by the interpreter, of the program or of a form of it."""
    named = {name: x for name, x in given.items() if name in program.inputs}
    if pdg is None:
        return program.interpret(**named)["y"]
    b, t, _ = given["q"].shape
    return interpret(pdg, {"B": b, "T": t}, named)["y"]


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("spelling", ["attention", "masked", "summed"])
@settings(max_examples=3, deadline=None)
@given(st.integers(1, 2), st.integers(1, 8), st.booleans())
def test_sums_in_tiles_are_those_of_the_definition(
    spelling: str, name: str, b: int, t: int, special: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_rows, "WIDTH", NARROW)
        steps = RANGES[name]
        program = summed(steps) if spelling == "summed" else attention(steps, spelling == "masked")
        found = in_tiles(program)
    given_ = arguments(b, t, special)
    assert any(d.name == "tile" for d in found.pdg.dims())
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            judged(program, given_, found.pdg), judged(program, given_), rtol=1e-4, atol=1e-5
        )


FIRING = [i for i in (*FOLDS, *ELEMENTWISE, *INWARDS) if i.fires]


@pytest.mark.parametrize("instance", FIRING, ids=lambda i: i.name.replace(" ", "-"))
def test_all_that_is_called_equal_is_where_there_are_several_tiles(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_rows, "WIDTH", NARROW)
    rules = [every_rule()[name] for name in (*instance.fires, *instance.beside)]
    done = run(rules, instance.build(Sizes()))
    assert wrong_terms(done, {"B": 2, "T": 5, "I": 2}, True, (1,)) > 0


def test_a_short_window_has_no_tiles() -> None:
    assert not range_rows.tile_dims(attention(window).pdg)


def test_a_range_that_may_be_empty_has_no_tiles() -> None:
    b, t = ot.dims("b t")
    k = ot.input("k", over=(b, t))
    before = ot.softmax(k[b, :t])
    assert not range_rows.tile_dims(ot.Program(y=(before * k[b, :t]).sum(0)).pdg)


LONG = {"B": 2, "T": 4096}


def generation() -> ot.Program:
    """What a step attends to depends on the steps before it."""
    b, t = ot.dims("b t")
    token = ot.recurrent("token", shape=(4,), over=(b, t))
    token[b, 0] = ot.input("start", shape=(4,), over=b)
    token[b, t + 1] = ot.tanh(token + nn.Attention(4, 2)(token, t))
    return ot.Program(y=token)


def peak(run: Compiled) -> int:
    return run.explain(**LONG).memory.predicted_peak_bytes


@pytest.mark.parametrize(
    ("build", "times"),
    [(partial(attention, until), 2), (generation, 1)],  # first, sums of all steps are not kept
    ids=["known", "written"],
)
def test_a_limit_of_memory_leaves_no_row_of_scores(
    build: Callable[[], ot.Program], times: int, tmp_path: Path
) -> None:
    program, file = build(), tmp_path / "certificate.json"
    run, usual = program.compile(hints=LONG), 0
    for _ in range(times):
        usual = peak(run)
        run = program.compile(hints=LONG, memory_limit=usual - 1)
    assert usual - peak(run) > LONG["T"] * 4
    assert "for tile = " in run.explain().schedule
    run.certificate(file)
    assert ot.verify_certificate(file).holds
    rng = np.random.default_rng(0)
    shapes = {"start": (2, 4), **dict.fromkeys("qkv", (2, 150, SIZE))}
    given_ = {name: rng.normal(size=shapes[name]) for name in program.inputs}
    expected = program.interpret(**given_, T=150, seed=1)["y"]
    np.testing.assert_allclose(run(**given_, T=150, seed=1)["y"], expected, rtol=1e-3, atol=1e-5)


def test_exact_programs_have_no_sums_in_tiles() -> None:
    fired = attention(until).compile(exact=True).explain().rules
    assert not any(count for name, count in fired.items() if "softmax" in name or "powers" in name)


def test_gradients_are_unharmed() -> None:
    t = ot.dims("t")
    k, q = (ot.input(name, shape=(SIZE,), over=t) for name in "kq")
    y = nn.attend(q[..., None, :], k[: t + 1], k[: t + 1])
    slope = ot.grad(y[:].sum(), k)
    program, rng = ot.Program(slope=slope), np.random.default_rng(0)
    given_ = {name: rng.normal(size=(9, SIZE)) for name in "kq"}
    found = program.compile()(**given_)["slope"]
    np.testing.assert_allclose(found, program.interpret(**given_)["slope"], rtol=1e-4, atol=1e-5)
