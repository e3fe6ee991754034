"""Signs and numbers of mathematical texts."""

from __future__ import annotations

from ostinato.pdg.functions import FUNCTIONS, REPEATED
from ostinato.pdg.index import Expr, Extremum, FloorDiv, Mod, Product
from ostinato.pdg.node import Scalar

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
