"""A dim in segments, of which later loops compute the steps again from what is kept at their start.

A loop that reads every step of a recurrence from the last one on needs all of its states. Here a
dim of ``T`` steps becomes segments of ``length``: ``t = length * t_s + t_u``. The first loop keeps
what a segment starts with, the later loop computes the steps of one segment again before it reads
them. Memory then grows as ``T / length + length`` states, for one computation more of each step.
Source: Griewank and Walther 2000, Algorithm 799: revolve; with segments of segments, their levels.

Which values need to be computed again, and which start a segment, follows from reads alone: a value
that a later loop has no access to is copied into it, and what a copy reads of an earlier step is
kept where that step lies before the segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.codegen.ir.system import Choice, Load, Statement, System, Value, fresh
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.planning.long_lived import Kept
from ostinato.codegen.planning.rematerialise import Unavailable
from ostinato.codegen.systems.prepare import needed
from ostinato.pdg.condition import ALWAYS, at_least, equal, every
from ostinato.pdg.index import Dim, Expr, Extremum, expr, floordiv, minimum, mod

AGAIN = ("map", "fold", "matmul", "along")  # kinds of equations that can be computed again


@dataclass(frozen=True)
class Segments:
    """The segments of a dim: how many steps each has, its number, and the place in it."""

    dim: Dim
    length: int
    number: Dim
    place: Dim

    @property
    def point(self) -> Expr:
        return expr(self.number) * self.length + self.place

    @property
    def ends(self) -> tuple[Expr, ...]:
        """The bounds of the dim: the number of its steps is the least of them."""
        steps = expr(self.dim.extent)
        atom = steps.terms[0][0] if len(steps.terms) == 1 else None
        return atom.of if isinstance(atom, Extremum) else (steps,)

    def split(self, e: Expr) -> tuple[Expr, Expr]:
        """The segment and the place of a step."""
        segment = floordiv(e, self.length)
        return segment, mod(e, self.length) if e.dims else e - segment * self.length


def segments_of(dim: Dim, length: int) -> Segments:
    """The segments of a dim; those of a place in longer segments end with the longer one."""
    steps, most = expr(dim.extent), 0
    if steps.dims:
        atom = steps.terms[0][0]
        assert isinstance(atom, Extremum), f"{dim} is no place in a segment"
        most = next(x.const for x in atom.of if x.is_const)
        steps = next(x for x in atom.of if not x.is_const)
        assert most % length == 0, f"segments of {length} in segments of {most} steps"
    count = floordiv(steps + (length - 1), length)
    number = Dim(f"{dim.name}_s", size=minimum(most // length, count) if most else count)
    left = steps - expr(number) * length
    return Segments(dim, length, number, Dim(f"{dim.name}_u", size=minimum(length, left)))


@dataclass(frozen=True)
class Segmented:
    """A system over segments; ``origins`` gives what its new statements stand for."""

    system: System
    segments: Segments
    origins: Mapping[str, str]


@dataclass
class _Split:
    """A system while a dim of it becomes segments."""

    system: System
    segments: Segments
    kept: Mapping[str, Kept]
    wanted: frozenset[str]  # what later loops compute again
    last: int  # segments at the end of which all steps are kept
    whole: frozenset[str]  # statements that keep the dim as it is
    out: dict[str, Statement] = field(default_factory=dict[str, Statement])
    known: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])
    origins: dict[str, str] = field(default_factory=dict[str, str])
    taken: set[str] = field(default_factory=set[str])  # names

    def __post_init__(self) -> None:
        self.taken.update(self.system.statements)

    # ------------------------------------------------------------ statements

    def add(self, s: Statement) -> None:
        """Add a statement of the system over segments; a later loop reads copies."""
        far = {t: k for t in sorted(self.wanted) if s.name in (k := self.kept[t]).far}
        is_far = self.segments.dim in s.dims

        def read(load: Load) -> Value:
            of = far.get(load.tensor) if is_far else None
            is_operand = s.kind == "matmul"
            if of is None:
                return self.read(load, is_operand)
            return self.read_again(load, is_operand, of.far[s.name], of)

        self.out[s.name] = self.over_segments(s, read)

    def over_segments(self, s: Statement, read: Callable[[Load], Value]) -> Statement:
        """A statement over segments, with its loads read by a function."""
        seg = self.segments
        if s.kind == "input" or s.name in self.whole or seg.dim not in s.dims:
            return Rewrite({}, read).clauses(s)
        rewrite = Rewrite({seg.dim: seg.point}, read)
        made = replace(
            s,
            dims=self.parts(s.dims),
            axes=tuple(replace(a, size=rewrite.expr(a.size)) for a in s.axes),
            lanes=s.lanes - {seg.dim},
            reduced=frozenset(self.parts(s.reduced)),
            later=self.loops(s.later),
        )
        return rewrite.clauses(made)

    def parts(self, dims: Iterable[Dim]) -> tuple[Dim, ...]:
        new = (self.segments.number, self.segments.place)
        return tuple(x for d in dims for x in (new if d == self.segments.dim else (d,)))

    def loops(self, dims: Iterable[Dim]) -> frozenset[Dim]:
        return frozenset(self.segments.number if d == self.segments.dim else d for d in dims)

    def copy(self, name: str, loop: int, of: Kept) -> str:
        """The statement again, for a later loop."""
        key = ("again", name, loop, of.dims)
        if key not in self.known:
            s = self.system.statements[name]
            if s.kind not in AGAIN:
                raise Unavailable(name)
            made = self.named(key, f"{name}_again", name)

            def read(load: Load) -> Value:
                return self.read_again(load, s.kind == "matmul", loop, of)

            again = replace(self.over_segments(s, read), name=made, later=self.loops(of.dims))
            is_kept = self.last and name in self.wanted
            self.out[made] = self.or_kept(again, s) if is_kept else again
        return self.known[key]

    def or_kept(self, again: Statement, s: Statement) -> Statement:
        """A copy that takes the values of the last segments from where the first loop kept them."""
        seg = self.segments
        here = tuple(map(expr, self.parts(s.result_dims)))
        load = Load(s.name, here, tuple(expr(a.index) for a in again.result_axes), s.dtype)
        kept = at_least(expr(seg.number) + self.last, expr(seg.number.extent))
        if s.kind == "map":
            return replace(again, clauses=((kept, load), *again.clauses))
        name = self.named(("new", again.name), f"{s.name}_new", s.name)
        self.out[name] = replace(again, name=name)
        new = replace(load, tensor=name)
        dims, lanes = self.parts(s.result_dims), again.lanes - again.reduced
        return replace(again.map((kept, load), (ALWAYS, new)), dims=dims, lanes=lanes)

    def edge(self, tensor: str, of: str, steps: int) -> str:
        """A value so many steps before the start of a segment, or beyond its end.

        ``tensor`` is the statement ``of`` of the system, or a copy of it; ``steps`` is negative
        before the start, and 1 is the first step beyond the end.
        """
        seg, s = self.segments, self.system.statements[of]
        key = ("edge", tensor, steps)
        if key not in self.known:
            side = f"before{-steps}" if steps < 0 else f"after{steps}"
            name = self.named(key, f"{tensor}_{side}", of)
            before = expr(seg.number) - 1, expr(seg.length + steps)
            to = before if steps < 0 else (expr(seg.number) + 1, expr(steps - 1))
            at = (to if d == seg.dim else (expr(d),) for d in s.result_dims)
            load = replace(s.here, tensor=tensor, dims=tuple(e for part in at for e in part))
            step = to[0] * seg.length + to[1]
            dims = tuple(seg.number if d == seg.dim else d for d in s.result_dims)
            self.out[name] = self.map(name, s, dims, step, load, tensor != of)
        return self.known[key]

    def moved(self, tensor: str, of: str, steps: int) -> str:
        """A value some steps ahead of the reader, where that takes loads only."""
        seg, s = self.segments, self.system.statements[of]
        key = ("moved", tensor, steps)
        if key not in self.known:
            side = "back" if steps < 0 else "ahead"
            name = self.named(key, f"{tensor}_{side}{abs(steps)}", of)
            at = {seg.dim: seg.point + steps}
            here = tuple(at.get(d, expr(d)) for d in s.result_dims)
            value = self.shifted(replace(s.here, dims=here), tensor, False)
            dims = self.parts(s.result_dims)
            self.out[name] = self.map(name, s, dims, at[seg.dim], value, tensor != of)
        return self.known[key]

    def map(
        self, name: str, s: Statement, dims: tuple[Dim, ...], step: Expr, value: Value, later: bool
    ) -> Statement:
        """A value of a statement at a step, as a statement of its own where there is that step."""
        seg = self.segments
        axes = (replace(a, size=a.size.at({seg.dim: step})) for a in s.result_axes)
        inside = every(at_least(step, 0), *(at_least(b - 1, step) for b in seg.ends))
        later_in = frozenset({seg.number}) if later else self.loops(s.later)
        made = replace(s.map((inside, value)), lanes=s.lanes & frozenset(dims), later=later_in)
        return replace(made, name=name, dims=dims, axes=tuple(axes))

    def named(self, key: tuple[object, ...], name: str, of: str) -> str:
        name = fresh(name, self.taken)
        self.taken.add(name)
        self.origins[name] = of
        self.known[key] = name
        return name

    # ------------------------------------------------------------ reads

    def read(self, load: Load, is_operand: bool) -> Value:
        """A load of a tensor of the system, at the reader's segment and place."""
        return self.shifted(load, load.tensor, is_operand) if self.is_split(load.tensor) else load

    def read_again(self, load: Load, is_operand: bool, loop: int, of: Kept) -> Value:
        """A load in a later loop: of a copy where nothing else is in memory."""
        source = self.system.statements[load.tensor]
        is_there = load.tensor not in self.wanted and load.tensor not in of.gone
        if is_there or source.kind == "input":
            return self.read(load, is_operand)
        if not self.is_split(load.tensor):
            return replace(load, tensor=self.copy(load.tensor, loop, of))
        index = load.dims[self.place_in(load)]
        if not index.dims:
            return self.read(load, is_operand)  # one step for all readers
        if self.steps(load) is None:
            raise Unavailable(load.tensor)
        return self.shifted(load, self.copy(load.tensor, loop, of), is_operand)

    def is_split(self, name: str) -> bool:
        s = self.system.statements[name]
        is_whole = s.kind == "input" or name in self.whole
        return not is_whole and self.segments.dim in s.result_dims

    def place_in(self, load: Load) -> int:
        return self.system.statements[load.tensor].result_dims.index(self.segments.dim)

    def steps(self, load: Load) -> int | None:
        """How many steps ahead of the reader a load is, if that is fixed."""
        gap = load.dims[self.place_in(load)] - self.segments.point
        return gap.const if gap.is_const and abs(gap.const) <= self.segments.length else None

    def shifted(self, load: Load, tensor: str, is_operand: bool) -> Value:
        """A load at a segment and a place; across an end of the segment, of the edge there."""
        seg, k, steps = self.segments, self.place_in(load), self.steps(load)

        def at(name: str, *index: Expr) -> Load:
            return replace(load, tensor=name, dims=(*load.dims[:k], *index, *load.dims[k + 1 :]))

        if steps is None:
            return at(tensor, *seg.split(load.dims[k]))
        here = expr(seg.number), expr(seg.place)
        if steps and is_operand:
            return at(self.moved(tensor, load.tensor, steps), *here)
        value: Value = at(tensor, here[0], here[1] + steps)
        source = load.tensor if steps < 0 else tensor
        for far in range(1, abs(steps) + 1):
            place = -far - steps if steps < 0 else seg.length - steps + far - 1
            edge = self.edge(source, load.tensor, far if steps > 0 else -far)
            value = Choice(equal(seg.place, place), at(edge, here[0]), value, load.dtype)
        return value


def in_segments(
    system: System, kept: Sequence[Kept], segments: Segments, wanted: Iterable[str], last: int = 0
) -> Segmented:
    """Return the system in which later loops compute the wanted values again, in segments.

    Of the ``last`` segments all steps are kept.

    Errors: Unavailable if a value cannot be had so.
    """
    dim = segments.dim
    whole = frozenset(
        n
        for n, s in system.statements.items()
        if s.kind == "host" or (s.fold.startswith("arg") and dim in s.reduced)
    )
    by_name = {k.tensor: k for k in kept}
    split = _Split(system, segments, by_name, frozenset(wanted), last, whole)
    for s in system.statements.values():
        split.add(s)
    # what is read across an edge may be overwritten once it has been copied: edges come first
    edges = {name: None for key, name in split.known.items() if key[0] == "edge"}
    found = needed({n: split.out[n] for n in edges | split.out}, system.outputs.values())
    nodes = system.nodes | {
        n: system.nodes[of] for n, of in split.origins.items() if of in system.nodes
    }
    origins = {n: of for n, of in split.origins.items() if n in found}
    parts = {**system.segments, dim: (segments.number, segments.place)}
    made = replace(system, statements=found, nodes=nodes, segments=parts)
    return Segmented(made, segments, origins)
