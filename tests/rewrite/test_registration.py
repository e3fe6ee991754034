"""A user's own rule is checked, proved and tried on examples when it is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import ostinato as ot
from ostinato.pdg.errors import ArgumentError, OptionError
from ostinato.rewrite import terms
from ostinato.rewrite.terms import (
    LHS,
    add,
    bounded,
    eq,
    map1,
    map2,
    mul,
    neg,
    prefix,
    rank,
    red,
    scan,
    shape,
    tr,
    value,
    variables,
)
from tests.errors.refusal import here, refusal

D, S, X, Y, Z = variables("d s x y z")
MISSPELT = "map5"

DOUBLE = ot.Rule(
    name="mine/double",
    law="x * 2 = x + x",
    reason="An addition is cheaper than a product.",
    left=mul(X, Y),
    right=add(X, X),
    when=(eq(2.0, value(Y)), eq(shape(X), shape(LHS))),
)
ODD = ot.Rule(
    name="mine/odd",
    law="erf(-x) = -erf(x)",
    reason="Signs move outwards.",
    left=map1("erf", neg(X)),
    right=neg(map1("erf", X)),
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
        {"when": (eq(3.0, value(Y)), eq(shape(X), shape(LHS)))},
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
    left, right = add(add(X, Y), Z), add(X, add(Y, Z))
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
    even = replace(BELIEVED, right=map1("erf", X))
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
    "a variable of nothing": (
        {"right": add(X, Z)},
        "the right side, `add(x, z)`, uses `z`, which the left side and `when` do not",
    ),
    "a variable of nothing that is asserted": (
        {"also": (bounded(Z),)},
        "fact 1 of `also`, `bounded(z)`, uses `z`, which the left side and `when` do not",
    ),
    "a number as a term": (
        {"when": (eq(2, X),)},
        "`x` is a term in the left side and a number in fact 1 of `when`, `eq(2, x)`",
    ),
    "a number that is not known": ({"when": (Z < 2,)}, "Variable z is ungrounded"),
    "a bare left side": ({"left": X, "when": ()}, "Variable lhs is ungrounded"),
}


@pytest.mark.parametrize(("changes", "text"), TERMS.values(), ids=TERMS)
def test_a_rule_that_cannot_run_is_shown(changes: dict[str, Any], text: str) -> None:
    where = here(1)
    said = refusal(OptionError, lambda: ot.rules.add(replace(DOUBLE, **changes)))
    assert said.startswith(f"{where}: the rule `mine/double` is not well formed: ")
    assert text in said
    assert said.endswith("Compare with `ostinato rules show` of a similar rule.")


@pytest.mark.parametrize(
    ("right", "text"),
    [
        (map2("max", X, Y), '`map2` in the right side, `map2("max", x, y)`, has no `max`'),
        (map2("neg", X, Y), '`map2` in the right side, `map2("neg", x, y)`, has no `neg`'),
        (add(map1("squar", X), Y), '`map1` in the right side, `add(map1("squar", x), y)`'),
        (red("average", 1, X), '`red` in the right side, `red("average", 1, x)`'),
        (terms.along1("sort", 1, 2, X), '`along1` in the right side, `along1("sort", 1, 2, x)`'),
    ],
)
def test_a_function_that_no_program_has_is_named(right: terms.Term, text: str) -> None:
    """Such a function was computed as anything: the rule was called wrong, with an example."""
    rule = ot.Rule("mine/double", "l", "", mul(X, Y), right)
    said = refusal(OptionError, lambda: ot.rules.add(rule))
    assert text in said and " is not well formed: " in said
    assert "Compare with" not in said and "It takes: " in said


@pytest.mark.parametrize("exact", ["reassociates", "distributes", "skips zeros"])
def test_a_product_that_the_left_side_has_not_may_not_overflow(exact: Any) -> None:
    """It was accepted: large numbers were tried for laws of every bit only."""
    rule = ot.Rule("mine/root", "l", "", map1("abs", X), map1("sqrt", mul(X, X)), exact=exact)
    said = refusal(OptionError, lambda: ot.rules.add(rule))
    assert "`mine/root` is wrong: differs at" in said and "1e+200 and inf" in said
    assert ot.rules.add(replace(rule, left=rule.right, right=rule.left))["mine/root"].is_proved


def test_a_function_that_is_misspelt_is_guessed() -> None:
    rule = ot.Rule("mine/twice", "l", "", map1("expp", X), map1("exp", X))
    said = refusal(OptionError, lambda: ot.rules.add(rule))
    assert "Did you mean `exp`? It takes: `abs`, " in said


MADE: dict[str, tuple[Callable[[], object], str]] = {
    "a name": (
        lambda: getattr(terms, MISSPELT),
        "no operator and no relation is called `map5`\n"
        "  Did you mean `map3`? `help(ostinato.rewrite.terms)` lists all.",
    ),
    "too few operands": (
        lambda: map2("add", X),
        "`map2` gets 2 operands, not 3\n  Write map2(text, term, term).",
    ),
    "too many columns": (
        lambda: prefix(D, S, X),
        "`prefix` gets 3 operands, not 2\n  Write prefix(dimension, slice).",
    ),
    "a number as a term": (
        lambda: mul(X, D + 1),
        "`map2` gets d + 1, a number, as operand 3, which is a term\n"
        "  Write map2(text, term, term).",
    ),
    "a text as a number": (
        lambda: red("sum", "m", X),
        "`red` gets 'm', a text, as operand 2, which is a number\n  Write red(text, number, term).",
    ),
    "a term as a number": (
        lambda: tr(X) + 1,
        "`+` gets tr(x), a term, as operand 1, which is a number\n  Write number + number.",
    ),
    "what is no term": (
        lambda: neg(ot.input("x", over=ot.dims("t"))),  # type: ignore[arg-type]  # as in a program
        "as operand 2, which is a term\n  Write map1(text, term).",
    ),
    "two sorts": (
        lambda: eq(1.0, rank(X)),
        "`eq` gets rank(x), a number, as operand 2, which is a real number\n"
        "  Write eq(real number, real number).",
    ),
    "a fact in a fact": (
        lambda: eq(prefix(D, S), 1),  # type: ignore[arg-type]  # a mistake
        "`eq` gets prefix(d, s) as operand 1, which is a number\n  Write eq(number, number).",
    ),
    "two comparisons": (
        lambda: D < S < 3,
        "the fact d < s is asked whether it is true, which a rule says\n"
        "  Write two facts for `a < b < c`: a < b, b < c.",
    ),
}


@pytest.mark.parametrize(("make", "text"), MADE.values(), ids=MADE)
def test_a_term_that_is_not_well_formed_is_refused_where_it_is_made(
    make: Callable[[], object], text: str
) -> None:
    said = refusal(OptionError, make)
    assert said.startswith("test_registration.py:") and said.endswith(text)


TEXTS: dict[str, tuple[dict[str, Any], str]] = {
    "left": ({"left": '(map2 "mul" x y)'}, "Write mul(x, y), with "),
    "right": ({"right": "x"}, "Write x, with "),
    "when": (
        {"when": ("(= 2.0 (value y))", "(= (shape x) (shape lhs))")},
        "Write eq(2.0, value(y)), eq(shape(x), shape(LHS)), with ",
    ),
    "also": (
        {"also": ("(set (rank x) (+ k 1))",)},
        "Write assign(rank(x), k + 1), with ",
    ),
}


@pytest.mark.parametrize(("changes", "text"), TEXTS.values(), ids=TEXTS)
def test_a_text_is_no_term_and_the_term_is_the_remedy(changes: dict[str, Any], text: str) -> None:
    said = refusal(ArgumentError, lambda: replace(DOUBLE, **changes))
    assert said.endswith(f"\n  {text}names from ostinato.rewrite.terms.")


def test_a_text_that_says_nothing_has_the_kind_as_its_remedy() -> None:
    changes: dict[str, Any] = {"left": "(map1 f"}
    said = refusal(ArgumentError, lambda: replace(DOUBLE, **changes))
    assert said.endswith("\n  Give a term of ostinato.rewrite.terms.")


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
        left=mul(scan("sum", D, X), Y),
        right=add(scan("sum", D, X), scan("sum", D, X)),
        when=(eq(2.0, value(Y)), eq(shape(LHS), shape(X))),
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
    cast = replace(BELIEVED, left=map1("cast:bfloat16", X), right=map1("cast:bfloat16", neg(X)))
    x = ot.input("x", over=ot.dims("t"))
    assert not ot.rules.add(cast)["mine/odd"].is_proved
    with pytest.raises(
        OptionError, match="`mine/odd` is wrong on program 1 of `fires`: .* differ at"
    ):
        ot.rules.add(cast, fires=[ot.Program(y=x.cast("bfloat16"))])
