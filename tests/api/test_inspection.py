"""What `ot.rules` says about programs."""

import pytest

import ostinato as ot
from ostinato.pdg.errors import OptionError
from ostinato.report.formatting import bytes_of, table
from ostinato.report.kernels import duration


def learning() -> ot.Program:
    """A recurrence, a product and sums: more than one kernel."""
    i, b, t = ot.dims("i b t")
    x = ot.input("x", (4,), over=(b, t))
    w = ot.recurrent("w", (4, 4), over=i)
    y = ot.tanh(x @ w)
    loss = (y * y)[i, :, :].mean()
    w[0] = ot.ones((4, 4))
    w[i + 1] = w - 0.1 * ot.grad(loss, w)
    return ot.Program(loss=loss)


def test_every_kernel_of_the_compiled_program_is_traced() -> None:
    program = learning()
    found = ot.rules.trace(program, by="family")
    assert len(found.kernels) == len(program.compile().explain().kernels) - 1  # and the driver
    assert {s.rule for k in found.kernels for s in k.rules} <= set(ot.rules.families)


def test_an_explanation_shows_the_loop_ir_of_every_function_with_its_definitions() -> None:
    explained = learning().compile().explain()
    shown = explained.sections()["loop IR"]
    *kernels, driver = explained.kernels
    assert shown.split("def ")[-1] == driver.split("def ")[-1] and "def main(" in driver
    for kernel in kernels:
        assert kernel in explained.source and kernel.count("\ndef ") == 1
        assert "= access(" in kernel.partition("\ndef ")[0]


def test_kernels_take_most_of_the_predicted_time() -> None:
    found = ot.rules.trace(learning(), hints={"B": 500}, by="family")
    total = sum(kernel.predicted_ns for kernel in found.kernels)
    assert found.predicted_ns and 0.5 * found.predicted_ns < total <= found.predicted_ns


def test_predictions_are_those_of_the_compiled_program() -> None:
    program = learning()
    found = ot.rules.trace(program, hints={"B": 500}, by="family")
    explained = program.compile(hints={"B": 500}).explain(**found.extents)
    assert found.predicted_ns == pytest.approx(explained.cost["predicted_ns"])
    assert found.peak_bytes == explained.memory.predicted_peak_bytes


def test_a_saving_is_what_ablation_says() -> None:
    program = learning()
    traced = ot.rules.trace(program, hints={"B": 512}, by="family")
    saved = {s.rule: s for kernel in traced.kernels for s in kernel.rules}["vectorize"]
    ablated = ot.rules.ablate(program, "vectorize", hints={"B": 512})
    (without,) = ablated.ablations
    assert without.price_ns and ablated.price_ns and without.peak_bytes and ablated.peak_bytes
    assert saved.saved_ns == pytest.approx(without.price_ns - ablated.price_ns)
    assert saved.saved_bytes == without.peak_bytes - ablated.peak_bytes


def test_predictions_are_for_the_hints() -> None:
    program = learning()
    few, many = (ot.rules.ablate(program, "view", hints={"B": n}) for n in (8, 8000))
    assert few.price_ns and many.price_ns and many.price_ns > 10 * few.price_ns
    assert many.extents["B"] == 8000


def test_the_arguments_of_an_experiment_are_its_extents() -> None:
    made = ot.Experiment(
        program=learning(), over="i", arguments={"B": 7, "I": 3, "T": 5}, steps_per_record=1
    )
    assert ot.rules.ablate(made, "view").extents == {"B": 7, "I": 3, "T": 5}


def test_a_smaller_set_of_rules_is_asked_about_itself() -> None:
    found = ot.rules.without("algebra").stats(learning())
    assert not any(name.startswith("algebra/") for name in found.matches)


def test_a_hint_that_is_no_extent_is_refused() -> None:
    with pytest.raises(OptionError, match="`Q` is no extent of the program"):
        ot.rules.stats(learning(), hints={"Q": 3})


def test_an_unknown_rule_is_refused_before_any_work() -> None:
    with pytest.raises(OptionError, match="no rule or family is called `vectorise`"):
        ot.rules.ablate(learning(), "vectorise")


def test_answers_print_as_tables() -> None:
    program = learning()
    assert "made by" in str(ot.rules.trace(program, by="family"))
    assert "slower by" in str(ot.rules.ablate(program, "view"))
    assert "rows after each round" in str(ot.rules.stats(program))
    assert "0 bounded, 0 failed" in str(ot.rules.prove("domain"))


def test_numbers_have_units() -> None:
    assert [duration(x) for x in (0.5, 2e3, -3e6, 4.56e9)] == ["0.5 ns", "2 us", "-3 ms", "4.56 s"]
    assert [bytes_of(x) for x in (None, 0, 1234567)] == ["-", "0 B", "1,234,567 B"]


def test_tables_align_numbers_to_the_right() -> None:
    assert table(("name", "n"), [("x", "10"), ("longer", "7")]).splitlines() == [
        "name     n",
        "x       10",
        "longer   7",
    ]
