"""Incremental: what enters a range that grows with the point is computed once, outside of it.

``growing s``: the bounds of slice s follow the point. What is done to every element of such a range
is done to every point instead, and the range holds the results: a history that is kept. The axis
of the range may stand anywhere: axis ``-p`` of ``(mv k p (sl d s x))``, where ``k`` is the rank.
Axis ``-a`` of that is axis ``-i`` of an element, one less where the range stands behind it.
"""

from __future__ import annotations

from itertools import product

from ostinato.rewrite.engine.language import popcount
from ostinato.rewrite.engine.rule import Rule

ONCE = "Each point is computed once, not again in every range that holds it."
PROOF = "proofs/test_history.py"
MASKS = f"unproved: it computes with masks of axes; {PROOF} decides every mask of 5 axes"

ORDERS = f"unproved: it knows permutations by tables; {PROOF} decides every order of 5 axes"


def _inner(x: str) -> str:
    """Of several values with the same range one is enough: pairs of them would be many."""
    return f"(= {x} (inner d s (sl d s {x})))"


_RANGE = ("(growing s)", _inner("x"), "(= k (+ 1 (rank x)))")
_INSIDE = ("(!= a p)", "(= i (- (- a 1) (>> (- a p) 63)))")
_BESIDE = "(- (- p 1) (>> (- p a) 63))"  # the place of the range once axis -a is gone


def _held(x: str, k: str = "k", p: str = "p") -> str:
    """A value at all points of a growing range, whose axis stands at ``-p``."""
    return f"(sl d s {x})" if k == p else f"(mv {k} {p} (sl d s {x}))"


def _rule(name: str, law: str, left: str, right: str, *when: str, proof: str = PROOF) -> Rule:
    return Rule(
        name=f"incremental/{name}",
        law=law,
        reason=ONCE,
        left=left,
        right=right,
        when=(*_RANGE, *when),
        proof=proof,
    )


def _together(
    op: str, fields: str, inner: str, names: tuple[str, ...], sliced: tuple[bool, ...], *when: str
) -> Rule:
    """A function of the elements of growing ranges and of values that are the same at all points.

    ``names``: the operands, slices first asked for ``x``; ``inner``: the fields for one element.
    """
    # Two ranges beside a constant stand in front: pairs of all ranges would take long to match.
    p = "k" if len(names) == 3 and sum(sliced) == 2 else "p"
    left: list[str] = []
    right: list[str] = []
    facts: list[str] = []
    for name, is_slice in zip(names, sliced, strict=True):
        left.append(_held(name, p=p) if is_slice else name)
        right.append(name if is_slice else f"(part {p} 0 {name})")
        if is_slice:
            facts.append(_inner(name))
        else:
            facts += [f"(= 0 (& d (dom {name})))", f"(= k (rank {name}))"]
            facts.append(f"(axis {name} {p} (size 1))")
    kinds = "".join("s" if is_slice else "c" for is_slice in sliced)
    first = names[sliced.index(True)]
    return Rule(
        name=f"incremental/together-{op}-{kinds}",
        law="f(x[lo:hi], y[lo:hi], c) = f(x, y, c)[lo:hi]",
        reason=ONCE,
        left=" ".join(part for part in (f"({op}", fields, *left) if part) + ")",
        right=_held(" ".join(part for part in (f"({op}", inner, *right) if part) + ")", p=p),
        when=("(growing s)", f"(= k (+ 1 (rank {first})))", *facts, *when),
        proof=PROOF,
    )


def _all_together(
    op: str, fields: str, inner: str, names: tuple[str, ...], *when: str
) -> tuple[Rule, ...]:
    kinds = [k for k in product((True, False), repeat=len(names)) if any(k)]
    return tuple(_together(op, fields, inner, names, kind, *when) for kind in kinds)


_ELEMENTWISE = (
    *_all_together("map1", "f", "f", ("x",)),
    *_all_together("map2", "f", "f", ("x", "y")),
    *_all_together("map3", "f", "f", ("x", "y", "z")),
    *_all_together("mm", "", "", ("x", "y"), "(< 2 p)"),
    *_all_together("gather", "a", "i", ("x", "y"), *_INSIDE),
    *_all_together("along1", "f a n", "f i n", ("x",), *_INSIDE, "(= 0 (& d (mask n)))"),
    *_all_together("along2", "f a n", "f i n", ("x", "y"), *_INSIDE, "(= 0 (& d (mask n)))"),
    _together("cat", "a", "i", ("x", "y"), (True, True), *_INSIDE),
    _together("cut", "a j", "i j", ("x",), (True,), *_INSIDE, "(= 0 (& d (mask j)))"),
)


