"""Memory of results goes back when nobody holds them, and never before."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato.runtime.run import frame
from ostinato.runtime.run.result_pool import HUGE, PAGE, WORTH_HUGE, Pool, block_size
from tests.garbage import only_new

Array = npt.NDArray[Any]


def address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def test_memory_comes_back_when_the_array_is_gone() -> None:
    pool = Pool()
    first = pool.empty((3, 5000), "float32")
    assert first.shape == (3, 5000) and first.dtype == np.float32 and first.flags.writeable
    place = address(first)
    del first
    assert pool.waiting_bytes == block_size(60_000)
    assert address(pool.empty((15_000,), "int32")) == place and pool.waiting_bytes == 0


@pytest.mark.parametrize("how", ["row", "view", "reshaped", "buffer"])
def test_what_refers_to_an_array_keeps_its_memory(how: str) -> None:
    pool = Pool()
    array = pool.empty((4, 1024), "float32")
    ways: dict[str, Any] = {
        "row": array[1:2, ::2],
        "view": array.view(np.int32).T,
        "reshaped": array.reshape(-1)[5:].reshape(-1, 1)[0],
        "buffer": array.data,
    }
    held = ways.pop(how)
    place = address(array)
    del array, ways
    assert address(pool.empty((4, 1024), "float32")) != place
    del held
    assert pool.waiting_bytes == 2 * block_size(16_384)


def test_what_waits_is_bounded_and_the_oldest_goes_first() -> None:
    pool = Pool(kept=3 * PAGE)
    arrays = [pool.empty((PAGE,), "uint8") for _ in range(5)]
    last = [address(array) for array in arrays[2:]]
    for k in range(5):
        arrays[k] = np.empty(0)
    assert pool.waiting_bytes == 3 * PAGE
    taken = [pool.empty((PAGE,), "uint8") for _ in range(3)]
    assert sorted(map(address, taken)) == sorted(last)
    del taken
    pool.release()
    assert pool.waiting_bytes == 0


def test_a_block_that_is_larger_than_what_may_wait_is_given_up() -> None:
    pool = Pool(kept=PAGE)
    pool.empty((2 * PAGE,), "uint8")
    assert pool.waiting_bytes == 0


def test_large_blocks_are_whole_huge_pages() -> None:
    array = Pool().empty((WORTH_HUGE + 1,), "uint8")
    assert address(array) % HUGE == 0 and block_size(array.size) % HUGE == 0


def test_an_array_in_a_cycle_comes_back_while_another_is_taken() -> None:
    pool = Pool()
    with only_new():
        cycle: list[object] = [pool.empty((PAGE,), "uint8")]
        cycle.append(cycle)
        del cycle
        with pool._lock:  # pyright: ignore[reportPrivateUsage]
            gc.collect()  # as if in the middle of taking
            assert pool.waiting_bytes == 0
    array = pool.empty((PAGE,), "uint8")
    assert pool.waiting_bytes == 0 and array.size == PAGE


def test_threads_never_hold_the_same_memory() -> None:
    pool, wrong = Pool(), list[int]()

    def work(number: int) -> None:
        for _ in range(200):
            array = pool.empty((PAGE,), "int64")
            array[:] = number
            wrong.extend(array[array != number].tolist())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and pool.waiting_bytes <= 8 * block_size(8 * PAGE)  # old and new


def test_results_that_are_held_are_not_overwritten_by_later_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frame, "LARGE", 0)
    t, b = ot.dims("t b")
    run = ot.Program(y=2 * ot.input("x", over=(t, b))).compile(widths={"b": 32})
    x = np.ones((3, 64), "float32")
    held = [run(x=k * x)["y"] for k in range(4)]
    rows = [run(x=k * x)["y"][1] for k in range(4)]
    assert [array[0, 0] for array in held] == [0, 2, 4, 6]
    assert [row[5] for row in rows] == [0, 2, 4, 6]


def test_a_call_keeps_nothing_of_its_results() -> None:
    t = ot.dims("t")
    run = ot.Program(y=2 * ot.input("x", over=t)).compile(threads=1)
    gc.disable()
    try:
        found = [weakref.ref(run(x=[1.0, 2.0])["y"].base) for _ in range(3)]
    finally:
        gc.enable()
    assert [ref() for ref in found] == [None] * 3
