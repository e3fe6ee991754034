"""Incremental: sums of exponentials over sliding windows, joined from windows of half the length.

A window is two of half the length, each shifted by its own greatest value; the shifts differ by
factors that are at most 1. About ``2 log2 w`` steps for each point instead of w, nothing is ever
taken back out of a sum, and nothing overflows. Infinite greatest values are treated as in
`ostinato.rewrite.rules.online`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ostinato.rewrite.engine.rule import Rule

HALVES = "A long window takes a few steps: it is two windows of half the length."
SAFE = "Windows are joined by factors that have to be numbers."
PROOF = "proofs/test_online.py"


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


def _most(s: str) -> str:
    """The greatest value of a window."""
    return f'(red "max" k (sl d {s} x))'


def _finite(most: str, nothing: str) -> str:
    return f'(map3 "where" (map1 "isfinite" {most}) {most} {nothing})'


def _powers(s: str) -> str:
    """The exponentials of a window, shifted by its greatest value."""
    most = f"(reshape r (cons (size 1) h) {_most(s)})"
    return f'(map1 "exp" {_m2("sub", f"(sl d {s} x)", _finite(most, "y"))})'


_SHIFT = _finite(_most("s"), "(reshape 0 o z)")


def _power(x: str) -> str:
    return f'(map1 "exp" {_m2("sub", x, _SHIFT)})'


@dataclass(frozen=True, slots=True)
class _Sum:
    """What is summed up: exponentials alone, times rows, or times vectors."""

    name: str
    terms: str  # of window {s}
    number: str  # a power beside the sum: {p}
    value: str  # of one step, beside its power
    when: tuple[str, ...]

    def of(self, s: str) -> str:
        return f'(red "sum" m {self.terms.format(powers=_powers(s), s=s)})'

    def scaled(self, power: str, of: str) -> str:
        return _m2("mul", self.number.format(p=power), of)

    @property
    def both(self) -> str:
        """Two windows of half the length, with the shift of the whole."""
        far = self.scaled(_power(f"(at d a {_most('p')})"), f"(at d a {self.of('p')})")
        return _m2("add", self.scaled(_power(_most("p")), self.of("p")), far)

    @property
    def doubled(self) -> str:
        return f"(case c {self.both} {self.of('p')})"

    @property
    def lengthened(self) -> str:
        power = self.number.format(p=_power("(at d i x)"))
        last = _m2("mul", power, self.value) if self.value else power
        return f"(case j {_m2('add', self.both, last)} {self.doubled})"


_SUMS = (
    _Sum("sum-of-powers", "{powers}", "{p}", "", ("(= m (<< 1 (rank x)))",)),
    _Sum(
        "softmax-sum",
        _m2("mul", "{powers}", "(sl d {s} v)"),
        "{p}",
        "(at d i v)",
        ("(= r (rank v))", "(= m (<< 1 (rank v)))"),
    ),
    _Sum(
        "softmax-sum-of-vectors",
        _m2("mul", "(reshape 1 (cons (size n{s}) (cons (size 1) (nil))) {powers})", "(sl d {s} v)"),
        "(reshape 0 (cons (size 1) (nil)) {p})",
        "(at d i v)",
        (
            "(= 0 r)",
            "(= 1 (rank v))",
            "(= m (<< 1 (rank v)))",
            "(= ns (length s))",
            "(= np (length p))",
        ),
    ),
)
_HISTORY = (
    "(!= 0 (& d (dom x)))",
    "(= r (rank x))",
    "(= k (<< 1 r))",
    "(= h (shape x))",
    "(= e (dtype x))",
    "(zero e z)",
)


def _rule(name: str, law: str, left: str, right: str, *when: str) -> Rule:
    return Rule(
        name=f"incremental/sliding-{name}",
        law=law,
        reason=HALVES,
        left=left,
        right=right,
        when=(
            *when,
            *_HISTORY,
            "(ones r o)",
            "(= 0.0 (value y))",
            "(= w (rank y))",
            "(= w (+ 1 r))",
            "(axis y w (size 1))",
        ),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _rules() -> Iterator[Rule]:
    law = "a softmax-weighted sum of a window = those of its halves, with factors for their shifts"
    for each in _SUMS:
        yield _rule(each.name, law, each.of("s"), each.doubled, "(doubled d s p a c)", *each.when)
        ranges = "(lengthened d s p a c i j)"
        yield _rule(
            f"{each.name}-lengthened", law, each.of("s"), each.lengthened, ranges, *each.when
        )


_GUARD = f"(reshape r (cons (size 1) h) {_most('s')})"
_RAW = f'(map1 "exp" {_m2("sub", "(sl d s x)", _GUARD)})'
_GUARDED = f'(map1 "exp" {_m2("sub", "(sl d s x)", _finite(_GUARD, "(reshape 0 q z)"))})'
_UNDEFINED = _m2("sub", _most("s"), _most("s"))


def _safe(name: str, left: str, right: str, undefined: str, *when: str) -> Rule:
    """The sum with 0 instead of an infinite shift, and NaN where that was infinite."""
    return Rule(
        name=f"incremental/sliding-safe-{name}",
        law="sum_s exp(x[s] - m) v[s], m the greatest of the window, = the same with 0 for "
        "an infinite m, + (m - m)",
        reason=SAFE,
        left=f'(red "sum" m {left})',
        right=f'(map2 "add" (red "sum" m {right}) {undefined})',
        when=(
            "(overlapping d s p a c)",
            *_HISTORY,
            "(ones w q)",
            "(= w (+ 1 r))",
            *when,
        ),
        exact="reassociates",
        valid="inside the box",
        proof=PROOF,
    )


def _guards() -> Iterator[Rule]:
    alone, rows, vectors = _SUMS
    yield _safe(alone.name, _RAW, _GUARDED, _UNDEFINED, *alone.when)
    column, history = "(reshape 1 (cons (size ns) (cons (size 1) (nil))) {})", "(sl d s v)"
    for each, place, undefined in (
        (rows, "{}", _UNDEFINED),
        (vectors, column, f"(reshape 0 (cons (size 1) (nil)) {_UNDEFINED})"),
    ):
        raw, guarded = place.format(_RAW), _m2("mul", place.format(_GUARDED), history)
        when = [fact for fact in each.when if "np" not in fact]
        first, last = _m2("mul", raw, history), _m2("mul", history, raw)
        yield _safe(each.name, first, guarded, undefined, *when)
        yield _safe(f"{each.name}-swapped", last, guarded, undefined, *when)


SLIDING: tuple[Rule, ...] = (*_rules(), *_guards())
