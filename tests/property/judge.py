"""One trial: a recipe, the options it is compiled with, and the checks it must pass.

The interpreter is the reference. Every trial compiles the program and compares it at two sizes; the
further checks rotate, so that each is common and a trial stays short.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np

import ostinato as ot
from ostinato.certificate.document import read
from ostinato.certificate.verify import REFUSALS, checks_of
from ostinato.compiler import forms as program_forms
from ostinato.compiler.compiled import Compiled
from ostinato.compiler.passes import PASSES
from ostinato.pdg.errors import DomainError, MemoryLimitError
from ostinato.pdg.functions import Array
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Pdg
from ostinato.rewrite.load import range_rows as long_ranges
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.rewrite.registry import RuleSet
from tests.property.definition import Definition, Undefined, define
from tests.property.programs import Recipe, Replay, arguments, invent
from tests.property.tolerance import differences, is_steep, sensitivity, unlike

EXTENTS: tuple[dict[str, int], ...] = (
    {"B": 2, "S": 3, "T": 5, "U": 2},
    {"B": 1, "S": 1, "T": 1, "U": 1},
    {"B": 33, "S": 2, "T": 4, "U": 1},
    {"B": 3, "S": 1, "T": 17, "U": 2},
    {"B": 1, "S": 5, "T": 8, "U": 3},
    {"B": 5, "S": 7, "T": 1, "U": 1},
    {"B": 4, "S": 4, "T": 4, "U": 4},
    {"B": 1, "S": 2, "T": 34, "U": 1},
    {"B": 2, "S": 19, "T": 2, "U": 3},
)


class Disagreement(AssertionError):
    """A compiled program and its definition differ, or two ways to run it do."""


@dataclass(frozen=True)
class Trial:
    """Everything that decides a trial; prints as Python that makes it again."""

    recipe: Recipe
    extents: tuple[int, ...] = (0, 1, 2)
    threads: int = 2
    hints: Mapping[str, int] = field(default_factory=dict[str, int])
    widths: Mapping[str, int] = field(default_factory=dict[str, int])
    without: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    seed: int = 0
    quick: bool = False  # judged by `tests.property.quick`, which the following are for
    special: bool = False  # some arguments are NaN, infinite, signed zeros, extreme integers
    exact: bool = False  # compiled with ``exact=True``
    rules: str = "all"
    watched: str = ""  # the checks of compiled code, or "loops" or "memory"
    left_out: tuple[str, ...] = ()  # optimisations of the compiler
    memory: float = 0.0  # the share of its usual memory that it may take; 0: no limit


class Bench:
    """The program of a trial, with its reference results."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        recipe = trial.recipe
        self.replay = Replay(recipe, recipe.dtypes[0] if recipe.dtypes else "float32")
        self.program = self.replay.program()
        self.unsteady = False  # some difference was rounding that the program enlarges
        self.unproved = False  # no faster form was proved to be defined

    def sizes(self, extents: int) -> Mapping[str, int]:
        return EXTENTS[extents]

    def given(self, extents: int) -> dict[str, Any]:
        """The arguments at one of the sets of extents, which constant steps may lengthen."""
        least = self.program.signature.least
        sizes = {name: max(n, least.get(name, 1)) for name, n in self.sizes(extents).items()}
        values = arguments(self.replay, sizes, extents, self.trial.special)
        wanted = (*self.program.inputs, *self.program.extents)
        return {name: value for name, value in values.items() if name in wanted}

    def reference(self, given: Mapping[str, Any], exact: bool = False) -> dict[str, Array]:
        return self.meaning(self.program.pdg, given, exact)

    def meaning(self, pdg: Pdg, given: Mapping[str, Any], exact: bool = False) -> dict[str, Array]:
        """The results of the program or of a rewritten form of it."""
        bound = self.program.signature.bind({**given, "seed": self.trial.seed})
        hosts = self.program.hosts
        found = interpret(pdg, bound.extents, bound.inputs, bound.seed, exact, hosts)
        return {name: found[name] for name in self.program.outputs}

    def define(
        self, given: Mapping[str, Any], judge: Callable[..., Definition] = Definition
    ) -> tuple[dict[str, Array], Definition]:
        """Every output by the second judge.

        Errors: Disagreement, if the program needs what has no value.
        """
        bound = self.program.signature.bind({**given, "seed": self.trial.seed})
        pdg, hosts = self.program.pdg, self.program.hosts
        try:
            return define(judge(pdg, bound.extents, bound.inputs, bound.seed, hosts))
        except Undefined as problem:
            raise Disagreement(f"an accepted program differs: undefined: {problem}") from problem

    @cached_property
    def rules(self) -> RuleSet:
        return ot.rules.without(*self.trial.without)

    @cached_property
    def options(self) -> dict[str, Any]:
        known = set(self.program.extents)
        dims = {d.name for d in self.program.pdg.dims()}
        return {
            "threads": self.trial.threads,
            "hints": {k: v for k, v in self.trial.hints.items() if k in known},
            "widths": {k: v for k, v in self.trial.widths.items() if k in dims},
            "without": self.trial.left_out,
        }

    @property
    def plain(self) -> dict[str, Any]:
        """The options of a program of which machine code is made fast."""
        return {**self.options, "without": (*self.trial.left_out, PLAIN)}

    @cached_property
    def compiled(self) -> Compiled:
        return self.program.compile(rules=self.rules, **self.options)

    def run(self, compiled: Compiled, given: Mapping[str, Any]) -> dict[str, Array]:
        return compiled(seed=self.trial.seed, **given)

    def agree(
        self, what: str, found: Mapping[str, Array], given: Mapping[str, Any], moved: bool = True
    ) -> None:
        """Refuse results that are not those of the interpreter, every point of them.

        ``moved`` says whether float64 may tell how far rounding goes.
        """
        expected = self.reference(given)
        wrong = differences(found, expected)
        drawn = [name for name in expected if name.startswith("draw")]
        wrong += unlike(found, expected, drawn)
        if wrong:
            slack = sensitivity(self.reference, given, expected, moved)
            slack = {n: np.zeros(v.shape) if n in drawn else v for n, v in slack.items()}
            self.unsteady, wrong = True, differences(found, expected, slack)
            wrong += unlike(found, expected, drawn)
        if wrong:
            sizes = {name: n for name, n in given.items() if isinstance(n, int)}
            raise Disagreement(f"{what} differs: {'; '.join(wrong)} at {sizes}")


