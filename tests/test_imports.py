"""Imports go one way, and every wrapped library has one door."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"

# What each inner part may import from ostinato; the API around them may import everything.
ARROWS = {
    "ostinato.pdg.switches": ("ostinato.pdg.errors",),
    "ostinato.pdg": ("ostinato.pdg", "ostinato.pdg.switches"),
    "ostinato.provenance.place": (
        "ostinato.provenance.parts",
        "ostinato.pdg.origin",
        "ostinato.pdg.plaintext",
    ),
    "ostinato.provenance.parts": ("ostinato.pdg.origin",),
    "ostinato.machine.profile": (),
    "ostinato.rewrite": (
        "ostinato.rewrite",
        "ostinato.pdg",
        "ostinato.provenance.place",
        "ostinato.pdg.switches",
        "ostinato.machine.profile",
    ),
    "ostinato.codegen": (
        "ostinato.codegen",
        "ostinato.pdg",
        "ostinato.pdg.switches",
        "ostinato.machine.profile",
    ),
    "ostinato.report": ("ostinato.report", "ostinato.pdg"),
    "ostinato.runtime": (
        *("ostinato.runtime", "ostinato.report", "ostinato.pdg", "ostinato.pdg.switches"),
    ),
}

# The only modules that may import each wrapped library.
DOORS = {
    "islpy": ("ostinato.pdg.isl",),
    "egglog": ("ostinato.rewrite.engine.egglog_session",),
    "numba": ("ostinato.codegen.cpu", "ostinato.codegen.cuda", "ostinato.runtime"),
    "llvmlite": ("ostinato.codegen.cpu", "ostinato.codegen.cuda", "ostinato.runtime"),
}


def modules() -> dict[str, Path]:
    paths = sorted((SOURCE / "ostinato").rglob("*.py"))
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of everything the file imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def wrong_arrows(module: str, path: Path) -> list[str]:
    part = next((part for part in ARROWS if is_inside(module, (part,))), None)
    if part is None:
        return []
    own = [name for name in imported(path) if is_inside(name, ("ostinato",))]
    return [name for name in own if not is_inside(name, ARROWS[part])]


def wrong_doors(module: str, path: Path) -> list[str]:
    libraries = {name.partition(".")[0] for name in imported(path)}
    return [name for name in libraries & DOORS.keys() if not is_inside(module, DOORS[name])]


@pytest.mark.parametrize("module", modules())
def test_the_module_imports_only_what_its_part_may(module: str) -> None:
    assert wrong_arrows(module, modules()[module]) == []


@pytest.mark.parametrize("module", modules())
def test_the_module_leaves_wrapped_libraries_to_their_door(module: str) -> None:
    assert wrong_doors(module, modules()[module]) == []


def test_a_wrong_arrow_is_seen_also_inside_a_function(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def f():\n    from ostinato import rewrite\n    import islpy as isl\n")
    assert wrong_arrows("ostinato.codegen.bad", path) == ["ostinato.rewrite"]
    assert wrong_doors("ostinato.codegen.bad", path) == ["islpy"]
