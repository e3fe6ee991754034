"""A plan as text: the driver with its kernels and loops, then the memory of every tensor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from ostinato.codegen.ir.system import (
    Axis,
    Call,
    Choice,
    Draw,
    Literal_,
    Load,
    Position,
    Statement,
    Value,
    loads,
)
from ostinato.codegen.ir.tree import (
    Barrier,
    Calling,
    Contraction,
    DriverLoop,
    Fill,
    Loop,
    Nest,
    Span,
    Step,
    Sweep,
    Tree,
    active,
)
from ostinato.codegen.ir.tree import Call as KernelCall
from ostinato.codegen.masks.early_exits import End
from ostinato.codegen.masks.guards import guard_of, untested
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.liveness import Life
from ostinato.codegen.planning.planned import Plan
from ostinato.codegen.systems.masked_sums import factors, mask_of
from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.bounds import conjuncts
from ostinato.pdg.condition import ALWAYS, Cond
from ostinato.pdg.functions import FUNCTIONS
from ostinato.pdg.index import Expr


def show_plan(plan: Plan) -> str:
    """The whole plan: schedule first, then what was done to keep less, then memory."""
    changes = [*plan.changes, ""] if plan.changes else []
    places = show_storage(plan.storage, plan.lives)
    return "\n".join([*_steps(plan, plan.driver, 0), "", *changes, *places]) + "\n"


def _line(depth: int, text: str) -> str:
    return "    " * depth + text


def _steps(plan: Plan, steps: Sequence[Step], depth: int) -> Iterator[str]:
    for step in steps:
        match step:
            case Barrier():
                yield _line(depth, "barrier")
            case DriverLoop(span, reverse, outermost, body):
                note = "    # published" if outermost else ""
                yield _line(depth, f"{_head('for', span, reverse)}{note}")
                yield from _steps(plan, body, depth + 1)
            case KernelCall(number):
                kernel = plan.kernels[number]
                alone = "in slices:" if kernel.sliced else "serial:"
                where = _head("parallel", kernel.parallel, False) if kernel.parallel else alone
                if kernel.along:
                    where = f"{where[:-1]}, and the steps of {kernel.along.dim}:"
                yield _line(depth, f"{kernel.name} {where}")
                yield from show_trees(
                    kernel.body, plan.statements, depth + 1, plan.guards, plan.ends
                )
            case unknown:
                assert_never(unknown)


def _head(word: str, span: Span, reverse: bool) -> str:
    first, last = (span.hi - 1, span.lo) if reverse else (span.lo, span.hi - 1)
    return f"{word} {span.dim} = {first} .. {last}:"


def show_trees(
    trees: Sequence[Tree],
    statements: Mapping[str, Statement],
    depth: int = 0,
    needed: Mapping[str, Cond] | None = None,
    ends: Mapping[Loop, End] | None = None,
    held: frozenset[Cond] = frozenset(),
) -> Iterator[str]:
    """Loops and leaves, one line each, below a condition where they are not always needed."""
    for tree in trees:
        if isinstance(tree, Nest) and not active(tree):
            continue
        guard = untested(guard_of(tree, needed or {}), held)
        if guard != ALWAYS:
            yield _line(depth, f"if {guard}:")
        here = held.union(conjuncts(guard))
        yield from _tree(tree, statements, depth + (guard != ALWAYS), needed, ends or {}, here)


def _tree(
    tree: Tree,
    statements: Mapping[str, Statement],
    depth: int,
    needed: Mapping[str, Cond] | None,
    ends: Mapping[Loop, End],
    held: frozenset[Cond],
) -> Iterator[str]:
    match tree:
        case Loop(span, reverse, parallel, body):
            note = f"    # while any of {ends[tree].mask}" if tree in ends else ""
            head = _head("parallel" if parallel else "for", span, reverse)
            yield _line(depth, f"{head}{note}")
            yield from show_trees(body, statements, depth + 1, needed, ends, held)
        case Fill(tensor):
            yield _line(depth, f"{tensor} = unit of {statements[tensor].fold}")
        case Calling(name):
            yield _line(depth, f"{name} = Python's {statements[name].fold}")
        case Contraction():
            yield _line(depth, _contraction(tree, statements))
        case Sweep():
            yield _line(depth, _sweep(tree, statements))
        case Nest():
            names = ", ".join(active(tree))
            yield _line(depth, f"{_brackets(tree.axes)}{names}")
        case unknown:
            assert_never(unknown)


def _brackets(axes: Sequence[Axis]) -> str:
    return f"[{', '.join(f'{a.index} < {a.size}' for a in axes)}] " if axes else ""


def _contraction(leaf: Contraction, statements: Mapping[str, Statement]) -> str:
    s = statements[leaf.statement]
    (first, second), mask = (x.tensor for x in factors(s)), mask_of(s)
    kept = [a for a in (*leaf.outer, leaf.m, leaf.n) if a is not None]
    sign = "+=" if leaf.accumulate else "="
    chain = "".join(f", {name}" for name in leaf.epilogues)
    product = f"{s.name} {sign} {first} @ {second} over {leaf.k.index}"
    product += f" where {mask.tensor}" if mask else ""
    return f"{_brackets(kept)}{product} ({leaf.form}){chain}"


def _sweep(leaf: Sweep, statements: Mapping[str, Statement]) -> str:
    s = statements[leaf.statement]
    names = ", ".join(x.tensor for x in loads(s.clauses[0][1]))
    along = f" along {s.along}" if s.along else ""
    return f"{_brackets(leaf.rows)}{s.name} = {AXIS_FUNCTIONS[s.fold].shown}({names}){along}"


def show_storage(
    storage: Mapping[str, Storage], lives: Mapping[str, Life] | None = None
) -> Iterator[str]:
    """One line per tensor: place, stored points, axes, the phases in which it is in use."""
    width = max(map(len, storage), default=0)
    for name, s in storage.items():
        life = (lives or {}).get(name)
        phases = f"  phases {life.first} .. {life.last}" if life else ""
        phases = f"  in {s.shares}" if s.shares else phases
        yield f"{name:{width}}  {s.place:8}  {s.dtype:7}  {_stored(s):24}{phases}".rstrip()


def _stored(s: Storage) -> str:
    parts = [
        f"{slot.dim}: {slot.extent}" if slot.kind == "full" else f"{slot.dim}: last {slot.extent}"
        for slot in s.slots
        if slot.kind != "one"
    ]
    parts += [str(a.pad) for a in s.axes]
    return f"[{', '.join(parts)}]"


def show_statement(s: Statement) -> str:
    """The equations of a statement, as a person writes them."""
    left = _indexed(s.name, [*s.here.dims, *s.here.axes])
    folded = bool(s.reduced) and s.kind != "along"
    over = f"{s.fold} over {', '.join(sorted(d.name for d in s.reduced))}: " if folded else ""
    lines = [
        f"{left} = {over}{show_value(value)}" + (f"  if {cond}" if len(s.clauses) > 1 else "")
        for cond, value in s.clauses
    ]
    return "\n".join(lines)


def _indexed(name: str, indices: Sequence[Expr]) -> str:
    return f"{name}[{', '.join(map(str, indices))}]" if indices else name


def _picked(load: Load) -> str:
    """A read with what its computed indices stand for."""
    read = _indexed(load.tensor, [*load.dims, *load.axes])
    where = ", ".join(f"{pick.axis.index} = {show_value(pick.at)}" for pick in load.picks)
    return f"({read} where {where})" if where else read


def show_value(value: Value) -> str:
    """A value in the notation of equations."""
    match value:
        case Literal_(number):
            return str(number)
        case Position(of):
            return f"({of})"
        case Load():
            return _picked(value)
        case Call(fn, (a, b)) if fn in FUNCTIONS and FUNCTIONS[fn].sign:
            return f"({show_value(a)} {FUNCTIONS[fn].sign} {show_value(b)})"
        case Call(fn, args):
            return f"{fn}({', '.join(map(show_value, args))})"
        case Draw(fn, stream, point, element):
            inside = ", ".join([*map(str, point), str(element)])
            return f"{fn}#{stream}({inside})"
        case Choice(cond, then, other):
            return f"({show_value(then)} if {cond} else {show_value(other)})"
        case unknown:
            assert_never(unknown)
