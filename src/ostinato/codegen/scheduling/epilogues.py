"""Epilogues: elementwise statements over a product's own elements join it.

Their values are then computed in registers, before the product is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import assert_never

from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Position,
    Statement,
    Value,
    loads,
)
from ostinato.codegen.ir.tree import Contraction
from ostinato.codegen.scheduling.align import renamed
from ostinato.codegen.scheduling.deps import Unit
from ostinato.codegen.systems.axes import coefficient
from ostinato.codegen.target import Target
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.functions import FLOATS
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.scc import closed, components

Ways = dict[Dim, tuple[int, ...]]


@dataclass
class _Joining:
    statements: dict[str, Statement]
    products: dict[str, Contraction]
    functions: frozenset[str]  # what steps of a product may be
    owner: dict[str, str] = field(default_factory=dict[str, str])  # statement -> its product
    known: dict[str, list[tuple[str, Ways]]] = field(
        default_factory=dict[str, list[tuple[str, Ways]]]
    )
    around: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def __post_init__(self) -> None:
        self.rank = {name: k for k, name in enumerate(self.statements)}
        self.readers: dict[str, list[str]] = {name: [] for name in self.statements}
        for s in self.statements.values():
            for tensor in {x.tensor for x in s.reads}:
                self.readers[tensor].append(s.name)

    def run(self) -> None:
        for name in list(self.products):
            if not self.products[name].accumulate:
                while any(self.try_join(name, s) for s in self.alike(name)):
                    pass

    def alike(self, name: str) -> list[Statement]:
        """Maps over the steps of a product that read it, or what has joined it."""
        main = self.statements[name]
        names = {reader for member in self.members(name) for reader in self.readers[member]}
        found = (self.statements[reader] for reader in sorted(names, key=self.rank.__getitem__))
        return [
            s for s in found if s.kind == "map" and s.dtype == main.dtype and s.dims == main.dims
        ]

    def try_join(self, name: str, s: Statement) -> bool:
        """Join a statement to a product if it fits and is not needed for its operands."""
        main = self.statements[name]
        if s.kind != "map" or s.dims != main.dims or s.dtype != main.dtype or s.name in self.owner:
            return False
        product = self.products[name]
        own = {name, *product.epilogues}
        apart = s.later and s.later != main.later
        if apart or not self.fits(main, own, s):
            return False
        others = {x.tensor for x in s.reads} - own
        if any(self.needs(t, own) for t in sorted(others)) or self.turns(name, s.name, others):
            return False
        axes = self.statements[name].result_axes
        mapping = dict(zip((a.index for a in s.axes), axes, strict=True))
        self.statements[s.name] = renamed(s, mapping)
        self.products[name] = replace(product, epilogues=(*product.epilogues, s.name))
        self.owner[s.name] = name
        self.around.pop(name, None)
        return True

    def fits(self, product: Statement, own: set[str], s: Statement) -> bool:
        """Whether a map is vectorisable and over exactly the product's elements."""
        sizes = [a.size for a in product.result_axes]
        if [a.size for a in s.axes] != sizes or len(s.clauses) != 1:
            return False
        cond, value = s.clauses[0]
        found = list(loads(value))
        mine = [x for x in found if x.tensor in own]
        here = (tuple(map(expr, s.dims)), tuple(expr(a.index) for a in s.axes))
        return (
            cond == ALWAYS
            and bool(mine)
            and all((x.dims, x.axes) == here for x in mine)
            and all(_is_operand(x, s) for x in found if x.tensor not in own)
            and is_vectorisable(value, self.functions)
        )

    def needs(self, tensor: str, own: set[str]) -> bool:
        """Whether a tensor may depend on the product at the same point."""
        seen: set[str] = set()
        open_ = [tensor]
        while open_:
            name = open_.pop()
            if name in own:
                return True
            if name not in seen:
                seen.add(name)
                open_.extend(self.read_here(name))
        return False

    def read_here(self, name: str) -> Iterator[str]:
        """The tensors that a leaf with this statement may read at its own point.

        A read at a constant distance is never at the same point.
        """
        return (t for t, ways in self.reads(name) if not any(len(w) == 1 for w in ways.values()))

    def turns(self, product: str, joined: str, others: set[str]) -> bool:
        """Whether one leaf of both would need its own values of earlier and of later steps.

        So would parts of a forward recurrence and of a backward one that reads it: each has a loop
        of its own. What needs each other has one loop anyway.
        """
        if self.circles[product] == self.circles[joined]:
            return False
        second = self.reached(others)
        if product not in second or joined in (first := self.reached([product])):
            return False
        readers: dict[str, list[str]] = {}
        for name in (found := {joined} | first | second):
            for tensor in self.near(name):
                readers.setdefault(self.owner.get(tensor, tensor), []).append(name)
        onward: set[str] = closed([product, joined], lambda name: readers.get(name, []))
        circle = found & onward
        both: dict[Dim, set[int]] = {}
        for name in circle:
            for tensor, ways in self.reads(name):
                for dim, signs in ways.items() if self.owner.get(tensor, tensor) in circle else ():
                    both.setdefault(dim, set()).update(signs)
        return any(len(signs) > 1 for signs in both.values())

    @cached_property
    def circles(self) -> dict[str, int]:
        """Numbers of leaves, equal for those that need each other: they do so after any joining."""
        nodes = [name for name in self.statements if name not in self.owner]
        needed = {n: {self.owner.get(t, t) for t in self.near(n)} for n in nodes}
        found = enumerate(components(nodes, needed))
        return {name: number for number, names in found for name in names}

    def reached(self, names: Iterable[str]) -> set[str]:
        """The leaves with these statements, and all that they need, directly or not."""
        leaf = self.owner.get
        return closed((leaf(n, n) for n in names), lambda n: (leaf(t, t) for t in self.near(n)))

    def near(self, name: str) -> set[str]:
        """The tensors that a leaf reads of others."""
        if name not in self.around:
            members = self.members(name)
            read = (x.tensor for m in members for x in self.statements[m].reads)
            self.around[name] = {*read}.difference(members)
        return self.around[name]

    def reads(self, name: str) -> list[tuple[str, Ways]]:
        """What a leaf with this statement reads of others, and in which directions."""
        members = self.members(name)
        return [read for m in members for read in self.reads_of(m) if read[0] not in members]

    def members(self, name: str) -> tuple[str, ...]:
        """The statements of the leaf with this one."""
        product = self.owner.get(name, name)
        return (product, *getattr(self.products.get(product), "epilogues", ()))

    def reads_of(self, name: str) -> list[tuple[str, Ways]]:
        """What a statement reads."""
        if name not in self.known:
            self.known[name] = [(x.tensor, self.ways(x)) for x in self.statements[name].reads]
        return self.known[name]

    def ways(self, load: Load) -> Ways:
        """Whether steps are read that are earlier (-1) or later (1), by dim; both if unknown."""
        dims = self.statements[load.tensor].result_dims
        gaps = ((d, e - expr(d)) for d, e in zip(dims, load.dims, strict=True))
        return {d: _signs(gap) for d, gap in gaps if gap != expr(0)}


