"""Gates and analyses of the engine with one thing changed, and whether the instances notice.

A *gate* says which relation lets rules in. Shut, its rules never fire, which an instance misses.
A gate that is left open, or that is none, changes nothing: a rule that asks for a relation without
rows has no match, in whichever ruleset it stands.

An *analysis* concludes facts of a term from those of its operands. Dropped or weakened, a rule that
needs the fact does not fire; made to say something else, it contradicts another analysis, makes a
rule fire where it must not, or says what is not true of the values of the instance.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.pdg.interpret import Interpreter, junk
from ostinato.pdg.node import Node, Pdg
from ostinato.rewrite.engine.egglog_session import Cell, EngineError, Program, Session
from ostinato.rewrite.engine.language import GATES, is_open, program, rule_text
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.saturate import Budget, saturate
from ostinato.rewrite.extract.export import EXPORTED, EGraph, export
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.prove.instance_claims import Reading, numbered
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.relations.sexpr import Tree, heads, parse, show
from ostinato.rewrite.terms.signature import SIGNATURE
from tests.rewrite.conclusions import misses
from tests.rewrite.instances import every_instance
from tests.rewrite.instances.instance import Instance, Sizes
from tests.rewrite.mutants import part_of

FACTS = ("node", "dom", "sdom", "rank", "dtype", "value", "shape")
SIZES = {"B": 2, "T": 4, "I": 2}
_NO_TERM = (EngineError, OstinatoError, AssertionError, IndexError, KeyError)
Known = dict[str, dict[int, Cell]]


@dataclass(frozen=True)
class Changed:
    """The text of an analysis, and what stands in its place ("" for nothing)."""

    name: str
    change: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.change}"


def analyses() -> dict[str, str]:
    """The commands that conclude facts, by name."""
    base = program(()).base
    found = [c for c in base if c.startswith("(rule ") and ":ruleset analysis" in c]
    return {str(_tree(c)[-1]).strip('"'): c for c in found}


def _tree(command: str) -> tuple[Tree, ...]:
    found = parse(command)
    assert isinstance(found, tuple), f"{command} is no rule"
    return found


def changed_analyses() -> Iterator[Changed]:
    """Every single change of every analysis."""
    for name, text in analyses().items():
        yield Changed(name, "dropped", text, "")
        head, facts, actions, *rest = _tree(text)
        assert isinstance(facts, tuple) and isinstance(actions, tuple), f"{text} is no rule"
        for k, fact in enumerate(facts[1:], 1):
            fewer = (*facts[:k], *facts[k + 1 :])
            yield Changed(name, f"without {show(fact)}", text, _rule(head, fewer, actions, rest))
        for k, action in enumerate(actions):
            for other in _others(action):
                more = (*actions[:k], other, *actions[k + 1 :])
                change = f"{show(action)} -> {show(other)}"
                yield Changed(name, change, text, _rule(head, facts, more, rest))
        for k, fact in enumerate(facts):
            for other in _others(fact):
                more = (*facts[:k], other, *facts[k + 1 :])
                change = f"{show(fact)} -> {show(other)}"
                yield Changed(name, change, text, _rule(head, more, actions, rest))


def _rule(head: Tree, facts: Tree, actions: Tree, rest: list[Tree]) -> str:
    return show((head, facts, actions, *rest))


_OTHER = {"|": "&", "&": "|", "+": "-", "-": "+"}


def _others(tree: Tree) -> Iterator[Tree]:
    """An integer moved by one, or another operator, in one place."""
    if isinstance(tree, int):
        yield from (tree + 1, tree - 1)
    elif isinstance(tree, tuple):
        if tree and tree[0] in _OTHER and len(tree) == 3:
            yield (_OTHER[str(tree[0])], *tree[1:])
        for k, part in enumerate(tree):
            yield from ((*tree[:k], other, *tree[k + 1 :]) for other in _others(part))


def notices(changed: Changed) -> str:
    """Who notices a changed analysis, and how; "" if nobody does.

    First programs as they are written, without rules, are asked, then what rules make of them,
    those first whose rules ask for what the analysis concludes.
    """
    words = set(re.findall(r"\((\w+)", changed.before))
    ops = words & SIGNATURE.keys()
    loaded = {name for name in words & RELATIONS.keys() if RELATIONS[name].made == "loading"}
    for instance in by_operators():
        if ops | loaded <= _written(instance) and (found := _told(as_written, instance, changed)):
            return found
    actions = _tree(changed.before)[2]
    assert isinstance(actions, tuple), f"{changed.before} is no rule"
    concluded = {h for action in actions for h in heads(action) if h.isidentifier()} - {"set"}
    for instance in sorted(by_rules(), key=lambda i: not concluded & _asked(i)):
        if (not ops or ops & _operators(instance)) and (found := _told(noticed, instance, changed)):
            return found
    return ""


def _told(check: Callable[[Instance, Changed], str], instance: Instance, changed: Changed) -> str:
    """What an instance notices, or the failure by which it does."""
    try:
        found = check(instance, changed)
    except _NO_TERM as problem:
        found = str(problem) or type(problem).__name__
    return f"{instance.name}: {found}" if found else ""


@cache
def by_operators() -> list[Instance]:
    """The instances, those with most operators and sizes that vary first."""
    return sorted(every_instance(), key=lambda i: (-_varying(i), -len(_written(i))))


def _varying(instance: Instance) -> int:
    """How many values have sizes that follow the point."""
    return sum(bool(size.dims) for node in _prepared(instance)[1].ids for size in node.shape)


@cache
def by_rules() -> list[Instance]:
    """The instances, those with few rules first."""
    return sorted(every_instance(), key=lambda i: len(i.beside) + len(i.fires))


def as_written(instance: Instance, changed: Changed | None = None) -> str:
    """What analyses say wrongly, or do not say, of the program of an instance; or ""."""
    texts = (changed.before, changed.after) if changed else ("", "")
    return misses(_prepared(instance)[1], *texts)


@cache
def _written(instance: Instance) -> frozenset[str]:
    """The operators of an instance as it is written, and the relations that have rows."""
    rows = _prepared(instance)[1].rows
    found = {name for name in rows if rows[name]}
    return frozenset(found | {name.removeprefix("raw_") for name in found})


@cache
def _operators(instance: Instance) -> frozenset[str]:
    """The operators of an instance, and of what its rules make of it."""
    rules = [every_rule()[name] for name in (*instance.fires, *instance.beside)]
    made = {h for r in rules for side in (r.left, r.right) for h in heads(side.tree)}
    return _written(instance) | made


@cache
def _asked(instance: Instance) -> frozenset[str]:
    """The relations that the rules of an instance ask for."""
    rules = [every_rule()[name] for name in (*instance.fires, *instance.idle)]
    return frozenset(head for r in rules for fact in r.when for head in heads(fact.tree))


@cache
def _prepared(instance: Instance) -> tuple[Pdg, Loaded]:
    pdg = instance.build(Sizes())
    loaded = load(pdg)
    numbered(pdg, loaded)
    return pdg, loaded


def _run(instance: Instance, base: tuple[str, ...]) -> tuple[Mapping[str, int], EGraph, Known]:
    """How often the rules of an instance match, what they make of it, and what is known of that."""
    _, loaded = _prepared(instance)
    names = dict.fromkeys((*instance.beside, *instance.fires, *instance.idle))
    rules = [every_rule()[name] for name in names]
    texts = tuple(map(rule_text, rules))
    with Session(Program(base, texts, (), base)) as engine:
        engine.insert(loaded.rows)
        done = saturate(engine, Budget(5), {r.name: r.family for r in rules})
        tables = engine.tables(tuple(dict.fromkeys((*EXPORTED, *FACTS))))
    known = {n: {int(i[0]): o for i, o in tables[n].rows} for n in FACTS}
    return done.matches, export(tables, loaded), known


@cache
def _idle(instance: Instance) -> list[str]:
    """The rules that are idle beside all others, which may make what they fire on."""
    matches, _, _ = _run(instance, program(()).base)
    return [name for name in instance.idle if not matches.get(name, 0)]


def noticed(instance: Instance, changed: Changed | None = None) -> str:
    """What an instance and its rules notice of a changed analysis, or ""."""
    pdg, loaded = _prepared(instance)
    matches, graph, known = _run(instance, _base(changed))
    missed = [name for name in instance.fires if not matches.get(name, 0)]
    fired = [name for name in _idle(instance) if matches.get(name, 0)]
    if missed or fired:
        return f"{missed or fired} {'did not fire' if missed else 'fired'}"
    return untrue(pdg, loaded, known) or unknown(graph, loaded, known)


def _base(changed: Changed | None) -> tuple[str, ...]:
    """The program of the engine with one analysis changed."""
    texts = (changed.after if changed and c == changed.before else c for c in program(()).base)
    return tuple(filter(None, texts))


def unknown(graph: EGraph, loaded: Loaded, known: Known) -> str:
    """A fact that a term lacks although its operands have it, or that is not its own; or ""."""
    reading = Reading(graph, loaded)
    for cls, own in reading.every().items():
        for enode in graph.classes.get(cls, ()):
            if not all(kid in reading.every() for kid in enode.kids):
                continue
            node = reading.node(enode)
            shape = known["shape"].get(cls)
            found = {
                "rank": known["rank"].get(cls),
                "dtype": known["dtype"].get(cls),
                "shape": None if shape is None else graph.shapes[int(shape)],
            }
            told = {"rank": own.rank, "dtype": own.dtype, "shape": own.shape}
            for fact in found:
                if found[fact] != told[fact]:
                    return f"the {fact} of {enode.op} is {found[fact]}"
            if int(known["dom"].get(cls, -1)) & ~loaded.tables.mask(node.domain):
                return f"{enode.op} is said to depend on more than it does"
    return ""


def untrue(pdg: Pdg, loaded: Loaded, known: Known, sizes: dict[str, int] | None = None) -> str:
    """A fact of a class that its values contradict, or ""."""
    extents = sizes or SIZES
    nodes = {node: int(known["node"][number]) for node, number in loaded.ids.items()}
    outputs = tuple(("", node) for node in nodes)
    judge = Interpreter(Pdg(outputs, pdg.equations), extents, {}, 0, True, junk(1))
    bits = {d: loaded.tables.bit(d) for d in loaded.tables.dims}
    for node, cls in nodes.items():
        if (known["rank"].get(cls), known["dtype"].get(cls)) != (node.rank, node.dtype):
            return f"rank or type of {node.op}"
        try:
            first, last = (judge.value(node, point) for point in _points(node, extents))
        except (OstinatoError, AssertionError, IndexError, ValueError):
            continue
        number = known["value"].get(cls)
        if number is not None and not (np.all(first == number) and np.all(last == number)):
            return f"the value of {node.op}"
        mask = {name: int(known[name].get(cls, -1)) for name in ("dom", "sdom")}
        moves = {name: any(bits[d] & mask[name] for d in node.domain) for name in mask}
        if not moves["sdom"] and first.shape != last.shape:
            return f"the shape of {node.op} is another one at another point"
        if not moves["dom"] and not np.array_equal(first, last, equal_nan=first.dtype.kind == "f"):
            return f"the value of {node.op} is another one at another point"
    return ""


def _points(node: Node, extents: dict[str, int]) -> list[tuple[int, ...]]:
    """The first and the last point of a node's box."""
    env: dict[Dim | Extent, int] = {Extent(name): size for name, size in extents.items()}
    last = tuple(evaluate(d.extent, env) - 1 for d in node.domain)
    return [tuple(0 for _ in last), last]


