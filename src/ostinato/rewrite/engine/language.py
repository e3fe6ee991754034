"""The language of terms: its operators, how rows become terms, and the egglog text of rules.

A term denotes a total function on all integer points to arrays. Operators and their fields:

    leaf n                  an input, literal, index value or draw (a node kept outside)
    rec n                   a recurrent tensor
    map1 f a, map2, map3    an elementwise function
    red f m a               a fold over the axes in the bit mask m (bit k-1 is axis -k)
    mm a b                  matrix product over the last two axes
    tr a, mv k p a, perm p a  last two axes exchanged; axis -k becomes -p; a permutation
    reshape r h a           the trailing r axes get shape h
    bcast h a               trailing axes of size 1 repeated to shape h
    cat k a b               joined along axis -k
    part k i a, cut k i a   one index, or a slice, of axis -k
    gather k a b            positions b along axis -k
    along1 f k n a, along2  a function of the whole of axis -k, with n elements there
    host1 n a, ..., host12  a Python function of operands: leaf n says which; no rule applies
    case i a b              a where condition i holds, else b
    at d i a                dimension d replaced by index i
    sl d i a                a new leading axis: d ranges over slice i
    look i a                several dimensions replaced at once
    scan f d a, back f d a  the inclusive fold over dimension d up to the point, or from it on
    lin d r g a             the linear recurrence over dimension d

Index expressions, slices, conditions and permutations are ids of a table kept outside the e-graph
(`ostinato.rewrite.load.tables`); dimensions are single bits. Shapes are lists ``(cons size rest)``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import cache, lru_cache

from ostinato.rewrite.engine.egglog_session import Program
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.engine.shape_lists import shape_rules

# S text, N number, D dimension bit, A id in the tables, H shape, T term
SIGNATURE: dict[str, str] = {
    "leaf": "N",
    "rec": "N",
    "map1": "ST",
    "map2": "STT",
    "map3": "STTT",
    "red": "SNT",
    "mm": "TT",
    "tr": "T",
    "mv": "NNT",
    "perm": "AT",
    "reshape": "NHT",
    "bcast": "HT",
    "cat": "NTT",
    "part": "NAT",
    "cut": "NAT",
    "gather": "NTT",
    "along1": "SNAT",
    "along2": "SNATT",
    **{f"host{n}": "N" + n * "T" for n in range(1, 13)},
    "case": "ATT",
    "at": "DAT",
    "sl": "DAT",
    "look": "AT",
    "scan": "SDT",
    "back": "SDT",
    "lin": "DNTT",
}
_SORT = {"S": "String", "N": "i64", "D": "i64", "A": "i64", "H": "H", "T": "T"}

_DECLARATIONS = """
(sort T) (sort H) (sort Z)
(constructor size (i64) Z) (constructor times (Z Z) Z)
(constructor nil () H) (constructor cons (Z H) H)
(constructor node (i64) T :unextractable) (constructor hnode (i64) H :unextractable)
(function mask (i64) i64 :no-merge)
(function full (i64) i64 :no-merge) (function self (i64) i64 :no-merge)
(function length (i64) i64 :no-merge) (function sizemask (i64) i64 :no-merge)
(function innermost (i64) i64 :no-merge)
(function shifted (i64 i64 i64) i64 :no-merge) (function offset (i64 i64) i64 :no-merge)
(relation inside (i64 i64)) (relation within (i64 i64)) (relation box (i64 i64))
(relation both (i64 i64 i64))
(relation holds_low (i64 i64 i64 i64 i64)) (relation holds_high (i64 i64 i64 i64 i64))
(relation growing (i64)) (relation start (i64 i64)) (relation from_zero (i64 i64))
(relation follows (i64 i64)) (relation starts (i64 i64 i64)) (relation around (i64 i64 i64 i64))
(function inner (i64 i64 T) T :merge old)
(relation around_pair (i64 i64 i64)) (relation around_alone (i64 i64 i64))
(relation prefix (i64 i64)) (relation suffix (i64 i64))
(relation shortened (i64 i64)) (relation but_last (i64 i64)) (relation rest (i64 i64))
(relation counts (i64 i64))
(relation always_until (i64 i64 i64)) (relation until (i64 i64 i64 i64))
(relation always_from (i64 i64 i64)) (relation from (i64 i64 i64 i64))
(relation moved (i64 i64 i64 i64 i64))
(relation doubled (i64 i64 i64 i64 i64)) (relation overlapping (i64 i64 i64 i64 i64))
(relation before (i64 i64 i64)) (relation after (i64 i64 i64))
 (relation lengthened (i64 i64 i64 i64 i64 i64 i64))
