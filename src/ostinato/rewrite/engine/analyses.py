"""What is known of a term from its operands: one record per operator, from which analyses follow.

A shape is a list of sizes, computed in the e-graph by few functions of lists: rank, single axes and
the dimensions that it depends on are those of the list. What is not of operators stands in tables
of its own: lists, sizes, and facts that only some operators pass on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations

from ostinato.rewrite.terms.signature import SIGNATURE

# Lists and sizes that analyses compute, and what they equal when it is known.
DECLARATIONS = """
(constructor size (i64) Z) (constructor times (Z Z) Z) (constructor plus (Z Z) Z)
(constructor wider (Z Z) Z) (constructor nth (H i64) Z) (constructor size_at (Z i64 i64) Z)
(constructor nil () H) (constructor cons (Z H) H)
(constructor fewer (H i64) H) (constructor insert (H i64 Z) H) (constructor append (H H) H)
(constructor repeated (H H) H) (constructor ordered (H i64) H) (constructor shape_at (H i64 i64) H)
(function place (H i64) Z :merge old)
(relation mirrored (T)) (function depth (T) i64 :merge (min old new))
"""


@dataclass(frozen=True, slots=True)
class Operator:
    """What an operator gives, from its fields ``f0``, ... and the shapes ``h0``, ... of operands.

    - ``shape``: as an expression of the engine; ``asks``: further facts that it needs.
    - ``like``: the operand whose type it has; of a function in the first field, if it keeps types.
    - ``moves``: every element is one of its only operand's.
    """

    shape: str
    asks: str = ""
    like: int = 0
    moves: bool = False


def _without(shape: str, axis: str) -> str:
    return f"(fewer {shape} (<< 1 (- {axis} 1)))"


def _with(shape: str, axis: str, size: str) -> str:
    return f"(insert {_without(shape, axis)} {axis} {size})"


def _moved(shape: str, axis: str, to: str) -> str:
    return f"(insert {_without(shape, axis)} {to} (nth {shape} {axis}))"


def _behind(shape: str, count: str, more: str) -> str:
    return f"(append (fewer {shape} (- (<< 1 {count}) 1)) {more})"


OPERATORS: dict[str, Operator] = {
    "map1": Operator("h0"),
    "map2": Operator("(repeated h0 h1)", like=1),
    "map3": Operator("(repeated h0 (repeated h1 h2))", like=2),
    "red": Operator("(fewer h0 f1)"),
    "mm": Operator(f"(repeated {_with('h0', '1', '(size 1)')} {_with('h1', '2', '(size 1)')})"),
    "tr": Operator(_moved("h0", "1", "2"), moves=True),
    "mv": Operator(_moved("h0", "f0", "f1"), moves=True),
    "perm": Operator("(ordered h0 f0)", moves=True),
    "reshape": Operator(_behind("h0", "f0", "f1"), moves=True),
    "bcast": Operator(_behind("h0", "n", "f0"), "(= n (hlen f0))", moves=True),
    "cat": Operator(f"(insert {_without('h0', 'f0')} f0 (plus (nth h0 f0) (nth h1 f0)))"),
    "part": Operator(_without("h0", "f0"), moves=True),
    "cut": Operator(_with("h0", "f0", "(size n)"), "(= n (length f1))", moves=True),
    "gather": Operator(f"(repeated {_with('h0', 'f0', '(size 1)')} h1)"),
    "along1": Operator(_with("h0", "f1", "(size f2)")),
    "along2": Operator(
        f"(repeated {_with('h0', 'f1', '(size f2)')} {_with('h1', 'f1', '(size 1)')})"
    ),
    "case": Operator("h0"),
    "at": Operator("(shape_at h0 f0 f1)", moves=True),
    "sl": Operator("(cons (size n) h0)", "(= n (length f1)) (= 0 (& f0 (hmask h0)))", moves=True),
    "running": Operator("h0"),
    "lin": Operator("(repeated h0 h1)", like=1),
}  # all that rules make: the others are loaded with what is known of them

# What gives one of its operands is no way to compute that, and nothing follows from it. A range
# that is moved to where it is stays: the laws of histories ask for it.
IDLE = ("map1", "map2", "map3", "reshape", "bcast", "at", "case")

# What gives elements of its only operand, in another place. Only values that are reshapes of each
# other are asked how many of these they are of something that is computed; it decides what is left
# out, and says nothing that could be false.
VIEWS = ("tr", "mv", "perm", "reshape", "part", "cut", "at", "sl")
_MIRRORED = """
(rule ((= l (reshape r h x)) (= x (reshape k g l))) ((mirrored l) (mirrored x)) :name "mirrored")
"""

_SIZES = """
(rule ((= z (size i)) (= m (mask i))) ((set (zmask z) m)) :name "zmask/size")
(rule ((= z (times x y)) (= m (zmask x)) (= n (zmask y))) ((set (zmask z) (| m n)))
  :name "zmask/times")