def gate_of(rule: Rule) -> str:
    """The relation that lets a rule in, or ""."""
    asked = {fact.head for fact in rule.when}
    gates = (gate for gate in GATES if gate in asked)
    return next(gates, "") if rule.phase == "rewrite" else ""


def behind(gate: str) -> set[str]:
    """The rules that a gate lets in."""
    return {rule.name for rule in every_rule() if gate_of(rule) == gate}


def is_missed(gate: str) -> bool:
    """Whether a rule of the gate fires on its instance, and does not when the gate is shut.

    A gate that lets no rule in may be shut.
    """
    rules = behind(gate)
    return not rules or any(
        _fires(instance, name, "") and not _fires(instance, name, gate)
        for instance in every_instance()
        for name in rules & {*instance.fires}
    )


def _fires(instance: Instance, name: str, shut: str) -> bool:
    """Whether a rule fires where what was loaded opens the gates, but for one that is shut."""
    _, loaded = _prepared(instance)
    names = dict.fromkeys((*instance.beside, name))
    rules = tuple(every_rule()[n] for n in names)
    with Session(program(rules)) as engine:
        engine.insert(loaded.rows)
        while is_open(shut, engine.filled):
            engine.filled -= {shut, f"raw_{shut}"} & engine.filled or {RELATIONS[shut].opened_by}
        done = saturate(engine, Budget(5), {r.name: r.family for r in rules})
    return bool(done.matches.get(name, 0))


def main(arguments: list[str]) -> int:
    """Shut every gate, and judge all changes of analyses or one part: ``PART PARTS``.

    Print what nobody notices.
    """
    part, parts = map(int, arguments[:2] or ("0", "1"))
    gates = [gate for gate in GATES if part_of(gate, part, parts)]
    open_ = [gate for gate in gates if not is_missed(gate)]
    changes = [c for c in changed_analyses() if part_of(f"{c} {c.after}", part, parts)]
    unnoticed = [str(c) for c in changes if not notices(c)]
    for each in (*(f"the gate {gate}" for gate in open_), *unnoticed):
        print(f"{each}\n    NOBODY NOTICES")
    print(f"{len(open_)} of {len(gates)} gates, {len(unnoticed)} of {len(changes)} analyses")
    return 1 if open_ or unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
