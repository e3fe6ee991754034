"""What rules do to a program: which made each kernel, what they save, how rewriting went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ostinato.codegen.ir.tree import Kernel, computed_in
from ostinato.compiler.kernel_records import nodes_by_statement
from ostinato.inspection.stages import Form, Subject, form_of, rewritten
from ostinato.pdg.node import Node
from ostinato.report.formatting import bytes_of, more, table
from ostinato.report.kernels import duration
from ostinato.rewrite.registry import RuleSet

By = Literal["rule", "family"]


@dataclass(frozen=True, slots=True)
class Saving:
    """A rule or family that made ``nodes`` of a kernel's operators.

    ``saved_ns`` and ``saved_bytes``: how much more time and peak memory the whole program is
    predicted to take when it is compiled without that rule or family; the other rules may make up
    for it, so savings do not add up. None: without it the program has no order.
    """

    rule: str
    nodes: int
    saved_ns: float | None
    saved_bytes: float | None


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """A kernel: the tensors it computes, its predicted time, and the rules that made it."""

    name: str
    computes: tuple[str, ...]
    predicted_ns: float
    rules: tuple[Saving, ...]

    def __str__(self) -> str:
        head = f"{self.name}: {', '.join(self.computes)}; predicted {duration(self.predicted_ns)}"
        rows = [
            (f"  {s.rule}", str(s.nodes), duration(s.saved_ns), bytes_of(s.saved_bytes))
            for s in self.rules
        ]
        if not rows:
            return f"{head}\n  as written"
        return f"{head}\n{table(('  made by', 'operators', 'saves', 'saves'), rows)}"


@dataclass(frozen=True, slots=True)
class Trace:
    """Kernels in order, and the whole: predictions are for ``extents``.

    ``others`` fired as well, but made no operator of the result: their terms lost, or they only
    showed that two terms are equal, as ``x * 1 = x`` does.
    """

    kernels: tuple[KernelTrace, ...]
    others: tuple[str, ...]
    written_ns: float | None  # without any rule
    predicted_ns: float | None
    peak_bytes: int | None
    extents: Mapping[str, int]

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={n}" for name, n in sorted(self.extents.items())) or "no extents"
        whole = (
            f"predicted {duration(self.written_ns)} as written, {duration(self.predicted_ns)} now"
        )
        lines = [*map(str, self.kernels), f"{whole}, {bytes_of(self.peak_bytes)}, at {sizes}"]
        if self.others:
            lines.append(f"fired, but made nothing that was chosen: {', '.join(self.others)}")
        return "\n\n".join(lines)


def trace(about: Subject, rules: RuleSet, by: By) -> Trace:
    """Compile a program up to its plan, then again without each rule that made a part of it."""
    form = form_of(about, rules)
    report = form.optimized.report
    makers = {node: _named(names, by) for node, names in report.origins.items()}
    used = sorted({name for names in makers.values() for name in names})
    saved = {name: _saving(about, rules, form, name) for name in used}
    nodes = nodes_by_statement(form.optimized.pdg, form.system)
    kernels = form.plan.kernels if form.plan else ()
    made = {name for names in report.origins.values() for name in names}
    return Trace(
        tuple(_kernel(form, kernel, nodes, makers, saved) for kernel in kernels),
        tuple(name for name, count in report.rules.items() if count and name not in made),
        form_of(about, rules.only()).price_ns,
        form.price_ns,
        form.peak_bytes,
        about.extents,
    )


def _named(names: Iterable[str], by: By) -> frozenset[str]:
    return frozenset(n.partition("/")[0] if by == "family" else n for n in names)


Saved = tuple[float | None, float | None]  # nanoseconds and bytes


def _saving(about: Subject, rules: RuleSet, form: Form, name: str) -> Saved:
    other = form_of(about, rules.without(name))
    return more(other.price_ns, form.price_ns), more(other.peak_bytes, form.peak_bytes)


def _kernel(
    form: Form,
    kernel: Kernel,
    nodes: Mapping[str, frozenset[Node]],
    makers: Mapping[Node, frozenset[str]],
    saved: Mapping[str, Saved],
) -> KernelTrace:
    assert form.plan is not None and form.predicted is not None, "a kernel belongs to a plan"
    statements = form.plan.statements
    names = computed_in(kernel.body)
    inside = frozenset[Node]().union(*(nodes.get(statements[n].lowered, ()) for n in names))
    counts = Counter(name for node in inside for name in makers.get(node, ()))
    ordered = sorted(counts.items(), key=lambda item: (-(saved[item[0]][0] or 0), item[0]))
    savings = tuple(Saving(name, n, *saved[name]) for name, n in ordered)
    return KernelTrace(kernel.name, tuple(names), form.predicted.kernels[kernel.name], savings)


@dataclass(frozen=True, slots=True)
class Ablation:
    """The program without a rule or family: predicted time and peak memory, and how much slower.

    None: without it the program has no order.
    """

    without: str
    price_ns: float | None
    ratio: float | None
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Ablations:
    """The whole program, and without each of some rules and families, one at a time."""

    price_ns: float | None
    peak_bytes: int | None
    ablations: tuple[Ablation, ...]
    extents: Mapping[str, int]

    def __str__(self) -> str:
        whole = ("nothing", duration(self.price_ns), "1.00x", bytes_of(self.peak_bytes))
        rows = [
            (
                a.without,
                duration(a.price_ns),
                "-" if a.ratio is None else f"{a.ratio:.2f}x",
                bytes_of(a.peak_bytes),
            )
            for a in self.ablations
        ]
        return table(("without", "predicted", "slower by", "peak memory"), [whole, *rows])


def ablate(about: Subject, rules: RuleSet, names: Sequence[str]) -> Ablations:
    """Predict the program without each of the named rules and families (default: each family).

    Errors: OptionError for an unknown name.
    """
    rules.without(*names)  # refuses unknown names before any work
    whole = form_of(about, rules)
    found: list[Ablation] = []
    for name in names or rules.families:
        form = form_of(about, rules.without(name))
        ratio = None
        if form.price_ns is not None and whole.price_ns:
            ratio = form.price_ns / whole.price_ns
        found.append(Ablation(name, form.price_ns, ratio, form.peak_bytes))
    return Ablations(whole.price_ns, whole.peak_bytes, tuple(found), about.extents)


@dataclass(frozen=True, slots=True)
class Stats:
    """The e-graph, the rules and the search.

    - ``nodes``: operators of the program as written; ``enodes`` and ``classes`` of the saturated
      graph; ``rows``: all tables after each round, analyses and notes included;
    - ``matches``: how often each rule that fired did; ``stopped``: why the rounds ended;
    - ``switches``: choices that local search changed, ``steps``: places that it visited;
    - ``seconds``: time of each phase.
    """

    nodes: int
    enodes: int
    classes: int
    rows: tuple[int, ...]
    matches: Mapping[str, int]
    stopped: str
    switches: int
    steps: int
    seconds: Mapping[str, float]

    def __str__(self) -> str:
        fired = sorted(self.matches.items(), key=lambda item: (-item[1], item[0]))
        size = f"{self.nodes} operators became {self.enodes} e-nodes in {self.classes} classes"
        rows = ", ".join(f"{n:,}" for n in self.rows)
        times = [(phase, duration(1e9 * seconds)) for phase, seconds in self.seconds.items()]
        return "\n".join(
            (
                f"{size}; {len(self.rows)} rounds: {self.stopped}",
                f"rows after each round: {rows}",
                f"local search changed {self.switches} choices in {self.steps:,} steps",
                "",
                table(("rule", "matches"), [(name, str(count)) for name, count in fired]),
                "",
                table(("phase", "time"), times),
            )
        )


def stats(about: Subject, rules: RuleSet) -> Stats:
    """Rewrite a program and count."""
    report = rewritten(about, rules).report
    return Stats(
        nodes=len(list(about.pdg.nodes())),
        enodes=report.enodes,
        classes=report.classes,
        rows=tuple(report.saturation.rows),
        matches={name: count for name, count in report.rules.items() if count},
        stopped=report.saturation.stopped,
        switches=report.switches,
        steps=report.steps,
        seconds=dict(report.seconds),
    )