(rule ((= z (plus x y)) (= m (zmask x)) (= n (zmask y))) ((set (zmask z) (| m n)))
  :name "zmask/plus")
(rule ((= z (wider x y)) (= m (zmask x)) (= n (zmask y))) ((set (zmask z) (| m n)))
  :name "zmask/wider")
(rule ((= z (size_at x d i)) (= m (zmask x)) (= n (mask i)))
  ((set (zmask z) (| (& m (not-i64 d)) n))) :name "zmask/at")
(rule ((= z (size i)) (raw_filled i)) ((filled z)) :name "filled/size")
(rule ((= z (times x y)) (filled x) (filled y)) ((filled z)) :name "filled/times")
(rule ((halves n m t s q)) ((union (size t) (plus (size n) (size m)))) :name "plus/halves")
(rule ((= z (wider x x))) ((union z x)) :name "wider/same")
(rule ((= z (wider (size 1) y))) ((union z y)) :name "wider/first")
(rule ((= z (wider x (size 1)))) ((union z x)) :name "wider/second")
(rule ((= z (nth h k)) (= y (place h k))) ((union z y)) :name "nth")
(rule ((= z (size_at x d i)) (= 0 (& d (zmask x)))) ((union z x)) :name "size_at/same")
"""

_LISTS = """
(rule ((= h (nil))) ((set (hmask h) 0) (set (hlen h) 0)) :name "list/nil")
(rule ((= h (cons z g)) (= m (zmask z)) (= n (hmask g)) (= k (hlen g)))
  ((set (hmask h) (| m n)) (set (hlen h) (+ k 1))) :name "list/cons")
(rule ((= h (cons z g)) (= k (hlen g))) ((set (place h (+ k 1)) z)) :name "place/first")
(rule ((= h (cons y g)) (= z (place g k))) ((set (place h k) z)) :name "place/later")
(rule ((= l (fewer h 0))) ((union l h)) :name "fewer/none")
(rule ((= l (fewer (cons z g) m)) (= 0 (& m (<< 1 (hlen g)))))
  ((union l (cons z (fewer g m)))) :name "fewer/kept")
(rule ((= l (fewer (cons z g) m)) (= b (<< 1 (hlen g))) (= b (& m b)))
  ((union l (fewer g (- m b)))) :name "fewer/left")
(rule ((= l (insert h p z)) (= p (+ 1 (hlen h)))) ((union l (cons z h))) :name "insert/here")
(rule ((= l (insert (cons y g) p z)) (<= p (+ 1 (hlen g)))) ((union l (cons y (insert g p z))))
  :name "insert/later")
(rule ((= l (append (nil) g))) ((union l g)) :name "append/nil")
(rule ((= l (append (cons z h) g))) ((union l (cons z (append h g)))) :name "append/cons")
(rule ((= l (repeated h h))) ((union l h)) :name "repeated/same")
(rule ((= l (repeated (cons y g) (cons z h)))) ((union l (cons (wider y z) (repeated g h))))
  :name "repeated/cons")
(rule ((= l (ordered h o)) (around o 1 q b))
  ((union l (insert (ordered (fewer h 1) b) q (nth h 1)))) :name "ordered/around")
(rule ((= l (ordered h o)) (around_pair o 1 q))
  ((union l (insert (insert (fewer h 3) 2 (nth h 2)) q (nth h 1)))) :name "ordered/pair")
(rule ((= l (ordered h o)) (around_alone o 1 q)) ((union l (insert (fewer h 1) q (nth h 1))))
  :name "ordered/alone")
(rule ((= l (shape_at (nil) d i))) ((union l (nil))) :name "shape_at/nil")
(rule ((= l (shape_at (cons z g) d i))) ((union l (cons (size_at z d i) (shape_at g d i))))
  :name "shape_at/cons")
(rule ((= h (shape x)) (= n (hlen h)) (= m (hmask h))) ((set (rank x) n) (set (sdom x) m))
  :name "shape/facts")
(rule ((= h (shape x)) (= z (place h k))) ((axis x k z)) :name "axis")
"""

# Facts that only some operators pass on.
_VALUES = """
(rule ((= l (map1 "neg" x)) (bounded x)) ((bounded l)) :name "bounded/neg")
(rule ((= l (map1 f x)) (real_cast f) (= "bool" (dtype x))) ((bounded l)) :name "bounded/truth")
(rule ((= l (map1 f x)) (real_cast f) (= v (value x)) (<= -16777216.0 v) (<= v 16777216.0))
  ((set (value l) v)) :name "value/cast")
