"""Every rule with one thing changed, and who refuses it: the prover, an instance, or nobody.

Facts are dropped, operands exchanged, integers moved by one, and operators of the right side left
out. What nobody refuses is a law that holds as well, which `EQUIVALENT` explains, or a gap.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ostinato.rewrite._egglog import EngineError, Session
from ostinato.rewrite.instances import where_fires, where_idle
from ostinato.rewrite.instances.claims import WrongTerm, run, wrong_terms
from ostinato.rewrite.instances.instance import Sizes
from ostinato.rewrite.lang import SIGNATURE, program
from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.prove.text import Tree, parse, show
from ostinato.rewrite.registry import Rule, every_rule

Caught = Literal["form", "proof", "instance", "nobody"]
_SYMMETRIC = frozenset(
    f'"{fn}"' for fn in ("add", "mul", "minimum", "maximum", "and", "or", "eq", "ne")
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rule of the table with one change."""

    base: str
    change: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.base}: {self.change}"


def mutants(rule: Rule) -> Iterator[Mutant]:
    """Every single change of a rule."""
    for k, fact in enumerate(rule.when):
        rest = rule.when[:k] + rule.when[k + 1 :]
        yield Mutant(rule.name, f"without {fact}", replace(rule, when=rest))
        for changed in _moved(parse(fact)):
            when = (*rule.when[:k], show(changed), *rule.when[k + 1 :])
            yield Mutant(rule.name, f"{fact} -> {show(changed)}", replace(rule, when=when))
    grouped = {f"{group} f g" for group in ("exactly", "rounded")}
    free = _SYMMETRIC | {"g" for fact in rule.when if fact.strip("()") in grouped}
    for side in ("left", "right"):
        tree = parse(getattr(rule, side))
        found = itertools.chain(_moved(tree), _exchanged(tree, free))
        if side == "right":
            found = itertools.chain(found, _left_out(tree))
        for changed in found:
            text = show(changed)
            made = replace(rule, left=text) if side == "left" else replace(rule, right=text)
            yield Mutant(rule.name, f"{side} -> {text}", made)


def _inside(tree: Tree, k: int, part: Tree) -> Tree:
    assert isinstance(tree, tuple), f"{tree} has no parts"
    return (*tree[:k], part, *tree[k + 1 :])


def _moved(tree: Tree) -> Iterator[Tree]:
    """Each integer, one more and one less."""
    if isinstance(tree, int):
        yield from (tree + 1, tree - 1)
    elif isinstance(tree, tuple):
        for k, part in enumerate(tree):
            yield from (_inside(tree, k, changed) for changed in _moved(part))


def _exchanged(tree: Tree, free: frozenset[str]) -> Iterator[Tree]:
    """Each pair of operands of an operator, exchanged unless their order is free."""
    if not isinstance(tree, tuple):
        return
    op, fields = str(tree[0]), tree[1:]
    operands = [k for k, letter in enumerate(SIGNATURE.get(op, ()), 1) if letter == "T"]
    if not (op == "map2" and fields[0] in free):
        for j, k in itertools.combinations(operands, 2):
            if tree[j] != tree[k]:
                yield _inside(_inside(tree, j, tree[k]), k, tree[j])
    for k in operands:
        yield from (_inside(tree, k, changed) for changed in _exchanged(tree[k], free))


def _left_out(tree: Tree) -> Iterator[Tree]:
    """Each operator replaced by one of its operands."""
    if not isinstance(tree, tuple):
        return
    letters = enumerate(SIGNATURE.get(str(tree[0]), ()), 1)
    for k in (k for k, letter in letters if letter == "T"):
        yield tree[k]
        yield from (_inside(tree, k, changed) for changed in _left_out(tree[k]))


def caught(mutant: Mutant) -> Caught:
    """Who refuses a mutant first."""
    try:
        with Session(program((mutant.rule,))):
            pass
    except EngineError:
        return "form"
    if _refused_by_instances(mutant):
        return "instance"
    return "proof" if prove(replace(mutant.rule, proof="")).outcome in _WRONG else "nobody"


_WRONG = ("failed", "unproved")


