"""Every rule with one thing changed, and who refuses it: the prover, an instance, or nobody.

Facts are dropped or replaced by their like, operands exchanged, integers moved by one, functions
renamed, operators of the right side left out, asserted facts dropped or changed, and stronger
claims made. What nobody refuses is a law that holds as well, of which `tests.rewrite.equivalents`
has a proof, or a gap; a log of JSON lines holds what was judged. `tests.rewrite.machinery` does the
same to gates and analyses.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from ostinato.rewrite.engine.egglog_session import EngineError, Session
from ostinato.rewrite.engine.language import program
from ostinato.rewrite.engine.rule import Exactness, Rule, texts_of
from ostinato.rewrite.prove.instance_claims import Saturated, WrongTerm, run, wrong_terms
from ostinato.rewrite.prove.prover import prove
from ostinato.rewrite.prove.setting import Setting
from ostinato.rewrite.prove.term_meaning import Meaning
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations.sexpr import Tree, heads, parse, words
from ostinato.rewrite.terms.signature import SIGNATURE
from ostinato.rewrite.terms.term import Fact, Term, fact_of, term_of
from tests.rewrite.equivalents import why_equivalent
from tests.rewrite.instances import every_instance, where_fires, where_idle
from tests.rewrite.instances.instance import Instance, Sizes

LOG = Path("build/mutants.jsonl")  # what was judged so far: a run that was stopped goes on
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
    """Every single change of a rule: of facts, sides, what it asserts and what it claims."""
    changes = (_of_facts(rule), _of_sides(rule), _of_assertions(rule), _of_claims(rule))
    for change, made in dict(itertools.chain.from_iterable(changes)).items():
        yield Mutant(rule.name, change, made)


def _of_facts(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """A fact dropped, one of its integers moved, or another relation in its place."""
    for k, fact in enumerate(rule.when):
        rest = rule.when[:k] + rule.when[k + 1 :]
        yield f"without {fact}", replace(rule, when=rest)
        for tree in itertools.chain(_moved(fact.tree), _related(fact.tree)):
            changed = fact_of(tree)
            when = (*rule.when[:k], changed, *rule.when[k + 1 :])
            yield f"{fact} -> {changed}", replace(rule, when=when)


def _of_sides(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """An integer moved, operands exchanged, a function renamed, an operator left out.

    Of the left side, a letter that occurs twice becomes two letters, and an operator is left out
    where the law has no facts.
    """
    free = _SYMMETRIC | {
        "g" for fact in rule.when if fact.head in ("repeats", "exactly", "rounded")
    }
    for side, tree in (("left", rule.left.tree), ("right", rule.right.tree)):
        found = itertools.chain(_moved(tree), _exchanged(tree, free))
        fewer = _left_out(tree) if side == "right" or not rule.when else ()
        apart = _parted(tree) if side == "left" else ()
        found = itertools.chain(found, fewer, apart, _renamed(tree))
        for changed in found:
            term = term_of(changed)
            made = replace(rule, left=term) if side == "left" else replace(rule, right=term)
            yield f"{side} -> {term}", made


def _of_assertions(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """A fact that the rule asserts dropped, or changed as a side is, or its letters exchanged."""
    for k, fact in enumerate(rule.also):
        rest = rule.also[:k] + rule.also[k + 1 :]
        yield f"asserts not {fact}", replace(rule, also=rest)
        tree = fact.tree
        changes = (_moved(tree), _inner_changes(tree), _related(tree), _letters_exchanged(tree))
        for changed in itertools.chain.from_iterable(changes):
            asserted = fact_of(changed)
            also = (*rule.also[:k], asserted, *rule.also[k + 1 :])
            yield f"asserts {fact} -> {asserted}", replace(rule, also=also)


def _of_claims(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """Every stronger claim: a stricter class of exactness, and all points."""
    for exact in get_args(Exactness)[: get_args(Exactness).index(rule.exact)]:
        yield f"claims {exact}", replace(rule, exact=exact)
    if rule.valid != "everywhere":
        yield "claims everywhere", replace(rule, valid="everywhere")


_OTHER = (
    ("prefix", "suffix"),
    *(("before", "after"), ("exactly", "rounded"), ("unit", "zero")),
    *(("rows", "columns"), ("holds_low", "holds_high"), ("rest", "shortened")),
    *(("scaled", "gone"), ("clear", "some")),
)
_RELATION = {**dict(_OTHER), **{b: a for a, b in _OTHER}}
_NAMES = (
    *(("sum", "max"), ("prod", "min"), ("add", "sub"), ("mul", "div"), ("exp", "tanh")),
    *(("maximum", "minimum"), ("any", "all"), ("argmax", "argmin"), ("ge", "gt"), ("le", "lt")),
)
_NAME = {f'"{x}"': f'"{y}"' for a, b in _NAMES for x, y in ((a, b), (b, a))}


def _related(tree: Tree) -> Iterator[Tree]:
    """A relation with the same columns in its place."""
    if isinstance(tree, tuple) and tree[0] in _RELATION:
        yield (_RELATION[str(tree[0])], *tree[1:])


def _renamed(tree: Tree) -> Iterator[Tree]:
    """Each name of a function or a fold replaced by another one."""
    if isinstance(tree, str) and tree in _NAME:
        yield _NAME[tree]
    elif isinstance(tree, tuple):
        for k, part in enumerate(tree):
            yield from (_inside(tree, k, changed) for changed in _renamed(part))


def _parted(tree: Tree) -> Iterator[Tree]:
    """Each place of a letter that occurs more than once, with a letter of its own."""
    every = list(words(tree))
    for word in dict.fromkeys(w for w in every if every.count(w) > 1):
        yield from _with_another(tree, word)


def _with_another(tree: Tree, word: str) -> Iterator[Tree]:
    if tree == word:
        yield f"{word}_apart"
    elif isinstance(tree, tuple):
        for k, part in enumerate(tree[1:], 1):
            yield from (_inside(tree, k, changed) for changed in _with_another(part, word))


def _letters_exchanged(tree: Tree) -> Iterator[Tree]:
    """Each pair of columns of an asserted fact, exchanged."""
    assert isinstance(tree, tuple), f"{tree} is no fact"
    for j, k in itertools.combinations(range(1, len(tree)), 2):
        if tree[j] != tree[k]:
            yield _inside(_inside(tree, j, tree[k]), k, tree[j])


def _inner_changes(tree: Tree) -> Iterator[Tree]:
    """The terms among the columns of a fact, changed as a side is."""
    assert isinstance(tree, tuple), f"{tree} is no fact"
    for k, part in enumerate(tree):
        changes = itertools.chain(_exchanged(part, _SYMMETRIC), _left_out(part), _renamed(part))
        yield from (_inside(tree, k, changed) for changed in changes)


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
    if _refused_by_instances(mutant) or _is_missed(mutant) or _miscounts(mutant.rule):
        return "instance"
    if prove(replace(mutant.rule, proof="")).outcome in _WRONG:
        return "proof"
    return "instance" if _misleads(mutant) else "nobody"


_WRONG = ("failed", "unproved")
_ROUNDS = 8  # of an instance where rules use what others assert


def _is_missed(mutant: Mutant) -> bool:
    """Whether another rule fires less, or a recurrence has no value, for lack of a fact."""
    if not mutant.change.startswith("asserts "):
        return False
    for instance in every_instance():
        if mutant.base in (*instance.beside, *instance.fires):
            names = _names(mutant, instance)
            rules = [mutant.rule if n == mutant.base else every_rule()[n] for n in names]
            try:
                done = run(rules, instance.build(Sizes()), _ROUNDS)
            except (EngineError, AssertionError):
                return True  # it contradicts what an analysis knows, or shapes each by the other
            firing, known = _expected(instance, names)
            fewer = any(done.matches.get(name, 0) < count for name, count in firing.items())
            if fewer or not known <= _known(done):
                return True
    return False


def _misleads(mutant: Mutant) -> bool:
    """Whether a rule that uses what is asserted makes a term that is none, or not equal."""
    if not mutant.change.startswith("asserts "):
        return False
    try:
        for instance in every_instance():
            if mutant.base in (*instance.beside, *instance.fires):
                rules = [mutant.rule if n == mutant.base else every_rule()[n]
                         for n in _names(mutant, instance)]  # fmt: skip
                done = run(rules, instance.build(Sizes()), _ROUNDS)
                wrong_terms(done, _EXTENTS[0], True, (1,))
    except WrongTerm:
        return True
    return False


def _names(mutant: Mutant, instance: Instance) -> tuple[str, ...]:
    """The rules of an instance, and those that use what a mutant asserts."""
    return tuple(dict.fromkeys((*instance.beside, *instance.fires, *_asked(mutant), mutant.base)))


def _known(done: Saturated) -> frozenset[object]:
    """The cases of recurrences that have a value, and the recurrences that are linear ones."""
    return frozenset((*done.graph.definitions, *done.graph.closed))


def _asked(mutant: Mutant) -> list[str]:
    """The rules that ask for one of the relations which a rule asserts."""
    made = {head for fact in every_rule()[mutant.base].also for head in outermost(fact)}
    return [r.name for r in every_rule() if any(made & {*heads(f.tree)} for f in r.when)]


def outermost(fact: Fact) -> Iterator[str]:
    """The relation, or the function, that a fact asserts something of."""
    match fact:
        case Fact("set", (Term(head), _)) | Fact(head):
            yield head


@cache
def _expected(
    instance: Instance, names: tuple[str, ...]
) -> tuple[dict[str, int], frozenset[object]]:
    """How often rules fire on an instance, and what is known of recurrences then."""
    rules = [every_rule()[name] for name in names]
    found = run(rules, instance.build(Sizes()), _ROUNDS)
    firing = {name: found.matches.get(name, 0) for name in names}
    return firing, _known(found)


def _miscounts(rule: Rule) -> bool:
    """Whether facts that count the axes of a mask count some mask of eight wrong."""
    said = list(map(str, rule.when))
    for counted in re.finditer(r"\(= (\w+)a \(- (.*?) \(& \(>> \2 1\)", "\n".join(said)):
        name, mask = counted.groups()
        facts = [f for f in said if re.match(rf"\(= {name}[ab]? ", f)]
        if len(facts) == 3 and any(
            _count(facts, name, mask, k) not in (None, k.bit_count()) for k in range(256)
        ):
            return True
    return False


def _count(facts: list[str], name: str, mask: str, value: int) -> int | None:
    """What a chain of facts makes of a mask."""
    numbers = {"m": value}
    for fact in facts:
        match parse(fact.replace(mask, "m")):
            case ("=", str(of), term):
                numbers[of] = Meaning(Setting({}, dict(numbers), {}), {}).number(term)
            case _:
                return None
    return numbers.get(name)


_EXTENTS = ({"B": 2, "T": 4, "I": 2}, {"B": 3, "T": 11, "I": 2})  # of T: within windows, and beyond


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
            for extents in _EXTENTS:
                wrong_terms(done, extents, rule.valid == "inside the box", (1, 2))
    except (WrongTerm, EngineError, AssertionError):
        return True  # a term without a meaning is refused as well
    return False


def equivalent(mutant: Mutant) -> str:
    """Why a mutant holds as well, or "" if no proof of that is known."""
    return why_equivalent(mutant.base, mutant.change, mutant.rule)


@cache
def every_mutant() -> tuple[Mutant, ...]:
    """All mutants of all rules, in the order of the table."""
    return tuple(mutant for rule in every_rule() for mutant in mutants(rule))


def part_of(text: str, part: int, parts: int) -> bool:
    """Whether a mutant is in one of several parts; the others do not change with new rules."""
    return zlib.crc32(text.encode()) % parts == part


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the log: a mutant, who refuses it, the processor seconds, and what it was."""

    mutant: str
    verdict: str
    seconds: float
    digest: int


