"""The program for egglog: sorts, how rows become terms, analyses, and the text of rules."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cache, lru_cache
from typing import Literal

from ostinato.rewrite.engine.egglog_session import Program
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.shape_lists import shape_rules
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.terms import popcount
from ostinato.rewrite.terms.signature import SIGNATURE
from ostinato.rewrite.terms.term import Fact, Operand, Term, Variable, written

_SORT = {"S": "String", "N": "i64", "D": "i64", "A": "i64", "H": "H", "T": "T"}

_DECLARATIONS = """
(sort T) (sort H) (sort Z)
(constructor size (i64) Z) (constructor times (Z Z) Z)
(constructor nil () H) (constructor cons (Z H) H)
(constructor node (i64) T :unextractable) (constructor hnode (i64) H :unextractable)
(relation raw_nil (i64)) (relation raw_cons (i64 i64 i64))
(relation raw_facts (i64 i64 i64 i64 i64))
(ruleset load) (ruleset analysis) (ruleset seed) (ruleset spread) (ruleset always)
"""

# A rule that asks for a relation which is empty can never fire, but trying it takes as long as if
# it could.
GATES = tuple(relation.name for relation in RELATIONS.values() if relation.gate)

_LOADING = """
(rule ((raw_nil i)) ((union (hnode i) (nil))) :ruleset load :name "load/nil")
(rule ((raw_cons i z h)) ((union (hnode i) (cons (size z) (hnode h)))) :ruleset load
  :name "load/cons")
(rule ((raw_facts i d s r h)) ((set (dom (node i)) d) (set (sdom (node i)) s)
  (set (rank (node i)) r) (set (shape (node i)) (hnode h))) :ruleset load :name "load/facts")
"""

_ANALYSIS = """
(rule ((= z (size i)) (= m (mask i))) ((set (zmask z) m)) :ruleset analysis :name "zmask/size")
(rule ((= z (times x y)) (= m (zmask x)) (= n (zmask y))) ((set (zmask z) (| m n)))
  :ruleset analysis :name "zmask/times")
(rule ((= h (nil))) ((set (hmask h) 0) (set (hlen h) 0)) :ruleset analysis :name "hmask/nil")
(rule ((= h (cons z g)) (= m (zmask z)) (= n (hmask g)) (= k (hlen g)))
  ((set (hmask h) (| m n)) (set (hlen h) (+ k 1))) :ruleset analysis :name "hmask/cons")
(rule ((= l (sl d i x)) (= 0 (& d (sdom x))) (= h (shape x)) (= n (length i)))
  ((set (shape l) (cons (size n) h))) :ruleset analysis :name "shape/sl")
(rule ((= l (sl d i x)) (growing i)) ((set (inner d i l) x)) :ruleset analysis :name "inner/sl")
(rule ((= l (sl d i x)) (= (shape l) (cons z h))) ((set (shape x) h))
  :ruleset analysis :name "shape/of-sl")
(rule ((= l (mv k p x)) (= k (rank x)) (= k (+ p 1)) (= (shape l) (cons y (cons z h))))
  ((set (shape x) (cons z (cons y h)))) :ruleset analysis :name "shape/of-mv-1")
(rule ((= l (mv k p x)) (= k (rank x)) (= k (+ p 2))
  (= (shape l) (cons w (cons y (cons z h))))) ((set (shape x) (cons z (cons w (cons y h)))))
  :ruleset analysis :name "shape/of-mv-2")
(rule ((= l (at d i x)) (= 0 (& d (sdom x))) (= h (shape x))) ((set (shape l) h))
  :ruleset analysis :name "shape/at")
(rule ((= l (reshape r h x)) (= r (rank x))) ((set (shape l) h))
  :ruleset analysis :name "shape/reshape")
(rule ((= l (reshape r (cons z h) x)) (= (+ r 1) (rank x)) (= (shape x) (cons y g)))
  ((set (shape l) (cons y (cons z h)))) :ruleset analysis :name "shape/reshape-1")
(rule ((= l (mm x y)) (axes2 x m k) (axes2 y k n)) ((set (shape l) (cons m (cons n (nil)))))
  :ruleset analysis :name "shape/mm")
