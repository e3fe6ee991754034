"""The record of a smallest program on which rules must fire, or must not, and small builders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ostinato.pdg.build import input_node, order, read
from ostinato.pdg.index import Dim, Expr, ExprLike, Slice, expr
from ostinato.pdg.node import Dtype, Node, Pdg, Read, Transpose, intern


class Sizes(NamedTuple):
    """The spatial sizes of an instance; tests draw them."""

    m: int = 2
    k: int = 3
    n: int = 4


@dataclass(frozen=True, slots=True)
class Instance:
    """A program, the rules that must fire on it, and those that must not.

    ``beside`` names rules that run too where one rule needs what another made. ``build`` is a
    function of the spatial sizes and says in its name what the program shows.
    """

    name: str
    build: Callable[[Sizes], Pdg]
    fires: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


Build = Callable[[Sizes], Node | Sequence[Node]]

B, T = Dim("b"), Dim("t")


def program(*nodes: Node) -> Pdg:
    """A program without recurrences that gives these nodes."""
    return Pdg(tuple((f"y{k}" if k else "y", node) for k, node in enumerate(nodes)), {})


def fires(
    *rules: str, beside: tuple[str, ...] = (), idle: tuple[str, ...] = ()
) -> Callable[[Build], Instance]:
    """The instance whose nodes a function builds: these rules must fire, those of ``idle`` not."""

    def decorate(build: Build) -> Instance:
        def whole(sizes: Sizes) -> Pdg:
            made = build(sizes)
            return program(made) if isinstance(made, Node) else program(*made)

        return Instance(_named(build), whole, rules, idle, beside)

    return decorate


def silent(*rules: str, beside: tuple[str, ...] = ()) -> Callable[[Build], Instance]:
    """The instance on which these rules must not fire."""
    return fires(beside=beside, idle=rules)


def _named(build: Build) -> str:
    return str(getattr(build, "__name__", build)).strip("_").replace("_", " ")


def tensor(
    name: str, shape: Sequence[ExprLike] = (), over: Sequence[Dim] = (), dtype: Dtype = "float32"
) -> Node:
    """An input."""
    return input_node(name, tuple(map(expr, shape)), dtype, tuple(over))


def every(dim: Dim) -> Slice:
    """All points of a dimension."""
    return Slice(expr(0), expr(dim.extent))


def all_of(x: Node, *dims: Dim) -> Node:
    """``x`` at all points of the dimensions, the first one outermost."""
    for dim in reversed(dims):
        x = read(x, [(dim, every(dim))])
    return x


def span(lo: ExprLike, hi: ExprLike) -> Slice:
    """The indices from ``lo`` to ``hi - 1``."""
    return Slice(expr(lo), expr(hi))


def at(x: Node, dim: Dim, index: Expr | int) -> Node:
    """``x`` at another point of a dimension."""
    return read(x, [(dim, expr(index))])


def useless(x: Node, op: Read | Transpose) -> Node:
    """A read or transpose that changes nothing, which the constructors would drop."""
    read_at: set[Dim] = set()
    if isinstance(op, Read):
        read_at = {d for _, e in op.at if isinstance(e, Expr) for d in e.dims}
    over = order({*x.domain, *read_at})
    return intern((op, (x,), over, x.shape, x.dtype))