def digest(mutant: Mutant) -> int:
    """A number that is another one for another rule."""
    fields = ", ".join(f"{name}={value!r}" for name, value in texts_of(mutant.rule).items())
    return zlib.crc32(f"Rule({fields})".encode())


def read(log: Path) -> dict[str, Line]:
    """What a log says of mutants, the last line of each."""
    lines = log.read_text().splitlines() if log.exists() else []
    return {line.mutant: line for line in (Line(**json.loads(text)) for text in lines)}


def judged(chosen: Iterable[Mutant], log: Path) -> dict[str, Line]:
    """The lines of mutants, judged now where the log has none, or has one of another rule.

    After a change of the prover or of an instance, delete what it may change from the log.
    """
    known = read(log)
    log.parent.mkdir(parents=True, exist_ok=True)
    out: dict[str, Line] = {}
    with log.open("a") as file:
        for mutant in chosen:
            line = known.get(str(mutant))
            if line is None or line.digest != digest(mutant):
                begin = time.process_time()
                found = caught(mutant)
                seconds = round(time.process_time() - begin, 2)
                line = Line(str(mutant), found, seconds, digest(mutant))
                print(json.dumps(asdict(line)), file=file, flush=True)
            out[str(mutant)] = line
    return out


def main(arguments: list[str]) -> int:
    """Judge every mutant, or one part: ``PART PARTS [LOG]``; print the counts, and the gaps."""
    part, parts = map(int, arguments[:2] or ("0", "1"))
    chosen = [mutant for mutant in every_mutant() if part_of(str(mutant), part, parts)]
    lines = judged(chosen, Path(arguments[2]) if arguments[2:] else LOG)
    counts = Counter[str]()
    for mutant in chosen:
        found = lines[str(mutant)].verdict
        proof = equivalent(mutant) if found == "nobody" else ""
        counts["equivalent" if proof else found] += 1
        if found == "nobody" and not proof:
            print(f"{mutant}\n    NOBODY REFUSES IT, AND NO PROOF", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    print(f"{sum(line.seconds for line in lines.values()):.0f} s of processor time")
    return 1 if counts["nobody"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
