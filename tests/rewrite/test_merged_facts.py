"""Facts of a class that come from several terms are true of every value in it.

When two terms become equal, what is known of each holds for both: dimensions are merged by "and",
a shape or a number of either is kept, ranks and types must agree. After all rules have run, every
such fact is compared with what the interpreter says of the values of the program.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import DomainError, OptionError
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.pdg.interpret import Interpreter, junk
from ostinato.pdg.node import Node, Pdg
from ostinato.rewrite._egglog import Cell, EngineError, Session
from ostinato.rewrite.lang import program
from ostinato.rewrite.load import load
from ostinato.rewrite.loaded import Loaded
from ostinato.rewrite.registry import Rule, RuleSet, every_rule
from ostinato.rewrite.saturate import Budget, saturate
from tests.rewrite.test_excluded_choices import EXTENTS, PROGRAMS

FACTS = ("node", "dom", "sdom", "rank", "dtype", "value")
Known = dict[str, dict[int, Cell]]


def saturated(pdg: Pdg) -> tuple[Loaded, Known]:
    """A program after all rules, and what is known of its classes."""
    loaded = load(pdg)
    with Session(program(every_rule().rules)) as engine:
        engine.insert(loaded.rows)
        saturate(engine, Budget(rounds=20), {})
        tables = engine.tables(FACTS)
    return loaded, {n: {int(i[0]): o for i, o in tables[n].rows} for n in FACTS}


def points(node: Node) -> list[tuple[int, ...]]:
    """The first and the last point of a node's box."""
    env: dict[Dim | Extent, int] = {Extent(name): size for name, size in EXTENTS.items()}
    last = tuple(evaluate(d.extent, env) - 1 for d in node.domain)
    return [tuple(0 for _ in last), last]


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_what_is_known_of_a_class_is_true_of_its_values(make: Callable[[], ot.Program]) -> None:
    pdg = make().pdg
    loaded, known = saturated(pdg)
    nodes = {node: int(known["node"][number]) for node, number in loaded.ids.items()}
    judge = Interpreter(
        Pdg(tuple(("", n) for n in nodes), loaded.pdg.equations), EXTENTS, {}, 0, True, junk(1)
    )
    masks = {d: loaded.tables.bit(d) for d in loaded.tables.dims}
    for node, cls in nodes.items():
        try:
            values = [judge.value(node, point) for point in points(node)]
        except DomainError:
            continue
        assert (known["rank"][cls], known["dtype"][cls]) == (node.rank, node.dtype)
        if cls in known["value"]:
            assert all(np.all(v == known["value"][cls]) for v in values), node
        apart = [d for d in node.domain if masks[d] & int(known["dom"][cls])]
        assert apart or all(np.array_equal(values[0], v, equal_nan=True) for v in values), node
        if not any(masks[d] & int(known["sdom"][cls]) for d in node.domain):
            assert values[0].shape == values[-1].shape, node


@pytest.mark.parametrize(
    "right", ['(red "sum" 1 x)', '(map1 "cast:float64" x)'], ids=["another rank", "another type"]
)
def test_two_ranks_or_types_of_one_class_are_no_merge(right: str) -> None:
    t = ot.dims("t")
    x = ot.input("x", (3,), over=t)
    given = ot.Program(y=ot.tanh(x), z=ot.tanh(x).sum(), w=ot.tanh(x).cast("float64"))
    wrong = Rule("seeded/merge", "not true", "A test.", '(map1 "tanh" x)',
                 right.replace("x", '(map1 "tanh" x)'), proof="unproved: it is wrong")  # fmt: skip
    rules = RuleSet((*every_rule().only("algebra"), wrong))  # as no user may add it
    with pytest.raises((OptionError, EngineError), match="merge|conflict"):
        given.compile(rules=rules)
