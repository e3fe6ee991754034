"""The readings of a rule: every way to choose what its variables stand for, up to a few axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ostinato.pdg.functions import FOLDS
from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.general import Claims
from ostinato.rewrite.prove.said import FIELDS, equations
from ostinato.rewrite.prove.setting import Setting, Size, one
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import (
    Among,
    Apart,
    Depends,
    Listed,
    Nearby,
    Ordered,
    Repeats,
)
from ostinato.rewrite.relations.relation import Kind
from ostinato.rewrite.relations.row import Row, row, rows
from ostinato.rewrite.relations.sexpr import Tree, replaced, show, words
from ostinato.rewrite.terms.signature import ARITHMETIC, SIGNATURE

MOST_AXES = 3
PROGRESSIONS = ("ramp", "ramp_of_all", "decay")  # what rises, or falls, with the lag
MOST_MASKED_AXES = 5  # laws with masks of axes: every mask of this many axes

_MOST_OPEN_AXES = 6  # that may have size 1, all choices of which are tried

# what the numbers of an operator are, in order
_NUMBERS: dict[str, tuple[str, ...]] = {
    "leaf": ("leaf",),
    "rec": ("leaf",),
    "red": ("mask",),
    "mv": ("axis", "axis"),
    "reshape": ("count",),
    "cat": ("axis",),
    "part": ("axis",),
    "cut": ("axis",),
    "gather": ("axis",),
    "along1": ("axis",),
    "along2": ("axis",),
    "running": ("flag",),
    "lin": ("flag",),
}
_BROADCASTS = frozenset(("map2", "map3", "mm", "gather", "along2", "bcast", "lin"))
_ARITHMETIC = frozenset((*ARITHMETIC, "not-i64", "rank", "hlen"))
_FACTS_OF_DIMS = frozenset(saying(Depends))
# What the columns of relations say that variables are.
_USES: dict[Kind, str] = {
    "term": "T", "dimension": "D", "leaf": "leaf", "recurrence": "leaf", "flag": "flag",
    "axis": "axis", "fold": "S",
}  # fmt: skip


@dataclass
class Law:
    """A rule as trees, and what each of its variables is."""

    rule: Rule
    left: Tree
    right: Tree
    facts: list[Tree]
    also: list[Tree]
    kinds: dict[str, str] = field(default_factory=dict[str, str])  # S D A H T Z, or use of N
    folds: set[str] = field(default_factory=set[str])  # texts that name a fold
    thin: set[str] = field(default_factory=set[str])  # tensors that may have axes of size 1
    methods: set[str] = field(default_factory=set[str])  # what showed that the sides are equal
    claims: Claims = field(default_factory=Claims)  # what was shown in other readings
    asked: list[Row | None] = field(default_factory=lambda: list[Row | None]())  # of the facts

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of relations that the facts ask for."""
        return [found for found in self.asked if found is not None]

    @cached_property
    def stated(self) -> list[Row]:
        """The facts as they are written, as rows."""
        return list(rows(fact.tree for fact in self.rule.when))

    @cached_property
    def joins(self) -> bool:
        """Whether the left side joins tensors along an axis."""
        return "(cat " in show(self.left)

    @cached_property
    def defined_numbers(self) -> list[tuple[str, Tree]]:
        """Numbers that a fact computes from others, in order."""
        out: list[tuple[str, Tree]] = []
        for fact in self.facts:
            match fact:
                case ("=", str(name), (str(op), *_)) if op in _ARITHMETIC:
                    if not is_about_dims(fact):
                        assert isinstance(fact, tuple)
                        out.append((name, fact[2]))
                case _:
                    pass
        return out


def law(rule: Rule) -> Law:
    """The sides of a rule, with names of parts replaced by what they name."""
    left, right = rule.left.tree, rule.right.tree
    facts: list[Tree] = [replaced(f.tree, {"lhs": left}) for f in rule.when]
    also: list[Tree] = [f.tree for f in rule.also]
    before = _steps_before(facts)
    facts, also = ([f for fact in part for f in equations(fact, before)] for part in (facts, also))
    changed = True
    while changed:
        changed = False
        for fact in facts:
            named = _named_part(fact)
            others = (left, right, *also, *(f for f in facts if f is not fact))
            if named and any(named[0] in words(tree) for tree in others):
                facts.remove(fact)
                by = {named[0]: named[1]}
                if named[0] not in words(left) and _is_matched(fact):
                    facts.append(fact)  # the term is there, so it has a meaning
                left, right = replaced(left, by), replaced(right, by)
                facts, also = [replaced(f, by) for f in facts], [replaced(f, by) for f in also]
                changed = True
                break
    out = Law(rule, left, right, facts, also, asked=[row(fact) for fact in facts])
    for tree in (left, right, *facts, *also):
        _classify(out, tree)
    return out


