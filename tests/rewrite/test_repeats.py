"""Parts of a program that occur several times: rules see one copy of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.compiler.passes import PASSES
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.pass_record import Passes
from ostinato.rewrite.engine.egglog_session import Cell
from ostinato.rewrite.extract.export import ENode
from ostinato.rewrite.extract.unfolded import Unfolding
from ostinato.rewrite.load import folded_rows
from ostinato.rewrite.load.folded_rows import folded
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.load.repeats import kinds_of
from ostinato.rewrite.optimize import Optimized, RewriteOptions, optimize

PASS = "repeated parts"
HINTS = {"B": 64, "I": 10}


def deep(layers: int, *, clips: bool = False) -> ot.Program:
    """A perceptron of many layers in training by Adam."""
    b, i = ot.dims("b i")
    model = nn.MLP(4, [4] * layers, 4, over=i)
    x, y = ot.input("x", (4,), over=b), ot.input("y", (4,), over=b)
    loss = ((model(x) - y) ** 2)[:, i].mean()
    step = optim.Adam(1e-2)
    model.update(optim.Clipped(step, norm=1.0) if clips else step, loss)
    return ot.Program(loss=loss)


def scaled(layers: int) -> ot.Program:
    """Layers that each have another factor, read the layer before last, and share one bias."""
    b, t = ot.dims("b t")
    bias = ot.input("bias", (3,))
    x = before = ot.input("x", (3,), over=(b, t))
    for k in range(layers):
        weight = ot.input(f"w{k}", (3, 3))
        inner = ot.tanh(x @ weight + bias) * (1.0 + k / 100)
        near = inner[b, : t + 1].mean(0) + ot.sigmoid(inner) * ot.exp(-(inner**2))
        gate = ot.softmax(near * 2.0 + before)
        x, before = x + gate * near - ot.cos(inner - 1.0) / (1.0 + near**2), x
    return ot.Program(y=x)


def rewritten(program: ot.Program, *without: str) -> Optimized:
    options = RewriteOptions(hints=HINTS, passes=Passes(frozenset(without)))
    return optimize(encoded(program.pdg), options)


def is_folded(program: ot.Program) -> bool:
    return bool(folded(load(encoded(program.pdg))).parts)


@cache
def rows_of(layers: int) -> int:
    return rewritten(deep(layers)).report.saturation.rows[-1]


def test_rules_see_as_much_of_a_deep_network_as_of_a_shallow_one() -> None:
    assert rows_of(32) < 1.2 * rows_of(24)
    assert rows_of(24) < rewritten(deep(24), PASS).report.saturation.rows[-1] / 2


@pytest.mark.parametrize("clips", [False, True])
def test_a_deep_network_learns_what_the_interpreter_says(clips: bool) -> None:
    program, rng = deep(12, clips=clips), np.random.default_rng(0)
    assert is_folded(program)
    x, y = rng.normal(size=(2, 5, 4)).astype("float32")
    expected = program.interpret(I=3, x=x, y=y)["loss"]
    found = program.compile()(I=3, x=x, y=y)["loss"]
    np.testing.assert_allclose(found, expected, 1e-4, 1e-6)


def test_copies_with_other_constants_keep_their_own() -> None:
    program, rng = scaled(14), np.random.default_rng(0)
    given = {f"w{k}": rng.normal(size=(3, 3)).astype("float32") for k in range(14)}
    given |= {"bias": np.ones(3, "float32"), "x": rng.normal(size=(2, 4, 3)).astype("float32")}
    assert is_folded(program)
    found = program.compile()(**given)["y"]
    np.testing.assert_allclose(found, program.interpret(**given)["y"], 1e-4, 1e-5)


def test_copies_are_compared_in_work_that_grows_with_their_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = list[str]()

    def counted(relation: str) -> tuple[str, ...]:
        looks.append(relation)
        return kinds_of(relation)

    monkeypatch.setattr(folded_rows, "kinds_of", counted)
    counts = list[int]()
    for count in (100, 200):
        b, t = ot.dims("b t")
        chain = [ot.recurrent(f"h{k}", over=(b, t)) for k in range(count)]
        for k, h in enumerate(chain):
            h[b, 0] = 1.0
            h[b, t + 1] = 0.5 * h + 0.1 * chain[k - 1]
        total: ot.Tensor = chain[0]
        for h in chain[1:]:
            total = total + h
        looks.clear()
        assert is_folded(ot.Program(y=total[b, -1]))
        counts.append(len(looks))
    assert counts[1] < 2.5 * counts[0]


def test_layers_that_stay_as_they_are_written_are_looked_at_one_by_one() -> None:
    """Rules see no order of these steps, and no `stop_gradient` once it equals its operand."""
    (b, t), layers = ot.dims("b t"), 40
    x, h = ot.input("x", over=(b, t)), ot.recurrent("h", over=(b, t))
    y = h[b, (2 * t) // 3]
    for k in range(layers):
        inner = ot.tanh(ot.stop_gradient(y) * ot.input(f"w{k}") + x)
        y = y + ot.sigmoid(inner) * ot.exp(-(inner**2)) - ot.cos(inner - 1.0) / (1.0 + inner**2)
    h[t < 2] = x
    h[b, t] = y / layers
    program = ot.Program(h=h)
    given = {f"w{k}": 1.0 - k / layers for k in range(layers)} | {"x": [[0.1, -0.2, 0.3, 0.4]]}
    assert is_folded(program)
    with pytest.warns(UserWarning, match="as it is written: `h` reads ahead"):
        found = program.compile()(**given)["h"]
    np.testing.assert_allclose(found, program.interpret(**given)["h"], 1e-4, 1e-6)


def test_the_form_of_a_deep_network_is_as_cheap_as_without_the_pass() -> None:
    with_it, without = (rewritten(deep(16), *names).report for names in ((), (PASS,)))
    assert abs(with_it.price_before / without.price_before - 1) < 1e-9
    assert with_it.price_after < 1.02 * without.price_after


def test_a_small_program_is_rewritten_as_it_is() -> None:
    loaded = load(encoded(deep(2).pdg))
    is_same = folded(loaded).rows is loaded.rows
    assert is_same and PASS in [each.name for each in PASSES]


def test_terms_of_a_deep_network_are_chosen_for_three_copies_of_a_layer() -> None:
    program = deep(12)
    parts = folded(load(encoded(program.pdg))).parts
    assert [len(copies) for copies in parts] == [10] and not rewritten(program).report.apart
    recurrences = {name for copy in parts[0] for name in copy.recurrences.values()}
    assert len(recurrences) == 10 * 6  # weights and biases, and two moments of each


def test_terms_are_chosen_once_for_layers_that_read_two_others() -> None:
    """Each layer has a literal of its own besides, which is in no copy."""
    few, many = (rewritten(scaled(layers)).report for layers in (14, 18))
    assert not few.apart and not many.apart
    assert many.steps < 1.01 * few.steps


def test_copies_that_become_one_class_are_united_in_linear_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where every second copy of a part takes back what the one before did."""
    looks = list[object]()
    original: Callable[[Unfolding, ENode], tuple[Cell, ...]] = vars(Unfolding)["_fields"]

    def counted(self: Unfolding, e: ENode) -> tuple[Cell, ...]:
        looks.append(e)
        return original(self, e)

    monkeypatch.setattr(Unfolding, "_fields", counted)
    counts = dict[int, int]()
    for length in (600, 1200):
        looks.clear()
        y = ot.input("x", over=ot.dims("t"))
        for _ in range(length):
            y = -y
        rewritten(ot.Program(y=y))
        counts[length] = len(looks)
    assert 0 < counts[1200] < 3 * counts[600]
