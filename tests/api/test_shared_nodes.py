"""Programs that share equal nodes keep their own places and names."""

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from inspect import currentframe
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.pdg.errors import DomainError, ShapeError
from ostinato.pdg.origin import Origin, Place
from ostinato.pdg.text.printer import show
from tests.garbage import only_new

t = ot.dims("t")


def line() -> int:
    """The line that calls."""
    frame = currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def first() -> tuple[ot.Program, int]:
    twice = (2.0 * ot.input("x", over=t)).named("twice")
    return ot.Program(y=twice + 1.0), line() - 1


def second() -> tuple[ot.Program, int]:
    double = (2.0 * ot.input("x", over=t)).named("doubled_x")
    return ot.Program(y=double + 1.0), line() - 1


def test_a_program_names_its_own_lines_and_values() -> None:
    (one, written_1), (two, written_2) = first(), second()
    for program, written, name in ((one, written_1, "twice"), (two, written_2, "doubled_x")):
        assert f"test_shared_nodes.py:{written}" in str(program)
        assert name in str(program)
    assert "doubled_x" not in str(one) and "twice" not in str(two)


def test_an_earlier_program_is_compiled_with_its_own_places(tmp_path: Path) -> None:
    (one, written), _ = first(), second()
    page = tmp_path / "page.html"
    one.compile(threads=1).explain(T=8).to_html(page)
    text = page.read_text(encoding="utf-8")
    assert f"test_shared_nodes.py:{written}" in text
    assert "doubled_x" not in text


def test_a_program_that_is_gone_leaves_no_places() -> None:
    with only_new():
        first()
        gc.collect()
    two, written = second()
    assert f"test_shared_nodes.py:{written}" in str(two)


def test_two_names_of_one_value_stay_with_their_tensors() -> None:
    x = ot.input("x", over=t)
    alpha, beta = (x * 2.0).named("alpha"), (x * 2.0).named("beta")
    assert repr(alpha) == "<alpha: float32[] over (t)>"
    assert repr(beta) == "<beta: float32[] over (t)>"
    assert alpha.node == beta.node


def test_a_program_uses_the_first_name_of_a_value_and_knows_the_others() -> None:
    x = ot.input("x", over=t)
    alpha, beta = (x * 2.0).named("alpha"), (x * 2.0).named("beta")
    written = f"test_shared_nodes.py:{line() - 1}"
    program = ot.Program(y=alpha + beta)
    assert "y[t] = alpha + alpha" in str(program)
    (origin,) = (n.origin for n in program.pdg.nodes() if n == alpha.node)
    assert origin == Origin(written, "alpha", (Origin(written, "beta"),))


def test_every_name_of_a_value_is_printed_and_drawn(tmp_path: Path) -> None:
    x = ot.input("x", over=t)
    alpha = (x * 2.0).named("alpha")
    beta = (x * 2.0).named("beta")
    inner, outer = ot.Program(y=alpha - beta), ot.Program(y=alpha, z=beta)
    assert f"\nbeta = alpha     # test_shared_nodes.py:{line() - 2}" in str(inner)
    assert [text.partition("   ")[0] for text in str(outer).splitlines()] == [
        "y[t] = x·2", "alpha = y", "beta = y", "z = y",
    ]  # fmt: skip
    assert show(inner.pdg).endswith("\nbeta = alpha[t]")
    assert "beta = alpha" in inner.to_svg()
    page = tmp_path / "page.html"
    inner.compile(threads=1).explain(T=8).to_html(page)
    assert "beta = alpha" in page.read_text(encoding="utf-8")


def test_a_moved_value_has_the_name_that_its_program_gives_it() -> None:
    x = ot.input("x", (3,), over=t)
    alpha, beta = (x * 2.0).named("alpha"), (x * 2.0).named("beta")
    text = str(ot.Program(y=alpha + ot.where(t > 0, beta[t - 1], 0.0), z=beta[..., 0]))
    assert "alpha + (alpha[t-1] if t ≥ 1 else 0)" in text
    assert [line for line in text.splitlines() if line.startswith("beta")] == [
        next(line for line in text.splitlines() if line.startswith("beta = alpha "))
    ]


def test_errors_of_a_program_give_every_name_of_a_value() -> None:
    x = ot.input("x", over=t)
    alpha, beta = (x * 2.0).named("alpha"), (x * 2.0).named("beta")
    with pytest.raises(DomainError, match="`alpha` \\(or `beta`\\) is read at t = -1"):
        ot.Program(y=alpha + beta[t - 1])


