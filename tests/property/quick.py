"""The quick mode: small programs of all constructs, two judges, and one compilation.

The interpreter and the second judge must agree on every point first. Then the program is compiled
once, with options that the seed chooses, and must give what they gave. With checks of loops nothing
is compiled: the loop IR is checked and interpreted, with the items of phases in any order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import ostinato as ot
from ostinato.certificate.loop_runs import run_loops
from ostinato.certificate.machine import Emission, emission_of
from ostinato.codegen.cpu.native.llvm_modules import NAMES
from ostinato.codegen.loops.checker import check
from ostinato.compiler.compiled import Compiled
from ostinato.compiler.options import options_from
from ostinato.compiler.pipeline import optimize_pdg, plan_of
from ostinato.pdg.errors import DomainError, OstinatoError
from ostinato.pdg.functions import Array
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.node import Node
from ostinato.rewrite.registry import RuleSet
from tests.codegen.loops.interpreting import bound
from tests.property.constructs import TABLE
from tests.property.definition import Definition
from tests.property.exactness import is_bounded, is_rounded, reached
from tests.property.judge import EXTENTS, Bench, Disagreement, Trial, some_passes, within
from tests.property.programs import Recipe, invent
from tests.property.sparing import in_little_memory
from tests.property.tolerance import differences, distance, sensitivity, unlike
from tests.property.unsettled import Unsettled

EXTENT = (1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 16, 17, 19, 31, 33, 37, 67)
MOST_POINTS = 120  # of all dims together, so that both judges are quick
FEW_POINTS = 40  # the same where the loop IR is interpreted
SALTS = 8  # other roundings that are tried before a difference is one
FAR = ("recurrences", "nested loops", "products", "attention", "gradients", "whole axes", "slices")
KEPT = tuple(name for name, each in TABLE.items() if each.kind in FAR)  # what later loops read
RULES = ("all", "all", "all", "none", "exact", "no vectorize", "some")


class Refused(Exception):
    """A program that uses wild constructs, and that the build refuses in the project's words."""


def sizes(k: int) -> dict[str, int]:
    """The k-th set of extents: those of the judge, then invented ones, squares among them."""
    if k < len(EXTENTS):
        return EXTENTS[k]
    chance = random.Random(k)
    while True:
        found = {name: chance.choice(EXTENT) for name in "BSTU"}
        if chance.random() < 0.3:
            found = dict.fromkeys("BSTU", chance.choice((2, 3, 4)))
        if chance.random() < 0.3:  # one long dim
            found = {**dict.fromkeys("BSTU", chance.choice((1, 2))), chance.choice("BST"): 67}
        if np.prod(list(found.values())[:3]) <= MOST_POINTS:
            return found


@dataclass(frozen=True)
class Settled:
    """What both judges say at some arguments.

    ``defined`` are the outputs whose bits are defined, ``unrounded`` those of them for which no
    float was computed. ``strays`` says whether a position was clamped to its axis.
    """

    given: Mapping[str, Any]
    expected: dict[str, Array]
    defined: set[str]
    unrounded: set[str]
    strays: bool

    def exact(self, exactly: bool) -> set[str]:
        """The outputs whose bits a compiled program keeps, with or without ``exact=True``."""
        if exactly:
            return self.defined
        return {n for n in self.unrounded if n.startswith("draw") or self.is_whole(n)}

    def is_whole(self, name: str) -> bool:
        return self.expected[name].dtype.kind in "biu"