(rule ((= l (map1 "exp" x)) (= 0.0 (value x))) ((set (value l) 1.0)) :name "value/exp")
(rule ((= l (map2 "pow" x y)) (= 0.0 (value y))) ((set (value l) 1.0)) :name "value/pow")
(rule ((= l (map1 "neg" x)) (= v (value x))) ((set (value l) (neg v))) :name "value/neg")
(rule ((= l (map2 "mul" x y)) (= 0.0 (value x)) (bounded y)) ((set (value l) 0.0))
  :name "value/no-multiple")
(rule ((= l (map2 "div" x y)) (= 0.0 (value x)) (= v (value y)) (!= v 0.0)) ((set (value l) 0.0))
  :name "value/no-part")
(rule ((= l (map2 "add" x y)) (= 1.0 (value x)) (= 1.0 (value y))) ((set (value l) 2.0))
  :name "value/two")
(rule ((enters d s a f) (= v (value x)) (<= (abs v) 1e30)) ((bounded x)) :name "bounded/value")
(rule ((= l (reshape r h x)) (positive x)) ((positive l)) :name "positive/reshape")
(rule ((= l (map1 "exp" x))) ((positive l)) :name "positive/exp")
(rule ((= l (red "sum" m x)) (positive x)) ((positive l)) :name "positive/sum")
(rule ((= l (reshape r h x)) (gentle x)) ((gentle l)) :name "gentle/reshape")
(rule ((enters d s a f) (= v (value x)) (= m (abs v))) ((set (bound x) m)) :name "bound/value")
(rule ((= l (map1 "neg" x)) (= m (bound x))) ((set (bound l) m)) :name "bound/neg")
(rule ((= l (reshape r h x)) (= m (bound x))) ((set (bound l) m)) :name "bound/reshape")
(rule ((= l (part k i x)) (= m (bound x))) ((set (bound l) m)) :name "bound/part")
(rule ((= l (map2 f x y)) (adds f) (= m (bound x)) (= n (bound y))) ((set (bound l) (+ m n)))
  :name "bound/sum")
(rule ((= l (map2 "mul" x y)) (= m (bound x)) (= n (bound y))) ((set (bound l) (* m n)))
  :name "bound/product")
(rule ((= l (map2 "div" x y)) (= m (bound x)) (= v (value y)) (!= v 0.0))
  ((set (bound l) (/ m (abs v)))) :name "bound/quotient")
