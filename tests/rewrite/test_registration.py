"""A user's own rule is checked, proved and tried on examples when it is added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ostinato as ot
from ostinato.pdg.errors import ArgumentError, OptionError
from tests.errors.refusal import here, refusal

DOUBLE = ot.Rule(
    name="mine/double",
    law="x * 2 = x + x",
    reason="An addition is cheaper than a product.",
    left='(map2 "mul" x y)',
    right='(map2 "add" x x)',
    when=("(= 2.0 (value y))", "(= (shape x) (shape lhs))"),
)
ODD = ot.Rule(
    name="mine/odd",
    law="erf(-x) = -erf(x)",
    reason="Signs move outwards.",
    left='(map1 "erf" (map1 "neg" x))',
    right='(map1 "neg" (map1 "erf" x))',
)
BELIEVED = replace(ODD, proof="unproved: the error function is odd")


def timed(factor: float) -> ot.Program:
    return ot.Program(y=ot.input("x", over=ot.dims("t")) * factor)


def test_a_rule_that_holds_is_added_as_proved() -> None:
    added = ot.rules.add(DOUBLE)["mine/double"]
    assert added.is_proved and "proved when it was added" in str(added)


def test_the_program_is_compiled_with_an_added_rule() -> None:
    run = timed(2.0).compile(rules=ot.rules.add(DOUBLE))
    assert run.explain().rules["mine/double"] > 0
    assert run(x=[1.0, -3.0])["y"].tolist() == [2.0, -6.0]


def test_the_table_itself_stays_as_it_is() -> None:
    ot.rules.add(DOUBLE)
    assert "mine" not in ot.rules.families


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another factor": (
        {"when": ("(= 3.0 (value y))", "(= (shape x) (shape lhs))")},
        "is wrong: differs at rest = ",
    ),
    "a fact that is missing": ({"when": DOUBLE.when[1:]}, "is wrong: differs at rest = "),
    "shapes": ({"when": DOUBLE.when[:1]}, 'is wrong: (map2 "add" x x): shapes '),
}


@pytest.mark.parametrize(("changes", "text"), WRONG.values(), ids=WRONG)
def test_a_wrong_rule_is_refused_with_an_example(changes: dict[str, Any], text: str) -> None:
    where = here(1)
    said = refusal(OptionError, lambda: ot.rules.add(replace(DOUBLE, **changes)))
    assert said.startswith(f"{where}: the rule `mine/double` {text}")
    assert said.endswith("\n  Correct a side, or add the fact that it needs to `when`.")


def test_the_weaker_claim_that_holds_is_the_remedy() -> None:
    left, right = '(map2 "add" (map2 "add" x y) z)', '(map2 "add" x (map2 "add" y z))'
    sums = replace(DOUBLE, name="mine/sums", left=left, right=right, when=())
    said = refusal(OptionError, lambda: ot.rules.add(sums))
    assert "not exact: rounds otherwise at" in said
    assert said.endswith('\n  It holds with exact="reassociates": say so.')
    assert ot.rules.add(replace(sums, exact="reassociates"))["mine/sums"].is_proved


def test_a_rule_that_cannot_be_decided_needs_a_reason() -> None:
    said = refusal(OptionError, lambda: ot.rules.add(ODD))
    assert "`mine/odd` was neither proved nor refuted: erf(neg(x" in said
    assert said.endswith('accept it with proof="unproved: the reason".')
    assert not ot.rules.add(BELIEVED)["mine/odd"].is_proved


def test_no_reason_saves_a_wrong_rule() -> None:
    even = replace(BELIEVED, right='(map1 "erf" x)')
    with pytest.raises(OptionError, match="is wrong: differs at"):
        ot.rules.add(even)


def test_compiling_with_an_unproved_rule_warns_when_it_fires() -> None:
    rules = ot.rules.add(BELIEVED)
    program = ot.Program(y=ot.erf(-ot.input("x", over=ot.dims("t"))))
    with pytest.warns(UserWarning, match="without a proof was used: mine/odd .unproved: the error"):
        run = program.compile(rules=rules)
    assert "mine/odd" in str(run.explain())
    assert not timed(2.0).compile(rules=rules).explain().notes


def test_a_rule_with_masks_of_axes_needs_a_reason_too() -> None:
    fold = replace(ot.rules["view/moved-fold"], name="mine/moved-fold", proof="")
    said = refusal(OptionError, lambda: ot.rules.add(fold))
    assert "decided for every mask of 5 axes only, not for more axes" in said


FORMS: dict[str, tuple[dict[str, Any], str]] = {
    "name": (
        {"name": "Double"},
        "a rule is called `Double`\n"
        "  Call it family/rule in lower-case words joined by hyphens, such as mine/double.",
    ),
    "law": (
        {"law": ""},
        "the rule `mine/double` has no law\n"
        "  Write the equation in words, for the people who read lists of rules.",
    ),
    "proof": (
        {"proof": "obvious"},
        "the rule `mine/double` has proof='obvious'\n"
        '  Leave `proof` empty, or say "unproved: the reason".',
    ),
}


@pytest.mark.parametrize(("changes", "text"), FORMS.values(), ids=FORMS)
def test_a_record_that_is_no_rule_is_refused(changes: dict[str, Any], text: str) -> None:
    where = here(1)
    assert refusal(OptionError, lambda: ot.rules.add(replace(DOUBLE, **changes))) == (
        f"{where}: {text}"
    )


def test_a_rule_of_no_class_of_exactness_is_refused() -> None:
    changes: dict[str, Any] = {"exact": "nearly"}
    where = here(1)
    assert refusal(ArgumentError, lambda: replace(DOUBLE, **changes)) == (
        f"{where}: `Rule` gets 'nearly' for `exact`\n"
        '  Give "exact", "zero signs", "reassociates", "distributes" or "skips zeros".'
    )


TERMS: dict[str, tuple[dict[str, Any], str]] = {
    "operator": ({"left": '(map5 "mul" x y)'}, "left side, `(map5 {m})`: Unbound function map5"),
    "variable": ({"right": '(map2 "add" x z)'}, "right side, `(map2 {z})`: Unbound symbol z"),
    "inner variable": ({"right": '(map1 "neg" (map1 "exp" z))'}, "well formed: Unbound symbol z"),
    "operands": ({"right": '(map2 "add" x)'}, "right side, `(map2 \"add\" x)`: Arity mismatch"),
    "number": ({"when": ("(= 2 (value y))",)}, "fact 1 of `when`, {two}: Expect expression 2"),
    "fact": ({"when": ("(twice x)",)}, "fact 1 of `when`, `(twice x)`: Unbound function twice"),
    "assertion": ({"also": ("(hope x)",)}, "fact 1 of `also`, `(hope x)`: Unbound function hope"),
    "open": ({"left": '(map2 "mul" x y'}, "does not close a parenthesis"),
    "closed": ({"right": 'x)'}, "closes a parenthesis that is not open"),
    "two terms": ({"right": 'x y'}, "the right side, `x y`, is not one term"),
    "nothing": ({"right": ''}, "the right side, ``, is not one term"),
    "a bare left side": ({"left": 'x', "when": ()}, "Variable lhs is ungrounded"),
}  # fmt: skip
PARTS = {"m": '"mul" x y', "z": '"add" x z', "two": "`(= 2 (value y))`"}


@pytest.mark.parametrize(("changes", "text"), TERMS.values(), ids=TERMS)
def test_a_term_that_is_not_well_formed_is_shown(changes: dict[str, Any], text: str) -> None:
    where = here(1)
    said = refusal(OptionError, lambda: ot.rules.add(replace(DOUBLE, **changes)))
    assert said.startswith(f"{where}: the rule `mine/double` is not well formed: ")
    assert text.format(**PARTS) in said
    assert said.endswith("Compare with `ostinato rules show` of a similar rule.")


def test_examples_are_checked() -> None:
    rules = ot.rules.add(DOUBLE, fires=[timed(2.0)], idle=[timed(3.0)])
    assert "mine/double" in [rule.name for rule in rules]


def test_a_rule_that_is_idle_where_it_should_fire_is_refused() -> None:
    with pytest.raises(OptionError, match="`mine/double` does not fire on program 1 of `fires`"):
        ot.rules.add(DOUBLE, fires=[timed(3.0)])


def test_a_rule_that_fires_where_it_should_not_is_refused() -> None:
    with pytest.raises(OptionError, match="`mine/double` fires on program 2 of `idle`"):
        ot.rules.add(DOUBLE, idle=[timed(3.0), timed(2.0)])


def test_an_example_may_need_what_other_rules_make() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    running = replace(
        DOUBLE,
        name="mine/running",
        law="2 * running sum = sum of the two running sums",
        left='(map2 "mul" (scan "sum" d x) y)',
        right='(map2 "add" (scan "sum" d x) (scan "sum" d x))',
        when=("(= 2.0 (value y))", "(= (shape lhs) (shape x))"),
    )
    assert ot.rules.add(running, fires=[ot.Program(y=x[: t + 1].sum(0) * 2.0)])
    with pytest.raises(OptionError, match="`mine/running` does not fire on program 1"):
        alone = ot.rules.without("incremental")
        alone.add(running, fires=[ot.Program(y=x[: t + 1].sum(0) * 2.0)])


def test_an_example_that_calls_python_is_refused() -> None:
    x = ot.input("x", over=ot.dims("t"))
    called = ot.Program(y=x * 2.0, z=ot.host(abs, x))
    with pytest.raises(OptionError, match="program 1 of the examples calls Python"):
        ot.rules.add(DOUBLE, fires=[called])


def test_an_example_shows_what_the_prover_cannot_see() -> None:
    cast = replace(
        BELIEVED, left='(map1 "cast:bfloat16" x)', right='(map1 "cast:bfloat16" (map1 "neg" x))'
    )
    x = ot.input("x", over=ot.dims("t"))
    assert not ot.rules.add(cast)["mine/odd"].is_proved
    with pytest.raises(
        OptionError, match="`mine/odd` is wrong on program 1 of `fires`: .* differ at"
    ):
        ot.rules.add(cast, fires=[ot.Program(y=x.cast("bfloat16"))])
