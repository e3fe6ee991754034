"""Normal forms of values: equal ones are equal for all leaves, sizes and points.

Two readings. *Exact*: floating-point operations are symbols with the few laws that hold bit for bit
(signs, units, operand order of one addition). *Real*: sums and products are those of a commutative
ring, and folds do not care about the order or grouping of their axes.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from ostinato.pdg.functions import FUNCTIONS, POSITIONS, REPEATED
from ostinato.rewrite.prove.application import (
    Call,
    Choice,
    Fold,
    Leaf,
    Less,
    Number,
    Recursion,
    Test,
    Value,
    free,
    key,
    operands,
    rename,
)
from ostinato.rewrite.prove.integers import Clip, Poly, Var, is_less, never_negative, poly
from ostinato.rewrite.relations.meanings import EXACT

ONE, ZERO = Number(Fraction(1)), Number(Fraction(0))
_ORDERLESS = frozenset(f.name for f in FUNCTIONS.values() if f.commutes)
_ADDS = frozenset(("sum", "dot", "scan sum"))
_LATTICE = frozenset(EXACT.values())
_MOST_ORDERS = 720
_MOST_FACTORS = 8


def height(value: Value) -> int:
    """How deep folds nest."""
    inner = max(map(height, operands(value)), default=0)
    return inner + isinstance(value, Fold | Recursion)


_LEAST = Call("unit max", ())  # minus infinity


def unit_of(fn: str) -> Value:
    """What a fold of nothing gives."""
    return {"sum": ZERO, "prod": ONE}.get(fn, Call(f"unit {fn}", ()))


def _is_of_nothing(over: Iterable[Var]) -> bool:
    return any(v.size is not None and never_negative(-v.size) for v in over)


def _untiled(over: Sequence[Var], parts: Sequence[Value]) -> tuple[list[Var], list[Value]]:
    """Positions of tiles as positions of what the tiles make up, where only these count."""
    for c, v in itertools.permutations(over, 2):
        clip = next((a for m, _ in v.size.terms for a in m), None) if v.size is not None else None
        if c.size is None or not isinstance(clip, Clip) or v.size != poly(clip):
            continue
        total = clip.of + clip.most * c
        if c in total.variables() or not never_negative(c.size * clip.most - total):
            continue
        whole = Var(f"{v.name}.", total)
        moved = [rename(part, {v: poly(whole) - clip.most * c}) for part in parts]
        others = [w for w in over if w not in (c, v)]
        used = [free(part) for part in moved] + [w.size.variables() for w in others if w.size]
        if not any({c, v} & names for names in used):
            return _untiled([*others, whole], moved)
    return list(over), list(parts)


def _named(over: Sequence[Var], body: Value) -> tuple[tuple[Var, ...], Value]:
    """Bound variables with the names that their height gives."""
    level, by, kept = height(body) + 1, dict[Var, Poly](), list[Var]()
    for k, v in enumerate(over):
        size = v.size.renamed(by) if v.size is not None else None
        kept.append(Var(f"~{level}.{k}", size))
        by[v] = poly(kept[-1])
    return tuple(kept), rename(body, by)


def _without_units(over: Sequence[Var], body: Value) -> tuple[list[Var], Value]:
    """Axes of size 1 have one position."""
    gone = {v: poly(0) for v in over if v.size is not None and v.size.constant == 1}
    return [v for v in over if v not in gone], rename(body, gone) if gone else body


# -------------------------------------------------------------------- bit for bit


def exact(value: Value) -> Value:
    """The normal form in which every operation rounds as it is written."""
    return _exact(value, False)


def signless(value: Value) -> Value:
    """The same, where a zero of either sign is one number."""
    return _exact(value, True)


def _exact(value: Value, loose: bool) -> Value:
    match value:
        case Leaf() | Number():
            return value
        case Call(fn, args):
            parts = [_exact(a, loose) for a in args]
            return _signless_call(fn, parts) if loose else _exact_call(fn, parts)
        case Fold(fn, over, body):
            left, inner = _without_units(over, body)
            bare = fn.removeprefix("scan ")
            if _is_of_nothing(left) and bare in REPEATED:
                return unit_of(bare)
            inner = _exact(inner, loose)
            if not left and over:
                return ZERO if fn in POSITIONS else inner
            if bare in EXACT and isinstance(inner, Fold) and inner.fn == bare:
                left, (inner,) = _untiled(*_flat(left, inner))
            if loose and fn in _ADDS and isinstance(inner, Call) and inner.fn == "neg":
                return Call("neg", (Fold(fn, *_named(left, inner.args[0])),))
            return Fold(_plain(fn), *_named(left, inner))
        case Recursion():
            return _recursion(value, _exact(value.factor, loose), _exact(value.body, loose))
        case Choice(test, yes, no):
            a, b = _exact(yes, loose), _exact(no, loose)
            return a if key(a) == key(b) else Choice(test, a, b)


def _flat(over: Sequence[Var], inner: Fold) -> tuple[list[Var], list[Value]]:
    """A fold of folds of the same kind as one."""
    fresh = {v: Var(f"~m{len(over) + k}", v.size) for k, v in enumerate(inner.over)}
    return [*over, *fresh.values()], [rename(inner.body, {v: poly(w) for v, w in fresh.items()})]


def _recursion(value: Recursion, factor: Value, body: Value) -> Value:
    level = max(height(factor), height(body)) + 1
    step = Var(f"~{level}.0", value.step.size)
    by = {value.step: poly(step)}
    parts = rename(factor, by), rename(body, by)
    return Recursion(value.reverse, step, *parts, value.at, value.size)


def _plain(fn: str) -> str:
    """The name of a fold; the greatest and the least of some numbers have no order to respect."""
    bare = fn.removeprefix("scan ")
    return bare if bare in ("max", "min", "any", "all") else fn


def _exact_call(fn: str, args: list[Value]) -> Value:
    match fn, args:
        case "stop_gradient", [x]:
            return x
        case "abs", [Call(("abs" | "neg"), (x,))]:
            return Call("abs", (x,))
        case _, [Call(cast, (Leaf() as leaf,))] if leaf.is_truth and _are_casts(fn, cast):
            return Call(fn, (leaf,))
        case "neg", [Call("neg", (x,))]:
            return x
        case "not", [Call("not", (x,))]:
            return x
        case "neg", [Number(of)]:
            return Number(-of)
        case "sub", [x, y]:
            return _exact_call("add", [x, _exact_call("neg", [y])])
        case (("mul" | "div"), [x, y]) if any(isinstance(a, Call) and a.fn == "neg" for a in args):
            bare = [a.args[0] if isinstance(a, Call) and a.fn == "neg" else a for a in (x, y)]
            flips = sum(isinstance(a, Call) and a.fn == "neg" for a in (x, y))
            inner = _exact_call(fn, bare)
            return _exact_call("neg", [inner]) if flips == 1 else inner
        case "add", [x, y] if key(x) == key(y):  # both are exact or overflow
            return _exact_call("mul", [Number(Fraction(2)), x])
        case (("mul" | "div"), [x, Number(of)]) if of == 1:
            return x
        case "mul", [Number(of), x] if of == 1:
            return x
        case "where", [_, x, y] if key(x) == key(y):
            return x
        case "where", [Number(Fraction() as of), x, y]:
            return y if of == 0 else x
        case "where", [Call("not", (c,)), x, y]:
            return Call(fn, (c, y, x))
        case _ if fn in _LATTICE:
            return _lattice(fn, args)
        case _:
            ordered = sorted(args, key=key) if fn in _ORDERLESS else args
            return Call(fn, tuple(ordered))


def _lattice(fn: str, args: Sequence[Value]) -> Value:
    """The greatest of some numbers, and its like: neither order nor repetition matters."""
    flat = [p for a in args for p in (a.args if isinstance(a, Call) and a.fn == fn else (a,))]
    parts = {key(p): p for p in flat}
    ordered = tuple(parts[k] for k in sorted(parts))
    return ordered[0] if len(ordered) == 1 else Call(fn, ordered)


def _are_casts(*fns: str) -> bool:
    return all(fn.startswith("cast:") for fn in fns)


def _signless_call(fn: str, args: list[Value]) -> Value:
    match fn, args:
        case "sub", [x, y]:
            return _signless_call("add", [x, _signless_call("neg", [y])])
        case "add", [Number(of), x] if of == 0:
            return x
        case "add", [x, Number(of)] if of == 0:
            return x
        case "neg", [Call("add", (x, y))]:
            return _signless_call("add", [_exact_call("neg", [x]), _exact_call("neg", [y])])
        case _:
            return _exact_call(fn, args)


# -------------------------------------------------------------------- real numbers

Ring = dict[tuple[str, ...], tuple[tuple[Value, ...], Fraction]]  # by the keys of the factors


def real(value: Value) -> Value:
    """The normal form over the real numbers."""
    return _as_value(ring(value))


def term(factors: Iterable[Value], k: Fraction) -> Ring:
    ordered = tuple(sorted(_without_inverses(list(factors)), key=key))
    return {tuple(map(key, ordered)): (ordered, k)} if k else {}


def plus(*rings: Ring) -> Ring:
    out: Ring = {}
    for r in rings:
        for name, (factors, k) in r.items():
            total = k + (out[name][1] if name in out else 0)
            out[name] = (factors, total)
    return {name: found for name, found in out.items() if found[1]}


def times(a: Ring, b: Ring) -> Ring:
    pairs = itertools.product(a.values(), b.values())
    return plus(*(term((*f, *g), j * k) for (f, j), (g, k) in pairs))


def _as_value(r: Ring) -> Value:
    terms = [(tuple(sorted(f, key=key)), k) for f, k in r.values()]
    terms.sort(key=lambda t: [key(f) for f in t[0]])
    products = tuple(_product(f, k) for f, k in terms)
    return products[0] if len(products) == 1 else Call("+", products) if products else ZERO


def _product(factors: tuple[Value, ...], k: Fraction) -> Value:
    if not factors:
        return Number(k)
    scaled = factors if k == 1 else (Number(k), *factors)
    return scaled[0] if len(scaled) == 1 else Call("*", scaled)


def ring(value: Value) -> Ring:
    """A sum of products of values that are neither."""
    match value:
        case Number(of):
            return _integer(of) if isinstance(of, Poly) else term((), of)
        case Leaf():
            return term((value,), Fraction(1))
        case Call(fn, args):
            return _ring_call(fn, args)
        case Fold(fn, over, body):
            left, inner = _without_units(over, body)
            if not left and over:
                return term((), Fraction(0)) if fn in POSITIONS else ring(inner)
            return _sum(left, ring(inner)) if fn in _ADDS else _fold(fn, left, inner)
        case Recursion():
            return term((_recursion(value, real(value.factor), real(value.body)),), Fraction(1))
        case Choice(Less(low, high), yes, no) if (holds := is_less(low, high)) is not None:
            return ring(yes if holds else no)
        case Choice(test, yes, no) if _is_no_exception(test, yes, no):
            return ring(no)
        case Choice(test, yes, no):
            a, b = real(yes), real(no)
            return ring(yes) if key(a) == key(b) else term((Choice(test, a, b),), Fraction(1))


def _is_no_exception(test: Test, yes: Value, no: Value) -> bool:
    """Whether a choice for the first element of a range gives what the other side gives there."""
    if not isinstance(test, Less):
        return False
    first = next((v for v in test.b.variables() if test.b - test.a == poly(1) - v), None)
    if first is None or first.size is None:
        return False
    return key(real(rename(no, {first: poly(0)}))) == key(real(yes))


def _integer(p: Poly) -> Ring:
    one = Fraction(1)
    return plus(*(term((Number(poly(a)) for a in monomial), one * k) for monomial, k in p.terms))


def _ring_call(fn: str, args: tuple[Value, ...]) -> Ring:
    match fn, args:
        case "add", (x, y):
            return plus(ring(x), ring(y))
        case "+", _:
            return plus(*map(ring, args))
        case "*", _:
            return functools.reduce(times, map(ring, args))
        case "sub", (x, y):
            return plus(ring(x), times(term((), Fraction(-1)), ring(y)))
        case "neg", (x,):
            return times(term((), Fraction(-1)), ring(x))
        case "mul", (x, y):
            return times(ring(x), ring(y))
        case "div", (x, y):
            return times(ring(x), _inverse(real(y)))
        case "cast:real", (Call("ge" | "le" | "and" | "or") as c,):
            return ring(Call("where", (c, ONE, ZERO)))
        case (("stop_gradient" | "cast:real"), (x,)) | ("log", (Call("exp", (x,)),)):
            return ring(x)
        case "pow", (x, y):
            return _power(x, y)
        case "exp", (x,):
            return _exponential(ring(x))
        case "where", (Call("isfinite"), x, _):
            return ring(x)  # numbers are real
        case "where", (_, x, y) if key(real(x)) == key(real(y)):
            return ring(x)
        case "where", (Call("not", (c,)), x, y):
            return ring(Call("where", (c, y, x)))
        case "where", (c, x, y) if key(real(y)) == "0" and key(real(x)) != "1":
            return times(ring(x), ring(Call("where", (c, Number(Fraction(1)), ZERO))))
        case _ if fn in _LATTICE:
            joined = _lattice(fn, [real(a) for a in args])
            alone = not isinstance(joined, Call) or joined.fn != fn
            return ring(joined) if alone else term((joined,), Fraction(1))
        case _:
            inner = [real(a) for a in args]
            ordered = sorted(inner, key=key) if fn in _ORDERLESS else inner
            return term((Call(fn, tuple(ordered)),), Fraction(1))


def _exponential(exponent: Ring) -> Ring:
    """A product with a factor for each term of the exponent; 0 where that is least of all."""
    if any(factors == (_LEAST,) and k > 0 for factors, k in exponent.values()):
        return {}
    out = term((), Fraction(1))
    for factors, k in exponent.values():
        count = abs(k.numerator) if k.denominator == 1 else 1
        rest = k / count
        name = "exp" if rest > 0 else "inverse exp"
        power = Call(name, (_as_value(term(factors, abs(rest))),))
        for _ in range(count):
            out = times(out, term((power,), Fraction(1)))
    return out


def _without_inverses(factors: list[Value]) -> list[Value]:
    """Powers and their inverses cancel."""
    out = list(factors)
    for factor in factors:
        if isinstance(factor, Call) and factor.fn == "inverse exp":
            wanted = key(Call("exp", factor.args))
            other = next((f for f in out if key(f) == wanted), None)
            if other is not None:
                out.remove(other)
                out.remove(factor)
    return out


def _power(x: Value, y: Value) -> Ring:
    """``x ** (n + rest)`` with the whole number n as n factors."""
    while isinstance(y, Call) and y.fn == "cast:real":
        (y,) = y.args
    if isinstance(x, Call) and x.fn == "pow":
        x = real(x)
    if isinstance(x, Call) and x.fn == "exp":
        return _exponential(times(ring(x.args[0]), ring(y)))
    whole = _whole(y.of) if isinstance(y, Number) else 0
    out = term((), Fraction(1))
    if not isinstance(y, Number) or not 0 <= whole <= _MOST_FACTORS:
        return term((Call("pow", (real(x), real(y))),), Fraction(1))
    for _ in range(whole):
        out = times(out, ring(x))
    rest = Number(y.of - whole)
    last = {} if key(rest) == "0" else term((Call("pow", (real(x), rest)),), Fraction(1))
    return times(out, last) if last else out


def _whole(of: Fraction | Poly) -> int:
    """The known whole part of an exponent."""
    if isinstance(of, Poly):
        return sum(k for monomial, k in of.terms if not monomial)
    return int(of) if of.denominator == 1 else 0


def _inverse(y: Value) -> Ring:
    if isinstance(y, Number) and isinstance(y.of, Fraction) and y.of:
        return term((), 1 / y.of)
    if isinstance(y, Call) and y.fn == "*":
        return functools.reduce(times, map(_inverse, y.args))
    if isinstance(y, Call) and y.fn == "exp":
        return term((Call("inverse exp", y.args),), Fraction(1))
    return term((Call("inverse", (y,)),), Fraction(1))


def _sum(over: Sequence[Var], body: Ring) -> Ring:
    """The sum of a ring over variables: linear, and factors free of them move out."""
    if _is_of_nothing(over):
        return {}  # nothing is added
    return plus(*(times(term((), k), _sum_of(over, f)) for f, k in body.values()))


def _sum_of(over: Sequence[Var], factors: Sequence[Value]) -> Ring:
    variables, inside = list(over), list[Value]()
    outside: list[Value] = []
    for factor in factors:
        if not free(factor) & frozenset(over):
            outside.append(factor)
        elif isinstance(factor, Fold) and factor.fn == "sum":
            fresh = {v: Var(f"~m{len(variables) + k}", v.size) for k, v in enumerate(factor.over)}
            moved = rename(factor.body, {v: poly(w) for v, w in fresh.items()})
            variables += fresh.values()
            inside += moved.args if isinstance(moved, Call) and moved.fn == "*" else [moved]
        else:
            inside.append(factor)
    out = term(outside, Fraction(1))
    for part, used in _connected(variables, inside):
        out = times(out, _total(part, used) if used else _integer(_count(part)))
    return out


def _count(over: Sequence[Var]) -> Poly:
    (v,) = over
    assert v.size is not None, f"a sum over all {v.name}"
    return v.size


def _connected(
    variables: Sequence[Var], factors: Sequence[Value]
) -> list[tuple[list[Var], list[Value]]]:
    """Sums that share no variable are a product of sums."""
    groups: list[tuple[set[Var], list[Value]]] = [({v}, []) for v in variables]
    links: list[tuple[frozenset[Var], Value | None]] = [(free(f), f) for f in factors]
    links += [(v.size.variables() | {v}, None) for v in variables if v.size is not None]
    for used, factor in links:
        touched = [g for g in groups if g[0] & used]
        merged = (set[Var]().union(*(g[0] for g in touched)), [f for g in touched for f in g[1]])
        if factor is not None:
            merged[1].append(factor)
        groups = [g for g in groups if not g[0] & used] + [merged]
    return [([v for v in variables if v in g], f) for g, f in groups if g]


def _total(over: Sequence[Var], factors: Sequence[Value]) -> Ring:
    """One sum whose variables are named so that no order of them matters."""
    return term((_best("sum", *_untiled(over, factors), "*"),), Fraction(1))


def _best(fn: str, over: Sequence[Var], parts: Sequence[Value], joined: str) -> Value:
    texts = [key(part) for part in parts]
    marks = {v: _mark(v, over, texts) for v in over}
    groups = [[v for v in over if marks[v] == mark] for mark in sorted({*marks.values()})]
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    flat = (tuple(itertools.chain(*order)) for order in itertools.islice(orders, _MOST_ORDERS))
    return min((_ordered(fn, order, parts, joined) for order in flat), key=key)


def _mark(v: Var, over: Sequence[Var], texts: Sequence[str]) -> str:
    """Where a variable stands, whatever the variables of the fold are called."""
    names = "|".join(re.escape(w.name) for w in over)
    word = re.compile(rf"(?<![\w~.'])(?:{names})(?![\w.'])")
    return "\n".join(sorted(word.sub(lambda m: "@" if m[0] == v.name else "?", t) for t in texts))


def _ordered(fn: str, over: Sequence[Var], parts: Sequence[Value], joined: str) -> Value:
    whole = parts[0] if len(parts) == 1 else Call(joined, tuple(parts))
    kept, body = _named(over, whole)
    if isinstance(body, Call) and body.fn == joined:
        body = Call(joined, tuple(sorted(body.args, key=key)))
    return Fold(fn, kept, body)


def _fold(fn: str, over: Sequence[Var], body: Value) -> Ring:
    inner, fn = real(body), fn.removeprefix("scan ")
    if _is_of_nothing(over) and fn in REPEATED:
        return ring(unit_of(fn))
    if fn in POSITIONS and _is_of_nothing(over):
        return {}
    if fn in POSITIONS or fn == "row":
        return term((Fold(fn, *_named(over, inner)),), Fraction(1))
    variables = list(over)
    while isinstance(inner, Fold) and inner.fn == fn:
        fresh = {v: Var(f"~m{len(variables) + k}", v.size) for k, v in enumerate(inner.over)}
        variables += fresh.values()
        inner = rename(inner.body, {v: poly(w) for v, w in fresh.items()})
    return term((_best(fn, *_untiled(variables, [inner]), "*"),), Fraction(1))