def _refused_by_instances(mutant: Mutant) -> bool:
    """Whether the rule is idle where it must fire, fires where it must not, or lies there."""
    rule = mutant.rule
    try:
        for instance in where_idle(mutant.base):
            beside = [every_rule()[name] for name in instance.beside if name != rule.name]
            if run((rule, *beside), instance.build(Sizes())).matches.get(rule.name, 0):
                return True
        for instance in where_fires(mutant.base):
            beside = [every_rule()[name] for name in instance.beside if name != rule.name]
            done = run((rule, *beside), instance.build(Sizes()))
            if not done.matches.get(rule.name, 0):
                return True
            wrong_terms(done, {"B": 2, "T": 4, "I": 2}, rule.valid == "inside the box", (1, 2))
    except (WrongTerm, EngineError, AssertionError):
        return True  # a term without a meaning is refused as well
    return False


_PART = r"\(red f m \(sl d p x\)\)"
_PAIR = rf"\(map2 g {_PART} \(at d a {_PART}\)\)"
_HALVES = rf"({_PAIR}|\(case c {_PAIR} {_PART}\))"
_POWERS = r"incremental/(sum-of-powers|softmax-sum|softmax-sum-of-vectors)(-to-come)?"
_SAFE = r"incremental/safe-(sum-of-powers|softmax-sum)(-of-vectors)?(-swapped)?(-to-come)?"
_VECTORS = r"incremental/(safe-)?softmax-sum-of-vectors(-swapped)?(-to-come)?"
_MOST = r"\((scan|back) \"max\" d x\)"
_FINITE = rf"\(map3 \"where\" \(map1 \"isfinite\" {_MOST}\) {_MOST} (\(reshape 0 o z\)|z)\)"
_GAIN = rf"\(map1 \"exp\" \(map2 \"sub\" \(at d b {_MOST}\) {_FINITE}\)\)"
_TERM = rf"\(map1 \"exp\" \(map2 \"sub\" x {_FINITE}\)\)"

