"""What a term means: its shape and its elements at a point, straight from the definitions.

Elements are defined for all integers (the axis of a history is indexed by every step, of which an
array holds only the demanded ones); only a reshape looks at ranges. Running folds and linear
recurrences are kept for their box: outside it they are some value, the same for equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Self

from ostinato.rewrite.prove.application import (
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
)
from ostinato.rewrite.prove.integers import Poly, is_less, never_negative, poly
from ostinato.rewrite.prove.normal import unit_of
from ostinato.rewrite.prove.ranges_and_lags import is_kept, mean, progression, ranged
from ostinato.rewrite.prove.reading import PROGRESSIONS
from ostinato.rewrite.prove.setting import (
    CUT,
    STEPS,
    Fixed,
    Impossible,
    Misfit,
    Point,
    Setting,
    Size,
    Unsupported,
    one,
)
from ostinato.rewrite.prove.term_operators import (
    Element,
    Tensor,
    broadcast,
    equal_ranks,
    folded,
    gathered,
    in_any_order,
    length_of,
    mapped,
    permuted,
    place_of,
    product,
    reordered,
    repeated,
    reshaped,
    thin,
    whole,
)
from ostinato.rewrite.prove.typed import OUTSIDE
from ostinato.rewrite.relations.sexpr import Tree, show
from ostinato.rewrite.terms.signature import ARITHMETIC


class Undecided(Exception):
    """A choice depends on a test; the caller proves both cases."""

    def __init__(self, test: Test) -> None:
        self.test = test


class Meaning:
    """Terms of one setting as tensors; ``assumed`` decides tests outside of folds.

    At the end of a ``with`` block it forgets them: what gives their elements refers to it, and such
    circles wait for the garbage collector, which took a sixth of the time of proofs.
    """

    def __init__(self, setting: Setting, assumed: dict[Test, bool]) -> None:
        self.setting, self.assumed = setting, assumed
        self._known: dict[Tree, Tensor] = {}
        self._reached: list[Poly] = []  # not negative where a choice inside a fold is evaluated

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._known.clear()

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
                return mapped(self.setting, self.text(fields[0]), [self.of(f) for f in fields[1:]])
            case "red":
                fn, mask = self.text(fields[0]), self.number(fields[1])
                return folded(self.setting, fn, mask, self.of(fields[2]))
            case "mm":
                return product(self.setting, *map(self.of, fields))
            case "tr":
                return permuted(self.setting, self.of(fields[0]), 1, 2)
            case "mv":
                return permuted(self.setting, self.of(fields[2]), *map(self.number, fields[:2]))
            case "perm" if str(fields[0]) in self.setting.orders:
                return reordered(self.setting.orders[str(fields[0])], self.of(fields[1]))
            case "perm":
                return in_any_order(str(fields[0]), self.of(fields[1]))
            case "along1" | "along2":
                fn, axis, size = self.text(fields[0]), self.number(fields[1]), str(fields[2])
                return whole(self.setting, fn, axis, size, [self.of(f) for f in fields[3:]])
            case "reshape" | "bcast" | "cat" | "part" | "cut" | "gather":
                return self._axis_operator(op, fields)
            case "case":
                return self._case(str(fields[0]), self.of(fields[1]), self.of(fields[2]))
            case "at" | "sl" | "running" | "lin":
                return self._dim_operator(op, fields)
            case "leaf" if (found := self._index(str(fields[0]))) is not None:
                return found
            case "rec":
                return self._variable(str(fields[0]))
            case "count":
                length = length_of(self.setting, str(fields[0]))
                return Tensor((length,), lambda _, at: Number(at[0]))
            case "steps":
                return Tensor((), lambda at, _: Number(self.setting.length(str(fields[0]), at)))
            case "mean":
                return mean(self, *fields)
            case "piece_of":
                return self._piece(*fields)
            case "ranged":
                dim, part, place, flag, x = fields
                return ranged(self, dim, part, self.number(place), bool(self.number(flag)), x)
            case _ if op in PROGRESSIONS:
                return progression(self, str(op), *fields)
            case _:
                raise Unsupported(f"the operator {op}")

    def _piece(self, x: Tree, axis: Tree, part: Tree, whole: Tree, flag: Tree) -> Tensor:
        """The part of a value as long as the whole of it, or a value that has one element there."""
        found, is_one = self.of(x), bool(self.number(flag))
        length = one() if is_one else self.one_size(("size", whole))
        self.setting.unify(found.shape[place_of(self.number(axis), found)], length)
        return found if is_one else self.of(("cut", axis, part, x))

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
        if op in ("<<", ">>") and values[1] < 0:
            raise Impossible(f"a shift by {values[1]}")
        if op == "not-i64":
            return ~values[0]
        if op not in ARITHMETIC:
            raise Unsupported(f"the number {show(tree)}")
        return reduce(ARITHMETIC[str(op)], values)

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
                return length_of(self.setting, str(name))
            case ("size", str(name)):
                known = self.setting.known.get(name, ("", ""))
                if known[0] == "total":
                    return Size(name, fixed=Fixed("total", name))
                if known[0] == "length":
                    return length_of(self.setting, known[1])
                return self.setting.sizes.setdefault(name, Size(name))
            case _:
                raise Unsupported(f"the size {show(tree)}")

    # ---------------------------------------------------------------- operators

    def _variable(self, name: str) -> Tensor:
        setting = self.setting
        if (twin := setting.twin_of(name)) is not None:
            base, dim = twin
            inner = self._variable(base)
            length = Size(dim, fixed=Fixed("extent", dim))
            return Tensor(
                (length, *inner.shape),
                lambda point, at: inner.at(point.moved(dim, at[0]), at[1:]),
            )
        if name in setting.values:
            value = Number(setting.values[name])
            return Tensor(tuple(setting.shapes[name]), lambda _, at: value)
        match setting.known.get(name):
            case ("unit of", fold):
                unit = unit_of(fold)
                return Tensor((), lambda _, at: unit)
            case ("truth of", cond):
                yes, no = Number(Fraction(1)), Number(Fraction(0))
                return Tensor((), lambda at, _: self._where(cond, at, lambda: yes, lambda: no))
            case _:
                pass
        shape = tuple(setting.shapes[name])
        if name in setting.masks:
            return Tensor(shape, partial(is_kept, setting, name))
        avoids = setting.avoids.get(name, set())

        def leaf(point: Point, at: Element) -> Value:
            found = Leaf(name, point.without(avoids), at, name in setting.truths)
            return Call("exp", (found,)) if name in setting.above_zero else found

        return Tensor(shape, leaf)

    def _axis_operator(self, op: str, fields: Sequence[Tree]) -> Tensor:
        match op, *fields:
            case "reshape", count, shape, x:
                return reshaped(self.setting, self.number(count), self.sizes(shape), self.of(x))
            case "bcast", shape, x:
                return repeated(self.setting, self.sizes(shape), self.of(x))
            case "cat", axis, x, y:
                return self._joined(self.number(axis), self.of(x), self.of(y))
            case "gather", axis, x, y:
                return gathered(self.setting, self.number(axis), self.of(x), self.of(y))
            case _, axis, index, x:
                return self._part(op, self.number(axis), str(index), self.of(x))
            case _:
                raise Unsupported(op)

    def _joined(self, axis: int, x: Tensor, y: Tensor) -> Tensor:
        equal_ranks([x, y])
        place = place_of(axis, x)
        for k in range(x.rank):
            if k != place:
                self.setting.unify(x.shape[k], y.shape[k])
        joined = x.shape[place], y.shape[place]
        total = Size("+".join(s.name for s in joined), fixed=Fixed("plus", "", joined))

        def at(point: Point, element: Element) -> Value:
            first = self.setting.size(x.shape[place], point)
            later = (*element[:place], element[place] - first, *element[place + 1 :])
            test = Less(element[place], first)
            return self.choose(test, lambda: x.at(point, element), lambda: y.at(point, later))

        return Tensor((*x.shape[:place], total, *x.shape[place + 1 :]), at)

    def _part(self, op: str, axis: int, name: str, x: Tensor) -> Tensor:
        place = place_of(axis, x)
        inside = ("0",) if x.shape[place].is_one else ("0", "1")
        if name.lstrip("-").isdigit() and name not in inside:
            raise Misfit(f"index {name} leaves its axis, or is none")
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

        return Tensor((*x.shape[:place], length_of(self.setting, name), *x.shape[place + 1 :]), at)

    def _case(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        equal_ranks([x, y])
        for a, b in zip(x.shape, y.shape, strict=True):
            self.setting.unify(a, b)

        def at(point: Point, element: Element) -> Value:
            there = self._pinned(name, point)
            yes, no = (lambda: x.at(there, element)), (lambda: y.at(point, element))
            return self._where(name, point, yes, no)

        return Tensor(x.shape, at)

    def _pinned(self, name: str, point: Point) -> Point:
        """The point, as a condition that holds at one index of a dimension knows it."""
        match self.setting.known.get(name):
            case ("pins", dim, index):
                return point.moved(dim, self.setting.index(index, point))
            case _:
                return point

    def _where(
        self, name: str, point: Point, yes: Callable[[], Value], no: Callable[[], Value]
    ) -> Value:
        """The value that a condition on the point selects."""
        match self.setting.known.get(name):
            case ("both", first, second):
                return self._where(first, point, lambda: self._where(second, point, yes, no), no)
            case ("always",):
                return yes()
            case ("later", dim):
                return self.choose(Less(poly(0), point[dim]), yes, no)
            case (("has" | "had") as when, part):
                kind, dim = self.setting.known[part]
                before = 1 if STEPS[kind].gains == "first" else -1
                here = point[dim] + (before if when == "had" else 0)
                ends = STEPS[kind].ends(poly(0), here, self.setting.extent(dim))
                return self.choose(Less(*ends), yes, no)
            case ("below", dim):
                return self.choose(Less(point[dim], CUT), yes, no)
            case ("above", dim):
                return self.choose(Less(point[dim], CUT), no, yes)
            case _:
                avoids = self.setting.avoids.get(name, set())
                return self.choose(Unknown(name, point.without(avoids)), yes, no)

    def choose(self, test: Test, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """The value that a test selects.

        Errors: Undecided, so that the caller proves both cases.
        """
        if isinstance(test, Less):
            test = Less(poly(0), test.b - test.a)
        decided = is_less(test.a, test.b) if isinstance(test, Less) else self.setting.holds(test)
        if decided is None:
            decided = self.assumed.get(test)
        if decided is not None:
            return yes() if decided else no()
        used = [test.a, test.b] if isinstance(test, Less) else [p for _, p in test.coordinates]
        if any(v.name.startswith("~") for p in used for v in p.variables()):
            return Choice(test, self._where_positive(test, yes), no())
        raise Undecided(test)

    def _where_positive(self, test: Test, yes: Callable[[], Value]) -> Value:
        """A value where a test holds, which may say that a step is not the first."""
        if not isinstance(test, Less):
            return yes()
        self._reached.append(test.b - test.a - 1)
        try:
            return yes()
        finally:
            self._reached.pop()

    def _index(self, leaf: str) -> Tensor | None:
        """A leaf that counts a slice, or is an index of a dimension."""
        match self.setting.known.get(leaf):
            case ("count of", counted):
                return Tensor((length_of(self.setting, counted),), lambda _, at: Number(at[0]))
            case ("index of", dim):
                return Tensor((), lambda point, _: Number(point[dim]))
            case ("first of", part):
                return Tensor((), lambda at, _: Number(self.setting.element(part, at, poly(0))))
            case _:
                return None

    def _dim_operator(self, op: str, fields: Sequence[Tree]) -> Tensor:
        match op, *fields:
            case "at", dim, index, x:
                return self._read(self.dim(dim), str(index), self.of(x))
            case "sl", dim, index, x:
                return self._history(self.dim(dim), str(index), self.of(x))
            case "running", fn, dim, flag, x:
                reverse = self._is_reverse(flag)
                return self._scan(self.text(fn), self.dim(dim), self.of(x), reverse)
            case _, dim, flag, g, a:
                return self._linear(self.dim(dim), self._is_reverse(flag), self.of(g), self.of(a))
            case _:
                raise Unsupported(op)

    def _is_reverse(self, flag: Tree) -> bool:
        reverse = self.number(flag)
        if reverse not in (0, 1):
            raise Misfit(f"{reverse} says neither forwards nor in reverse")
        return bool(reverse)

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

        return Tensor((length_of(self.setting, name), *shape), at)

    def _scan(self, fn: str, dim: str, x: Tensor, reverse: bool) -> Tensor:
        def at(point: Point, element: Element) -> Value:
            here, end = point[dim], self.setting.extent(dim)
            step = self.setting.fresh(end - here if reverse else here + 1)
            first = here if reverse else poly(0)
            fold = Fold(f"scan {fn}", (step,), x.at(point.moved(dim, first + step), element))
            starts = any(never_negative(here - p) for p in (poly(0), *self._reached))
            if starts and never_negative(end - here - 1):
                return fold
            return Call(f"{OUTSIDE}{fn}", (fold, Number(here), Number(end)))

        return Tensor(tuple(self.setting.keep(s, dim) for s in x.shape), at)

    def _linear(self, dim: str, reverse: bool, g: Tensor, a: Tensor) -> Tensor:
        equal_ranks([g, a])
        shape = broadcast(self.setting, [g, a], range(-g.rank, 0))

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
