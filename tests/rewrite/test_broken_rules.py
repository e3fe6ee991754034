"""Rules that look right and are not: the prover or the harness refuses every one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from ostinato.pdg.errors import OstinatoError
from ostinato.rewrite.engine.egglog_session import EngineError
from ostinato.rewrite.engine.rule import Exactness, Rule
from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.terms import *
from tests.rewrite.harness import WrongTerm, run, wrong_terms
from tests.rewrite.instances import where_fires
from tests.rewrite.instances.instance import Sizes

a, b, c, d, e, f, g, h, i, j, k, m, n = variables("a b c d e f g h i j k m n")
p, q, r, s, u, w, x, y, z = variables("p q r s u w x y z")


@dataclass(frozen=True)
class Broken:
    """A rule of the table with one thing changed, and why it is wrong then."""

    base: str
    why: str
    left: Expression | None = None
    right: Expression | None = None
    without: tuple[Fact, ...] = ()
    more: tuple[Fact, ...] = ()
    exact: Exactness | None = None

    def rule(self) -> Rule:
        good = every_rule()[self.base]
        kept = (fact for fact in good.when if fact not in self.without)
        return replace(
            good,
            name=f"broken/{self.why.replace(' ', '-')}",
            left=self.left or good.left,
            right=self.right or good.right,
            when=(*kept, *self.more),
            exact=self.exact or good.exact,
        )


NOT_OF_D = not_in(d, mask(a))
BROKEN = (
    Broken("incremental/running", "a prefix sum is no scan of the maximum",
           right=scan("max", d, x)),
    Broken("incremental/running", "the sum up to the point leaves nothing out",
           right=at(d, a, scan("sum", d, x)), more=(eq(q, shifted(d, s, a)),)),
    Broken("incremental/running", "a sum of another range is no scan",
           without=(nearby(d, s, i, a, c),)),
    Broken("incremental/suffix-sum", "a sum of the future does not run forwards",
           right=lin(d, 0, reshape(0, h, u), x)),
    Broken("incremental/suffix-sum", "a prefix is no suffix",
           without=(suffix(d, s),), more=(prefix(d, s),)),
    Broken("incremental/decay-power", "the factor must not move with the step",
           without=(not_in(d, dom(w)),)),
    Broken("incremental/decay-power", "a number below zero has no powers", without=(gentle(w),)),
    Broken("incremental/decay-exp", "what enters may be as small as nothing",
           without=(moderate(u),)),
    Broken("incremental/decaying-sum", "a range that is empty at first has no step before it",
           right=lin(d, f, g, u)),
    Broken("incremental/masked-fold", "what a mask leaves out must change nothing",
           without=(empty(f, e, u),)),
    Broken("incremental/masked-folds", "both ranges of a mask are folded",
           right=red(f, m, cut(k, s, y))),
    Broken("incremental/window-halved", "the other half lies at another point",
           right=case(c, map2(g, red(f, m, sl(d, p, x)), x), red(f, m, sl(d, p, x)))),
    Broken("incremental/window-overlapping", "the other half only where it has elements",
           right=map2(g, red(f, m, sl(d, p, x)), at(d, a, red(f, m, sl(d, p, x))))),
    Broken("incremental/window-overlapping", "a sum must not count an element twice",
           without=(exactly(f, g),), more=(rounded(f, g),)),
    Broken("incremental/window-halved", "both halves are in the longer window",
           right=case(j, red(f, m, sl(d, p, x)), map2(g, red(f, m, sl(d, p, x)), at(d, i, x)))),
    Broken("incremental/range-elsewhere", "a window beside the point is not that at the point",
           right=case(c, red(f, m, sl(d, q, x)), bcast(h, reshape(0, k, u)))),
    Broken("incremental/running", "what follows is no running fold of what was",
           right=scan(f, d, x)),
    Broken("incremental/projection", "a matrix that moves with the step is no constant",
           without=(not_in(d, dom(w)),)),
    Broken("incremental/fold-beside", "a fold over the range itself stays outside",
           without=(eq(0, m & (1 << (p - 1))),)),
    Broken("vectorize/map2", "operands stay in order",
           right=map2(f, sl(d, s, z), sl(d, s, x))),
    Broken("vectorize/map2", "every operand is sliced",
           right=map2(f, sl(d, s, x), z)),
    Broken("vectorize/part", "an index that moves with the step picks another element",
           without=(NOT_OF_D,)),
    Broken("vectorize/case", "a condition that moves with the step chooses at every step",
           without=(NOT_OF_D,)),
    Broken("vectorize/at", "a read along the sliced dimension hides it", without=(ne(d, e),)),
    Broken("vectorize/running", "a scan along the sliced dimension sees other steps",
           without=(ne(d, e),)),
    Broken("vectorize/shift", "a shift is no full range", right=sl(d, s, x)),
    Broken("vectorize/point", "a moved axis is not where it was", right=x),
    Broken("vectorize/nest", "the nesting of axes shows", right=sl(e, q, sl(d, s, x))),
    Broken("vectorize/want", "the element is read at the point",
           right=part(r + 1, 0, sl(d, s, x))),
    Broken("view/index-of-slice", "only a full range starts at 0", without=(eq(s, full(d)),)),
    Broken("view/index-of-slice", "another axis is no step", without=(eq(k, 1 + rank(x)),)),
    Broken("view/read-invariant", "a value that varies is not read anywhere",
           without=(not_in(d, dom(x)),)),
    Broken("view/move-back", "turning three axes twice is no restoration",
           without=(eq(p, k + 1),), more=(eq(p, k + 2),)),
    Broken("view/fold-of-moved", "the folded axis must be found where it was",
           right=red(f, m, x)),
    Broken("view/moved-fold", "a folded axis cannot move afterwards",
           without=(eq(0, m & (1 << (p - 1))),)),
    Broken("matmul/shared-right", "rows that repeat are not as many",
           without=(eq(n, size(length(s))),)),
    Broken("matmul/shared-right", "a matrix per row is not shared",
           without=(not_in(d, dom(w)),)),
    Broken("matmul/outer-sum", "a largest product is no product",
           left=red("max", 4, mm(x, y))),
    Broken("matmul/outer-sum", "sums in another order round otherwise", exact="exact"),
    Broken("incremental/together-along1", "what runs along the range is not that of each step",
           without=(ne(a, p),)),
    Broken("incremental/mean", "a mean is taken along the range and no other axis",
           without=(eq(m, 1 << rank(x)),)),
    Broken("incremental/sum-of-powers", "a zero that is wider than the range widens the sum",
           without=(eq(sizes(1, then=h), shape(where(map1("isfinite", q), q, y))),)),
    Broken("fuse/columns", "columns of a product are no rows", right=cut(2, s, mm(x, w))),
    Broken("fuse/parts", "the last part begins where the first one ends",
           without=(axis(y, k, size(n)),)),
    Broken("affine/line", "the factor belongs to the recurrence", right=lin(d, b, a, g)),
    Broken("affine/line", "a recurrence of the past does not run backwards",
           right=lin(d, 1, g, a)),
    Broken("domain/lift-product", "a matrix that varies is read elsewhere too",
           without=(not_in(d, dom(w)),)),
    Broken("domain/lift-tr", "a value is not read where it is made",
           right=tr(x)),
    Broken("domain/split-low", "the parts do not change places",
           right=cat(r + 1, sl(d, p, y), sl(d, q, x))),
    Broken("domain/split-low", "the parts join along the axis that was cut",
           right=cat(r, sl(d, p, x), sl(d, q, y))),
    Broken("domain/split-high", "a condition from below is none from above",
           without=(holds_high(c, d, s, p, q),), more=(holds_low(c, d, s, p, q),)),
    Broken("domain/case-and", "both conditions choose, not one",
           right=case(a, x, y)),
    Broken("domain/case-and", "where one fails the other value is taken",
           right=case(a, case(b, x, y), x)),
    Broken("algebra/times-one", "a one that lengthens an axis counts",
           without=(eq(shape(x), shape(LHS)),)),
    Broken("algebra/times-one", "times two is not times one",
           without=(eq(1.0, value(y)),), more=(eq(2.0, value(y)),)),
    Broken("algebra/plus-zero", "a zero may lose its sign", exact="exact"),
    Broken("algebra/neg-sub", "a negated difference is no difference",
           right=sub(x, y)),
    Broken("algebra/transpose-product", "a transposed product turns around",
           right=mm(tr(x), tr(y))),
    Broken("algebra/factor", "a common factor is needed", right=mul(z, add(y, x))),
    Broken("algebra/where-not", "a negated choice changes sides", right=where(w, x, y)),
    Broken("algebra/reshape-twice", "a reshape of fewer axes keeps the others",
           without=(eq(k, hlen(g)),)),
    Broken("algebra/sum-of-negated", "the maximum of negatives is no negative maximum",
           left=red("max", m, neg(x)), right=neg(red("max", m, x))),
)  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN, ids=lambda b: f"{b.base}: {b.why}")
def test_the_prover_refuses_the_broken_rule(broken: Broken) -> None:
    verdict = prove(broken.rule())
    assert verdict.outcome in ("failed", "unproved"), str(verdict)
    assert verdict.why


def test_the_broken_rules_are_many_and_of_every_family() -> None:
    assert len({broken.rule() for broken in BROKEN}) == len(BROKEN) >= 30
    assert {broken.base.partition("/")[0] for broken in BROKEN} == {*every_rule().families}


def test_nearly_every_refusal_comes_with_an_example() -> None:
    outcomes = [prove(broken.rule()).outcome for broken in BROKEN]
    assert outcomes.count("failed") >= 0.8 * len(BROKEN), outcomes


SEEN_BY_THE_HARNESS = (
    "a prefix sum is no scan of the maximum",
    "a sum of the future does not run forwards",
    "the other half lies at another point",
    "operands stay in order",
    "a shift is no full range",
    "a moved axis is not where it was",
    "the nesting of axes shows",
    "a negated difference is no difference",
    "a transposed product turns around",
    "a negated choice changes sides",
)


@pytest.mark.parametrize("why", SEEN_BY_THE_HARNESS)
def test_the_harness_sees_the_wrong_term(why: str) -> None:
    (broken,) = (b for b in BROKEN if b.why == why)
    rule = broken.rule()
    with pytest.raises((WrongTerm, OstinatoError, EngineError)):
        for instance in where_fires(broken.base):
            beside = [every_rule()[name] for name in instance.beside]
            done = run((rule, *beside), instance.build(Sizes()))
            assert done.matches.get(rule.name, 0) > 0, "the broken rule did not fire"
            wrong_terms(done, {"B": 2, "T": 4, "I": 2}, rule.valid == "inside the box", (1, 2))
