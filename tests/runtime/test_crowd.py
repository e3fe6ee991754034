"""One thread runs a program where that is predicted to be faster; the choice is made once."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.runtime.disk import sealed
from ostinato.runtime.run.extent_choices import THREADS, Crowd


class Prices:
    """One worker takes 10 ns per row; each of several their share, and what they wait."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, extents: Mapping[str, int], workers: int) -> Mapping[str, float]:
        self.asked += 1
        return {"predicted_ns": 10.0 * extents["B"] / workers + 1000.0 * (workers > 1)}


def test_all_threads_run_where_they_gain_more_than_they_wait(tmp_path: Path) -> None:
    crowd = Crowd(Prices(), tmp_path, "key")
    assert [crowd.workers({"B": n}, 2) for n in (16, 64, 1024, 1 << 20)] == [1, 1, 2, 2]
    assert crowd.workers({"B": 1 << 20}, 1) == 1


def test_a_choice_is_made_once_per_magnitude_and_kept(tmp_path: Path) -> None:
    prices = Prices()
    crowd = Crowd(prices, tmp_path, "key")
    assert [crowd.workers({"B": n}, 2) for n in (1024, 1025, 2047)] == [2, 2, 2]
    assert prices.asked == 2 and Crowd(prices, tmp_path, "key").workers({"B": 1024}, 2) == 2
    assert prices.asked == 2
    crowd.workers({"B": 1024}, 4)
    assert prices.asked == 4


@pytest.mark.parametrize("text", ["[]", "{", "1"])
def test_a_damaged_file_is_told_and_made_again(text: str, tmp_path: Path) -> None:
    sealed.write(tmp_path / THREADS, "key", text.encode())
    with pytest.warns(UserWarning, match="made again"):
        assert Crowd(Prices(), tmp_path, "key").workers({"B": 16}, 2) == 1
    assert list(json.loads(sealed.read(tmp_path / THREADS, "key")).values()) == [True]


def test_without_a_prediction_all_threads_run(tmp_path: Path) -> None:
    assert Crowd(lambda extents, workers: {}, tmp_path, "key").workers({"B": 1}, 3) == 3


@pytest.mark.parametrize(("rows", "wanted"), [(64, 1), (8192, 2)])
def test_training_on_few_rows_needs_no_second_thread(
    rows: int, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.runtime.run.executor.Crowd", Crowd)
    monkeypatch.setattr("ostinato.runtime.run.executor.available_cores", lambda: 2)
    b, i = ot.dims("b i")
    model = nn.MLP(16, [16], 1, over=i)
    x, y = ot.input("x", shape=(16,), over=b), ot.input("y", over=b)
    loss = ((model(x)[..., 0] - y) ** 2)[:, i].mean()
    model.update(optim.SGD(0.01), loss)
    run = ot.Program(loss=loss).compile()
    assert run.executable.workers({"B": rows, "I": 100}) == wanted
    arguments = {"x": np.ones((64, 16), "f"), "y": np.ones(64, "f"), "I": 3}
    run(**arguments)


def test_a_changed_number_of_threads_counts_at_once() -> None:
    b = ot.dims("b")
    run = ot.Program(y=ot.input("x", over=b) * 2.0).compile(threads=1, widths={"b": 32})
    found = list[int]()
    for threads in (1, 3, 2):
        run.executable.threads = threads
        found.append(run.executable.workers({"B": 96}))
    assert found == [1, 3, 2]