# Constructs whose derivative is declared to be another one than the slope.
OTHER_DERIVATIVE = {
    *(
        "called",
        "called_with_rows",
        "called_for_row",
        "called_for_rows",
        "own_derivative",
        "stop_gradient",
    ),
    *("beta", "gamma", "dirichlet"),  # none by the concentration
}
PLAIN = "LLVM passes"  # left out of all but the program itself: checks are about what comes before
CHECKS: dict[str, Callable[[Bench], None]] = {}


def check(make: Callable[[Bench], None]) -> Callable[[Bench], None]:
    """Enter a check under its name."""
    CHECKS[make.__name__] = make
    return make


@check
def threads(bench: Bench) -> None:
    """Results are the same bits for 1, 2 and 3 threads."""
    given = bench.given(2)
    results: list[dict[str, Array]] = []
    before = bench.compiled.executable.threads
    for count in (1, 2, 3, 1):
        bench.compiled.executable.threads = count
        results.append(bench.run(bench.compiled, given))
    bench.compiled.executable.threads = before
    for name, value in results[0].items():
        if any(value.tobytes() != other[name].tobytes() for other in results[1:]):
            raise Disagreement(f"threads change bits of {name}")


@check
def tiles(bench: Bench) -> None:
    """Other tiles and hints agree with the interpreter."""
    chance = random.Random(bench.trial.seed)
    widths = {d.name: chance.choice((1, 2, 3, 5, 64)) for d in bench.program.pdg.dims()}
    hints = {name: chance.choice((1, 3, 1000)) for name in bench.program.extents}
    options: dict[str, Any] = {"threads": 1, "widths": widths, "hints": hints, "without": PLAIN}
    other = bench.program.compile(rules=bench.rules, **options)
    for k in bench.trial.extents[:2]:
        given = bench.given(k)
        bench.agree(f"tiled {widths} {hints}", bench.run(other, given), given)