(rule ((= l (reshape r h x)) (= v (value x))) ((set (value l) v))
  :ruleset analysis :name "value/reshape")
(rule ((= l (reshape r h x)) (bounded x)) ((bounded l)) :ruleset analysis :name "bounded/reshape")
(rule ((= l (bcast h x)) (bounded x)) ((bounded l)) :ruleset analysis :name "bounded/bcast")
(rule ((= l (sl d i x)) (bounded x)) ((bounded l)) :ruleset analysis :name "bounded/sl")
(rule ((= l (part k i x)) (bounded x)) ((bounded l)) :ruleset analysis :name "bounded/part")
(rule ((= l (map1 "neg" x)) (bounded x)) ((bounded l)) :ruleset analysis :name "bounded/neg")
(rule ((= l (map1 f x)) (real_cast f) (= "bool" (dtype x))) ((bounded l))
  :ruleset analysis :name "bounded/truth")
(rule ((= z (size i)) (raw_filled i)) ((filled z)) :ruleset analysis :name "filled/size")
(rule ((= z (times x y)) (filled x) (filled y)) ((filled z))
  :ruleset analysis :name "filled/times")
(rule ((= l (reshape r h x)) (= m (free x))) ((set (free l) m))
  :ruleset analysis :name "free/reshape")
(rule ((= l (tr x)) (= m (free x))) ((set (free l) m)) :ruleset analysis :name "free/tr")
(rule ((= l (sl d i x)) (= v (value x))) ((set (value l) v)) :ruleset analysis :name "value/sl")
(rule ((= l (sl d i x)) (= m (gap x)) (= 0 (& d m)) (box d i)) ((set (gap l) m))
  :ruleset analysis :name "gap/sl")
(rule ((= l (tr x)) (axes2 x m n)) ((set (shape l) (cons n (cons m (nil)))))
  :ruleset analysis :name "shape/tr")
(rule ((= l (map1 f x)) (= h (shape x))) ((set (shape l) h)) :ruleset analysis :name "shape/map1")
(rule ((= l (map2 f x y)) (= h (shape x)) (= h (shape y))) ((set (shape l) h))
  :ruleset analysis :name "shape/map2")
(rule ((= l (case c x y)) (= h (shape x))) ((set (shape l) h)) :ruleset analysis :name "shape/case")
(rule ((= l (cut k i x)) (tile n i) (= e (dtype x))) ((set (dtype l) e))
  :ruleset analysis :name "dtype/tile")
(rule ((= l (red "max" m x)) (= e (dtype x))) ((set (dtype l) e))
  :ruleset analysis :name "dtype/max")
(rule ((= l (reshape r h x)) (= e (dtype x))) ((set (dtype l) e))
  :ruleset analysis :name "dtype/reshape")
