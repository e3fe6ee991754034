"""Rules are data: the record of one law, sets of rules, and the choice a user makes among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

from ostinato.pdg.errors import OptionError, guess
from ostinato.pdg.node import HasGraph
from ostinato.provenance.place import place
from ostinato.rewrite.engine.rule import Rule


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
        if name in self.families:
            names = ", ".join(rule.name for rule in self.family(name))
            fact = f"`{name}` is a family of rules, and no rule"
            raise OptionError(fact, f"Name one of its rules: {names}.", place())
        if not found:
            raise _unknown(name, [rule.name for rule in self.rules])
        return found[0]

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rule.family for rule in self.rules))

    def family(self, name: str) -> Self:
        """The rules of one family."""
        if any(rule.name == name for rule in self.rules):
            remedy = f"Name the family: {self[name].family}."
            raise OptionError(f"`{name}` is a rule, and no family", remedy, place())
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
        """The rules as far as they keep every bit of every result, signs of zeros included."""
        kept = (rule.to_the_bit for rule in self.rules)
        return replace(self, rules=tuple(rule for rule in kept if rule is not None))

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
        from ostinato.rewrite.registration import Examples, check_examples, registered

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
