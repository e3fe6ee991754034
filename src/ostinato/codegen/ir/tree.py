"""The schedule as a tree of loops and leaves, and the driver that calls its kernels.

A loop runs over a dim. A leaf computes statements at the point that the loops around it give: a
`Nest` loops over vector axes, a `Contraction` is a matrix product, a `Sweep` applies a function of
whole axes to rows, a `Fill` sets the accumulator of a fold to its unit. All statements of a `Nest`
name their loop axes by the same `Dim` objects; an axis of a statement that is not a loop of its
nest is tiny and unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from ostinato.codegen.ir.system import Axis
from ostinato.machine.cost_model import Form
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.index import Dim, Expr


@dataclass(frozen=True, slots=True)
class Span:
    """The values ``lo <= dim < hi``; the bounds mention extents and dims of loops around."""

    dim: Dim
    lo: Expr
    hi: Expr

    def __str__(self) -> str:
        return f"{self.dim} = {self.lo} .. {self.hi - 1}"


@dataclass(frozen=True, slots=True)
class Loop:
    """Run ``body`` at every value of the span; ``reverse`` from the last to the first.

    The iterations of a ``parallel`` loop are independent.
    """

    span: Span
    reverse: bool
    parallel: bool
    body: tuple[Tree, ...]

    @property
    def dim(self) -> Dim:
        return self.span.dim


@dataclass(frozen=True, slots=True)
class Nest:
    """Fused statements, evaluated in order for every position of ``axes`` (last is innermost).

    ``conds`` are the clause conditions that all statements share; they mention dims only, the first
    that holds selects the clause with its number. ``memory`` names the folds that combine into
    their stored accumulator (a `Fill` ran before); every other fold has as reduced axes a run of
    the innermost loops and unrolled axes: it is accumulated in a variable, stored after them.
    ``still`` are clauses, by statement and number, that do nothing: they copy what shares memory.
    """

    statements: tuple[str, ...]
    axes: tuple[Axis, ...]
    conds: tuple[Cond, ...] = (ALWAYS,)
    memory: frozenset[str] = frozenset()
    still: frozenset[tuple[str, int]] = frozenset()

    def moving(self, clause: int) -> tuple[str, ...]:
        """The statements that one of the clauses computes."""
        return tuple(name for name in self.statements if (name, clause) not in self.still)


@dataclass(frozen=True, slots=True)
class Contraction:
    """``statement[m, n] (+)= sum over k: first load * second load``, then the epilogues in order.

    The first load of the statement's product has the axis ``m``, the second ``n``, both ``k``;
    either of ``m`` and ``n`` may be absent. ``outer`` axes are ordinary loops around the product.
    With ``accumulate`` the product adds to what is stored. Epilogues are maps over the result's
    axes, which they name as the statement does.
    """

    statement: str
    m: Axis | None
    n: Axis | None
    k: Axis
    outer: tuple[Axis, ...]
    form: Form
    accumulate: bool
    epilogues: tuple[str, ...] = ()

    @property
    def inner(self) -> tuple[Axis, ...]:
        """The axes of the product itself: m, n and k, as far as it has them."""
        return tuple(a for a in (self.m, self.n, self.k) if a is not None)

    def summed(self, reduced: frozenset[Dim]) -> tuple[Axis, ...]:
        """The outer axes, of those that are reduced, over which the product itself sums.

        Its sums stay in registers, and terms add up in the order of loops around it.
        """
        found = tuple(a for a in self.outer if a.index in reduced)
        mentioned = frozenset[Dim]().union(*(a.size.dims for a in (*self.outer, *self.inner)))
        counted = all(a.size.is_const and a.index not in mentioned for a in found)
        return found if counted and self.form != "dots" and not self.epilogues else ()


@dataclass(frozen=True, slots=True)
class Sweep:
    """A function of whole axes, applied to every row: to every position of the axes ``rows``."""

    statement: str
    rows: tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """Set a fold's accumulator, padding included, to the fold's unit at the current point."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Calling:
    """Call the Python function of a statement, which takes and gives whole tensors."""

    statement: str


