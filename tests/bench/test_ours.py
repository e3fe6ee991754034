import numpy as np
import pytest

from bench.handwritten.multiply_adds import CHAINS, LANES, chained, peak_flops
from bench.ours.compiled import possible
from bench.ours.large_observation import ppo
from bench.ours.memory import decode, gradient, history, peak
from bench.ours.outside import program
from bench.ours.peak import update
from ostinato.compiler.results import Results
from ostinato.report.kernels import KernelRecord


def test_the_speed_of_an_impossible_result_is_no_figure() -> None:
    run = possible(lambda count: Results({"episode_return": np.array([21.0, 6e22])}, {}), 500)
    with pytest.raises(ValueError, match=r"outside 0 \.\. 500"):
        run(1)


def test_every_multiply_add_of_the_peak_is_done() -> None:
    assert chained(3, 2.0, 1.0) == LANES * sum(8.0 * k + 7.0 for k in range(CHAINS))
    assert peak_flops(runs=1, count=1000) > 0


def test_an_update_is_what_serves_gradient_and_optimizer_most() -> None:
    def kernel(operation: str, products: float, share: float = 0.9) -> KernelRecord:
        shares = {(operation, ""): share, ("policy", ""): 1 - share}
        return KernelRecord("k", operations={"products": products}, shares=shares, measured_ns=5e8)

    kernels = [kernel("gradient", 2.0), kernel("optimizer", 1.0), kernel("environment", 9.0)]
    assert update(kernels) == (3.0, 1.0)
    assert update([kernel("gradient", 2.0, share=0.4)]) == (0.0, 0.0)


def test_a_limit_takes_a_part_of_the_memory_and_tells_what_it_costs() -> None:
    usual, limited = (gradient(4, 2, 100, percent)() for percent in (100, 15))
    assert limited["peak_bytes"] <= 0.15 * usual["peak_bytes"] and usual["again"] == 0
    assert limited["again"] >= limited["again_at_least"] > 0 and limited["steps/s"] > 0


def test_histories_in_a_file_are_a_multiple_of_the_limit() -> None:
    usual, spilled = (history(4, 16, 2_000, percent)() for percent in (100, 30))
    assert spilled["peak_bytes"] <= 0.3 * usual["peak_bytes"] and spilled["over_limit"] > 3
    assert not usual["over_limit"] and spilled["steps/s"] > 0


def test_a_decoder_takes_less_than_its_keys_and_values() -> None:
    usual, limited = (decode(1, 4, 1_024, limit)() for limit in (0, 3))
    assert limited["peak_bytes"] <= 3 << 20 < usual["peak_bytes"] - (2 << 20)


def test_ppo_keeps_images_once() -> None:
    found = ppo(8, 4, 4, 64, 1)()
    assert 4 * 64 * 3 * 8 * 8 * 4 < found["peak_bytes"] < 2 * 4 * 64 * 3 * 8 * 8 * 4


def test_returns_of_one_step_keep_images_of_one_step() -> None:
    def taken(lookahead: int, steps: int) -> int:
        extents = {"B": 4, "T": steps, "I": 2}
        return peak(program(48, 8, lookahead).compile(hints=extents), extents)

    assert taken(1, 1000) < taken(1, 10) + 40_000  # rewards and numbers, no images
    assert taken(0, 1000) > 4 * 1000 * 48 * 4
