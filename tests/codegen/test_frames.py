"""Learning from images of a Python function: what is kept, and which loops share the work."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.codegen.planning.arena import layout
from ostinato.codegen.planning.show import show_plan
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.functions import Array

Outcome = tuple[Array, Array, Array]


def shown(action: Array, pixels: int, sensors: int) -> Outcome:
    """The next image of every game, what three sensors measure, and the rewards."""
    near = np.arange(pixels, dtype="float32") / pixels
    images = np.cos(near + action[:, None]).astype("float32")
    return images, np.sin(images[:, :sensors]), images[:, 0] * action


def frames(pixels: int = 96, sensors: int = 3, ahead: int = 1) -> ot.Program:
    """One layer that learns from rewards of so many steps ahead, or of all if 0."""
    i, b, t = ot.dims("i b t")
    layer = nn.Linear(pixels, 16, over=i)
    seen = ot.recurrent("seen", (pixels,), over=(i, b, t))
    value = ot.tanh(layer(seen))
    action = ot.stop_gradient(value[i, b, t, 0]) + ot.random.uniform(over=(i, b, t))
    kinds = ((pixels,), "float32"), ((sensors,), "float32"), ((), "float32")
    game = partial(shown, pixels=pixels, sensors=sensors)
    made = ot.host(game, action, shape=kinds, over=b, effects="game", name="game")
    assert isinstance(made, tuple)
    following, felt, reward = made
    seen[i, b, 0] = 0.0
    seen[i, b, t + 1] = following
    after = ot.tanh(layer(following))[i, b, t, 1]
    end = ot.minimum(t.size, t + ahead) if ahead else t.size
    gain = ot.stop_gradient(reward[i, b, t:end].sum(0) + 0.5 * after)
    each = (gain - value[i, b, t, 1]) ** 2 + felt.sum()
    loss = each[i, :, :].mean()
    layer.update(optim.SGD(0.01), loss)
    return ot.Program(loss=loss, felt=felt[-1, b, -1])


def planned(sizes: Mapping[str, int], **options: Any) -> tuple[str, Any]:
    chosen = Options(threads=2, hints=dict(sizes), **options)
    plan = plan_of(optimize_pdg(frames(ahead=0).pdg, None, chosen), chosen)[0]
    return show_plan(plan), plan


SIZES = {"I": 2, "B": 64, "T": 50}


@cache
def interpreted(ahead: int, games: int) -> Mapping[str, Array]:
    return frames(ahead=ahead).interpret(I=3, B=games, T=9, seed=1)


@pytest.mark.parametrize("ahead", [0, 1, 4])
@pytest.mark.parametrize("games", [1, 31, 33, 70])
def test_results_are_those_of_the_definition(ahead: int, games: int) -> None:
    ways: list[dict[str, Any]] = [{"threads": 1 if games < 32 else 3}]
    if (ahead, games) in ((0, 1), (1, 31), (4, 33), (0, 70)):  # what is compiled for one number
        ways = [{"threads": 3 if games < 32 else 1}, {"hints": {"B": games, "T": 9}}]
    for options in ways:
        found = frames(ahead=ahead).compile(**options)(I=3, B=games, T=9, seed=1)
        for name, value in interpreted(ahead, games).items():
            np.testing.assert_allclose(found[name], value, 2e-4, 2e-5, err_msg=name)


@pytest.mark.parametrize("without", ["parts apart", "rows at points"])
def test_exact_programs_have_the_same_bits_with_and_without(without: str) -> None:
    with_all, other = (
        frames(ahead=0).compile(exact=True, threads=2, without=w, checks="addresses")
        for w in ((), without)
    )
    first, second = (run(I=3, B=33, T=9, seed=1) for run in (with_all, other))
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_a_reward_is_kept_and_its_image_is_not() -> None:
    text, plan = planned(SIZES)
    stored = {line.split()[0]: line for line in text.splitlines() if " float32 " in line}
    assert "[B, 100]" in stored["game"] and "t: T, 1, 32]" in stored["game_part_2"]
    peaks = [layout(plan, {**SIZES, "T": steps}, 2).total_bytes for steps in (50, 100)]
    images = 4 * 96 * SIZES["B"] * 50  # that the gradient needs
    assert images <= peaks[1] - peaks[0] < 1.4 * images


def test_a_layer_of_what_a_function_gives_runs_in_the_tiles_of_its_readers() -> None:
    def serial(text: str) -> list[str]:
        return [part for part in text.split("barrier") if " serial:" in part and "game @" in part]

    text = planned(SIZES)[0]
    assert "game @" in text and not serial(text)
    assert serial(planned(SIZES, without=("rows at points",))[0])


def test_a_layer_of_many_units_of_input_is_one_product() -> None:
    i, b, t = ot.dims("i b t")
    layer = nn.Linear(8192, 32, over=i)
    x = ot.input("x", (8192,), over=(b, t))
    level = ot.recurrent("level", (32,), over=(i, b, t))
    level[i, b, 0] = 0.0
    level[i, b, t + 1] = 0.5 * level + ot.tanh(layer(x))
    loss = (level**2)[i, :, :].mean()
    layer.update(optim.SGD(0.01), loss)
    sizes = {"I": 4, "B": 64, "T": 10}
    chosen = Options(threads=2, hints=sizes)
    plan = plan_of(optimize_pdg(ot.Program(loss=loss).pdg, None, chosen), chosen)[0]
    assert "for row" not in show_plan(plan)
