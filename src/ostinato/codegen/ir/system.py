"""Systems of recurrence equations: what lowering hands to scheduling, memory planning and emission.

A `System` is a list of `Statement`s. A statement defines one stored tensor for every point of its
*dims* (time dimensions) and every position of its *axes* (spatial axes); both are indices named by
`Dim` objects, so one kind of index expression addresses everything. All movement (transpose,
reshape, slice, index, broadcast, vectorise) has dissolved into the index expressions of `Load`s.

``lanes`` are the dims that rewriting turned into vector axes, and those whose points have nothing
in common: scheduling may run them as tiles of rows. A dim outside ``lanes`` runs point by point.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from ostinato.pdg.condition import Cond
from ostinato.pdg.constant import Scalar, only_zeros, spelled
from ostinato.pdg.hashed_once import Keyed, hashed_once
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.node import Dtype, Node


@hashed_once
@dataclass(frozen=True, slots=True)
class Axis(Keyed):
    """A spatial axis of a statement: ``0 <= index < size``, stored with ``pad`` slots.

    ``size`` may mention extents and dims (a slice that grows with the point, a ragged last tile);
    ``pad`` bounds it from above and mentions extents only.
    """

    index: Dim
    size: Expr
    pad: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Literal_:
    """A constant of a dtype."""

    value: Scalar
    dtype: Dtype

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal_) and self.same == other.same

    def __hash__(self) -> int:
        return hash(self.same)

    @property
    def same(self) -> tuple[str, Dtype]:
        """What equal constants share: the spelling of the value in its dtype."""
        kind = bool if self.dtype == "bool" else float if "float" in self.dtype else int
        return spelled(kind(self.value)), self.dtype

    @property
    def is_zero(self) -> bool:
        """Whether this is 0 or False; -0.0 is another constant."""
        return only_zeros((self.value,))


@dataclass(frozen=True, slots=True)
class Position:
    """The int32 value of an index expression over dims, axes and extents."""

    of: Expr
    dtype: Dtype = "int32"


@dataclass(frozen=True, slots=True)
class Pick:
    """A computed index: ``axis.index`` stands for the value ``at``, clamped to the axis."""

    axis: Axis
    at: Value


Clamp = Literal["", "dims", "all"]  # no index, those of dims, those of axes too


@hashed_once
@dataclass(frozen=True, slots=True)
class Load(Keyed):
    """An element of a tensor: one index per dim and per axis of the tensor, in its order.

    ``clamp`` names the indices that may leave the tensor at points whose value nobody demands: they
    are clamped, and such a read is no dependence. ``picks`` are the computed indices
    that ``dims`` and ``axes`` mention, each after those that its size mentions. A dependence counts
    every value of such an index, so that the bounds of a window hold for any run.
    """

    tensor: str
    dims: tuple[Expr, ...]
    axes: tuple[Expr, ...]
    dtype: Dtype
    clamp: Clamp = ""
    picks: tuple[Pick, ...] = ()

    def moved_along(self, dim: Dim) -> Load:
        """The load of a statement that moves: points that nobody asks for may lie outside."""
        in_axes = any(dim in e.dims for e in self.axes)
        return replace(self, clamp="all" if in_axes or self.clamp == "all" else "dims")


class _Read(Keyed):
    """Room for what is read inside a value."""

    __slots__ = ("known_loads",)
    known_loads: tuple[Load, ...]


@hashed_once
@dataclass(frozen=True, slots=True)
class Call(_Read):
    """An elementwise function of `ostinato.pdg.functions`; ``cast`` converts to ``dtype``."""

    fn: str
    args: tuple[Value, ...]
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Draw:
    """A random number: `ostinato.pdg.philox` gives its law.

    ``point`` are the coordinates of the drawn node's domain in order, ``element`` the row-major
    position in the drawn tensor.
    """

    fn: str  # uniform normal bits
    stream: int
    point: tuple[Expr, ...]
    element: Expr
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Choice:
    """``then`` where an affine condition on the indices holds, else ``other``; non-strict."""

    cond: Cond
    then: Value
    other: Value
    dtype: Dtype


Value = Literal_ | Position | Load | Call | Draw | Choice


def children(value: Value) -> tuple[Value, ...]:
    """The values that a value is made of, computed indices included."""
    match value:
        case Literal_() | Position() | Draw():
            return ()
        case Load():
            return tuple(pick.at for pick in value.picks)
        case Call(_, args):
            return args
        case Choice(_, then, other):
            return (then, other)
        case unknown:
            assert_never(unknown)


def loads(value: Value) -> tuple[Load, ...]:
    """Every load inside a value, outermost first."""
    match value:
        case Literal_() | Position() | Draw():
            return ()
        case Load(picks=()):
            return (value,)
        case Load(picks=picks):
            return (value, *(x for pick in picks for x in loads(pick.at)))
        case Call(args=args):
            try:
                return value.known_loads
            except AttributeError:
                found = tuple([x for each in args for x in loads(each)])
                object.__setattr__(value, "known_loads", found)
                return found
        case Choice(then=then, other=other):
            return (*loads(then), *loads(other))
        case unknown:
            assert_never(unknown)


Kind = Literal["input", "map", "fold", "matmul", "along", "host"]


@dataclass(frozen=True, slots=True)
class Operand:
    """An array that a function is given: its shape at the point, and the index of each axis.

    An axis of size 1 has no index.
    """

    dtype: Dtype
    shape: tuple[Expr, ...]
    axes: tuple[Dim | None, ...]


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of a Python function: its number, and what it takes and gives.

    With ``ordered`` the first load of the clause only says what must have run before. The last
    ``masks`` operands say whether it runs; where one is false everywhere, the result is 0.
    """

    number: int
    fn: str
    ordered: bool
    operands: tuple[Operand, ...]
    result: Operand
    masks: int = 0


