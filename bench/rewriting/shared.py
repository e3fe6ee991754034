"""Products that share an operand, apart and joined by hand: ``python -m bench.rewriting.shared``.

``x @ W1`` and ``x @ W2`` are what people write, ``x @ [W1 | W2]`` is what they could write. Joined,
the weights lie side by side from the beginning: packing costs nothing, so that the joined form is
at least as fast as any that a compiler could make of the other one by joining products.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import ostinato as ot
from bench.rewriting.corpus import Case
from bench.rewriting.timing import FormRun, Sampling, use_new_memory
from ostinato import optim
from ostinato.compiler import Compiled
from ostinato.nn import parameter
from ostinato.nn.init import lecun_normal
from ostinato.tensor import Tensor

WIDTHS = (16, 32, 64, 128, 256, 512)
UPDATES = 4


def _products(x: Tensor, names: str, shape: tuple[int, int], is_joined: bool) -> list[Tensor]:
    """``x`` times a weight per letter."""
    inputs, each = shape
    if not is_joined:
        return [x @ ot.input(f"w{name}", shape) for name in names]
    together = x @ ot.input("w", (inputs, each * len(names)))
    return [together[..., k * each : (k + 1) * each] for k in range(len(names))]


def queries_keys_values(width: int, is_joined: bool) -> ot.Program:
    b = ot.dims("b")
    x = ot.input("x", (width,), over=b)
    q, k, v = _products(x, "qkv", (width, width), is_joined)
    return ot.Program(q=q, k=k, v=v)


def heads(width: int, is_joined: bool) -> ot.Program:
    """The hidden layers of an actor and a critic."""
    b = ot.dims("b")
    x = ot.input("x", (width,), over=b)
    actor, critic = map(ot.tanh, _products(x, "ac", (width, width), is_joined))
    return ot.Program(score=actor @ ot.input("u", (width,)), value=critic @ ot.input("v", (width,)))


def trained_heads(width: int, is_joined: bool) -> ot.Program:
    """Some updates of the same layers on a regression."""
    b, i = ot.dims("b i")
    x = ot.input("x", (width,), over=b)
    if is_joined:
        weights = [parameter("w", (width, 2 * width), lecun_normal, over=i)]
        hidden = ot.tanh(x @ weights[0])
        layers = [hidden[..., :width], hidden[..., width:]]
    else:
        weights = [parameter(f"w{k}", (width, width), lecun_normal, over=i) for k in range(2)]
        layers = [ot.tanh(x @ w) for w in weights]
    outs = [layer @ ot.input(f"v{k}", (width,)) for k, layer in enumerate(layers)]
    loss = sum(((out - ot.input("y", over=b)) ** 2)[:, i].mean() for out in outs)
    assert isinstance(loss, Tensor)
    optim.SGD(0.01).minimize(loss, weights)
    return ot.Program(loss=loss)


def lstm(width: int, is_joined: bool) -> ot.Program:
    """The last state of a long short-term memory."""
    b, t = ot.dims("b t")
    x = ot.input("x", (width,), over=(b, t))
    hidden, cell = (ot.recurrent(name, (width,), over=(b, t)) for name in ("hidden", "cell"))
    entering = _products(x, "wxyz", (width, width), is_joined)
    if is_joined:
        together = hidden @ ot.input("u", (width, 4 * width))
        staying = [together[..., k * width : (k + 1) * width] for k in range(4)]
    else:
        staying = [hidden @ ot.input(f"u{k}", (width, width)) for k in range(4)]
    gates = [x + y for x, y in zip(entering, staying, strict=True)]
    write, forget, read = (ot.sigmoid(gate) for gate in gates[:3])
    hidden[b, 0], cell[b, 0] = 0.0, 0.0
    following = forget * cell + write * ot.tanh(gates[3])
    cell[b, t + 1] = following
    hidden[b, t + 1] = read * ot.tanh(following)
    return ot.Program(y=hidden[b, t.size - 1])


@dataclass(frozen=True)
class Pair:
    """A program in both spellings, and the extents of a run for a width."""

    name: str
    build: Callable[[int, bool], ot.Program]
    extents: Callable[[int], Mapping[str, int]]


PAIRS = (
    Pair("q, k, v: 64 rows", queries_keys_values, lambda _: {"B": 64}),
    Pair("q, k, v: 2048 rows", queries_keys_values, lambda _: {"B": 2048}),
    Pair("two heads: 64 rows", heads, lambda _: {"B": 64}),
    Pair("two heads: 2048 rows", heads, lambda _: {"B": 2048}),
    Pair("two heads, trained: 64 rows", trained_heads, lambda _: {"B": 64, "I": UPDATES}),
    Pair("two heads, trained: 1024 rows", trained_heads, lambda _: {"B": 1024, "I": UPDATES}),
    Pair("lstm: 64 rows, 16 steps", lstm, lambda _: {"B": 64, "T": 16}),
)


@dataclass(frozen=True)
class Ratio:
    """Microseconds apart and joined, and the median over the rounds of apart / joined."""

    pair: str
    width: int
    apart_us: float
    joined_us: float
    ratio: float
    low: float
    high: float
    predicted: float

    def __str__(self) -> str:
        spread = f"{self.low:.2f} to {self.high:.2f}"
        times = f"{self.apart_us:.1f} | {self.joined_us:.1f}"
        return f"| {self.pair} | {self.width} | {times} | {self.ratio:.2f} | {spread} | " + (
            f"{self.predicted:.2f} |"
        )


HEADER = """| products | width | apart, us | joined, us | apart / joined | of 9 | predicted |
|---|---|---|---|---|---|---|"""


def compiled(pair: Pair, width: int, is_joined: bool) -> Compiled:
    program = pair.build(width, is_joined)
    return program.compile(hints=dict(pair.extents(width)), threads=1)


def compare(pair: Pair, width: int, rounds: int, clock: Callable[[], float]) -> Ratio:
    """Both spellings in turns; every round has memory of its own."""
    forms = [compiled(pair, width, is_joined) for is_joined in (False, True)]
    runs: list[FormRun] = []
    for form, is_joined in zip(forms, (False, True), strict=True):
        case = Case(pair.name, partial(pair.build, width, is_joined), pair.extents(width))
        runs.append(FormRun(form, case.arguments(case.build())))
    sampling = Sampling(1, clock)
    rounds_ = [[each / 1e3 for each in sampling.medians(runs)] for _ in range(rounds)]
    ratios = sorted(apart / joined for apart, joined in rounds_)
    apart, joined = (statistics.median(column) for column in zip(*rounds_, strict=True))
    predicted = [form.explain(**pair.extents(width)).cost["predicted_ns"] for form in forms]
    return Ratio(
        pair.name,
        width,
        apart,
        joined,
        statistics.median(ratios),
        ratios[0],
        ratios[-1],
        predicted[0] / predicted[1],
    )


def chosen_pairs(only: list[str]) -> Iterator[Pair]:
    for pair in PAIRS:
        if not only or any(word in pair.name for word in only):
            yield pair


def main() -> None:
    parser = argparse.ArgumentParser(description="Products that share an operand.")
    parser.add_argument("--widths", type=int, nargs="*", default=WIDTHS)
    parser.add_argument("--only", nargs="*", default=[], help="pairs whose names hold a word")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    use_new_memory()
    clock = time.process_time if options.processor_time else time.perf_counter
    found: list[Ratio] = []
    if not options.compile_only:
        print(HEADER)
    for pair in chosen_pairs(options.only):
        for width in options.widths:
            if options.compile_only:
                for is_joined in (False, True):
                    compiled(pair, width, is_joined)
                continue
            found.append(compare(pair, width, options.rounds, clock))
            print(found[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n")


if __name__ == "__main__":
    main()
