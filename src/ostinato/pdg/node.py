"""The one node type of the dependence graph, and the record of each kind of operator.

A node denotes a **total function from points of its domain to arrays** of its shape. `Op` records
say what the operator does; `Node` adds operands, domain, shape and dtype. Nodes with equal fields
are equal and share one `Identity`, by which dictionaries find them. Where each was written, and the
user's names, go along (`origin`); they are no part of that, and never change: what is written
twice, perhaps in two programs, is two equal nodes. A `Program` has one of them for each value.

Conventions that every stage relies on:

- ``domain`` lists the dimensions a node depends on, in declaration order (`Dim.serial`).
- Shapes are tuples of index expressions over extents and the point (`x[t:]` has length ``T - t``).
- Spatial axes are named **from the right** (-1 is the last), so a rewrite that prepends an axis to
  every operand renumbers nothing. Operands of `Map`, `Matmul`, `Concat`, `Gather`, `Along`,
  `Case` and `Linear` have equal rank; an axis of size 1 broadcasts in `Map`, in the leading axes of
  `Matmul` and in the axes that `Gather` and `Along` do not work on.
- `Read` substitutes dimensions and, for each `Slice` in its map, prepends one axis (declaration
  order of the maps' dimensions, outermost first). A slice over a dimension that the operand does
  not depend on is a broadcast; reading the full range ``0:T`` *is* the vectorised form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from ostinato.pdg.condition import Cond
from ostinato.pdg.constant import Scalar as Scalar
from ostinato.pdg.constant import spelled
from ostinato.pdg.forked import Guard
from ostinato.pdg.index import Dim, Expr, Index, Slice
from ostinato.pdg.origin import UNKNOWN, Origin, made_here

# uint16 holds the bits of a half in memory: programs cannot name it.
Dtype = Literal[
    "bool", "int32", "int64", "uint16", "uint32", "float16", "bfloat16", "float32", "float64"
]


@dataclass(frozen=True, slots=True)
class Input:
    """An array argument with one value per point of the node's domain."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A literal array, row-major ``values`` of the node's shape (one value broadcasts to all)."""

    values: tuple[Scalar, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and self._spelled() == other._spelled()

    def __hash__(self) -> int:
        return hash(self._spelled())

    def _spelled(self) -> tuple[str, ...]:
        return tuple(map(spelled, self.values))


@dataclass(frozen=True, slots=True)
class Affine:
    """The int32 value of an index expression at the point; shape ``()``."""

    of: Expr


@dataclass(frozen=True, slots=True)
class Iota:
    """The int32 vector ``0, 1, ..., size - 1``; shape ``(size,)``."""

    size: Expr


@dataclass(frozen=True, slots=True)
class Rec:
    """The value of the recurrent tensor ``name`` at the point; its equations are in the `Pdg`."""

    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """The operand at another point: each dimension becomes an expression or a slice."""

    at: tuple[tuple[Dim, Index], ...]


@dataclass(frozen=True, slots=True)
class Map:
    """An elementwise function (`ostinato.pdg.functions.FUNCTIONS`); "cast" goes to node.dtype."""

    fn: str


class PullBack(Protocol):
    """The derivative that a user gives: contributions to the inputs of a `Custom` node.

    ``upstream`` has the node's shape; None is no contribution.
    """

    def __call__(self, node: Node, upstream: Node) -> Sequence[Node | None]: ...


@dataclass(frozen=True, slots=True)
class Custom(Map):
    """Operands ``(value, *inputs)``: the value, with a derivative of its own by the inputs.

    Its derivative is all that it is for: a `Pdg` has the value in its place.
    """

    pull_back: PullBack


@dataclass(frozen=True, slots=True)
class Reduce:
    """A fold over spatial axes, which disappear; argmax/argmin take one axis and give int32."""

    fn: str  # sum prod max min any all argmax argmin
    axes: tuple[int, ...]  # negative, ascending


@dataclass(frozen=True, slots=True)
class Matmul:
    """``(..., m, k) @ (..., k, n)`` with broadcasting leading axes."""


@dataclass(frozen=True, slots=True)
class Reshape:
    """The trailing ``rank`` axes of the operand, row-major, as ``shape``."""

    rank: int
    shape: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Transpose:
    """Result axis ``-len(perm) + k`` is operand axis ``perm[k]`` (negative)."""

    perm: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Trailing axes of size 1 repeated to ``shape``; the rank stays."""

    shape: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Concat:
    """Operands joined along an axis (negative)."""

    axis: int


