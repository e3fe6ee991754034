"""What is asked of Numba CUDA: allocations, copies, launches, and what its failures become."""

import numpy as np
import pytest

from ostinato.pdg.errors import MemoryLimitError, OptionError
from ostinato.runtime.run import cuda_device
from ostinato.runtime.run.cuda_device import CudaDevice, CudaModule
from ostinato.runtime.run.device import Arguments
from tests.cuda.fake_numba import RESIDENT, Cuda, Kernel, integers

SOURCE = """
from tests.cuda.fake_numba import Arena, kernel

PHASES, REPEATS = 2, True
THREADS, SHARED = 256, 64

@kernel
def main(arena, at, control, stride, seed, N):
    arena.float32.body[at.body[0]] += N
    control.body[1] = seed

@kernel
def phase_0(arena, at, stride, items, N):
    arena.float32.body[at.body[0]] += N

@kernel
def phase_1(arena, at, stride, items, key, N):
    if key > 2**31:
        raise ValueError("no such key")
    arena.float32.body[at.body[0]] *= 2

def run(launch, wait, control, blocks, key, N):
    launch(phase_0, 9, (9, N))
    launch(phase_1, 1, (1, key, N))
    wait()
    control[1] = key
"""


def module(monkeypatch: pytest.MonkeyPatch, room: int = 1 << 20) -> CudaModule:
    monkeypatch.setattr(cuda_device, "_cuda", lambda: Cuda(room))
    return CudaDevice().load(SOURCE, None)


def given(blocks: int = 2, seed: int = 5) -> Arguments:
    return Arguments(np.array([1], np.int64), np.zeros(3, np.int64), 0, seed, blocks, (7,))


def kernel(of: CudaModule, name: str) -> Kernel:
    found = of.scope[name]
    assert isinstance(found, Kernel)
    return found


def test_bytes_go_to_their_place_and_come_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = module(monkeypatch).memory(21)
    assert memory.size_bytes == 24
    memory.put(4, np.arange(8, dtype=np.uint8))
    out = np.full(4, 99, np.uint8)
    memory.take(6, out[1:3])
    assert out.tolist() == [99, 2, 3, 99]


def test_a_cooperative_run_is_one_launch_whose_words_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of, arguments = module(monkeypatch), given()
    memory, out = of.memory(16), np.zeros(4, np.uint8)
    wait = memory.run(arguments)
    assert arguments.control.tolist() == [0, 0, 0]
    wait()
    memory.take(4, out)
    assert out.view(np.float32).tolist() == [7.0]
    assert arguments.control.tolist() == [0, 5, 0]
    memory.run(arguments)
    assert kernel(of, "main").launches == [(2, 64)] * 2
    assert len(kernel(of, "main").compiled) == 1


def test_phases_are_launched_for_their_items_and_noted_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of, arguments, found = module(monkeypatch), given(), list[tuple[str, int, int]]()
    memory, out = of.memory(16), np.zeros(4, np.uint8)
    assert of.ready_apart() >= 0
    memory.run_apart(arguments, lambda name, begun, ended: found.append((name, begun, ended)))
    memory.take(4, out)
    assert out.view(np.float32).tolist() == [14.0]
    assert [name for name, _, _ in found] == ["phase_0", "phase_1"]
    assert found[0][1] <= found[0][2] <= found[1][1] <= found[1][2]
    assert kernel(of, "phase_0").launches == [(2, 64)]
    assert kernel(of, "phase_1").launches == [(1, 64)]
    assert arguments.control.tolist() == [0, 5, 0]


def test_what_is_launched_apart_is_compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    of = module(monkeypatch)
    of.ready_apart()
    assert [integers(types) for types in kernel(of, "phase_0").compiled] == [3]
    assert [integers(types) for types in kernel(of, "phase_1").compiled] == [4]
    assert not kernel(of, "main").compiled and not kernel(of, "phase_0").launches


def test_more_blocks_than_are_resident_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = module(monkeypatch).memory(16)
    with pytest.raises(OptionError) as failure:
        memory.run(given(blocks=RESIDENT + 1))
    assert str(failure.value) == (
        "the device runs 4 blocks of this kernel at once, and 5 are asked\n"
        "  Compile with threads=4."
    )


def test_an_arena_without_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MemoryLimitError, match="the run takes 4,096 bytes, more than are free"):
        module(monkeypatch, room=1024).memory(4096)


def test_what_a_driver_reports_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    of = module(monkeypatch)
    with pytest.raises(OptionError, match="the device failed: ValueError: no such key"):
        of.memory(16).run_apart(given(seed=2**31 + 1), lambda name, begun, ended: None)
