"""Incremental: squared distances from the mean of a range, and their like for two histories.

``sum_s (x[s] - mean(x)) (z[s] - mean(z))`` over a growing range takes one product per point: the
distance of the new x from the old mean times that of the new z from the new mean (Welford 1962; z
is x for a variance). Parts of a window are joined by the product of the distances of their means
(Chan, Golub, LeVeque 1983). Neither subtracts a squared sum from a sum of squares: the error grows
with ``mean / deviation``, not with its square, and no variance is below zero.

``tally s c``: c is how many steps slice s has. ``centre d s x n y``: y is the mean of the n values
of x in slice s along d, with a leading axis of size 1.
"""

from __future__ import annotations

from ostinato.rewrite.engine.rule import Exactness, Rule

PROOF = "proofs/test_spread.py"
ONE_STEP = "One product per point instead of two passes over the whole range."
RUNNING = "One running sum serves every range that begins where it begins."
HALVES = "A long window takes a few steps: it is two windows of half the length."
_OWN, _THERE = "(map1 f t)", "(at d a (map1 f t))"  # the steps of slice q, and at a
_TALLY = ("(tally q t)", "(= n (map1 f i))", "(real_cast f)")
MEANS = "Where a mean is known to be one, the distances from it can be summed step by step."

_MEANT = ("(tally s c)", "(real_cast f)", "(= n (map1 f c))", "(= h (shape x))")
_FOLD = "(= m (<< 1 (rank x)))"
_ALIKE = (
    "(= r (rank x))",
    "(= h (shape x))",
    "(= h (shape z))",
    "(ones r o)",
    "(!= 0 (& d (dom x)))",
)


def _m2(fn: str, a: str, b: str) -> str:
    return f'(map2 "{fn}" {a} {b})'


def _sum(s: str, x: str) -> str:
    return f'(red "sum" m (sl d {s} {x}))'


def _mean(total: str, n: str) -> str:
    """A mean from a sum and the count of one point."""
    return _m2("div", total, f"(reshape 0 o {n})")


def _row(x: str) -> str:
    """A value of the point beside a range."""
    return f"(reshape r (cons (size 1) h) {x})"


def _products(s: str, y: str, w: str) -> str:
    """The sum of the products of two distances over a range."""
    distances = _m2("sub", f"(sl d {s} x)", y), _m2("sub", f"(sl d {s} z)", w)
    return f'(red "sum" m {_m2("mul", *distances)})'


def _rule(
    name: str,
    law: str,
    right: str,
    *when: str,
    reason: str = RUNNING,
    exact: Exactness = "exact",
) -> Rule:
    """A law about a sum of products of two distances from means."""
    centres = ("(centre d s x n y)", "(centre d s z n w)")
    return Rule(
        name=f"incremental/spread-{name}",
        law=law,
        reason=reason,
        left=_products("s", "y", "w"),
        right=right,
        when=(*centres, *_ALIKE, _FOLD, *when),
        exact=exact,
        valid="inside the box",
        proof=PROOF,
    )


def _centre(name: str, term: str, *when: str) -> Rule:
    return Rule(
        name=f"incremental/centre-{name}",
        law="the sum of a range over its length is its mean",
        reason=MEANS,
        left="y",
        right="y",
        when=(f"(= y {term})", *_MEANT, _FOLD, *when),
        also=("(centre d s x n y)",),
        proof=PROOF,
    )


def _step(name: str, near: str, running: str, relation: str, neighbour: str) -> Rule:
    """The running sum over one side of the point."""

    def mean(x: str) -> str:
        return _mean(f'({running} "sum" d {x})', "n")

    before = f"(case k (at d b {mean('x')}) x)"
    return _rule(
        name,
        f"sum_s (x[s] - mean(x)) (z[s] - mean(z)) over all that {near} "
        "= the running sum of (x - the mean before) (z - the mean)",
        f'({running} "sum" d {_m2("mul", _m2("sub", "x", before), _m2("sub", "z", mean("z")))})',
        f"({relation} d s)",
        f"({neighbour} d b k)",
        reason=ONE_STEP,
        exact="distributes",
    )


