"""Where folds accumulate: in a variable, or in numbers that are kept apart.

One number that everything is added to waits for itself. A fold along the innermost axis is kept in
lanes: element ``k`` belongs to lane ``k % count``, and lanes are folded by halves at the end. Where
a fold has a result for every position of the innermost axis, a block of results is kept while the
loops of the fold run, inside of a loop over blocks. Both make loops of a fixed number of turns that
do not need each other: vector code, whose numbers stay in registers.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile

from ostinato.codegen.emit.function import Body, Function
from ostinato.codegen.emit.value import Scope, bind
from ostinato.codegen.ir.partial_sums import PARTS, PARTS_OF_ALL, ROW, is_short_row
from ostinato.codegen.ir.system import Axis, Load, Statement
from ostinato.codegen.ir.tree import Nest
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import FLOATS, Expression, Given, Name, binary, call, compare
from ostinato.codegen.loops.statements import Block, Definition, Do, Let
from ostinato.pdg.functions import FOLDS, POSITIONS, REPEATED, fold_unit
from ostinato.pdg.index import Dim
from ostinato.pdg.node import Dtype

HALVED = ("add", "mul", "maximum", "minimum")  # by which vectors of floats fold themselves
BLOCK = 256  # results that are kept while a fold runs, where a row has more than `PARTS`


@dataclass(frozen=True)
class Lanes:
    """How folds of a nest are kept apart: in ``count`` numbers along its innermost axis.

    The axis is ``folded``, or has results: the loops from ``depth`` on then complete a block. An
    ``exact`` program adds up its rows in order, as every target does.
    """

    axis: Axis
    count: int
    depth: int
    folded: frozenset[Dim]
    exact: bool = False

    @property
    def is_folded(self) -> bool:
        return self.axis.index in self.folded

    def keep(self, s: Statement) -> bool:
        """Whether a statement of the nest accumulates in lanes."""
        apart = is_kept_apart(s, self.exact) or not self.is_folded
        return s.kind != "map" and apart and bool(s.reduced & self.folded)


def is_kept_apart(s: Statement, exact: bool) -> bool:
    """Whether lanes are worth it: LLVM keeps whole numbers apart, whose order nobody sees."""
    if s.kind == "map" or (exact and FOLDS[s.fold].rounds):
        return False
    return s.dtype in FLOATS or s.fold in POSITIONS


def lanes_of(
    nest: Nest, statements: Sequence[Statement], results: int, slots: int, exact: bool
) -> Lanes | None:
    """The lanes of a nest whose folds have so many ``results`` at a point, if they are worth it.

    ``slots`` are the turns of the innermost loop that belong together, 0 if that is not known.
    """
    folds = [s for s in statements if s.kind != "map" and folded_loops(s, nest)]
    if not folds:
        return None
    if any(nest.axes[-1].index in s.reduced for s in folds):
        return _along(nest, folds, results, exact)
    return _across(nest, folds, slots)


def folded_loops(s: Statement, nest: Nest) -> list[int]:
    """The loops of a nest that a statement folds along, by depth."""
    return [k for k, a in enumerate(nest.axes) if a.index in s.reduced]


def _along(nest: Nest, folds: list[Statement], results: int, exact: bool) -> Lanes | None:
    axis, count = nest.axes[-1], PARTS
    mine = [s for s in folds if axis.index in s.reduced]
    apart = any(is_kept_apart(s, exact) for s in mine)
    if not apart or any(s.name in nest.memory for s in mine):
        return None
    if is_short_row(axis.size):
        return None
    longest = axis.size.const if axis.size.is_const else PARTS
    while count > ROW and (count > longest or count * results > PARTS_OF_ALL):
        count //= 2
    return Lanes(axis, count, len(nest.axes) - 1, frozenset({axis.index}), exact)


def _across(nest: Nest, folds: list[Statement], slots: int) -> Lanes | None:
    last = len(nest.axes) - 1
    first = folded_loops(folds[0], nest)[0]
    if any(folded_loops(s, nest) != [*range(first, last)] for s in folds):
        return None
    axis, inside = nest.axes[last], nest.axes[first:last]
    folded = frozenset(a.index for a in inside)
    if axis.size.dims & folded or any(axis.index in a.size.dims for a in inside):
        return None
    if not 0 < slots <= PARTS and not any(s.fold in POSITIONS for s in folds):
        return None  # a long row is added to a row in memory, which lies near
    return Lanes(axis, slots if 0 < slots <= BLOCK else BLOCK, first, folded)


@dataclass
class Accumulators:
    """The accumulators of one nest while it is written, by the results that they make."""

    nest: Nest
    function: Function
    body: Body
    lanes: Lanes | None
    names: dict[Load, str] = field(default_factory=dict[Load, str])
    bests: dict[str, str] = field(default_factory=dict[str, str])  # beside the name of a position
    bounds: tuple[Expression, ...] = ()  # of the innermost loop where the code stands
    lane: Expression = field(default_factory=lambda: Name("none"))  # of its turn

    def depth(self, s: Statement) -> int | None:
        """The first loop of a fold that is complete after its loops; None: it is in memory."""
        if s.kind == "map" or not s.reduced:
            return None
        if self.keeps(s):
            return folded_loops(s, self.nest)[0]
        is_reduced = [a.index in s.reduced for a in self.nest.axes]
        run = len(list(takewhile(bool, reversed(is_reduced))))
        innermost = run > 0 and sum(is_reduced) == run
        return len(is_reduced) - run if innermost else None

    def keeps(self, s: Statement) -> bool:
        return self.lanes is not None and self.lanes.keep(s)

    @contextmanager
    def block(self, *bounds: Expression) -> Generator[None]:
        """Stand where the innermost loop runs between some bounds: its first turn is in lane 0."""
        assert self.lanes is not None, "a block of lanes"
        before = self.bounds, self.lane
        self.bounds = bounds
        self.lane = binary("-", self.function.dims[self.lanes.axis.index], bounds[0])
        yield
        self.bounds, self.lane = before

    @contextmanager
    def results(self, out: Block) -> Generator[None]:
        """A loop over the results of a block."""
        assert self.lanes is not None, "a block of lanes"
        name = self.function.dims[self.lanes.axis.index]
        with out.loop(name, *self.bounds, binding="lanes"):
            yield

    # ------------------------------------------------------------ before the loops

    def start(self, s: Statement, result: Load, tag: str, out: Block) -> None:
        """Set the accumulator of a result before its loops."""
        if self.keeps(s):
            self.names[result] = self._named(s, tag)
            self._start_lanes(s, result, self.names[result], out)
        else:
            begun = s.name in self.nest.memory
            first = self.body.read(result, self.body.scope(out)) if begun else unit(s)
            self.names[result] = self.variable(s, tag, first, out)

    def variable(self, s: Statement, tag: str, first: Expression, out: Block) -> str:
        """A variable that a fold accumulates in, and one for the best value beside a position."""
        name = self._named(s, tag)
        out.let(name, first)
        if s.fold in POSITIONS:
            out.let(self.bests[name], extreme(s))
        return name

    def _named(self, s: Statement, tag: str) -> str:
        name = self.function.names.fresh(tag)
        if s.fold in POSITIONS:
            self.bests[name] = self.function.names.fresh(f"{name}_best")
        return name

    def _start_lanes(self, s: Statement, result: Load, name: str, out: Block) -> None:
        starts: list[tuple[str, Dtype, Expression]] = [(name, s.dtype, unit(s))]
        if s.fold in POSITIONS:
            starts.append((self.bests[name], operand(s), extreme(s)))
        for each, dtype, _ in starts:
            self._take(each, dtype, out)
        if s.name in self.nest.memory:
            with self.results(out):
                out.add(put(name, self.lane, self.body.read(result, self.body.scope(out))))
            return
        with self._each_lane(out) as lane:
            for each, _, start in starts:
                out.add(put(each, lane, start))

    def _take(self, name: str, dtype: Dtype, out: Block) -> None:
        assert self.lanes is not None, "an accumulator in lanes"
        take(self.function, name, dtype, self.lanes.count, out)

    # ------------------------------------------------------------ in the loops

    def combine(
        self, s: Statement, name: str, value: Expression, at: Expression, scope: Scope
    ) -> None:
        """Fold a value into its accumulator; ``at`` is its position."""
        lane, out = self.lane if self.keeps(s) else None, scope.out
        if s.fold not in POSITIONS:
            out.add(put(name, lane, fold(s, get(name, lane), value)))
            return
        best = self.bests[name]
        value = bind(value, f"{s.name}_value", scope)
        old = bind(get(best, lane), f"{s.name}_before", scope)
        better = bind(is_better(s, value, old), "better", scope)
        out.add(put(best, lane, call("where", better, value, old)))
        out.add(put(name, lane, call("where", better, at, get(name, lane))))

    # ------------------------------------------------------------ after the loops

    def finish(self, s: Statement, result: Load, out: Block) -> None:
        """Store an accumulator after its loops."""
        name = self.names[result]
        stored = self.function.storage(s.name).place in ("global", "local")
        if self.lanes is not None and self.keeps(s) and not self.lanes.is_folded:
            assert stored, f"{s.name} has results in lanes and no memory"
            with self.results(out):
                out.add(self.function.store(s.name, self.body.offset(result), get(name, self.lane)))
            return
        value: Expression = Name(name)
        if self.keeps(s):
            value = self._folded(s, name, out)
        if stored:
            out.add(self.function.store(s.name, self.body.offset(result), value))

    def _folded(self, s: Statement, name: str, out: Block) -> Expression:
        """Fold the lanes by halves; the first of equals is the one with the least position."""
        if s.fold not in POSITIONS:
            return self._halved(name, s.dtype, REPEATED[s.fold], out)
        dtype, best = operand(s), self.bests[name]
        all_best = self.function.names.fresh(f"{name}_all")
        self._take(all_best, dtype, out)
        with self._each_lane(out) as lane:
            out.add(put(all_best, lane, get(best, lane)))
        found = self._halved(all_best, dtype, REPEATED[s.fold.removeprefix("arg")], out)
        with self._each_lane(out) as lane:
            value = bind(get(best, lane), f"{s.name}_value", self.body.scope(out))
            is_best = compare("==", value, found)
            if dtype in FLOATS:  # the best is a NaN if there is one
                is_best = binary("|", is_best, compare("!=", value, value))
            last = calls.literal(2**31 - 1, s.dtype)
            out.add(put(name, lane, call("where", is_best, get(name, lane), last)))
        return self._halved(name, s.dtype, "minimum", out)

    def _halved(self, name: str, dtype: Dtype, joins: str, out: Block) -> Expression:
        assert self.lanes is not None, "an accumulator in lanes"
        half = self.lanes.count // 2
        if joins in HALVED and dtype in FLOATS:
            made = f"fold_{name}"
            of = Definition((made,), "halves", (dtype, self.lanes.count, joins))
            self.function.products.append(of)
            return call(made, name)
        while half:
            with self._each_lane(out, half) as lane:
                both = get(name, lane), get(name, binary("+", lane, half))
                out.add(put(name, lane, calls.function(joins, dtype, both)))
            half //= 2
        return get(name, 0)

    @contextmanager
    def _each_lane(self, out: Block, count: int = 0) -> Generator[Name]:
        """A loop over lanes, all of them or the first ones."""
        assert self.lanes is not None, "an accumulator in lanes"
        with out.loop("lane", count or self.lanes.count, binding="lanes"):
            yield Name("lane")


# ---------------------------------------------------------------- parts of a fold


def take(function: Function, name: str, dtype: Dtype, count: int, out: Block) -> None:
    """Give a variable room for so many numbers that are kept apart."""
    made = tuple(f"{kind}_{name}" for kind in ("take", "ld", "st"))
    function.products.append(Definition(made, "partials", (dtype, count)))
    out.let(name, call("carray", call(made[0]), 1))


def get(name: str, lane: Given | None) -> Expression:
    """A number that is kept apart in a lane, or a variable."""
    return Name(name) if lane is None else call(f"ld_{name}", name, lane)


def put(name: str, lane: Given | None, value: Expression) -> Let | Do:
    if lane is None:
        return Let((name,), value)
    return Do(call(f"st_{name}", name, lane, value))


def unit(s: Statement) -> Expression:
    return calls.literal(0 if s.fold in POSITIONS else fold_unit(s.fold, s.dtype), s.dtype)


def extreme(s: Statement) -> Expression:
    """What every value is better than."""
    return calls.literal(fold_unit(s.fold, operand(s)), operand(s))


def operand(s: Statement) -> Dtype:
    """The dtype of the values that a fold compares or adds."""
    return s.clauses[0][1].dtype


def fold(s: Statement, left: Expression, right: Expression) -> Expression:
    return calls.function(REPEATED[s.fold], s.dtype, (left, right))


def is_better(s: Statement, value: Expression, best: Expression) -> Expression:
    """Whether a value takes the place of the best one; the first NaN wins, as in NumPy."""
    dtype = operand(s)
    test = calls.function(POSITIONS[s.fold], dtype, (value, best))
    if dtype not in FLOATS:
        return test
    first_nan = binary("&", compare("!=", value, value), compare("==", best, best))
    return binary("|", test, first_nan)
