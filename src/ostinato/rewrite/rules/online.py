"""Incremental: sums of exponentials over growing ranges, one step per point, without overflow.

``sum_{s <= t} exp(l[s] - m[t]) v[s]`` is a linear recurrence with the factor
``exp(m[t - 1] - m[t])``, which is at most 1 where m is the greatest value so far. Where m is
infinite, 0 takes its place: no step subtracts infinities, and a beginning that sees nothing (all
``-inf``) spoils nothing behind it. ``m - m`` is added where the definition subtracts infinities: it
is 0, or NaN. What is the same along the range leaves the sum first.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.rewrite.engine.rule import Rule

ONE_STEP = "One multiply-add per point instead of one pass over the whole range."
OUTSIDE = "What is the same along the range is applied once, after the sum."
SAFE = "A recurrence needs a factor that is a number at every step."
PROOF = "proofs/test_online.py"


@dataclass(frozen=True, slots=True)
class _Side:
    """What was seen so far, or what is still to come."""

    range: str
    running: str  # the running fold
    neighbour: str
    reverse: int
    suffix: str

    @property
    def most(self) -> str:
        return f'({self.running} "max" d x)'

    @property
    def finite(self) -> str:
        return f'(map3 "where" (map1 "isfinite" {self.most}) {self.most} (reshape 0 o z))'

    @property
    def term(self) -> str:
        return f'(map1 "exp" (map2 "sub" x {self.finite}))'

    @property
    def gain(self) -> str:
        power = f'(map1 "exp" (map2 "sub" (at d b {self.most}) {self.finite}))'
        return f"(case k {power} (bcast h (reshape 0 o u)))"

    @property
    def undefined(self) -> str:
        return f'(map2 "sub" {self.most} {self.most})'

    @property
    def facts(self) -> tuple[str, ...]:
        return (
            f"({self.range} d s)",
            "(!= 0 (& d (dom x)))",
            "(= r (rank x))",
            "(= h (shape x))",
            "(= e (dtype x))",
            "(zero e z)",
            f"(= q (reshape r (cons (size 1) h) {self.most}))",
        )

    @property
    def steps(self) -> tuple[str, ...]:
        return (f"({self.neighbour} d b k)", "(ones r o)", "(unit e u)")


_PAST = _Side("prefix", "scan", "before", 0, "")
_COMING = _Side("suffix", "back", "after", 1, "-to-come")
_SHIFT = ("(= 0.0 (value y))", "(= w (rank y))", "(= w (+ 1 r))", "(axis y w (size 1))")
_VECTORS = ("(= 0 r)", "(= 1 (rank v))", "(= n (size (length s)))")
_GROWING = ("(axis a k n)", "(= n (size (length s)))", "(growing s)", "(= m (<< 1 (- k 1)))")
_FIXED = ("(axis y k (size 1))", *_GROWING, "(filled n)")


def _powers(shift: str) -> str:
    return f'(map1 "exp" (map2 "sub" (sl d s x) {shift}))'


def _column(x: str) -> str:
    """Numbers of a range beside its vectors."""
    return f"(reshape 1 (cons n (cons (size 1) (nil))) {x})"


def _number(x: str) -> str:
    """A number beside a vector."""
    return f"(reshape 0 (cons (size 1) (nil)) {x})"


def _step(name: str, side: _Side, left: str, right: str, *when: str) -> Rule:
    weight = "" if right == side.term else " v[{}]"
    weights = [weight.format(p) for p in "sd"]
    near = "d + 1" if side.reverse else "d - 1"
    return Rule(
        name=f"incremental/{name}{side.suffix}",
        law=f"sum_s exp(x[s] - m[d]){weights[0]} = y where "
        f"y[d] = exp(x[d] - m[d]){weights[1]} + exp(m[{near}] - m[d]) y[{near}]",
        reason=ONE_STEP,
        left=f'(red "sum" m {left})',
        right=f"(lin d {side.reverse} {right})",
        when=(*side.facts, *side.steps, *_SHIFT, *when),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _steps(side: _Side) -> tuple[Rule, ...]:
    """The recurrences of sums of powers, alone and with weights of the same rank or of vectors."""
    vectors = f"{_number(side.gain)} {_times(_number(side.term), 'v')}"
    return (
        _step("sum-of-powers", side, _SHIFTED, f"{side.gain} {side.term}", "(= m (<< 1 (rank x)))"),
        _step(
            "softmax-sum",
            side,
            _times(_SHIFTED, _SLICE),
            f"{side.gain} {_times(side.term, 'v')}",
            *_ROWS,
        ),
        _step(
            "softmax-sum-of-vectors",
            side,
            _times(_column(_SHIFTED), _SLICE),
            vectors,
            *_OF_VECTORS,
        ),
    )


def _safe(name: str, side: _Side, left: str, right: str, undefined: str, *when: str) -> Rule:
    """The sum with 0 instead of an infinite shift, and NaN where that was infinite."""
    return Rule(
        name=f"incremental/{name}{side.suffix}",
        law="sum_s exp(x[s] - m) v[s], m the greatest of the range, = the same with 0 for "
        "an infinite m, + (m - m)",
        reason=SAFE,
        left=f'(red "sum" m {left})',
        right=f'(map2 "add" (red "sum" m {right}) {undefined})',
        when=(*side.facts, "(ones p o)", "(= p (+ 1 r))", *when),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _guarded(side: _Side) -> tuple[Rule, ...]:
    rows, vectors = _times(_GUARDED, _SLICE), _times(_column(_GUARDED), _SLICE)
    alone = "(= m (<< 1 (rank x)))"
    pairs = (("", (_POWERS, _SLICE)), ("-swapped", (_SLICE, _POWERS)))
    beside = (("", (_column(_POWERS), _SLICE)), ("-swapped", (_SLICE, _column(_POWERS))))
    return (
        _safe("safe-sum-of-powers", side, _POWERS, _GUARDED, side.undefined, alone),
        *(
            _safe(f"safe-softmax-sum{suffix}", side, _times(*pair), rows, side.undefined, *_ROWS)
            for suffix, pair in pairs
        ),
        *(
            _safe(
                f"safe-softmax-sum-of-vectors{suffix}",
                side,
                _times(*pair),
                vectors,
                _number(side.undefined),
                *_OF_VECTORS,
            )
            for suffix, pair in beside
        ),
    )


def _leaves(name: str, op: str, left: str, inner: str) -> Rule:
    return Rule(
        name=f"incremental/{name}",
        law=f"sum_s of terms with a factor ({op}) that is the same for all s of a growing range "
        "= the sum without it, with the factor",
        reason=OUTSIDE,
        left=f'(red "sum" m {left})',
        right=f'(map2 "{op}" (red "sum" m {inner}) (part k 0 y))',
        when=_FIXED,
        exact="distributes",
        valid="inside the box",
        proof=PROOF,
    )


_POWERS = _powers("q")
_SHIFTED = _powers('(map3 "where" (map1 "isfinite" q) q y)')
_GUARDED = _powers('(map3 "where" (map1 "isfinite" q) q (reshape 0 o z))')
_SLICE = "(sl d s v)"


def _times(a: str, b: str) -> str:
    return f'(map2 "mul" {a} {b})'


_ROWS = ("(= r (rank v))", "(= m (<< 1 (rank v)))")
_OF_VECTORS = (*_VECTORS, "(= m (<< 1 (rank v)))")
ONLINE: tuple[Rule, ...] = (
    *(rule for side in (_PAST, _COMING) for rule in (*_steps(side), *_guarded(side))),
    _leaves("sum-of-quotients", "div", '(map2 "div" a y)', "a"),
    _leaves("quotient-leaves-first", "div", _times('(map2 "div" a y)', "b"), _times("a", "b")),
    _leaves("quotient-leaves-last", "div", _times("b", '(map2 "div" a y)'), _times("b", "a")),
    *(
        _leaves(f"factor-leaves-{name}", "mul", product, _times("a", "b"))
        for name, product in (
            ("first", _times(_times("y", "a"), "b")),
            ("second", _times(_times("a", "y"), "b")),
            ("third", _times("b", _times("y", "a"))),
            ("fourth", _times("b", _times("a", "y"))),
        )
    ),
    Rule(
        name="incremental/column-of-quotients",
        law="the quotients of a growing range as a column = the range as a column, divided",
        reason="What is the same along a range is seen to be so beside vectors too.",
        left=_column('(map2 "div" a y)'),
        right=f'(map2 "div" {_column("a")} (reshape 1 (cons (size 1) (cons (size 1) (nil))) y))',
        when=("(axis y 1 (size 1))", "(= 1 (rank y))", "(axis a 1 n)", *_GROWING[1:3]),
        proof=PROOF,
    ),
    Rule(
        name="incremental/product-as-sum",
        law="weights of a growing range @ its vectors = sum_s weights[s] vectors[s]",
        reason="A product with a growing range is a running sum where the weights allow it.",
        left="(mm (reshape 1 (cons (size 1) (cons n (nil))) a) (sl d s v))",
        right=f"(reshape 1 (cons (size 1) (cons c (nil))) "
        f'(red "sum" 2 {_times(_column("a"), _SLICE)}))',
        when=(
            "(growing s)",
            "(= n (size (length s)))",
            "(= 1 (rank v))",
            "(= 1 (rank a))",
            "(axis a 1 n)",
            "(axis v 1 c)",
            "(!= 0 (& d (dom v)))",
        ),
        exact="reassociates",
        proof=PROOF,
    ),
)
