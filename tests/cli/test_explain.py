import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from ostinato.cli.doctor import diagnose
from ostinato.cli.explain import Asked, Written, explain
from ostinato.pdg.errors import OptionError

PROGRAM = """
import ostinato as ot
def main(factor: float = 2.0) -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(y=x * factor)
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def test_the_explanation_is_text_json_and_a_page(place: str, tmp_path: Path) -> None:
    console = Console(file=StringIO(), width=200)
    written = Written(tmp_path / "explain.json", tmp_path / "explain.html", limits=True)
    explain(Asked(place, ["factor=3"]), written, console)
    assert "== limits of memory ==" in console.file.getvalue()  # type: ignore[attr-defined]
    found = json.loads((tmp_path / "explain.json").read_text())
    assert found.keys() >= {"rules", "kernels", "schedule", "source", "memory", "cost"}
    page = (tmp_path / "explain.html").read_text()
    assert page.startswith("<!doctype html>") and 'id="compiled-y"' in page


def test_predictions_are_for_the_extents_that_are_hinted(place: str, tmp_path: Path) -> None:
    def predicted(*hints: str) -> float:
        written = Written(tmp_path / "explain.json")
        explain(Asked(place, hints=hints), written, Console(file=StringIO()))
        found = json.loads((tmp_path / "explain.json").read_text())
        return float(found["cost"]["k0_ns"])

    assert predicted("T=100000") > 100 * predicted()
    with pytest.raises(OptionError, match="`Q` is no extent of the program"):
        predicted("Q=3")


def test_the_doctor_compiles_and_runs_a_program(tmp_path: Path) -> None:
    console = Console(file=StringIO(), width=200)
    assert diagnose(tmp_path / "doctor.json", console) == 0
    found = {each["subject"]: each for each in json.loads((tmp_path / "doctor.json").read_text())}
    assert found["compile and run"]["is_fine"] and found["numba"]["is_fine"]
