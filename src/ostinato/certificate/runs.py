"""Runs of the interpreter and of machine code: source against extracted program.

A certificate has no say in them: seeds, extents and inputs are chosen here. Extents are small ones,
then for each extent one that is prime and beyond a tile and two vectors, then all together as far
as `LONG` and `WIDE` evaluations of a node go. Inputs hold small numbers, or also NaN, infinities,
both zeros and the smallest numbers. Functions that a program calls are not in a certificate; in
both programs a stand-in that depends on all operands takes their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from ostinato.compiler.arguments import Signature, declared_shape, signature
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.functions import HALVES, Array
from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.index import Dim, Extent, evaluate, product
from ostinato.pdg.interpret import Interpreter, Noise, as_it_is
from ostinato.pdg.node import MOVES, UNSEEN, Case, Concat, Const, Host, Input, Map, Node, Pdg, Rec
from ostinato.pdg.upper_bound import upper_bound
from ostinato.runtime.run.execution import Bound

SPREAD = 3  # small extents are drawn from so many values
PRIMES = (67, 37, 17, 11, 7, 5)  # tiles have 32 rows, vectors 16 numbers or fewer
LONG = 100_000  # evaluations of a node at a point, with one extent beyond a tile
WIDE = 20_000  # the same, with all extents beyond the small ones
ELEMENTS = 256  # so many elements take as long as a point does by itself
MOST_LONG = 4  # extents that take their turn at being long
SEEDS = (0, 1)
SMALL = 2 * len(SEEDS)  # trials at small extents, which come first
SPECIAL = 0.15  # of the elements of an input
EXACT = 1e-6  # in float64, so far the orders of sums may lead results apart
ROUNDED = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-6}
BITS = "uint16"  # what programs on bits of halves take
INTEGERS = ("int32", "int64", "uint32", "uint16")
ROUNDINGS = 8  # runs that say how far rounding moves a result
STILL = (*MOVES, Case, Concat, Const, Input, Rec)  # what rounds nothing
_ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads bits
_TRIES = 64

Values = dict[str, Array]
Env = Mapping[Dim | Extent, int]


class Different(Exception):
    """Two programs give different results; the text names the output and the point."""


@dataclass(frozen=True)
class Trial:
    """The arguments of a run, and what the source gives with them."""

    source: Pdg
    bound: Bound
    expected: Values
    is_special: bool = False


def trials(source: Pdg) -> Iterator[Trial]:
    """Every run of a program: the same ones whatever a certificate says.

    Errors: Different if no small extents fit the sizes of the program, or if it fails.
    """
    for k, (extents, is_special) in enumerate(_sizes(source)):
        bound = _arguments(source, extents, k, is_special)
        try:
            yield Trial(source, bound, interpreted(source, bound), is_special)
        except OstinatoError as problem:
            if not is_special:
                at = _at(bound.extents)
                raise Different(f"a run at {at} fails: {problem.fact}") from problem
            plain = _arguments(source, extents, k, True, integers=False)
            yield Trial(source, plain, interpreted(source, plain), True)


def _sizes(source: Pdg) -> Iterator[tuple[Mapping[str, int], bool]]:
    """The extents of the runs, and whether inputs hold special values."""
    takes = signature(source)
    small = [_extents(takes, np.random.default_rng(seed)) for seed in SEEDS]
    yield from ((extents, is_special) for is_special in (False, True) for extents in small)
    if not takes.extents:
        return
    for k, name in enumerate(takes.extents[:MOST_LONG]):
        long = _longest(source, takes, {**small[k % 2], name: 0}, LONG)
        yield from ((long, False), (long, True))
    if len(takes.extents) > 1:
        wide = _longest(source, takes, dict.fromkeys(takes.extents, 0), WIDE)
        yield from ((wide, False), (wide, True))


def _longest(
    source: Pdg, takes: Signature, fixed: Mapping[str, int], budget: int
) -> Mapping[str, int]:
    """The given extents; those that are 0 become the largest primes that the budget allows."""
    for k in range(len(PRIMES)):
        chosen, rest = dict(fixed), list(PRIMES[k:])
        for name in fixed:
            if not fixed[name]:
                prime = rest.pop(0) if rest else PRIMES[-1]
                chosen[name] = max(prime, takes.least.get(name, 1))
        if _fits(takes, chosen) and work(source, chosen) <= budget:
            return chosen
    return _extents(takes, np.random.default_rng(len(fixed)))


def work(source: Pdg, extents: Mapping[str, int]) -> int:
    """How often a node is evaluated at these extents; many elements count as further times."""
    env: Env = {Extent(name): n for name, n in extents.items()}
    total = 0
    for node in source.nodes():
        points = int(np.prod([evaluate(d.extent, env) for d in node.domain], initial=1))
        elements = evaluate(product(map(upper_bound, node.shape)), env)
        total += points * (1 + elements // ELEMENTS)
    return total


def _fits(takes: Signature, extents: Mapping[str, int]) -> bool:
    env: Env = {Extent(name): n for name, n in extents.items()}
    return all(evaluate(size, env) >= 1 for size in takes.derived.values())


def drawn(source: Pdg, seed: int) -> Bound:
    """Small extents and inputs drawn from a seed, which is that of the draws too.

    Errors: Different if no small extents fit the sizes of the program.
    """
    extents = _extents(signature(source), np.random.default_rng(seed))
    return _arguments(source, extents, seed, False)


def _extents(takes: Signature, rng: np.random.Generator) -> dict[str, int]:
    for _ in range(_TRIES):
        found = {n: takes.least.get(n, 1) + int(rng.integers(SPREAD)) for n in takes.extents}
        if _fits(takes, found):
            return found
    raise Different(f"no small extents make {', '.join(takes.derived)} positive")


def _arguments(
    source: Pdg, extents: Mapping[str, int], seed: int, is_special: bool, integers: bool = True
) -> Bound:
    takes, rng = signature(source), np.random.default_rng(seed)
    env: Env = {Extent(name): n for name, n in extents.items()}
    inputs = {name: _array(node, env, rng) for name, node in takes.inputs.items()}
    if is_special:
        for values in inputs.values():
            if integers or values.dtype.name not in INTEGERS:
                _put_special(values, rng)
    return Bound(extents, inputs, seed)


def _array(node: Node, env: Env, rng: np.random.Generator) -> Array:
    shape = tuple(evaluate(size, env) for size in declared_shape(node))
    if node.dtype == "bool":
        return rng.random(shape) < 0.5
    if node.dtype in INTEGERS:
        return np.asarray(rng.integers(0, 4, shape)).astype(node.dtype)
    return np.asarray(rng.normal(size=shape)).astype(node.dtype)


def _put_special(values: Array, rng: np.random.Generator) -> None:
    """Put values among the elements that arithmetic treats in ways of their own."""
    kind = values.dtype.name
    if kind == "bool":
        return
    if kind in INTEGERS:
        info = np.iinfo(kind)
        special = np.array([info.min, info.max, 0], kind)
    else:
        tiny = np.array([2**-133 if kind == "bfloat16" else np.finfo(kind).smallest_subnormal])
        numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])
        special = np.concatenate([numbers, tiny.astype("float64")]).astype(kind)
    mask = rng.random(values.shape) < SPECIAL
    if mask.size:
        mask.flat[int(rng.integers(mask.size))] = True
    values[mask] = rng.choice(special, int(mask.sum()))


def interpreted(pdg: Pdg, bound: Bound, exact: bool = True, noise: Noise = as_it_is) -> Values:
    """Every output of a program, by the interpreter, with computed steps clamped to windows."""
    inputs = dict(bound.inputs)
    for node in pdg.nodes():
        if isinstance(node.op, Input) and node.dtype == BITS:
            inputs[node.op.name] = _bits(inputs[node.op.name])
    hosts = stand_ins(pdg)
    run = Interpreter(
        pdg, bound.extents, inputs, bound.seed, exact, hosts=hosts, noise=noise, clamps=True
    )
    return {name: run.everywhere(node) for name, node in pdg.outputs}


def _bits(value: Array) -> Array:
    """The bits of halves."""
    return value.view(BITS) if value.dtype.name in HALVES else value


def stand_ins(pdg: Pdg) -> dict[int, HostFunction]:
    calls = {node.op.call: node for node in pdg.nodes() if isinstance(node.op, Host)}
    return {call: cast(HostFunction, _stand_in(call, node)) for call, node in calls.items()}


def _stand_in(call: int, node: Node) -> Callable[[Sequence[Array], Mapping[Dim, int], Env], Array]:
    def run(operands: Sequence[Array], point: Mapping[Dim, int], env: Env) -> Array:
        here: dict[Dim | Extent, int] = {**env}
        here.update(point.items())
        shape = tuple(evaluate(size, here) for size in node.shape)
        own = len(operands) - (node.op.masks if isinstance(node.op, Host) else 0)
        if not all(mask.any() for mask in operands[own:]):
            return np.zeros(shape, node.dtype)
        place = call + sum(k * n for k, n in enumerate(point.values(), 1))
        if node.dtype.startswith("float"):
            sums = (np.sum(x.astype("float64")) * k for k, x in enumerate(operands, 1))
            return np.asarray(np.sin(np.full(shape, place + sum(sums))), node.dtype)
        return np.full(shape, place % 2, node.dtype)

    return run


def check_runs(found: Sequence[Trial], extracted: Pdg, exact: str) -> str:
    """Compare the extracted program with what the source gives, by the interpreter in float64.

    ``exact`` is what the rules promise that led to it, the least of them.
    Errors: Different.
    """
    for trial in found:
        at = _at(trial.bound.extents)
        try:
            values = interpreted(extracted, trial.bound)
        except OstinatoError as problem:
            raise Different(f"a run at {at} fails: {problem.fact}") from problem
        for name, expected in trial.expected.items():
            about = f"the output `{name}` at {at}"
            _compare(about, values[name], expected, _within(exact, trial, name))
    return f"equal at {'; '.join(dict.fromkeys(_at(trial.bound.extents) for trial in found))}"


def _within(exact: str, trial: Trial, name: str) -> Tolerance:
    expected = trial.expected[name]
    if exact in ("exact", "zero signs"):
        return Tolerance(0.0, zero_signs=exact == "exact")
    moved = partial(_roundings, trial, name, in_float64=True)
    if not _is_float(expected):
        return Tolerance(0.0, moved=moved)
    return Tolerance(EXACT, _free(exact, trial, expected), moved=moved)


def _free(exact: str, trial: Trial, expected: Array) -> Array:
    """Where a class promises nothing: of inputs that are not finite only.

    A product with a zero that is left out may be the only NaN; a product that is distributed may
    make one of infinities.
    """
    if trial.is_special and exact == "skips zeros":
        return np.asarray(np.isnan(expected.astype("float64")))
    if trial.is_special and exact == "distributes":
        return np.asarray(~np.isfinite(expected.astype("float64")))
    return np.zeros(expected.shape, bool)


@dataclass(frozen=True)
class Promise:
    """What is promised of machine code.

    ``exact`` is the least class of the rules, ``storage`` the type of values that are kept for
    later loops.
    """

    exact: str = "exact"
    storage: str = "float32"


def check_results(
    what: str, source: Pdg, found: Sequence[Trial], run: Callable[[Bound], Values], promise: Promise
) -> str:
    """Compare runs in the declared types with the interpreter; users wrote ``source`` like this.

    Errors: Different.
    """
    for trial in found:
        _check_result(what, source, trial, run(trial.bound), promise)
    return f"equal at {'; '.join(dict.fromkeys(_at(trial.bound.extents) for trial in found))}"


def _check_result(what: str, source: Pdg, trial: Trial, found: Values, promise: Promise) -> None:
    exact, rounded = trial.expected, interpreted(source, trial.bound, exact=False)

    for name, node in source.outputs:
        if name.startswith(UNSEEN):
            continue
        about = f"the output `{name}` of {what} at {_at(trial.bound.extents)}"
        relative = ROUNDED.get(node.dtype, 0.0)
        if relative:
            kept = (promise.storage, *_halves_of(source, node))
            relative = max(relative, *(ROUNDED[dtype] for dtype in kept))
        free = _free(promise.exact, trial, exact[name])
        within = Tolerance(relative, free, rounded[name], partial(_roundings, trial, name))
        _compare(about, found[name], exact[name], within)


def _roundings(trial: Trial, name: str, in_float64: bool = False) -> Sequence[Array]:
    """An output where whatever would be rounded is off by a rounding or less, in several ways.

    Roundings are those of the declared types, or of the interpreter's own.
    """
    numbers = {node: k for k, node in enumerate(trial.source.nodes())}

    def noise(salt: int, node: Node, value: Array) -> Array:
        if isinstance(node.op, STILL) or node.dtype not in ("float32", "float64"):
            return value
        places = np.arange(value.size, dtype="uint64").reshape(value.shape)
        bits = value.view("uint64") ^ places * _ODD
        part = (bits * _ODD + np.uint64(numbers[node] * ROUNDINGS + salt)) * _ODD >> np.uint64(40)
        off = (part / 2.0**23 - 1) * np.finfo("float64" if in_float64 else node.dtype).eps
        inexact = (value.astype("float32") != value) & np.isfinite(value)
        return np.where(inexact, value * (1 + off), value)

    ways = (partial(noise, salt) for salt in range(ROUNDINGS))
    return [interpreted(trial.source, trial.bound, noise=way)[name] for way in ways]


def _halves_of(source: Pdg, output: Node) -> set[str]:
    """The types of 16 bits to which a value is rounded that an output is made of.

    One that lies between two halves may become either.
    """
    found, left = set[Node](), [output]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            equation = source.equations.get(node.op.name) if isinstance(node.op, Rec) else None
            rights = [right for _, right in equation.cases] if equation is not None else []
            left += [*node.args, *rights]
    return {n.dtype for n in found if n.dtype in HALVES and n.op == Map("cast")}


@dataclass(frozen=True, eq=False)
class Tolerance:
    """How far a result may be from the expected one.

    ``relative`` is 0 where every number must be the same; what is ``free`` may be any. ``rounded``
    is what the interpreter gives in the declared types, which a result may be as well: where that
    is finite and the expected number is not, or the other way round, rounding decides, and nothing
    is asked; and results may be as much further away. ``moved`` gives what other roundings lead to,
    where all that is not enough.
    """

    relative: float
    free: Array | None = None
    rounded: Array | None = None
    moved: Callable[[], Sequence[Array]] = tuple
    zero_signs: bool = False


def _compare(about: str, found: Array, expected: Array, within: Tolerance) -> None:
    """Refuse other shapes and other numbers; NaN and infinities are numbers like others."""
    if found.shape != expected.shape:
        raise Different(f"{about} has shape {found.shape}, not {expected.shape}")
    wrong = _wrong(found, expected, within) if _is_float(expected) else found != expected
    if within.rounded is not None:
        wrong &= ~_same(found, within.rounded)
    for other in within.moved() if wrong.any() else ():
        wrong &= ~_leads_to(found, expected, other)
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise Different(f"{about} is {found[at]} instead of {expected[at]} at {list(at)}")


def _leads_to(found: Array, expected: Array, moved: Array) -> Array:
    """Where roundings move a result as far as what is found, or to another integer.

    If at one point they decide whether a number is finite, they may do so at others, in other runs.
    """
    if not _is_float(expected):
        return np.asarray(moved != expected)
    left, right, third = (x.astype("float64") for x in (found, expected, moved))
    with np.errstate(all="ignore"):
        far = np.isfinite(right) != np.isfinite(third)
        unlike = far.any() & (np.isfinite(left) != np.isfinite(right))
        return np.asarray(far | unlike | (np.abs(left - right) <= 16 * np.abs(third - right)))


def _same(found: Array, other: Array) -> Array:
    """Where numbers are equal, or both are NaN."""
    left, right = (x.astype("float64") if _is_float(x) else x for x in (found, other))
    return np.asarray((left == right) | ((left != left) & (right != right)))


def _wrong(found: Array, expected: Array, within: Tolerance) -> Array:
    left, right, same = found.astype("float64"), expected.astype("float64"), _same(found, expected)
    if within.zero_signs:
        same &= (np.signbit(left) == np.signbit(right)) | np.isnan(right)
    if not within.relative:
        return np.asarray(~same)
    with np.errstate(all="ignore"):
        slack, decided = np.zeros_like(right), np.ones(right.shape, bool)
        if within.rounded is not None:
            third = within.rounded.astype("float64")
            slack = np.nan_to_num(16 * np.abs(right - third), nan=0.0, posinf=0.0)
            decided = np.isfinite(third) == np.isfinite(right)
        near = np.abs(left - right) <= within.relative * (1 + np.abs(right)) + slack
        near &= np.isfinite(left) & np.isfinite(right)
    free = False if within.free is None else within.free
    return np.asarray(decided & ~(near | same | free))


def _is_float(values: Array) -> bool:
    return values.dtype.kind == "f" or values.dtype.name in HALVES


def _at(extents: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in extents.items()) or "any size"
