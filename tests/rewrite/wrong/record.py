"""The record of one seeded rule, wrong or right, with an example that tells."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from ostinato.rewrite.prove.text import parse, replaced
from ostinato.rewrite.registry import Exactness, Phase, Rule, Validity
from tests.rewrite.wrong.facts import holds
from tests.rewrite.wrong.world import Array, Missing, World


@dataclass(frozen=True)
class Seeded:
    """A rule, why it is wrong (or right), and an example: None where no values can tell.

    ``shown``: whether the refusal comes with a counterexample.
    """

    name: str
    why: str
    left: str
    right: str
    when: tuple[str, ...] = ()
    world: World | None = None
    also: tuple[str, ...] = ()
    exact: Exactness = "exact"
    valid: Validity = "everywhere"
    phase: Phase = "rewrite"
    shown: bool = True
    choice: tuple[str, ...] = field(default=())

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


def outcome(seeded: Seeded) -> tuple[Array | None, Array | None]:
    """Both sides in the example; None for one that has no value.

    Errors: AssertionError if a fact of the rule does not hold there.
    """
    assert seeded.world is not None, f"{seeded.name} has no example"
    world = deepcopy(seeded.world)
    left, right = parse(seeded.left), parse(seeded.right)
    with np.errstate(all="ignore"):
        for fact in seeded.when:
            known = replaced(parse(fact), {"lhs": left})
            assert holds(world, known), f"{fact} does not hold in the example of {seeded.name}"
        return _value(world, left), _value(world, right)


def _value(world: World, side: object) -> Array | None:
    try:
        return world.value(side, world.point)  # type: ignore[arg-type]
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


def m1(fn: str, x: str) -> str:
    return f'(map1 "{fn}" {x})'


def m2(fn: str, x: str, y: str) -> str:
    return f'(map2 "{fn}" {x} {y})'


def where(c: str, x: str, y: str) -> str:
    return f'(map3 "where" {c} {x} {y})'


def values(**tensors: object) -> World:
    """An example without dimensions: what each tensor is."""
    return World(tensors=tensors)