Leaf = Nest | Contraction | Sweep | Fill | Calling
Tree = Loop | Nest | Contraction | Sweep | Fill | Calling


def computed(leaf: Leaf) -> tuple[str, ...]:
    """The statements that a leaf completes or adds to."""
    match leaf:
        case Nest(statements):
            return statements
        case Contraction(statement, epilogues=epilogues):
            return (statement, *epilogues)
        case Sweep(statement):
            return (statement,)
        case Fill(tensor):
            return (tensor,)
        case Calling(statement):
            return (statement,)
        case unknown:
            assert_never(unknown)


def active(leaf: Leaf) -> tuple[str, ...]:
    """The statements that a leaf has code for: not those that are in place already."""
    if not isinstance(leaf, Nest):
        return computed(leaf)
    clauses = range(len(leaf.conds))
    return tuple(n for n in leaf.statements if any((n, k) not in leaf.still for k in clauses))


Path = tuple[Loop, ...]
Time = tuple[int | Loop, ...]  # place among siblings, then the loop at that place, and so on


def leaves(
    trees: tuple[Tree, ...], path: Path = (), time: Time = ()
) -> Iterator[tuple[Leaf, Path, Time]]:
    """Every leaf with the loops around it and its place, in program order."""
    for place, tree in enumerate(trees):
        if isinstance(tree, Loop):
            yield from leaves(tree.body, (*path, tree), (*time, place, tree))
        else:
            yield tree, path, (*time, place)


def computed_in(trees: tuple[Tree, ...]) -> dict[str, None]:
    """The statements that trees complete or add to, in order."""
    return dict.fromkeys(name for leaf, _, _ in leaves(trees) for name in computed(leaf))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A run of trees, compiled to one function.

    ``outer`` are the dims that the driver binds (its loops, then the parallel dim if any): they are
    arguments, like the extents in ``extents``. Of a ``sliced`` one workers compute
    parts of every array, along its outermost axis; ``slices`` gives for each tree of the body the
    number of equal slices that parts consist of. Where there are fewer tiles than workers, these
    share out the steps of a tile ``along`` the dim of the loop that is the body. The numbers of its
    draws in ``streams`` are arguments too, so that kernels that differ in them only are one.
    """

    name: str
    body: tuple[Tree, ...]
    outer: tuple[Dim, ...]
    parallel: Span | None
    sliced: bool = False
    along: Span | None = None
    slices: tuple[int, ...] = ()
    streams: tuple[int, ...] = ()

    @property
    def is_divided(self) -> bool:
        """Whether workers share out what is done at a step, or the steps."""
        return self.sliced or self.along is not None

    @property
    def is_shared(self) -> bool:
        """Whether more than one worker runs it."""
        return self.parallel is not None or self.sliced


@dataclass(frozen=True, slots=True)
class Call:
    """Call a kernel: one worker, or several for tiles of the span or slices of the elements."""

    kernel: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Nothing after it begins before all that stands before it is done."""


@dataclass(frozen=True, slots=True)
class DriverLoop:
    """A sequential loop that all workers go through.

    ``outermost`` marks loops whose iterations complete records of an output: they are published
    and may be stopped.
    """

    span: Span
    reverse: bool
    outermost: bool
    body: tuple[Step, ...]


Step = Call | Barrier | DriverLoop


@dataclass(frozen=True)
class Site:
    """Where a statement is computed: the loops around, its leaf, and its place in program order."""

    path: Path
    leaf: Leaf
    order: int


def sites(trees: Sequence[Tree]) -> dict[str, Site]:
    """The site of every statement (fills are not sites)."""
    out: dict[str, Site] = {}
    for leaf, path, _ in leaves(tuple(trees)):
        if not isinstance(leaf, Fill):
            for name in computed(leaf):
                out[name] = Site(path, leaf, len(out))
    return out
