"""The record of one seeded rule, wrong or right, with an example that tells."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from ostinato.rewrite.engine.rule import Exactness, Phase, Rule, Validity
from ostinato.rewrite.relations.sexpr import Tree, replaced
from ostinato.rewrite.terms import Expression, Fact
from tests.rewrite.wrong.facts import holds
from tests.rewrite.wrong.world import Array, Missing, World


@dataclass(frozen=True)
class Seeded:
    """A rule, why it is wrong (or right), and an example: None where no values can tell.

    ``shown``: whether the refusal comes with a counterexample.
    """

    name: str
    why: str
    left: Expression
    right: Expression
    when: tuple[Fact, ...] = ()
    world: World | None = None
    also: tuple[Fact, ...] = ()
    exact: Exactness = "exact"
    valid: Validity = "everywhere"
    phase: Phase = "rewrite"
    shown: bool = True

    def rule(self) -> Rule:
        return Rule(
            name=f"seeded/{self.name}",
            law=self.why,
            reason="A test of the prover.",
            left=self.left,
            right=self.right,
            when=self.when,
            also=self.also,
            exact=self.exact,
            valid=self.valid,
            phase=self.phase,
        )


def asserted(seeded: Seeded) -> list[bool]:
    """Whether each of the further facts of a rule holds in the example."""
    world = example(seeded)
    return [holds(world, fact.tree) for fact in seeded.also]


def example(seeded: Seeded) -> World:
    """The example of a rule.

    Errors: AssertionError if a fact of the rule does not hold there.
    """
    assert seeded.world is not None, f"{seeded.name} has no example"
    world, left = deepcopy(seeded.world), seeded.left.tree
    for fact in seeded.when:
        with np.errstate(all="ignore"):
            known = holds(world, replaced(fact.tree, {"lhs": left}))
        assert known, f"{fact} does not hold in the example of {seeded.name}"
    return world


def outcome(seeded: Seeded) -> tuple[Array | None, Array | None]:
    """Both sides in the example; None for one that has no value.

    Errors: AssertionError if a fact of the rule does not hold there.
    """
    world = example(seeded)
    with np.errstate(all="ignore"):
        return _value(world, seeded.left.tree), _value(world, seeded.right.tree)


def _value(world: World, side: Tree) -> Array | None:
    try:
        return world.value(side, world.point)
    except Missing:
        return None


def differ(a: Array | None, b: Array | None, exact: Exactness) -> bool:
    """Whether two values break the promise of a class of exactness."""
    if a is None or b is None:
        return a is not b
    if a.shape != b.shape or a.dtype != b.dtype:
        return True
    if a.dtype.kind != "f":
        return not np.array_equal(a, b)
    if exact == "reassociates":
        return not np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
    same = np.array_equal(a, b, equal_nan=True)
    numbers = ~np.isnan(a)
    signs = np.array_equal(np.signbit(a[numbers]), np.signbit(b[numbers])) if same else False
    return not same or (exact == "exact" and not signs)


def values(**tensors: object) -> World:
    """An example without dimensions: what each tensor is."""
    return World(tensors=tensors)
