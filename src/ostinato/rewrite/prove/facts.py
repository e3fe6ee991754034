"""What the facts of a rule let a proof assume."""

from __future__ import annotations

import operator
from fractions import Fraction

from ostinato.pdg.functions import REPEATED
from ostinato.rewrite.prove.element_counts import settle
from ostinato.rewrite.prove.integers import poly
from ostinato.rewrite.prove.reading import Law, is_about_dims
from ostinato.rewrite.prove.setting import STEPS, Fixed, Impossible, Setting, Size, Unsupported, one
from ostinato.rewrite.prove.term_meaning import Meaning
from ostinato.rewrite.prove.term_operators import length_of
from ostinato.rewrite.relations import saying
from ostinato.rewrite.relations.meanings import (
    Claim,
    Cut,
    Defined,
    Depends,
    Equal,
    Filled,
    Keeps,
    Known,
    Listed,
    Ordered,
    Repeats,
    Said,
    Steady,
    SteadyIf,
    Steps,
    Unwrapped,
)  # fmt: skip
from ostinato.rewrite.relations.row import Row, row
from ostinato.rewrite.relations.sexpr import Tree, show
from ostinato.rewrite.terms.signature import SIGNATURE

_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def known_inside(found: Law) -> str:
    """A fact of a law that says nothing of points outside the box, or ""."""
    return next((row.relation.name for row in found.rows if row.relation.inside), "")


def assume(found: Law, setting: Setting, meaning: Meaning) -> None:
    """Conclude everything from the facts and from the left side having a meaning.

    Errors: Impossible if they contradict the setting; Unsupported for an unknown fact.
    """
    for fact, about in zip(found.facts, found.asked, strict=True):
        _assume_names(setting, fact)
        if about is not None:
            for claim in about.relation.says:
                _assume_claim(setting, about, claim)
    for about in found.stated:
        for unwrapped in about.claims(Unwrapped):
            setting.unwrapped |= {about[column] for column in unwrapped.columns}
        for equal in about.claims(Equal) if about.relation.makes("fits") else ():
            meaning.of(about.term(equal.term))
        for steady in about.claims(SteadyIf):
            if meaning.number(about.cells[steady.flag]):
                _avoid(setting, "dom", about[steady.column], about.cells[steady.dimension])
    _shape_recurrences(found, setting)
    for name, value in found.defined_numbers:
        setting.numbers[name] = meaning.number(value)
    for fact in found.facts if found.joins else ():
        match fact:
            case ("axis", str(name), _, ("size", 1)) if name in setting.shapes:
                assume_fact(setting, meaning, fact, row(fact))
            case _:
                pass
    meaning.of(found.left)
    for fact, about in zip(found.facts, found.asked, strict=True):
        assume_fact(setting, meaning, fact, about)
    settle(setting)


def _shape_recurrences(found: Law, setting: Setting) -> None:
    """A recurrence has the shape of its cases, the same along dimensions that become axes."""
    for leaf, use in found.kinds.items():
        if use == "leaf":
            setting.shapes.setdefault(leaf, [Size(f"{leaf}.1")])
    for fact in found.facts:
        match fact:
            case ("define", name, _, right):
                setting.shapes[str(name)] = setting.shapes[str(right)]
            case ("body", name, _, start, _):
                setting.shapes[str(name)] = setting.shapes[str(start)]
            case _:
                pass
    for name in tuple(setting.known):
        if (twin := setting.twin_of(name)) is not None:
            _steady(setting.shapes[twin[0]], {twin[1]})


def _assume_names(setting: Setting, fact: Tree) -> None:
    """Facts about dimensions, types and numbers, and shapes that are known before the left side."""
    match fact:
        case ("=", 0, ("&", dims, (about, name))) if about in saying(Depends):
            _avoid(setting, str(about), str(name), dims)
        case ("=", '"bool"', ("dtype", str(name))):
            setting.truths.add(name)
        case ("=", value, ("value", str(name))):
            setting.values[name] = Fraction(str(value))
        case ("ones", int(count), str(name)):
            setting.lists[name] = [one() for _ in range(count)]
        case ("ones", _, str(name)) if name in setting.lists:
            setting.lists[name] = [one() for _ in setting.lists[name]]
        case _:
            pass


