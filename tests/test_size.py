"""Files stay under 500 lines and functions under 50; there is no exemption list."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "bench", "proofs", "examples")
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 50


def python_files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def functions(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Each function in a file, with its lines; no expression holds one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            assert child.end_lineno is not None
            yield child.name, child.end_lineno - child.lineno + 1
        if not isinstance(child, ast.expr):
            yield from functions(child)


def test_every_file_is_small() -> None:
    lines = {str(path): len(path.read_text().splitlines()) for path in python_files()}
    assert {path: n for path, n in lines.items() if n > MAX_FILE_LINES} == {}


def test_every_function_is_small() -> None:
    found = {path: functions(ast.parse(path.read_text())) for path in python_files()}
    large = [(path, f) for path, of in found.items() for f in of if f[1] > MAX_FUNCTION_LINES]
    assert large == []


def test_a_function_is_seen_wherever_it_stands() -> None:
    text = "class A:\n  if x:\n    try: pass\n    except E:\n      def f():\n        pass\n"
    text += "match x:\n  case 1:\n    with y:\n      async def g(): pass\n"
    assert list(functions(ast.parse(text))) == [("f", 2), ("g", 1)]
