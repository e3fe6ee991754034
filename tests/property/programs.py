"""Invented programs, written through the public API.

A program is a `Recipe`: a short list of steps that is replayed into tensors, so that a failure
prints as the recipe and can be kept as a test. Which steps there are: `tests.property.constructs`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import ostinato as ot
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import OstinatoError
from tests.property.constructs import TABLE, TAME, Step, Workshop
from tests.property.constructs.gradients import loss_of
from tests.property.constructs.slices import FOLDS
from tests.property.constructs.specials import FLOATS as SPECIAL
from tests.property.constructs.specials import WHOLE, WIDE
from tests.property.constructs.table import FLOATS

__all__ = ["Recipe", "Replay", "Step", "arguments", "covering", "invent", "recipes"]

NAMES = ("b", "s", "t", "u")
SHAPES = ((), (3,), (3,), (2, 3))
WILD_SHAPES = ((), (), (), (3,), (3,), (2, 3), (1,), (0,), (4, 4), (17,), (2, 0, 3))
INTEGERS = ("int32", "int64", "uint32", "bool")
MODES = ("values", "values", "values", "values", "gradient", "second")


@dataclass(frozen=True)
class Recipe:
    """Inputs (the dims each depends on, and its shape), steps, and how many tensors come out.

    ``dtypes`` are those of the inputs, if not all have the program's type. ``mode`` says what comes
    out: the "values" of the last tensors, a loss of them and its "gradient", or its "second" one.
    In a ``wild`` recipe a step that its operands refuse is skipped like one that does not fit.
    """

    inputs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    steps: tuple[Step, ...]
    outputs: int
    dims: int
    dtypes: tuple[str, ...] = ()
    mode: str = "values"
    wild: bool = False


class Replay:
    """Turn a recipe into tensors; a step that does not fit its operands is skipped."""

    def __init__(self, recipe: Recipe, dtype: str = "float32") -> None:
        self.recipe, self.dtype = recipe, dtype
        made = ot.dims(" ".join(NAMES[: recipe.dims]))
        self.dims = (made,) if recipe.dims == 1 else tuple(made)
        dtypes = recipe.dtypes or (dtype,) * len(recipe.inputs)
        self.inputs = [
            ot.input(f"x{k}", shape=shape, dtype=each, over=tuple(self.dims[d] for d in over))
            for k, ((over, shape), each) in enumerate(zip(recipe.inputs, dtypes, strict=True))
        ]
        self.workshop = Workshop(self.dims, dtype, list(self.inputs))
        self.skipped = [s for n, s in enumerate(recipe.steps) if not self.take(s, n)]

    def take(self, step: Step, number: int) -> bool:
        """Add the tensor of one step to the pool, if it fits."""
        self.workshop.number = number
        try:
            made = TABLE[step.op].make(self.workshop, step)
        except OstinatoError:
            if not self.recipe.wild:
                raise
            return False
        if made is None:
            return False
        self.workshop.pool.append(made)
        return True

    @property
    def outputs(self) -> list[Tensor]:
        """What the program computes, the draws that are the same bits everywhere included."""
        pool = self.workshop.pool
        last = pool[-self.recipe.outputs :]
        if self.recipe.mode == "values":
            return last
        loss = sum((loss_of(w) for w in map(self.workshop.as_real, last)), start=ot.zeros())
        loss = loss.cast(self.dtype).named("loss")
        by = [x for x in self.inputs if x.dtype == self.dtype]
        slopes = [g + x * 0.0 for g, x in zip(ot.grad(loss, by), by, strict=True)]
        if self.recipe.mode == "gradient":
            return [loss, *slopes]
        bend = loss_of(slopes[0]).named("bend")
        return [bend, *(g + x * 0.0 for g, x in zip(ot.grad(bend, by), by, strict=True))]

    def program(self) -> ot.Program:
        outputs = {f"y{k}": y for k, y in enumerate(self.outputs)}
        if self.recipe.mode == "values":
            outputs |= {f"draw{k}": u for k, u in enumerate(self.workshop.draws)}
        return ot.Program(**outputs)


def _step(chance: random.Random, names: Sequence[str], pool: int) -> Step:
    """A step on recent tensors more often than on old ones."""

    def operand() -> int:
        return pool - 1 if chance.random() < 0.5 else chance.randrange(pool)

    return Step(
        chance.choice(names), a=operand(), b=operand(), dim=chance.randrange(4),
        c=chance.randint(1, 3), fold=chance.choice(FOLDS),
    )  # fmt: skip


def _frame(chance: random.Random, wild: bool) -> Recipe:
    """A recipe without steps."""
    dims = chance.choice((1, 1, 2, 2, 2, 3) if wild else (1, 2, 2, 3, 3, 4))
    shapes = WILD_SHAPES if wild else SHAPES
    inputs = tuple(
        (tuple(sorted(chance.sample(range(dims), chance.randint(1, min(dims, 3))))),
         chance.choice(shapes))
        for _ in range(chance.randint(1, 3))
    )  # fmt: skip
    float_ = chance.choice(("float32", "float32", "float64"))
    dtypes = [chance.choice(INTEGERS) if chance.random() < 0.15 else float_ for _ in inputs]
    dtypes[0] = float_
    outputs, mode = chance.randint(1, 2), chance.choice(MODES)
    return Recipe(inputs, (), outputs, dims, tuple(dtypes), mode, wild)


def invent(
    seed: int, most_steps: int = 9, preferring: Sequence[str] = (), wild: bool = False
) -> Recipe:
    """Return the recipe of a seed, with preferred constructs in most places where they fit.

    Constructs are drawn by kind first; a kind is as common as the root of its size. Some programs
    begin with a dim that ends, as later it cannot. ``wild`` draws from all constructs.
    """
    chance = random.Random(seed)
    kinds: dict[str, list[str]] = {}
    for each in (TABLE if wild else TAME).values():
        kinds.setdefault(each.kind, []).append(each.name)
    rows, weights = list(kinds.values()), [_weight(names) for names in kinds.values()]
    while True:
        recipe = _frame(chance, wild)
        wanted = chance.randint(min(2, most_steps), most_steps)
        replay = Replay(recipe, recipe.dtypes[0])
        steps: list[Step] = []
        is_ragged = chance.random() < 0.15
        for _ in range(80):
            chosen = preferring and chance.random() < 0.85
            names = preferring if chosen else chance.choices(rows, weights)[0]
            names = ["stopped"] if is_ragged and not steps else names
            step = _step(chance, names, len(replay.workshop.pool))
            if replay.take(step, len(steps)):
                steps.append(step)
            if len(steps) == wanted:
                return replace(recipe, steps=tuple(steps))


def _weight(names: Sequence[str]) -> float:
    """How common a kind is: wild ones twice, and long chains seldom, as they take long."""
    weight = math.sqrt(len(names)) * (2 if TABLE[names[0]].wild else 1)
    return weight * (0.1 if TABLE[names[0]].kind == "long chains" else 1)


def covering(programs: int) -> list[Recipe]:
    """At least so many recipes, which together use every construct that fits at all."""
    found: list[Recipe] = []
    left = sorted(TAME)
    while len(found) < programs or (left and len(found) < 4 * programs):
        recipe = invent(len(found), 9, left)
        used = {step.op for step in recipe.steps}
        left = [name for name in left if name not in used]
        found.append(recipe)
    return found


def is_beyond_limits(recipe: Recipe, refused: Exception) -> bool:
    """Whether a program has more conditions than the build decides: docs/fuzzing.md.

    Pairs of dimensions have many, and so have second gradients.
    """
    has_pairs = any(TABLE[step.op].kind == "pairs" for step in recipe.steps)
    is_deep = has_pairs or recipe.mode == "second"
    return is_deep and "too many conditions on the point" in str(refused)


def recipes(most_steps: int = 9) -> st.SearchStrategy[Recipe]:
    """Recipes as hypothesis draws them; smaller seeds are not simpler."""
    seeds = st.integers(0, 2**32)
    return seeds.map(lambda seed: replace(invent(seed, most_steps), mode="values", dtypes=()))


def arguments(
    replay: Replay, extents: Mapping[str, int], seed: int, special: bool = False
) -> dict[str, Any]:
    """Seeded values for every input, and the extents; one in four ``special``, if asked for."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = dict(extents)
    for k, x in enumerate(replay.inputs):
        lead = [extents[d.name.upper()] for d in x.node.domain]
        shape = (*lead, *(int(str(n)) for n in x.shape))
        if x.dtype in FLOATS:
            values = rng.uniform(-1, 1, shape).astype(x.dtype)
        else:
            values = rng.integers(0 if x.dtype == "uint32" else -4, 5, shape).astype(x.dtype)
        if special:
            numbers = SPECIAL if x.dtype in FLOATS else WIDE if x.dtype == "int64" else WHOLE
            with np.errstate(all="ignore"):
                odd = np.asarray(numbers).astype(x.dtype)[rng.integers(0, len(numbers), shape)]
            values = np.where(rng.random(shape) < 0.25, odd, values)
        out[f"x{k}"] = values
    return out