def _assume_claim(setting: Setting, row: Row, claim: Claim) -> None:
    """What a row of a relation says of indices, slices, conditions, functions and recurrences."""
    match claim:
        case Known(column, what, of):
            words = [_word(setting, row, name) for name in of]
            if isinstance(row.cells[column], str) and None not in words:
                setting.known[row[column]] = (what, *filter(None, words))
        case Steps() if isinstance(row.cells["s"], str):
            setting.known[row["s"]] = (row.relation.name, setting.dims[row["d"]])
        case Steady(column, ""):
            setting.avoids[row[column]] = set(setting.every_dim())
        case Steady(column, dim):
            setting.avoids.setdefault(row[column], set()).add(setting.dims[row[dim]])
        case Cut(side):
            setting.known[row["c"]] = (side, setting.dims[row["d"]])
            for column, part in (("s", "whole"), ("p", "low"), ("q", "high")):
                setting.known[row[column]] = ("cut", part)
                setting.avoids[row[column]] = setting.avoids.get(row["s"], set())
        case Keeps(slices):
            _assume_kept(setting, row["c"], row["k"], [row[name] for name in slices])
        case Said("neighbour") if row["f"] in setting.numbers:
            where = "next step" if setting.numbers[row["f"]] else "step before"
            setting.known[row["a"]] = (where, setting.dims[row["d"]])
        case Defined(column, term):
            setting.bodies[row[column]] = row.term(term)
        case Repeats(fold, function):
            setting.texts[row[function]] = REPEATED[setting.texts[row[fold]]]
        case Ordered(functions):
            setting.known[row["i"]] = (dict(functions)[setting.texts[row["f"]]], row["n"])
        case Listed((fold, *others)):
            known = claim.others(setting.texts[row[fold]])
            setting.texts |= zip((row[name] for name in others), known, strict=True)
        case Said("cast", column):
            setting.texts[row[column]] = "cast:real"
        case _:
            _assume_values(setting, row, claim)


def _assume_kept(setting: Setting, mask: str, axis: str, parts: list[str]) -> None:
    """A mask keeps parts of an axis, each behind the one before, and leaves out what is between.

    Errors: Impossible where the mask has no such axis.
    """
    place, shape = setting.numbers[axis], setting.shapes[mask]
    if not 1 <= place <= len(shape):
        raise Impossible(f"axis {place} of {len(shape)}")
    setting.masks[mask] = place, tuple(parts)
    if any(setting.known.get(part, ("",))[0] in STEPS for part in parts):
        return  # where they begin and end is said by another fact
    sizes = [Size(f"{parts[-1]} after")]
    before = ""
    for part in parts:
        setting.known[part] = "kept", before
        sizes[-1:-1] = [Size(f"{part} before"), length_of(setting, part)]
        setting.sizes[f"{part} before"] = sizes[-3]
        before = part
    whole = sizes.pop()
    while sizes:
        whole = Size(f"{mask} whole", fixed=Fixed("plus", "", (sizes.pop(), whole)))
    setting.unify(shape[-place], whole)


def _assume_values(setting: Setting, row: Row, claim: Claim) -> None:
    """What a row says of numbers: what they are, which are finite, and what has elements."""
    match claim:
        case Filled(column, number):
            setting.values[row[column]] = Fraction(number)
        case Said("scalar", column):
            setting.shapes[row[column]] = []
        case Said("above zero", column) if isinstance(row.cells[column], str):
            setting.above_zero.add(row[column])
        case Said("moderate", column) if isinstance(row.cells[column], str):
            setting.moderate.add(row[column])
        case Said("finite", column) if isinstance(row.cells[column], str):
            setting.bounded.add(row[column])
        case Said("positive", column):
            match row.cells[column]:
                case ("size", ("length", part)):
                    setting.filled.add(f"|{part}|")
                case str(size) | ("size", str(size)):
                    setting.filled.add(size)
                case _:
                    pass
        case _:
            pass


def _word(setting: Setting, row: Row, column: str) -> str | None:
    """What stands in a column, as it is known by; None for what no slice has the length of."""
    cell = row.cells[column]
    match row.columns[column], cell:
        case "dimension", _:
            return setting.dims[str(cell)]
        case "fold", str():
            return cell.strip('"') if cell.startswith('"') else setting.texts[cell]
        case "length", ("length", part):
            return str(part)
        case "length", _:
            return None
        case _:
            return str(cell)


def _dims(setting: Setting, tree: Tree) -> set[str]:
    match tree:
        case str():
            return {setting.dims[tree]}
        case ("|", *parts):
            return set[str]().union(*(_dims(setting, p) for p in parts))
        case _:
            raise Unsupported(f"the dimensions {show(tree)}")