@dataclass(frozen=True, slots=True)
class Part:
    """An index (the axis disappears) or a slice of one spatial axis (negative)."""

    axis: int
    at: Index


@dataclass(frozen=True, slots=True)
class Gather:
    """``take_along_axis``: operands ``(x, index)`` of equal rank; index integer, clamped.

    With a ``window`` the axis holds these steps of a dimension, and a position outside is an error:
    the interpreter always raises it, compiled code clamps unless it is asked to check.
    """

    axis: int
    window: tuple[Dim, Slice] | None = None


@dataclass(frozen=True, slots=True)
class Along:
    """A function of the whole of one axis, with ``size`` results along it.

    See `ostinato.pdg.axis_functions`. The other axes are pointwise and broadcast where they are 1.
    """

    fn: str
    axis: int
    size: Expr


@dataclass(frozen=True, slots=True)
class Case:
    """Non-strict choice on the point: ``args[0]`` where ``cond`` holds, else ``args[1]``."""

    cond: Cond


@dataclass(frozen=True, slots=True)
class Random:
    """A draw keyed by (seed, ``stream``, point of the domain, element): see `pdg.philox`."""

    fn: str  # uniform normal bits
    stream: int


@dataclass(frozen=True, slots=True)
class Scan:
    """Inclusive fold over a dimension: ``s[d] = fold(x[0..d])``; the unit before 0.

    ``reverse`` folds what follows, ``x[d..D-1]``, and is the unit from D on. Operands ``(x,)``.
    Introduced by rewriting.
    """

    fn: str  # sum max min prod any all
    dim: Dim
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Linear:
    """``y[d] = a[d] + g[d] * y[d -+ 1]``, zero outside the box; operands ``(g, a)``.

    The first step is ``a`` alone: ``g`` is not read there.

    ``reverse`` runs from the last point backwards (``y[d + 1]``). Introduced by rewriting.
    """

    dim: Dim
    reverse: bool


@dataclass(frozen=True, slots=True)
class Host:
    """The result of call number ``call`` of a Python function, which runs once per point.

    The node's domain is where it runs: it stays when operands turn out to depend on less. With
    ``effects`` other than "pure" it is ordered: a `Pdg` has the call before it as first operand
    (see `ostinato.pdg.effects`). The function itself is no part of the graph. The last ``masks``
    operands say whether it runs: where one is false everywhere, the result is 0.
    """

    call: int
    fn: str  # its name
    effects: str
    masks: int = 0


Op = (
    Input | Const | Affine | Iota | Rec | Read | Map | Reduce | Matmul | Reshape | Transpose
    | Broadcast | Concat | Part | Gather | Along | Case | Random | Scan | Linear | Host
)  # fmt: skip

MOVES = (Read, Reshape, Transpose, Broadcast, Part)  # they hold elements of their operand

_Key = tuple[Op, tuple["Node", ...], tuple[Dim, ...], tuple[Expr, ...], Dtype]


class Identity:
    """What makes nodes equal: there is one for each value that anybody has written."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Node:
    """One value of the program at every point of ``domain``, as it was written at one place.

    Nodes with equal fields are equal wherever they stand and whatever they are called.
    """

    op: Op
    args: tuple[Node, ...]
    domain: tuple[Dim, ...]
    shape: tuple[Expr, ...]
    dtype: Dtype
    origin: Origin = UNKNOWN
    identity: Identity = field(default_factory=Identity, repr=False)
    written: int = field(default_factory=count().__next__, repr=False)  # grows with time

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def where(self) -> str:
        return self.origin.where

    @property
    def label(self) -> str:
        return self.names.label

    @property
    def names(self) -> Origin:
        """The origin with the user's names; what moves a value has those, unless it has its own."""
        node = self
        while not node.origin.label and isinstance(node.op, MOVES):
            (node,) = node.args
        return node.origin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.identity is other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __str__(self) -> str:
        return self.label or type(self.op).__name__.lower()

    def named(self, label: str) -> Node:
        """The same value under this name, and no other."""
        return replace(self, origin=Origin(self.where, label))