@check
def families(bench: Bench) -> None:
    """Without any one of some families of rules, the rewritten program means the same."""
    given = bench.given(bench.trial.extents[0])
    for family in random.Random(bench.trial.seed).sample(sorted({*ot.rules.families}), 4):
        rules = bench.rules.without(*(f for f in (family,) if f in bench.rules.families))
        bench.agree(f"rewritten without {family}", rewritten(bench, rules, given), given)


@check
def single_rules(bench: Bench) -> None:
    """Without some single rules, the rewritten program means the same."""
    chance = random.Random(bench.trial.seed)
    given = bench.given(bench.trial.extents[-1])
    for _ in range(3):
        names = sorted(rule.name for rule in bench.rules if chance.random() < 0.3)
        rules = bench.rules.without(*names)
        bench.agree(f"rewritten without {names}", rewritten(bench, rules, given), given)


def rewritten(bench: Bench, rules: RuleSet, given: Mapping[str, Any]) -> dict[str, Array]:
    """The interpreter's results for the program that rewriting chose."""
    options = RewriteOptions(rules=rules, hints=bench.options["hints"])
    return bench.meaning(optimize(bench.program.pdg, options).pdg, given)


@check
def forms(bench: Bench) -> None:
    """A form whose choice other prices make agrees, with long ranges in tiles of three steps."""
    name = random.Random(bench.trial.seed).choice((program_forms.TILES, *program_forms.SPARING))
    only = {name: program_forms.SPARING[name]}
    with (
        TemporaryDirectory() as cache,
        mock.patch.dict(os.environ, OSTINATO_CACHE_DIR=cache),
        mock.patch.object(long_ranges, "WIDTH", 3),
        mock.patch.object(program_forms, "SPARING", only),
        mock.patch.object(program_forms, "NEAR", 0),
        mock.patch.object(program_forms, "GAIN", math.inf),
        mock.patch.object(program_forms, "MOST_NODES", math.inf),
    ):
        hints = dict.fromkeys(bench.program.extents, 40)
        other = bench.program.compile(rules=bench.rules, threads=2, hints=hints, without=PLAIN)
        for k in bench.trial.extents[:2]:
            given = bench.given(k)
            bench.agree(f"the form with {name}", bench.run(other, given), given)


@check
def limited(bench: Bench) -> None:
    """In less memory, if there is a form that takes less, it agrees."""
    given = bench.given(bench.trial.extents[-1])
    sizes = {n: given[n] for n in bench.program.extents}
    usual = bench.compiled.explain(**sizes).memory.predicted_peak_bytes
    asked = int(usual * random.Random(bench.trial.seed).choice((0.66, 0.3, 0.1))) + 1
    options: dict[str, Any] = {"threads": 2, "hints": sizes, "without": PLAIN}
    other = within(asked, bench.program, rules=bench.rules, **options)
    bench.agree("in less memory", bench.run(other, given), given)


def within(limit: int, program: ot.Program, **options: Any) -> Compiled:
    """The program within a limit of memory, or within the least that can be had."""
    try:
        return program.compile(memory_limit=limit, **options)
    except MemoryLimitError as error:
        least = int(error.remedy.split("memory_limit=")[1].split()[0])
        return program.compile(memory_limit=least, **options)