def _avoid(setting: Setting, about: str, name: str, tree: Tree) -> None:
    """Nothing that a mask is of depends on some dimensions."""
    match saying(Depends)[about].what:
        case "index":
            setting.avoids.setdefault(name, set()).update(_dims(setting, tree))
        case "value":  # a shape varies only with what the value varies with
            dims = _dims(setting, tree)
            setting.avoids.setdefault(name, set()).update(dims)
            _steady(setting.shapes.get(name, []), dims)
        case "shape":
            _steady(setting.shapes.get(name, []), _dims(setting, tree))
        case "size":
            _steady([setting.sizes.setdefault(name, Size(name))], _dims(setting, tree))
        case "sizes":
            _steady(setting.lists.get(name, []), _dims(setting, tree))
        case "nothing":
            pass


def _steady(sizes: list[Size], dims: set[str]) -> None:
    for size in sizes:
        size.avoids |= dims


def assume_fact(setting: Setting, meaning: Meaning, fact: Tree, about: Row | None) -> None:
    """Conclude what a fact says of ranks and sizes, or check it where the left side is read.

    ``about`` is the row that it asks for.
    Errors: Impossible; Misfit; Unsupported.
    """
    if about is None or about.relation.makes("measured"):
        _assume_sizes(setting, meaning, fact)
        return
    for claim in about.relation.says:
        match claim:
            case Defined(column, _):
                body = meaning.of(setting.bodies[about[column]])
                _unify(setting, list(body.shape), setting.shapes[about[column]])
            case Said("begins") if (span := setting.spans.get(about["s"])) is not None:
                if span.start != poly(0):
                    raise Impossible(show(fact))
            case _:
                pass


def _assume_sizes(setting: Setting, meaning: Meaning, fact: Tree) -> None:
    match fact:
        case ("equal", *_):
            pass
        case ("!=", _, _) if not _numeric(setting, fact):
            pass
        case ("=", 0, _) if is_about_dims(fact):
            pass
        case ("=", _, (str(op), *_)) if op in SIGNATURE:
            assert isinstance(fact, tuple)
            meaning.of(fact[2])
        case ("axis", x, k, size):
            shape, axis = meaning.of(x).shape, meaning.number(k)
            if not 1 <= axis <= len(shape):
                raise Impossible(f"axis {axis} of {len(shape)}")
            setting.unify(shape[-axis], meaning.one_size(size))
        case ("=", ("shape", x), shape) | ("=", shape, ("shape", x)):
            _assume_shape(setting, list(meaning.of(x).shape), shape, meaning)
        case ("=", str(name), ("size", _)):
            assert isinstance(fact, tuple)
            setting.unify(meaning.one_size(name), meaning.one_size(fact[2]))
        case ("ones", rank, str(name)):
            setting.lists[name] = [one() for _ in range(meaning.number(rank))]
        case (("<" | "<=" | ">" | ">=") as op, a, b):
            if not _ORDER[op](meaning.number(a), meaning.number(b)):
                raise Impossible(show(fact))
        case ("=", str(name), ("nil",)):
            _unify(setting, setting.lists.setdefault(name, []), [])
        case ("=", a, b):
            if meaning.number(a) != meaning.number(b):
                raise Impossible(show(fact))
        case ("!=", a, b):
            if meaning.number(a) == meaning.number(b):
                raise Impossible(show(fact))
        case _:
            raise Unsupported(f"the fact {show(fact)}")


def _numeric(setting: Setting, fact: Tree) -> bool:
    """Whether an inequality is about numbers and not about dimensions or functions."""
    if is_about_dims(fact) or not isinstance(fact, tuple):
        return False
    return not any(isinstance(p, str) and p not in setting.numbers for p in fact[1:])


def _unify(setting: Setting, a: list[Size], b: list[Size]) -> None:
    if len(a) != len(b):
        raise Impossible(f"{len(a)} axes and {len(b)}")
    for x, y in zip(a, b, strict=True):
        setting.unify(x, y)


def _assume_shape(setting: Setting, sizes: list[Size], shape: Tree, meaning: Meaning) -> None:
    """Equal shapes; a name without a shape takes it."""
    if isinstance(shape, str) and shape not in setting.lists:
        setting.lists[shape] = sizes
    else:
        _unify(setting, sizes, meaning.sizes(shape))
