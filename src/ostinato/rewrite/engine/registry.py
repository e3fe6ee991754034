"""Rules are data: the record of one law, sets of rules, and the choice a user makes among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Protocol, Self

from ostinato.pdg.errors import OptionError, guess
from ostinato.pdg.node import Pdg
from ostinato.provenance.place import place

# What the two sides of a rule have in common. In every class the law holds for all sizes (ranges
# may be empty), integers wrap in the same way, and what a choice hides is not read: its infinities
# and NaN do not matter. Which NaN it is, is open in every class.
#
# - "exact": the same bits, for every input: signs of zeros, infinities and NaN included.
# - "zero signs": the same, but the sign of a zero is open, and what follows from it: 1 / 0.
# - "reassociates": the same real number, rounded otherwise. An infinity or a NaN is the same one.
#   A finite operation of the left side that overflows, underflows or reaches the limit of its
#   function (exp(1000), tanh(50)) is left open: the right side may have the real number there.
# - "distributes": the same, but where factors, divisors or terms are infinite, NaN or (divisors) 0,
#   the result is not finite on both sides; which of NaN and the infinities it is may differ. What
#   is finite stays finite, and what is not does not become finite.
# - "skips zeros": the same, and a product with a zero that indices alone choose (outside of a
#   triangle, for no steps) is zero, even if the other factor is infinite or NaN.
Exactness = Literal["exact", "zero signs", "reassociates", "distributes", "skips zeros"]
REAL: tuple[Exactness, ...] = ("reassociates", "distributes", "skips zeros")
Validity = Literal["everywhere", "inside the box"]
Phase = Literal["rewrite", "spread", "seed"]
UNPROVED = "unproved: "


@dataclass(frozen=True, slots=True)
class Rule:
    """One law. Sides and facts are terms of the language in `ostinato.rewrite.engine.language`.

    - ``law``: the equation in words; ``reason``: what it is good for.
    - ``left`` is matched, ``right`` becomes equal to it when all facts of ``when`` hold; ``also``
      are further facts the law asserts (a shape, a wish).
    - ``exact``: the class of exactness, what both sides have in common for every input (see below).
    - ``valid``: at all integer points, or only inside the box of the dimensions. Running folds and
      linear recurrences have a value of their own inside the box only, so laws that make one of
      something else hold there only.
    - ``proof``: a file under ``proofs/``, or ``unproved: why``; of a rule that a user adds, empty
      (the prover decides it then) or ``unproved: why`` to use it all the same.
    - ``phase``: laws that only pass a term on to the operands ``spread``: they run by themselves
      until nothing is left to do, between the rounds of all laws. ``seed`` asks for new terms.

    >>> Rule(
    ...     name="mine/double", law="x + x = 2 x where the 2 is there", reason="One operand less.",
    ...     left='(map2 "mul" x y)', right='(map2 "add" x x)',
    ...     when=("(= 2.0 (value y))", "(= (shape x) (shape lhs))"),
    ... ).family
    'mine'
    """

    name: str
    law: str
    reason: str
    left: str
    right: str
    when: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    exact: Exactness = "exact"
    valid: Validity = "everywhere"
    proof: str = ""
    phase: Phase = "rewrite"

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def is_proved(self) -> bool:
        """Whether a proof for all sizes is there."""
        return bool(self.proof) and not self.proof.startswith(UNPROVED)

    def __str__(self) -> str:
        facts = "".join(f"\n  when  {fact}" for fact in self.when)
        head = f"{self.name}: {self.law}\n  {self.reason}\n  left  {self.left}"
        proof = self.proof or "not decided yet"
        return f"{head}\n  right {self.right}{facts}\n  {self.exact}, {self.valid}, {proof}"


class HasGraph(Protocol):
    """A program, as users have it."""

    @property
    def pdg(self) -> Pdg: ...


@dataclass(frozen=True, slots=True)
class RuleSet:
    """An ordered set of rules; names are unique."""

    rules: tuple[Rule, ...]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Rule:
        found = [rule for rule in self.rules if rule.name == name]
        if not found:
            raise _unknown(name, [rule.name for rule in self.rules])
        return found[0]

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rule.family for rule in self.rules))

    def family(self, name: str) -> Self:
        """The rules of one family."""
        if name not in self.families:
            raise _unknown(name, self.families)
        return replace(self, rules=tuple(rule for rule in self.rules if rule.family == name))

    def without(self, *names: str) -> Self:
        """The set without the named rules and families.

        Errors: OptionError for a name that is neither, with the closest known one.

        >>> every_rule().without("vectorize").families.count("vectorize")
        0
        """
        known = {*self.families, *(rule.name for rule in self.rules)}
        for name in names:
            if name not in known:
                raise _unknown(name, sorted(known))
        kept = (r for r in self.rules if r.name not in names and r.family not in names)
        return replace(self, rules=tuple(kept))

    def only(self, *names: str) -> Self:
        """The named rules and families.

        Errors: OptionError for a name that is neither, with the closest known one.
        """
        self.without(*names)  # refuses unknown names
        dropped = tuple(r.name for r in self.rules if not {r.name, r.family} & set(names))
        return self.without(*dropped)

    def exact(self) -> Self:
        """The rules that keep every bit of every result, the signs of zeros included."""
        return replace(self, rules=tuple(rule for rule in self.rules if rule.exact == "exact"))

    def add(
        self, *rules: Rule, fires: Sequence[HasGraph] = (), idle: Sequence[HasGraph] = ()
    ) -> Self:
        """The set with further rules, each of them checked and proved here.

        ``fires`` are programs on which each of the rules must fire, alone or beside the rules of
        this set, and on which all that it calls equal is compared by the interpreter; ``idle`` are
        programs on which none of them may fire.
        A rule that the prover cannot decide is refused, unless its ``proof`` says
        ``unproved: the reason``: compiling with it warns when it fires. A rule with a
        counterexample is always refused.
        Errors: OptionError if a name is taken, if a rule is not well formed, if it is wrong or not
        proved, or if a program of ``fires`` or ``idle`` shows something else.
        """
        try:
            return self.checked(rules, fires, idle)
        except OptionError as error:
            raise error.at(place()) from None

    def checked(
        self,
        rules: Sequence[Rule],
        fires: Sequence[HasGraph] = (),
        idle: Sequence[HasGraph] = (),
    ) -> Self:
        """The set with further rules, as `add` gives it; its errors name no place."""
        from ostinato.rewrite.engine.registration import Examples, check_examples, registered

        names = [rule.name for rule in self.rules]
        for rule in rules:
            if rule.name in names:
                fact = f"a rule called `{rule.name}` is already there"
                raise OptionError(fact, "Give the new rule a name of its own.")
            names.append(rule.name)
        known = tuple(map(registered, rules))
        graphs = ([p.pdg for p in fires], [p.pdg for p in idle])
        check_examples(known, Examples(*graphs, self.rules))
        return replace(self, rules=(*self.rules, *known))


def _unknown(name: str, known: tuple[str, ...] | list[str]) -> OptionError:
    families = ", ".join(sorted({name.partition("/")[0] for name in known}))
    near = guess(name, known, 0.4)
    remedy = f"{near}Families: {families}; `ostinato rules list` shows every rule."
    return OptionError(f"no rule or family is called `{name}`", remedy, place())


@cache
def every_rule() -> RuleSet:
    """All rules of the compiler, in the order in which they are listed."""
    from ostinato.rewrite.rules import FAMILIES

    return RuleSet(tuple(rule for family in FAMILIES for rule in family))
