"""What a term means: its shape and its elements at a point, straight from the definitions.

Elements are defined for all integers (the axis of a history is indexed by every step, of which an
array holds only the demanded ones); only a reshape looks at ranges.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ostinato.rewrite.prove.index import Opaque, Poly, Var, divide, is_less, poly
from ostinato.rewrite.prove.normal import exact
from ostinato.rewrite.prove.setting import (
    Fixed,
    Impossible,
    Point,
    Setting,
    Size,
    Unsupported,
    one,
)
from ostinato.rewrite.prove.text import Tree, show
from ostinato.rewrite.prove.value import (
    Call,
    Choice,
    Fold,
    Leaf,
    Less,
    Number,
    Recursion,
    Test,
    Unknown,
    Value,
    free,
    key,
    rename,
)

Element = tuple[Poly, ...]


class Undecided(Exception):
    """A choice depends on a test; the caller proves both cases."""

    def __init__(self, test: Test) -> None:
        self.test = test


@dataclass(frozen=True)
class Tensor:
    """Sizes (without those of a point), and the element at a point and position."""

    shape: tuple[Size, ...]
    at: Callable[[Point, Element], Value]

    @property
    def rank(self) -> int:
        return len(self.shape)


class Meaning:
    """Terms of one setting as tensors; ``assumed`` decides tests outside of folds."""

    def __init__(self, setting: Setting, assumed: dict[Test, bool]) -> None:
        self.setting, self.assumed = setting, assumed
        self._known: dict[Tree, Tensor] = {}

    def of(self, tree: Tree) -> Tensor:
        """The tensor of a term.

        Errors: Impossible where ranks or sizes do not fit; Unsupported.
        """
        if tree not in self._known:
            self._known[tree] = self._make(tree)
        return self._known[tree]

    def _make(self, tree: Tree) -> Tensor:
        if isinstance(tree, str):
            return self._variable(tree)
        assert isinstance(tree, tuple), f"{tree} is no term"
        op, *fields = tree
        match op:
            case "map1" | "map2" | "map3":
                return self._map(self.text(fields[0]), [self.of(f) for f in fields[1:]])
            case "red":
                return self._fold(self.text(fields[0]), self.number(fields[1]), self.of(fields[2]))
            case "mm":
                return self._product(*map(self.of, fields))
            case "tr":
                return self._permuted(self.of(fields[0]), 1, 2)
            case "mv":
                return self._permuted(self.of(fields[2]), *map(self.number, fields[:2]))
            case "perm":
                return self._any_order(str(fields[0]), self.of(fields[1]))
            case "reshape" | "bcast" | "cat" | "part" | "cut" | "gather":
                return self._axis_operator(op, fields)
            case "case":
                return self._case(str(fields[0]), self.of(fields[1]), self.of(fields[2]))
            case "at" | "sl" | "scan" | "lin":
                return self._dim_operator(op, fields)
            case "leaf" if str(fields[0]) in self.setting.counts:
                length = self._length(self.setting.counts[str(fields[0])])
                return Tensor((length,), lambda _, at: Number(at[0]))
            case "rec":
                return self._variable(str(fields[0]))
            case _:
                raise Unsupported(f"the operator {op}")

    def text(self, tree: Tree) -> str:
        """The name of a function."""
        word = str(tree)
        return word.strip('"') if word.startswith('"') else self.setting.texts[word]

    def number(self, tree: Tree) -> int:
        """The value of integer arithmetic over axis numbers, masks and ranks."""
        if isinstance(tree, int):
            return tree
        if isinstance(tree, str):
            if tree not in self.setting.numbers:
                raise Unsupported(f"the number {tree}")
            return self.setting.numbers[tree]
        op, *rest = tree
        if op == "rank":
            return self.of(rest[0]).rank
        if op == "hlen":
            return len(self.sizes(rest[0]))
        values = [self.number(part) for part in rest]
        known = _ARITHMETIC.get(str(op))
        if known is None:
            raise Unsupported(f"the number {show(tree)}")
        return known(*values)

    def sizes(self, tree: Tree) -> list[Size]:
        """The sizes of a shape such as ``(cons n (cons (times p k) h))``."""
        if isinstance(tree, str):
            return self.setting.lists[tree]
        assert isinstance(tree, tuple), f"{tree} is no shape"
        match tree:
            case ("nil",):
                return []
            case ("cons", head, tail):
                return [self.one_size(head), *self.sizes(tail)]
            case ("shape", term):
                return list(self.of(term).shape)
            case _:
                raise Unsupported(f"the shape {show(tree)}")

    def one_size(self, tree: Tree) -> Size:
        match tree:
            case str():
                return self.setting.sizes.setdefault(tree, Size(tree))
            case ("times", a, b):
                return Size(
                    show(tree), fixed=Fixed("times", "", (self.one_size(a), self.one_size(b)))
                )
            case ("size", 1):
                return one()
            case ("size", ("length", name)):
                return self._length(str(name))
            case ("size", str(name)):
                known = self.setting.known.get(name, ("", ""))
                return (
                    Size(name, fixed=Fixed("length", known[1]))
                    if known[0] == "length"
                    else (self.setting.sizes.setdefault(name, Size(name)))
                )
            case _:
                raise Unsupported(f"the size {show(tree)}")

    # ---------------------------------------------------------------- operators

    def _variable(self, name: str) -> Tensor:
        setting = self.setting
        if name in setting.batch:
            base, dim = setting.batch[name]
            inner = self._variable(base)
            length = Size(dim, fixed=Fixed("extent", dim))
            return Tensor(
                (length, *inner.shape),
                lambda point, at: inner.at(point.moved(dim, at[0]), at[1:]),
            )
        if name in setting.values:
            value = Number(setting.values[name])
            return Tensor(tuple(setting.shapes[name]), lambda _, at: value)
        avoids = setting.avoids.get(name, set())
        return Tensor(
            tuple(setting.shapes[name]),
            lambda point, at: Leaf(name, point.without(avoids), at, name in setting.truths),
        )

    def _broadcast(self, args: Sequence[Tensor], axes: Sequence[int]) -> tuple[Size, ...]:
        """The common sizes of the given axes (negative)."""
        out: list[Size] = []
        for axis in axes:
            found = [a.shape[axis] for a in args]
            thick = [s for s in found if not s.is_one] or found
            for size in thick[1:]:
                self.setting.unify(thick[0], size)
            out.append(thick[0])
        return tuple(out)

    def _map(self, fn: str, args: Sequence[Tensor]) -> Tensor:
        _equal_ranks(args)
        shape = self._broadcast(args, range(-args[0].rank, 0))
        return Tensor(
            shape, lambda point, at: Call(fn, tuple(a.at(point, thin(a, at)) for a in args))
        )

    def _fold(self, fn: str, mask: int, x: Tensor) -> Tensor:
        axes = [k for k in range(x.rank) if mask >> (x.rank - k - 1) & 1]
        if mask >> x.rank or not axes or (fn.startswith("arg") and len(axes) > 1):
            raise Impossible(f"axes {mask:b} of {x.rank}")
        kept = tuple(s for k, s in enumerate(x.shape) if k not in axes)

        def at(point: Point, element: Element) -> Value:
            rest, over, full = iter(element), [], list[Poly]()
            for k, size in enumerate(x.shape):
                if k in axes:
                    index, variables = self.positions(size, point)
                    over += variables
                    full.append(index)
                else:
                    full.append(next(rest))
            return Fold(fn, tuple(over), x.at(point, tuple(full)))

        return Tensor(kept, at)

    def positions(self, size: Size, point: Point) -> tuple[Poly, list[Var]]:
        """An index into an axis; an axis of size ``n * k`` takes one variable for each."""
        factors = self.factors(size)
        index, variables = poly(0), list[Var]()
        for factor in factors:
            length = self.setting.size(factor, point)
            variables.append(self.setting.fresh(length))
            index = index * length + variables[-1]
        return index, variables

    def factors(self, size: Size) -> list[Size]:
        fixed = size.root().fixed
        if fixed is None or fixed.kind != "times":
            return [size]
        return [part for factor in fixed.factors for part in self.factors(factor)]

    def _product(self, x: Tensor, y: Tensor) -> Tensor:
        _equal_ranks([x, y])
        if x.rank < 2:
            raise Impossible("a product of vectors")
        self.setting.unify(x.shape[-1], y.shape[-2])
        lead = self._broadcast([x, y], range(-x.rank, -2))

        def at(point: Point, element: Element) -> Value:
            k, over = self.positions(x.shape[-1], point)
            *rows, i, j = element
            left = x.at(point, (*thin(x, rows), i, k))
            right = y.at(point, (*thin(y, rows), k, j))
            return Fold("dot", tuple(over), Call("mul", (left, right)))

        return Tensor((*lead, x.shape[-2], y.shape[-1]), at)

    def _permuted(self, x: Tensor, k: int, to: int) -> Tensor:
        """Axis ``-k`` moved to ``-to``, further left."""
        if not 1 <= k <= to <= x.rank:
            raise Impossible(f"axis {k} moved to {to} of {x.rank}")
        order = [j for j in range(x.rank) if j != x.rank - k]
        order.insert(x.rank - to, x.rank - k)

        def at(point: Point, element: Element) -> Value:
            inner = dict(zip(order, element, strict=True))
            return x.at(point, tuple(inner[j] for j in range(x.rank)))

        return Tensor(tuple(x.shape[j] for j in order), at)

    def _any_order(self, name: str, x: Tensor) -> Tensor:
        """A permutation of three trailing axes: the one that a setting's number gives."""
        order = list(itertools.permutations(range(3)))[self.setting.numbers[name]]
        keep = x.rank - len(order)
        if keep < 0:
            raise Impossible("more axes are permuted than there are")
        full = [*range(keep), *(keep + j for j in order)]

        def at(point: Point, element: Element) -> Value:
            inner = dict(zip(full, element, strict=True))
            return x.at(point, tuple(inner[j] for j in range(x.rank)))

        return Tensor(tuple(x.shape[j] for j in full), at)

    def _axis_operator(self, op: str, fields: Sequence[Tree]) -> Tensor:
        match op, *fields:
            case "reshape", count, shape, x:
                return self._reshaped(self.number(count), self.sizes(shape), self.of(x))
            case "bcast", shape, x:
                return self._repeated(self.sizes(shape), self.of(x))
            case "cat", axis, x, y:
                return self._joined(self.number(axis), self.of(x), self.of(y))
            case "gather", axis, x, y:
                return self._gathered(self.number(axis), self.of(x), self.of(y))
            case _, axis, index, x:
                return self._part(op, self.number(axis), str(index), self.of(x))
            case _:
                raise Unsupported(op)

    def _reshaped(self, count: int, shape: list[Size], x: Tensor) -> Tensor:
        keep = x.rank - count
        if keep < 0:
            raise Impossible(f"{count} of {x.rank} axes")
        self.setting.same_count(x.shape[keep:], shape)

        def at(point: Point, element: Element) -> Value:
            inner = [self.setting.size(s, point) for s in x.shape[keep:]]
            outer = [self.setting.size(s, point) for s in shape]
            flat = poly(0)
            for size, i in zip(outer, element[keep:], strict=True):
                flat = flat * size + i
            found: list[Poly] = []
            for size in reversed(inner[1:]):
                flat, rest = divide(flat, size)
                found.append(rest)
            first = [flat] if inner else []
            return x.at(point, (*element[:keep], *first, *reversed(found)))

        return Tensor((*x.shape[:keep], *shape), at)

    def _repeated(self, shape: list[Size], x: Tensor) -> Tensor:
        keep = x.rank - len(shape)
        if keep < 0:
            raise Impossible(f"{len(shape)} of {x.rank} axes")
        for new, old in zip(shape, x.shape[keep:], strict=True):
            if not old.is_one:
                self.setting.unify(new, old)
        return Tensor((*x.shape[:keep], *shape), lambda point, at: x.at(point, thin(x, at)))

    def _joined(self, axis: int, x: Tensor, y: Tensor) -> Tensor:
        _equal_ranks([x, y])
        place = _place(axis, x)
        for k in range(x.rank):
            if k != place:
                self.setting.unify(x.shape[k], y.shape[k])
        total = Size(f"{x.shape[place].name}+{y.shape[place].name}")
        total.avoids = x.shape[place].root().avoids & y.shape[place].root().avoids

        def at(point: Point, element: Element) -> Value:
            first = self.setting.size(x.shape[place], point)
            later = (*element[:place], element[place] - first, *element[place + 1 :])
            test = Less(element[place], first)
            return self.choose(test, lambda: x.at(point, element), lambda: y.at(point, later))

        return Tensor((*x.shape[:place], total, *x.shape[place + 1 :]), at)

    def _gathered(self, axis: int, x: Tensor, index: Tensor) -> Tensor:
        _equal_ranks([x, index])
        place = _place(axis, x)
        shape = list(self._others(x, index, place))
        shape.insert(place, index.shape[place])

        def at(point: Point, element: Element) -> Value:
            found = exact(index.at(point, thin(index, element, place)))
            size = self.setting.size(x.shape[place], point)
            position = poly(_clamped(found, size))
            inner = [*thin(x, element)]
            inner[place] = position
            return x.at(point, tuple(inner))

        return Tensor(tuple(shape), at)

    def _others(self, x: Tensor, y: Tensor, place: int) -> tuple[Size, ...]:
        axes = [k for k in range(x.rank) if k != place]
        return self._broadcast([x, y], axes)

    def _part(self, op: str, axis: int, name: str, x: Tensor) -> Tensor:
        place = _place(axis, x)
        if op == "part":
            return Tensor(
                (*x.shape[:place], *x.shape[place + 1 :]),
                lambda point, at: x.at(
                    point, (*at[:place], self.setting.index(name, point), *at[place:])
                ),
            )

        def at(point: Point, element: Element) -> Value:
            i = self.setting.element(name, point, element[place])
            return x.at(point, (*element[:place], i, *element[place + 1 :]))

        return Tensor((*x.shape[:place], self._length(name), *x.shape[place + 1 :]), at)

    def _length(self, name: str) -> Size:
        match self.setting.known.get(name):
            case ("full", dim):
                return Size(dim, fixed=Fixed("extent", dim))
            case ("shifted", base, _):
                return self._length(base)
            case _:
                return Size(name, fixed=Fixed("length", name))

    def _case(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        _equal_ranks([x, y])
        for a, b in zip(x.shape, y.shape, strict=True):
            self.setting.unify(a, b)
        avoids = self.setting.avoids.get(name, set())
        return Tensor(
            x.shape,
            lambda point, at: self.choose(
                Unknown(name, point.without(avoids)),
                lambda: x.at(point, at),
                lambda: y.at(point, at),
            ),
        )

    def choose(self, test: Test, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """The value that a test selects.

        Errors: Undecided, so that the caller proves both cases.
        """
        decided = is_less(test.a, test.b) if isinstance(test, Less) else self.setting.holds(test)
        if decided is None:
            decided = self.assumed.get(test)
        if decided is not None:
            return yes() if decided else no()
        used = [test.a, test.b] if isinstance(test, Less) else [p for _, p in test.coordinates]
        if any(v.name.startswith("~") for p in used for v in p.variables()):
            return Choice(test, yes(), no())
        raise Undecided(test)

    def _dim_operator(self, op: str, fields: Sequence[Tree]) -> Tensor:
        match op, *fields:
            case "at", dim, index, x:
                return self._read(self.dim(dim), str(index), self.of(x))
            case "sl", dim, index, x:
                return self._history(self.dim(dim), str(index), self.of(x))
            case "scan", fn, dim, x:
                return self._scan(self.text(fn), self.dim(dim), self.of(x))
            case _, dim, flag, g, a:
                return self._linear(self.dim(dim), bool(self.number(flag)), self.of(g), self.of(a))
            case _:
                raise Unsupported(op)

    def dim(self, tree: Tree) -> str:
        if tree not in self.setting.dims:
            raise Unsupported(f"the dimension {tree}")
        return self.setting.dims[str(tree)]

    def _read(self, dim: str, name: str, x: Tensor) -> Tensor:
        shape = tuple(_elsewhere(s, dim, name) for s in x.shape)
        return Tensor(
            shape, lambda point, at: x.at(point.moved(dim, self.setting.index(name, point)), at)
        )

    def _history(self, dim: str, name: str, x: Tensor) -> Tensor:
        shape = tuple(self.setting.keep(s, dim) for s in x.shape)

        def at(point: Point, element: Element) -> Value:
            step = self.setting.element(name, point, element[0])
            return x.at(point.moved(dim, step), element[1:])

        return Tensor((self._length(name), *shape), at)

    def _scan(self, fn: str, dim: str, x: Tensor) -> Tensor:
        def at(point: Point, element: Element) -> Value:
            step = self.setting.fresh(point[dim] + 1)
            return Fold(f"scan {fn}", (step,), x.at(point.moved(dim, poly(step)), element))

        return Tensor(tuple(self.setting.keep(s, dim) for s in x.shape), at)

    def _linear(self, dim: str, reverse: bool, g: Tensor, a: Tensor) -> Tensor:
        _equal_ranks([g, a])
        shape = self._broadcast([g, a], range(-g.rank, 0))

        def at(point: Point, element: Element) -> Value:
            step = self.setting.fresh(self.setting.extent(dim))
            there = point.moved(dim, poly(step))
            factor, body = (t.at(there, thin(t, element)) for t in (g, a))
            return Recursion(reverse, step, factor, body, point[dim], self.setting.extent(dim))

        return Tensor(tuple(self.setting.keep(s, dim) for s in shape), at)


def _elsewhere(size: Size, dim: str, name: str) -> Size:
    """A size at the point that is read."""
    root = size.root()
    if root.fixed is not None or dim in root.avoids:
        return size
    return Size(f"{root.name}@{name}", fixed=Fixed("moved", f"{dim} {name}", (root,)))


def _equal_ranks(args: Sequence[Tensor]) -> None:
    if len({a.rank for a in args}) > 1:
        raise Impossible("operands of different ranks")


def _place(axis: int, x: Tensor) -> int:
    if not 1 <= axis <= x.rank:
        raise Impossible(f"axis {axis} of {x.rank}")
    return x.rank - axis


def thin(x: Tensor, element: Sequence[Poly], but: int | None = None) -> Element:
    """The element of an operand whose axes of size 1 repeat."""
    return tuple(
        poly(0) if s.is_one and k != but else i
        for k, (s, i) in enumerate(zip(x.shape[: len(element)], element, strict=True))
    )


def _clamped(value: Value, size: Poly) -> Opaque:
    return Opaque(
        f"clamp({key(value)}, {size.key})",
        free(value) | size.variables(),
        lambda by: _clamped(rename(value, by), size.renamed(by)),
        lambda number, integer: max(0, min(math.floor(number(value)), integer(size) - 1)),
    )


_ARITHMETIC: dict[str, Callable[..., int]] = {
    "+": lambda *v: sum(v),
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "not-i64": lambda a: ~a,
}
