"""Functions of generated code that are written in Python, as loop IR.

The steps that workers share, such as claiming an item, are written so (`inner`).
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ostinato.codegen.loops.expression import (
    Binary,
    Call,
    Compare,
    Constant,
    Expression,
    Item,
    Logic,
    Name,
    Negative,
    Not,
    Sign,
    Tuple,
)
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    Break,
    Do,
    For,
    If,
    Let,
    Nothing,
    Return,
    Statement,
    While,
    Write,
)
from ostinato.pdg.errors import UnreadableError

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_COMPARISONS: dict[type[ast.cmpop], Sign] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@dataclass(frozen=True)
class Written:
    """A function that is written in Python: what it does, and what it returns at its end."""

    parameters: tuple[str, ...]
    body: Body
    result: Expression | None
    around: Mapping[str, object]  # what its names mean


def written(function: Callable[..., Any]) -> Written:
    """Read a function; it returns at its end only.

    Errors: UnreadableError.
    """
    node, closed = _parsed(function), inspect.getclosurevars(function)
    statements, result = node.body, None
    last = statements[-1]
    if isinstance(last, ast.Return) and last.value is not None:
        statements, result = statements[:-1], expression(last.value)
    names = tuple(each.arg for each in node.args.args)
    return Written(names, read(statements), result, {**closed.globals, **closed.nonlocals})


@cache
def _parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef), f"{function} is no function"
    return node


def read(body: Sequence[ast.stmt]) -> Body:
    """Read statements.

    Errors: UnreadableError, which says where.
    """
    out: list[Statement] = []
    for node in body:
        try:
            out += _statement(node)
        except UnreadableError as failure:
            text = ast.unparse(node).partition("\n")[0]
            raise UnreadableError(f"{failure}, in `{text}`") from None
    return tuple(out)


def _statement(node: ast.stmt) -> Iterator[Statement]:
    match node:
        case ast.Assign(targets=[target], value=value):
            yield _assignment(target, expression(value))
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            yield Add(name, expression(value))
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            yield Let((name,), Binary(_operator(op), Name(name), expression(value)))
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            old = expression(ast.Subscript(target.value, target.slice, ast.Load()))
            yield _assignment(target, Binary(_operator(op), old, expression(value)))
        case ast.Expr(value=ast.Constant()):
            pass  # what the function does, in words
        case ast.Expr(value=value):
            call = expression(value)
            if not isinstance(call, Call):
                raise UnreadableError(f"a statement of kind {type(value).__name__}")
            yield Do(call)
        case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
            yield For(name, tuple(map(expression, bounds)), read(body))
        case ast.While(test=test, body=body):
            yield While(expression(test), read(body))
        case ast.If(test=test, body=body, orelse=other):
            yield If(expression(test), read(body), read(other))
        case ast.Return(value=None):
            yield Return()
        case ast.Break():
            yield Break()
        case ast.Pass():
            yield Nothing("")
        case _:
            raise UnreadableError(f"a statement of kind {type(node).__name__}")


def _assignment(target: ast.expr, value: Expression) -> Statement:
    match target:
        case ast.Name(id=name):
            return Let((name,), value)
        case ast.Tuple(elts=elements) if all(isinstance(x, ast.Name) for x in elements):
            return Let(tuple(x.id for x in elements if isinstance(x, ast.Name)), value)
        case ast.Subscript(value=array, slice=index):
            return Write(expression(array), expression(index), value)
        case _:
            raise UnreadableError(f"an assignment to a {type(target).__name__}")


def expression(node: ast.expr) -> Expression:
    """Read an expression.

    Errors: UnreadableError.
    """
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return Constant(value)
        case ast.Attribute(value=ast.Name(id="np"), attr="inf" | "nan" as name):
            return Constant(float(name))
        case ast.Name(id=name):
            return Name(name)
        case ast.Tuple(elts=elements):
            return Tuple(tuple(map(expression, elements)))
        case ast.BinOp(left=left, op=op, right=right):
            return Binary(_operator(op), expression(left), expression(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            of = expression(operand)
            if isinstance(of, Constant) and not isinstance(of.value, bool):
                return Constant(-of.value)
            return Negative(of)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Not(expression(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return Compare(_COMPARISONS[type(op)], expression(left), expression(right))
        case ast.BoolOp(op=op, values=values):
            word = "and" if isinstance(op, ast.And) else "or"
            return Logic(word, tuple(map(expression, values)))
        case ast.Subscript(value=array, slice=index):
            return Item(expression(array), expression(index))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return Call(name, tuple(map(expression, args)))
        case _:
            raise UnreadableError(f"an expression of kind {type(node).__name__}")


def _operator(op: ast.operator) -> str:
    if type(op) not in _OPERATORS:
        raise UnreadableError(f"the operator {type(op).__name__}")
    return _OPERATORS[type(op)]
