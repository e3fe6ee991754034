"""Modules of generated code, written by hand, as loop IR."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostinato.codegen.cpu.native.llvm_modules import NAMES
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
    Definition,
    Do,
    For,
    Function,
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


def module(text: str) -> Iterator[Function]:
    """Read the functions of a generated module.

    Errors: UnreadableError if it is not of the form that `printer` writes.
    """
    definitions: list[Definition] = []
    for node in ast.parse(text).body:
        match node:
            case ast.FunctionDef():
                yield _function(node, tuple(definitions))
                definitions.clear()
            case ast.Assign(value=ast.Tuple()) | ast.Import() | ast.ImportFrom() | ast.Expr():
                pass  # names of types, the table of kernels, and what the module says of itself
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=maker), args=args)):
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                known = tuple(x.id for x in parts if isinstance(x, ast.Name))
                found = tuple(_argument(each, NAMES) for each in args)
                definitions.append(Definition(known, maker, found))
            case _:
                raise UnreadableError(f"`{ast.unparse(node)}` at the top of the module")


def _argument(node: ast.expr, names: Mapping[str, object]) -> object:
    """An argument of a definition: a record of ours is made, a definition is named."""
    if isinstance(node, ast.Name) and node.id not in names:
        return Name(node.id)
    code = compile(ast.Expression(node), "<definitions>", "eval")
    return eval(code, {}, dict(names))  # noqa: S307  # names of primitives and of their records


def _function(node: ast.FunctionDef, definitions: tuple[Definition, ...]) -> Function:
    names = [each.arg for each in node.args.args]
    match node.decorator_list:
        case [ast.Call(func=ast.Name(id="driver"), args=args)]:
            kinds = [each.value for each in args if isinstance(each, ast.Constant)]
            told, is_driver = frozenset[str](), True
        case [ast.Call(func=ast.Name(id="kernel"), args=[ast.Constant(value=int(count))]) as call]:
            kinds, is_driver = ["uint8[::1]", "int64[::1]", *["int64"] * count], False
            told = frozenset(
                str(k.arg)
                for k in call.keywords
                if isinstance(k.value, ast.Constant) and k.value.value is True
            )
        case _:
            raise UnreadableError(f"the decorator of {node.name}")
    parameters: Any = tuple(zip(names, kinds, strict=True))
    return Function(
        name=node.name,
        parameters=parameters,
        body=read(node.body),
        definitions=definitions,
        is_driver=is_driver,
        exact="exact" in told,
        checked="checked" in told,
    )


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
