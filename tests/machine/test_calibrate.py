import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import ostinato as ot
from ostinato.calibration import workloads
from ostinato.calibration.measure import Effort, Stopwatch, level_bytes, stages
from ostinato.calibration.workloads import FUNCTIONS, Repetition, numbers
from ostinato.cli.calibrate import calibrate as calibrate_machine
from ostinato.cli.calibrate import table
from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.machine.profile import Profile, from_json
from ostinato.machine.profile_store import current, forget

HASTY = Effort(slope_s=0.0, runs=1, most_bytes=1 << 20)


def clocked(times: list[float]) -> Stopwatch:
    """A stopwatch whose clock shows these times."""
    return Stopwatch(HASTY, iter(times).__next__)


def nothing() -> Repetition:
    return workloads.repeated(workloads.multiplied, numbers(workloads.FEW))


def test_a_step_is_what_longer_runs_take_longer() -> None:
    watch = clocked([0.0, 1.0, 0.0, 5.0, 0.0, 38.0, 0.0, 10.0])
    # two steps take 1 s and 32 take 5 s: long enough; then 32 steps in 38 s and 4 in 10 s
    assert watch.step_ns(nothing()) == pytest.approx(28 / 28 * 1e9)


def test_a_step_is_never_free() -> None:
    assert clocked([0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 2.0]).step_ns(nothing()) > 0


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_a_repeated_function_stays_finite(fn: str) -> None:
    i = ot.dims("i")
    h = ot.recurrent("h", shape=(4,), over=i)
    h[0] = ot.constant(numbers(4))
    h[i + 1] = workloads.multiplied(0.0 * FUNCTIONS[fn](h) + h)
    found = ot.Program(y=h[i.size - 1]).interpret(I=50)["y"]
    assert ((found > 0.5) & (found < 1.0)).all()


def test_the_batch_that_workers_share_is_too_much_for_one() -> None:
    """One worker did all of it: nobody waited for anybody, and a barrier seemed to be free."""
    shared = workloads.shared(2)
    (elements,) = re.findall(rf"if (.+) <= {CPU.alone_elements}:", shared.run.explain().source)
    assert eval(elements, {"B": len(np.asarray(shared.arguments["x"]))}) > CPU.alone_elements


def test_the_matrix_that_is_read_in_strides_is_not_transposed_by_squares() -> None:
    square = numbers(64 * 64).reshape(64, 64)
    source = workloads.repeated(workloads.turned, square).run.explain().source
    assert "transpose" not in source and "a1 * 64 + a0)" in source


def test_levels_grow() -> None:
    sizes = workloads.level_sizes(level_bytes(), most_bytes=1 << 40)
    assert sizes == sorted(set(sizes)) and len(sizes) == len(Profile().byte_ns)


def test_every_stage_has_a_name_of_its_own() -> None:
    names = [name for name, _ in stages(HASTY)]
    assert len(set(names)) == len(names) >= len(FUNCTIONS) + 10


def test_the_table_shows_measured_beside_shipped() -> None:
    console = Console(file=StringIO(), width=120)
    console.print(table(Profile(leaf_ns=77.0)))
    assert isinstance(console.file, StringIO)
    shipped = re.escape(f"{Profile().leaf_ns:g}")
    text = console.file.getvalue()
    assert re.search(rf"start of a vector loop +│ 77 +│ {shipped} ", text)


def test_a_calibration_is_stored_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("OSTINATO_PROFILE")
    monkeypatch.setattr(workloads, "FUNCTIONS", {"div": FUNCTIONS["div"]})
    monkeypatch.setattr(workloads, "WAITING", {"div": workloads.WAITING["div"]})
    console = Console(file=StringIO(), width=120)
    profile = calibrate_machine(tmp_path / "profile.json", console, HASTY)
    assert from_json((tmp_path / "profile.json").read_text()) == profile
    assert current().profile == profile and current().source == "measured"
    forget()
