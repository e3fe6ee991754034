"""The table of constructs that invented programs are made of.

A construct is a function of the workshop and one step; it returns a new tensor, or None where it
does not fit its operands. To add one, write such a function in a module of this package:

    @construct("arrays")
    def flip(w: Workshop, s: Step) -> Tensor | None:
        x = w.array(s)
        return None if x is None else ot.flip(x, 0)

A construct keeps values of moderate size and reads inside its domain for every extent from 1,
unless it is *wild*: then it may read outside a box, be refused when the program is built, or make
what is not finite. Wild constructs are in the programs of the quick mode only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import ostinato as ot
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.language.tensor import Tensor

FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Step:
    """One operator: what, on which tensors of the pool, along which dim, with which constant."""

    op: str
    a: int = 0
    b: int = 0
    dim: int = 0
    c: int = 1
    fold: str = "sum"


@dataclass
class Workshop:
    """The tensors made so far, and ways to choose operands among them."""

    dims: tuple[Dimension, ...]
    dtype: str
    pool: list[Tensor]
    number: int = 0  # of the step, for names
    draws: list[Tensor] = field(default_factory=list[Tensor])  # unit draws, equal to the last bit
    ended: bool = False  # a dim has been stopped

    def any(self, s: Step) -> Tensor:
        return self.pool[s.a % len(self.pool)]

    def real(self, s: Step) -> Tensor:
        """The first operand as a float of the program's type."""
        return self.as_real(self.any(s))

    def other(self, s: Step) -> Tensor | None:
        """The second operand, if it broadcasts with the first; both as floats."""
        x, y = self.real(s), self.as_real(self.pool[s.b % len(self.pool)])
        return y if fits(x, y) else None

    def whole(self, s: Step) -> Tensor:
        """The first operand as small integers."""
        return self.as_whole(self.any(s))

    def array(self, s: Step) -> Tensor | None:
        """The first operand as floats, if it has an axis whose size is constant."""
        x = self.real(s)
        return x if x.ndim and all(isinstance(n, int) and n > 0 for n in x.shape) else None

    def dim(self, s: Step) -> Dimension:
        return self.dims[s.dim % len(self.dims)]

    def along(self, s: Step) -> Dimension | None:
        """The dimension of the step, if the first operand depends on it."""
        d = self.dim(s)
        return d if d.name in [e.name for e in self.any(s).node.domain] else None

    def second(self, s: Step) -> Dimension | None:
        """Another dimension of the first operand."""
        own = self.over(self.any(s))
        rest = [d for d in own if d.name != self.dim(s).name]
        return rest[s.c % len(rest)] if rest and len(rest) < len(own) else None

    def over(self, x: Tensor) -> tuple[Dimension, ...]:
        names = {d.name for d in x.node.domain}
        return tuple(d for d in self.dims if d.name in names)

    def as_real(self, x: Tensor) -> Tensor:
        if x.dtype == "bool":
            return x.cast(self.dtype)
        if x.dtype not in FLOATS:
            return (x % 7).cast(self.dtype) * 0.25 - 0.75
        return x if x.dtype == self.dtype else x.cast(self.dtype)

    def as_whole(self, x: Tensor) -> Tensor:
        if x.dtype in FLOATS:
            return ot.floor(x * 3.0).cast("int32")
        return x.cast("int32") if x.dtype == "bool" else x


Make = Callable[[Workshop, Step], Tensor | None]


@dataclass(frozen=True)
class Construct:
    """A row of the table."""

    name: str
    kind: str
    make: Make
    wild: bool = False


TABLE: dict[str, Construct] = {}


def construct(kind: str, *names: str, wild: bool = False) -> Callable[[Make], Make]:
    """Enter a function under its own name, or under several names that it tells apart."""

    def enter(make: Make) -> Make:
        for name in names or (make.__name__,):
            assert name not in TABLE, f"two constructs are called {name}"
            TABLE[name] = Construct(name, kind, make, wild)
        return make

    return enter


def fits(x: Tensor, y: Tensor) -> bool:
    """Whether two shapes broadcast."""
    short = min(x.ndim, y.ndim)
    pairs = zip(x.node.shape[x.ndim - short :], y.node.shape[y.ndim - short :], strict=True)
    return all(m == n or "1" in (str(m), str(n)) for m, n in pairs)


def place(x: Tensor, d: Dimension, index: IndexExpression | slice | int) -> Tensor:
    """Read ``x`` with one of its dims at an index; the others stay at this point."""
    return x.at(**{d.name: index})


def ragged(x: Tensor) -> bool:
    """Whether the shape depends on the point."""
    return any(not n.is_const for n in x.node.shape)
