"""Gates and analyses of the engine with one thing changed, and whether the instances notice.

A *gate* says which relation lets rules in. Shut, its rules never fire, which an instance misses.
A gate that is left open, or that is none, changes nothing: a rule that asks for a relation without
rows has no match, in whichever ruleset it stands.

An *analysis* concludes facts of a term from those of its operands. Dropped or weakened, a rule that
needs the fact does not fire; made to say something else, it contradicts another analysis, makes a
rule fire where it must not, or says what is not true of the values of the instance.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np

from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.pdg.interpret import Interpreter, junk
from ostinato.pdg.node import Node, Pdg
from ostinato.rewrite.engine.egglog_session import (
    Cell,
    Engine,
    EngineError,
    Program,
    Session,
    Table,
)
from ostinato.rewrite.engine.language import GATES, is_open, program, rule_text
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.saturate import Budget, saturate
from ostinato.rewrite.extract.export import EGraph, export
from ostinato.rewrite.load.program_rows import load
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.prove.instance_reading import Reading, numbered
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations.sexpr import Tree, heads, parse, show
from ostinato.rewrite.terms.signature import SIGNATURE
from tests.rewrite.instances import every_instance
from tests.rewrite.instances.instance import Instance, Sizes
from tests.rewrite.mutants import part_of

LOG = Path("build/analyses.jsonl")  # what was judged so far: a run that was stopped goes on
FACTS = ("node", "dom", "sdom", "rank", "dtype", "value", "shape")
# What is known of a term by any of these operators if it is known of its operands.
_SHAPED = "leaf rec along1 along2 at case cat gather map1 perm reshape sl"
_TYPED = "leaf rec along2 gather reshape"
FOLLOWS = {
    **dict.fromkeys(("rank", "sdom"), frozenset(SIGNATURE)),
    "dom": frozenset(SIGNATURE) - {"perm"},
    "shape": frozenset(_SHAPED.split()),
    "dtype": frozenset(_TYPED.split()),
}
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


def notices(changed: Changed, most: int | None = None) -> str:
    """Which instance notices a changed analysis, and how; "" if none of so many does."""
    base = program(()).base
    at = base.index(changed.before)
    made = (*base[:at], *((changed.after,) if changed.after else ()), *base[at + 1 :])
    for instance in _about(changed.before)[:most]:
        try:
            found = noticed(instance, made)
        except _NO_TERM as problem:
            found = str(problem) or type(problem).__name__
        if found:
            return f"{instance.name}: {found}"
    return ""


def _about(text: str) -> list[Instance]:
    """The instances that have an operator of an analysis, those with few rules first."""
    ops = {word for word in re.findall(r"\((\w+)", text) if word in SIGNATURE}
    found = [i for i in every_instance() if not ops or ops & _operators(i)]
    return sorted(found, key=lambda i: len(i.beside) + len(i.fires))


@cache
def _operators(instance: Instance) -> frozenset[str]:
    """The operators of an instance, and of what its rules make of it."""
    _, loaded = _prepared(instance)
    rules = [every_rule()[name] for name in (*instance.fires, *instance.beside)]
    made = {h for r in rules for side in (r.left, r.right) for h in heads(side.tree)}
    return frozenset({name.removeprefix("raw_") for name in loaded.rows} | made)


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
        kept = _Kept(engine)
        graph = export(cast(Engine, kept), loaded)
    return done.matches, graph, {n: {int(i[0]): o for i, o in kept.read[n].rows} for n in FACTS}


@cache
def _idle(instance: Instance) -> list[str]:
    """The rules that are idle beside all others, which may make what they fire on."""
    matches, _, _ = _run(instance, program(()).base)
    return [name for name in instance.idle if not matches.get(name, 0)]


def noticed(instance: Instance, base: tuple[str, ...]) -> str:
    """What an instance notices of changed analyses, or ""."""
    pdg, loaded = _prepared(instance)
    matches, graph, known = _run(instance, base)
    missed = [name for name in instance.fires if not matches.get(name, 0)]
    fired = [name for name in _idle(instance) if matches.get(name, 0)]
    if missed or fired:
        return f"{missed or fired} {'did not fire' if missed else 'fired'}"
    return untrue(pdg, loaded, known) or unknown(graph, loaded, known)


class _Kept:
    """The tables of an engine, all read at once: classes have other numbers each time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.read: Mapping[str, Table] = {}

    def tables(self, names: Iterable[str]) -> Mapping[str, Table]:
        self.read = self._engine.tables([*dict.fromkeys((*names, *FACTS))])
        return self.read


def unknown(graph: EGraph, loaded: Loaded, known: Known) -> str:
    """A fact that a term lacks although its operands have it, or that is not its own; or ""."""
    for cls, node in Reading(graph, loaded).every().items():
        own = {"rank": node.rank, "dtype": node.dtype, "shape": node.shape}
        for fact, ops in FOLLOWS.items():
            found = known[fact].get(cls)
            terms = [x for x in graph.classes.get(cls, ()) if x.op in ops]
            if found is None and any(all(k in known[fact] for k in x.kids) for x in terms):
                return f"the {fact} of {node.op} is not known"
            said = graph.shapes[int(found)] if found is not None and fact == "shape" else found
            if said is not None and own.get(fact, said) != said:
                return f"the {fact} of {node.op} is {said}"
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
            engine.filled -= {shut, f"raw_{shut}"} & engine.filled or {"counts"}
        done = saturate(engine, Budget(5), {r.name: r.family for r in rules})
    return bool(done.matches.get(name, 0))


def main(arguments: list[str]) -> int:
    """Shut every gate, and judge all changes of analyses or one part: ``PART PARTS [LOG]``.

    Print what nobody notices. The log has a JSON line for every change that was judged: who noticed
    it, or "". What it has already is not judged again.
    """
    part, parts = map(int, arguments[:2] or ("0", "1"))
    log = Path(arguments[2]) if arguments[2:] else LOG
    gates = [gate for gate in GATES if part_of(gate, part, parts)]
    open_ = [gate for gate in gates if not is_missed(gate)]
    changes = [c for c in changed_analyses() if part_of(f"{c} {c.after}", part, parts)]
    lines = judged(changes, log)
    unnoticed = [str(c) for c in changes if not lines[c.after or str(c)]]
    for each in (*(f"the gate {gate}" for gate in open_), *unnoticed):
        print(f"{each}\n    NOBODY NOTICES")
    print(f"{len(open_)} of {len(gates)} gates, {len(unnoticed)} of {len(changes)} analyses")
    return 1 if open_ or unnoticed else 0


def judged(changes: Iterable[Changed], log: Path) -> dict[str, str]:
    """Who notices each change, by the changed text; judged now where the log does not say it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()
    out = {made: by for made, by in map(json.loads, log.read_text("utf-8").splitlines())}
    with log.open("a", encoding="utf-8") as file:
        for changed in changes:
            made = changed.after or str(changed)
            if made not in out:
                out[made] = notices(changed)
                print(json.dumps([made, out[made]]), file=file, flush=True)
    return out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