def _steps_before(facts: list[Tree]) -> dict[str, Tree]:
    """The terms that read a recurrence one step earlier."""
    asked = [found for fact in facts if (found := row(fact)) and found.relation.makes("neighbour")]
    return {r["r"]: ("at", r.cells["d"], r.cells["a"], ("rec", r["r"])) for r in asked}


def _is_matched(fact: Tree) -> bool:
    """Whether a fact names an operator of the graph."""
    match fact:
        case ("=", _, (op, *_)):
            return op in SIGNATURE
        case _:
            return False


def _named_part(fact: Tree) -> tuple[str, Tree] | None:
    """The name and the term, or mask, of a fact ``(= y (op ...))``."""
    match fact:
        case ("equal", str(name), meant):
            return name, meant
        case ("=", str(name), (str(op), *_)) if op in SIGNATURE or op in _FACTS_OF_DIMS:
            assert isinstance(fact, tuple)
            return name, fact[2]
        case _:
            return None


def _classify(out: Law, tree: Tree, repeats: bool = False) -> None:
    """Learn what variables are; ``repeats``: an operator around them repeats axes of size 1."""
    if not isinstance(tree, tuple) or not tree:
        return
    op, fields = str(tree[0]), tree[1:]
    repeats = repeats or op in _BROADCASTS
    if op in SIGNATURE:
        uses = iter(_NUMBERS.get(op, ()))
        for letter, part in zip(SIGNATURE[op], fields, strict=True):
            use = next(uses) if letter == "N" else letter
            if isinstance(part, str) and not part.startswith('"'):
                out.kinds.setdefault(part, use)
                if letter == "S" and op in ("red", "running"):
                    out.folds.add(part)
                if letter == "T" and repeats:
                    out.thin.add(part)
    for kind, part in zip(FIELDS.get(op, ()), fields, strict=False):
        if kind in _USES and isinstance(part, str) and part.isidentifier():
            out.kinds.setdefault(part, _USES[kind])
            if kind == "fold":
                out.folds.add(part)
    if op == "cons" and isinstance(fields[1], str):
        out.kinds.setdefault(fields[1], "H")
    for part in fields:
        _classify(out, part, repeats)


def computes_with_masks(found: Law) -> bool:
    """Whether masks of axes that a law does not fix occur in arithmetic.

    Otherwise the axes of a mask may be taken as the last ones and as one: the law names no other.
    """
    computed = {name for name, _ in found.defined_numbers}
    masks = {n for n, use in found.kinds.items() if use == "mask" and n not in computed}
    facts = [f for f in found.facts if not is_about_dims(f) and not _is_about_first_axis(f)]
    return any(_computes(t, masks) for t in (found.left, found.right, *facts))


def _is_about_first_axis(fact: Tree) -> bool:
    """Whether a fact only says that the axis of a slice is none, or one, of a mask."""
    match fact:
        case ("=", 0, ("&", str(), ("<<", 1, ("rank", str())))):
            return True
        case _:
            return False


def _computes(tree: Tree, names: set[str]) -> bool:
    if not isinstance(tree, tuple):
        return False
    inside = tree[0] in _ARITHMETIC and bool(names & set(words(tree)))
    return inside or any(_computes(part, names) for part in tree[1:])


def is_about_dims(tree: Tree) -> bool:
    """Whether a fact asks on which dimensions something depends."""
    if not isinstance(tree, tuple):
        return False
    return tree[0] in _FACTS_OF_DIMS or any(map(is_about_dims, tree[1:]))


