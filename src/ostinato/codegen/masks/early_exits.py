"""Loops over steps that end early: where nothing lives any more, no later step is computed.

A mask such as "the episode goes on" is a tensor of booleans that never turn true again. The loop
over its steps may end at the first step at which it is false for all rows of the tile, if what the
loop computes afterwards is nothing: folds would combine units, and values would be read under the
mask only, or by loops that end at the same step. What is left of the mask itself is filled, and so
is what has one value wherever the mask is false, such as an output that is 0 beyond the end.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.codegen.ir.ending_masks import never_returns
from ostinato.codegen.ir.system import (
    Call,
    Choice,
    Literal_,
    Load,
    Readers,
    Statement,
    Value,
    children,
    readers,
)
from ostinato.codegen.ir.tree import Kernel, Loop, Tree, computed, computed_in
from ostinato.codegen.masks.guards import guard_of
from ostinato.codegen.memory.storage import Storage
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.constant import Scalar
from ostinato.pdg.functions import POSITIONS, fold_unit
from ostinato.pdg.index import Dim, expr


@dataclass(frozen=True, slots=True)
class End:
    """A loop ends before this part of its body where a mask is false for all rows.

    ``fills`` are the tensors of which this step and later ones must still be written, each with
    the value that it has there.
    """

    mask: str
    place: int
    fills: tuple[tuple[str, Scalar], ...] = ()


@dataclass(frozen=True)
class _Run:
    """A loop that may end early: the dims around it, and what it computes."""

    loop: Loop
    around: frozenset[Dim]
    names: frozenset[str]


def early_ends(
    kernels: Sequence[Kernel],
    statements: Mapping[str, Statement],
    storage: Mapping[str, Storage],
    outputs: frozenset[str],
    guards: Mapping[str, Cond],
) -> dict[Loop, End]:
    """How each loop that may end early does so; its mask is known wherever it runs."""
    runs = [run for k in kernels for run in _runs(k.body, frozenset(k.outer))]
    masks = [s for s in statements.values() if s.kind == "map" and s.dtype == "bool"]
    facts = _Facts(statements, storage, outputs, readers(statements.values()))
    found: dict[Loop, End] = {}
    for mask in masks:
        for dim in mask.result_dims if runs else ():
            if not never_returns(statements, mask, dim):
                continue
            known = [r for r in runs if is_known(mask.name, r.loop, guards)]
            ends = {r: e for r in known if r.loop not in found and (e := facts.end(r, mask, dim))}
            found |= facts.ended(ends, mask, dim)
    return found


def is_known(mask: str, tree: Tree, guards: Mapping[str, Cond]) -> bool:
    """Whether a mask is computed wherever a loop or a leaf runs."""
    asked = conjuncts(guards.get(mask, ALWAYS))
    return asked == (ALWAYS,) or {*asked} <= {*conjuncts(guard_of(tree, guards))}


def ends_rows(statements: Mapping[str, Statement], dim: Dim) -> bool:
    """Whether a loop over the steps of a dim may end early: some mask along it never returns."""
    masks = (s for s in statements.values() if s.kind == "map" and s.dtype == "bool")
    return any(dim in s.result_dims and never_returns(statements, s, dim) for s in masks)


def _runs(trees: Sequence[Tree], around: frozenset[Dim]) -> Iterator[_Run]:
    for tree in trees:
        if isinstance(tree, Loop):
            span, inside = tree.span, around | {tree.dim}
            whole = span.lo == expr(0) and span.hi == expr(tree.dim.extent)
            if whole and not (tree.reverse or tree.parallel):
                yield _Run(tree, inside, frozenset(computed_in(tree.body)))
            yield from _runs(tree.body, inside)


@dataclass
class _Facts:
    statements: Mapping[str, Statement]
    storage: Mapping[str, Storage]
    outputs: frozenset[str]
    readers: Readers
    known: dict[tuple[str, str], Scalar | None] = field(  # tensors where a mask is false
        default_factory=dict[tuple[str, str], Scalar | None]
    )

    def end(self, run: _Run, mask: Statement, dim: Dim) -> End | None:
        """Where a loop can look at a mask, if its memory has what is needed."""
        kept = self.storage.get(mask.name)
        if run.loop.dim != dim or not run.around.issuperset(mask.result_dims):
            return None
        if kept is None or kept.place == "register":
            return None
        kind = next(slot.kind for slot in kept.slots if slot.dim == dim)
        if mask.name not in run.names:
            asks = any(
                r.name in run.names and _is_here(x, mask)
                for r, x in self.readers.get(mask.name, ())
            )
            return End(mask.name, 0) if asks and kind == "full" else None
        for place, tree in enumerate(run.loop.body):
            if not isinstance(tree, Loop) and mask.name in computed(tree) and kind != "circular":
                later: tuple[tuple[str, Scalar], ...] = ((mask.name, False),)
                return End(mask.name, place + 1, later if kind == "full" else ())
        return None

    def ended(self, ends: Mapping[_Run, End], mask: Statement, dim: Dim) -> dict[Loop, End]:
        """The loops that end together, when none relies on one that does not."""
        while True:
            fills = {run: self.fills(run, mask, dim, [*ends]) for run in ends}
            sound = {run: end for run, end in ends.items() if fills[run] is not None}
            if len(sound) == len(ends):
                break
            ends = sound
        return {
            run.loop: replace(end, fills=end.fills + (fills[run] or ()))
            for run, end in ends.items()
        }

    # ------------------------------------------------------------ what later steps would do

    def fills(
        self, run: _Run, mask: Statement, dim: Dim, ends: Sequence[_Run]
    ) -> tuple[tuple[str, Scalar], ...] | None:
        """What is to be written for the steps after the end of a loop; None: it runs them."""
        own = [self.statements[name] for name in sorted(run.names - {mask.name})]
        if any(s.kind == "host" and not self._is_left_alone(s, mask) for s in own):
            return None
        if not all(self._adds_nothing(s, mask) for s in own if dim in s.reduced):
            return None
        unseen = {s.name for s in own if dim not in s.reduced and self._unseen(s, mask, ends)}
        out: list[tuple[str, Scalar]] = []
        for s in own:
            if dim not in s.reduced and s.name not in unseen:
                value = self._left(s, mask) if self._has_room(run, s, dim, unseen) else None
                if value is None:
                    return None
                out.append((s.name, value))
        return tuple(out)

    def _unseen(self, s: Statement, mask: Statement, ends: Sequence[_Run]) -> bool:
        """Whether nobody meets a value at a step after the end."""
        readers = self.readers.get(s.name, ())
        seen = (not self._is_unseen(s, reader, load, mask, ends) for reader, load in readers)
        return s.name not in self.outputs and not any(seen)

    def _left(self, s: Statement, mask: Statement) -> Scalar | None:
        """What a tensor holds at all steps after the end, if that is one value."""
        if s.kind not in ("map", "host"):
            return None
        value = self._off(Load(s.name, tuple(map(expr, s.result_dims)), (), s.dtype), mask)
        return None if value is None else _as(value, s.dtype)

    def _has_room(self, run: _Run, s: Statement, dim: Dim, unseen: Container[str]) -> bool:
        """Whether a loop may write later steps of a tensor where it keeps them.

        The place of one step may be that of others, which nobody looks at after the end.
        """
        kept = self.storage.get(s.name)
        if kept is None or kept.place == "register" or not run.around.issuperset(s.result_dims):
            return False
        kinds = [slot.kind for slot in kept.slots if slot.dim == dim]
        others = {n for n, x in self.storage.items() if x.owner == kept.owner} - {s.name}
        alone = not others or (kinds == ["one"] and all(n in unseen for n in others))
        return alone and kinds in (["one"], ["full"]) and not _varying(s)

    def _is_left_alone(self, s: Statement, mask: Statement) -> bool:
        """Whether a call of Python is not made where the mask is false."""
        masks = s.host.masks if s.host else 0
        last = [value.args[-masks:] for _, value in s.clauses if isinstance(value, Call) and masks]
        return any(
            x.tensor == mask.name and _is_here(x, mask)
            for args in last
            for x in args
            if isinstance(x, Load)
        )

    def _adds_nothing(self, s: Statement, mask: Statement) -> bool:
        """Whether the terms of a fold are its unit where the mask is false."""
        if s.kind not in ("fold", "matmul") or s.fold in POSITIONS:
            return False
        unit = fold_unit(s.fold, s.dtype)
        return all(self._off(value, mask) == unit for _, value in s.clauses)

    def _off(self, value: Value, mask: Statement) -> Scalar | None:
        """What a value is where the mask is false at its point; None if that is not known."""
        match value:
            case Literal_(x):
                return x
            case Load(tensor) if tensor == mask.name:
                return False if _is_here(value, mask) else None
            case Load(tensor):
                s = self.statements[tensor]
                if s.kind == "host" and _is_here(value, s):
                    return 0 if self._is_left_alone(s, mask) else None
                if s.kind != "map" or not _is_here(value, s):
                    return None
                if (tensor, mask.name) not in self.known:  # else each path to it would be walked
                    found = [self._off(v, mask) for _, v in s.clauses]
                    alike = found and found.count(found[0]) == len(found)
                    self.known[tensor, mask.name] = found[0] if alike else None
                return self.known[tensor, mask.name]
            case Call(fn, args):
                return self._off_call(fn, [self._off(a, mask) for a in args])
            case Choice(_, then, other):
                found = [self._off(x, mask) for x in (then, other)]
                return found[0] if found[0] == found[1] else None
            case _:
                return None

    def _off_call(self, fn: str, args: list[Scalar | None]) -> Scalar | None:
        match fn, args:
            case "where", [bool(test), chosen, other]:
                return chosen if test else other
            case "and", _ if any(a is False for a in args):
                return False
            case "not", [bool(x)]:
                return not x
            case (("cast" | "stop_gradient"), [x]):
                return x
            case "mul", [x, y] if x == 0 and y == 0:
                return x
            case _:
                return None

    def _is_unseen(
        self, s: Statement, reader: Statement, load: Load, mask: Statement, ends: Sequence[_Run]
    ) -> bool:
        """Whether a reader meets a value at no step after the end."""
        if any(reader.name in run.names for run in ends):
            if _is_earlier(load, s, mask, ends[0].loop.dim):
                return True
        return all(self._is_masked(v, load, s, mask, ()) for _, v in reader.clauses)

    def _is_masked(
        self, value: Value, load: Load, s: Statement, mask: Statement, tests: tuple[Value, ...]
    ) -> bool:
        """Whether every such load stands where a test has the mask at the same point."""
        if value == load:
            return any(self._asks(test, load, s, mask) for test in tests)
        match value:
            case Call("where", (test, chosen, other)):
                return (
                    self._is_masked(test, load, s, mask, tests)
                    and self._is_masked(chosen, load, s, mask, (*tests, test))
                    and self._is_masked(other, load, s, mask, tests)
                )
            case _:
                return all(self._is_masked(x, load, s, mask, tests) for x in children(value))

    def _asks(self, test: Value, load: Load, s: Statement, mask: Statement) -> bool:
        """Whether a test is true only where the mask is, at the point that a load reads."""
        match test:
            case Call("and", args):
                return any(self._asks(a, load, s, mask) for a in args)
            case Load(tensor, dims) if tensor == mask.name and not (test.picks or load.picks):
                read = dict(zip(s.result_dims, load.dims, strict=True))
                return all(read.get(d) == e for d, e in zip(mask.result_dims, dims, strict=True))
            case _:
                return False


def _varying(s: Statement) -> frozenset[Dim]:
    """The dims that sizes of the axes of a tensor depend on, beyond its own."""
    sizes = (a.pad.dims for a in s.result_axes)
    return frozenset[Dim]().union(*sizes)


def _as(value: Scalar, dtype: str) -> Scalar | None:
    """A value in a type; None for bits of 16 that are no number."""
    if dtype == "uint16" and value != 0:
        return None
    if dtype == "bool":
        return bool(value)
    return float(value) if "float" in dtype else int(value)


def _is_here(load: Load, s: Statement) -> bool:
    """Whether a load reads a tensor at the point of its reader."""
    return not load.picks and load.dims == tuple(map(expr, s.result_dims))


def _is_earlier(load: Load, s: Statement, mask: Statement, dim: Dim) -> bool:
    """Whether a load reads this step or one before it, in the rows of the same tile.

    Of such steps it may read elements at computed positions.
    """
    read = dict(zip(s.result_dims, load.dims, strict=True))
    if dim not in read or not read.keys() >= {*mask.result_dims}:
        return False
    back = expr(dim) - read[dim]
    same = all(read[d] == expr(d) for d in mask.result_dims if d != dim)
    return same and back.is_const and back.const >= 0
