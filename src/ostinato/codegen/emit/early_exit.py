"""The end of a loop whose later steps do nothing: see `ostinato.codegen.masks.early_exits`."""

from __future__ import annotations

from contextlib import ExitStack

from ostinato.codegen.emit.function import Body, Function
from ostinato.codegen.emit.index_arithmetic import expression
from ostinato.codegen.ir.system import Load
from ostinato.codegen.ir.tree import Loop
from ostinato.codegen.loops import calls
from ostinato.codegen.loops.expression import Constant, Name, Not, binary
from ostinato.codegen.loops.statements import Block, Break
from ostinato.codegen.masks.early_exits import End
from ostinato.pdg.index import Dim, Expr, expr


def emit_end(end: End, loop: Loop, function: Function, out: Block) -> None:
    """Leave the loop where the mask is false for all rows of the tile."""
    mask, any_ = function.statement(end.mask), function.names.fresh(f"any_{end.mask}")
    for axis in mask.result_axes:
        function.dims.setdefault(axis.index, function.names.fresh(axis.index.name))
    body = Body(function, frozenset(a.index for a in mask.result_axes))
    found = function.load(end.mask, body.offset(_element(end, loop, function, expr(loop.dim))))
    out.extend(body.hoisted)
    out.let(any_, Constant(False))
    with ExitStack() as stack:
        for axis in mask.result_axes:
            size = expression(axis.size, function.dims)
            stack.enter_context(out.loop(function.dims[axis.index], size))
        out.let(any_, binary("|", any_, found))
    with out.when(Not(Name(any_))):
        if end.fills:
            _fill(end, loop, function, out)
        out.add(Break())


def _fill(end: End, loop: Loop, function: Function, out: Block) -> None:
    """Write the steps of the mask that are not computed."""
    mask, later = function.statement(end.mask), Dim("later")
    name = function.dims[later] = function.names.fresh("later")
    body = Body(function, frozenset((later, *(a.index for a in mask.result_axes))))
    offset = body.offset(_element(end, loop, function, expr(later)))
    last = expression(loop.span.hi, function.dims)
    out.extend(body.hoisted)
    with ExitStack() as stack:
        first = binary("+", function.dims[loop.dim], 1)
        stack.enter_context(out.loop(name, first, last))
        for axis in mask.result_axes:
            size = expression(axis.pad, function.dims)
            stack.enter_context(out.loop(function.dims[axis.index], size))
        out.add(function.store(end.mask, offset, calls.literal(False, "bool")))


def _element(end: End, loop: Loop, function: Function, step: Expr) -> Load:
    """The mask's element at a step, for the rows that the loops give."""
    s = function.statement(end.mask)
    dims = tuple(step if d == loop.dim else expr(d) for d in s.result_dims)
    return Load(s.name, dims, tuple(expr(a.index) for a in s.result_axes), s.dtype)