def readings(found: Law, fits: Callable[[Setting], bool]) -> Iterator[Setting]:
    """Every setting, with nothing concluded from the facts yet.

    ``fits`` says whether ranks and axis numbers of a setting without axes of size 1 are possible.
    """
    computed = {name for name, _ in found.defined_numbers}
    uses = {n: u for n, u in found.kinds.items() if u in _CHOICES and n not in computed}
    texts = _of_kind(found, "S")
    functions = list(itertools.product(*(functions_of(found, t) for t in texts)))
    axes = [name for name, use in uses.items() if use == "axis"]
    gaps = 2 * len(axes) + 1  # the named axes, and one between and beside them
    if _names_last_axes(found.left):
        gaps += 2
    most = MOST_MASKED_AXES if "mask" in uses.values() else max(MOST_AXES, gaps)
    for dims, ranks, lengths in itertools.product(
        list(_dims(found)), _ranks(found, most), _lengths(found)
    ):
        rank = max(ranks.values(), default=0) + _slices(found.left)
        choices = [_CHOICES[use](rank) for use in uses.values()]
        for numbers, text in itertools.product(itertools.product(*choices), functions):
            named = dict(zip(uses, numbers, strict=True))
            fns = dict(zip(texts, text, strict=True))
            plain = Setting(dict(dims), named, fns)
            if fits(_shaped(plain, ranks, lengths, frozenset())):
                yield from _thinned(found, plain, ranks, lengths)


def _names_last_axes(tree: Tree) -> bool:
    """Whether an operator works on the last two axes, without a number that says so."""
    if not isinstance(tree, tuple):
        return False
    return tree[0] in ("mm", "tr") or any(map(_names_last_axes, tree[1:]))


def _slices(tree: Tree) -> int:
    """How many axes the slices of a term add at most."""
    if not isinstance(tree, tuple):
        return 0
    return (tree[0] == "sl") + max(map(_slices, tree[1:]), default=0)


def _of_kind(found: Law, kind: str) -> list[str]:
    return [name for name, use in found.kinds.items() if use == kind]


def _lengths(found: Law) -> list[dict[str, int]]:
    """How many sizes the shape variables hold, unless facts say so."""
    given = {name for fact in found.facts for name in _given_shapes(fact)} - set(words(found.left))
    lists = [name for name in _of_kind(found, "H") if name not in given]
    return [
        dict(zip(lists, lengths, strict=True))
        for lengths in itertools.product(range(MOST_AXES + 1), repeat=len(lists))
    ]


def _given_shapes(fact: Tree) -> Iterator[str]:
    match fact:
        case ("ones", _, str(name)) | ("=", str(name), ("shape", _)):
            yield name
        case _:
            pass


def _axes(rank: int) -> range:
    return range(1, rank + 1)


_CHOICES: dict[str, Callable[[int], range]] = {
    "axis": _axes,
    "mask": lambda rank: range(1, 1 << rank),
    "count": lambda rank: range(rank + 1),
    "flag": lambda rank: range(2),
}


def _ranks(found: Law, most: int) -> list[dict[str, int]]:
    """The ranks to try: those that facts fix, or all up to the greatest."""
    fixed: dict[str, int] = {}
    for asked in found.rows:
        fixed |= dict.fromkeys(asked.said("scalar"), 0)
    for fact in found.facts:
        match fact:
            case ("=", int(n), ("rank", str(name))):
                fixed[name] = n
            case ("=", ("cons", *_) as listed, ("shape", str(name))) if _is_whole(listed):
                fixed[name] = _count(listed)
            case _:
                pass
    tensors = _of_kind(found, "T")
    tried = ([fixed[t]] if t in fixed else list(range(most + 1)) for t in tensors)
    return [dict(zip(tensors, ranks, strict=True)) for ranks in itertools.product(*tried)]


def _count(shape: Tree) -> int:
    """How many sizes a list that is written out has."""
    return 1 + _count(shape[2]) if isinstance(shape, tuple) and len(shape) == 3 else 0


def _is_whole(shape: Tree) -> bool:
    """Whether a list is written out to its end."""
    match shape:
        case ("cons", _, rest):
            return _is_whole(rest)
        case _:
            return shape == ("nil",)


def gaining(found: Law) -> dict[str, str]:
    """The ranges of which a law asks what enters them, or the lags in them, and the dimensions."""
    out = {row["s"]: row["d"] for row in found.rows if row.relation.makes("entering", Nearby)}
    for tree in (*found.facts, *found.also):
        match tree:
            case ("equal", _, (str(head), str(dim), str(part), *_)) if head in PROGRESSIONS:
                out[part] = dim
            case _:
                pass
    return out