def _fronts(before: tuple[str, ...], after: tuple[str, ...]) -> Rule:
    """A reshape of the axes in front of the range only."""
    sizes = tuple(z for z in after if z.isalpha())
    new, old = (_listed(names, "h") for names in (after, before))
    width = len(after) - len(before)
    return _rule(
        f"reshape-in-front-{len(before)}-{len(after)}",
        "x[lo:hi] with its axes in front reshaped = reshape(x)[lo:hi]",
        f"(reshape k {_listed((*after, 'n'), 'h')} {_held('x')})",
        _held(f"(reshape (- k 1) {new} x)", f"(+ k {width})"),
        "(= n (size (length s)))",
        f"(= (shape x) {old})",
        f"(= k (+ p {len(before)}))",
        *(f"(= 0 (& d (zmask {z})))" for z in sizes),
    )


def _new_front(axes: int) -> Rule:
    """New axes of size 1 in front of the range, where it is the first one."""
    ones = ("(size 1)",) * axes
    return _rule(
        f"reshape-in-front-0-{axes}",
        "x[lo:hi] with new axes in front = x with new axes[lo:hi]",
        f"(reshape k {_listed((*ones, 'n'), 'h')} {_held('x', p='k')})",
        _held(f"(reshape (- k 1) {_listed(ones, 'h')} x)", f"(+ w {axes + 1})", "(+ w 1)"),
        "(= n (size (length s)))",
        "(= w (hlen h))",
        "(= 0 (& d (hmask h)))",
    )


def _listed(sizes: tuple[str, ...], rest: str) -> str:
    for size in reversed(sizes):
        rest = f"(cons {size} {rest})"
    return rest


_AXES = (
    _rule(
        "slice-in-place",
        "x[lo:hi] with its first axis where it is = x[lo:hi]",
        "(sl d s x)",
        "(mv k k (sl d s x))",
    ),
    _rule(
        "reshape-inside",
        "x[lo:hi] with axes behind the range reshaped = reshape(x)[lo:hi]",
        f"(reshape q h {_held('x')})",
        _held("(reshape q h x)", "(+ (- k q) w)", "(+ (- p q) w)"),
        "(< q p)",
        "(= w (hlen h))",
        "(= 0 (& d (hmask h)))",
    ),
    _rule(
        "reshape-behind",
        "an axis that stays in front of a reshape is no part of it",
        "(reshape q (cons z h) y)",
        "(reshape (- q 1) h y)",
        f"(= y {_held('x')})",
        "(<= p q)",
        "(axis y q z)",
    ),
    *(_new_front(axes) for axes in (1, 2, 3)),
    _fronts(("(size 1)",), ()),
    _fronts(("u",), ("v", "w")),
    _fronts(("v", "w"), ("u",)),
    _rule(
        "repeat-inside",
        "x[lo:hi] repeated along axes behind the range = repeat(x)[lo:hi]",
        f"(bcast h {_held('x')})",
        _held("(bcast h x)"),
        "(< (hlen h) p)",
        "(= 0 (& d (hmask h)))",
    ),
    _rule(
        "repeat-behind",
        "an axis that keeps its size is not repeated",
        "(bcast (cons z h) y)",
        "(bcast h y)",
        f"(= y {_held('x')})",
        "(= q (+ 1 (hlen h)))",
        "(<= p q)",
        "(axis y q z)",
    ),
    _rule(
        "part-inside",
        "x[lo:hi][.., i, ..] = x[.., i, ..][lo:hi]",
        f"(part a j {_held('x')})",
        _held("(part i j x)", "(- k 1)", _BESIDE),
        *_INSIDE,
        "(= 0 (& d (mask j)))",
    ),
    _rule(
        "read-inside",
        "x[lo:hi] at another point of another dimension = x there[lo:hi]",
        f"(at e j {_held('x')})",
        _held("(at e j x)"),
        "(!= d e)",
        "(= 0 (& e (mask s)))",
        "(= 0 (& d (mask j)))",
        "(!= 0 (& e (dom x)))",
    ),
    _rule(
        "transpose-inside",
        "x[lo:hi].T, the range in front, = x.T[lo:hi]",
        f"(tr {_held('x')})",
        _held("(tr x)"),
        "(< 2 p)",
    ),
    *(
        _rule(
            f"permute{suffix}",
            "x[lo:hi] with its axes in another order = x with its axes in another order[lo:hi]",
            f"(perm a {_held('x')})",
            _held(right, p="q"),
            fact,
            proof=ORDERS,
        )
        for suffix, right, fact in (
            ("", "(perm b x)", "(around a p q b)"),
            ("-pair", "(tr x)", "(around_pair a p q)"),
            ("-alone", "x", "(around_alone a p q)"),
        )
    ),
    *(
        _rule(
            f"transpose-moves-{p}",
            "x[lo:hi].T = x[lo:hi] with the range at the other axis",
            f"(tr {_held('x', p=p)})",
            _held("x", p=to),
        )
        for p, to in (("1", "2"), ("2", "1"))
    ),
)

