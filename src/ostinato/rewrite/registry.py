"""Rules are data: the record of one law, sets of rules, and the choice a user makes among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ostinato.pdg.errors import OptionError, guess

Exactness = Literal["exact", "zero signs", "reassociates"]
Validity = Literal["everywhere", "inside the box"]
Phase = Literal["rewrite", "seed"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One law. Sides and facts are terms of the language in `ostinato.rewrite.lang`.

    - ``law``: the equation in words; ``reason``: what it is good for.
    - ``left`` is matched, ``right`` becomes equal to it when all facts of ``when`` hold; ``also``
      are further facts the law asserts (a shape, a wish).
    - ``exact``: bit for bit the same numbers; the same but for the sign of a zero; or equal over
      the reals, with other roundings.
    - ``valid``: at all integer points, or only inside the box of the dimensions.
    - ``proof``: a file under ``proofs/``, or ``unproved: why``.
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
    proof: str = "unproved: no proof written yet"
    phase: Phase = "rewrite"

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    def __str__(self) -> str:
        facts = "".join(f"\n  when  {fact}" for fact in self.when)
        head = f"{self.name}: {self.law}\n  {self.reason}\n  left  {self.left}"
        return f"{head}\n  right {self.right}{facts}\n  {self.exact}, {self.valid}, {self.proof}"


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

    def family(self, name: str) -> RuleSet:
        """The rules of one family."""
        if name not in self.families:
            raise _unknown(name, self.families)
        return RuleSet(tuple(rule for rule in self.rules if rule.family == name))

    def without(self, *names: str) -> RuleSet:
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
        return RuleSet(tuple(kept))

    def only(self, *names: str) -> RuleSet:
        """The named rules and families."""
        dropped = tuple(r.name for r in self.rules if not {r.name, r.family} & set(names))
        return self.without(*dropped)

    def add(self, *rules: Rule) -> RuleSet:
        """The set with further rules.

        Errors: OptionError if a name is taken.
        """
        taken = {rule.name for rule in self.rules}
        for rule in rules:
            if rule.name in taken:
                fact = f"a rule called `{rule.name}` is already there"
                raise OptionError(fact, "Give the new rule a name of its own.")
            taken.add(rule.name)
        return RuleSet((*self.rules, *rules))


def _unknown(name: str, known: tuple[str, ...] | list[str]) -> OptionError:
    families = ", ".join(sorted({name.partition("/")[0] for name in known}))
    near = guess(name, known, 0.4)
    remedy = f"{near}Families: {families}; `ostinato rules list` shows every rule."
    return OptionError(f"no rule or family is called `{name}`", remedy)


@cache
def every_rule() -> RuleSet:
    """All rules of the compiler, in the order in which they are listed."""
    from ostinato.rewrite.rules import FAMILIES

    return RuleSet(()).add(*(rule for family in FAMILIES for rule in family))
