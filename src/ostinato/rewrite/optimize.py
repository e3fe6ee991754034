"""Optimise a program: load it, saturate, choose the cheapest legal terms, rebuild."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

from ostinato.machine.profile import Profile
from ostinato.pdg.errors import OptionError
from ostinato.pdg.index import Dim
from ostinato.pdg.node import Node, Pdg
from ostinato.pdg.pass_record import ALL_PASSES, Passes
from ostinato.pdg.separate import loops_of
from ostinato.rewrite.engine.egglog_session import EngineError, Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.remembered import saturated
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.saturate import Budget, Saturation
from ostinato.rewrite.extract.choose import Extractor, NoTerm, Selection
from ostinato.rewrite.extract.export import EXPORTED, EGraph, export
from ostinato.rewrite.extract.pricing import VIEWS, Cost, Pricing
from ostinato.rewrite.extract.rebuild import Rebuilt, rebuild
from ostinato.rewrite.extract.short_program import Differs, ShortProgram
from ostinato.rewrite.extract.sizes import Sizes
from ostinato.rewrite.load.folded_rows import Folded, folded, whole
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.registry import RuleSet, every_rule
from ostinato.rewrite.terms.signature import SIGNATURE

Prices = Callable[[EGraph, Sizes, Profile], Pricing]
NARROW = 8  # rows: a batch of fewer may run faster point by point


@dataclass(frozen=True)
class RewriteOptions:
    """Which rules run, typical extents by name for cost decisions, bounds, and the machine.

    ``pricing`` makes the prices that choose; the report has those of the machine. ``clock`` times
    the stages, in seconds. ``meanwhile`` is called once, in a thread, while the rules run.
    ``passes`` says how the passes are run.
    """

    rules: RuleSet = field(default_factory=every_rule)
    hints: Mapping[str, int] = field(default_factory=dict[str, int])
    budget: Budget = Budget()
    profile: Profile = Profile()
    pricing: Prices = Pricing
    clock: Callable[[], float] = time.perf_counter
    meanwhile: Callable[[], object] | None = None
    passes: Passes = ALL_PASSES


@dataclass(frozen=True)
class Report:
    """What rewriting did.

    - ``rules``: name -> how often it fired, for every rule of the set;
    - ``origins``: for each node of the result, the rules that created its e-node; ``prices``: its
      share of the predicted time;
    - ``before``, ``after``: times by kind; prices are nanoseconds of a whole run at the hints;
    - ``enodes``, ``classes``: the size of the saturated graph; ``seconds``: time per stage;
    - ``switches``: choices that local search changed after the tree program, in so many ``steps``;
    - ``search``: why local search ended before it had tried everything; empty if it did not;
    - ``left``: what was left as it was written, and why; empty if nothing was;
    - ``apart``: whether terms were chosen for every copy of a part that repeats, since those of
      few copies do not serve all;
    - ``unproved``: the rules that fired, are no rules of the compiler and have no proof.
    """

    rules: dict[str, int]
    origins: dict[Node, tuple[str, ...]]
    before: Cost
    after: Cost
    price_before: float
    price_after: float
    saturation: Saturation
    enodes: int
    seconds: dict[str, float]
    switches: int = 0
    search: str = ""
    prices: dict[Node, float] = field(default_factory=dict[Node, float])
    left: str = ""
    apart: bool = False
    unproved: tuple[str, ...] = ()
    classes: int = 0
    steps: int = 0

    def __str__(self) -> str:
        fired = sorted(self.rules.items(), key=lambda rule: (-rule[1], rule[0]))
        lines = [f"{count:7d}  {name}" for name, count in fired if count]
        times = ", ".join(f"{stage} {s * 1e3:.0f} ms" for stage, s in self.seconds.items())
        gain = f"{self.price_before / 1e6:.2f} ms -> {self.price_after / 1e6:.2f} ms predicted"
        summary = f"{self.enodes} e-nodes; {self.saturation}\n{gain}; {times}"
        left = [f"left as written: {self.left}"] if self.left else []
        cut = [f"local search: {self.search}"] if self.search else []
        apart = ["repeated parts: terms chosen for every copy"] if self.apart else []
        return "\n".join([*lines, summary, *cut, *apart, *left])


@dataclass(frozen=True)
class Evidence:
    """What the program was chosen from, and the choice: the material of certificates."""

    loaded: Loaded
    graph: EGraph
    selection: Selection


@dataclass(frozen=True)
class Optimized:
    """The extracted program, which axes of its recurrences are dimensions, and the report.

    What is left of ``separate`` dimensions may run side by side, as axes do.

    Without ``evidence`` the program is the one that was given. ``times`` are the predicted
    nanoseconds of the forms that were compared, where several were; ``passed_over`` says which
    other forms could not be, and why.
    """

    pdg: Pdg
    batched: dict[str, tuple[Dim, ...]]
    report: Report
    evidence: Evidence | None = None
    times: Mapping[str, float] = field(default_factory=dict[str, float])
    passed_over: tuple[str, ...] = ()
    separate: tuple[Dim, ...] = ()


def optimize(pdg: Pdg, options: RewriteOptions | None = None) -> Optimized:
    """Return an equal program that is cheaper at the hinted extents.

    The outputs keep their names, domains and shapes. The result is deterministic: the same program
    gives the same result in every process.
    A program whose recurrences no nest of loops orders comes back as it is: scheduling reports it.
    """
    return Rewriting(pdg, options or RewriteOptions()).best()


class Rewriting:
    """Everything that rules make of a program, to choose forms of it."""

    def __init__(self, pdg: Pdg, options: RewriteOptions) -> None:
        if "rules" in options.passes.without:
            options = replace(options, rules=RuleSet(()))
        self._options, self._clock = options, _Clock(options.clock)
        session = Session(program(options.rules.rules, ()))
        loading = Ahead(partial(load, pdg, options.passes), options.meanwhile)
        with _well_formed(options.rules):
            session.declare()
        self._clock.lap("declare")
        self._loaded = loading.value()
        self._clock.lap("load")
        self._folded = options.passes.optional(
            "repeated parts", whole(self._loaded), folded, self._loaded
        )
        self._clock.lap("fold")
        self._seen, self._saturation = _saturated(self._loaded, self._folded, options, self._clock)
        self._choose_from(is_short=True)
        if options.rules:
            options.passes.made("rules", self._short.graph)

    def _choose_from(self, is_short: bool) -> None:
        """Choose terms of few copies of each part that repeats, or of all."""
        self._short = ShortProgram(self._seen, self._folded, self._loaded, is_short)
        self._apart = not is_short
        self._clock.lap("unfold")
        self._sizes = Sizes(self._short.graph, self._short.loaded, self._options.hints)
        self._clock.lap("sizes")

    def longest_row(self) -> float:
        """The bytes of the longest scores that could be computed in tiles, or 0."""
        return Pricing(self._short.graph, self._sizes, self._options.profile).longest_row()

    def is_tiled(self, form: Optimized) -> bool:
        """Whether a form computes long ranges in tiles."""
        masks = (int(mask) for _, _, mask in self._loaded.rows.get("tiled", ()))
        tiles = {d for mask in masks for d in self._loaded.tables.dims_in(mask)}
        return not tiles.isdisjoint(form.pdg.dims())

    def best(self, prices_by: Prices | None = None) -> Optimized:
        """The cheapest form, by the prices of the options or by others."""
        make = prices_by or self._options.pricing
        try:
            return self._best(make)
        except Differs:
            self._choose_from(is_short=False)
            return self._best(make)

    def _best(self, make: Prices) -> Optimized:
        """The cheapest form.

        Errors: Differs if copies of a part have to be looked at one by one.
        """
        short, clock, profile = self._short, self._clock, self._options.profile
        pricing = make(short.graph, self._sizes, profile)
        run, report = self._options.passes, self._report(pricing)
        steps = 0 if "local search" in run.without else self._options.budget.steps
        extractor = Extractor(short.graph, short.loaded, pricing, steps)
        try:
            chosen = _cheapest(extractor, short.graph, short.loaded, self._sizes)
        except NoTerm as problem:
            report = replace(report, left=str(problem))
            return Optimized(self._loaded.pdg, {}, report, separate=self._loaded.separate)
        graph, after = short.expanded(chosen)
        after = run.made("choice", after)
        clock.lap("extract")
        rebuilt = run.made("chosen program", rebuild(after, graph, self._loaded))
        if graph is not short.graph:
            pricing = make(graph, Sizes(graph, self._loaded, self._options.hints), profile)
            after = _priced(after, pricing)
        clock.lap("rebuild")
        prices = _prices(after, rebuilt, pricing)
        report = replace(
            report,
            origins=_origins(after, rebuilt, graph),
            prices=prices,
            after=after.cost,
            price_after=sum(prices.values()),
            switches=after.switches,
            steps=after.steps,
            search="" if after.is_searched else f"the budget of {steps} steps was reached",
            left=after.left,
        )
        separate = self._loaded.separate
        separate = separate if after.left else loops_of(separate)
        evidence = Evidence(self._loaded, graph, after)
        return Optimized(rebuilt.pdg, rebuilt.batched, report, evidence, separate=separate)

    def _report(self, pricing: Pricing) -> Report:
        """What is known before a form is chosen."""
        short = self._short
        cost = _written(short, pricing)
        rules, matches = self._options.rules, self._saturation.matches
        fired = {r.name: matches.get(r.name, 0) for r in rules}
        return Report(
            rules=fired, origins={}, before=cost, after=cost, price_before=cost.total,
            price_after=cost.total, saturation=self._saturation, enodes=self._seen.count(),
            classes=len(self._seen.classes), seconds=self._clock.laps, apart=self._apart,
            unproved=_unproved(r for r in rules if fired[r.name]),
        )  # fmt: skip


def _unproved(fired: Iterable[Rule]) -> tuple[str, ...]:
    """Rules that the user answers for, with the reason that is given."""
    own = every_rule().rules
    return tuple(
        f"{r.name} ({r.proof or 'never decided'})"
        for r in fired
        if not r.is_proved and r not in own
    )


def _saturated(
    loaded: Loaded, part: Folded, chosen: RewriteOptions, clock: _Clock
) -> tuple[EGraph, Saturation]:
    """Everything the rules make of a program, or of one copy of each part of it.

    Errors: OptionError for a rule that is not well formed.
    """
    filled = {name for name, rows in part.rows.items() if rows}
    families = {r.name: r.family for r in chosen.rules}
    commands = program(chosen.rules.rules, filled)
    with _well_formed(chosen.rules):
        tables, found = saturated(commands, part.rows, chosen.budget, families, EXPORTED)
    clock.lap("saturate")
    graph = export(tables, loaded)
    clock.lap("export")
    return graph, found


@contextmanager
def _well_formed(rules: RuleSet) -> Generator[None]:
    """Tell a rule that the engine refuses by its name."""
    try:
        yield
    except EngineError as problem:
        name = re.search(r':name "([^"]*)"', problem.command)
        if name is None or name[1] not in [r.name for r in rules]:
            raise
        fact = f"the rule `{name[1]}` is not well formed: {problem.fact}"
        raise OptionError(fact, "Compare with `ostinato rules show` of a similar rule.") from None


def _cheapest(extractor: Extractor, graph: EGraph, loaded: Loaded, sizes: Sizes) -> Selection:
    """The cheapest form of the program: its recurrences batched, or point by point.

    Point by point pays every operator once per point. It is tried for narrow batches, and where
    the batched form has no order. A recurrence that equals a linear one need not exist.
    """
    if graph.closed:
        try:
            return _cheapest_form(extractor, graph, loaded, sizes)
        except NoTerm:  # a reader comes before the whole of it
            graph = replace(graph, closed=frozenset())
    return _cheapest_form(extractor, graph, loaded, sizes)


def _cheapest_form(extractor: Extractor, graph: EGraph, loaded: Loaded, sizes: Sizes) -> Selection:
    """The cheapest form; what has no order in a batch runs point by point, or as it is written."""
    forms, twins = forms_of(graph, loaded, sizes), _needed(graph, loaded)
    single, kept, left = frozenset[str](), frozenset[str](), dict[str, None]()
    while True:
        try:
            best = min((extractor.select(f, kept) for f in forms), key=lambda s: s.price)
            return replace(best, left="; ".join(left))
        except NoTerm as problem:
            names = problem.names & twins.keys()
            batched = {n for n in names if any(set(twins[n][1:]) & f for f in forms)}
            if batched:
                single |= names
                others = {t for n in single for t in twins[n][1:]}
                forms = tuple({(f - others) | {twins[n][0] for n in single} for f in forms})
                left["its recurrences run point by point"] = None
            elif names <= kept:
                raise
            else:
                kept |= names
                left[str(problem)] = None


def forms_of(graph: EGraph, loaded: Loaded, sizes: Sizes) -> tuple[frozenset[int], ...]:
    """The sets of recurrence ids worth comparing, the one with most dimensions batched first."""
    needed = _needed(graph, loaded)
    plain = frozenset(twins[0] for twins in needed.values())
    widest = frozenset(
        max(t for t in twins if all((t, k) in graph.definitions for k in range(cases)))
        for twins, cases in (
            (twins, len(loaded.pdg.equations[name].cases)) for name, twins in needed.items()
        )
    )
    batched = {d for t in widest for d in loaded.tables.recs[t].axes}
    narrow = any(sizes.extent(d) < NARROW for d in batched)
    return (widest, plain) if narrow else (widest,)


def _needed(graph: EGraph, loaded: Loaded) -> dict[str, list[int]]:
    """The recurrences that no linear one stands for, and their ids."""
    return {n: twins for n, twins in loaded.twins.items() if twins[0] not in graph.closed}


def _written(short: ShortProgram, pricing: Pricing) -> Cost:
    """The cost of the program as it was written."""
    total, graph = Cost(), short.graph
    for op in SIGNATURE:
        for row in short.loaded.rows.get(f"raw_{op}", ()) if op not in VIEWS else ():
            number = int(row[0])
            cost = pricing.cost(graph.node_class[number], graph.written(op, row))
            for _ in range(short.times(number)):
                total = total + cost
    return total


def _priced(selection: Selection, pricing: Pricing) -> Selection:
    """A selection with its price and cost."""
    cost, price = Cost(), 0.0
    roots = [*selection.outputs, *selection.definitions.values()]
    for number in selection.terms.reachable(roots):
        item = selection.terms.items[number]
        cost = cost + pricing.cost(item.cls, item.enode)
        price += pricing.price(item.cls, item.enode)
    return replace(selection, price=price, cost=cost)


def _origins(selection: Selection, rebuilt: Rebuilt, graph: EGraph) -> dict[Node, tuple[str, ...]]:
    out: dict[Node, tuple[str, ...]] = {}
    for number, node in rebuilt.nodes.items():
        enode = selection.terms.items[number].enode
        rules = graph.origins.get((enode.op, enode.fields))
        if rules:
            out.setdefault(node, rules)
    return out


def _prices(selection: Selection, rebuilt: Rebuilt, pricing: Pricing) -> dict[Node, float]:
    out: dict[Node, float] = {}
    for number, node in rebuilt.nodes.items():
        item = selection.terms.items[number]
        out[node] = out.get(node, 0.0) + pricing.time(item.cls, item.enode)
    return out


class _Clock:
    """Seconds per stage."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.laps: dict[str, float] = {}
        self._now, self._last = now, now()

    def lap(self, name: str) -> None:
        now = self._now()
        self.laps[name] = now - self._last
        self._last = now


T = TypeVar("T")


class Ahead(Generic[T]):
    """The value of a function, and what its thread does afterwards.

    >>> Ahead(lambda: 2 + 3).value()
    5
    """

    def __init__(self, make: Callable[[], T], afterwards: Callable[[], object] | None = None):
        """Begin at once."""
        self._make, self._afterwards = make, afterwards
        self._made: list[T] = []
        self._failure: BaseException | None = None
        self._is_over = threading.Event()
        threading.Thread(target=self._run, name="ostinato-ahead", daemon=True).start()

    def value(self) -> T:
        """Wait for the value.

        Errors: those of the function.
        """
        self._is_over.wait()
        if self._failure is not None:
            raise self._failure
        return self._made[0]

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except BaseException as failure:
            self._failure = failure
        finally:
            self._is_over.set()
        if self._afterwards is not None:
            self._afterwards()