(relation exactly (String String)) (relation rounded (String String))
(relation empty (String String T)) (relation raw_empty (String String i64))
(relation real_cast (String)) (relation arithmetic (String))
(relation bounded (T)) (relation raw_bounded (i64))
(relation filled (Z)) (relation raw_filled (i64))
 (relation unit (String T)) (relation ones (i64 H))
(function dtype (T) String :no-merge) (relation raw_dtype (i64 String))
(function free (T) i64 :merge (& old new)) (relation raw_free (i64 i64))
(function value (T) f64 :merge old) (relation raw_value (i64 f64))
(function gap (T) i64 :merge (& old new)) (relation raw_gap (i64 i64))
(relation indicator (i64 T)) (relation raw_indicator (i64 i64))
(relation known (T i64 i64 i64)) (relation raw_known (i64 i64 i64 i64))
(relation counter (i64 T)) (relation raw_counter (i64 i64)) (relation begins (i64 i64))
(relation tiled (i64 i64 i64)) (relation tile (i64 i64)) (relation piece (i64 i64 i64))
(relation final (i64 i64))
(relation tally (i64 T)) (relation raw_tally (i64 i64)) (relation centre (i64 i64 T T T))
(relation lag (T i64 i64)) (relation facing (T i64 i64)) (relation beyond (T i64 i64))
(relation rungs (T i64 i64 T)) (relation ladder (T i64 i64 T))
(relation raw_unit (String i64)) (relation raw_ones (i64 i64))
(relation zero (String T)) (relation raw_zero (String i64))
(relation neighbour (i64 i64 i64 i64)) (relation body (i64 i64 T T))
(relation raw_body (i64 i64 i64 i64)) (relation only (i64 i64 i64))
(relation here (i64 i64)) (relation clear (i64 T)) (relation raw_clear (i64 i64))
(relation pins (i64 i64 i64))
(relation gone (i64 T)) (relation raw_gone (i64 i64))
(relation some (i64 T)) (relation raw_some (i64 i64))
(relation factor (String T)) (function scaled (i64 T) T :merge old)
(sort Line) (constructor line (T T) Line) (function affine (i64 T) Line :merge old)
(relation closed (i64)) (relation halves (i64 i64 i64 i64 i64))
 (relation batch (i64 i64 i64)) (relation live (i64))
(function dom (T) i64 :merge (& old new)) (function sdom (T) i64 :merge (& old new))
(function rank (T) i64 :no-merge) (function shape (T) H :merge old)
(function zmask (Z) i64 :merge (& old new)) (function hmask (H) i64 :merge (& old new))
(function hlen (H) i64 :no-merge)
(relation axis (T i64 Z)) (relation axes2 (T Z Z)) (relation axes3 (T Z Z Z))
(relation axes4 (T Z Z Z Z)) (relation axes5 (T Z Z Z Z Z))
(relation want (T i64)) (relation define (i64 i64 T))
(relation raw_nil (i64)) (relation raw_cons (i64 i64 i64))
(relation raw_facts (i64 i64 i64 i64 i64)) (relation raw_want (i64 i64))
(relation raw_define (i64 i64 i64))
(ruleset load) (ruleset analysis) (ruleset seed) (ruleset spread) (ruleset always)
"""

_COUNTED = ("lag", "facing", "beyond", "rungs", "ladder")  # made by rules, of counts alone

# Relations that only loading fills, or only rules that ask for such a one, the rarest first: a rule
# that asks for one which is empty can never fire, but trying it takes as long as if it could.
GATES = (
    *("tiled", "tile"),
    *("doubled", "overlapping", "lengthened", "moved", "until", "always_until", "from"),
    *("always_from", "tally", "counter", "begins", "before", "after"),
    *("shortened", "but_last", "rest", "around", "around_pair", "around_alone"),
    *("from_zero", "starts", "follows", "prefix", "suffix"),
    *("growing", "known", "indicator", "both", "pins", "here", "counts", "only"),
    *("neighbour", "body", "batch", "halves"),
    *_COUNTED,
)

_LOADING = """
(rule ((raw_nil i)) ((union (hnode i) (nil))) :ruleset load :name "load/nil")
(rule ((raw_cons i z h)) ((union (hnode i) (cons (size z) (hnode h)))) :ruleset load
  :name "load/cons")