def test_a_page_tells_names_that_were_given_after_an_equal_program_was_kept(tmp_path: Path) -> None:
    def page(*names: str) -> str:
        x = ot.input("x", over=t)
        a, b = ((x * 2.0).named(name) for name in names)
        ot.Program(y=a - b).compile(threads=1).explain(T=8).to_html(tmp_path / "page.html")
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    assert "second = first" in page("first", "second")
    assert "third = first" in page("first", "third")


def test_a_value_has_the_name_that_its_program_gives_it() -> None:
    x = ot.input("x", over=t)
    alpha, beta = (x * 2.0).named("alpha"), (x * 2.0).named("beta")
    one, two = ot.Program(y=alpha + 1.0), ot.Program(y=beta + 1.0)
    assert "alpha[t] = x·2" in str(one)
    assert "beta[t] = x·2" in str(two)
    assert "beta" not in str(one) and "alpha" not in str(two)


def test_the_name_of_an_output_stays_in_its_program() -> None:
    doubled = ot.input("x", over=t) * 2.0
    one, two = ot.Program(first=doubled), ot.Program(second=doubled)
    assert str(one).startswith("first[t]") and str(two).startswith("second[t]")
    assert doubled.node.label == ""


def test_reading_a_graph_changes_nothing_elsewhere() -> None:
    (one, _), (two, _) = first(), second()
    seen = [(node.where, node.label) for node in two.pdg.nodes()]
    assert str(one) == str(one)
    assert [(node.where, node.label) for node in two.pdg.nodes()] == seen


def test_errors_name_the_tensor_that_is_wrong() -> None:
    x = ot.input("x", (3,), over=t)
    alpha, beta = (x * 2.0).named("alpha"), (x * 2.0).named("beta")
    w = ot.input("w", (4, 2))
    for tensor, name in ((alpha, "alpha"), (beta, "beta")):
        with pytest.raises(ShapeError, match=f"`{name}`"):
            _ = tensor @ w


def test_programs_of_two_threads_have_names_and_lines_of_their_own() -> None:
    def written(name: str) -> str:
        value = ot.exp(ot.input("x", over=t) * 2.0).named(name)
        texts = {str(ot.Program(y=value + float(k))) for k in range(10)}
        assert all(name in text for text in texts)
        return "".join(texts)

    with ThreadPoolExecutor(4) as pool:
        names = [f"name_{k}" for k in range(8)]
        for name, text in zip(names, pool.map(written, names), strict=True):
            assert not any(other in text for other in names if other != name)


def test_a_gradient_marks_what_it_passes_in_its_own_program_only() -> None:
    w = ot.input("w")
    inner = ot.tanh(w)
    loss = inner * inner
    plain = ot.Program(y=loss)
    learned = ot.Program(y=loss, g=ot.grad(loss, w))
    assert not any(isinstance(n.where, Place) and n.where.in_loss for n in plain.pdg.nodes())
    found = [n for n in learned.pdg.nodes() if n == inner.node]
    assert [(n.where, isinstance(n.where, Place) and n.where.in_loss) for n in found] == [
        (inner.node.where, True)
    ]


SHARING = """
import ostinato as ot

t = ot.dims("t")
x = ot.input("x", over=t)


def one() -> ot.Program:
    w = ot.input("w")
    alpha, beta = (w * x).named("alpha"), (w * x).named("beta")
    loss = (alpha * beta)[:].sum()
    return ot.Program(loss=loss, slope=ot.grad(loss, w))


def two() -> ot.Program:
    beta = (ot.input("w") * x).named("beta")
    total = ot.recurrent("total", over=t)
    total[0] = beta[0]
    total[t + 1] = total + beta[t + 1]
    return ot.Program(total=total, last=(beta * beta)[:].sum())
"""
TELL = """
for make in ({}):
    program = make()
    first = str(program)
    source = program.compile(threads=1).explain(T=4).source
    assert program.pdg is program.pdg and str(program) == first
    print(first, source, sep="\\n", end="\\0")
"""


def told(folder: Path, *makers: str) -> list[str]:
    """What a process of its own prints of programs."""
    file = folder / "sharing.py"
    file.write_text(
        SHARING + TELL.format(" ".join(f"{make}," for make in makers)), encoding="utf-8"
    )
    ran = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split("\0")[:-1]


def test_programs_of_one_process_print_as_they_do_alone(tmp_path: Path) -> None:
    alone = told(tmp_path, "one") + told(tmp_path, "two")
    assert told(tmp_path, "one", "two") == alone
    assert told(tmp_path, "two", "one", "two") == [alone[1], *alone]