def _signs(gap: Expr) -> tuple[int, ...]:
    return ((gap.const > 0) - (gap.const < 0),) if gap.is_const else (-1, 1)


def _is_operand(load: Load, s: Statement) -> bool:
    """Whether rows and columns of a load are strides, and its columns contiguous or constant."""
    axes = {a.index for a in s.axes}
    indices = [*load.dims, *load.axes]
    if load.dtype not in FLOATS or load.dtype != s.dtype or load.clamp or load.picks:
        return False
    for index in indices:
        if any(coefficient(index, d) is None for d in index.dims & axes):
            return False
    return not s.axes or _is_contiguous(indices, s.axes[-1].index)


def _is_contiguous(indices: list[Expr], index: Dim) -> bool:
    along = [e for e in indices if index in e.dims]
    return not along or (along == [indices[-1]] and coefficient(along[0], index) == 1)


def is_vectorisable(value: Value, functions: frozenset[str]) -> bool:
    """Whether a value is a chain of functions that a product's registers can compute."""
    match value:
        case Literal_():
            return value.dtype in FLOATS
        case Load():
            return True
        case Call(fn, args, dtype):
            known = fn in functions or fn == "stop_gradient"
            is_real = dtype in FLOATS or dtype == "bool"
            return known and is_real and all(is_vectorisable(a, functions) for a in args)
        case Position() | Draw() | Choice():
            return False
        case unknown:
            assert_never(unknown)


def join_epilogues(
    statements: Mapping[str, Statement], products: Mapping[str, Contraction], target: Target
) -> tuple[dict[str, Statement], dict[str, Contraction], list[Unit]]:
    """Statements (joined ones with the product's axes), products with epilogues, and all units."""
    state = _Joining(dict(statements), dict(products), target.vector_functions())
    state.run()
    return state.statements, state.products, units_of(state.statements, state.products)


def units_of(
    statements: Mapping[str, Statement], products: Mapping[str, Contraction]
) -> list[Unit]:
    """A unit for every statement that no product has joined, with what joined it."""
    joined = {name: product.epilogues for name, product in products.items()}
    inside = {e for names in joined.values() for e in names}
    return [
        Unit(s, tuple(statements[e] for e in joined.get(s.name, ())))
        for s in statements.values()
        if s.kind != "input" and s.name not in inside
    ]