(rule ((= m (bound x)) (<= m 7.99)) ((moderate x)) :name "moderate/bound")
(rule ((= l (sl d s x)) (growing s)) ((eased l)) :name "eased/range")
(rule ((= l (map3 "where" c x y)) (keeps c k s)) ((eased l)) :name "eased/mask")
(rule ((growing s) (= n (length s))) ((long n)) :name "long/range")
(rule ((section n s)) ((long n)) :name "long/part")
(rule ((= l (map1 "not" x))) ((opposite l x)) :name "opposite/not")
(rule ((= l (map2 "mul" x y))) ((either "mul" l x y) (either "mul" l y x)) :name "either/mul")
(rule ((= l (map2 "add" x y))) ((either "add" l x y) (either "add" l y x)) :name "either/add")
(rule ((= l (map2 "sub" x y))) ((either "sub" l x y)) :name "either/sub")
(rule ((= l (map2 "div" x y))) ((either "div" l x y)) :name "either/div")
(rule ((= l (map2 "pow" x y))) ((either "pow" l x y)) :name "either/pow")
(rule ((= l (sl d i x)) (growing i)) ((set (inner d i l) x)) :name "inner/sl")
(rule ((= l (reshape r h x)) (= m (free x))) ((set (free l) m)) :name "free/reshape")
(rule ((= l (tr x)) (= m (free x))) ((set (free l) m)) :name "free/tr")
(rule ((= l (sl d i x)) (= m (gap x)) (= 0 (& d m)) (box d i)) ((set (gap l) m)) :name "gap/sl")
"""


def analyses() -> list[str]:
    """The texts of the rules that conclude facts of sizes, lists and terms."""
    of_operators = (text for op in OPERATORS for text in _of_operator(op))
    texts = (_SIZES, _LISTS, _VALUES, *of_operators)
    return [text.replace(" :name", " :ruleset analysis :name") for text in texts]


def idle_terms() -> list[str]:
    """The texts of rules that leave out a term, or a row of one, that equals an operand of it.

    So does a view that only undoes a reshape, of what is as simple without both: each law of views
    would lead through the longer value to a still longer one. It stays a way to compute its value.
    """
    out = [
        "(rule ((either f l l y)) ((delete (either f l l y))) :ruleset idle)",
        "(rule ((either f l x l)) ((delete (either f l x l))) :ruleset idle)",
    ]
    out += (
        each.replace(":name", ":ruleset views :name")
        for each in (_MIRRORED, *map(_depth, SIGNATURE))
    )
    undone = "(= x (reshape r h l)) (= m (depth l)) (<= m (depth x))"
    for term in ("(reshape k g x)", "(part k i x)"):
        out.append(f"(rule ((= l {term}) {undone}) ((subsume {term})) :ruleset idle)")
    for op in IDLE:
        fields = variables(op)
        for k, letter in enumerate(SIGNATURE[op]):
            term = f"({op} {' '.join((*fields[:k], 'l', *fields[k + 1 :]))})"
            if letter == "T":
                out.append(f"(rule ((= l {term})) ((subsume {term})) :ruleset idle)")
    return out


def _depth(op: str) -> str:
    """How many views a term is of something that is computed, of values and reshapes of them."""
    of = f"(mirrored l) (= l ({op} {' '.join(fields := variables(op))}))"
    if op not in VIEWS:
        return _rule(f"depth/{op}", of, "(set (depth l) 0)")
    deeper = _rule(f"depth/{op}", f"{of} (= n (depth {fields[-1]}))", "(set (depth l) (+ n 1))")
    return _rule(f"mirrored/{op}", of, f"(mirrored {fields[-1]})") + deeper


def _of_operator(op: str) -> list[str]:
    known = OPERATORS[op]
    fields = variables(op)
    terms = [f for f, letter in zip(fields, SIGNATURE[op], strict=True) if letter == "T"]
    term = f"(= l ({op} {' '.join(fields)}))"
    shapes = " ".join(
        f"(= h{k} (shape {x}))" for k, x in enumerate(terms) if f"h{k}" in known.shape
    )
    asks = f" {known.asks}" if known.asks else ""
    out = [
        _rule(f"dom/{op}", f"{term} (= v {_dimensions(op)})", "(set (dom l) v)"),
        _rule(f"shape/{op}", f"{term} {shapes}{asks}", f"(set (shape l) {known.shape})"),
        *_types(op, term, terms[known.like]),
        *_operands(op, term, terms if "repeated" in known.shape and op != "lin" else []),
        *_asked(op, term, terms if op in ("map2", "map3") else []),
    ]
    if known.moves:
        out.append(_rule(f"value/{op}", f"{term} (= v (value {terms[0]}))", "(set (value l) v)"))
        out.append(_rule(f"bounded/{op}", f"{term} (bounded {terms[0]})", "(bounded l)"))
    return out


def _operands(op: str, term: str, terms: list[str]) -> list[str]:
    """What stands beside a range, which may be the same at all points of it.

    Not of a linear recurrence: no law takes ranges out of one.
    """
    return [
        _rule(f"operands/{op}-{x}-{y}", f"{term} {range_of} {one}", f"(operands {x} {y})")
        for x, y in permutations(terms, 2)
        for range_of, one in [(f"(= v (ranged {x} d s p))", f"(axis {y} p (size 1))")]
    ]


def _asked(op: str, term: str, terms: list[str]) -> list[str]:
    """The part of each operand that the part of a result is computed from."""
    part = "(section n p) (= c (cut k p l))"
    return [_rule(f"sought/{op}-{x}", f"{part} {term}", f"(sought {x} k p)") for x in terms]


def _rule(name: str, facts: str, action: str) -> str:
    return f'(rule ({facts}) ({action}) :name "{name}")'


def _types(op: str, term: str, like: str) -> list[str]:
    """The type of an operator is that of an operand, or what its function gives."""
    typed = f"{term} (= e (dtype {like}))"
    if SIGNATURE[op][0] != "S" or op == "running":  # no position is a running fold
        return [_rule(f"dtype/{op}", typed, "(set (dtype l) e)")]
    return [
        _rule(f"dtype/{op}-kept", f"{typed} (keeps_type f0)", "(set (dtype l) e)"),
        _rule(f"dtype/{op}-made", f"{term} (makes f0 e)", "(set (dtype l) e)"),
    ]


def variables(op: str) -> list[str]:
    """A variable for each field of an operator."""
    return [f"f{k}" for k in range(len(SIGNATURE[op]))]


def _dimensions(op: str) -> str:
    """The dimensions that a term depends on, from its fields."""
    parts: list[str] = []
    binds = op in ("at", "sl")
    for field, letter in zip(variables(op), SIGNATURE[op], strict=True):
        if letter == "T":
            parts.append(f"(& (dom {field}) (not-i64 f0))" if binds else f"(dom {field})")
        elif letter == "A" and op != "perm":  # an order is the same at all points
            parts.append(f"(mask {field})")
        elif letter == "H":
            parts.append(f"(hmask {field})")
        elif letter == "D" and not binds:
            parts.append(field)
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    out = ""
    for part in parts:
        out = f"(| {out} {part})" if out else part
    return out