class QuickBench(Bench):
    """The program of a quick trial, and what both judges say."""

    def sizes(self, extents: int) -> Mapping[str, int]:
        return sizes(extents)

    def settled(self, given: Mapping[str, Any]) -> Settled:
        """The results on which both judges agree.

        Errors: Disagreement.
        """
        expected = self.reference(given)
        second, seen = self.define(given)
        nodes = dict(self.program.pdg.outputs)
        made = {name: set(reached(self.program.pdg, nodes[name])) for name in expected}
        sure = {n for n, of in made.items() if not any(_is_free(x, seen) for x in of)}
        self.compare("the second judge", second, expected, sure, given)
        defined = {n for n, of in made.items() if not (of & seen.tied or any(map(is_bounded, of)))}
        unrounded = {n for n in defined if not any(map(is_rounded, made[n]))}
        return Settled(given, expected, defined, unrounded, bool(seen.clamped))

    def far(
        self, found: Mapping[str, Array], expected: Mapping[str, Array], given: Mapping[str, Any]
    ) -> list[str]:
        """What differs by more than rounding, however much the program enlarges it."""
        wrong = differences(found, expected)
        if not wrong:
            return []
        self.unsteady = True
        slack = dict(sensitivity(self.reference, given, self.reference(given)))
        is_loose = not self.trial.exact
        laws = is_loose and self.trial.rules not in ("none", "exact")
        for salt in range(SALTS):
            judge = partial(Unsettled, salt=salt, signs=is_loose, laws=laws)
            other, _ = self.define(given, judge)
            for name, value in expected.items():
                slack[name] = np.fmax(slack[name], distance(other[name], value))
            wrong = differences(found, expected, slack)
            if not wrong:
                break
        return wrong

    def compare(
        self, what: str, found: Mapping[str, Array], expected: Mapping[str, Array],
        exact: set[str], given: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """Refuse outputs that differ, in a bit where they are ``exact``.

        Errors: Disagreement.
        """
        sizes = {name: n for name, n in given.items() if isinstance(n, int)}
        wrong = unlike(found, expected, sorted(exact))
        if wrong:
            raise Disagreement(f"{what}, in bits, differs: {'; '.join(wrong)} at {sizes}")
        wrong = self.far(found, {n: v for n, v in expected.items() if n not in exact}, given)
        if wrong:
            raise Disagreement(f"{what} differs: {'; '.join(wrong)} at {sizes}")

    def compile_options(self) -> dict[str, Any]:
        """What the trial says of the compilation."""
        trial = self.trial
        chosen: dict[str, Any] = {**self.options, "exact": trial.exact, "rules": self.rule_set()}
        if trial.watched not in ("", "loops", "memory"):
            chosen["checks"] = trial.watched if trial.watched != "steps" else True
        return chosen

    def emission(self) -> Emission:
        """The loop IR of the program, in as little memory as can be had if it has a limit.

        Errors: InvariantError.
        """
        given = self.compile_options()
        rules, chosen = given.pop("rules"), options_from(given, self.program.pdg)
        best = optimize_pdg(encoded(self.program.pdg), rules, chosen)
        limited = replace(chosen, memory_limit=1 if self.trial.memory else 0)
        made = emission_of(self.program.pdg, *plan_of(best, limited))
        check(made.functions, NAMES)
        return made

    def made(self) -> Compiled:
        """The compiled program, within the share of memory that the trial says."""
        options = self.compile_options()
        made = self.sparing(options) if self.trial.memory else self.program.compile(**options)
        self.unproved = "not proved to be defined" in "".join(
            made.executable.artifact.explanation.notes
        )
        return made

    def sparing(self, options: dict[str, Any]) -> Compiled:
        given = [self.given(k) for k in self.trial.extents]
        most = {n: max(each[n] for each in given) for n in self.program.extents}
        usual = self.program.compile(**options).explain(**most).memory.predicted_peak_bytes
        limit = int(usual * self.trial.memory) + 1
        return within(limit, self.program, **{**options, "hints": most})

    def run_loops(self, made: Emission, given: Mapping[str, Any]) -> dict[str, Array]:
        """The results of the loop IR, with the items of every phase in an order of the trial.

        Errors: Trap.
        """
        arguments = bound(self.program, {**given, "seed": self.trial.seed})
        found = run_loops(made, arguments, self.trial.threads, self.trial.seed)
        return {name: found[name] for name in self.program.outputs}

    def rule_set(self) -> RuleSet | None:
        match self.trial.rules:
            case "none":
                return ot.rules.without(*ot.rules.families)
            case "exact":
                return ot.rules.exact()
            case "no vectorize":
                return ot.rules.without("vectorize")
            case "some":
                return self.rules
            case _:
                return None


def _is_free(node: Node, seen: Definition) -> bool:
    return node in seen.free or node in seen.tied or is_bounded(node, folds=False)


def quick(trial: Trial) -> QuickBench:
    """Run a quick trial.

    Errors: Refused; Disagreement; whatever the compiler raises.
    """
    bench = _built(trial)
    if trial.watched == "memory":
        return _sparing(bench)
    told = [bench.settled(given) for given in map(bench.given, trial.extents)]
    what, results = "compiled", list[dict[str, Array] | None]()
    try:
        if trial.watched == "loops":
            what, made = "the loop IR", bench.emission()
            results += (bench.run_loops(made, each.given) for each in told)
        else:
            compiled = bench.made()
            results += (_checked(bench, compiled, each) for each in told)
    except OstinatoError as error:
        if any(TABLE[step.op].kind == "huge constants" for step in trial.recipe.steps):
            raise Refused(type(error).__name__) from error
        raise
    for each, found in zip(told, results, strict=True):
        if found is not None:
            bench.compare(what, found, each.expected, each.exact(trial.exact), each.given)
    return bench


def _sparing(bench: QuickBench) -> QuickBench:
    """The program, whose bits do not depend on the memory that it may take.

    Errors: Refused; Disagreement.
    """
    try:
        in_little_memory(bench, {**bench.options, "rules": bench.rule_set()})
    except OstinatoError as error:
        if any(TABLE[step.op].kind == "huge constants" for step in bench.trial.recipe.steps):
            raise Refused(type(error).__name__) from error
        raise
    return bench


def _checked(bench: QuickBench, compiled: Compiled, told: Settled) -> dict[str, Array] | None:
    """The results of a run; None if it says, as it must, that a position was clamped.

    Errors: Disagreement, if checks pass over such a position.
    """
    if not (told.strays and bench.trial.watched == "steps"):
        return bench.run(compiled, told.given)
    try:
        bench.run(compiled, told.given)
    except DomainError as error:
        if "is taken at position" in error.fact:
            return None
        raise
    raise Disagreement("a position outside its axis passes the checks")


def _built(trial: Trial) -> QuickBench:
    """The program; a refusal of wild constructs is no failure."""
    try:
        return QuickBench(trial)
    except OstinatoError as error:
        if any(TABLE[step.op].wild for step in trial.recipe.steps):
            raise Refused(type(error).__name__) from error
        raise


def quick_trial_of(seed: int, watched: str = "", recipe: Recipe | None = None) -> Trial:
    """The quick trial of a seed: a small program and the options of one compilation."""
    chance = random.Random(seed + 1)
    preferring = KEPT if watched == "memory" else ()
    recipe = recipe or invent(seed, chance.choice((1, 2, 3, 3, 4)), preferring, wild=True)
    values = 0.4 if preferring else 0.75  # a gradient reads again what an output does not
    if chance.random() < values:  # gradients take several times as long
        recipe = replace(recipe, mode="values")
    special = chance.random() < 0.35
    trial = Trial(
        recipe,
        extents=(chance.randrange(1000), chance.randrange(1000)),
        threads=chance.choice((1, 1, 2, 3)),
        hints={n: chance.choice((1, 4, 50, 3000)) for n in "BSTU" if chance.random() < 0.1},
        widths={n: chance.choice((1, 2, 3, 8, 40)) for n in "bstu" if chance.random() < 0.1},
        without=tuple(f for f in ot.rules.families if chance.random() < 0.3),
        seed=seed % 1000,
        quick=True,
        special=special,
        exact=chance.random() < (0.6 if special else 0.3),
        rules=chance.choice(RULES),
        watched=watched or chance.choice(("", "", "", "", "steps")),
        left_out=some_passes(chance),
        memory=chance.choice((0.0, 0.0, 0.0, 0.5, 0.2, 0.01)),
    )
    return _small(trial, chance) if watched == "loops" else trial


def _small(trial: Trial, chance: random.Random) -> Trial:
    """The trial at small extents, often in narrow tiles, so that there are several of them."""
    small = [k for k in range(1000) if np.prod(list(sizes(k).values())[:3]) <= FEW_POINTS]
    widths = {n: chance.choice((1, 2, 3, 4, 8)) for n in "bstu" if chance.random() < 0.5}
    return replace(trial, extents=(chance.choice(small), chance.choice(small)), widths=widths)
