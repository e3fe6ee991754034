"""Terms and facts of rules: records that print as egglog's text, and as the Python of that text."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import TypeAlias, Union, cast

from ostinato.pdg.errors import OptionError
from ostinato.provenance.place import place
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.relations.sexpr import Tree, parse, show
from ostinato.rewrite.terms.signature import (
    ARITHMETIC,
    COMPARISONS,
    HEADS,
    SIGNATURE,
    Sort,
    sort_named,
)

Operand: TypeAlias = Union["Expression", int, float, str]
Number: TypeAlias = Union["Expression", int]
_REAL = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")


class Expression(ABC):
    """A term or a variable. Operators compute with numbers, and comparisons are facts."""

    __slots__ = ()

    @property
    @abstractmethod
    def tree(self) -> Tree:
        """The same as nested tuples."""

    def __add__(self, other: Number) -> Term:
        return made("+", self, other)

    def __radd__(self, other: int) -> Term:
        return made("+", other, self)

    def __sub__(self, other: Number) -> Term:
        return made("-", self, other)

    def __rsub__(self, other: int) -> Term:
        return made("-", other, self)

    def __mul__(self, other: Number) -> Term:
        return made("*", self, other)

    def __rmul__(self, other: int) -> Term:
        return made("*", other, self)

    def __and__(self, other: Number) -> Term:
        return made("&", self, other)

    def __rand__(self, other: int) -> Term:
        return made("&", other, self)

    def __or__(self, other: Number) -> Term:
        return made("|", self, other)

    def __ror__(self, other: int) -> Term:
        return made("|", other, self)

    def __lshift__(self, other: Number) -> Term:
        return made("<<", self, other)

    def __rlshift__(self, other: int) -> Term:
        return made("<<", other, self)

    def __rshift__(self, other: Number) -> Term:
        return made(">>", self, other)

    def __rrshift__(self, other: int) -> Term:
        return made(">>", other, self)

    def __invert__(self) -> Term:
        return made("not-i64", self)

    def __lt__(self, other: Number) -> Fact:
        return asked("<", self, other)

    def __le__(self, other: Number) -> Fact:
        return asked("<=", self, other)

    def __gt__(self, other: Number) -> Fact:
        return asked("<", other, self)

    def __ge__(self, other: Number) -> Fact:
        return asked("<=", other, self)

    @staticmethod
    def instead(of: object) -> str:
        """The Python of a text in place of a term, or ""."""
        return _rewritten(of, Term)


@dataclass(frozen=True, slots=True)
class Variable(Expression):
    """Any term, number, text, shape or size: the same one wherever its name stands in a rule."""

    name: str

    @property
    def tree(self) -> Tree:
        return self.name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class _Form:
    """A head with what stands in its fields."""

    head: str
    fields: tuple[Operand, ...] = field(compare=False)  # the text says them
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", f"({' '.join((self.head, *map(written, self.fields)))})")

    @property
    def tree(self) -> tuple[Tree, ...]:
        """The same as nested tuples."""
        return (self.head, *map(tree, self.fields))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return python(self)


@dataclass(frozen=True, slots=True, repr=False)
class Term(_Form, Expression):
    """An operator or a function with its operands.

    >>> term = Term("red", ("sum", 4, Term("mm", (Variable("x"), Variable("y")))))
    >>> print(term)
    (red "sum" 4 (mm x y))
    >>> term
    red("sum", 4, mm(x, y))
    """


@dataclass(frozen=True, slots=True, repr=False)
class Fact(_Form):
    """A relation with what stands in its columns, an equation, or another comparison."""

    def __bool__(self) -> bool:
        fact = f"the fact {self!r} is asked whether it is true, which a rule says"
        raise OptionError(fact, "Write two facts for `a < b < c`: a < b, b < c.", place())

    @staticmethod
    def instead(of: object) -> str:
        """The Python of a text in place of a fact, or ""."""
        return _rewritten(of, Fact)


def made(head: str, *fields: Operand) -> Term:
    """A term whose operands are as many, and of such sorts, as its head takes.

    Errors: OptionError.
    """
    return Term(head, _accepted(head, fields, HEADS[head].fields))


def asked(head: str, *fields: Operand) -> Fact:
    """A fact whose columns hold what its relation takes.

    Errors: OptionError.
    """
    if head not in COMPARISONS:
        return Fact(head, _accepted(head, fields, HEADS[head].fields))
    found = (sort for operand in fields if (sort := sort_of(operand)))
    same = "number" if head in ("<", "<=") else next(found, "number")
    return Fact(head, _accepted(head, fields, (same, same)))


def sort_of(operand: Operand) -> Sort | None:
    """What an operand is, as far as it says so itself; a variable may be anything."""
    match operand:
        case Term() if operand.head in HEADS:
            return HEADS[operand.head].makes or None
        case bool() | Expression():
            return None
        case int():
            return "number"
        case float():
            return "real number"
        case str():
            return "text"
        case _:
            return None


def _accepted(
    head: str, fields: tuple[Operand, ...], kinds: tuple[str, ...]
) -> tuple[Operand, ...]:
    """The fields, with integers where sizes stand made sizes."""
    name = python_name(head)
    if len(fields) != len(kinds):
        count = f"{len(fields)} operand{'s' * (len(fields) != 1)}, not {len(kinds)}"
        raise OptionError(f"`{name}` gets {count}", f"Write {_call(name, kinds)}.", place())
    out = list[Operand]()
    for k, (operand, kind) in enumerate(zip(fields, kinds, strict=True), 1):
        sort = sort_named(kind)
        if sort == "size" and isinstance(operand, int):
            operand = Term("size", (operand,))
        found = sort_of(operand)
        if found != sort and not (found is None and isinstance(operand, Expression)):
            what = f", a {found}," if found else ""
            fact = f"`{name}` gets {operand!r}{what} as operand {k}, which is a {kind}"
            raise OptionError(fact, f"Write {_call(name, kinds)}.", place())
        out.append(operand)
    return tuple(out)


def _call(name: str, kinds: tuple[str, ...]) -> str:
    if name in _INFIX:
        return f"{kinds[0]} {name} {kinds[1]}"
    return "~mask" if name == "not-i64" else f"{name}({', '.join(kinds)})"


def uses(form: Expression | Fact) -> Iterator[tuple[Variable, Sort]]:
    """The variables of a term or a fact, each with what it is where it stands."""
    if isinstance(form, Variable):
        yield form, "term"
    if not isinstance(form, _Form):
        return
    for operand, sort in zip(form.fields, _sorts(form), strict=False):
        if isinstance(operand, Variable) and sort:
            yield operand, sort
        elif isinstance(operand, Term):
            yield from uses(operand)


def named_functions(form: Expression | Fact) -> Iterator[tuple[str, str]]:
    """The functions that operators of terms are given by name, each with its operator."""
    if isinstance(form, _Form):
        kinds = SIGNATURE.get(form.head, "")
        first = form.fields[0] if form.fields else None
        if kinds.startswith("S") and isinstance(first, str):
            yield form.head, first
        for operand in form.fields:
            if isinstance(operand, Term):
                yield from named_functions(operand)


def _sorts(form: _Form) -> tuple[Sort | None, ...]:
    """What stands in the fields of a form, as far as that is known."""
    if form.head in ("<", "<="):
        return "number", "number"
    if form.head in COMPARISONS:  # both are the same
        known: list[Sort] = [sort for sort in map(sort_of, form.fields) if sort is not None]
        same = known[0] if known else None
        return same, same
    return HEADS[form.head].sorts if form.head in HEADS else ()


def written(operand: Operand) -> str:
    """What stands in a field, as egglog reads it."""
    return f'"{operand}"' if isinstance(operand, str) else str(operand)


def tree(operand: Operand) -> Tree:
    """What stands in a field, as nested tuples of words and numbers."""
    if isinstance(operand, Expression):
        return operand.tree
    return operand if isinstance(operand, int) else written(operand)


def form_of(found: Tree) -> Operand:
    """What nested tuples say."""
    if isinstance(found, tuple):
        return Term(str(found[0]), tuple(map(form_of, found[1:])))
    if isinstance(found, int):
        return found
    if found.startswith('"'):
        return found.strip('"')
    return float(found) if _REAL.fullmatch(found) else Variable(found)


def term_of(found: Tree) -> Expression:
    """The term or the variable that nested tuples say."""
    made = form_of(found)
    if not isinstance(made, Expression):
        raise ValueError(f"{show(found)} is no term")
    return made


def fact_of(found: Tree) -> Fact:
    """What nested tuples say of terms."""
    if not isinstance(found, tuple) or not found:
        raise ValueError(f"{found!r} is no fact")
    return Fact(str(found[0]), tuple(map(form_of, found[1:])))


def read_term(text: str) -> Expression:
    """The term of a text that a file holds, or that egglog printed.

    Errors: ValueError for a text that is not exactly one term, in its only spelling.
    """
    return term_of(_tree_of(text))


def read_fact(text: str) -> Fact:
    """The fact of a text that a file holds.

    Errors: ValueError for a text that is not exactly one fact, in its only spelling.
    """
    return fact_of(_tree_of(text))


def _tree_of(text: str) -> Tree:
    found = parse(text)
    if show(found) != text or "()" in text:
        raise ValueError(f"{text} is not one expression")
    return found


_INFIX = (*ARITHMETIC, "<", "<=")
_MASKS = frozenset(name for name, of in RELATIONS.items() if of.value and "m" in of.value)
# What elementwise functions are called where rules are written.
_CALLED = {
    ("map1", "neg"): "neg", ("map1", "exp"): "exp", ("map2", "add"): "add",
    ("map2", "sub"): "sub", ("map2", "mul"): "mul", ("map2", "div"): "div",
    ("map2", "pow"): "power", ("map3", "where"): "where",
}  # fmt: skip


def python(form: Operand | _Form, inside: bool = False) -> str:
    """The Python that makes a term or a fact; ``inside`` an operator it needs parentheses."""
    if isinstance(form, str):
        return f'"{form}"'
    if not isinstance(form, _Form):
        return "LHS" if str(form) == "lhs" else str(form)
    match form.head, form.fields:
        case head, (left, right) if head in _INFIX:
            out = f"{python(left, True)} {head} {python(right, True)}"
            return f"({out})" if inside else out
        case "not-i64", (mask,):
            return f"~{python(mask, True)}"
        case "nil", ():
            return "NIL"
        case ("=" | "!=") as head, (0, Term("&", (d, Term(of) as mask))) if of in _MASKS:
            return f"{'not_in' if head == '=' else 'is_in'}({python(d)}, {python(mask)})"
        case "cons", (_, _):
            return f"sizes({', '.join(_listed(form))})"
        case head, (str(fn), *rest) if (head, fn) in _CALLED:
            return f"{_CALLED[head, fn]}({', '.join(map(python, rest))})"
        case head, fields:
            kinds = HEADS[head].fields if head in HEADS else ()
            are_sizes = (kind == "size" for kind in (*kinds, *("" for _ in fields)))
            parts = (_size(f) if z else python(f) for f, z in zip(fields, are_sizes, strict=False))
            return f"{python_name(head)}({', '.join(parts)})"


def _listed(shape: Operand | _Form) -> list[str]:
    """The sizes of a shape, and what follows them."""
    match shape:
        case Term("cons", (first, rest)):
            return [_size(first), *_listed(rest)]
        case Term("nil"):
            return []
        case _:
            return [f"then={python(shape)}"]


def _size(form: Operand) -> str:
    """What stands where a size does, for which an integer may stand."""
    match form:
        case Term("size", (int(count),)):
            return str(count)
        case _:
            return python(form)


def python_name(head: str) -> str:
    """What a head is called in Python."""
    name = COMPARISONS.get(head) or re.sub(r"^(axes|host)\d+$", r"\1", head)
    return f"{name}_" if iskeyword(name) else name


def _rewritten(given: object, into: type[Term] | type[Fact]) -> str:
    several = cast(tuple[object, ...], given) if isinstance(given, list | tuple) else (given,)
    texts = [text for text in several if isinstance(text, str)]
    try:
        forms = [read_term(t) if into is Term else read_fact(t) for t in texts]
    except ValueError:
        return ""
    shown = ", ".join(map(python, forms))
    return f"Write {shown}, with names from ostinato.rewrite.terms." if shown else ""
