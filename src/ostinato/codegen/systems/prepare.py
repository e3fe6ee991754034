"""What holds of every system before it is tiled.

Only statements that outputs need remain; conditions that mention axes are choices inside values, so
that clause conditions select whole nests; a "matmul" is a product of two loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Literal_,
    Load,
    Pick,
    Statement,
    System,
    Value,
    fresh,
    loads,
)
from ostinato.codegen.ir.values import Rewrite
from ostinato.codegen.systems.axes import is_tiny
from ostinato.pdg.build import ONE
from ostinato.pdg.condition import ALWAYS, NEVER, Cond, at_least, every
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.pass_record import ALL_PASSES, Passes
from ostinato.pdg.scc import closed


def needed(statements: Mapping[str, Statement], roots: Iterable[str]) -> dict[str, Statement]:
    """The statements that the roots depend on, and all inputs, in order."""
    found = closed(roots, lambda name: (x.tensor for x in statements[name].reads))
    return {name: s for name, s in statements.items() if name in found or s.kind == "input"}


def prepare(statements: dict[str, Statement], passes: Passes = ALL_PASSES) -> dict[str, Statement]:
    """The same equations in the form that the passes after this one expect."""
    is_plain = "choices in tiny axes" in passes.without
    selected = statements if is_plain else select_tiny(statements)
    return {name: _matmul_or_fold(choose(along_axis(s))) for name, s in selected.items()}


def along_axis(s: Statement) -> Statement:
    """An arg fold over a dim as one over an axis: the best value stays in a variable."""
    if not s.fold.startswith("arg"):
        return s
    moved = [d for d in s.dims if d in s.reduced]
    axes = (*s.axes, *(Axis(d, expr(d.extent), expr(d.extent)) for d in moved))
    return replace(s, dims=s.result_dims, axes=axes, lanes=s.lanes - set(moved))


def choose(statement: Statement) -> Statement:
    """Turn clauses into one choice where a condition mentions an axis or a fold has several."""
    axes = {a.index for a in statement.axes}
    inside = statement.kind == "fold" or any(cond.symbols & axes for cond, _ in statement.clauses)
    if not inside:
        return statement
    return replace(statement, clauses=((ALWAYS, _choice(statement.clauses)),))


def _choice(clauses: tuple[tuple[Cond, Value], ...]) -> Value:
    value = clauses[-1][1]  # a point that no clause covers is never demanded
    for cond, earlier in reversed(clauses[:-1]):
        value = Choice(cond, earlier, value, earlier.dtype)
    return value


def _matmul_or_fold(statement: Statement) -> Statement:
    if statement.kind != "matmul" or is_product(statement):
        return statement
    return replace(statement, kind="fold")


def is_product(statement: Statement) -> bool:
    """Whether the value is ``mul(load, load)`` of floats with no computed index."""
    if len(statement.clauses) != 1 or statement.dtype not in ("float32", "float64"):
        return False
    cond, value = statement.clauses[0]
    match value:
        case Call("mul", (Load() as a, Load() as b)):
            plain = not a.picks and not b.picks
            same = a.dtype == b.dtype == statement.dtype
            return plain and same and cond == ALWAYS and len(list(loads(value))) == 2
        case _:
            return False


def select_tiny(statements: Mapping[str, Statement]) -> dict[str, Statement]:
    """Turn computed positions of tiny axes into choices, which need no memory."""

    def select(load: Load) -> Value:
        tiny = next((pick for pick in load.picks if _is_selectable(pick, load)), None)
        return load if tiny is None else _selected(load, tiny)

    return {name: Rewrite({}, select).clauses(s) for name, s in statements.items()}


def _is_selectable(pick: Pick, load: Load) -> bool:
    """Whether a computed index is the position along one tiny axis."""
    index, others = expr(pick.axis.index), (p.axis.size for p in load.picks)
    mentioning = [e for e in (*load.dims, *others) if pick.axis.index in e.dims]
    return is_tiny(pick.axis) and index in load.axes and not mentioning


def _selected(load: Load, pick: Pick) -> Value:
    """The element at a clamped position, by comparing with every position."""
    index, size = pick.at, pick.axis.size.const

    def at(k: int) -> Value:
        axes = tuple(e.at({pick.axis.index: expr(k)}) for e in load.axes)
        return replace(load, axes=axes, picks=tuple(p for p in load.picks if p is not pick))

    value = at(size - 1)
    for k in reversed(range(size - 1)):
        before = Call("le", (index, Literal_(k, index.dtype)), "bool")
        value = Call("where", (before, at(k), value), load.dtype)
    return value


def without_single_steps(system: System) -> System:
    """The system without the dims of one step: what is computed there is computed once.

    Arguments, results and calls of Python functions keep them, and so do folds over them, what is
    read at other steps than the first, and arrays whose size follows them: it may be 0.
    """
    single = _single_steps(system)
    if not any(single.values()):
        return system

    def moved(load: Load) -> Load:
        gone, of = single[load.tensor], system.statements[load.tensor]
        left = (e for d, e in zip(of.result_dims, load.dims, strict=True) if d not in gone)
        return replace(load, dims=tuple(left))

    def without(s: Statement, gone: frozenset[Dim]) -> Statement:
        return replace(
            Rewrite({}, moved).clauses(_at_first(s, gone)),
            dims=tuple(d for d in s.dims if d not in gone),
            lanes=s.lanes - gone,
            later=s.later - gone,
        )

    found = {name: without(s, single[name]) for name, s in system.statements.items()}
    return replace(system, statements=found)


def _single_steps(system: System) -> dict[str, frozenset[Dim]]:
    """The dims of one step that each statement may do without."""
    statements = system.statements
    ends = system.ends
    free = {n for n, s in statements.items() if n not in ends and s.kind not in ("input", "host")}
    single = {
        name: frozenset(d for d in s.result_dims if name in free and d.extent == ONE)
        - frozenset[Dim]().union(*(a.size.dims for a in s.axes))
        for name, s in statements.items()
    }
    found = True
    while found and any(single.values()):
        made = (_at_first(s, single[name]) for name, s in statements.items())
        read = [x for s in made for x in s.reads]
        found = False
        for x in read:
            at = zip(statements[x.tensor].result_dims, x.dims, strict=True)
            other = {d for d, e in at if d in single[x.tensor] and e != expr(0)}
            found |= bool(other)
            single[x.tensor] -= other
    return single


def _at_first(s: Statement, gone: frozenset[Dim]) -> Statement:
    """The clauses that the first step of some dims takes."""
    made = Rewrite(dict.fromkeys(gone, expr(0))).clauses(s)
    return replace(made, clauses=tuple(_reached(made.clauses)) or made.clauses)


def _reached(clauses: Iterable[tuple[Cond, Value]]) -> Iterator[tuple[Cond, Value]]:
    """The clauses that some point takes."""
    for cond, value in clauses:
        if cond != NEVER:
            yield cond, value
        if cond == ALWAYS:
            return


def pad_outputs(system: System) -> System:
    """Give every ragged output a copy over its whole box, zero outside the shape of a point."""
    statements = dict(system.statements)
    outputs = dict(system.outputs)
    for name, tensor in system.outputs.items():
        s = system.statements[tensor]
        if any(a.size.dims for a in s.result_axes):
            padded = _padded(s, fresh(f"{tensor}_padded", statements))
            statements[padded.name] = padded
            outputs[name] = padded.name
    return replace(system, statements=statements, outputs=outputs)


def _padded(s: Statement, name: str) -> Statement:
    axes = s.result_axes
    zero = Literal_(False if s.dtype == "bool" else 0, s.dtype)
    inside = every(*(at_least(a.size - 1, a.index) for a in axes))
    padded = tuple(Axis(a.index, a.pad, a.pad) for a in axes)
    made = s.map((ALWAYS, Choice(inside, s.here, zero, s.dtype)))
    return replace(made, name=name, base=s.lowered, axes=padded)