# Mutants that hold as well: a pattern of the rule, one of the change, and the reason.
EQUIVALENT: tuple[tuple[str, str, str], ...] = (
    (r"(vectorize|domain)/.*", r"without \(= 0 \(& (d|\(\| d e\)) \((sdom \w|hmask h)\)\)\)",
     "slices stack equal shapes: where the left side exists, this shape is steady as well"),
    (r"(incremental|vectorize|view|domain)/.*",
     r"(without )?\(!= 0 \(& d (m|\((dom|free) [xv]\))\)\)( -> .*-1.*)?",
     "the fact spares useless work: the law holds for values that are the same at every step"),
    (r"vectorize/(want|definition)", r"without \((want x m|= d \(innermost m\)|live q)\)",
     "the fact says where the term is wished for"),
    (r"affine/(line|ray)(-with-starts)?", r"right -> \(lin d b .* \(case c s .*",
     "the start has the shape of the recurrence"),
    (r"affine/(un)?mask-.*|affine/product-.*-choice-.*|affine/(common|choice-of)-.*",
     r"without (\(factor e x\)|\(= x \(map[23] .*\)\))",
     "the facts say where the term is wished for"),
    (r"view/repeat-same", r"without \(= n \((rank x|hlen h)\)\)",
     "equal shapes have equally many axes"),
    (r"view/element-of-number", r"without \(= 0 \(rank x\)\)",
     "an axis of size 1 behind those of any tensor, and its only element"),
    (r"incremental/(fold-inside|projection).*",
     r"without \((growing s|= 1 \(rank x\)|= y \(mv k p \(sl d s x\)\))\)",
     "the fact says where the term is worth its while: the law holds for every range and rank"),
    (r"incremental/(together|slice|reshape|repeat|part|read|permute|transpose|fold-beside|looked).*",
     r"without \(growing s\)", "the fact says where the term is worth its while"),
    (r"incremental/(together|slice|reshape|repeat|part|read|permute|transpose|fold|projection|looked).*",
     r"without \(= \w \(inner d s \(sl d s \w\)\)\)",
     "the fact takes one of several values that have the same range"),
    (r"incremental/(together|reshape|repeat|part|read|permute|transpose|projection).*",
     r"without \(= k (\(\+ 1 )?\(rank \w\)\)?\)", "any axis may be the one that stands elsewhere"),
    (r"incremental/(together|part).*", r".*\(- (a p|p a)\) 62.*",
     "numbers of axes are small: all these bits are the sign"),
    (r"incremental/(reshape|repeat)-behind", r"without \(<= p q\)",
     "an axis that keeps its size may be left out wherever the range stands"),
    (r"incremental/slice-in-place", r"right -> \(sl d s x\)", "nothing is said"),
    (r"incremental/reshape-in-front-1-0", r"without \(= n .*|right -> \(sl d s .*",
     "the shape says so, and the range is the first axis"),
    (r"incremental/reshape-in-front-2-1", r"without \(= 0 \(& d \(zmask u\)\)\)",
     "the size is a product of steady ones"),
    (r"incremental/read-inside", r"(without )?\(!= 0 \(& e \(dom x\)\)\)( -> .*-1.*)?",
     "the fact spares useless work"),
    (r"incremental/fold-beside", r"without \(< p k\)", "incremental/fold-inside is this case"),
    (r"vectorize/nest-recurrence",
     r"without \((= x \(rec n\)|= s \(full d\)|= 0 \(& e \(mask s\)\))\)",
     "the rule is vectorize/nest for a recurrence, whose own range has a mask of nothing"),
    (r"affine/.*", r"without \((clear|some) r \w\)",
     "the equation holds for a factor that reads the recurrence too; it would only go in circles"),
    (r"view/index-of-slice", r"without \(!= a e\)", "view/index-here is this case"),
    (r"view/slice-from-slice", r"without \(= l \(sl d s x\)\)",
     "the fact gives the left side a name that others do not need"),
    (r"incremental/(together|discounted|weighted|triangle|masked).*",
     r"without \((= (r|0|1) \(rank \w\)|= 1 r|= m \(<< 1 \(rank x\)\))\)",
     "the other facts give this rank, or the axis that is folded"),
    (rf"incremental/(discounted-live-sum|triangle-.*)|{_POWERS}",
     r"without \((axis [yz] [rw1] \(size 1\)|= 0 \(& d \(dom z\)\)|= w .*)\)",
     "it is the number 0 everywhere, whatever its axes are"),
    (r"incremental/(until|from)(-rounded)?", r"right -> \(at d a \((scan|back) f d x\)\)",
     "a running fold is that of nothing outside the box; the case keeps reads inside it"),
    (_POWERS, rf"right -> \(lin d [01] (\(reshape 0 .*\(nil\)\) )?{_GAIN}\)? .*",
     "before the first step the greatest is -inf and the factor 0; the case keeps reads inside"),
    (rf"{_POWERS}|{_SAFE}", r"without \(= (r|h|0|1|n) .*\)",
     "the greatest has the rank and shape of a value, and the weights those of the range"),
    (_VECTORS, rf"right -> .*({_MOST} z\)|\(bcast h u\)|{_GAIN} \(reshape 0 o u\)\)).*",
     "a number has no axes to be repeated along"),
    (_SAFE, r"right -> \(map2 \"add\" .*\(map2 \"sub\" \(sl d s x\) q\).*",
     "what is added is 0 or NaN where the definition is; the choice spares infinities"),
    (r"incremental/sum-of-powers(-to-come)?", r"right -> .*\(map1 \"isfinite\" x\).*",
     "beside an infinite greatest value no other term changes the infinite sum"),
    (r"incremental/sliding-.*", r"without \(= h \(shape x\)\)",
     "the greatest has the shape of a value, which the left side names"),
    (r"incremental/sliding-softmax-sum-of-vectors.*",
     r"right -> .*\(red \"max\" k \(sl d s x\)\) z\).*",
     "a number has no axes to be repeated along"),
    (r"incremental/(sum-of-quotients|quotient-leaves|factor-leaves|column-of|product-as).*",
     r"without \((axis a [1k] n|= n \(size \(length s\)\)|= 1 \(rank [avy]\))\)",
     "the fact says where the term is worth its while: the law holds for every axis"),
    (r"incremental/centre-.*", r"without \(= [m0] .*\)",
     "the mean has the shape of a value: the sum over any other axis has not"),
    (r"incremental/spread-.*", r"without \(= [rh] \((rank|shape) [xz]\)\)",
     "both factors have one shape, which the other facts give"),
    (r"incremental/count-ahead", r"without \(= e \(full d\)\)",
     "a part that has all steps is one of a count that has as many"),
    (r"incremental/(until|from|window|safe|sum-of|softmax|always).*",
     r"without \(= [et] \(dtype (lhs|x)\)\)", "the type says which constant is meant"),
    (r"incremental/(tile-of|quotient-leaves|greatest-beside|weights-beside).*",
     r"without \((tile n p|axis [axy] 1 \(size n\))\)",
     "the fact says where tiles are wanted: the law holds for every part of rows"),
    (r"incremental/window-(doubled|lengthened)(-rounded)?",
     rf"right -> ({_PAIR}|\(case j \(map2 g {_HALVES} \(at d i x\)\) {_HALVES}\))",
     "the fold of a part without elements changes nothing; the case keeps reads inside the box"),
    (r"incremental/window-elsewhere", r"right -> \(at d a \(red f m \(sl d q x\)\)\)",
     "the fold of a range without elements is that of nothing; the case keeps reads inside"),
    (r"incremental/(spread|quer|outer|beyond|rungs|ladder|row|facing|lag|chained|discounted-window|"
     r"exponential|powers|weighted-sums).*|incremental/softmax-(product|sum-of-vectors)-in-tiles",
     r"(without \((= (\d|r|m|h|n|\(\+ 1 r\)) .*|axis .*|real_cast f)\)|\(axis [uz] .*|"
     r"(without )?\(!= 0 .*)",
     "what the left side is made of, or another fact, says this too, or it spares useless work"),
    (r"incremental/decayed-.*",
     r"without \((= [01] \(rank [gkqvwxyz]\)|= n \(size .*\)|axis [kwyz] 1 .*|axis v 1 c)\)|"
     r"without \(growing s\)|(without )?\(!= 0 \(& d \(dom k\)\)\)( -> .*-1.*)?",
     "the terms beside it in the left side say this too, or the fact spares useless work"),
    (r"incremental/(pre|suf)fix-arg.*",
     r"right -> \(lin d (1 .*|0 .*\(leaf k\)\) \(reshape 0 o z\)\)\))",
     "factor and step differ at the first step only, where both sides of the case are 0"),
    (r"domain/mask", r"without (\(= 0 \(& \(mask c\) \(gap [xy]\)\)\)|\(box d s\))",
     "the fact says where a value is defined, which the extracted program is checked for"),
    (r"domain/mask", r"without \(= 0 \(rank m\)\)", "the truth value of a condition is one number"),
    (r"view/fold-of-moved", r"without \(!= f \"argm(ax|in)\"\)",
     "a position along one axis does not change when the axis moves"),
    (r"view/fold-of-moved", r"\(= high .*\(<< 1 p\) 2\).*",
     "bit 0 is in the result: it is below the moved axis, or is the moved axis"),
    (r"view/moved-fold", r"\(= mid .* -> \(= mid .*(<< 2 \(- p 1\)|<< 1 \(- p 0\)).*",
     "the bit that enters is no folded axis"),
    (r"incremental/fold-beside|view/moved-fold",
     r"\(= (u|v) \(& \(\+ .*>> .b 4.* -> .*>> .b (3|5).*",
     "axes beyond the fifth: popcount is tested for all masks of eight"),
)  # fmt: skip


def equivalent(mutant: Mutant) -> str:
    """Why a mutant holds as well, or "" if that is not known."""
    for base, change, reason in EQUIVALENT:
        if re.fullmatch(base, mutant.base) and re.fullmatch(change, mutant.change):
            return reason
    return ""


def every_mutant() -> list[Mutant]:
    """All mutants of all rules, in the order of the table."""
    return [mutant for rule in every_rule() for mutant in mutants(rule)]


def main() -> int:
    """Judge every mutant; print who caught how many, and each one that nobody did."""
    counts = Counter[str]()
    gaps = 0
    for mutant in every_mutant():
        found = caught(mutant)
        reason = equivalent(mutant) if found == "nobody" else ""
        counts["equivalent" if reason else found] += 1
        if found == "nobody":
            gaps += not reason
            print(f"{mutant}\n    {reason or 'NOBODY REFUSES IT'}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return 1 if gaps else 0


if __name__ == "__main__":
    sys.exit(main())