(rule ((raw_facts i d s r h)) ((set (dom (node i)) d) (set (sdom (node i)) s)
  (set (rank (node i)) r) (set (shape (node i)) (hnode h))) :ruleset load :name "load/facts")
(rule ((raw_dtype i e)) ((set (dtype (node i)) e)) :ruleset load :name "load/dtype")
(rule ((raw_value i e)) ((set (value (node i)) e)) :ruleset load :name "load/value")
(rule ((raw_bounded i)) ((bounded (node i))) :ruleset load :name "load/bounded")
(rule ((raw_free i m)) ((set (free (node i)) m)) :ruleset load :name "load/free")
(rule ((raw_gap i m)) ((set (gap (node i)) m)) :ruleset load :name "load/gap")
(rule ((raw_known i c d p)) ((known (node i) c d p)) :ruleset load :name "load/known")
(rule ((raw_indicator c i)) ((indicator c (node i))) :ruleset load :name "load/indicator")
(rule ((raw_unit e i)) ((unit e (node i))) :ruleset load :name "load/unit")
(rule ((raw_counter s i)) ((counter s (node i))) :ruleset load :name "load/counter")
(rule ((raw_tally s i)) ((tally s (node i))) :ruleset load :name "load/tally")
(rule ((raw_zero e i)) ((zero e (node i))) :ruleset load :name "load/zero")
(rule ((raw_body r c s q)) ((body r c (node s) (node q))) :ruleset load :name "load/body")
(rule ((raw_clear r i)) ((clear r (node i))) :ruleset load :name "load/clear")
(rule ((raw_some r i)) ((some r (node i))) :ruleset load :name "load/some")
(rule ((raw_gone r i)) ((gone r (node i))) :ruleset load :name "load/gone")
(rule ((raw_empty f e i)) ((empty f e (node i))) :ruleset load :name "load/empty")
(rule ((raw_ones r h)) ((ones r (hnode h))) :ruleset load :name "load/ones")
(rule ((raw_want i m)) ((want (node i) m)) :ruleset load :name "load/want")
(rule ((raw_define r k i)) ((define r k (node i))) :ruleset load :name "load/define")
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


def popcount(name: str, mask: str) -> tuple[str, ...]:
    """Facts that bind ``name`` to the number of bits set in a mask of at most eight bits."""
    a, b = f"{name}a", f"{name}b"
    return (
        f"(= {a} (- {mask} (& (>> {mask} 1) 85)))",
        f"(= {b} (+ (& {a} 51) (& (>> {a} 2) 51)))",
        f"(= {name} (& (+ {b} (>> {b} 4)) 15))",
    )


def _analysis_rules(op: str) -> list[str]:
    if op in ("leaf", "rec", "look") or op.startswith("host"):
        return []  # loaded
    term = f"(= l ({op} {' '.join(_variables(op))}))"
    bound = op in ("at", "sl")
    first = _variables(op)[SIGNATURE[op].index("T")]
    rank = _RANK.get(op, "r")
    count = " ".join(popcount("n", "f1")) if op == "red" else ""
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
    when = [_apart_in(_single(fact, "="), seen, alike) for fact in rule.when]
    facts = " ".join((f"(= lhs {left})", *alike, *when))
    made: dict[str, str] = {}
    right = _shared(rule.right, made)
    notes = [_note(term, rule.name) for term in made]
    also = [_shared(_single(fact, "set"), made) for fact in rule.also]
    lets = [f"(let {name} {term})" for term, name in made.items()]
    actions = " ".join((*lets, f"(union lhs {right})", *notes, *also))
    return f'(rule ({facts}) ({actions}) :ruleset {_ruleset(rule)} :name "{rule.name}")'


