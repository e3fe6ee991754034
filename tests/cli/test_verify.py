"""``ostinato explain --certificate`` writes what ``ostinato verify`` checks."""

import json
from io import StringIO
from pathlib import Path

from rich.console import Console

from ostinato.certificate.document import sum_of
from ostinato.cli.explain import Asked, Written, explain, verify

PROGRAM = """
import ostinato as ot
def main() -> ot.Program:
    t = ot.dims("t")
    return ot.Program(y=ot.input("x", over=t)[: t + 1].sum(0))
"""


def written(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    files = Written(certificate=folder / "c.json")
    explain(Asked(str(folder / "program.py")), files, Console(file=StringIO()))
    return folder / "c.json"


def test_a_certificate_is_written_and_holds(tmp_path: Path) -> None:
    console = Console(file=StringIO(), width=200)
    place = str(tmp_path / "program.py")
    assert verify(written(tmp_path), place, (), tmp_path / "found.json", console) == 0
    assert isinstance(console.file, StringIO)
    assert "the certificate holds" in console.file.getvalue()
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["holds"] and [f["check"] for f in found["findings"]][:2] == ["program", "rules"]


def test_a_check_that_fails_is_shown_and_is_the_exit_status(tmp_path: Path) -> None:
    path = written(tmp_path)
    data = json.loads(path.read_text())
    data["rules"][0]["right"] = "x"
    data["sum"] = sum_of(data)
    path.write_text(json.dumps(data))
    console = Console(file=StringIO(), width=200)
    assert verify(path, None, (), None, console) == 1
    assert isinstance(console.file, StringIO)
    assert "is not the one of the table" in console.file.getvalue()


def test_a_certificate_of_another_program_does_not_hold(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM.replace(".sum(0)", ".max(0)"))
    console = Console(file=StringIO(), width=200)
    assert verify(path, str(tmp_path / "program.py"), (), None, console) == 1
    assert isinstance(console.file, StringIO)
    assert "another program than the one given" in console.file.getvalue()
