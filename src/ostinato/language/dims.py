"""Dimensions, index expressions and conditions as the user writes them.

``t + 1``, ``t // 2``, ``t % 3``, ``T - 1 - t`` and ``minimum(t + n, T - 1)`` are index expressions;
``t % 4 == 0`` and ``(t < 3) | (b == 0)`` are conditions. Both are symbolic: Python's ``if``,
``min`` and ``max`` cannot decide on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, TypeGuard, cast, overload

import numpy as np

from ostinato.language.protocols import KnownAtRuns
from ostinato.pdg import condition, index
from ostinato.pdg.condition import ALWAYS, NEVER, Cond, at_least, compared, equal, negation
from ostinato.pdg.errors import AffineError, TruthError
from ostinato.pdg.index import Dim, Expr, expr
from ostinato.pdg.intervals import LARGEST, depth, is_quasi_affine, magnitude
from ostinato.pdg.limits import DEEPEST, require_plain, require_shallow, require_small
from ostinato.provenance.place import place

if TYPE_CHECKING:
    from ostinato.language.tensor import Tensor


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a Python or NumPy integer, and no boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def lift(value: object) -> Expr | None:
    """Return the expression of an index or an integer, and None for anything else."""
    if isinstance(value, IndexExpression):
        return value.expr
    return expr(int(value)) if is_integer(value) else None


class AtPoint(KnownAtRuns):
    """An index expression or a condition: what its own operators cannot say is a tensor."""

    __slots__ = ()

    def value(self) -> Tensor:
        """Return the value at the point: int32 of an index expression, bool of a condition."""
        from ostinato.language.tensor import as_tensor  # tensors are built on index expressions

        return as_tensor(self)

    def __abs__(self) -> Tensor:
        return abs(self.value())

    def __divmod__(self, other: object) -> tuple[Tensor, Tensor]:
        return divmod(self.value(), other)

    def __rdivmod__(self, other: object) -> tuple[Tensor, Tensor]:
        return self.value().__rdivmod__(other)


_Operator = Callable[[AtPoint, object], "Tensor"]


def _of_values(name: str) -> _Operator:
    """Return the operator of tensors, on the value at the point."""

    def operate(self: AtPoint, other: object) -> Tensor:
        return cast("Tensor", getattr(self.value(), name)(other))

    return operate


class IndexExpression(AtPoint):
    """An integer that depends on dimensions and extents, such as ``t + 1`` or ``t.size - 1``.

    Arithmetic with integers and other index expressions stays an index expression; arithmetic with
    floats and tensors, and every operator that no index has, such as ``**``, gives a tensor.

    >>> t = dims("t")
    >>> t.size - 1 - t
    -t+T-1
    """

    __slots__ = ("expr",)

    def __init__(self, of: Expr) -> None:
        is_plain = magnitude(of) <= LARGEST and depth(of) <= DEEPEST
        self.expr = of if is_plain else require_shallow(require_small(of, place()), place())

    @overload
    def __add__(self, other: IndexExpression | int) -> IndexExpression: ...
    @overload
    def __add__(self, other: float) -> Tensor: ...
    def __add__(self, other: IndexExpression | float) -> IndexExpression | Tensor:
        right = lift(other)
        if right is not None:
            return IndexExpression(self.expr + right)
        return self.value() + other

    @overload
    def __radd__(self, other: IndexExpression | int) -> IndexExpression: ...
    @overload
    def __radd__(self, other: float) -> Tensor: ...
    def __radd__(self, other: IndexExpression | float) -> IndexExpression | Tensor:
        return self + other

    @overload
    def __sub__(self, other: IndexExpression | int) -> IndexExpression: ...
    @overload
    def __sub__(self, other: float) -> Tensor: ...
    def __sub__(self, other: IndexExpression | float) -> IndexExpression | Tensor:
        right = lift(other)
        if right is not None:
            return IndexExpression(self.expr - right)
        return self.value() - other

    @overload
    def __rsub__(self, other: IndexExpression | int) -> IndexExpression: ...
    @overload
    def __rsub__(self, other: float) -> Tensor: ...
    def __rsub__(self, other: IndexExpression | float) -> IndexExpression | Tensor:
        return -self + other

    @overload
    def __mul__(self, other: IndexExpression | int) -> IndexExpression: ...
    @overload
    def __mul__(self, other: float) -> Tensor: ...
    def __mul__(self, other: IndexExpression | float) -> IndexExpression | Tensor:
        right = lift(other)
        if right is not None:
            return IndexExpression(self.expr * right)
        return self.value() * other

    @overload
    def __rmul__(self, other: IndexExpression | int) -> IndexExpression: ...
    @overload
    def __rmul__(self, other: float) -> Tensor: ...
    def __rmul__(self, other: IndexExpression | float) -> IndexExpression | Tensor:
        return self * other

    def __truediv__(self, other: IndexExpression | float) -> Tensor:
        return self.value() / other

    def __rtruediv__(self, other: float) -> Tensor:
        return other / self.value()

    @overload
    def __floordiv__(self, by: int) -> IndexExpression: ...
    @overload
    def __floordiv__(self, by: IndexExpression) -> Tensor: ...
    def __floordiv__(self, by: IndexExpression | int) -> IndexExpression | Tensor:
        if not is_integer(by):  # by an extent too: the value at the point, for computed positions
            return self.value() // by
        return IndexExpression(index.floordiv(self.expr, _divisor(by, "//")))

    @overload
    def __mod__(self, by: int) -> IndexExpression: ...
    @overload
    def __mod__(self, by: IndexExpression) -> Tensor: ...
    def __mod__(self, by: IndexExpression | int) -> IndexExpression | Tensor:
        if not is_integer(by):
            return self.value() % by
        return IndexExpression(index.mod(self.expr, _divisor(by, "%")))

    def __invert__(self) -> Tensor:
        return ~self.value()

    def __neg__(self) -> IndexExpression:
        return IndexExpression(-self.expr)

    __rfloordiv__, __rmod__ = _of_values("__rfloordiv__"), _of_values("__rmod__")
    __pow__, __rpow__ = _of_values("__pow__"), _of_values("__rpow__")
    __and__ = __rand__ = _of_values("__and__")
    __or__ = __ror__ = _of_values("__or__")
    __xor__ = __rxor__ = _of_values("__xor__")
    __lshift__, __rlshift__ = _of_values("__lshift__"), _of_values("__rlshift__")
    __rshift__, __rrshift__ = _of_values("__rshift__"), _of_values("__rrshift__")
    __matmul__, __rmatmul__ = _of_values("__matmul__"), _of_values("__rmatmul__")

    def __lt__(self, other: IndexExpression | int) -> Condition:
        right = lift(other)
        if right is None:
            return cast(Condition, self.value() < other)
        return Condition(at_least(right, self.expr + 1))

    def __le__(self, other: IndexExpression | int) -> Condition:
        right = lift(other)
        if right is None:
            return cast(Condition, self.value() <= other)
        return Condition(at_least(right, self.expr))

    def __gt__(self, other: IndexExpression | int) -> Condition:
        right = lift(other)
        if right is None:
            return cast(Condition, self.value() > other)
        return Condition(at_least(self.expr, right + 1))

    def __ge__(self, other: IndexExpression | int) -> Condition:
        right = lift(other)
        if right is None:
            return cast(Condition, self.value() >= other)
        return Condition(at_least(self.expr, right))

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]  # symbolic, as in NumPy
        right = lift(other)
        if right is None:
            return cast(Condition, self.value() == other)
        return Condition(equal(self.expr, right))

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]  # symbolic, as in NumPy
        right = lift(other)
        if right is None:
            return cast(Condition, self.value() != other)
        return Condition(negation(equal(self.expr, right)))

    def __hash__(self) -> int:
        return hash(self.expr)

    def _spoken(self) -> str:
        return f"index `{self}`"

    def __bool__(self) -> NoReturn:
        _no_truth(f"index `{self}`")

    def __iter__(self) -> Iterator[Dimension]:
        raise TruthError(f"`{self}` is one index", "Name several: b, t = dims('b t').", place())

    def __str__(self) -> str:
        return str(self.expr)

    __repr__ = __str__


class Dimension(IndexExpression):
    """A named dimension; as an index it is the current point.

    >>> t = dims("t")
    >>> t.name, t.size
    ('t', T)
    """

    __slots__ = ("dim",)

    def __init__(self, dim: Dim) -> None:
        super().__init__(expr(dim))
        self.dim = dim

    @property
    def name(self) -> str:
        return self.dim.name

    @property
    def size(self) -> IndexExpression:
        """The extent: how many steps the dimension has, given when the program runs."""
        return IndexExpression(expr(self.dim.extent))


class Condition(AtPoint):
    """An affine condition on the point: comparisons of index expressions joined by ``& | ~``.

    >>> t = dims("t")
    >>> (t % 4 == 0) | (t < 3)
    (t) % 4 == 0 or 2 >= t
    """

    __slots__ = ("cond",)

    def __init__(self, cond: Cond) -> None:
        for of in compared(cond):
            check_index(of, "condition on")
        self.cond = require_plain(cond, place())

    def __and__(self, other: Condition | bool) -> Condition:
        right = lift_condition(other)
        if right is None:
            return cast(Condition, self.value() & other)
        return Condition(condition.every(self.cond, right))

    __rand__ = __and__

    def __or__(self, other: Condition | bool) -> Condition:
        right = lift_condition(other)
        if right is None:
            return cast(Condition, self.value() | other)
        return Condition(condition.some(self.cond, right))

    __ror__ = __or__

    def __invert__(self) -> Condition:
        return Condition(negation(self.cond))

    __add__ = __radd__ = _of_values("__add__")
    __sub__, __rsub__ = _of_values("__sub__"), _of_values("__rsub__")
    __mul__ = __rmul__ = _of_values("__mul__")
    __truediv__, __rtruediv__ = _of_values("__truediv__"), _of_values("__rtruediv__")
    __floordiv__, __rfloordiv__ = _of_values("__floordiv__"), _of_values("__rfloordiv__")
    __mod__, __rmod__ = _of_values("__mod__"), _of_values("__rmod__")
    __pow__, __rpow__ = _of_values("__pow__"), _of_values("__rpow__")
    __matmul__, __rmatmul__ = _of_values("__matmul__"), _of_values("__rmatmul__")
    __lshift__, __rlshift__ = _of_values("__lshift__"), _of_values("__rlshift__")
    __rshift__, __rrshift__ = _of_values("__rshift__"), _of_values("__rrshift__")
    __xor__ = __rxor__ = _of_values("__xor__")
    __lt__, __le__ = _of_values("__lt__"), _of_values("__le__")
    __gt__, __ge__ = _of_values("__gt__"), _of_values("__ge__")

    def __neg__(self) -> Tensor:
        return -self.value()

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]  # elementwise, as in NumPy
        return self.value() == other

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]  # elementwise, as in NumPy
        return self.value() != other

    def __hash__(self) -> int:
        return hash(self.cond)

    def _spoken(self) -> str:
        return f"condition `{self}`"

    def __bool__(self) -> NoReturn:
        _no_truth(f"condition `{self}`")

    def __str__(self) -> str:
        return str(self.cond)

    __repr__ = __str__


def dims(names: str) -> Dimension:
    """Declare dimensions, outermost first; the extent of ``t`` is the argument ``T``.

    Several names give a tuple, one name gives the dimension itself. (The return type says
    `Dimension` for both: type checkers then accept ``t = dims("t")`` and ``b, t = dims("b t")``.)

    Errors: AffineError if a name is no lower-case identifier or stands twice.

    >>> b, t = dims("b t")
    >>> t - 1
    t-1
    """
    found = names.replace(",", " ").split()
    for name in found:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or found.count(name) > 1:
            fact = f"dims({names!r}): `{name}` cannot name a dimension"
            remedy = "Use different lower-case identifiers; the upper-case name is the extent."
            raise AffineError(fact, remedy, place())
    if not found:
        raise AffineError("dims() without a name", 'Name the dimensions: dims("b t").', place())
    made = tuple(Dimension(Dim(name)) for name in found)
    return made[0] if len(made) == 1 else cast(Dimension, made)


def dim(name: str, size: IndexExpression | int | None = None) -> Dimension:
    """Declare a dimension whose extent is defined: by a number, or by the extents of others.

    Its extent is no argument: it follows, and must be at least 1. It may be given all the same,
    and must then agree. Without a size the extent is an argument, as with `dims`.

    Errors: AffineError if the name cannot name a dimension, or if the size mentions a dimension,
    its own extent, or is a number below 1.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> pair = ot.dim("pair", size=t.size // 2)
    >>> pair.size
    (T) // 2
    >>> x = ot.input("x", over=t)
    >>> ot.Program(sums=x[2 * pair] + x[2 * pair + 1]).interpret(x=[1, 2, 3, 4])["sums"].tolist()
    [3.0, 7.0]
    """
    where = place()
    made = dims(name)
    is_one = not isinstance(cast(object, made), tuple)
    if size is None and is_one:
        return made
    of = lift(size)
    if not is_one or of is None:
        fact = f"dim({name!r}, size={size!r}) is not one dimension and its size"
        raise AffineError(fact, 'Write dim("n", size=t.size // 4).', where)
    inside = sorted(d.name for d in of.dims)
    if inside:
        fact = f"the size `{of}` of `{name}` depends on the dimension `{inside[0]}`"
        raise AffineError(fact, "Sizes are made of numbers and extents, such as t.size.", where)
    if made.dim.symbol in index.symbols(of):
        fact = f"the size `{of}` of `{name}` mentions its own extent `{made.dim.symbol}`"
        raise AffineError(fact, "Rename one of the dimensions.", where)
    if of.is_const and of.const < 1:
        raise AffineError(
            f"the size of `{name}` is {of}", "A dimension has at least 1 step.", where
        )
    return Dimension(Dim(name, made.dim.serial, "", of))


def check_index(of: Expr, what: str) -> Expr:
    """Return an index unchanged, or raise AffineError if it multiplies symbols."""
    if not is_quasi_affine(of):
        fact = f"{what} `{of}` is not quasi-affine"
        remedy = "Multiply by constants only; products are for sizes."
        if what in ("index", "condition on"):  # may be known when the program runs
            remedy = f"Multiply by constants only, or make it a tensor: `ot.index({of})`."
        if what == "bound":
            steps = "`x.at(t=ot.index(first) + ot.arange(n))`"
            remedy = f"Multiply by constants only, or read n computed steps: {steps}."
        raise AffineError(fact, remedy, place())
    return of


def lift_condition(value: object) -> Cond | None:
    """Return a condition or a Python boolean as a condition, and None for anything else."""
    if isinstance(value, Condition):
        return value.cond
    if isinstance(value, bool):
        return ALWAYS if value else NEVER
    return None


def _divisor(by: int, sign: str) -> int:
    if by > 0:
        return int(by)
    fact = f"an index is divided (`{sign}`) by {by}"
    raise AffineError(fact, "Divide by a positive integer constant.", place())


def _no_truth(what: str) -> NoReturn:
    raise TruthError(
        f"{what} is symbolic: Python cannot decide on it now",
        "Use ot.minimum, ot.maximum or ot.where, and & | ~ instead of and, or, not.",
        place(),
    )
