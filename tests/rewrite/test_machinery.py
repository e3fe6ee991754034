"""Gates and analyses with one thing changed are noticed: every gate, and a sample of analyses."""

from __future__ import annotations

import pytest

from ostinato.rewrite.engine.language import GATES
from tests.rewrite.instances import every_instance
from tests.rewrite.instances.instance import Instance
from tests.rewrite.machinery import (
    Changed,
    analyses,
    as_written,
    behind,
    changed_analyses,
    is_missed,
    noticed,
    notices,
)
from tests.rewrite.mutants import part_of

SAMPLE = [changed for changed in changed_analyses() if part_of(str(changed), 0, 48)]


@pytest.mark.parametrize("gate", GATES)
def test_a_gate_that_is_shut_is_missed(gate: str) -> None:
    assert is_missed(gate)


def test_nearly_every_gate_lets_rules_in() -> None:
    assert [gate for gate in GATES if not behind(gate)] == IDLE


# Their rules ask for rarer relations too.
IDLE = [
    "counter", "begins", "but_last", "pieces", "prefix", "earlier", "some_where", "everywhere",
    "counts", "neighbour", "body", "batch", "halves",
]  # fmt: skip


@pytest.mark.parametrize("changed", SAMPLE, ids=str)
def test_a_changed_analysis_is_noticed(changed: Changed) -> None:
    assert notices(changed), str(changed)


@pytest.mark.parametrize("instance", every_instance()[::16], ids=lambda i: i.name)
def test_what_analyses_conclude_is_true_and_all_that_follows(instance: Instance) -> None:
    assert noticed(instance) == ""


@pytest.mark.parametrize("instance", every_instance()[::8], ids=lambda i: i.name)
def test_analyses_alone_conclude_what_the_nodes_of_a_program_say(instance: Instance) -> None:
    assert as_written(instance) == ""


def test_every_analysis_is_changed() -> None:
    assert {changed.name for changed in changed_analyses()} == analyses().keys()
