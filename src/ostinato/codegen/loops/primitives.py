"""What primitives mean, element by element with NumPy, for the interpreter of the loop IR."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial, reduce
from typing import Any

import numpy as np

from ostinato.codegen.loops.expression import SUFFIX
from ostinato.codegen.loops.matmul_spec import Matmul
from ostinato.codegen.loops.memory import POISON, Memory, Poison, Trap
from ostinato.pdg import philox
from ostinato.pdg.axis_functions import along_axis
from ostinato.pdg.functions import FUNCTIONS
from ostinato.pdg.meaning import convert
from ostinato.pdg.node import Dtype

TYPES: dict[str, str] = {suffix: dtype for dtype, suffix in SUFFIX.items()}
_FUNCTION = re.compile(r"(\w+?)_(f32|f64|i32|i64|u32)")
_CAST = re.compile(r"cast_(i32|i64|u32)_(?:f32|f64)")
_HALF = re.compile(r"(float16|bfloat16)_(bits_f32|value_u16)")
_BOUND = re.compile(r"(min|max)(?:imum_(?:i32|i64|u32))?")
_DRAW = re.compile(r"(uniform|normal|normal_apart)_(f32|f64)")

Meaning = Callable[..., Any]
Load = Callable[[Memory, int], Any]
Store = Callable[[Memory, int, object], None]


def scalar(name: str) -> Meaning | None:
    """The meaning of a function of numbers, None if there is none of this name.

    What is computed with a value that was never written, is none either; a choice needs one side.
    """
    if name == "where":
        return _choose
    meaning = _scalar(name)
    if meaning is not None and (found := _BOUND.fullmatch(name)):
        limited = partial(_bounded, f"{found[1]}imum", meaning)
        return lambda *args: reduce(limited, args)
    return None if meaning is None else partial(_unless_poisoned, meaning)


def _bounded(kind: str, meaning: Meaning, x: Any, y: Any) -> Any:
    """The least or the greatest of two integers, of which one may have been written."""
    if isinstance(x, Poison) == isinstance(y, Poison):
        return _unless_poisoned(meaning, x, y)
    return x.bounded(kind, int(y)) if isinstance(x, Poison) else y.bounded(kind, int(x))


def _choose(test: Any, x: Any, y: Any) -> Any:
    if isinstance(test, Poison):
        return POISON
    return x if test else y


def _unless_poisoned(meaning: Meaning, *args: Any) -> Any:
    return POISON if any(isinstance(x, Poison) for x in args) else meaning(*args)


def _scalar(name: str) -> Meaning | None:
    if name in TYPES:
        return partial(_cast, TYPES[name])
    if found := _CAST.fullmatch(name):
        to = _dtype(found[1])
        return partial(_converted, to)
    if found := _HALF.fullmatch(name):
        return _half(found[1], found[2])
    if found := _DRAW.fullmatch(name):
        return _draw(found[1], _dtype(found[2]))
    if name in PLAIN:
        return PLAIN[name]
    parts = _FUNCTION.fullmatch(name)
    return None if parts is None else _elementwise(parts[1], TYPES[parts[2]])


def _dtype(suffix: str) -> Any:
    return TYPES[suffix]


def _elementwise(fn: str, dtype: str) -> Meaning | None:
    numpy = np.logaddexp if fn == "logaddexp" else None
    if numpy is None and fn not in FUNCTIONS:
        return None
    function: Meaning = numpy or FUNCTIONS[fn].numpy

    def apply(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(function(*(np.asarray(x, dtype) for x in args)))[()]

    return apply


def _half(kind: str, way: str) -> Meaning:
    dtype = np.dtype(kind)

    def bits(x: Any) -> Any:
        return np.asarray(x, "float32").astype(dtype).view("uint16")[()]

    def value(x: Any) -> Any:
        return np.asarray(x, "uint16").view(dtype).astype("float32")[()]

    return bits if way == "bits_f32" else value


def _cast(dtype: str, x: Any) -> Any:
    return np.asarray(x).astype(dtype)[()]


def _converted(dtype: Any, x: Any) -> Any:
    return convert(np.asarray(x), dtype)[()]


def _seed_key(seed: Any) -> int:
    return philox.seed_key(int(seed))


def _nothing(*_: Any) -> None:
    pass


def _words(words: Sequence[Any]) -> tuple[Any, Any]:
    found = [int(x) for x in words]
    found[3] ^= found[4] >> 32  # the high word of the key of a seed
    whole = np.array([x & 0xFFFFFFFF for x in found], np.uint32)
    return whole[:4], whole[4:]


def _draw(kind: str, dtype: Any) -> Meaning:
    draw = philox.uniform if kind == "uniform" else philox.normal
    return lambda *words: draw(*_words(words), dtype)[()]


def _bits(place: int) -> Meaning:
    return lambda *words: philox.philox4x32(*_words(words))[place]


PLAIN: dict[str, Meaning] = {
    "min": min,
    "max": max,
    "prefetch": _nothing,
    "seed_key": _seed_key,
    "philox_bits": _bits(0),
    **{f"philox_bits_{k}": _bits(k) for k in (1, 2, 3)},
}


# ---------------------------------------------------------------- rows in memory


def argsort(_: str, load: Load, get: Load, put: Store, *__: object) -> Meaning:
    """``argsort(view, keys, key_step, at, step, scratch, count)``."""

    def order(m: Memory, keys: int, key_step: int, at: int, step: int, _: int, count: int) -> None:
        row = np.array([load(m, keys + k * key_step) for k in range(count)])
        for k, place in enumerate(along_axis("argsort", [row], -1, count) if count else ()):
            put(m, at + k * step, place)

    return order


def top(_: str, load: Load, get: Load, put: Store) -> Meaning:
    """``top(view, keys, key_step, at, step, count, most)``."""

    def choose(
        m: Memory, keys: int, key_step: int, at: int, step: int, count: int, most: int
    ) -> None:
        row = np.array([load(m, keys + k * key_step) for k in range(count)])
        for k, place in enumerate(along_axis("top", [row], -1, most)):
            put(m, at + k * step, place)

    return choose


def shuffle(_: str, load: Load, get: Load, put: Store) -> Meaning:
    """``shuffle(view, choices, choice_step, at, step, count)``."""

    def order(m: Memory, choices: int, choice_step: int, at: int, step: int, count: int) -> None:
        for k in range(count):
            place = min(max(int(load(m, choices + k * choice_step)), 0), k)
            if place < k:
                put(m, at + k * step, get(m, at + place * step))
            put(m, at + place * step, k)

    return order


def linked_shuffle(dtype: str, load: Load, get: Load, put: Store, _: Load, keep: Store) -> Meaning:
    """``shuffle(view, choices, choice_step, at, step, scratch, count)``."""
    in_turn = shuffle(dtype, load, get, put)

    def order(
        m: Memory, choices: int, choice_step: int, at: int, step: int, scratch: int, count: int
    ) -> None:
        for k in range(2 * count):
            keep(m, scratch + k, -1)
        in_turn(m, choices, choice_step, at, step, count)

    return order


def search(fn: str) -> Callable[[str, Load], Meaning]:
    """``searchleft`` or ``searchright``, of ``(view, start, step, count, value)``."""

    def made(_: str, load: Load) -> Meaning:
        def place(m: Memory, start: int, step: int, count: int, value: Any) -> int:
            row = np.array([load(m, start + k * step) for k in range(count)])
            return int(along_axis(fn, [row, np.array([value])], -1, 1)[0]) if count else 0

        return place

    return made


# ---------------------------------------------------------------- numbers kept apart


class Partials:
    """Numbers of a fold that are kept apart: what was never written is none."""

    def __init__(self, dtype: str, count: int) -> None:
        self.dtype, self.values = dtype, [POISON] * count

    def read(self, lane: int) -> Any:
        return self.values[self._place(lane)]

    def write(self, lane: int, value: Any) -> None:
        poisoned = isinstance(value, Poison)
        self.values[self._place(lane)] = value if poisoned else _cast(self.dtype, value)

    def _place(self, lane: int) -> int:
        if not 0 <= lane < len(self.values):
            raise Trap(f"uses lane {lane} of {len(self.values)}")
        return int(lane)


def halves(dtype: str, count: int, fn: str) -> Meaning:
    """The fold of numbers that are kept apart: the second half into the first, to the end."""
    join = scalar(f"{fn}_{SUFFIX[dtype]}")
    assert join is not None, f"no meaning of {fn}"

    def fold(memory: Partials) -> Any:
        found = [memory.read(k) for k in range(count)]
        while len(found) > 1:
            half = len(found) // 2
            pairs = zip(found[:half], found[half:], strict=True)
            found = [join(one, other) for one, other in pairs]
        return found[0]

    return fold


# ---------------------------------------------------------------- products


def _row(values: Sequence[Any], dtype: Dtype) -> Any:
    """Numbers as an array, if all of them were written."""
    return POISON if any(isinstance(x, Poison) for x in values) else np.array(values, dtype)


def _dot(left: Any, right: Any) -> Any:
    """The sum of products, one after the other."""
    if isinstance(left, Poison) or isinstance(right, Poison):
        return POISON
    with np.errstate(all="ignore"):
        return np.add.accumulate(np.append(np.zeros(1, left.dtype), left * right))[-1]


class Multiplier:
    """A product at one place: ``offsets`` of its operands, and ``sizes`` known at run time."""

    def __init__(
        self, spec: Matmul, memory: Memory, among: Sequence[str], lists: dict[int, Any]
    ) -> None:
        """Know the tensors ``among`` which it reads and writes, and lists of living rows."""
        self.spec, self.memory, self.among, self.lists = spec, memory, among, lists

    def __call__(self, _: Memory, offsets: Sequence[int], sizes: Sequence[int]) -> None:
        known = dict(zip(self.spec.runtime, map(int, sizes), strict=True))
        self.size: Callable[[int | str], int] = lambda x: known[x] if isinstance(x, str) else x
        spec, size = self.spec, self.size
        a, b, *rest = map(int, offsets)
        self.places = dict(zip((x.name for x in spec.operands), rest, strict=False))
        listed: Sequence[int] = self.lists[rest[-1]] if spec.living else ()
        rows = size(spec.rows) if spec.rows else size(spec.m)
        terms = range(size(spec.k)) if spec.living != "k" else listed
        turns = [(0, 0)]
        for count, one, other in spec.around:
            steps = [(i * size(one), i * size(other)) for i in range(count)]
            turns = [(x + dx, y + dy) for x, y in turns for dx, dy in steps]

        @cache
        def column(n: int) -> Any:
            at = b + n * size(spec.b[1])
            places = [at + turn + k * size(spec.b[0]) for _, turn in turns for k in terms]
            return _row([self.read(place) for place in places], spec.dtype)

        for m in range(min(rows, size(spec.m))):
            if spec.living == "m" and m not in listed:
                continue
            at = a + m * size(spec.a[0])
            places = [at + turn + k * size(spec.a[1]) for turn, _ in turns for k in terms]
            left = _row([self.read(place) for place in places], spec.dtype)
            for n in range(size(spec.n)):
                self.finish(m, n, _dot(left, column(n)))

    def finish(self, m: int, n: int, total: Any) -> None:
        """The steps of one element; an operand has the value that it had on entry."""
        spec, before = self.spec, dict[str, Any]()
        places = {
            x.name: self.places[x.name] + m * self.size(x.m) + n * self.size(x.n)
            for x in spec.operands
        }
        is_begun = not spec.begun or self.size(spec.begun) != 0
        if spec.start is not None and is_begun:
            start = self.read(places[spec.start])
            total = _dot(_row([total, start], spec.dtype), np.ones(2, spec.dtype))
        acc = POISON if isinstance(total, Poison) else np.dtype(spec.dtype).type(total)
        values: dict[str, Any] = {"acc": acc}

        def value(of: Any) -> Any:
            match of:
                case ("name", str(name)) if name in values:
                    return values[name]
                case ("name", str(name)):
                    if name not in before:
                        before[name] = self.read(places[name])
                    return before[name]
                case ("const", x):
                    return np.dtype(spec.dtype).type(float(x))
                case (fn, *args):
                    meaning = scalar(f"{fn}_{SUFFIX[spec.dtype]}")
                    assert meaning is not None, f"no meaning of {fn}"
                    return meaning(*map(value, args))
                case _:
                    raise AssertionError(f"no step {of}")

        for step in spec.steps:
            values[step.name] = value(step.expr)
            if step.store is not None:
                self.write(places[step.store], values[step.name])

    def _tensor(self, offset: int) -> str:
        return self.memory.at(offset * np.dtype(self.spec.dtype).itemsize, self.among)

    def read(self, offset: int) -> Any:
        return self.memory.read(self._tensor(offset), offset, self.spec.dtype)

    def write(self, offset: int, value: object) -> None:
        self.memory.write(self._tensor(offset), offset, self.spec.dtype, value)