_FOLDS = (
    Rule(
        name="incremental/fold-inside",
        law="fold over other axes of x[lo:hi] = fold(x)[lo:hi]",
        reason=ONCE,
        left="(red f m (sl d s x))",
        right="(sl d s (red f m x))",
        when=("(growing s)", _inner("x"), "(= 0 (& m (<< 1 (rank x))))"),
        proof=PROOF,
    ),
    Rule(
        name="incremental/fold-beside",
        law="fold over axes around a range that grows = the range of folds",
        reason=ONCE,
        left=f"(red f m {_held('x')})",
        right=_held("(red f (| (& m low) (& (>> m 1) (not-i64 low))) x)", "(- k u)", "(- p v)"),
        when=(
            *_RANGE,
            "(< p k)",
            "(= 0 (& m (<< 1 (- p 1))))",
            "(= low (- (<< 1 (- p 1)) 1))",
            *popcount("u", "m"),
            *popcount("v", "(& m low)"),
        ),
        proof=MASKS,
    ),
)

_ROW = "(mv k {p} (reshape (- k 1) (cons (size 1) h) x))"
_SHARED = ("(= 0 (& d (dom w)))", "(= h (shape x))")


def _merged_rows(rank: int) -> Rule:
    """A product of all rows of a range, as the product for each of its points."""
    rows = tuple(f"n{k}" for k in range(rank - 1))
    matrix = _listed(("(size 1)",) * (rank - 2), "(cons a (cons b (nil)))")
    apart = f"(mm y (reshape 2 {matrix} w))"
    return Rule(
        name=f"incremental/projection-of-merged-rows-{rank}",
        law="all rows of x[lo:hi] @ W = the rows of each x @ W",
        reason=ONCE,
        left=f"(mm (reshape {rank} (cons m (cons a (nil))) y) w)",
        right=f"(reshape {rank} (cons m (cons b (nil))) {apart})",
        when=(
            *_RANGE,
            f"(= y {_held('x')})",
            f"(axes{rank} y {' '.join(rows)} a)",
            "(axes2 w a b)",
        ),
        also=(f"(set (shape {apart}) {_listed((*rows, 'b'), '(nil)')})",),
        proof=PROOF,
    )


_TABLES = (
    _merged_rows(3),
    _merged_rows(4),
    _rule(
        "projection",
        "x[lo:hi] @ W = (x @ W)[lo:hi]",
        f"(mm {_held('x', p='2')} w)",
        _held(f"(reshape 2 (cons n (nil)) (mm {_ROW.format(p=2)} w))", p="2"),
        *_SHARED,
        "(axis w 1 n)",
    ),
    _rule(
        "projection-of-columns",
        "W @ x[lo:hi] as columns = (W @ x)[lo:hi] as columns",
        f"(mm w {_held('x', p='1')})",
        _held(f"(reshape 2 (cons n (nil)) (mm w {_ROW.format(p=1)}))", p="1"),
        *_SHARED,
        "(axis w 2 n)",
    ),
    _rule(
        "looked-up",
        "table[x[lo:hi]] = table[x][lo:hi]",
        f"(gather p w {_held('x')})",
        _held(f"(part p 0 (gather p w {_ROW.format(p='p')}))"),
        *_SHARED,
    ),
)

_POSITIONS = (
    Rule(
        name="incremental/positions",
        law="0, 1, ..., hi - 1 = d for d in 0..hi",
        reason="What is computed from positions is computed once for each.",
        left="(leaf c)",
        right="(sl d s (leaf a))",
        when=("(from_zero d s)", "(counts c (length s))", "(here a d)"),
        proof=PROOF,
    ),
    *(
        Rule(
            name=f"incremental/positions-of-range{order}",
            law="lo + 0, lo + 1, ..., hi - 1 = d for d in lo..hi",
            reason="What is computed from positions is computed once for each.",
            left=f'(map2 "add" {operands})',
            right="(sl d s (leaf a))",
            when=("(starts d s e)", "(counts c (length s))", "(here a d)", "(ones 1 h)"),
            proof=PROOF,
        )
        for order, operands in (
            ("", "(reshape 0 h (leaf e)) (leaf c)"),
            ("-last", "(leaf c) (reshape 0 h (leaf e))"),
        )
    ),
    *(
        Rule(
            name=f"incremental/repeated{'-behind-an-axis' * bool(front)}",
            law="c repeated hi - lo times = c[lo:hi]",
            reason="What is the same at all points is like a history of it.",
            left=f"(bcast {_listed((*front, 'n'), 'h')} e)",
            right=_held(f"(bcast {_listed(front, 'h')} (part p 0 e))"),
            when=(
                "(follows d s)",
                "(= n (size (length s)))",
                "(= k (rank e))",
                "(= p (+ 1 (hlen h)))",
                f"(= k (+ p {len(front)}))",
                "(axis e p (size 1))",
                "(= 0 (& d (dom e)))",
                "(= 0 (& d (hmask h)))",
                *(f"(= 0 (& d (zmask {z})))" for z in front),
            ),
            proof=PROOF,
        )
        for front in ((), ("z",))
    ),
)

HISTORY: tuple[Rule, ...] = (*_ELEMENTWISE, *_AXES, *_FOLDS, *_TABLES, *_POSITIONS)
