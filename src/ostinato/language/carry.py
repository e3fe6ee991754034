"""Values carried through nested loops: each step takes what the step before it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast, overload

from ostinato.language.definition import Definition
from ostinato.language.dims import Dimension, IndexExpression, lift
from ostinato.language.record import Record, matched
from ostinato.language.recurrent import Over, Recurrent, as_dims, define
from ostinato.language.tensor import Array, Tensor, as_tensor, merged
from ostinato.pdg import build
from ostinato.pdg.errors import EquationError
from ostinato.pdg.index import expr
from ostinato.pdg.naming import called
from ostinato.provenance.place import place

Position = IndexExpression | int | slice | Tensor | Array | Sequence[Any]
TensorLike = Tensor | IndexExpression | float | Array | Sequence[Any]


class Carried(tuple[Dimension, ...]):
    """The dimensions of a carried value: first those of ``each``, then those that carry it."""

    each: tuple[Dimension, ...]
    dims: tuple[Dimension, ...]

    def __new__(cls, dims: Sequence[Dimension], each: Sequence[Dimension] = ()) -> Self:
        made = super().__new__(cls, (*each, *dims))
        made.each, made.dims = tuple(each), tuple(dims)
        return made


def carried(*dims: Dimension, each: Over = ()) -> Carried:
    """Return dimensions that carry a value in the order of nested loops, outermost first.

    For ``over=`` of layers and of `carry`. Along ``each``, such as seeds, every point carries a
    value of its own.

    Errors: EquationError without a dimension, or with one that stands twice.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> i, e, m = ot.dims("i e m")
    >>> nn.Linear(4, 2, over=ot.carried(i, e, m)).weight
    <linear_weight: float32[4, 2] over (i, e, m)>
    """
    where = place()
    if not dims:
        fact = "a value is carried over no dimension"
        raise EquationError(fact, "Name the loops, outermost first: ot.carried(i, e, m).", where)
    outer = tuple(map(Dimension, as_dims(each, where)))
    as_dims((*outer, *dims), where)
    return Carried(dims, outer)


class Carry(Recurrent):
    """A value carried through nested loops: at (i, e, m) it is the value *before* that step.

    Made by `carry`; `step` says what each step leaves. A read at the start of inner loops, such as
    ``w[i, 0, 0]``, is the value with which iteration ``i`` begins: a tensor over ``i``, which a
    gradient by ``w`` counts as a constant.
    """

    __slots__ = ("_after", "initial", "levels", "over_carried")

    def __init__(
        self, definition: Definition, over: Carried, levels: tuple[Recurrent, ...], initial: Tensor
    ) -> None:
        super().__init__(definition, tuple(d.dim for d in over))
        self.over_carried = over
        self.levels = levels  # the value at the start of each loop but the innermost
        self.initial = initial
        self._after: Tensor | None = None

    def __setitem__(self, key: object, value: object) -> None:
        fact = f"`{self.node}` is carried, and gets an equation for some of its points"
        raise EquationError(fact, f"Write {self.node}.step(...), once for all steps.", place())

    def __getitem__(self, key: object) -> Tensor:
        items = cast(tuple[object, ...], key) if isinstance(key, tuple) else (key,)
        n = len(self.over)
        if len(items) < n or any(item is Ellipsis for item in items[:n]):
            return super().__getitem__(items)
        names = [d.name for d in self.over]
        level, dims = self._at_start(dict(zip(names, items, strict=False)))
        return level[(*items[:dims], *items[n:])] if dims < n else super().__getitem__(items)

    def at(self, *, within: object = None, **positions: Position) -> Tensor:
        level, dims = self._at_start(positions)
        if dims == len(self.over):
            return super().at(within=within, **positions)
        inner = {d.name for d in self.over[dims:]}
        outer = {name: at for name, at in positions.items() if name not in inner}
        return level.at(within=within, **outer)

    def _at_start(self, positions: Mapping[str, object]) -> tuple[Tensor, int]:
        """The value at the start of the loops that are read at 0, and how many dims are left."""
        first, kept = len(self.over_carried.each), len(self.over)
        while kept > first and _is_zero(positions.get(self.over[kept - 1].name)):
            kept -= 1
        return (self.initial, *self.levels, self)[kept - first], kept

    @property
    def after(self) -> Tensor:
        """The value after the step at the current point."""
        if self._after is None:
            self._after = define(f"{self.node}_after", over=self.over_carried, like=self)
            self._after.definition.missing = self.definition.missing
        return self._after

    @property
    def final(self) -> Tensor:
        """The value after all steps, over ``each``."""
        return self.after.at(**{d.name: -1 for d in self.over_carried.dims})

    def step(self, following: object) -> None:
        """Say what every step leaves for the next one, written at the current point.

        Errors: EquationError if it was said before, or depends on other dimensions; DtypeError;
        ShapeError.

        >>> import ostinato as ot
        >>> i, m = ot.dims("i m")
        >>> total = ot.carry("total", 0, over=(i, m))
        >>> total.step(total + 10 * i + m)
        >>> program = ot.Program(total=total, final=total.final)
        >>> {name: x.tolist() for name, x in program.interpret(I=2, M=3).items()}
        {'total': [[0, 0, 1], [3, 13, 24]], 'final': 36}
        """
        where = place()
        if not self.definition.missing:
            fact = f"`{self.node}` has a step already"
            raise EquationError(fact, "Write one step; `ot.where` chooses in it.", where)
        node = self._right(following, set(), where)
        after = Tensor(node, merged(following), self.over)
        if isinstance(self._after, Recurrent):  # it was read before
            self._after[True] = after
            self._after.definition.missing = ""
        else:
            self._after = after
        dims = self.over_carried.dims
        for k, level in enumerate((*self.levels, self)):
            last = {d.name: -1 for d in dims[k + 1 :]}
            key = (*self.over_carried.each, *dims[:k], dims[k] + 1)
            Recurrent.__setitem__(level, key, self.after.at(**last))
            level.definition.missing = ""


def _is_zero(item: object) -> bool:
    return not isinstance(item, slice | Tensor) and lift(item) == expr(0)


class CarriedRecord(Record):
    """A record whose fields are carried together."""

    __slots__ = ()

    def __init__(self, **fields: Carry) -> None:
        super().__init__(**fields)

    @property
    def carries(self) -> Mapping[str, Carry]:
        """The fields by name."""
        return cast(Mapping[str, Carry], self.fields)

    @property
    def after(self) -> Record:
        """The values after the step at the current point."""
        return Record(**{name: field.after for name, field in self.carries.items()})

    @property
    def final(self) -> Record:
        """The values after all steps, over ``each``."""
        return Record(**{name: field.final for name, field in self.carries.items()})

    def step(self, following: Record) -> None:
        """Say what every step leaves for the next one, for every field.

        Errors: EquationError, also if the records have different fields.
        """
        for mine, right in matched(self, following).values():
            assert isinstance(mine, Carry), f"{mine} is not carried"
            mine.step(right)


@overload
def carry(name: str, init: Record, over: Over, *, each: Over = ...) -> CarriedRecord: ...
@overload
def carry(
    name: str,
    init: TensorLike,
    over: Over,
    *,
    each: Over = ...,
    like: Tensor | None = ...,
) -> Carry: ...
def carry(
    name: str, init: Record | TensorLike, over: Over, *, each: Over = (), like: Tensor | None = None
) -> Carry | CarriedRecord:
    """Return a value carried through nested loops, outermost first, from its initial value.

    At (0, 0, 0) it is ``init``, at (i, e, m + 1) what the step at (i, e, m) left, at (i, e + 1, 0)
    what the last step of (i, e) left, at (i + 1, 0, 0) what the last step of iteration ``i`` left:
    the order of ``for i: for e: for m``. `Carry.step` says what a step leaves; `Carry.final` is
    what the last one left. Along ``each``, such as seeds, every point carries a value of its own.

    Shapes: those of ``init``, or of ``like``, from which the type is taken too. A record makes a
    record of carries, one per field, which step together.
    Errors: EquationError if ``init`` depends on the dimensions that carry, or on others that are
    not in ``each``.

    >>> import ostinato as ot
    >>> i, e, m = ot.dims("i e m")
    >>> count = ot.carry("count", 0, over=(i, e, m))
    >>> count.step(count + 1)
    >>> ot.Program(before=count).interpret(I=2, E=1, M=3)["before"].tolist()
    [[[0, 1, 2]], [[3, 4, 5]]]
    """
    where = place()
    if not isinstance(over, Carried):
        over = carried(*map(Dimension, as_dims(over, where)), each=each)
    if isinstance(init, Record):
        made = {f: carry(f"{name}_{f}", x, over) for f, x in init.fields.items()}
        return CarriedRecord(**made)
    start = as_tensor(init)
    _check_start(name, start, over, where)
    kind = start if like is None else like
    levels: list[Recurrent] = []
    for k in range(1, len(over.dims)):
        at = "_".join(d.name for d in over.dims[:k])
        dims = (*over.each, *over.dims[:k])
        levels.append(define(f"{name}_at_{at}", over=dims, like=kind))
    leaf = define(name, over=over, like=kind)
    chain = (*levels, leaf)
    for level, before in zip(chain, (init, *levels), strict=True):
        outer = [Dimension(d) for d in level.over[:-1]]
        level[(*outer, 0)] = before
        level.definition.missing = f"Write {name}.step(...) before the program."
    initial = Tensor(chain[0].definition.cases[0][1], start.sources, chain[0].over[:-1])
    return Carry(leaf.definition, over, tuple(levels), initial)


def _check_start(name: str, start: Tensor, over: Carried, where: str) -> None:
    known = {d.dim for d in over.each}
    foreign = build.order(set(start.node.domain) - known)
    if not foreign:
        return
    names = ", ".join(f"`{d}`" for d in foreign)
    fact = f"the initial value {called(start.node)} of `{name}` depends on {names}"
    if any(d in foreign for d in (x.dim for x in over.dims)):
        remedy = f"Read it at one step of {names}: `{name}` starts once."
    else:
        remedy = f"Carry a value for each: each=({', '.join(map(str, foreign))},)."
    raise EquationError(fact, remedy, where)
