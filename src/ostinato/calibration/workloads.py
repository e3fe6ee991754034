"""The programs that calibration times: each repeats one kind of work once per step of a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import ostinato as ot
from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.compiler.compiled import Compiled
from ostinato.language.tensor import Tensor
from ostinato.machine.profile import Profile
from ostinato.pdg.functions import Array

Change = Callable[[Tensor], Tensor]
VECTOR = 2048  # float32 elements that stay in the smallest level
FEW = 16  # elements: one vector
HISTORY = 256  # steps of a history that stays in the smallest level
SCALARS = 4  # recurrences, side by side
ROWS = CPU.alone_elements  # of a batch that two workers share: more than one of them would do alone
BARRIERS = 2  # per step of `shared`: after the mean, and after the step

FUNCTIONS: Mapping[str, Change] = {
    "div": lambda h: 1.0 / h,
    "sqrt": ot.sqrt,
    "exp": lambda h: ot.exp(h - 1.0),
    "exp2": lambda h: ot.exp2(h - 1.0),
    "log": lambda h: ot.log(h) + 1.2,
    "log2": lambda h: ot.log2(h) + 1.2,
    "log1p": ot.log1p,
    "expm1": ot.expm1,
    "tanh": ot.tanh,
    "sigmoid": ot.sigmoid,
    "sin": ot.sin,
    "cos": ot.cos,
    "tan": lambda h: ot.tan(0.5 * h),
    "pow": lambda h: h**h,
    "erf": ot.erf,
    "lgamma": lambda h: ot.lgamma(h + 1.0),
    "arcsinh": ot.arcsinh,
    "arctan2": lambda h: ot.arctan2(h, 1.5 - h),
    "mod": lambda h: (h * 3.0) % 1.0,
}

WAITING: Mapping[str, Change] = {
    "maximum": lambda h: ot.maximum(h, 0.1),
    "where": lambda h: ot.where(h > 0.5, h, 0.6),
    "div": lambda h: 1.0 / (h + 1.0),
    "sqrt": ot.sqrt,
    "exp": lambda h: ot.exp(h - 1.0),
    "tanh": ot.tanh,
}


@dataclass(frozen=True)
class Repetition:
    """A compiled program whose extent ``I`` says how often the work is done."""

    run: Compiled
    arguments: Mapping[str, object]

    def __call__(self, steps: int) -> None:
        self.run(**self.arguments, I=steps)


def repetition(program: ot.Program, threads: int = 1, **arguments: object) -> Repetition:
    """The program compiled as on every machine: not priced by what was measured before."""
    return Repetition(program.compile(threads=threads, profile=Profile()), arguments)


def repeated(change: Change, start: Array) -> Repetition:
    """``h = change(h)`` at every step."""
    i = ot.dims("i")
    dtype = start.dtype.name
    x = ot.input("x", shape=start.shape, dtype=dtype)
    h = ot.recurrent("h", shape=start.shape, dtype=dtype, over=i)
    h[0] = x
    h[i + 1] = change(h)
    return repetition(ot.Program(y=h[i.size - 1]), x=start)


def numbers(size: int = VECTOR, dtype: str = "float32") -> Array:
    """Values between 0.6 and 0.9."""
    return np.linspace(0.6, 0.9, size).astype(dtype)


def multiplied(h: Tensor, times: int = 1) -> Tensor:
    """So many multiply-adds, each of which waits for the one before."""
    for _ in range(times):
        h = h * 0.5 + 0.4
    return h


def streamed(size: int) -> Repetition:
    """A multiply-add of every element of a vector before any of them has another.

    As a dimension with one tile: the axis of an array this long would run in tiles.
    """
    b, i = ot.dims("b i")
    x = ot.input("x", over=b)
    h = ot.recurrent("h", over=(b, i))
    h[b, 0], h[b, i + 1] = x, multiplied(h)
    program = ot.Program(y=h[b, i.size - 1])
    run = program.compile(threads=1, profile=Profile(), widths={"b": size})
    return Repetition(run, {"x": numbers(size)})


def turned(h: Tensor) -> Tensor:
    """A multiply-add of the transposed matrix: it is read in strides."""
    return multiplied(h.T)


def chain(times: int, dtype: str) -> Repetition:
    """So many multiply-adds of every element."""
    return repeated(lambda h: multiplied(h, times), numbers(dtype=dtype))


def applied(fn: str) -> Repetition:
    """A function, and a multiply-add that brings its values back to where they were."""
    change = FUNCTIONS[fn]
    return repeated(lambda h: multiplied(0.0 * change(h) + h), numbers())


def folded() -> Repetition:
    """The sum of a vector, one element after the other."""
    return repeated(lambda h: multiplied(h) + 1e-6 * h.sum(0), numbers())


def product(rows: int, inner: int) -> Repetition:
    """A product with a square matrix that leaves its operand as it is."""
    start = np.resize(numbers(), (rows, inner))
    i = ot.dims("i")
    x = ot.input("x", shape=start.shape)
    w = ot.input("w", shape=(inner, inner))
    h = ot.recurrent("h", shape=start.shape, over=i)
    h[0] = x
    h[i + 1] = h @ w
    program = ot.Program(y=h[i.size - 1])
    return repetition(program, x=start, w=np.eye(inner, dtype=np.float32))


def kept(count: int, start: Array) -> Repetition:
    """So many recurrences forward in time, and as many backward over what they leave behind.

    Every repetition takes `HISTORY` steps of each, and starts from where the one before ended.
    """
    i, t = ot.dims("i t")
    x = ot.input("x", shape=np.shape(start))
    made: dict[str, Tensor] = {}
    for k in range(count):
        forward = ot.recurrent(f"forward{k}", shape=np.shape(start), over=(i, t))
        start_of = ot.recurrent(f"start{k}", shape=np.shape(start), over=i)
        forward[i, 0] = start_of
        forward[i, t + 1] = ot.maximum(0.5 * forward + (0.4 + 0.01 * k), 0.1)
        backward = ot.recurrent(f"backward{k}", shape=np.shape(start), over=(i, t))
        backward[i, t.size - 1] = forward[i, t.size - 1]
        backward[i, t] = ot.maximum(0.5 * backward[i, t + 1] + forward, 0.1)
        start_of[0], start_of[i + 1] = x, backward[i, 0]
        made[f"y{k}"] = start_of[i.size - 1]
    return repetition(ot.Program(**made), T=HISTORY, x=start)


def waiting(*changes: Change) -> Repetition:
    """Chains of single numbers, side by side: every step of one needs its step before.

    Every repetition takes `HISTORY` steps of each, and starts from where the one before ended.
    """
    i, t = ot.dims("i t")
    x = ot.input("x", shape=())
    made: dict[str, Tensor] = {}
    for k, change in enumerate(changes):
        h = ot.recurrent(f"h{k}", shape=(), over=(i, t))
        start_of = ot.recurrent(f"start{k}", shape=(), over=i)
        h[i, 0], h[i, t + 1] = start_of, change(h)
        start_of[0], start_of[i + 1] = x, multiplied(h[i, t.size - 1])
        made[f"y{k}"] = start_of[i.size - 1]
    return repetition(ot.Program(**made), T=HISTORY, x=numbers(1)[0])


def after_product(change: Change) -> Change:
    """The change of a multiply-add, which brings values back to where they were."""
    return lambda h: change(multiplied(h))


def quotient(k: int) -> Change:
    """A division, unlike those with another number."""
    return lambda h: 1.0 / (h + (0.5 + 0.1 * k))


def drawn(draw: Callable[..., Tensor], change: Change) -> Repetition:
    """Fresh draws at every step, added up after a change."""
    i = ot.dims("i")
    h = ot.recurrent("h", shape=(VECTOR,), over=i)
    h[0] = ot.zeros((VECTOR,))
    h[i + 1] = 0.5 * h + change(draw((VECTOR,), over=i))
    return repetition(ot.Program(y=h[i.size - 1]))


def shared(threads: int, rows: int = ROWS) -> Repetition:
    """A batch that all workers step; the mean of all rows makes them wait for each other.

    Two workers have ``rows``, more of them as many more.
    """
    b, i = ot.dims("b i")
    x = ot.input("x", over=b)
    h = ot.recurrent("h", over=(b, i))
    h[b, 0] = x
    h[b, i + 1] = 0.5 * h + 0.25 * h[:, i].mean(0)
    given = numbers(rows * max(1, threads // 2))
    return repetition(ot.Program(y=h[b, i.size - 1]), threads, x=given)


def empty() -> Repetition:
    """Nothing but a call."""
    return repeated(multiplied, numbers(FEW))


def level_sizes(level_bytes: Sequence[int], most_bytes: int) -> list[int]:
    """Float32 elements of a vector that, twice, fits into each level, and into none."""
    first, second, third = level_bytes
    totals = (first // 2, max(second // 3, 2 * first), max(third // 4, 2 * second), 4 * third)
    return [min(total, most_bytes) // 8 for total in totals]
