"""The loop IR as Numba source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ostinato.codegen.loops.expression import Tuple
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
    Remark,
    Return,
    Statement,
    While,
    Write,
)
from ostinato.pdg.plaintext import plain

INDENT = "    "
LONGEST_ESCAPE = len("\\U0010ffff")


def comment(text: str) -> str:
    r"""A comment that says a text of the user's, whatever is in it: it never ends before the line.

    >>> comment("loss\nimport os")
    '# loss\\nimport os'
    """
    return f"# {plain(text, len(text) * LONGEST_ESCAPE)}"


def within_docstring(text: str) -> str:
    """A text of the user's inside of a docstring: it neither ends it nor escapes anything.

    >>> within_docstring('a "loss"')
    "a 'loss'"
    """
    return plain(text).replace("\\", "/").replace('"', "'")


def show(body: Body) -> Iterator[str]:
    """The lines of statements."""
    for statement in body:
        yield from _lines(statement)


def _lines(statement: Statement) -> Iterator[str]:
    match statement:
        case Let(names, Tuple() as value) if len(names) > 1:
            yield f"{', '.join(names)} = {str(value)[1:-1]}"
        case Let(names, value) if len(names) > 1:
            yield f"{', '.join(names)} = {value}"
        case Let((name,), value):
            yield f"{name} = {value}"
        case Add(name, value):
            yield f"{name} += {value}"
        case Write(array, index, value):
            yield f"{array}[{index}] = {value}"
        case Do(call, remark):
            yield f"{call}  {comment(remark)}" if remark else str(call)
        case For(index, bounds, body):
            yield from _block(f"for {index} in range({', '.join(map(str, bounds))})", body)
        case While(test, body):
            yield from _block(f"while {test}", body)
        case If():
            yield from _choice(statement, "if")
        case Break():
            yield "break"
        case Return():
            yield "return"
        case Remark(text):
            yield comment(text)
        case Nothing(remark):
            yield f"pass  {comment(remark)}" if remark else "pass"
        case other:
            raise AssertionError(f"no text for {other}")


def _choice(choice: If, word: str) -> Iterator[str]:
    yield from _block(f"{word} {choice.test}", choice.then)
    match choice.other:
        case ():
            pass
        case (If() as inner,):
            yield from _choice(inner, "elif")
        case other:
            yield from _block("else", other)


def _block(head: str, body: Body) -> Iterator[str]:
    yield f"{head}:"
    yield from _indented(body)


def _indented(body: Body) -> Iterator[str]:
    for line in show(body):
        yield INDENT + line
    if all(isinstance(each, Remark) for each in body):
        yield f"{INDENT}pass"


def function(of: Function) -> str:
    """The text of a function with its definitions above it."""
    lines: list[str] = []
    for definition in of.definitions:
        lines += _definition(definition)
    if lines:
        lines += ["", ""]
    lines += map(comment, of.remarks)
    lines += _decorator(of)
    lines.append(f"def {of.name}({', '.join(name for name, _ in of.parameters)}):")
    lines += _indented(of.body)
    for line in lines:
        assert line.isprintable(), f"this is no single line of source: {line!r}"
    return "".join(f"{line}\n" for line in lines)


def _decorator(of: Function) -> Iterable[str]:
    if of.is_driver:
        kinds = (f'    "{kind}",  {comment(name)}' for name, kind in of.parameters)
        return ["@driver(", *kinds, ")"]
    integers = sum(kind == "int64" for _, kind in of.parameters)
    told = "".join(f", {word}=True" for word in ("exact", "checked", "plain") if getattr(of, word))
    return [f"@kernel({integers}{told})"]


def _definition(of: Definition) -> list[str]:
    args = [f'"{each}"' if isinstance(each, str) else str(each) for each in of.args]
    head, single = f"{', '.join(of.names)} = {of.maker}(", ", ".join(args)
    if "\n" not in single:
        return [f"{head}{single})"]
    (only,) = args
    first, *rest = only.splitlines()
    return [head, *(f"{INDENT}{line}" for line in (first, *rest[:-1])), f"{INDENT}{rest[-1]})"]