_LIVE: WeakValueDictionary[tuple[object, ...], Identity] = WeakValueDictionary()
_GUARD = Guard()


def intern(key: _Key, origin: Origin = UNKNOWN) -> Node:
    """Return a node with these fields: it equals all others that have them."""
    op, args, *rest = key
    exact = (op, tuple(arg.identity for arg in args), *rest)
    with _GUARD.lock:
        identity = _LIVE.get(exact)
        if identity is None:
            identity = _LIVE[exact] = Identity()
    return Node(*key, made_here(origin), identity)


def named_if_not(node: Node, origin: Origin) -> Node:
    """The same value with the place and the names that it lacks."""
    names = node.origin if node.label else origin
    return replace(node, origin=replace(names, where=node.where or origin.where))


@dataclass(frozen=True, slots=True)
class Equation:
    """The cases of one recurrent tensor: the first condition that holds gives the value.

    Conditions and right sides are at the point of the **left** side: the user's
    ``x[t + 1] = f(x[t])`` is stored as ``(t >= 1, f(x[t - 1]))``.
    """

    rec: Node
    cases: tuple[tuple[Cond, Node], ...]
    where: tuple[str, ...] = ()


PURE = "pure"
UNSEEN = "~"  # begins the names of outputs that only keep something in a program


@dataclass(frozen=True)
class Pdg:
    """Named outputs and the equations of every recurrent tensor they reach.

    ``minimum_extents`` gives the least value of extents that start above 1: a program that reads
    ``x[5]`` needs six steps. ``reads_outside`` says that an expression is read outside its box, as
    a proof of the program has found; `ostinato.pdg.demand.inside` writes out what it has there.
    """

    outputs: tuple[tuple[str, Node], ...]
    equations: dict[str, Equation]
    minimum_extents: dict[str, int] = field(default_factory=dict[str, int])
    reads_outside: bool = False

    @property
    def results(self) -> tuple[tuple[str, Node], ...]:
        """The outputs that a user asked for."""
        return tuple((n, x) for n, x in self.outputs if not n.startswith(UNSEEN))

    def dims(self) -> tuple[Dim, ...]:
        """All dimensions of the program in declaration order."""
        found = {d for node in self.nodes() for d in node.domain}
        found |= {
            d for node in self.nodes() if isinstance(node.op, Read) for d, _ in node.op.at
        }  # a slice binds its dimension
        return tuple(sorted(found, key=lambda d: d.serial))

    def roots(self) -> tuple[Node, ...]:
        """Outputs, then the right sides of all equations."""
        rights = (n for eq in self.equations.values() for _, n in eq.cases)
        return (*(n for _, n in self.outputs), *rights)

    def users(self) -> dict[Node, list[Node]]:
        """The nodes that read each node; an equation's right side is read by its recurrence."""
        found: dict[Node, list[Node]] = {}
        for node in self.nodes():
            for arg in node.args:
                found.setdefault(arg, []).append(node)
        for equation in self.equations.values():
            for _, right in equation.cases:
                found.setdefault(right, []).append(equation.rec)
        return found

    def nodes(self) -> tuple[Node, ...]:
        """Every node that the roots reach, operands first."""
        return self._nodes

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        return tuple(postorder(self.roots()))


def postorder(roots: tuple[Node, ...]) -> Iterator[Node]:
    """Nodes reachable through operands, each once, operands first, without recursion."""
    done: set[Identity] = set()
    for root in roots:
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node.identity in done:
                continue
            if ready:
                done.add(node.identity)
                yield node
            else:
                stack.append((node, True))
                stack.extend((arg, False) for arg in reversed(node.args))


class HasGraph(Protocol):
    """A program, as users have it."""

    @property
    def pdg(self) -> Pdg: ...
