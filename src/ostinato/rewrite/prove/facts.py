"""What the facts of a rule let a proof assume."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from fractions import Fraction

from ostinato.pdg.functions import REPEATED
from ostinato.rewrite.engine.language import SIGNATURE
from ostinato.rewrite.load.orders import PAIR, Order, around
from ostinato.rewrite.prove.integers import Var, poly
from ostinato.rewrite.prove.reading import (
    MOST_MASKED_AXES,
    Law,
    defined_numbers,
    is_about_dims,
)
from ostinato.rewrite.prove.setting import WIDTH, Impossible, Setting, Size, Unsupported, one
from ostinato.rewrite.prove.sexpr import Tree, show
from ostinato.rewrite.prove.spans import RELATIONS, cases
from ostinato.rewrite.prove.term_meaning import Meaning

_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
ORDERS: dict[str, Callable[[Order], bool]] = {
    "around": lambda left: left not in ((), PAIR),
    "around_pair": lambda left: left == PAIR,
    "around_alone": lambda left: not left,
}
_BOOKKEEPING = (
    frozenset(
        ("want", "live", "within", "inside", "innermost", "define", "batch", "growing", "prefix")
        + ("suffix", "counts", "real_cast", "unit", "holds_low", "holds_high")
        + ("both", "box", "indicator", "known", "start", "exactly", "rounded", "empty")
        + ("pins", "neighbour", "body", "only", "clear", "gone", "some")
        + ("zero", "equal", "closed", "here", "factor", "shortened", "but_last", "rest", "begins")
        + ("halves", "bounded", "filled", "arithmetic", "some")
    )
    | RELATIONS
    | ORDERS.keys()
    | {"from_zero", "follows", "starts", "tiled", "tile", "piece", "final"}
)
_NAMING = ("value", "dtype", "inner", "full", "self", "shifted", "length", "innermost")
# What loading finds out about the points of the box, and says nothing of at others.
_KNOWN_INSIDE = RELATIONS | {"tiled", "body", "holds_low", "holds_high", "filled"}


def known_inside(found: Law) -> str:
    """A fact of a law that says nothing of points outside the box, or ""."""
    heads = (str(fact[0]) for fact in found.facts if isinstance(fact, tuple))
    return next((head for head in heads if head in _KNOWN_INSIDE), "")


def situations(found: Law, setting: Setting) -> Iterator[Setting]:
    """The cases of a law about ranges that follow the point, or about a definition; else one."""
    heads = {f[0]: f for f in found.facts if isinstance(f, tuple)}
    if "tiled" in heads:
        yield _in_tiles(heads, setting)
        return
    if "tile" in heads:
        whole = str(heads["tile"][1])
        setting.known[whole] = ("total", whole)
        setting.totals[whole] = poly(Var(whole, None, True, int(setting.inside)))
    about = next((heads[name] for name in heads if name in RELATIONS), None)
    if about is not None:
        yield from cases(about, setting)
    elif (order := next((heads[name] for name in heads if name in ORDERS), None)) is not None:
        yield from _orders(order, setting)
    elif "body" in heads:
        yield from _first_and_later(found, setting)
    else:
        yield setting


def _in_tiles(heads: Mapping[Tree, tuple[Tree, ...]], setting: Setting) -> Setting:
    """Tiles that make up a size of at least 1; some positions may lie behind it."""
    _, whole, tile, dim = map(str, heads["tiled"])
    case, place = deepcopy(setting), setting.dims[dim]
    count = poly(Var("tiles", None, True))
    case.extents[place] = count
    case.totals[whole] = count * WIDTH - Var("unused", count * WIDTH)
    case.known |= {whole: ("total", whole), tile: ("tile", place, whole)}
    if "before" in heads:
        _, _, index, later = map(str, heads["before"])
        case.known |= {index: ("step before", place), later: ("later", place)}
    return case


def about_orders(found: Law) -> bool:
    """Whether a law names a permutation of which it knows where an axis goes."""
    return any(isinstance(fact, tuple) and fact[0] in ORDERS for fact in found.facts)


def _orders(fact: tuple[Tree, ...], setting: Setting) -> Iterator[Setting]:
    """Every order of a few axes in which the one that a law names goes where it says."""
    _, order, p, to, *rest = map(str, fact)
    for axes in range(1, MOST_MASKED_AXES + 1):
        for found in itertools.permutations(range(-axes, 0)):
            if setting.numbers[p] > axes:
                continue
            place, left = around(found, setting.numbers[p])
            if place == setting.numbers[to] and ORDERS[str(fact[0])](left):
                case = deepcopy(setting)
                case.orders = {order: found, **dict.fromkeys(rest, left)}
                yield case


def _first_and_later(found: Law, setting: Setting) -> Iterator[Setting]:
    """The first step of a recurrence, and one that comes later."""
    about = next((f for f in found.facts if isinstance(f, tuple) and f[0] == "neighbour"), None)
    if about is None:
        raise Unsupported("a first step without a direction")
    _, _, name, _, flag = about
    dim, reverse = setting.dims[str(name)], bool(setting.numbers[str(flag)])
    before, after = (poly(Var(name, None, True)) for name in ("before", "after"))
    cases = (
        ((before - 1, before), (before - 1, before + after))
        if reverse
        else ((poly(0), after), (before, before + after))
    )
    for is_first, (place, extent) in zip((True, False), cases, strict=True):
        case = deepcopy(setting)
        case.places[dim], case.extents[dim], case.is_first = place, extent, is_first
        yield case


def assume(found: Law, setting: Setting, meaning: Meaning) -> None:
    """Conclude everything from the facts and from the left side having a meaning.

    Errors: Impossible if they contradict the setting; Unsupported for an unknown fact.
    """
    for fact in found.facts:
        _assume_names(setting, fact)
    _shape_recurrences(found, setting)
    for name, value in defined_numbers(found):
        setting.numbers[name] = meaning.number(value)
    for fact in found.facts if "(cat " in show(found.left) else ():
        match fact:
            case ("axis", str(name), _, ("size", 1)) if name in setting.shapes:
                assume_fact(setting, meaning, fact)
            case _:
                pass
    meaning.of(found.left)
    for fact in found.facts:
        assume_fact(setting, meaning, fact)
    setting.settle()


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
    for batched, dim in setting.batch.values():
        _steady(setting.shapes[batched], {dim})


def _assume_names(setting: Setting, fact: Tree) -> None:
    """Facts about dimensions and index expressions, which need no shapes."""
    match fact:
        case ("=", str(name), (("full" | "self") as what, dim)):
            setting.known[name] = (what, setting.dims[str(dim)])
        case ("=", str(name), ("shifted", dim, slice_, by)):
            setting.known[str(by)] = ("moved", setting.dims[str(dim)])
            setting.known[name] = ("shifted", str(slice_), str(by))
        case ("=", str(name), ("length", slice_)):
            setting.known[name] = ("length", str(slice_))
        case ("=", 0, ("&", _, ("gap", _))):
            pass
        case ("=", 0, ("&", dims, (about, name))) if is_about_dims(fact):
            avoided = _dims(setting, dims)
            _avoid(setting, str(about), str(name), avoided)
        case ("=", '"bool"', ("dtype", str(name))):
            setting.truths.add(name)
        case ("=", value, ("value", str(name))):
            setting.values[name] = Fraction(str(value))
        case (("prefix" | "suffix" | "shortened" | "but_last" | "rest") as what, dim, slice_):
            setting.known[str(slice_)] = (what, setting.dims[str(dim)])
        case (("exactly" | "rounded"), fold, joins):
            setting.texts[str(joins)] = REPEATED[setting.texts[str(fold)]]
        case ("empty", fold, _, name):
            setting.units[str(name)] = setting.texts[str(fold).strip('"')]
            setting.shapes[str(name)] = []
        case (("holds_low" | "holds_high") as what, cond, dim, whole, low, high):
            place = setting.dims[str(dim)]
            setting.known[str(cond)] = ("below" if what == "holds_low" else "above", place)
            for slice_, part in ((whole, "whole"), (low, "low"), (high, "high")):
                setting.known[str(slice_)] = ("cut", part)
                setting.avoids[str(slice_)] = setting.avoids.get(str(whole), set())
        case ("both", cond, first, second):
            setting.known[str(cond)] = ("both", str(first), str(second))
        case ("known", _, _, dim, str(slice_)) | ("start", dim, str(slice_)):
            setting.known[slice_] = ("start", setting.dims[str(dim)])
            setting.avoids[slice_] = set(setting.every_dim())
        case ("indicator", cond, str(name)):
            setting.indicators[name] = str(cond)
        case ("counts", leaf, ("length", slice_)):
            setting.counts[str(leaf)] = str(slice_)
        case ("real_cast", fn):
            setting.texts[str(fn)] = "cast:real"
        case ("unit", _, name):
            setting.values[str(name)] = Fraction(1)
            setting.shapes[str(name)] = []
        case ("batch", old, dim, new):
            setting.batch[str(new)] = (str(old), setting.dims[str(dim)])
        case _:
            _assume_steps(setting, fact)


def _assume_steps(setting: Setting, fact: Tree) -> None:
    """Facts about conditions at points, and about recurrences and the step before."""
    match fact:
        case ("final", dim, index):
            setting.known[str(index)] = ("last", setting.dims[str(dim)])
        case ("piece", whole, tile, piece):
            setting.known[str(piece)] = ("piece", str(whole), str(tile))
        case ("zero", _, name):
            setting.values[str(name)] = Fraction(0)
            setting.shapes[str(name)] = []
        case ("gone", _, name):
            setting.values[str(name)] = Fraction(0)
        case ("ones", int(count), str(name)):
            setting.lists[name] = [one() for _ in range(count)]
        case ("from_zero", dim, str(slice_)):
            setting.known[slice_] = ("start", setting.dims[str(dim)])
        case ("here", leaf, dim):
            setting.heres[str(leaf)] = setting.dims[str(dim)]
        case ("starts", dim, str(slice_), leaf):
            setting.starts[str(leaf)] = slice_
            setting.known[slice_] = ("starts", setting.dims[str(dim)])
        case ("pins", cond, dim, index):
            setting.known[str(cond)] = ("pins", setting.dims[str(dim)], str(index))
            setting.avoids.setdefault(str(index), set()).add(setting.dims[str(dim)])
        case ("neighbour", _, dim, index, flag) if str(flag) in setting.numbers:
            where = "next step" if setting.numbers[str(flag)] else "step before"
            setting.known[str(index)] = (where, setting.dims[str(dim)])
        case ("only", cond, dim, _):
            setting.known[str(cond)] = ("only", setting.dims[str(dim)])
        case ("halves", str(first), str(last), _, low, high):
            setting.known[str(low)] = ("first part", first)
            setting.known[str(high)] = ("last part", first, last)
        case ("body", name, cond, start, right):
            setting.bodies[str(name)] = ("case", cond, start, right)
        case _:
            _assume_values(setting, fact)


def _assume_values(setting: Setting, fact: Tree) -> None:
    """Facts about what is finite, and about what has elements."""
    match fact:
        case ("bounded", str(name)):
            setting.bounded.add(name)
        case ("filled", ("size", ("length", part))):
            setting.filled.add(f"|{part}|")
        case ("filled", str(size)) | ("filled", ("size", str(size))):
            setting.filled.add(size)
        case _:
            pass


def _dims(setting: Setting, tree: Tree) -> set[str]:
    match tree:
        case str():
            return {setting.dims[tree]}
        case ("|", *parts):
            return set[str]().union(*(_dims(setting, p) for p in parts))
        case _:
            raise Unsupported(f"the dimensions {show(tree)}")


def _avoid(setting: Setting, about: str, name: str, dims: set[str]) -> None:
    match about:
        case "dom" | "mask":
            setting.avoids.setdefault(name, set()).update(dims)
            if about == "dom":  # a shape varies only with what the value varies with
                _steady(setting.shapes.get(name, []), dims)
        case "sdom":
            _steady(setting.shapes.get(name, []), dims)
        case "zmask":
            _steady([setting.sizes.setdefault(name, Size(name))], dims)
        case "hmask":
            _steady(setting.lists.get(name, []), dims)
        case _:
            raise Unsupported(f"({about} {name})")


def _steady(sizes: list[Size], dims: set[str]) -> None:
    for size in sizes:
        size.avoids |= dims


def assume_fact(setting: Setting, meaning: Meaning, fact: Tree) -> None:
    """Conclude what a fact says of ranks and sizes, or check it where the left side is read.

    Errors: Impossible; Misfit; Unsupported.
    """
    match fact:
        case ("body", str(name), *_):
            body = meaning.of(setting.bodies[name])
            _unify(setting, list(body.shape), setting.shapes[name])
        case ("begins", _, str(name)) if name in setting.spans:
            if setting.spans[name].start != poly(0):
                raise Impossible(show(fact))
        case (str(head), *_) if head in _BOOKKEEPING:
            pass
        case ("=", _, (str(what), *_)) if what in _NAMING:
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
        case (str(head), x, *named) if head.startswith("axes"):
            _unify(setting, list(meaning.of(x).shape), [meaning.one_size(z) for z in named])
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
