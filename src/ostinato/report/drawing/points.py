"""Signs, points, conditions and types as mathematics: where a value is read, when, of which set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostinato.pdg.condition import Compare, Cond, Every, Negation, Some
from ostinato.pdg.constant import Scalar
from ostinato.pdg.functions import FUNCTIONS, REPEATED
from ostinato.pdg.index import (
    Dim,
    Expr,
    Extremum,
    FloorDiv,
    Index,
    Mod,
    Product,
    Slice,
    expr,
    symbols,
)
from ostinato.pdg.node import Broadcast, Const, Map, Node, Part, Read, Reshape

_SIGNS = {
    **{"*": "·", "%": " mod ", "<=": " ≤ ", ">=": " ≥ ", "==": " = ", "!=": " ≠ "},
    **{"and": " ∧ ", "or": " ∨ "},
}
INFIX: dict[str, tuple[str, int, int]] = {  # sign, how tightly it binds, more on the right
    f.name: (_SIGNS.get(f.sign, f" {f.sign} "), f.binds, f.name not in REPEATED.values())
    for f in FUNCTIONS.values()
    if f.sign and f.arity == 2
}
_DIGITS = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_POWERS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_WORDS = {
    "maximum": "max",
    "minimum": "min",
    "sigmoid": "σ",
}


def words(fn: str) -> str:
    """A function by the name that people know."""
    return _WORDS.get(fn, fn)


def number(value: Scalar) -> str:
    """A number in few digits.

    >>> number(0.09999999999999998), number(1.0), number(True), number(1e-08)
    ('0.1', '1', 'true', '1e-08')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def subscript(value: int) -> str:
    """A number below the line.

    >>> subscript(12)
    '₁₂'
    """
    return str(value).translate(_DIGITS)


def superscript(value: int) -> str:
    """A number above the line.

    >>> superscript(64)
    '⁶⁴'
    """
    return str(value).translate(_POWERS)


def index_text(e: Expr) -> str:
    """An index expression with its positive terms first: ``T-t``, not ``-t+T``.

    >>> from ostinato.pdg.index import expr
    >>> t = Dim("t")
    >>> index_text(expr(t.extent) - t - 1)
    'T-t-1'
    """
    ordered = sorted(e.terms, key=lambda term: term[1] < 0)
    if e.const > 0 and ordered and ordered[0][1] < 0:
        return f"{e.const}{index_text(e - e.const)}"
    parts: list[str] = []
    for atom, k in ordered:
        sign = "-" if k < 0 else "+" if parts else ""
        factor = f"{abs(k)}·" if abs(k) != 1 else ""
        parts.append(f"{sign}{factor}{_atom(atom)}")
    if e.const or not parts:
        parts.append(f"{e.const:+d}" if parts else str(e.const))
    return "".join(parts)


def _atom(atom: object) -> str:
    match atom:
        case FloorDiv(of, by):
            return f"⌊({index_text(of)})/{by}⌋" if len(of.terms) > 1 or of.const else (
                f"⌊{index_text(of)}/{by}⌋"
            )  # fmt: skip
        case Mod(of, by):
            return f"({index_text(of)} mod {by})"
        case Extremum(kind, of_):
            return f"{kind}({', '.join(map(index_text, of_))})"
        case Product(of__):
            return "·".join(
                f"({index_text(f)})" if len(f.terms) + bool(f.const) > 1 else index_text(f)
                for f in of__
            )
        case _:
            return str(atom)


At = Mapping[Dim, Index]  # where each dimension is read, if not at the point


def composed(pairs: Sequence[tuple[Dim, Index]], x: Node, at: At) -> dict[Dim, Index]:
    """Where the operand of a read is read, when the read itself stands elsewhere."""
    here = {d: i for d, i in at.items() if d in x.domain}
    return here | {dim: index.at(_points(at)) for dim, index in pairs}


def moved(e: Expr, at: At) -> Expr:
    """An index expression at another point; a dimension that is a slice stays."""
    return e.at(_points(at))


def _points(at: At) -> dict[Dim, Expr]:
    return {d: i for d, i in at.items() if isinstance(i, Expr)}


def where(dim: Dim, index: Index) -> str:
    """An index as it is shown: with the dimension's name where it does not tell which it is."""
    if isinstance(index, Slice):
        if index == dim.whole:
            return f"{dim}=:"
        step = f":{index.step}" if index.step != 1 else ""
        text = f"{index_text(index.lo)} … {index_text(index.hi - 1)}{step}"
        return text if dim in index.dims else f"{dim} = {text}"
    known = {str(s).rstrip("′") for s in symbols(index)} & {dim.name, dim.symbol.name}
    return index_text(index) if known else f"{dim}={index_text(index)}"


def element(index: Index, at: At) -> str:
    """An element or a part of an array."""
    if isinstance(index, Slice):
        lo, hi = moved(index.lo, at), moved(index.hi, at)
        return f"⟨{index_text(lo)} … {index_text(hi - 1)}⟩"
    place = moved(index, at)
    return subscript(place.const) if place.is_const else f"⟨{index_text(place)}⟩"


def condition(cond: Cond, at: At | None = None) -> str:
    """A condition in signs of mathematics; ``d = …`` and bounds of one dimension solved for it."""
    by = {d: i for d, i in (at or {}).items() if isinstance(i, Expr)}
    cond = cond.at(by) if by else cond
    match cond:
        case Compare():
            return _compared(cond)
        case Every(of):
            return " ∧ ".join(_inner(c) for c in of) or "always"
        case Some(of):
            return " ∨ ".join(_inner(c) for c in of) or "never"
        case Negation(of_):
            return f"¬({condition(of_)})"


def _inner(cond: Cond) -> str:
    text = condition(cond)
    return text if isinstance(cond, Compare) else f"({text})"


def _compared(cond: Compare) -> str:
    """``d ≥ e``, ``d ≤ e`` or ``d = e`` for the first dimension with factor one."""
    sign = {"ge": "≥", "eq": "="}[cond.kind]
    for atom, k in cond.of.terms:
        if isinstance(atom, Dim) and abs(k) == 1:
            rest = (expr(atom) * k - cond.of) * k
            turned = "≤" if k < 0 and sign == "≥" else sign
            return f"{atom} {turned} {index_text(rest)}"
    return f"{index_text(cond.of)} {sign} 0"


def filling(node: Node) -> float | int | bool | None:
    """The number that fills a whole value, however it was repeated."""
    while isinstance(node.op, Read | Reshape | Broadcast | Part):
        (node,) = node.args
    found = node.op.values if isinstance(node.op, Const) else ()
    return found[0] if len(found) == 1 else None


def is_cast(node: Node) -> bool:
    return isinstance(node.op, Map) and node.op.fn == "cast"


def point_of(node: Node) -> str:
    return f"[{', '.join(map(str, node.domain))}]" if node.domain else ""


def kind_of(node: Node) -> str:
    """The set that a value is from, where it is not a real number."""
    signs = {"b": "𝔹", "i": "ℤ", "u": "ℕ", "f": "ℝ"}
    numbers = all(s.is_const for s in node.shape)
    sizes = "×".join(index_text(s) for s in node.shape)
    power = "ˣ".join(superscript(s.const) for s in node.shape) if numbers else f"^({sizes})"
    field_ = signs[node.dtype[0]] if node.dtype != "bfloat16" else "ℝ"
    return "" if field_ == "ℝ" and not sizes else f"∈ {field_}{power if sizes else ''}"
