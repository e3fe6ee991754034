"""Checks of what a proof in `tests.rewrite.equivalents` says about one changed rule.

Some go through all readings of the changed rule, some compare trees after what does not matter is
gone, some try all numbers of axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.facts import assume_fact
from ostinato.rewrite.prove.prover import settings
from ostinato.rewrite.prove.reading import law
from ostinato.rewrite.prove.setting import Impossible, Misfit, Setting, Size, Unsupported
from ostinato.rewrite.prove.term_meaning import Meaning
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations.meanings import Beside, Nearby, Said
from ostinato.rewrite.relations.row import row, rows
from ostinato.rewrite.relations.sexpr import Tree, parse, show, words
from ostinato.rewrite.terms.term import read_fact

MOST = 256  # numbers of axes, and masks of them, that are tried for a letter
MOST_PLACES = 8  # places of axes that are tried beside a mask
_OF_FORM = ("axis", "<", "<=")


def says_nothing(rule: Rule, _: str) -> bool:
    """Whether both sides are one term and nothing is asserted."""
    return rule.left == rule.right and not rule.also


# ------------------------------------------------------------ readings of the changed rule


def _is_of_form(fact: Tree) -> bool:
    """Whether a fact is about ranks, sizes and numbers of axes, of which a reading knows all."""
    match fact:
        case ("=", _, (("rank" | "shape" | "size" | "+" | "-" | "<<"), *_)):
            return True
        case ("=", (("rank" | "shape"), *_), _) | ("=", int(), str()):
            return True
        case (str(head), *_):
            return head in _OF_FORM
        case _:
            return False


@cache
def follows(rule: Rule, change: str) -> bool:
    """Whether the fact of the rule is true in every reading of the changed rule."""
    dropped = read_fact(change.removeprefix("without ").split(" -> ")[0])
    if not _is_of_form(dropped.tree):
        return False
    found = law(replace(rule, also=(*rule.also, dropped)))
    fact = found.also.pop()
    slices = {name for name, kind in found.kinds.items() if kind == "A"}
    count = 0
    for setting in settings(found):
        setting.frozen, count = True, count + 1
        names = {*setting.lists, *setting.numbers, *setting.sizes, *setting.shapes}
        if not {w for w in words(fact) if w.isidentifier()} <= names | slices | {*setting.known}:
            return False
        try:
            assume_fact(setting, Meaning(setting, {}), fact, row(fact))
        except (Impossible, Misfit, Unsupported):
            return False
    return count > 0


@cache
def stands_for_one(rule: Rule, _: str) -> bool:
    """Whether a letter that was made two stands for one thing in every reading."""
    (apart,) = {word for word in words(rule.left.tree) if word.endswith("_apart")}
    count = 0
    for setting in settings(law(rule)):
        setting.frozen, count = True, count + 1
        if not _are_same(setting, apart, apart.removesuffix("_apart")):
            return False
    return count > 0


def _are_same(setting: Setting, a: str, b: str) -> bool:
    for known in (setting.numbers, setting.dims, setting.texts):
        if a in known or b in known:
            return known.get(a) == known.get(b)
    sizes = setting.sizes.get(a), setting.sizes.get(b)
    lists = setting.lists.get(a), setting.lists.get(b)
    try:
        match sizes, lists:
            case (Size() as x, Size() as y), _:
                setting.unify(x, y)
            case _, (list() as x, list() as y):
                for one, other in zip(x, y, strict=True):
                    setting.unify(one, other)
            case _:
                return False
    except (Misfit, ValueError):
        return False
    return True


def names_nothing(rule: Rule, change: str) -> bool:
    """Whether the dropped fact only gives a name to a size that occurs nowhere else."""
    match parse(change.removeprefix("without ")):
        case ("=", str(name), ("size", _)):
            others = (rule.left.tree, rule.right.tree, *(f.tree for f in (*rule.when, *rule.also)))
            return not any(name in words(tree) for tree in others)
        case _:
            return False


# ------------------------------------------------------------ trees without what is not read


def _mapped(tree: Tree, by: Callable[[Tree], Tree]) -> Tree:
    if isinstance(tree, tuple):
        tree = (tree[0], *(_mapped(part, by) for part in tree[1:]))
    return by(tree)


def _without_first_gain(tree: Tree) -> Tree:
    """A linear recurrence whose factor at its first step, where `k` does not hold, is left out."""
    match tree:
        case ("lin", d, flag, gain, body):
            return ("lin", d, flag, _mapped(gain, _later), body)
        case _:
            return tree


def _later(tree: Tree) -> Tree:
    match tree:
        case ("case", "k", later, _):
            return later
        case _:
            return tree


def differs_in_first_gain(rule: Rule, change: str) -> bool:
    """Whether only the factor of the first step of a linear recurrence changed."""
    of = every_rule()[rule.name]
    facts = [fact.tree for fact in rule.when]
    first = "k" in _where_there_is_one(of)
    a, b = (_mapped(r.right.tree, _without_first_gain) for r in (of, rule))
    if change.startswith("right"):
        return first and a == b
    match parse(change.split(" -> ")[0]):
        case (_, _, str(name)):
            others = (fact for fact in facts if fact[-1] != name)
            return first and not any(name in words(tree) for tree in (a, rule.left.tree, *others))
        case _:
            return False


def _where_there_is_one(rule: Rule) -> set[Tree]:
    """The conditions of a rule that there is a step before, or after, the point."""
    asked = rows(fact.tree for fact in rule.when)
    return {r.cells["c"] for r in asked if r.relation.makes(Beside, Nearby)}


def counts_from_zero(rule: Rule, _: str) -> bool:
    """Whether only the choice of 0 at the first step of all, whose index is 0, was left out."""
    of = every_rule()[rule.name]
    facts = {fact.tree for fact in of.when}
    zero: Tree = ("reshape", 0, "o", "z")
    index: Tree = ("reshape", 0, "o", ("leaf", "k"))

    def later(tree: Tree) -> Tree:
        match tree:
            case ("case", "c", ("map3", '"where"', _, x, y) as found, ("bcast", _, none)):
                return found if {x, y} <= {zero, index} and none == zero else tree
            case _:
                return tree

    known = ("before", "d", "i", "c"), ("here", "k", "d"), ("zero", '"int32"', "z")
    return facts >= {*known} and _mapped(of.right.tree, later) == rule.right.tree


def takes_the_sign(rule: Rule, _: str) -> bool:
    """Whether only a shift by 63 bits of a difference of axis numbers became one by 62."""

    def by_63(tree: Tree) -> Tree:
        match tree:
            case (">>", ("-", a, b), 62):
                return (">>", ("-", a, b), 63)
            case _:
                return tree

    return _mapped(rule.right.tree, by_63) == every_rule()[rule.name].right.tree


def is_a_wish(_: Rule, change: str) -> bool:
    """Whether the dropped fact is of a relation that says nothing which could be false."""
    about = row(parse(change.removeprefix("without ")))
    return about is not None and about.relation.says == (Said("wish"),)


def _undefined(tree: Tree) -> bool:
    """Whether a term is ``m - m``, perhaps with further axes."""
    match tree:
        case ("map2", '"sub"', a, b):
            return a == b
        case ("reshape", _, _, inner):
            return _undefined(inner)
        case _:
            return False


def adds_undefined(rule: Rule, _: str) -> bool:
    """Whether ``a + (m - m)`` became ``a - (m - m)``, or ``a`` became the left side."""
    found = law(rule)  # names of parts replaced by what they name
    match law(every_rule()[rule.name]).right, found.right:
        case ("map2", '"add"', a, u), ("map2", sign, b, v):
            is_left = sign == '"add"' and _in_order(b) == _in_order(found.left)
            return _undefined(u) and u == v and (is_left or (sign == '"sub"' and a == b))
        case _:
            return False


def _in_order(tree: Tree) -> Tree:
    """The tree with the factors of each product in one order."""

    def ordered(part: Tree) -> Tree:
        match part:
            case ("map2", '"mul"', a, b):
                return ("map2", '"mul"', *sorted((a, b), key=show))
            case _:
                return part

    return _mapped(tree, ordered)


def reshapes_a_number(rule: Rule, _: str) -> bool:
    """Whether only a reshape of a number to the shape `o` of no axes was left out."""

    def bare(tree: Tree) -> Tree:
        match tree:
            case ("reshape", 0, "o", x):
                return x
            case _:
                return tree

    rights = (_mapped(r.right.tree, bare) for r in (every_rule()[rule.name], rule))
    is_number = {"(= 0 r)", "(ones r o)"} <= set(map(str, rule.when))
    return is_number and len(set(rights)) == 1


def _as_sums_of_products(tree: Tree) -> Tree:
    """Sums of products of distances, one of them from the mean, whatever the other is from."""
    match tree:
        case ("red", '"sum"', m, ("map2", '"mul"', left, right)):
            x, z = _measured(left), _measured(right)
            means = (("map2", '"sub"', of, _row_of_mean(m, of)) for of in (x, z))
            is_known = any(a == b for a, b in zip((left, right), means, strict=True))
            return ("distances", x, z) if is_known else tree
        case _:
            return tree


def _measured(tree: Tree) -> Tree:
    """What a distance from a row is of; a value alone is one from a row of zeros."""
    match tree:
        case ("map2", _, x, ("reshape", "r", ("cons", ("size", 1), "h"), _)):
            return x
        case _:
            return tree


def _row_of_mean(m: Tree, x: Tree) -> Tree:
    count = ("reshape", 0, "o", ("map1", "f", "t"))
    mean = ("map2", '"div"', ("red", '"sum"', m, x), count)
    return ("reshape", "r", ("cons", ("size", 1), "h"), mean)


def differs_in_a_mean(rule: Rule, _: str) -> bool:
    """Whether only one of two distances in a sum of products is from something else."""
    of = every_rule()[rule.name]
    a, b = (_mapped(r.right.tree, _as_sums_of_products) for r in (of, rule))
    return a == b


def asks_beside_no_window(rule: Rule, _: str) -> bool:
    """Whether only a choice that asks if another window has elements was left out."""
    names = [name for fact in rule.when for name in _has_elements(fact.tree)]

    def first(tree: Tree) -> Tree:
        match tree:
            case ("case", name, x, _) if name in names:
                return x
            case _:
                return tree

    of = every_rule()[rule.name]
    return bool(names) and _mapped(of.right.tree, first) == _mapped(rule.right.tree, first)


def _has_elements(fact: Tree) -> Iterator[Tree]:
    match fact:
        case (("halved" | "overlapping"), _, _, _, _, c, *_):
            yield c
        case _:
            pass


def counts_equal_windows(rule: Rule, _: str) -> bool:
    """Whether only the count of one of two whole windows became that of the other one."""

    def alike(tree: Tree) -> Tree:
        count = ("map1", "f", "t")
        return count if tree == ("at", "d", "a", count) else tree

    match every_rule()[rule.name].right.tree, rule.right.tree:
        case ("case", "g", rest, x), ("case", "g", other, y):
            return rest == other and _mapped(x, alike) == _mapped(y, alike)
        case _:
            return False


def asks_of_the_tile(rule: Rule, _: str) -> bool:
    """Whether only a question became that whether the greatest of a tile is finite."""

    def of_tile(tree: Tree) -> Tree:
        match tree:
            case ("running", '"max"', "c", 0, inner):
                return inner
            case _:
                return tree

    def asked(tree: Tree) -> Tree:
        match tree:
            case ("map3", '"where"', ("map1", '"isfinite"', x), y, z):
                same = _mapped(x, of_tile) == _mapped(y, of_tile)
                return ("finite", y, z) if same else tree
            case _:
                return tree

    return _mapped(every_rule()[rule.name].right.tree, asked) == _mapped(rule.right.tree, asked)


def asks_if_finite(rule: Rule, _: str) -> bool:
    """Whether both sides choose the same where everything that is asked about is finite."""

    def finite(tree: Tree) -> Tree:
        match tree:
            case ("map3", '"where"', ("map1", '"isfinite"', _), x, _):
                return x
            case _:
                return tree

    return _mapped(every_rule()[rule.name].right.tree, finite) == _mapped(rule.right.tree, finite)


# ------------------------------------------------------------ arithmetic of numbers of axes


def same_numbers(_: Rule, change: str) -> bool:
    """Whether two facts of one or two numbers say the same of all that are tried."""
    before, after = map(parse, change.split(" -> "))
    match before, after:
        case (("=", str(name), _), ("=", str(other), _)) if name == other:
            names = sorted({*words(before), *words(after)} - {name})
        case (("<" | "<=") as op, _, _), (other, _, _) if op == other:
            names = sorted({*words(before), *words(after)})
        case _:
            return False
    choices = itertools.product(range(MOST), repeat=len(names)) if len(names) <= 2 else ()
    tried = [_numbers(dict(zip(names, v, strict=True)), (before, after)) for v in choices]
    return bool(tried) and all(pair is not None and pair[0] == pair[1] for pair in tried)


def _numbers(numbers: dict[str, int], facts: tuple[Tree, Tree]) -> tuple[object, object] | None:
    """What both facts say of some numbers; None where that is not arithmetic alone."""
    meaning = Meaning(Setting({}, numbers, {}), {})
    try:
        first, second = (_number(meaning, fact) for fact in facts)
    except Unsupported:
        return None
    return first, second


def _number(meaning: Meaning, fact: Tree) -> object:
    """The number that a fact gives a name, or whether an order holds.

    Errors: Unsupported.
    """
    assert isinstance(fact, tuple), f"{fact} is no fact"
    op, a, b = fact
    try:
        value = meaning.number(b)
        return value if op == "=" else (meaning.number(a) < value + (op == "<="))
    except Impossible:
        return "no number"


@cache
def same_masks(rule: Rule, _: str) -> bool:
    """Whether the right side has the same numbers, for all masks and places that are tried.

    The places are those of the axes that a law moves, `k` and `p`, the mask is `m`.
    """
    of = every_rule()[rule.name]
    places = range(1, MOST_PLACES + 1)
    tried = itertools.product(range(1, MOST), places, places)
    pairs = [[_right(r, {"m": m, "k": k, "p": p}) for r in (of, rule)] for m, k, p in tried]
    return any(a for a, _ in pairs) and all(b in (None, a) for a, b in pairs)


def _right(rule: Rule, numbers: dict[str, int]) -> tuple[int, ...] | None:
    """The numbers of the right side, None where a fact about numbers does not hold."""
    meaning = Meaning(Setting({}, numbers, {}), {})
    for fact in (fact.tree for fact in rule.when):
        try:
            match fact:
                case ("=", str(name), term) if name not in numbers:
                    numbers[name] = meaning.number(term)
                case (("=" | "!=" | "<" | "<=") as op, a, b):
                    x, y = meaning.number(a), meaning.number(b)
                    holds = {"=": x == y, "!=": x != y, "<": x < y, "<=": x <= y}
                    if not holds[op]:
                        return None
                case _:
                    pass
        except (Unsupported, KeyError):
            continue
        except Impossible:
            return None
    try:
        return tuple(meaning.number(part) for part in _arithmetic(rule.right.tree))
    except (Impossible, Unsupported):
        return None


def _arithmetic(tree: Tree) -> Iterator[Tree]:
    """The numbers of an operator: the mask of a fold, the places of a moved axis."""
    match tree:
        case ("red", _, mask, inner):
            yield mask
            yield from _arithmetic(inner)
        case ("mv", k, p, inner):
            yield from (k, p)
            yield from _arithmetic(inner)
        case (str(), *parts):
            for part in parts:
                yield from _arithmetic(part) if isinstance(part, tuple) else ()
        case _:
            pass
