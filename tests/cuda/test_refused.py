"""What cannot run is refused with the construct, the line and a remedy; nothing falls back."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.cli.doctor import gpu
from ostinato.pdg.errors import CertificateError, MemoryLimitError, OptionError
from ostinato.runtime.run import cuda_device
from tests.cuda.programs import recurrence


def test_a_machine_without_a_device_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_device, "missing", lambda: "the package numba-cuda is not installed")
    program, _ = recurrence()
    with pytest.raises(OptionError) as failure:
        program.compile(target="cuda")
    where, told = str(failure.value).split(": ", 1)
    assert "test_refused.py" in where
    assert told == (
        'target="cuda" cannot run here: the package numba-cuda is not installed\n'
        "  Install ostinato[cuda12] or ostinato[cuda13] on a machine with an NVIDIA GPU and its "
        'driver, or compile with target="cpu".'
    )


def test_the_doctor_says_what_a_device_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_device, "missing", lambda: "no NVIDIA driver or no GPU was found")
    found = gpu()
    assert found.is_fine, "programs for the CPU need no GPU"
    assert found.detail.startswith("no NVIDIA driver or no GPU was found")
    assert "ostinato[cuda13]" in found.detail


@pytest.mark.cuda_sim
def test_a_call_of_python_is_refused_at_its_line(simulate: Callable[..., None]) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    y = ot.host(np.sin, x, shape=(), dtype="float32")
    simulate()
    with pytest.raises(OptionError) as failure:
        ot.Program(y=y).compile(target="cuda")
    assert "test_refused.py" in str(failure.value)
    assert "`sin` is a Python function, and target='cuda' calls none" in str(failure.value)


@pytest.mark.cuda_sim
def test_checked_addresses_and_certificates_are_refused(
    simulate: Callable[..., None], tmp_path: Path
) -> None:
    program, _ = recurrence()
    simulate()
    with pytest.raises(
        OptionError, match="`checks` has \"addresses\", and target='cuda' checks none"
    ):
        program.compile(target="cuda", checks="addresses")
    with pytest.raises(CertificateError, match="target='cuda' has no certificates"):
        program.compile(target="cuda", certificate=tmp_path / "it")


def history(steps: int) -> tuple[ot.Program, dict[str, int]]:
    """A program that keeps all steps of a vector on the device, and returns one number."""
    t = ot.dims("t")
    x = ot.recurrent("x", (64,), over=t)
    x[0] = 1.0
    x[t + 1] = x * 0.5 + 1.0
    weights = ot.random.uniform((64,), over=t)
    backwards = x[(t.size - 1) - t]  # the last step first, so that all are kept
    return ot.Program(y=(backwards * weights).sum(0)[:].sum(0)), {"T": steps}


@pytest.mark.cuda_sim
def test_a_run_that_the_device_cannot_hold_is_refused(simulate: Callable[..., None]) -> None:
    program, extents = history(300)
    simulate(memory_bytes=50_000)
    compiled = program.compile(target="cuda")
    assert compiled.explain(**extents).memory.predicted_peak_bytes > 50_000
    with pytest.raises(MemoryLimitError) as failure:
        compiled(**extents)
    assert "the run at T=300 takes" in str(failure.value)
    assert "simulated has 50,000" in str(failure.value)
    assert np.isfinite(compiled(T=30)["y"])


@pytest.mark.cuda_sim
def test_what_stays_on_the_device_needs_no_memory_of_the_host(
    simulate: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, extents = history(300)
    simulate()
    compiled = program.compile(target="cuda")
    monkeypatch.setattr("ostinato.pdg.limits.physical_bytes", lambda: 50_000)
    assert np.isfinite(compiled(**extents)["y"])
