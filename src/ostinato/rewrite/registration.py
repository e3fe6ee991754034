"""A user's own rule: its form, its proof and its examples are checked when it is added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from typing import get_args

from ostinato.pdg.axis_functions import AXIS_FUNCTIONS
from ostinato.pdg.errors import OptionError, guess
from ostinato.pdg.functions import FOLDS, FUNCTIONS
from ostinato.pdg.index import Dim, Extent, evaluate, symbols
from ostinato.pdg.node import Host, Pdg
from ostinato.rewrite.engine.egglog_session import EngineError, Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.rule import UNPROVED, Exactness, Phase, Rule, Validity
from ostinato.rewrite.prove.instance_claims import WrongTerm, run, wrong_terms
from ostinato.rewrite.prove.prover import Verdict, prove
from ostinato.rewrite.terms import LHS
from ostinato.rewrite.terms.signature import Sort
from ostinato.rewrite.terms.term import Expression, Fact, named_functions, uses

_NAME = re.compile(r"[a-z][a-z0-9-]*/[a-z0-9][a-z0-9-]*")
_CHOICES = {
    "exact": get_args(Exactness),
    "valid": get_args(Validity),
    "phase": get_args(Phase),
}
_ROUNDS = 8  # of an example, where other rules make what a rule matches
_SIZES = ((3, 1), (2, 4))  # of an example: for each extent in turn


def registered(rule: Rule) -> Rule:
    """The rule with what the prover says of it.

    Errors: OptionError for a rule that is not well formed, is wrong, or is not proved and does not
    say so.
    """
    check_form(rule)
    verdict = decided(replace(rule, proof=""))
    match verdict.outcome:
        case "proved":
            return replace(rule, proof=f"proved when it was added, in {verdict.readings} readings")
        case "failed":
            raise _wrong(rule, verdict)
        case "bounded" | "unproved" if rule.proof.startswith(UNPROVED):
            return rule
        case "bounded":
            fact = f"the rule `{rule.name}` is decided for {verdict.why} only, not for more axes"
        case "unproved":
            fact = f"the rule `{rule.name}` was neither proved nor refuted: {verdict.why}"
    remedy = f'State it in other words, or accept it with proof="{UNPROVED}the reason".'
    raise OptionError(fact, remedy)


@cache
def decided(rule: Rule) -> Verdict:
    """What the prover says; a rule is decided once in a process."""
    return prove(rule)


def check_form(rule: Rule) -> None:
    """Refuse a rule that is not well formed.

    Errors: OptionError.
    """
    _check_words(rule)
    _check_terms(rule)


def _check_words(rule: Rule) -> None:
    """Refuse a name, a law or a choice that no rule of the table could have."""
    if not _NAME.fullmatch(rule.name):
        remedy = "Call it family/rule in lower-case words joined by hyphens, such as mine/double."
        raise OptionError(f"a rule is called `{rule.name}`", remedy)
    if not rule.law:
        remedy = "Write the equation in words, for the people who read lists of rules."
        raise OptionError(f"the rule `{rule.name}` has no law", remedy)
    for field, choices in _CHOICES.items():
        if getattr(rule, field) not in choices:
            fact = f"the rule `{rule.name}` has {field}={getattr(rule, field)!r}"
            raise OptionError(fact, f"Say one of: {', '.join(choices)}.")
    if rule.proof and not rule.proof.startswith(UNPROVED):
        fact = f"the rule `{rule.name}` has proof={rule.proof!r}"
        raise OptionError(fact, f'Leave `proof` empty, or say "{UNPROVED}the reason".')


def _parts(rule: Rule) -> Iterator[tuple[str, Expression | Fact]]:
    """The terms and facts of a rule with what they are called."""
    yield "the left side", rule.left
    yield from ((f"fact {k} of `when`", fact) for k, fact in enumerate(rule.when, 1))
    yield "the right side", rule.right
    yield from ((f"fact {k} of `also`", fact) for k, fact in enumerate(rule.also, 1))


def _check_functions(rule: Rule) -> None:
    """Refuse the name of a function that no program has."""
    for part, form in _parts(rule):
        for head, name in named_functions(form):
            known = _functions(head)
            if name.partition(":")[0] not in known:  # a cast to a type is cast:float64
                fact = f"`{head}` in {part}, `{form!r}`, has no `{name}`"
                names = ", ".join(f"`{each}`" for each in known)
                raise malformed(rule, fact, f"{guess(name, known)}It takes: {names}.")


def _functions(head: str) -> list[str]:
    """The functions that an operator of terms may have."""
    if head.startswith("map"):
        return sorted(name for name, of in FUNCTIONS.items() if of.arity == int(head[-1]))
    return sorted(AXIS_FUNCTIONS if head.startswith("along") else FOLDS)


def _check_terms(rule: Rule) -> None:
    """Refuse what egglog cannot run, with the part of the rule where it stands."""
    _check_variables(rule)
    _check_functions(rule)
    try:
        with Session(program((rule,))):
            pass
    except EngineError as problem:
        raise malformed(rule, problem.fact.splitlines()[-1].strip()) from None


def _check_variables(rule: Rule) -> None:
    """Refuse a variable that is two things, or that nothing says what it is."""
    found: dict[str, tuple[Sort, str]] = {LHS.name: ("term", "the left side")}
    for part, form in _parts(rule):
        bound = set(found)
        for variable, sort in uses(form):
            before, where = found.setdefault(variable.name, (sort, part))
            if before != sort:
                both = f"a {before} in {where} and a {sort} in {part}"
                raise malformed(rule, f"`{variable}` is {both}, `{form!r}`")
            if variable.name not in bound and (part == "the right side" or "`also`" in part):
                fact = (
                    f"{part}, `{form!r}`, uses `{variable}`, which the left side and `when` do not"
                )
                raise malformed(rule, fact)


_SIMILAR = "Compare with `ostinato rules show` of a similar rule."


def malformed(rule: Rule, fact: str, remedy: str = _SIMILAR) -> OptionError:
    """The error about a rule that is no rule."""
    return OptionError(f"the rule `{rule.name}` is not well formed: {fact}", remedy)


def _wrong(rule: Rule, verdict: Verdict) -> OptionError:
    """The error about a rule with a counterexample; a weaker claim is the remedy if it holds."""
    fact = f"the rule `{rule.name}` is wrong: {verdict.why}"
    found = tuple(_weaker(rule))
    if found and decided(found[-1]).outcome == "failed":
        found = ()  # an example against the weakest claim is one against each
    for weaker in found:
        if decided(weaker).outcome in ("proved", "bounded"):
            words = {f: getattr(weaker, f) for f in ("exact", "valid")}
            changed = (f'{f}="{word}"' for f, word in words.items() if word != getattr(rule, f))
            return OptionError(fact, f"It holds with {', '.join(changed)}: say so.")
    return OptionError(fact, "Correct a side, or add the fact that it needs to `when`.")


def _weaker(rule: Rule) -> Iterator[Rule]:
    """The same sides with claims that are easier to keep, nearest first."""
    exacts = get_args(Exactness)[get_args(Exactness).index(rule.exact) :]
    for valid in dict.fromkeys((rule.valid, "inside the box")):
        for exact in exacts:
            if (exact, valid) != (rule.exact, rule.valid):
                yield replace(rule, proof="", exact=exact, valid=valid)


@dataclass(frozen=True)
class Examples:
    """Programs on which rules must fire and on which they must not, and the rules beside them."""

    fires: Sequence[Pdg]
    idle: Sequence[Pdg]
    beside: tuple[Rule, ...]


def check_examples(rules: Sequence[Rule], examples: Examples) -> None:
    """Refuse a rule that does on an example what it must not, alone or beside the others.

    Errors: OptionError.
    """
    for k, pdg in enumerate((*examples.fires, *examples.idle), 1):
        if any(isinstance(node.op, Host) for node in pdg.nodes()):
            fact = f"program {k} of the examples calls Python, which the judge of rules does not"
            raise OptionError(fact, "Give an input in place of the call.")
    for rule in rules:
        for k, pdg in enumerate(examples.fires, 1):
            _check_firing(rule, pdg, examples.beside, f"program {k} of `fires`")
        for k, pdg in enumerate(examples.idle, 1):
            if run((*examples.beside, rule), pdg, _ROUNDS).matches.get(rule.name, 0):
                fact = f"the rule `{rule.name}` fires on program {k} of `idle`"
                raise OptionError(fact, "Add the fact that keeps it from firing to `when`.")


def _check_firing(rule: Rule, pdg: Pdg, beside: tuple[Rule, ...], about: str) -> None:
    done, inside = run((rule,), pdg), rule.valid == "inside the box"
    if not done.matches.get(rule.name, 0):  # alone: it may need what others make
        done, inside = run((*beside, rule), pdg, _ROUNDS), True
    if not done.matches.get(rule.name, 0):
        fact = f"the rule `{rule.name}` does not fire on {about}"
        raise OptionError(fact, "Compare its left side with `ostinato rules show` of other rules.")
    for sizes in _SIZES:
        try:
            wrong_terms(done, _extents(pdg, sizes), inside, (1, 2))
        except WrongTerm as problem:
            fact = f"the rule `{rule.name}` is wrong on {about}: {problem}"
            remedy = "Correct a side, or add the fact that it needs to `when`."
            raise OptionError(fact, remedy) from None


def _extents(pdg: Pdg, sizes: Sequence[int]) -> dict[str, int]:
    """Sizes for all extents of a program, in turn, and what follows from them for derived ones."""
    wholes = [*(d.extent for d in pdg.dims()), *(s for n in pdg.nodes() for s in n.shape)]
    found = {s for e in wholes for s in symbols(e) if isinstance(s, Extent)}
    names = sorted(s.name for s in found)
    chosen = dict(zip(names, cycle(sizes)))
    least = {name: max(size, pdg.minimum_extents.get(name, 1)) for name, size in chosen.items()}
    env: dict[Dim | Extent, int] = {Extent(name): size for name, size in least.items()}
    derived = {d.symbol.name: evaluate(d.size, env) for d in pdg.dims() if d.size is not None}
    return {**least, **derived}
