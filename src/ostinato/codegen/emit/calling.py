"""Calls of Python: the point and the places of the arrays, then one call through an address.

Both are words after the offsets of the tensors: the address of the function that takes the number
of a call, then the coordinates of the point, the offset of each operand and that of the result.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.codegen.emit.function import OFFSETS, Body, Function
from ostinato.codegen.emit.index_arithmetic import condition, expression
from ostinato.codegen.ir.system import Call, Load, Operand, Statement
from ostinato.codegen.loops.expression import Name, call, given, item
from ostinato.codegen.loops.statements import Block, Remark, Write
from ostinato.codegen.memory.storage import Storage
from ostinato.codegen.planning.planned import Plan
from ostinato.pdg.condition import ALWAYS
from ostinato.pdg.index import Expr, expr, product
from ostinato.runtime.machine_code.ports import PythonCall, View


def emit_call(s: Statement, function: Function, out: Block) -> None:
    """Write one call, where it is demanded."""
    assert s.host is not None, f"{s.name} is no call"
    ((cond, _),) = s.clauses
    out.add(Remark(f"{s.name} = Python's {s.fold}"))
    if cond == ALWAYS:
        _emit(s, s.host.number, function, out)
        return
    with out.when(condition(cond, function.dims)), function.block():
        _emit(s, s.host.number, function, out)


def _emit(s: Statement, number: int, function: Function, out: Block) -> None:
    body = Body(function, frozenset())
    words = [expression(expr(d), function.dims) for d in s.dims]
    words += [body.offset(at) for at in (*_operands(s), _result(s))]
    out.extend(body.hoisted)
    first = function.entries
    for k, word in enumerate(words, first + 1):
        out.add(Write(Name(OFFSETS), given(k), word))
    out.do(call("call_python", item(OFFSETS, first), number))


def _arguments(s: Statement) -> tuple[Load, ...]:
    """The loads that a function is given."""
    (_, value) = s.clauses[0]
    assert isinstance(value, Call), f"{s.name} is no call"
    assert s.host is not None, f"{s.name} is no call"
    found = tuple(x for x in value.args if isinstance(x, Load))
    return found[s.host.ordered :]


def _operands(s: Statement) -> tuple[Load, ...]:
    """The first element of each operand."""
    start = {d: expr(0) for d in s.reduced}
    return tuple(replace(x, axes=tuple(a.at(start) for a in x.axes)) for x in _arguments(s))


def _result(s: Statement) -> Load:
    zeros = (expr(0),) * len(s.result_axes)
    return Load(s.name, tuple(map(expr, s.result_dims)), zeros, s.dtype)


def python_calls(plan: Plan) -> tuple[PythonCall, ...]:
    """Every call of a plan."""
    out: list[PythonCall] = []
    for s in plan.statements.values():
        if s.host is None:
            continue
        loads = _arguments(s)
        views = tuple(
            _view(o, x.axes, plan.storage[x.tensor])
            for o, x in zip(s.host.operands, loads, strict=True)
        )
        result = _view(s.host.result, s.here.axes, plan.storage[s.name])
        out.append(PythonCall(s.host.number, s.dims, views, result))
    return tuple(out)


def _view(operand: Operand, axes: tuple[object, ...], storage: Storage) -> View:
    pads = [a.pad for a in storage.axes]
    steps: list[Expr] = []
    for index in operand.axes:
        if index is None:
            steps.append(expr(0))
        else:
            steps.append(product(pads[axes.index(expr(index)) + 1 :]))
    return View(storage.owner, operand.dtype, operand.shape, tuple(steps))