@check
def guarded(bench: Bench) -> None:
    """Compiled with checks of every computed step, it agrees; none fails but of a clamped one."""
    other = bench.program.compile(rules=bench.rules, threads=2, checks=True, without=PLAIN)
    given = bench.given(bench.trial.extents[0])
    try:
        found = bench.run(other, given)
    except DomainError:
        if bench.define(given)[1].clamped:
            return
        raise
    bench.agree("with checks", found, given)


@check
def addresses(bench: Bench) -> None:
    """No access of compiled code is outside of its tensor; checking that changes no bit."""
    other = bench.program.compile(rules=bench.rules, checks="addresses", **bench.options)
    for k in bench.trial.extents:
        given = bench.given(k)
        expected, found = bench.run(bench.compiled, given), bench.run(other, given)
        changed = [n for n, value in expected.items() if value.tobytes() != found[n].tobytes()]
        if changed:
            raise Disagreement(f"checking addresses changes bits of {changed}")


@check
def pointwise(bench: Bench) -> None:
    """Compiled without vectorization: every point runs for itself."""
    rules = ot.rules.without("vectorize")
    other = bench.program.compile(rules=rules, threads=2, without=PLAIN)
    for k in bench.trial.extents[:2]:
        given = bench.given(k)
        bench.agree("point by point", bench.run(other, given), given)


@check
def verified(bench: Bench) -> None:
    """Every invariant holds after every stage."""
    other = bench.program.compile(rules=bench.rules, verify=True, **bench.plain)
    given = bench.given(bench.trial.extents[0])
    bench.agree("verified", bench.run(other, given), given)


