"""What a proof takes as given: the facts of a rule that other parts of the compiler answer for."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rewrite.engine.rule import REAL, Rule
from ostinato.rewrite.prove.sexpr import Tree, parse
from ostinato.rewrite.prove.spans import RELATIONS

_NUMBERS = {
    "exact": "every rounding",
    "zero signs": "every rounding, zeros without a sign",
    **dict.fromkeys(REAL, "real numbers"),
}
_ANALYSES = {
    **dict.fromkeys(("dom", "sdom", "hmask", "zmask", "mask", "sizemask", "free"), "dependence"),
    **dict.fromkeys(("rank", "hlen"), "ranks"),
    **dict.fromkeys(
        ("shape", "axis", "ones", "axes2", "axes3", "axes4", "axes5", "filled"), "shapes"
    ),
    **dict.fromkeys(("value", "unit", "zero", "gone", "bounded"), "values of constants"),
    "centre": "means of ranges",
    **dict.fromkeys(("lag", "facing", "beyond", "rungs", "ladder"), "triangular matrices"),
    **dict.fromkeys(("dtype", "real_cast"), "types"),
    **dict.fromkeys(("empty", "exactly", "rounded"), "folds"),
    **dict.fromkeys(("prefix", "suffix", "shortened", "but_last", "rest", "growing"), "ranges"),
    **dict.fromkeys(("counts", "counter", "tally", "begins", "halves", *RELATIONS), "ranges"),
    **dict.fromkeys(("follows", "from_zero", "starts"), "ranges"),
    **dict.fromkeys(("around", "around_pair", "around_alone"), "permutations"),
    **dict.fromkeys(("holds_low", "holds_high", "both", "pins"), "conditions"),
    **dict.fromkeys(
        ("full", "self", "shifted", "length", "innermost", "here"), "index expressions"
    ),
    **dict.fromkeys(("batch", "define", "neighbour", "body"), "recurrences"),
    **dict.fromkeys(("only", "scaled", "affine"), "steps of recurrences"),
}


def assumptions(rule: Rule) -> tuple[str, ...]:
    """What numbers are, where points lie, and the analyses of which the law uses an answer.

    >>> from ostinato.rewrite.registry import every_rule
    >>> assumptions(every_rule()["incremental/suffix-sum"])
    ('real numbers', 'points inside the box', 'ranges', 'ranks', 'shapes', 'types', \
'values of constants')
    """
    heads = {_ANALYSES[h] for fact in rule.when for h in _heads(parse(fact)) if h in _ANALYSES}
    inside = () if rule.valid == "everywhere" else ("points inside the box",)
    return (_NUMBERS[rule.exact], *inside, *sorted(heads))


def _heads(tree: Tree) -> Iterator[str]:
    if isinstance(tree, tuple) and tree:
        yield str(tree[0])
        for part in tree[1:]:
            yield from _heads(part)
