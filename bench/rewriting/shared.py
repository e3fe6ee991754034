"""Products that share an operand, apart and joined: ``python -m bench.rewriting.shared``.

``x @ W1`` and ``x @ W2`` are what people write, ``x @ [W1 | W2]`` is what they could write. Joined
by hand, the weights lie side by side from the beginning. The rules of the family *fuse* join narrow
products in the program as it is written, and copy the weights.
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
from ostinato.compiler.compiled import Compiled
from ostinato.language.tensor import Tensor
from ostinato.nn import parameter
from ostinato.nn.init import lecun_normal

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


def policy_and_value(width: int, is_joined: bool) -> ot.Program:
    """Six scores and a value of each row."""
    b = ot.dims("b")
    x = ot.input("x", (width,), over=b)
    if is_joined:
        together = x @ ot.input("w", (width, 7))
        return ot.Program(scores=together[..., :6], value=together[..., 6])
    value = (x @ ot.input("v", (width, 1)))[..., 0]
    return ot.Program(scores=x @ ot.input("u", (width, 6)), value=value)


def twins(width: int, is_joined: bool) -> ot.Program:
    """The last states of two recurrences with one matrix; joined they are rows of one."""
    t = ot.dims("t")
    w, x = ot.input("w", (width, width)), ot.input("x", (width,), over=t)
    shapes = {"both": (2, width)} if is_joined else {"first": (width,), "last": (width,)}
    ends: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        state = ot.recurrent(name, shape, over=t)
        state[0] = 0.0
        state[t + 1] = ot.tanh(state @ w + x)
        ends[name] = state[t.size - 1]
    return ot.Program(**ends)


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
    Pair("policy and value: 64 rows", policy_and_value, lambda _: {"B": 64}),
    Pair("policy and value: 2048 rows", policy_and_value, lambda _: {"B": 2048}),
    Pair("two loops: 64 steps", twins, lambda _: {"T": 64}),
)


@dataclass(frozen=True)
class Ratio:
    """Microseconds apart, joined by rules and by hand, and medians of apart / joined."""

    pair: str
    width: int
    apart_us: float
    rules_us: float
    hand_us: float
    rules: float
    hand: float
    low: float
    high: float
    predicted: float

    def __str__(self) -> str:
        spread = f"{self.low:.2f} to {self.high:.2f}"
        times = f"{self.apart_us:.1f} | {self.rules_us:.1f} | {self.hand_us:.1f}"
        ratios = f"{self.rules:.2f} | {spread} | {self.predicted:.2f} | {self.hand:.2f}"
        return f"| {self.pair} | {self.width} | {times} | {ratios} |"


HEADER = """| products | width | apart | rules | by hand | a / r | rounds | predicted | a / h |
|---|---|---|---|---|---|---|---|---|"""
FORMS = ((False, "fuse"), (False, ""), (True, "fuse"))  # joined by hand; rules left out


def compiled(pair: Pair, width: int, is_joined: bool, without: str) -> Compiled:
    program = pair.build(width, is_joined)
    rules = ot.rules.without(without) if without else ot.rules
    return program.compile(hints=dict(pair.extents(width)), threads=1, rules=rules)


def compare(pair: Pair, width: int, rounds: int, clock: Callable[[], float]) -> Ratio:
    """All forms in turns; every round has memory of its own."""
    forms = [compiled(pair, width, *which) for which in FORMS]
    runs: list[FormRun] = []
    for form, (is_joined, _) in zip(forms, FORMS, strict=True):
        case = Case(pair.name, partial(pair.build, width, is_joined), pair.extents(width))
        runs.append(FormRun(form, case.arguments(case.build())))
    sampling = Sampling(1, clock)
    rounds_ = [[each / 1e3 for each in sampling.medians(runs)] for _ in range(rounds)]
    ratios = sorted(apart / rules for apart, rules, _ in rounds_)
    apart_us, rules_us, hand_us = map(statistics.median, zip(*rounds_, strict=True))
    predicted = [form.explain(**pair.extents(width)).cost["predicted_ns"] for form in forms]
    return Ratio(
        pair.name,
        width,
        apart_us,
        rules_us,
        hand_us,
        statistics.median(ratios),
        statistics.median(apart / hand for apart, _, hand in rounds_),
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
                for which in FORMS:
                    compiled(pair, width, *which)
                continue
            found.append(compare(pair, width, options.rounds, clock))
            print(found[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n")


if __name__ == "__main__":
    main()
