"""Mutants of rules that are laws as well, each kind with its proof.

A proof is a few sentences that a reader can follow. It says why the changed law holds whenever
the law itself does; the prover must accept the changed law besides (`tests.rewrite.mutants` asks
for an equivalence only where it did). What has no proof here is no equivalence but a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.registry import every_rule
from tests.rewrite.same_law import (
    adds_undefined,
    asks_beside_no_window,
    asks_if_finite,
    asks_of_the_tile,
    counts_equal_windows,
    counts_from_zero,
    differs_in_a_mean,
    differs_in_first_gain,
    follows,
    is_a_wish,
    names_nothing,
    reshapes_a_number,
    same_masks,
    same_numbers,
    says_nothing,
    stands_for_one,
    takes_the_sign,
)


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


def _names_no_zero(rule: Rule, _: str) -> bool:
    """Whether no constant of a type that the dropped fact gave stands in the rule."""
    return not any(fact.head == "zero" for fact in every_rule()[rule.name].when)


def _reads_one_point(rule: Rule, _: str) -> bool:
    """Whether no running fold or recurrence stands in the rule, so that ranges are lists."""
    return not any(op in f"{rule.left} {rule.right}" for op in ("(running ", "(lin "))


def _is_of_constant(rule: Rule, change: str) -> bool:
    """Whether the changed fact is about the axes of a tensor that is filled with one number."""
    name = change.removeprefix("without ").split()[1]
    return any(fact.tree[0] == "=" and fact.tree[2:] == (("value", name),) for fact in rule.when)


EQUIVALENTS: tuple[Equivalent, ...] = (
    Equivalent(
        r".*", r"(left|right) -> .*",
        "Both sides are the same term, and nothing is asserted: the rule says x = x.",
        says_nothing,
    ),
    Equivalent(
        r"(incremental|vectorize|view|domain)/.*",
        r"(without )?\(!= 0 \(& (d|e) (\((dom|free) \w\)|m)\)\)( -> .*)?",
        "`dom` is an upper bound: a value that does not change along d may have d in its dom all "
        "the same, and then the law itself says that both sides are equal. Whether they are does "
        "not depend on what dom says. The fact spares work that gains nothing; another number "
        "in the place of 0 lets other values in or keeps some out, for which the law holds too.",
    ),
    Equivalent(
        r"vectorize/(map1|map2|map3|tr|mv|perm|running|lin|case|cat|at|bcast|gather)|domain/.*",
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
        r".*", r"without \(.*\)",
        "The fact is a wish: its relation says nothing of its columns. So no proof of the rule "
        "uses it, and each is one of the changed rule, word for word.",
        is_a_wish,
    ),
    Equivalent(
        r"incremental/.*-place", r"right -> .*",
        "The place is counted by the index of the step. Where no step is before it that index is "
        "0, so both sides of the choice between the index and 0 are 0, whatever is asked.",
        counts_from_zero,
    ),
    Equivalent(
        r"vectorize/want", r"without \(= d \(innermost m\)\)",
        "x = slice(d, x)[d] for every dimension d along which x has one shape: element number d "
        "of the values at 0, 1, .. is the value at d. That it is wished for is not used.",
    ),
    Equivalent(
        r"vectorize/definition", r"without \(live q\)",
        "The twin q has the slices of each case of r as its cases by its definition, `batch`. "
        "That somebody reads it is not used; a definition that nobody reads is not extracted.",
    ),
    Equivalent(
        r"affine/line", r"right -> \(lin d b .* \(case c s .*",
        "s is the start of the recurrence, so it has the shape e of the recurrence: a case of "
        "another shape is refused when a program is built. Repeating it to e changes nothing.",
        lambda rule, _: "(bcast e s)" not in str(rule.right),
    ),
    Equivalent(
        r"affine/(product-around-choice|choice-of-.*|other-side|common-(first|last))",
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
        r"incremental/new-axes", r"without \(axis y p \(size n\)\)",
        "Both sides are reshapes of y, whatever its axes are. That one of them is as long as a "
        "range says where the law is of use.",
    ),
    Equivalent(
        r"incremental/element-as-part", r"without \(axis x k \(size n\)\)",
        "(alone p i) says that p has the index i and no other, so the only element of that part of "
        "any axis is the one at i. The length of the axis says where the law is of use.",
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
        r"incremental/.*", r"without \((growing s|section n p)\)",
        "The law reads the range at one point, or at points where a fact says that it is the same, "
        "and no running fold or recurrence stands in it. At one point a range is a list of steps, "
        "and step number k of both sides is computed from step number k of that list, or from all "
        "of them in order. That holds for every list: how it grows, or whether it is a tile of "
        "something, is not used.",
        _reads_one_point,
    ),
    Equivalent(
        r"incremental/.*", r"without \(= (\w) \(inner d s \(sl d s \1\)\)\)",
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
        lambda rule, _: "(= 0.0 (value z))" in map(str, rule.when),
    ),
    Equivalent(
        r".*", r"without \(= \w \(size .*",
        "The size has this name here and nowhere else in the rule, and every size has a name.",
        names_nothing,
    ),
    Equivalent(
        r".*", r"(without )?\(axis \w \S+ \(size 1\)\)( -> .*)?",
        "Every element of the tensor is the same number, by the fact about its value. Which of "
        "its axes have size 1 changes neither what is computed from an element nor, beside "
        "operands that have the size of the result there, the shape.",
        _is_of_constant,
    ),
    Equivalent(
        r"affine/.*", r"\(clear r \w\) -> \(some r \w\)",
        "(some r w) says that w does not read r, as (clear r w) does, and that it is not nothing "
        "but zeros. So whatever the changed rule matches, the rule matches as well.",
    ),
    Equivalent(
        r"incremental/.*", r"right -> .*|\((unit|zero) \w u\) -> .*",
        "Only the factor of the first step of a linear recurrence changed, y[d] = a[d] where "
        "nothing came before: there no factor is read.",
        differs_in_first_gain,
    ),
    Equivalent(
        r"incremental/(sliding-)?(safe-)?(softmax|sum-of-powers).*",
        r"\(zero (\w) z\) -> \(unit \1 z\)",
        "z takes the place of m, the greatest value, where that is infinite, in exp(x - m). If m "
        "is -inf, so is every x, and exp(x - c) is 0 for any number c; if m is inf, so is some x, "
        "and exp(x - c) is infinite for any number c. So 1 does what 0 does.",
    ),
    Equivalent(
        r"incremental/(sliding-)?safe-.*|incremental/.*-in-tiles", r"right -> .*",
        "m - m is 0, or NaN where m is infinite, so subtracting it is adding it. And where m is "
        "infinite the left side subtracts infinities as well, the greatest value from itself, and "
        "is NaN without m - m being added.",
        adds_undefined,
    ),
    Equivalent(
        r"incremental/spread-.*", r"right -> .*",
        "sum (x - a) (z - mean z) is the same for every a: a (sum (z - mean z)) is a times 0. So "
        "it does not matter what is subtracted from, or added to, one of the two operands, or if "
        "anything is, as long as the other has its mean subtracted.",
        differs_in_a_mean,
    ),
    Equivalent(
        r"incremental/spread-so-far", r"without \(= h \(shape (x|z)\)\)",
        "h does not occur on the right side: the running sum adds (x - mean x) (z - mean z), "
        "where an axis of size 1 of one operand repeats as it does on the left side.",
    ),
    Equivalent(
        r"incremental/(together|repeat|reshape|permute|transpose|projection|read).*",
        r"without \(= k \(\+ 1 \(rank x\)\)\)",
        "k is the axis that moves to place p before the operator. Both sides move the same axis "
        "of the same term in the same way, and the operator works on what stands at the other "
        "places: that it is the axis of the slice is not used.",
    ),
    Equivalent(
        r"view/(move-on|map\d-of-moved|moved-map\d)", r"without \(< (j k|k p)\)",
        "To move an axis from k to p and from there on is to move it once, and an elementwise "
        "function of moved operands is the moved function, forwards, backwards or not at all.",
    ),
    Equivalent(
        r".*", r"right -> .*\(>> \(- . .\) 62\).*",
        "The shift is -1 for a negative number and else 0, by 62 bits as by 63: numbers of axes "
        "are below 2 to the power of 62.",
        takes_the_sign,
    ),
    Equivalent(
        r"incremental/.*", r"right -> .*",
        "Where c does not hold the other window has no elements: its fold is the unit, 0 for a sum "
        "and -inf for the greatest, so that both together are what this window has alone. And "
        "where the step behind the other window is inside the box, so is the other window.",
        asks_beside_no_window,
    ),
    Equivalent(
        r"incremental/(reshape|repeat)-behind", r"without \((<= p q|= k \(\+ 1 \(rank x\)\))\)",
        "The first of the axes that are reshaped, or repeated, has size z before and after: it "
        "stays as it is. That holds for any y with such an axis, wherever k and p are.",
    ),
    Equivalent(
        r"incremental/weighted-(scores|query).*", r"without \(= n \(size \(length s\)\)\)",
        "n is the number of weights w, by (axis w 1 n). It is the length of the range, or 1, and "
        "then the one weight repeats along the range on both sides.",
    ),
    Equivalent(
        r"(vectorize|domain)/.*", r"asserts (not )?\(want .*",
        "(want x m) is a wish for a term: it says nothing that could be false. Which terms are "
        "wished for decides what is tried, not what is equal.",
    ),
    Equivalent(
        r"vectorize/(bcast|reshape)", r"without \(= 0 \(& d \(hmask h\)\)\)",
        "(sl d s y) stacks the values of y, so it has a value only if y has one shape on s; h is "
        "the end of that shape.",
    ),
    Equivalent(
        r"incremental/.*of-vectors.*", r"right -> .*",
        "x is a number, so o is the shape of no axes: to reshape a number to it changes nothing.",
        reshapes_a_number,
    ),
    Equivalent(
        r"incremental/sum-of-powers", r"right -> .*\(map1 \"isfinite\" x\).*",
        "Where x is not finite, exp(x - c) is 0, infinite or NaN, for every number c. Where x is "
        "finite and m is not, m is inf, as no m is below x: an earlier term was infinite, so the "
        "sum is, whatever this step adds.",
    ),
    Equivalent(
        r"incremental/discounted-window",
        r"right -> .*\(map2 \"add\" \(map1 f t\) \(map1 f t\)\).*",
        "Unless j holds the step behind both windows is inside the box, so there both windows have "
        "all their steps, and equally many.",
    ),
    Equivalent(
        r"incremental/(reshape-in-front-1-0|repeated)", r"right -> \(sl d s .*",
        "By (= k (+ p 1)), or (= k (+ p 0)), the axis that is moved stays where it is.",
    ),
    Equivalent(
        r"incremental/repeated.*", r"without \(= k \(\+ p \d\)\)",
        "The axis of the steps comes in front of the k - 1 others and moves to place p, where e "
        "has its axis of size 1, which repeats. How many axes stand in front is not used.",
    ),
    Equivalent(
        r"incremental/projection.*", r"without \(= y \(mv .*",
        "The law is about y with the axes n0, n1, .. and a, whatever y is made of.",
    ),
    Equivalent(
        r"incremental/sliding-.*of-vectors.*", r"without \(= ns \(length s\)\)",
        "A reshape keeps the number of elements: the column of ns elements is made of one for each "
        "step of s, so ns is the length of s.",
    ),
    Equivalent(
        r"domain/mask", r"without \(box d s\)",
        "At each index of the slice, inside the box or not, both sides have what the case has "
        "there: where its condition holds x, else y. The indicator is the condition at any point.",
    ),
    Equivalent(
        r"vectorize/mm", r"without \(= 0 \(& d \(sdom (x|z)\)\)\)",
        "A product keeps the rows of x and the columns of z; its inner size is an axis of both. "
        "(sl d s (mm x z)) is a value only if the product has one shape on s, and by the fact "
        "about the other operand that one has: so the inner size is one, and with it the shape.",
    ),
    Equivalent(
        r"vectorize/nest(-recurrence)?", r"without \(= 0 \(& \(\| d e\) \(sdom x\)\)\)",
        "(sl e q x) is a value only if x has one shape on q, and (sl d s (sl e q x)) only if that "
        "has one on s. The other nesting stacks the same elements, x at s(i) and q(j).",
    ),
    Equivalent(
        r"incremental/reshape-in-front-2-1", r"without \(= 0 \(& d \(zmask u\)\)\)",
        "(sl d s x) is a value only if x has one shape on s, so v and w are the same at each step, "
        "and u is their product, as a reshape keeps the number of elements.",
    ),
    Equivalent(
        r"incremental/spread-window-halved", r"right -> .*",
        "Unless g holds the step behind both windows is inside the box, so there both windows have "
        "all their steps, and equally many.",
        counts_equal_windows,
    ),
    Equivalent(
        r"incremental/.*-in-tiles", r"right -> .*",
        "The factor of a tile is exp(M - N), M the greatest of the tile, N that of all up to it, "
        "and 0 in the place of N where that is not finite. To ask M instead changes something "
        "only where M is -inf and N a number, or N is inf and M is not. In the one case the factor "
        "is exp(-inf) = 0 with N as with 0. In the other one m is inf, and m - m, which is added "
        "at the end, makes both sides NaN.",
        asks_of_the_tile,
    ),
    Equivalent(
        r"view/fold-of-moved", r"without \(!= f \"argm(ax|in)\"\)",
        "A place along the one axis that is folded is counted along that axis, wherever it stands "
        "among the others; argmax and argmin of several axes do not exist.",
    ),
    Equivalent(
        r"incremental/decay-.*", r"without \(= 0 \(& d \(sdom (v|c)\)\)\)",
        "The slice along d of the value stands in the rule: it has a value only if its elements "
        "have one shape on s. The step that enters is one of s and stays there at later points, so "
        "what is read at such steps has that shape.",
    ),
    Equivalent(
        r"incremental/(decay-chain.*|decaying-sums)", r"without \(= i \(length (s|q)\)\)",
        "A running fold along an axis has as many elements as the axis, so i is the length of the "
        "slice, whose axis it is, by the meaning of the term.",
    ),
    Equivalent(
        r"incremental/decay-where", r"without \(= \(shape y\) \(shape x\)\)",
        "A decay says what each element is. where(c, y, z) is elementwise, so an axis of size 1 of "
        "y repeats in it as that of u, and of g, does in what is said of it.",
    ),
    Equivalent(
        r"incremental/decay-chain", r"without \(= 0 \(& d \(sdom g\)\)\)",
        "The slice of g from d to the end stands in the rule at every point: it has a value only "
        "if g has one shape at all of its steps, and every step is in one of these slices, or all "
        "but the last one: behind it there is no step, so the decay says nothing there.",
    ),
    Equivalent(
        r"incremental/decaying-sum-from-here", r"without \(= 0 \(& d \(sdom u\)\)\)",
        "u is g times v at another index; g and v have one shape at all points, and so has u.",
    ),
    Equivalent(
        r"incremental/decaying-sum-from-here", r"without \(= 0 \(& d \(sdom v\)\)\)",
        "u is g times v at the index a. So a size of v there is 1 by its formula, or that of u, "
        "which does not follow d. As a is d plus a number, the formula of v names no d either.",
    ),
    Equivalent(
        r"incremental/(positions-of-range|power-under-mask|masked-folds?)",
        r"without \(ones \w \w\)",
        "A number is reshaped to these sizes, so each is 1, as a number has one element. It stands "
        "in an elementwise function, whose operands have equally many axes: as many as the fact "
        "says, for another operand has them.",
    ),
    Equivalent(
        r"incremental/sum-of-entropies", r"right -> .*",
        "The choices ask whether m, the greatest score, is finite. Where all scores are, m and "
        "their sum are as well, and each choice is m, whichever it asks. A score x that is not "
        "makes the left side NaN: x - m is NaN for x = m, else x is -inf and its weight 0 times "
        "-inf. Its step adds this NaN on the right side, and each later factor times NaN is NaN.",
        asks_if_finite,
    ),
    Equivalent(
        r"matmul/(one-sum-after-the-other|sum-over-rows|sum-in-front|same-at-all-points)",
        r"(without )?\((!= [enq]|axis [xy] [ij]|< 2 p).*",
        "The facts say where a matrix product comes of it. Both sides add the same products of "
        "elements, for all sizes and types: transposing both operands, or moving the same axis of "
        "both, does so to their product; a sum over several axes is one over one of them and then "
        "over the others, in integers as well, which wrap around; and what is free of d is the "
        "same at each step. That others of their axes have size 1 is not used.",
    ),
    Equivalent(
        r"vectorize/along[12]", r"without \(= 0 \(& d \(mask a\)\)\)",
        "(sl d s y) stacks the values of y, so it has a value only if y has one shape on s; a is "
        "a size of y, and so the same number at all of its steps.",
    ),
    Equivalent(
        r"affine/line", r"without \(= 0 \(& d \(sdom s\)\)\)",
        "The cases of a recurrence have one shape, an expression of the point. If it followed d, "
        "the step before would have another shape than this one, and a + g x' not the shape of x.",
    ),
    Equivalent(
        r"incremental/(sliding-)?softmax-sum-of-vectors.*", r"without \(= \(cons \(size 1\) h\) .*",
        "x is a number, so y has one axis. It is made a column of as many elements as s has steps, "
        "so y has that many, or 1; all of them are 0, whichever is taken for a step.",
    ),
    Equivalent(
        r"vectorize/point|view/index-of-slice", r"without \(!= lhs x\)",
        "That a graph does not call two values equal yet is said of the graph, not of the values. "
        "For any values there is one that does not, so the law holds for all of them.",
    ),
    # Proofs that go through all readings of a rule, or many numbers, are asked last.
    Equivalent(
        r".*", r"\((=|<|<=) .* -> .*",
        "Both facts are arithmetic of one or two numbers of axes, or masks, and say the same of "
        "all of them below MOST, which are tried here; programs have fewer axes.",
        same_numbers,
    ),
    Equivalent(
        r".*", r"(without )?\((=|<|<=|axis|axes\d) .*",
        "The fact is true in every reading of the changed rule: the other facts, and that the left "
        "side is a term, leave no other ranks and sizes. So whatever the changed rule matches, the "
        "rule matches as well, and says the same of it.",
        follows,
    ),
    Equivalent(
        r".*", r"left -> .*_apart.*",
        "In every reading of the changed rule the letter and the one that took its place stand "
        "for the same number, size or shape: the left side is a term for no others. So whatever "
        "the changed rule matches, the rule matches as well.",
        stands_for_one,
    ),
    Equivalent(
        r"(view|incremental)/(fold-of-moved|moved-fold|fold-beside)", r"\(.* -> .*|without .*",
        "The masks and places on the right side are the same numbers, for all masks of eight axes "
        "and all places of the moved axis up to eight; all of them are tried.",
        same_masks,
    ),
)  # fmt: skip


def why_equivalent(base: str, change: str, rule: Rule) -> str:
    """The proof that a mutant is a law as well, or "" if there is none."""
    found = (known.proof for known in EQUIVALENTS if known.fits(base, change, rule))
    return next(found, "")
