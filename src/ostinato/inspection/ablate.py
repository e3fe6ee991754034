"""What a program would cost without some rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.inspection.formatting import bytes_of, table, time_of
from ostinato.inspection.stages import Subject, form_of
from ostinato.rewrite.registry import RuleSet


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
        whole = ("nothing", time_of(self.price_ns), "1.00x", bytes_of(self.peak_bytes))
        rows = [
            (
                a.without,
                time_of(a.price_ns),
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