(rule ((= 0 (rank l))) ((set (shape l) (nil))) :ruleset analysis :name "shape/number")
"""


# rank of the result from the ranks of the operands: expression over (rank of first operand) r
_RANK = {
    "red": "(- r n)",
    "reshape": "(+ (- r f0) (hlen f1))",
    "part": "(- r 1)",
    "sl": "(+ r 1)",
}


def _variables(op: str) -> list[str]:
    return [f"f{k}" for k in range(len(SIGNATURE[op]))]


def _load_rule(op: str) -> str:
    fields = _variables(op)
    wrap = {"T": "(node {})", "H": "(hnode {})"}
    args = [wrap.get(c, "{}").format(v) for c, v in zip(SIGNATURE[op], fields, strict=True)]
    raw = f"(raw_{op} i {' '.join(fields)})"
    head = f"(union (node i) ({op} {' '.join(args)}))"
    return f'(rule ({raw}) ({head}) :ruleset load :name "load/{op}")'


def _joined(parts: Iterable[str]) -> str:
    out = ""
    for part in parts:
        out = f"(| {out} {part})" if out else part
    return out or "0"


def _masks(op: str, of_term: str, bound: bool) -> str:
    """The dimensions a term depends on, from its fields (``of_term``: dom or sdom)."""
    parts: list[str] = []
    for field, letter in zip(_variables(op), SIGNATURE[op], strict=True):
        if letter == "T":
            term = f"({of_term} {field})"
            parts.append(f"(& {term} (not-i64 f0))" if bound else term)
        elif letter == "A" and not (of_term == "sdom" and op in ("part", "case", "perm", "look")):
            parts.append(f"({'sizemask' if of_term == 'sdom' and op == 'sl' else 'mask'} {field})")
        elif letter == "H":
            parts.append(f"(hmask {field})")
        elif letter == "D" and not bound and of_term == "dom":
            parts.append(field)
    return _joined(parts)


def _analysis_rules(op: str) -> list[str]:
    if op in ("leaf", "rec", "look") or op.startswith("host"):
        return []  # loaded
    term = f"(= l ({op} {' '.join(_variables(op))}))"
    bound = op in ("at", "sl")
    first = _variables(op)[SIGNATURE[op].index("T")]
    rank = _RANK.get(op, "r")
    count = " ".join(map(str, popcount(Variable("n"), Variable("f1")))) if op == "red" else ""
    out = [
        f"(rule ({term} (= v {_masks(op, 'dom', bound)})) ((set (dom l) v)) "
        f':ruleset analysis :name "dom/{op}")',
        f"(rule ({term} (= r (rank {first})) {count} (= v {rank})) ((set (rank l) v)) "
        f':ruleset analysis :name "rank/{op}")',
        f"(rule ({term} (= v {_masks(op, 'sdom', bound)})) ((set (sdom l) v)) "
        f':ruleset analysis :name "sdom/{op}")',
    ]
    return out


def rule_text(rule: Rule) -> str:
    """A rule in egglog's language; every operator it creates is noted with the rule's name.

    An operator that stands in several places is made once: egglog's memory grows with the text.
    """
    alike: list[str] = []
    seen: set[str] = set()
    left = _apart(rule.left, seen, alike)
    when = [_apart_in(_single(fact), seen, alike) for fact in rule.when]
    facts = " ".join((f"(= lhs {left})", *alike, *when))
    made: dict[str, str] = {}
    right = _shared(rule.right, made)
    notes = [_note(term, rule.name) for term in made]
    also = [_applied(_single(fact, "set"), made) for fact in rule.also]
    lets = [f"(let {name} {term})" for term, name in made.items()]
    actions = " ".join((*lets, f"(union lhs {right})", *notes, *also))
    return f'(rule ({facts}) ({actions}) :ruleset {_ruleset(rule)} :name "{rule.name}")'


def _ruleset(rule: Rule) -> str:
    """The rules of a phase; of the last one, those that the same relation lets in."""
    if rule.phase != "rewrite":
        return rule.phase
    asked = {fact.head for fact in rule.when}
    return next((f"if_{gate}" for gate in GATES if gate in asked), "always")


def opening(name: str, filled: Container[str]) -> str:
    """The command that names the rules of the last phase which can fire.

    ``filled``: the relations that loading gave rows.
    """
    gates = (g for g in GATES if is_open(g, filled))
    return f"(unstable-combined-ruleset {name} {' '.join(('always', *(f'if_{g}' for g in gates)))})"


def is_open(gate: str, filled: Container[str]) -> bool:
    """Whether loading gave the relation of a gate rows, or what makes them."""
    relation = RELATIONS.get(gate)
    sources = (gate, f"raw_{gate}", relation.opened_by if relation else "")
    return any(source in filled for source in sources)


def _shared(term: Operand, made: dict[str, str]) -> str:
    """A term whose operators have names; what they stand for is added, innermost first."""
    if not isinstance(term, Term):
        return written(term)
    text = _applied(term, made)
    return made.setdefault(text, f"made{len(made)}") if term.head in SIGNATURE else text


def _applied(form: Term | Fact, made: dict[str, str]) -> str:
    """A head with fields whose operators have names."""
    return f"({' '.join((form.head, *(_shared(field, made) for field in form.fields)))})"


def _note(term: str, rule: str) -> str:
    return f'(why_{term[1:-1]} "{rule}")'


def _apart(term: Operand, seen: set[str], alike: list[str]) -> str:
    """A pattern in which no number occurs twice; ``alike`` takes what says so afterwards.

    egglog would begin with the numbers that parts of a pattern share: with every three slices of
    the same steps, of which hardly any meet in one operator.
    """
    letters = _fields_of(term.head) if isinstance(term, Term) else ""
    if not isinstance(term, Term) or len(term.fields) != len(letters):
        return written(term)  # no operator, or one that egglog refuses
    out = [term.head]
    for field, letter in zip(term.fields, letters, strict=True):
        text = written(field)
        if letter == "T":
            out.append(_apart(field, seen, alike))
        elif letter in "NDA" and isinstance(field, Variable) and text in seen:
            out.append(f"{text}_{len(alike)}")
            alike.append(f"(= 0 (- {text} {out[-1]}))")
        else:
            seen.add(text)
            out.append(text)
    return f"({' '.join(out)})"


def _fields_of(head: str) -> str:
    return "DAT" if head == "inner" else SIGNATURE.get(head, "")


def _apart_in(fact: Fact, seen: set[str], alike: list[str]) -> str:
    """The same for a fact about the one inner value of a range."""
    match fact:
        case Fact("=", (left, Term("inner") as right)):
            return f"(= {written(left)} {_apart(right, seen, alike)})"
        case _:
            return str(fact)


def _single(fact: Fact, verb: Literal["=", "set"] = "=") -> Fact:
    """A fact as egglog keeps it: one factor, and one line, of a value is enough.

    A choice between two products would otherwise have every combination of their factors.
    """
    relation = RELATIONS.get(fact.head)
    if relation is None or not relation.keyed or len(fact.fields) != len(relation.columns):
        return fact
    keys, values = fact.fields[: relation.keyed], fact.fields[relation.keyed :]
    found = Term(fact.head, keys)
    value = Term(relation.joined, values) if relation.joined else values[0]
    return Fact("set", (found, value)) if verb == "set" else Fact("=", (value, found))


def program(rules: tuple[Rule, ...], filled: Container[str] | None = None) -> Program:
    """The egglog program: sorts, operators, loading and analyses, then the rules.

    Rules that a relation lets in are declared where it is ``filled`` (by default: all), since
    declaring all of them takes longer than many a saturation.
    """
    groups = _grouped(rules)
    shut = {f"if_{g}" for g in GATES if filled is not None and not is_open(g, filled)}
    gated = [_texts(group) for name, group in groups.items() if name and name not in shut]
    return Program(_base(), _texts(groups[""]), tuple(gated), rules)


@lru_cache(maxsize=16)
def _grouped(rules: tuple[Rule, ...]) -> dict[str, tuple[Rule, ...]]:
    """Rules by the relation that lets them in; those without one by an empty name."""
    out: dict[str, list[Rule]] = {"": []}
    for rule in rules:
        name = _ruleset(rule)
        out.setdefault(name if name.startswith("if_") else "", []).append(rule)
    return {name: tuple(group) for name, group in out.items()}


@lru_cache(maxsize=256)
def _texts(rules: tuple[Rule, ...]) -> tuple[str, ...]:
    return tuple(map(rule_text, rules))


@cache
def _base() -> tuple[str, ...]:
    lines = [
        _DECLARATIONS,
        *(d for relation in RELATIONS.values() for d in relation.declarations()),
    ]
    for op, letters in SIGNATURE.items():
        sorts = " ".join(_SORT[c] for c in letters)
        raw = " ".join("String" if c == "S" else "i64" for c in letters)
        lines.append(f"(constructor {op} ({sorts}) T) (relation raw_{op} (i64 {raw}))")
        lines.append(f"(relation why_{op} ({sorts} String))")
    lines += [_load_rule(op) for op in SIGNATURE]
    lines += [*(f"(ruleset if_{gate})" for gate in GATES), opening("rewrite", GATES)]
    lines += [_LOADING, *(r.loading() for r in RELATIONS.values() if r.is_loaded_by_number)]
    lines += [_ANALYSIS, *shape_rules()]
    lines += [text for op in SIGNATURE for text in _analysis_rules(op)]
    return tuple(command for line in lines for command in commands(line))


def commands(text: str) -> list[str]:
    """The top-level parenthesised forms of a text."""
    out: list[str] = []
    depth = start = 0
    for k, character in enumerate(text):
        if character == "(":
            start = k if depth == 0 else start
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0:
                out.append(text[start : k + 1])
    return out
