"""Index expressions, conditions and operators as signs of mathematics."""

from __future__ import annotations

import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, NEVER, Cond, at_least, equal, every, negation, some
from ostinato.pdg.index import Extent, Index, Slice, expr, minimum
from ostinato.pdg.node import Node
from ostinato.report.drawing.mathematics import equations
from ostinato.report.drawing.points import condition, element, index_text
from tests.pdg.programs import B, T, n, program, series, t


def test_index_expressions_have_positive_terms_first_and_floors() -> None:
    assert [index_text(e) for e in (t - 1, n - 1 - t, 5 - t, 2 * t + 3, expr(-3), expr(0))] == [
        "t-1", "T-t-1", "5-t", "2·t+3", "-3", "0",
    ]  # fmt: skip
    assert [index_text(e) for e in (t // 2, (t + 1) // 2, t % 3)] == [
        "⌊t/2⌋", "⌊(t+1)/2⌋", "(t mod 3)",
    ]  # fmt: skip
    assert index_text(2 * minimum(t, n - 1) - 1) == "2·min(T-1, t)-1"
    assert index_text(n * Extent("B")) == "B·T"
    assert index_text((n + 1) * Extent("B")) == "B·(T+1)"


CONDITIONS: tuple[tuple[Cond, str, str], ...] = (
    (at_least(T, 1), "t ≥ 1", "t ≥ 0"),
    (at_least(n - 2, t), "t ≤ T-2", "t ≤ T-3"),
    (equal(t, n - 1), "t = T-1", "t = T-2"),
    (every(at_least(T, 1), at_least(B, 2)), "t ≥ 1 ∧ b ≥ 2", "t ≥ 0 ∧ b ≥ 2"),
    (
        some(equal(T, 0), every(at_least(B, 1), equal(t, 2))),
        "t = 0 ∨ (b ≥ 1 ∧ t = 2)",
        "t = -1 ∨ (b ≥ 1 ∧ t = 1)",
    ),
    (negation(equal(T, 3)), "¬(t = 3)", "¬(t = 2)"),
    (ALWAYS, "always", "always"),
    (NEVER, "never", "never"),
)


@pytest.mark.parametrize(("cond", "here", "later"), CONDITIONS, ids=lambda x: str(x))
def test_a_condition_is_solved_for_its_dimension_also_at_another_point(
    cond: Cond, here: str, later: str
) -> None:
    assert condition(cond) == here
    assert condition(cond, {T: t + 1}) == later


def test_constant_elements_are_subscripts_and_others_stand_in_brackets() -> None:
    places: tuple[Index, ...] = (expr(2), t, Slice(t, n), Slice(expr(0), t + 1))
    assert [element(i, {}) for i in places] == ["₂", "⟨t⟩", "⟨t … T-1⟩", "⟨0 … t⟩"]
    assert [element(i, {T: t - 1}) for i in places] == ["₂", "⟨t-1⟩", "⟨t-1 … T-1⟩", "⟨0 … t-1⟩"]


def vector(name: str) -> Node:
    return build.input_node(name, (expr(3),), "float32", (T,))


def test_every_operator_of_axes_prints() -> None:
    x = vector("x")
    whole = build.map_node("cast", [x], "int32")
    texts = equations(program(
        joined=build.concat([x, x], -1), part=build.part(x, -1, t), cut=build.part(x, -1, expr(1)),
        taken=build.gather(x, whole, -1), square=build.reshape(x, (expr(1), expr(3))),
        scan=build.scan("sum", series(), T), rest=build.scan("max", series(), T, True),
        line=build.linear(series(), series(), T, True),
        literal=build.const((1, 2, 3, 4, 5), "int32", (expr(5),)), range=build.iota(n),
        root=build.map_node("sqrt", [x]), size=build.map_node("abs", [x]),
    ))  # fmt: skip
    written = dict(line.split(" = ", 1) for line in texts.splitlines())
    shown = {name: text.split("   ")[0] for name, text in written.items()}
    assert shown == {
        "joined[t]": "[x, x]", "part[t]": "x⟨t⟩", "cut[t]": "x₁", "taken[t]": "x⟨x⟩",
        "square[t]": "x", "scan[t]": "scan_sum[t](r)",
        "rest[t]": "scan_max[t backwards](r)", "line[t]": "linear[t backwards](r, r)",
        "literal": "[1, 2, 3, 4, …]", "range": "[0 … T-1]", "root[t]": "√x", "size[t]": "|x|",
    }  # fmt: skip
