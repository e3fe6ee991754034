"""Tiles: softmax-weighted sums over long ranges, a tile at a time, without a row of scores.

A range of n steps is made of tiles, one for each step of a new dimension: the greatest score, the
sum of powers and the weighted sum of every tile, each shifted by the tile's own greatest score, are
joined along it as in `ostinato.rewrite.rules.online`. So the scores may depend on the
point, as those of attention do, and only a tile of them exists at a time. A tile may be empty: its
greatest score is -inf, for which 0 takes its place, and its sums are 0.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from ostinato.rewrite.engine.rule import Rule

ROWLESS = "Scores exist for one tile at a time: no row of all of them lies in memory."
INWARDS = "A tile of what was computed is computed from tiles."
BESIDE = "What is the same along the range is applied once, after the sum."
PROOF = "proofs/test_tiles.py"

_COLUMN = "(cons (size 1) (nil))"


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


def _finite(most: str, nothing: str) -> str:
    return f'(map3 "where" (map1 "isfinite" {most}) {most} {nothing})'


def _beside(x: str) -> str:
    """Numbers of rows as columns of width 1."""
    return f"(reshape 0 {_COLUMN} {x})"


def _power(x: str, shift: str) -> str:
    return f'(map1 "exp" {_m2("sub", x, shift)})'


_MOST = '(red "max" 1 x)'
_TILE = '(red "max" 1 (cut 1 p x))'
_RANGE = (
    "(tiled n p c)",
    "(final c e)",
    "(axis x 1 (size n))",
    "(= 0 (& c (dom x)))",
)
_STEPS = (
    "(before c b k)",
    "(= t (dtype x))",
    "(zero t z)",
    "(unit t u)",
    "(= r (rank x))",
    "(ones r o)",
)


def _joined(numbers: str, terms: str, ones: str) -> str:
    """The sums of all tiles as one, a linear recurrence that is shifted by the greatest so far.

    ``numbers``: the greatest scores as numbers beside the sums.
    """
    most, greatest = numbers.format(_TILE), numbers.format(f'(scan "max" c {_TILE})')
    before = numbers.format(f'(at c b (scan "max" c {_TILE}))')
    shift = _finite(greatest, f"(reshape 0 {ones} z)")
    gain = f"(case k {_power(before, shift)} (bcast h (reshape 0 {ones} u)))"
    return f"(at c e (lin c 0 {gain} {_m2('mul', _power(most, shift), terms)}))"


_POWERS = _power("(cut 1 p x)", _finite(_beside(_TILE), "(reshape 0 o z)"))
_NUMBERS, _COLUMNS = "{}", _beside("{}")


def _rule(name: str, law: str, left: str, right: str, *when: str) -> Rule:
    """``m``: the shape of the greatest scores."""
    return Rule(
        name=f"incremental/{name}-in-tiles",
        law=law,
        reason=ROWLESS,
        left=left,
        right=right,
        when=(*_RANGE, f"(= m (shape {_MOST}))", *when),
        also=(f"(set (shape {_TILE}) m)",),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _alone() -> Rule:
    """The sum of powers of a row."""
    return _rule(
        "sum-of-powers",
        "sum_s exp(x[s] - m), m the greatest, = y at the last tile, where m[c] is the greatest of "
        "tile c, n[c] that of all up to it, y[c] = exp(n[c - 1] - n[c]) y[c - 1] + "
        "exp(m[c] - n[c]) sum_(s in tile c) exp(x[s] - m[c]), + (m - m)",
        f'(red "sum" 1 {_power("x", _beside(_MOST))})',
        _m2("add", _joined(_NUMBERS, f'(red "sum" 1 {_POWERS})', "l"), _m2("sub", _MOST, _MOST)),
        *_STEPS,
        f"(= h (shape {_MOST}))",
        f"(= s (rank {_MOST}))",
        "(ones s l)",
    )


def _weighted(name: str, law: str, left: str, terms: str, *when: str) -> Rule:
    """Powers of rows times the vectors of a range."""
    most = _beside(_MOST)
    return _rule(
        name,
        law,
        left.format(_power("x", most)),
        _m2("add", _joined(_COLUMNS, terms.format(_POWERS), "o"), _m2("sub", most, most)),
        *_STEPS,
        "(axis v 2 (size n))",
        "(= 0 (& c (dom v)))",
        f"(= h (shape {most}))",
        *when,
    )


_ROW = "(reshape 1 (cons (size 1) (cons (size {}) (nil))) {})"
_COLUMN_OF = "(reshape 1 (cons (size n) (cons (size 1) (nil))) {})"
_FOLDS = (
    replace(
        _rule(
            "max",
            "the greatest of a range = the greatest of the greatest of its tiles",
            _MOST,
            f'(at c e (scan "max" c {_TILE}))',
        ),
        exact="exact",
    ),
    _alone(),
    _weighted(
        "softmax-product",
        "sum_s exp(x[s] - m) v[s] in the same way, with the powers of a tile @ its vectors",
        "(mm {} v)",
        "(mm {} (cut 2 p v))",
        "(= r (rank v))",
    ),
    _weighted(
        "softmax-sum-of-vectors",
        "sum_s exp(x[s] - m) v[s] in the same way, with the powers of a tile @ its vectors",
        f'(red "sum" 2 {_m2("mul", _COLUMN_OF, "v")})',
        f"(part 2 0 (mm {_ROW.format('l', '{}')} (cut 2 p v)))",
        "(= (+ 1 r) (rank v))",
        "(= l (length p))",
    ),
    *(
        Rule(
            name=f"incremental/{name}-beside",
            law="an axis that stays in front of a reshape is no part of it",
            reason="One spelling of numbers beside rows.",
            left=f"(reshape q (cons z h) {y})",
            right=f"(reshape (- q 1) h {y})",
            when=("(tile n p)", f"(axis {x} 1 (size n))", f"(axis {y} q z)"),
            proof=PROOF,
        )
        for name, x, y in (("greatest", "x", _MOST), ("weights", "y", "y"))
    ),
    Rule(
        name="incremental/quotient-leaves-product",
        law="(a / y) @ b = (a @ b) / y for one y per row",
        reason=BESIDE,
        left='(mm (map2 "div" a y) b)',
        right='(map2 "div" (mm a b) y)',
        when=("(tile n p)", "(axis a 1 (size n))", "(axis y 1 (size 1))"),
        exact="distributes",
        valid="inside the box",
        proof=PROOF,
    ),
)


def _cut(x: str, k: str = "k") -> str:
    return f"(cut {k} p {x})"


def _inwards(name: str, law: str, left: str, right: str, *when: str, k: str = "k") -> Rule:
    return Rule(
        name=f"incremental/tile-of-{name}",
        law=law,
        reason=INWARDS,
        left=_cut(left, k),
        right=right,
        when=("(tile n p)", *when),
        proof=PROOF,
    )


def _elementwise(op: str, names: tuple[str, ...], long: tuple[bool, ...]) -> Rule:
    """A function of operands of which some are as long as the range, and others have one element.

    Whatever has one element along the axis stays.
    """
    parts = (_cut(name) if is_long else name for name, is_long in zip(names, long, strict=True))
    facts = [
        f"(axis {name} k {'(size n)' if is_long else '(size 1)'})"
        for name, is_long in zip(names, long, strict=True)
    ]
    kinds = "".join("s" if is_long else "c" for is_long in long)
    return Rule(
        name=f"incremental/tile-of-{op}-{kinds}",
        law="f(x, y, c)[tile] = f(x[tile], y[tile], c)",
        reason=INWARDS,
        left=_cut(f"({op} f {' '.join(names)})"),
        right=f"({op} f {' '.join(parts)})",
        when=("(tile n p)", *facts),
        proof=PROOF,
    )


_INWARDS = (
    _inwards("map1", "f(x)[tile] = f(x[tile])", "(map1 f x)", f"(map1 f {_cut('x')})"),
    *(
        _elementwise(op, names, long)
        for op, names in (("map2", ("x", "y")), ("map3", ("x", "y", "w")))
        for long in product((True, False), repeat=len(names))
        if any(long)
    ),
    _inwards("columns", "(x @ y)[.., tile] = x @ y[.., tile]", "(mm x y)",
             f"(mm x {_cut('y', '1')})", k="1"),
    _inwards("rows", "(x @ y)[tile] = x[tile] @ y", "(mm x y)",
             f"(mm {_cut('x', '2')} y)", k="2"),
    _inwards("transposed", "x.T[.., tile] = x[tile].T", "(tr x)", f"(tr {_cut('x', '2')})", k="1"),
    _inwards("transposed-rows", "x.T[tile] = x[.., tile].T", "(tr x)",
             f"(tr {_cut('x', '1')})", k="2"),
    _inwards("moved", "a tile of an axis that was moved = the tile, moved", "(mv j k x)",
             f"(mv j k {_cut('x', 'j')})"),
    _inwards("range", "x[lo:hi][tile] = x[lo + tile]", "(sl d s x)", "(sl d q x)",
             "(piece s p q)", "(= k (+ 1 (rank x)))"),
    _inwards("others", "a tile of an axis of every point = every point of the tile",
             "(sl d s x)", f"(sl d s {_cut('x')})", "(<= k (rank x))", "(= 0 (& d (mask p)))"),
    _inwards("reshaped", "a reshape of the axes behind a tile leaves it", "(reshape r h x)",
             f"(reshape r h {_cut('x', '(+ r (- k w))')})", "(= w (hlen h))", "(< w k)"),
    _inwards("row", "a tile of a row in a matrix = the matrix of the tile",
             _ROW.format("n", "x"),
             _ROW.format("l", _cut("x", "1")),
             "(= l (length p))", "(axis x 1 (size n))", k="1"),
    _inwards("row-of-rows", "a tile of a row in a block = the block of the tile",
             "(reshape 1 (cons (size 1) (cons (size 1) (cons (size n) (nil)))) x)",
             "(reshape 1 (cons (size 1) (cons (size 1) (cons (size l) (nil)))) "
             f"{_cut('x', '1')})",
             "(= l (length p))", "(axis x 1 (size n))", k="1"),
    _inwards("part-behind", "x[.., i][tile] = x[tile][.., i]", "(part i a x)",
             f"(part i a {_cut('x', '(+ k 1)')})", "(<= i k)"),
    _inwards("part-in-front", "x[i][tile] = x[.., tile][i]", "(part i a x)",
             f"(part i a {_cut('x')})", "(< k i)"),
    _inwards("folded", "fold(x)[tile] = fold(x[tile]) along another axis", "(red f 1 x)",
             f"(red f 1 {_cut('x', '(+ k 1)')})"),
)  # fmt: skip
TILES: tuple[Rule, ...] = (*_FOLDS, *_INWARDS)
