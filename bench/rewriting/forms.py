"""Other forms of a program: equal, legal, and chosen by wrong prices or fewer rules."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from ostinato.compiler.forms import Sparing
from ostinato.machine.profile import Profile
from ostinato.rewrite.extract.export import EGraph, ENode
from ostinato.rewrite.extract.pricing import Pricing
from ostinato.rewrite.extract.sizes import Sizes
from ostinato.rewrite.optimize import RewriteOptions

CHOSEN = "chosen"
SPREAD = 8.0  # disturbed prices lie between an eighth and eight times the right ones
AVOIDED = (("lin", "running"), ("mm",), ("sl",), ("red",), ("at", "part"))
SEEDS = 6
WIDTHS = (8, 64, 512)  # rows of tiles


class Disturbed(Pricing):
    """Every price is wrong, by a factor that depends on a seed and the e-node."""

    def __init__(self, seed: int, graph: EGraph, sizes: Sizes, profile: Profile) -> None:
        super().__init__(graph, sizes, profile)
        self._seed = seed

    def price(self, cls: int, node: ENode) -> float:
        draw = zlib.crc32(f"{self._seed} {cls} {node}".encode()) / 2**32
        factor: float = SPREAD ** (2.0 * draw - 1.0)
        return super().price(cls, node) * factor


class Mistaken(Pricing):
    """The prices of a machine on which a loop takes another time to start."""

    def __init__(self, leaf_ns: float, graph: EGraph, sizes: Sizes, profile: Profile) -> None:
        super().__init__(graph, sizes, profile)
        self._other = Pricing(graph, sizes, replace(profile, leaf_ns=leaf_ns))

    def price(self, cls: int, node: ENode) -> float:
        return self._other.price(cls, node)


@dataclass(frozen=True)
class Candidate:
    """A way to compile a program: how to rewrite it, and the rows of tiles by dimension."""

    name: str
    rewriting: RewriteOptions
    widths: Mapping[str, int] = field(default_factory=dict[str, int])


def candidates(right: RewriteOptions, dims: Iterable[str]) -> Iterator[Candidate]:
    """The right prices first, then what makes other forms, the most different ones early."""
    yield Candidate(CHOSEN, right)
    for ops in AVOIDED:
        pricing = partial(Sparing, frozenset(ops))
        yield Candidate(f"avoiding {'/'.join(ops)}", replace(right, pricing=pricing))
    for family in right.rules.families:
        yield Candidate(f"without {family}", replace(right, rules=right.rules.without(family)))
    for leaf_ns in (1e-3, 1e3):
        mistaken = partial(Mistaken, leaf_ns)
        yield Candidate(f"starts of {leaf_ns:g} ns", replace(right, pricing=mistaken))
    for seed in range(SEEDS):
        yield Candidate(f"disturbed {seed}", replace(right, pricing=partial(Disturbed, seed)))
    none = right.rules.without(*right.rules.families)
    yield Candidate("as written", replace(right, rules=none))
    for dim in dims:
        for width in WIDTHS:
            yield Candidate(f"tiles of {width} {dim}", right, {dim: width})
