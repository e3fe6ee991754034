"""Modules of generated code, written by hand, as loop IR."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from ostinato.codegen.cpu.native.llvm_modules import NAMES
from ostinato.codegen.loops.expression import Name
from ostinato.codegen.loops.reader import read
from ostinato.codegen.loops.statements import Definition, Function
from ostinato.pdg.errors import UnreadableError


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