def _ruleset(rule: Rule) -> str:
    """The rules of a phase; of the last one, those that the same relation lets in."""
    if rule.phase != "rewrite":
        return rule.phase
    asked = {_parts(fact)[0] for fact in rule.when}
    return next((f"if_{gate}" for gate in GATES if gate in asked), "always")


def opening(name: str, filled: Container[str]) -> str:
    """The command that names the rules of the last phase which can fire.

    ``filled``: the relations that loading gave rows.
    """
    gates = (g for g in GATES if is_open(g, filled))
    return f"(unstable-combined-ruleset {name} {' '.join(('always', *(f'if_{g}' for g in gates)))})"


def is_open(gate: str, filled: Container[str]) -> bool:
    """Whether loading gave the relation of a gate rows, or what makes them."""
    made = gate in _COUNTED and "counts" in filled
    return made or gate in filled or f"raw_{gate}" in filled


def _shared(term: str, made: dict[str, str]) -> str:
    """A term whose operators have names; what they stand for is added, innermost first."""
    if not term.startswith("("):
        return term
    op, *fields = _parts(term)
    text = f"({' '.join((op, *(_shared(field, made) for field in fields)))})"
    return made.setdefault(text, f"made{len(made)}") if op in SIGNATURE else text


def _note(term: str, rule: str) -> str:
    return f'(why_{term[1:-1]} "{rule}")'


def _apart(form: str, seen: set[str], alike: list[str]) -> str:
    """A pattern in which no number occurs twice; ``alike`` takes what says so afterwards.

    egglog would begin with the numbers that parts of a pattern share: with every three slices of
    the same steps, of which hardly any meet in one operator.
    """
    name, *fields = _parts(form) if form.startswith("(") else [form]
    letters = "DAT" if name == "inner" else SIGNATURE.get(name, "")
    if not letters or len(fields) != len(letters):
        return form  # no operator, or one that egglog refuses
    out = [name]
    for field, letter in zip(fields, letters, strict=True):
        if letter == "T":
            out.append(_apart(field, seen, alike))
        elif letter in "NDA" and field.isidentifier() and field in seen:
            out.append(f"{field}_{len(alike)}")
            alike.append(f"(= 0 (- {field} {out[-1]}))")
        else:
            seen.add(field)
            out.append(field)
    return f"({' '.join(out)})"


def _apart_in(fact: str, seen: set[str], alike: list[str]) -> str:
    """The same for a fact about the one inner value of a range."""
    name, *sides = _parts(fact)
    if name != "=" or not sides[-1].startswith("(inner "):
        return fact
    return f"(= {sides[0]} {_apart(sides[-1], seen, alike)})"


def _single(fact: str, verb: str) -> str:
    """A fact as egglog keeps it: one factor, and one line, of a value is enough.

    A choice between two products would otherwise have every combination of their factors.
    """
    name, *fields = _parts(fact)
    match name, fields:
        case "scaled", [r, y, g]:
            found, value = f"(scaled {r} {y})", g
        case "affine", [r, y, g, a]:
            found, value = f"(affine {r} {y})", f"(line {g} {a})"
        case _:
            return fact
    return f"(set {found} {value})" if verb == "set" else f"(= {value} {found})"


def _parts(form: str) -> list[str]:
    """The name and the fields of a parenthesised form."""
    if form.rfind("(") <= 0:  # nearly always
        return [part for part in form[1:-1].split(" ") if part]
    out, depth, start = list[str](), 0, 1
    for k, character in enumerate(form):
        depth += (character == "(") - (character == ")")
        if (character == " " and depth == 1) or k == len(form) - 1:
            out.append(form[start:k])
            start = k + 1
    return [part for part in out if part]


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
    lines = [_DECLARATIONS]
    for op, letters in SIGNATURE.items():
        sorts = " ".join(_SORT[c] for c in letters)
        raw = " ".join("String" if c == "S" else "i64" for c in letters)
        lines.append(f"(constructor {op} ({sorts}) T) (relation raw_{op} (i64 {raw}))")
        lines.append(f"(relation why_{op} ({sorts} String))")
    lines += [_load_rule(op) for op in SIGNATURE]
    lines += [*(f"(ruleset if_{gate})" for gate in GATES), opening("rewrite", GATES)]
    lines += [_LOADING, _ANALYSIS, *shape_rules()]
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
