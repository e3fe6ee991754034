"""A loss that is not finite, when it is checked: called, streamed, and on the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import NonFiniteError
from tests.errors.refusal import here, refusal

ROOT = Path(__file__).parents[2]
REMEDY = "  Lower the learning rate, clip gradients, or look at the steps before it."
SIZES = {"I": 60, "T": 10}


def diverging() -> tuple[ot.Program, str]:
    """Return gradient descent with far too large steps, and the line of its loss."""
    i, t = ot.dims("i t")
    weight = ot.recurrent("weight", over=i)
    loss, where = ((weight * ot.index(t))[i, :] ** 2).mean(), here()
    weight[0] = 1.0
    weight[i + 1] = weight - ot.grad(loss, weight)
    return ot.Program(loss=loss), where


@pytest.fixture(scope="module")
def compiled() -> tuple[Compiled, str]:
    program, where = diverging()
    return program.compile(), where


def test_a_call_names_the_first_bad_iteration(compiled: tuple[Compiled, str]) -> None:
    run, where = compiled
    assert refusal(NonFiniteError, lambda: run(check_finite=True, **SIZES)) == (
        f"{where}: output `loss` is inf at i = 11\n{REMEDY}"
    )


def test_nothing_is_checked_unless_asked(compiled: tuple[Compiled, str]) -> None:
    run, _ = compiled
    assert run(**SIZES)["loss"].shape == (60,)


@pytest.mark.filterwarnings("ignore:the outputs over")
def test_a_stream_ends_at_the_first_bad_iteration(compiled: tuple[Compiled, str]) -> None:
    run, where = compiled
    seen: list[int] = []
    with run.stream("i", check_finite=True, **SIZES) as records:
        text = refusal(NonFiniteError, lambda: seen.extend(r.index for r in records))
    assert seen == list(range(11))
    assert text == f"{where}: output `loss` is inf at i = 11\n{REMEDY}"


def test_an_element_of_a_bad_point_is_named() -> None:
    t = ot.dims("t")
    y, where = ot.log(ot.input("x", (2,), over=t)), here()
    run = ot.Program(y=y).compile()
    assert refusal(NonFiniteError, lambda: run(check_finite=True, x=[[1, 1], [1, 0]])) == (
        f"{where}: output `y` is -inf at t = 1, element [1]\n{REMEDY}"
    )


FILE = """
import ostinato as ot


def main() -> ot.Experiment:
    i, t = ot.dims("i t")
    weight = ot.recurrent("weight", over=i)
    loss = ((weight * ot.index(t))[i, :] ** 2).mean()
    weight[0] = 1.0
    weight[i + 1] = weight - ot.grad(loss, weight)
    program = ot.Program(loss=loss)
    arguments = {"I": 60, "T": 10}
    return ot.Experiment(
        program=program, over=i, arguments=arguments, steps_per_record=10, metric="loss"
    )
"""


def test_the_command_line_stops_and_keeps_what_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "diverging.py").write_text(FILE)
    code = "from ostinato.cli import main; main()"
    arguments = ["run", "diverging.py", "--check-finite", "--out", "out", "--no-progress"]
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "", "NO_COLOR": "1", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stderr.endswith(f"diverging.py:8: output `loss` is inf at i = 11\n{REMEDY}\n")
    rows = (tmp_path / "out" / "metrics.csv").read_text().splitlines()
    assert len(rows) == 1 + 11