@dataclass(frozen=True)
class Statement:
    """One stored tensor and the equation that computes it.

    - ``dims``: all time indices of the iteration space in declaration order, reduced ones included;
      each runs over ``0 <= d < D``.
    - ``axes``: all spatial indices, reduced ones included, in layout order (last is contiguous).
    - ``clauses``: the first whose condition (over dims and axes) holds gives the value. A point
      that no clause covers is never demanded; it may hold anything.
    - ``kind`` "map": every point has one value. "fold": ``fold`` combines over ``reduced`` indices
      (argmax/argmin: the position along the one reduced axis). "matmul": a "sum" fold whose single
      clause is ``mul(load, load)``. "along": the function ``fold`` of whole axes (see
      `ostinato.pdg.axis_functions`); the single clause is ``fold(operand, ...)``, each operand
      indexed by a reduced axis (none: one value, repeated), and ``along`` is the result's axis
      (None if it has one position). All positions of it need all positions of the operands; every
      other index is a row, on its own. "host": a Python function of whole tensors, each loaded at
      its own reduced indices; ``host`` says more. It runs where the condition of its only clause
      holds, and nowhere else. "input": filled before the run; no clauses.
    """

    name: str
    kind: Kind
    dims: tuple[Dim, ...]
    axes: tuple[Axis, ...]
    clauses: tuple[tuple[Cond, Value], ...]
    dtype: Dtype
    lanes: frozenset[Dim] = frozenset()
    reduced: frozenset[Dim] = frozenset()  # dims and axis indices
    fold: str = ""
    where: str = ""
    label: str = ""  # the user's name, if any
    along: Dim | None = None
    host: HostCall | None = None
    base: str = ""  # the lowered statement that this one is a part or a copy of, if any
    later: frozenset[Dim] = frozenset()  # in loops over these it is apart from what it reads

    @property
    def reads(self) -> tuple[Load, ...]:
        """All loads, in the order of the clauses."""
        return tuple(x for _, value in self.clauses for x in loads(value))

    @property
    def here(self) -> Load:
        """What it computes at a point, as that point reads it."""
        axes = tuple(expr(a.index) for a in self.result_axes)
        return Load(self.name, tuple(map(expr, self.result_dims)), axes, self.dtype)

    def map(self, *clauses: tuple[Cond, Value]) -> Statement:
        """A map over what it computes: it differs in nothing else."""
        dims = self.result_dims
        return replace(
            self, kind="map", dims=dims, axes=self.result_axes, clauses=clauses, fold="",
            lanes=self.lanes & frozenset(dims), reduced=frozenset(), along=None, host=None,
        )  # fmt: skip

    @property
    def lowered(self) -> str:
        """The name of the lowered statement that this one computes for."""
        return self.base or self.name

    @property
    def result_dims(self) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if d not in self.reduced) if self.reduced else self.dims

    @property
    def result_axes(self) -> tuple[Axis, ...]:
        reduced = self.reduced
        return tuple(a for a in self.axes if a.index not in reduced) if reduced else self.axes


@dataclass(frozen=True)
class System:
    """Statements in a deterministic order, and the tensors the user wants back.

    ``outputs`` maps an output's name to its statement; the result array has the statement's result
    dims in order, then its result axes. ``constants`` are the row-major values of input statements
    that no argument fills. ``hints`` are typical extents for cost decisions only. ``segments``
    gives what stands for a dim that an output was asked over: two indices, the more significant one
    first, which may have become segments in turn. ``axis_of`` is the axis that a dim of rows was,
    by statement and dim.
    """

    statements: dict[str, Statement]
    outputs: dict[str, str]
    inputs: dict[str, str]  # argument name -> statement
    constants: dict[str, tuple[Scalar, ...]] = field(default_factory=dict[str, tuple[Scalar, ...]])
    hints: dict[str, int] = field(default_factory=dict[str, int])  # extent name -> steps
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])  # what statements compute
    segments: dict[Dim, tuple[Dim, Dim]] = field(default_factory=dict[Dim, tuple[Dim, Dim]])
    axis_of: dict[tuple[str, Dim], Dim] = field(default_factory=dict[tuple[str, Dim], Dim])

    @property
    def ends(self) -> frozenset[str]:
        """The statements that a user gives or is given."""
        return frozenset((*self.inputs.values(), *self.outputs.values()))


Readers = dict[str, list[tuple[Statement, Load]]]  # of each tensor that is read


def readers(statements: Iterable[Statement]) -> Readers:
    """Who reads each tensor, by which load."""
    found: Readers = {}
    for s in statements:
        for load in s.reads:
            found.setdefault(load.tensor, []).append((s, load))
    return found


def fresh(name: str, taken: Container[str]) -> str:
    """The name, or the first of ``name_2``, ``name_3``, ... that is free.

    >>> fresh("x_part", {"x_part", "x_part_2"})
    'x_part_3'
    """
    count, chosen = 1, name
    while chosen in taken:
        count += 1
        chosen = f"{name}_{count}"
    return chosen
