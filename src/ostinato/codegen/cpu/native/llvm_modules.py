"""A generated module as LLVM modules, one for each kernel and one for the driver."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast as typed

import numpy as np

from ostinato.codegen.cpu import llvm_text, prelude
from ostinato.codegen.cpu.flags import FASTMATH
from ostinato.codegen.cpu.llvm import I8, I64, VOID, Builder, Type, function_type
from ostinato.codegen.cpu.native.body import Writer, carray
from ostinato.codegen.cpu.native.numbers import Number
from ostinato.codegen.cpu.native.numbers import UnreadableError as UnreadableError
from ostinato.codegen.cpu.native.scope import Memory, Scope, assigned_often
from ostinato.codegen.cpu.part import Part
from ostinato.codegen.cpu.target import ALIASES

DRIVER = "main"
SYMBOL = "ostinato.entry"
"""The name of the one function that a unit exports."""

_OURS = "ostinato.codegen.cpu."
_binding = importlib.import_module("llvmlite.binding")


@dataclass(frozen=True)
class Unit:
    """A kernel or the driver: its name in the source, and its LLVM module as text."""

    name: str
    text: str


@dataclass(frozen=True)
class Source:
    """A generated module: its functions by name, what its names mean, and the order of kernels."""

    functions: Mapping[str, ast.FunctionDef]
    names: Mapping[str, object]
    kernels: tuple[str, ...]


def read(source: str) -> Source:
    """Parse a generated module and evaluate its definitions.

    Errors: UnreadableError if it is not of the form that `emit` writes.
    """
    return _parsed(source, {"carray": carray})


def _parsed(source: str, names: dict[str, object]) -> Source:
    """Parse a part of a module; ``names`` gets what it defines."""
    functions: dict[str, ast.FunctionDef] = {}
    definitions: list[ast.stmt] = []
    kernels: tuple[str, ...] = ()
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(name=name):
                functions[name] = node
            case ast.ImportFrom(module=str(module), names=imported) if module.startswith(_OURS):
                wanted = [x.name for x in imported if x.name not in prelude.OF_NUMBA]
                there = importlib.import_module(module)
                names |= {name: getattr(there, name) for name in wanted}
            case ast.Assign(targets=[ast.Name(id="KERNELS")], value=ast.Tuple(elts=elements)):
                kernels = tuple(x.id for x in elements if isinstance(x, ast.Name))
            case ast.Assign() | ast.Import():
                definitions.append(node)
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise UnreadableError(f"`{ast.unparse(node)}` at the top of the module")
    exec(compile(ast.Module(definitions, []), "<definitions>", "exec"), names)  # noqa: S102
    return Source(functions, names, kernels)


def units(source: Source, parts: dict[str, Part] | None = None) -> Iterator[Unit]:
    """Write the functions as LLVM modules, and the ``parts`` that they share when first needed.

    Errors: UnreadableError.
    """
    parts = {} if parts is None else parts
    given = len(parts)
    for name in source.functions:
        made = written(source, name, parts)
        for part in list(parts.values())[given:]:
            yield Unit(part.symbol, part.text)
        given = len(parts)
        yield Unit(name, made)


class Pieces:
    """A module that comes piece by piece: what a function uses stands before it."""

    driver = DRIVER

    def __init__(self) -> None:
        """Start with what every generated module may import."""
        self.kernels: tuple[str, ...] = ()
        self._parts: dict[str, Part] = {}
        self._names: dict[str, object] = {"carray": carray, "np": np}
        self._names |= {x: getattr(prelude, x) for x in prelude.NAMES - {*prelude.OF_NUMBA}}
        _parsed("\n".join(ALIASES), self._names)

    def units(self, piece: str) -> Iterator[Unit]:
        """Write the functions of a piece, and the parts that they are the first to use.

        Errors: UnreadableError.
        """
        found = _parsed(piece, self._names)
        self.kernels = found.kernels or self.kernels
        yield from units(found, self._parts)


def written(source: Source, name: str, parts: dict[str, Part] | None = None) -> str:
    """One function as the text of an LLVM module; ``parts`` gets the functions that it shares.

    Errors: UnreadableError.
    """
    node = source.functions[name]
    kinds, told = _signature(node)
    freedom = () if "exact" in told else FASTMATH
    module = llvm_text.Module(_binding.get_process_triple(), freedom, parts)
    module.checked = "checked" in told
    function = llvm_text.Function(module, function_type(VOID, kinds), SYMBOL)
    builder = typed(Builder, llvm_text.Builder(function.append_basic_block("entry")))
    writer = Writer(Scope(builder, source.names, assigned_often(node.body)))
    for parameter, kind, value in zip(node.args.args, kinds, function.args, strict=True):
        meaning = Number("int64", value) if kind is I64 else Memory(value, _element[kind])
        writer.scope.bind(parameter.arg, meaning)
    writer.body(node.body)
    if not builder.block.is_terminated:
        builder.ret_void()
    return str(module)


_BYTES, _WORDS = I8.as_pointer(), I64.as_pointer()
_element: dict[Type, Type] = {_BYTES: I8, _WORDS: I64}
_ARGUMENTS = {"int64": I64, "int64[::1]": _WORDS, "uint8[::1]": _BYTES}


def _signature(node: ast.FunctionDef) -> tuple[Sequence[Type], frozenset[str]]:
    """The types of the arguments, and what else the decorator says: exact, checked."""
    match node.decorator_list:
        case [ast.Call(func=ast.Name(id="driver"), args=args)]:
            texts = [each.value for each in args if isinstance(each, ast.Constant)]
            return [_ARGUMENTS[str(each)] for each in texts], frozenset()
        case [ast.Call(func=ast.Name(id="kernel"), args=[ast.Constant(value=int(count))]) as call]:
            told = frozenset(
                str(k.arg)
                for k in call.keywords
                if isinstance(k.value, ast.Constant) and k.value.value is True
            )
            return [_BYTES, _WORDS, *(I64 for _ in range(count))], told
        case _:
            raise UnreadableError(f"the decorator of {node.name}")
