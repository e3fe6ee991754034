"""The record of one law."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, Self, cast

from ostinato.rewrite.relations.row import in_words
from ostinato.rewrite.terms.term import Expression, Fact

# What the two sides of a rule have in common. In every class the law holds for all sizes (ranges
# may be empty), integers wrap in the same way, and what a choice hides is not read: its infinities
# and NaN do not matter. Which NaN it is, is open in every class.
#
# - "exact": the same bits, for every input: signs of zeros, infinities and NaN included.
# - "zero signs": the same, but the sign of a zero is open, and what follows from it: 1 / 0.
# - "reassociates": the same real number, rounded otherwise. An infinity or a NaN is the same one.
#   A finite operation of the left side that overflows, underflows or reaches the limit of its
#   function (exp(1000), tanh(50)) is left open: the right side may have the real number there.
#   Where the left side has sums or products, those of the right side may overflow in their order.
# - "distributes": the same, but where factors, divisors or terms are infinite, NaN or (divisors) 0,
#   the result is not finite on both sides; which of NaN and the infinities it is may differ. What
#   is finite stays finite, and what is not does not become finite.
# - "skips zeros": the same, and a product with a zero that indices alone choose (outside of a
#   triangle, for no steps) is zero, even if the other factor is infinite or NaN.
Exactness = Literal["exact", "zero signs", "reassociates", "distributes", "skips zeros"]
REAL: tuple[Exactness, ...] = ("reassociates", "distributes", "skips zeros")
Validity = Literal["everywhere", "inside the box"]
Phase = Literal["rewrite", "normal", "spread", "seed"]
UNPROVED = "unproved: "


@dataclass(frozen=True, slots=True)
class Rule:
    """One law. Sides and facts are written with the names of `ostinato.rewrite.terms`.

    - ``law``: the equation in words; ``reason``: what it is good for.
    - ``left`` is matched, ``right`` becomes equal to it when all facts of ``when`` hold; ``also``
      are further facts the law asserts (a shape, a wish).
    - ``exact``: the class of exactness, what both sides have in common for every input (see below).
    - ``valid``: at all integer points, or only inside the box of the dimensions. Running folds and
      linear recurrences have a value of their own inside the box only, so laws that make one of
      something else hold there only.
    - ``proof``: a file under ``proofs/``, or ``unproved: why``; of a rule that a user adds, empty
      (the prover decides it then) or ``unproved: why`` to use it all the same.
    - ``bits``: further facts where it keeps every bit, such as that a fold does not round.
    - ``phase``: between the rounds of all laws, those that bring terms to their ``normal`` form
      run by themselves until nothing is left to do, and so do those that only pass a term on to
      the operands, which ``spread``. ``seed`` asks for new terms.

    >>> from ostinato.rewrite.terms import LHS, add, eq, mul, shape, value, variables
    >>> x, y = variables("x y")
    >>> Rule(
    ...     name="mine/double", law="x + x = 2 x where the 2 is there", reason="One operand less.",
    ...     left=mul(x, y), right=add(x, x), when=(eq(2.0, value(y)), eq(shape(x), shape(LHS))),
    ... ).family
    'mine'
    """

    name: str
    law: str
    reason: str
    left: Expression
    right: Expression
    when: tuple[Fact, ...] = ()
    also: tuple[Fact, ...] = ()
    exact: Exactness = "exact"
    valid: Validity = "everywhere"
    proof: str = ""
    phase: Phase = "rewrite"
    bits: tuple[Fact, ...] = ()

    def __hash__(self) -> int:
        # every compilation asks for the hashes of all rules, and a text knows its own
        return hash(self.name)

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def is_proved(self) -> bool:
        """Whether a proof for all sizes is there."""
        return bool(self.proof) and not self.proof.startswith(UNPROVED)

    @property
    def to_the_bit(self) -> Self | None:
        """The law as far as it keeps every bit; None if it never does."""
        if self.exact == "exact":
            return self
        if not self.bits:
            return None
        return replace(self, when=(*self.when, *self.bits), exact="exact", bits=())

    def __str__(self) -> str:
        facts = "".join(f"\n  when  {fact!r}{_said(fact)}" for fact in self.when)
        facts += "".join(f"\n  exact if  {fact!r}{_said(fact)}" for fact in self.bits)
        head = f"{self.name}: {self.law}\n  {self.reason}\n  left  {self.left!r}"
        proof = self.proof or "not decided yet"
        return f"{head}\n  right {self.right!r}{facts}\n  {self.exact}, {self.valid}, {proof}"


def _said(fact: Fact) -> str:
    words = in_words(fact.tree)
    return f"    {words}" if words else ""


def texts_of(rule: Rule) -> dict[str, str | tuple[str, ...]]:
    """Every field of a rule as a text, or as texts: what keys and files hold of it."""
    found: dict[str, str | tuple[str, ...]] = {}
    for name in (field.name for field in fields(rule)):
        of: object = getattr(rule, name)
        if isinstance(of, tuple):
            found[name] = tuple(map(str, cast(tuple[object, ...], of)))
        else:
            found[name] = str(of)
    return found
