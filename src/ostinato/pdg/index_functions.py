"""Integer functions of index expressions."""

from __future__ import annotations

from ostinato.pdg.index import Expr, floordiv, maximum, minimum, mod


def applied(fn: str, args: list[Expr]) -> Expr:
    """An integer function of index expressions."""
    match fn, args:
        case "stop_gradient" | "cast", [x]:
            return x
        case "neg", [x]:
            return -x
        case "add", [x, y]:
            return x + y
        case "sub", [x, y]:
            return x - y
        case "mul", [x, y]:
            return x * y
        case "floordiv", [x, y]:
            return floordiv(x, y.as_int())
        case "mod", [x, y]:
            return mod(x, y.as_int())
        case "minimum" | "maximum", [x, y]:
            return minimum(x, y) if fn == "minimum" else maximum(x, y)
        case _:
            raise AssertionError(f"{fn} of {len(args)} expressions is no expression")
