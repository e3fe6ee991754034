"""Facts of a class that come from several terms are true of every value in it.

When two terms become equal, what is known of each holds for both: dimensions are merged by "and",
a shape or a number of either is kept, ranks and types must agree. After all rules have run, every
such fact is compared with what the interpreter says of the values of the program.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.pdg.errors import OptionError
from ostinato.rewrite.engine.egglog_session import EngineError, Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.saturate import Budget, saturate
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.registry import RuleSet, every_rule
from ostinato.rewrite.terms import Term, Variable, map1, red
from tests.rewrite.machinery import FACTS, Known, untrue
from tests.rewrite.test_excluded_choices import EXTENTS, PROGRAMS

TANH = map1("tanh", Variable("x"))


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_what_is_known_of_a_class_is_true_of_its_values(make: Callable[[], ot.Program]) -> None:
    pdg = make().pdg
    loaded = load(pdg)
    with Session(program(every_rule().rules)) as engine:
        engine.insert(loaded.rows)
        saturate(engine, Budget(rounds=20), {})
        tables = engine.tables(FACTS)
    known: Known = {name: {int(i[0]): o for i, o in tables[name].rows} for name in FACTS}
    assert not untrue(pdg, loaded, known, EXTENTS)


@pytest.mark.parametrize(
    "right", [red("sum", 1, TANH), map1("cast:float64", TANH)], ids=["another rank", "another type"]
)
def test_two_ranks_or_types_of_one_class_are_no_merge(right: Term) -> None:
    t = ot.dims("t")
    x = ot.input("x", (3,), over=t)
    given = ot.Program(y=ot.tanh(x), z=ot.tanh(x).sum(), w=ot.tanh(x).cast("float64"))
    wrong = Rule("seeded/merge", "not true", "A test.", TANH, right, proof="unproved: it is wrong")
    rules = RuleSet((*every_rule().only("algebra"), wrong))  # as no user may add it
    with pytest.raises((OptionError, EngineError), match="merge|conflict"):
        given.compile(rules=rules)
