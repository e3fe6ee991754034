"""The four root links are shortcuts for people: Python sees one package name only."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
LINKS = ("rewrite", "pdg", "codegen", "runtime")


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", LINKS)
def test_the_root_link_is_relative_and_points_into_the_package(name: str) -> None:
    assert (ROOT / name).readlink() == Path("src", "ostinato", name)
    assert (ROOT / name / "__init__.py").is_file()


@pytest.mark.parametrize("name", LINKS)
def test_the_bare_name_cannot_be_imported_from_elsewhere(name: str, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); import {name}"
    # -P leaves the current folder out of the path, as for an installed program.
    found = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True)
    assert f"No module named '{name}'" in found.stderr.decode()


def test_every_source_file_is_a_module_of_the_package() -> None:
    assert [path.name for path in SOURCE.iterdir() if path.suffix != ".egg-info"] == ["ostinato"]
    for path in sorted(SOURCE.rglob("*.py")):
        assert (path.parent / "__init__.py").is_file(), f"{path.parent} has no __init__.py"
        found = importlib.util.find_spec(module_name(path))
        assert found is not None and found.origin == str(path)


def test_no_frozen_record_with_slots_is_made_through_its_type_arguments() -> None:
    """``Numbers[Any](...)`` sets an attribute afterwards, which Python before 3.13 refuses."""
    trees = [ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    classes = (node for node in nodes if isinstance(node, ast.ClassDef))
    frozen = "dataclass(frozen=True, slots=True)"
    records = {c.name for c in classes if frozen in map(ast.unparse, c.decorator_list)}
    called = (node.func for node in nodes if isinstance(node, ast.Call))
    made = {ast.unparse(each.value) for each in called if isinstance(each, ast.Subscript)}
    assert "Numbers" in records and not records & made
