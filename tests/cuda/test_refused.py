"""What cannot run is refused with the construct, the line and a remedy; nothing falls back."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.cli.doctor import gpu
from ostinato.pdg.errors import CertificateError, OptionError
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


@pytest.mark.cuda_sim
def test_a_loop_is_not_left_and_entered_again(simulate: Callable[..., None]) -> None:
    program, given = recurrence()
    simulate()
    run = program.compile(target="cuda")
    with pytest.raises(OptionError, match="has no stamps of the time yet"):
        run.profile(**given)
