"""What rewriting takes, in counts that no machine changes: e-nodes, rows, rounds, steps."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pytest

import ostinato as ot
from bench.ours.models import transformer
from bench.rewriting.speed import deeper
from ostinato import rl
from ostinato.rewrite.engine.language import program, rule_text
from ostinato.rewrite.optimize import Report, optimize
from ostinato.rewrite.registry import every_rule
from tests.property.programs import Recipe, Replay, Step
from tests.rewrite.sums import PRODUCTS
from tests.rewrite.test_decays import ATTENTION, attention

NETWORKS = (0, 2)  # hidden layers of the PPO example: about 500 and 1,000 nodes
MOST = 160  # e-nodes per node: four axes have 24 orders; they had thousands

CROWDED = {  # invented programs whose axes were had in thousands of orders
    "a fold of three dims": Recipe(
        (((1, 2), (3,)), ((1, 2), ())),
        (Step("arctanh", a=1, b=1, dim=3, c=1), Step("carried", a=2, b=1, c=3),
         Step("off_corner", a=3, b=3, dim=3, c=2), Step("int_fmod", a=4, b=3, dim=3, c=2)),
        1, 3, mode="gradient",
    ),
    "choices below a diagonal": Recipe(
        (((0, 1, 2), ()), ((0, 1, 2), (2, 3))),
        (Step("over_a_product", a=1, dim=1, c=1, fold="weighted"),
         Step("pair", a=1, b=1, dim=2, c=3),
         Step("below_diagonal", a=3, b=3, dim=3, c=2),
         Step("chain_of_choices", a=4, b=4, dim=3, c=3),
         Step("sorted", a=5, dim=2, c=3)),
        2, 3, mode="gradient",
    ),
    "the ends of a flipped dim": Recipe(
        (((2,), ()), ((2,), (3,)), ((0,), ())),
        (Step("flip", a=1, b=2, dim=2, c=2), Step("early", b=1, dim=1, c=2),
         Step("last", a=4, dim=2, c=2), Step("final", a=5, b=4, c=1)),
        2, 4, mode="gradient",
    ),
    "a triangle over four axes": Recipe(
        (((1, 2), (3,)), ((1, 2, 3), (3,))),
        (Step("below_diagonal", a=1, b=1, c=1), Step("twice", a=2, b=2, dim=3, c=2),
         Step("triangle", a=2, b=3, c=2)),
        2, 4, mode="gradient",
    ),
}  # fmt: skip


@cache
def ppo(layers: int) -> tuple[int, Report]:
    pdg = deeper(layers)
    return len(pdg.nodes()), optimize(pdg).report


@pytest.mark.parametrize("layers", NETWORKS)
def test_the_graph_of_a_training_loop_stays_small(layers: int) -> None:
    nodes, report = ppo(layers)
    assert report.enodes <= 4 * nodes and report.saturation.rows[-1] <= 30 * nodes
    assert report.saturation.complete


def test_a_deeper_network_takes_no_more_rounds_of_all_rules() -> None:
    rounds = [len(ppo(layers)[1].saturation.rows) for layers in NETWORKS]
    assert rounds[1] <= rounds[0] <= 12


@pytest.mark.parametrize("layers", NETWORKS)
def test_local_search_looks_at_each_place_a_few_times(layers: int) -> None:
    nodes, report = ppo(layers)
    assert report.steps <= 80 * nodes and report.search == ""


def test_a_deep_transformer_is_searched_to_the_end() -> None:
    pdg = transformer(4).pdg
    report = optimize(pdg).report
    assert report.steps <= 400 * len(pdg.nodes()) and report.search == ""


@pytest.mark.parametrize("name", CROWDED)
def test_orders_of_axes_do_not_multiply(name: str) -> None:
    pdg = Replay(CROWDED[name], "float64").program().pdg
    report = optimize(pdg).report
    assert report.saturation.complete and report.search == ""
    assert report.enodes <= MOST * len(pdg.nodes())


# As sums of what one axis more holds, these were made products of other views without end.
OUTER = {name: partial(attention, step) for name, step in ATTENTION.items()} | PRODUCTS


@pytest.mark.parametrize("name", OUTER)
def test_products_of_weights_and_histories_have_few_forms(name: str) -> None:
    saturation = optimize(OUTER[name]().pdg).report.saturation
    assert saturation.complete and saturation.rows[-1] <= 5_000


def test_numbers_that_parts_of_a_pattern_share_are_compared_where_the_parts_meet() -> None:
    # joined by these numbers first, three slices of the same steps took ten seconds
    text = rule_text(every_rule()["view/map2-of-moved"])
    assert "(= lhs (map2 f (mv k p x) (mv k_0 p_1 y))) (= 0 (- k k_0)) (= 0 (- p p_1))" in text


def test_what_facts_share_with_a_pattern_is_compared_afterwards_too() -> None:
    # joined by the dimension and the range of its inner values, one program took a minute
    text = rule_text(every_rule()["incremental/together-map3"])
    facts = text[: text.index("((let")]
    assert facts.count("(ranged ") == 3 and facts.count(" d s p)") == 1


_OPENED = ("growing", "ranged")  # what a range that follows the point lets in


def test_rules_that_a_program_cannot_use_are_not_declared() -> None:
    rules = every_rule().rules
    few, more, every = program(rules, ()), program(rules, {"growing"}), program(rules)
    assert few.gated == ()
    opened = [g for g in every.gated if any(f":ruleset if_{r} " in g[0] for r in _OPENED)]
    assert opened == list(more.gated)
    assert len(few.rules) + sum(map(len, every.gated)) == len(rules)


def test_what_equals_its_operand_is_no_term() -> None:
    b = ot.dims("b")
    result = optimize(ot.Program(y=ot.tanh(ot.input("x", (3,), over=b) * 1.0)).pdg)
    assert result.report.rules["algebra/times-one"] > 0 and result.evidence is not None
    classes = result.evidence.graph.classes
    assert not [e for enodes in classes.values() for e in enodes if e.op == "map2"]


def test_further_trainings_of_a_sweep_add_no_terms() -> None:
    def trained(sizes: dict[str, int]) -> Report:
        swept: dict[str, Any] = {
            name: ot.input(name, over=ot.dim(f"{name}_choice", size=size))
            for name, size in sizes.items()
        }
        seeds = ot.dim("seed", size=2)
        return optimize(rl.a2c(rl.CartPole(), hidden=[4], over=seeds, **swept).program.pdg).report

    seeds, more = trained({}), trained({"learning_rate": 2, "entropy": 3, "trace": 2})
    assert more.saturation.complete
    assert more.enodes < 1.05 * seeds.enodes  # they had seven times as many, and no end
