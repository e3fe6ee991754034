"""A simulated device stands for one that this machine does not have."""

from collections.abc import Callable

import pytest

from ostinato.runtime.run import cuda_device
from tests.cuda.simulated import SimulatedDevice


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let programs for CUDA run on a simulated device with these properties."""

    def use(
        can_cooperate: bool = True, threads: int = 4, order: int = 0, memory_bytes: int = 1 << 30
    ) -> None:
        made = SimulatedDevice(can_cooperate, threads, order, memory_bytes=memory_bytes)
        monkeypatch.setattr(cuda_device, "find", lambda: made)

    return use