@check
def certified(bench: Bench) -> None:
    """Everything that a certificate says is shown; the rules have proofs of their own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        bench.program.compile(rules=bench.rules, certificate=path, **bench.plain)
        written = read(path)
    for name, show in checks_of(written):
        try:
            _ = name == "rules" or show()
        except REFUSALS as problem:
            raise Disagreement(f"the certificate fails: {name}: {problem}") from problem


@check
def exact(bench: Bench) -> None:
    """The interpreter in float64 agrees with itself in float32."""
    given = bench.given(bench.trial.extents[0])
    found = bench.reference(given, exact=True)
    narrow = {name: v.dtype for name, v in bench.reference(given).items()}
    drawn = {n for n in found if n.startswith("draw")}
    result = {n: v.astype(narrow[n]) for n, v in found.items()}
    if not drawn:  # draws are made in the type they are asked for
        bench.agree("float64", result, given, moved=False)


def records_of(
    made: Compiled, bench: Bench, given: Mapping[str, Any], keep: object, names: Sequence[str]
) -> dict[str, Array]:
    """What the records of a stream over the outermost dim of these outputs hold, by output."""
    over = made.executable.artifact.domains[names[0]][0]
    with made.stream(over, keep=keep, seed=bench.trial.seed, **given) as records:
        rows = [{n: np.asarray(getattr(record, n)) for n in names} for record in records]
    return {n: np.stack([row[n] for row in rows]) for n in names}


def outermost(made: Compiled, names: Iterable[str]) -> list[str]:
    """The outputs that have the first of their outermost dims."""
    domains = {n: dims for n, dims in made.executable.artifact.domains.items() if n in {*names}}
    first = min((dims[0] for dims in domains.values() if dims), default=None)
    return [n for n, dims in domains.items() if dims and dims[0] == first]


@check
def streamed(bench: Bench) -> None:
    """A stream gives the records of the call, however few of them have room.

    They have its bits where the form of the call makes records; a form for streams rounds others.
    """
    made = bench.compiled
    names = outermost(made, bench.program.outputs)
    if not names:
        return
    given = bench.given(bench.trial.extents[0])
    wanted = whole = bench.run(made, given)
    found = records_of(made, bench, given, (None, 1, 2, "all")[bench.trial.seed % 4], names)
    if not made.executable.is_live(made.executable.artifact.domains[names[0]][0]):
        bench.agree("a stream", {**whole, **found}, given)
        wanted = records_of(made, bench, given, "all", names)
    wrong = [n for n in names if found[n].tobytes() != wanted[n].tobytes()]
    if wrong:
        raise Disagreement(f"the records of the stream differ in {', '.join(wrong)}")


@check
def printed(bench: Bench) -> None:
    """The program prints, and the same recipe prints the same text."""
    again = Replay(bench.trial.recipe, bench.replay.dtype).program()
    if str(again) != str(bench.program):
        raise Disagreement("the same program prints differently")


@check
def slope(bench: Bench) -> None:
    """A gradient is the slope of its loss; two steps must agree, or the loss has a kink there."""
    recipe = bench.trial.recipe
    if recipe.mode == "values" or bench.replay.dtype != "float64":
        return
    if OTHER_DERIVATIVE & {step.op for step in recipe.steps}:
        return
    given = bench.given(0)
    reference = bench.reference(given)
    rng = np.random.default_rng(bench.trial.seed)
    by = [n for n in sorted(given) if getattr(given[n], "dtype", None) == np.float64]
    if not by or is_steep(reference):
        return
    ways = {name: rng.normal(size=np.shape(given[name])) for name in by}
    places = {f"x{k}" for k in range(len(bench.replay.inputs))}
    slopes = [n for n, x in enumerate(bench.replay.inputs) if x.dtype == "float64"]
    total = sum(
        float((reference[f"y{1 + k}"] * ways[f"x{n}"]).sum())
        for k, n in enumerate(slopes) if f"x{n}" in ways and f"x{n}" in places
    )  # fmt: skip

    def risen(step: float) -> float:
        values = [
            float(bench.reference({**given, **{n: given[n] + k * ways[n] for n in by}})["y0"])
            for k in (step, -step)
        ]
        return (values[0] - values[1]) / (2 * step)

    near, far = risen(1e-6), risen(3e-6)
    scale = 1 + abs(near) + abs(total)
    if abs(near - far) < 1e-6 * scale and abs(total - near) > 1e-4 * scale:
        raise Disagreement(f"slope is {near}, the gradient says {total}")


def judge(trial: Trial) -> Bench:
    """Run a trial.

    Errors: Disagreement; whatever the compiler raises.
    """
    bench = Bench(trial)
    assert not bench.replay.skipped or not trial.checks, f"{bench.replay.skipped} do not fit"
    for k in trial.extents:
        given = bench.given(k)
        bench.agree("compiled", bench.run(bench.compiled, given), given)
    for name in trial.checks:
        CHECKS[name](bench)
    return bench


def some_passes(chance: random.Random) -> tuple[str, ...]:
    """None, a few or many of the optimisations."""
    share = chance.choice((0.0, 0.1, 0.5))
    return tuple(p.name for p in PASSES if p.is_optimisation and chance.random() < share)


def trial_of(seed: int, recipe: Recipe | None = None) -> Trial:
    """The trial of a seed: an invented program, random options, and two of the further checks."""
    recipe = recipe or invent(seed)
    chance = random.Random(seed + 1)
    off = [f for f in ot.rules.families if chance.random() < 0.12]
    further = sorted(CHECKS if recipe.mode != "values" else CHECKS.keys() - {"slope"})
    trial = Trial(
        recipe,
        extents=tuple(sorted(chance.sample(range(len(EXTENTS)), 2))),
        threads=chance.randint(1, 3),
        hints={n: chance.choice((1, 4, 50, 3000)) for n in "BSTU" if chance.random() < 0.2},
        widths={n: chance.choice((1, 2, 3, 8, 40)) for n in "bstu" if chance.random() < 0.2},
        without=tuple(off),
        checks=tuple(chance.sample(further, 2)),
        seed=seed % 1000,
        left_out=some_passes(chance),
    )
    if seed % 4 == 0:
        return trial  # a certificate takes as long as all else together: every fourth program
    return replace(trial, checks=tuple(name for name in trial.checks if name != "certified"))
