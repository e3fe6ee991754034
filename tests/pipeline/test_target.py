"""The target that a user names decides code and key; what it computes is the program's."""

from dataclasses import replace

import numpy as np
import pytest

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.target import Target
from ostinato.compiler import options
from tests.pipeline.programs import SMALL


@pytest.mark.parametrize(
    "other",
    [
        replace(CPU, name="brisk", alone_elements=64),
        replace(CPU, name="wide", tiles=replace(CPU.tiles, usual=64)),
        replace(CPU, name="lined", line_bytes=128),
    ],
    ids=lambda other: other.name,
)
def test_another_target_makes_another_program_with_the_same_meaning(
    other: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(options.TARGETS, other.name, lambda: other)
    make, extents = SMALL["crowd"]
    usual, changed = (make().compile(target=name, threads=2) for name in ("cpu", other.name))
    assert usual.executable.key != changed.executable.key
    one, two = (run.executable.artifact for run in (usual, changed))
    sizes = one.place(extents, 2), two.place(extents, 2)
    assert (one.source, sizes[0].total_bytes) != (two.source, sizes[1].total_bytes)
    found = usual(seed=3, **extents), changed(seed=3, **extents)
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=1e-4, atol=1e-5)


def test_the_same_name_with_other_sizes_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    make, _ = SMALL["crowd"]
    before = make().compile(threads=2).executable.key
    monkeypatch.setitem(options.TARGETS, "cpu", lambda: replace(CPU, far_bytes=1 << 30))
    assert make().compile(threads=2).executable.key != before
