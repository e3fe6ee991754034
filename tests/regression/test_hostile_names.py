"""Whatever a user calls things, generated source holds the name as a comment or an identifier."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from ostinato.codegen.loops.numba_source import comment, function, within_docstring
from ostinato.codegen.loops.statements import Function
from ostinato.pdg.errors import ArgumentError, EquationError
from ostinato.pdg.text.fingerprint import describe

COMMAND = 'y\nimport os; os.system("touch pwned")#'
BREAKS = ("\n", "\r", "\r\n", "\f", "\v", "\0", "\x1c", "\x85", "\u2028", "\u2029")
UNPRINTABLE = (*BREAKS, COMMAND, "\ud800", "x\udcffy", "\u202eevil", "\x1b[2J", "\b", "", "n" * 201)
PRINTABLE = (
    "a b", "q'\"", "b\\n", '"""', "\\", "class", "None", "__import__", "é", "ﬁ", "#", "1", "{x}",
    "main", "np", "arena", "nt", "range", "local", "key", "k0", "tid", "memory", "table", "access",
    "carray", "ld0_x", "st0_x", "ld0_h", "at_x", "o_x", "mm0_h", "KERNELS", "n" * 200,
)  # fmt: skip


def inputs() -> tuple[ot.Tensor, ot.Tensor]:
    t = ot.dims("t")
    return ot.input("x", over=t), ot.input("w", (4, 4))


@pytest.mark.parametrize("name", UNPRINTABLE, ids=ascii)
def test_a_name_that_does_not_print_is_refused_with_the_line(name: str) -> None:
    x, _ = inputs()
    for make in (lambda: ot.Program(**{name: x * 2.0}), lambda: (x * 2.0).named(name)):
        with pytest.raises(ArgumentError, match="test_hostile_names.py:.* is called '") as refused:
            make()
        assert refused.value.remedy.startswith("Use a text of 1 to 200 characters that print")
        assert all(line.isprintable() for line in str(refused.value).split("\n"))


@pytest.mark.parametrize("name", UNPRINTABLE[:-1], ids=ascii)
def test_inputs_and_recurrences_have_identifiers_for_names(name: str) -> None:
    for make in (ot.input, ot.recurrent):
        with pytest.raises(EquationError, match="Use a Python identifier"):
            make(name)


def test_names_of_hidden_outputs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="an output is called `~y`"):
        ot.Program(**{"~y": inputs()[0]})


def test_every_printable_name_names_outputs_and_values() -> None:
    """All of them in one program: some are the same once they are identifiers."""
    x, w = inputs()
    outputs: dict[str, ot.Tensor] = {}
    for k, name in enumerate(PRINTABLE):
        h = ((x + float(k)) * ot.ones((4,))).named(f"{name}'"[-200:]) @ w
        outputs[name] = ot.tanh(h).named(name)
    program = ot.Program(**outputs)
    given = {"x": np.array([0.5, -1.0], "float32"), "w": np.eye(4, dtype="float32")}
    expected, found = program.interpret(**given), program.compile()(**given)
    assert list(found) == list(PRINTABLE)
    for name in PRINTABLE:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)


@pytest.mark.parametrize("name", [n for n in PRINTABLE if n.isidentifier()])
def test_every_identifier_names_inputs_and_recurrences(name: str) -> None:
    t = ot.dims("t")
    x, h = ot.input(name, over=t), ot.recurrent(name, over=t)
    h[0] = 0.0
    h[t + 1] = 0.5 * h + x
    found = ot.Program(**{name: h}).compile()(**{name: [1.0, 2.0, 3.0]})
    assert found[name].tolist() == [0.0, 1.0, 2.5]


@pytest.mark.parametrize("name", [n for n in UNPRINTABLE if 0 < len(n) < 201], ids=ascii)
def test_names_of_functions_and_files_reach_the_source_escaped(name: str) -> None:
    """Python gives functions and files any name, so these are escaped and not refused."""

    def negated(x: object) -> object:
        return -np.asarray(x)

    negated.__name__ = name
    text = "y = ot.exp(ot.host(negated, x, shape=()))"
    space = {"ot": ot, "negated": negated, "x": inputs()[0]}
    exec(compile(text, f"/{name.replace(chr(0), '')}", "exec"), space)
    y = space["y"]
    assert isinstance(y, ot.Tensor)
    compiled = ot.Program(y=y).compile()
    np.testing.assert_allclose(compiled(x=[1.0, 0.0])["y"], np.exp([-1.0, 0.0]), rtol=1e-6)
    for line in compiled.executable.artifact.source.split("\n"):
        assert line.isprintable()


@pytest.mark.parametrize("text", [*UNPRINTABLE[:-2], *PRINTABLE], ids=ascii)
def test_a_comment_and_a_docstring_stay_what_they_are(text: str) -> None:
    source = f'f = 1  {comment(text)}\n"""{within_docstring(text)}"""\n'
    kinds = [type(each) for each in ast.parse(source).body]
    assert kinds == [ast.Assign, ast.Expr] and source.encode()


@pytest.mark.parametrize("end", BREAKS, ids=ascii)
def test_no_line_of_source_can_hold_two(end: str) -> None:
    with pytest.raises(AssertionError, match="no single line of source"):
        function(Function(f"k{end}", (), ()))


def test_a_name_cannot_stand_for_a_line_of_another_program() -> None:
    """The key of a compiled program is a digest of this text."""
    graph = ot.Program(y=inputs()[0]).pdg
    ((_, node),) = graph.outputs
    two = replace(graph, outputs=(("y", node), ("z", node)))
    forged = replace(graph, outputs=(("y' = 0\noutput 'z", node),))
    assert describe(two).count("\n") == describe(forged).count("\n") + 1


def test_nothing_is_run_when_a_program_is_compiled(tmp_path: Path) -> None:
    code = (
        "import ostinato as ot\n"
        f"def f(x): return x\nf.__name__ = {COMMAND!r}\n"
        "print(ot.Program(y=ot.host(f, ot.input('x'), shape=())).compile()(x=2.0)['y'])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == "2.0\n" and list(tmp_path.iterdir()) == []
