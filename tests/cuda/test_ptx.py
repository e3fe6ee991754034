"""Kernels compile to PTX for devices of three kinds; ptxas says what they take of one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cuda import offline
from tests.cuda.every_function import functions, source
from tests.cuda.programs import PROGRAMS

LACKS = offline.lacks()
pytestmark = [
    pytest.mark.cuda_ptx,
    pytest.mark.skipif(bool(LACKS), reason=f"{LACKS}: pip install 'ostinato[ptx]'"),
]
KINDS = ((8, 0), (9, 0), (10, 0))
EVERYWHERE = ("network",)  # all others for one kind of device, which takes a third of the time
SMALL = [name for name in PROGRAMS if name not in ("reinforce", "ragged", "ppo")]
MOST_REGISTERS = 255  # of a thread, of which fewer leave room for more blocks


def module(name: str, exact: bool = False) -> tuple[str, int]:
    """The source of a program, and how many int64 its main kernel takes."""
    program, _ = PROGRAMS[name]()
    found = program.compile(target="cuda", threads=2, exact=exact).executable.artifact
    return found.source, 2 + len(found.interface.extents)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_elementary_function_compiles(kind: tuple[int, int]) -> None:
    assert len(functions()) > 100
    assert ".visible" in offline.ptx(source(), "k0", 0, kind)


@pytest.mark.parametrize("name", SMALL)
def test_kernels_compile_without_spilling(
    name: str, simulate: Callable[..., None], tmp_path: Path
) -> None:
    simulate()
    text, integers = module(name)
    for kind in KINDS if name in EVERYWHERE else KINDS[1:2]:
        found = offline.ptx(text, "main", integers, kind)
        if offline.ptxas() is not None:
            report = offline.report(found, kind, tmp_path)
            assert report.registers <= MOST_REGISTERS
            assert report.spilled_bytes == 0, f"{name} on {kind}: {report}"


def test_phases_compile_as_kernels_of_their_own(simulate: Callable[..., None]) -> None:
    simulate()
    text, _ = module("crowd")
    for head in re.findall(r"^def (phase_\d+)\((.*)\):", text, re.MULTILINE):
        name, parameters = head
        integers = parameters.count(",") - 1  # after the arena and the table
        assert "bar.sync" in offline.ptx(text, name, integers, (9, 0))


def test_exact_kernels_round_before_they_add(simulate: Callable[..., None]) -> None:
    simulate()
    joined, apart = (
        offline.ptx(*_parts("crowd", exact), (9, 0)).count("fma.rn") for exact in (False, True)
    )
    assert joined > 0
    assert apart == 0


def _parts(name: str, exact: bool) -> tuple[str, str, int]:
    text, integers = module(name, exact)
    return text, "main", integers


@pytest.mark.parametrize("name", ["reinforce", "ppo"])
def test_whole_algorithms_compile(name: str, simulate: Callable[..., None]) -> None:
    simulate()
    text, integers = module(name)
    assert "bar.sync" in offline.ptx(text, "main", integers, (9, 0))