def functions_of(found: Law, name: str) -> list[str]:
    every = [c.names for row in found.rows for c in row.claims(Among) if row[c.column] == name]
    if every:
        return [fn for fn in every[0] if all(fn in names for names in every)]
    for asked in found.rows:
        for order in asked.claims(Ordered):
            if asked["f"] == name:
                return [fn for fn, _ in order.functions]
        for listed in asked.claims(Listed):
            if asked[listed.columns[0]] == name:
                return [row[0] for row in listed.rows]
            if name in [asked[column] for column in listed.columns]:
                return [name]
    if name not in found.folds:
        return [name]
    pairs = [c.pairs for row in found.rows for c in row.claims(Repeats) if row[c.fold] == name]
    if pairs:
        return [fold for fold in pairs[0] if all(fold in others for others in pairs)]
    barred = {f[2] for f in found.facts if isinstance(f, tuple) and f[:2] == ("!=", name)}
    return [fn for fn in FOLDS if f'"{fn}"' not in barred]


def _dims(found: Law) -> Iterator[dict[str, str]]:
    """Dimension variables as dimensions, equal ones included unless a fact tells them apart."""
    names = _of_kind(found, "D")
    apart = {
        frozenset(map(str, fact[1:]))
        for fact in found.facts
        if isinstance(fact, tuple) and fact[0] == "!="
    }
    for asked in found.rows:
        apart |= {frozenset((asked[c.first], asked[c.second])) for c in asked.claims(Apart)}
    for chosen in itertools.product(names, repeat=len(names)):
        dims = dict(zip(names, chosen, strict=True))
        first = all(names.index(d) <= names.index(n) for n, d in dims.items())
        canonical = first and all(dims[d] == d for d in dims.values())
        pairs = itertools.combinations(names, 2)
        if canonical and all(
            dims[a] != dims[b] or frozenset((a, b)) not in apart for a, b in pairs
        ):
            yield dims


def _thinned(
    found: Law, plain: Setting, ranks: Mapping[str, int], lengths: Mapping[str, int]
) -> Iterator[Setting]:
    """The settings with every choice of axes of size 1 where operands may broadcast."""
    alike = _alike(found)
    open_axes = [
        (t, k)
        for t in ranks
        if t in found.thin and alike.get(t, [t])[0] == t
        for k in range(1, ranks[t] + 1)
    ]
    for ones in _choices_of_ones(open_axes):
        every = frozenset((other, k) for t, k in ones for other in alike.get(t, [t]))
        yield _shaped(plain, ranks, lengths, every)


def _alike(found: Law) -> dict[str, list[str]]:
    """For tensors that facts give one shape all of these: their axes have size 1 together."""
    named: dict[str, list[str]] = {}
    for fact in found.facts:
        match fact:
            case ("=", str(shape), ("shape", str(name))) if name in found.thin:
                named.setdefault(shape, []).append(name)
            case _:
                pass
    return {name: names for names in named.values() for name in names}


def _shaped(
    plain: Setting,
    ranks: Mapping[str, int],
    lengths: Mapping[str, int],
    ones: frozenset[tuple[str, int]],
) -> Setting:
    """The setting with new sizes for every axis but those of size 1."""
    setting = Setting(dict(plain.dims), dict(plain.numbers), dict(plain.texts))
    for t, rank in ranks.items():
        setting.shapes[t] = [
            one() if (t, k) in ones else Size(f"{t}.{k}") for k in range(rank, 0, -1)
        ]
    for h, length in lengths.items():
        setting.lists[h] = [Size(f"{h}.{k}") for k in range(length)]
    return setting


def _choices_of_ones(
    axes: Sequence[tuple[str, int]],
) -> Iterator[frozenset[tuple[str, int]]]:
    """Which axes have size 1: every choice, or for many axes every choice at one place.

    An operator that repeats axes maps the position along each axis on its own, so one place at a
    time shows all there is to see.
    """
    if len(axes) <= _MOST_OPEN_AXES:
        yield from map(frozenset, _subsets(axes))
        return
    yield frozenset()
    for place in sorted({k for _, k in axes}):
        here = [axis for axis in axes if axis[1] == place]
        yield from (frozenset(ones) for ones in _subsets(here) if ones)


def _subsets(axes: Sequence[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    for chosen in itertools.product((False, True), repeat=len(axes)):
        yield [axis for axis, is_one in zip(axes, chosen, strict=True) if is_one]