def _elsewhere(name: str, law: str, *where: str) -> Rule:
    """The same as over slice q at another point a; zero for no steps, where c does not hold."""
    there = f"(at d a {_own()})"
    always = name.startswith("always")
    nothing = () if always else ("(= e (dtype lhs))", "(zero e u)")
    right = there if always else f"(case c {there} (bcast h (reshape 0 o u)))"
    return _rule(name, law, right, *where, *_TALLY, *nothing)


def _own() -> str:
    """The sum of products over slice q with its own means."""
    means = (_row(_mean(_sum("q", x), _OWN)) for x in "xz")
    return _products("q", *means)


def _merged(first: str, second: str, gaps: tuple[str, str], share: str) -> str:
    """Sums of products of two parts, with the distances of their means."""
    between = _m2("mul", _m2("mul", *gaps), f"(reshape 0 o {share})")
    return _m2("add", _m2("add", first, second), between)


def _parts(whole: str) -> str:
    """Two windows of half the length, of which the second has elements; ``whole``: their count."""
    means = [_mean(_sum("q", x), _OWN) for x in "xz"]
    gaps = [_m2("sub", mean, f"(at d a {mean})") for mean in means]
    counts = _m2("mul", _OWN, _THERE)
    own = _own()
    return _merged(own, f"(at d a {own})", (gaps[0], gaps[1]), _m2("div", counts, whole))


def _one_more() -> str:
    """Both windows and one element."""
    both = _m2("add", _OWN, _THERE)
    sums = (_m2("add", _sum("q", x), f"(at d a {_sum('q', x)})") for x in "xz")
    gaps = [
        _m2("sub", _mean(total, both), f"(at d j {x})") for total, x in zip(sums, "xz", strict=True)
    ]
    between = _m2("mul", _m2("mul", *gaps), f"(reshape 0 o {_m2('div', both, 'n')})")
    return _m2("add", _parts(both), between)


SPREAD: tuple[Rule, ...] = (
    _centre(
        "of-row",
        _m2("div", _row(_sum("s", "x")), "(reshape 0 q n)"),
        "(= r (rank x))",
    ),
    _centre(
        "as-row",
        _row(_m2("div", _sum("s", "x"), "(reshape 0 q n)")),
        "(= r (rank x))",
    ),
    _centre(
        "of-number",
        f"(reshape 0 (cons (size 1) h) {_m2('div', _sum('s', 'x'), 'n')})",
        "(= 0 (rank x))",
    ),
    _step("so-far", "came before", "scan", "prefix", "before"),
    _step("to-come", "follows", "back", "suffix", "after"),
    *(
        _elsewhere(
            f"{sure}{where}",
            f"the same over all {where} another point is that at that point",
            f"({sure.replace('-', '_')}{where} d s a{'' if sure else ' c'})",
            f"({side} d q)",
        )
        for where, side in (("until", "prefix"), ("from", "suffix"))
        for sure in ("", "always-")
    ),
    _elsewhere(
        "window-elsewhere",
        "the same over a window beside the point is that of one at another point",
        "(moved d s q a c)",
    ),
    _rule(
        "window-doubled",
        "the same for a window is that of its halves, and of the distances of their means",
        f"(case c {_parts('n')} {_own()})",
        "(doubled d s q a c)",
        *_TALLY,
        reason=HALVES,
        exact="reassociates",
    ),
    _rule(
        "window-lengthened",
        "the same for a window is that of its halves, and of one element more",
        f"(case g {_one_more()} (case c {_parts(_m2('add', _OWN, _THERE))} {_own()}))",
        "(lengthened d s q a c j g)",
        *_TALLY,
        reason=HALVES,
        exact="distributes",
    ),
)
