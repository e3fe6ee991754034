"""Programs that share equal nodes keep their own places and names."""

import gc
from concurrent.futures import ThreadPoolExecutor
from inspect import currentframe
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.pdg.errors import ShapeError
from ostinato.pdg.origin import Place

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
    written = line() - 1
    program = ot.Program(y=alpha + beta)
    assert "y[t] = alpha + alpha" in str(program)
    origin = program.origins[alpha.node]
    assert (origin.label, origin.aliases) == ("alpha", ("beta",))
    assert origin.where == f"test_shared_nodes.py:{written}"


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
    assert learned.origins[inner.node].where == inner.node.where
    found = [n for n in learned.pdg.nodes() if n == inner.node]
    assert [isinstance(n.where, Place) and n.where.in_loss for n in found] == [True]
