"""Mutants of rules that are laws as well, each kind with its proof.

A proof is a few sentences that a reader can follow. It says why the changed law holds whenever
the law itself does; the prover must accept the changed law besides (`tests.rewrite.mutants` asks
for an equivalence only where it did). What has no proof here is no equivalence but a gap.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.setting import Impossible, Setting, Unsupported
from ostinato.rewrite.prove.sexpr import Tree, parse, words
from ostinato.rewrite.prove.term_meaning import Meaning
from ostinato.rewrite.registry import every_rule

MOST = 256  # numbers of axes, and masks of them, that are tried for a letter


@dataclass(frozen=True)
class Equivalent:
    """Patterns of rules and of changes, the proof, and a check of what can be computed."""

    rules: str
    change: str
    proof: str
    check: Callable[[Rule, str], bool] | None = None

    def fits(self, base: str, change: str, rule: Rule) -> bool:
        """Whether a mutant is of this kind."""
        named = re.fullmatch(self.rules, base) and re.fullmatch(self.change, change)
        return bool(named) and (self.check is None or self.check(rule, change))


def _says_nothing(rule: Rule, _: str) -> bool:
    return rule.left == rule.right and not rule.also


def _same_numbers(_: Rule, change: str) -> bool:
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


def _names_no_zero(rule: Rule, _: str) -> bool:
    """Whether no constant of a type that the dropped fact gave stands in the rule."""
    return "(zero e " not in " ".join(every_rule()[rule.name].when)


EQUIVALENTS: tuple[Equivalent, ...] = (
    Equivalent(
        r".*", r"(left|right) -> .*",
        "Both sides are the same term, and nothing is asserted: the rule says x = x.",
        _says_nothing,
    ),
    Equivalent(
        r".*", r"\((=|<|<=) .* -> .*",
        "Both facts are arithmetic of one or two numbers of axes, or masks, and say the same of "
        "all of them below MOST, which are tried here; programs have fewer axes.",
        _same_numbers,
    ),
    Equivalent(
        r"(incremental|vectorize|view|domain)/.*",
        r"(without )?\(!= 0 \(& (d|e) \((dom|free) \w\)\)\)( -> .*)?",
        "`dom` is an upper bound: a value that does not change along d may have d in its dom all "
        "the same, and then the law itself says that both sides are equal. Whether they are does "
        "not depend on what dom says. The fact spares work that gains nothing; another number "
        "in the place of 0 lets other values in or keeps some out, for which the law holds too.",
    ),
    Equivalent(
        r"vectorize/(map1|map2|map3|tr|mv|perm|scan|back|lin|case|cat|at)",
        r"without \(= 0 \(& d \(sdom \w\)\)\)",
        "(sl d s y) stacks the values of y, so it has a value only if y has one shape on s. These "
        "operators give each operand's axes to the result, in some order; an axis that is joined "
        "or repeated has a size that is 1 by its formula, or that of the result. So each operand "
        "has one shape on s too, its stack exists, and its elements are those of y's operands.",
    ),
    Equivalent(
        r"domain/(lift-tr|pinned-read)", r"without \(= 0 \(& d \(sdom x\)\)\)",
        "Both sides read x at one and the same point and do the same to it, whatever shape it has "
        "there; the shape at other points does not occur.",
    ),
    Equivalent(
        r"vectorize/want", r"without \((want x m|= d \(innermost m\))\)",
        "x = slice(d, x)[d] for every dimension d along which x has one shape: element number d "
        "of the values at 0, 1, .. is the value at d. That it is wished for is not used.",
    ),
    Equivalent(
        r"vectorize/definition", r"without \(live q\)",
        "The twin q has the slices of each case of r as its cases by its definition, `batch`. "
        "That somebody reads it is not used; a definition that nobody reads is not extracted.",
    ),
    Equivalent(
        r"affine/(line|ray)(-with-starts)?", r"right -> \(lin d b .* \(case c s .*",
        "s is the start of the recurrence, so it has the shape e of the recurrence: a case of "
        "another shape is refused when a program is built. Repeating it to e changes nothing.",
        lambda rule, _: "(bcast e s)" not in rule.right,
    ),
    Equivalent(
        r"affine/(product-.*-choice-.*|choice-of-.*|common-(first|last))",
        r"without (\(factor e x\)|\(= x \(map[23] .*\)\))",
        "The facts say where the law is tried: the equality holds for the operands of any term. "
        "No constant of the type e occurs, which the facts would have to give.",
        _names_no_zero,
    ),
    Equivalent(
        r"affine/.*", r"without \((clear|some) r \w\)",
        "(scaled r y g) and (affine r y g a) say y = g x' and y = a + g x', equalities of values "
        "at every step. The conclusion follows from them by the same algebra whether or not w, g "
        "or a read the recurrence; a linear recurrence with them has its values by induction on "
        "the steps. That no definition reads itself is a matter of extraction.",
    ),
    Equivalent(
        r"view/repeat-same", r"without \(= n \((rank x|hlen h)\)\)",
        "h is the list of all sizes of x, so it has as many as x has axes: both facts say that.",
    ),
    Equivalent(
        r"view/element-of-number", r"without \(= 0 \(rank x\)\)",
        "A reshape of no axes to one axis keeps the number of elements only if that has size 1; "
        "the element 0 along it is x, whatever axes x has in front of it.",
    ),
    Equivalent(
        r"incremental/.*", r"without \(growing s\)",
        "These laws move an operator that works on each step of a range by itself into the range: "
        "step number k of both sides is the operator at x[s(k)]. That holds for every range s.",
        lambda rule, _: rule.left.startswith(("(map", "(mv", "(cut", "(part", "(tr", "(reshape",
                                              "(perm")),
    ),
    Equivalent(
        r"incremental/(together|slice|part|read|permute|transpose).*",
        r"without \(= (\w) \(inner d s \(sl d s \1\)\)\)",
        "The fact takes one of several values that have equal slices. The law is about the slice "
        "(sl d s x) and holds for each x that has it.",
    ),
    Equivalent(
        r"vectorize/nest-recurrence",
        r"without \((= x \(rec n\)|= s \(full d\)|= 0 \(& e \(mask s\)\))\)",
        "Element (i, j) of the left side is x at d = s(i), e = q(j), if s does not depend on e nor "
        "q on d; exchanging the first two axes of the other nesting gives it as well. What x is "
        "does not matter, nor whether s is all of d; the whole of d does not depend on e.",
    ),
    Equivalent(
        r"view/index-of-slice", r"without \(!= a e\)",
        "For a = d the law is x[d = d] = x, with the read written out.",
    ),
    Equivalent(
        r"view/slice-from-slice", r"without \(= l \(sl d s x\)\)",
        "The fact asks that the vectorised value is a term already. Both sides are equal whether "
        "or not somebody has written it down.",
    ),
    Equivalent(
        r"incremental/.*", r"without \(= 0 \(& d \(dom z\)\)\)",
        "(= 0.0 (value z)) says that every element of z is 0 at every point, so it is the same "
        "number wherever it is read.",
        lambda rule, _: "(= 0.0 (value z))" in rule.when,
    ),
    Equivalent(
        r"view/fold-of-moved", r"without \(!= f \"argm(ax|in)\"\)",
        "A place along the one axis that is folded is counted along that axis, wherever it stands "
        "among the others; argmax and argmin of several axes do not exist.",
    ),
)  # fmt: skip


def why_equivalent(base: str, change: str, rule: Rule) -> str:
    """The proof that a mutant is a law as well, or "" if there is none."""
    found = (known.proof for known in EQUIVALENTS if known.fits(base, change, rule))
    return next(found, "")
