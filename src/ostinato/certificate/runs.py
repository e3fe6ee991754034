"""Seeded runs: the interpreter on the source against the extracted program and machine code.

Extents are a little above the least ones, inputs small numbers. Functions that a program calls are
not in a certificate; in both programs a stand-in that depends on all operands takes their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from ostinato.arguments import Signature, declared_shape, signature
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.functions import HALVES, Array
from ostinato.pdg.host import HostFunction
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.pdg.interpret import Interpreter
from ostinato.pdg.node import UNSEEN, Host, Node, Pdg
from ostinato.runtime.executor import Bound, Executable

SPREAD = 3  # extents are drawn from so many values
EXACT = 1e-6  # in float64, so far the orders of sums may lead results apart
ROUNDED = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-6}
_TRIES = 64

Values = dict[str, Array]
Env = Mapping[Dim | Extent, int]


class Different(Exception):
    """Two programs give different results; the text names the output and the point."""


def drawn(source: Pdg, seed: int) -> Bound:
    """Extents and inputs drawn from a seed, which is that of the draws too.

    Errors: Different if no small extents fit the sizes of the program.
    """
    takes, rng = signature(source), np.random.default_rng(seed)
    extents = _extents(takes, rng)
    env: Env = {Extent(name): n for name, n in extents.items()}
    inputs = {name: _array(node, env, rng) for name, node in takes.inputs.items()}
    return Bound(extents, inputs, seed)


def _extents(takes: Signature, rng: np.random.Generator) -> dict[str, int]:
    for _ in range(_TRIES):
        found = {n: takes.least.get(n, 1) + int(rng.integers(SPREAD)) for n in takes.extents}
        env: Env = {Extent(name): n for name, n in found.items()}
        if all(evaluate(size, env) >= 1 for size in takes.derived.values()):
            return found
    raise Different(f"no small extents make {', '.join(takes.derived)} positive")


def _array(node: Node, env: Env, rng: np.random.Generator) -> Array:
    shape = tuple(evaluate(size, env) for size in declared_shape(node))
    if node.dtype == "bool":
        return rng.random(shape) < 0.5
    if node.dtype in ("int32", "int64", "uint32", "uint16"):
        return rng.integers(0, 4, shape).astype(node.dtype)
    return rng.normal(size=shape).astype(node.dtype)


def interpreted(pdg: Pdg, bound: Bound, exact: bool = True) -> Values:
    """Every output of a program, by the interpreter."""
    inputs = {name: _bits(pdg, name, value) for name, value in bound.inputs.items()}
    run = Interpreter(pdg, bound.extents, inputs, bound.seed, exact, hosts=_stand_ins(pdg))
    return {name: run.everywhere(node) for name, node in pdg.outputs}


def _bits(pdg: Pdg, name: str, value: Array) -> Array:
    """The bits of a half, where the program takes those."""
    return value.view("uint16") if value.dtype.name in HALVES else value


def _stand_ins(pdg: Pdg) -> dict[int, HostFunction]:
    calls = {node.op.call: node for node in pdg.nodes() if isinstance(node.op, Host)}
    return {call: cast(HostFunction, _stand_in(call, node)) for call, node in calls.items()}


def _stand_in(call: int, node: Node) -> Callable[[Sequence[Array], Mapping[Dim, int], Env], Array]:
    def run(operands: Sequence[Array], point: Mapping[Dim, int], env: Env) -> Array:
        here: dict[Dim | Extent, int] = {**env}
        here.update(point.items())
        shape = tuple(evaluate(size, here) for size in node.shape)
        place = call + sum(k * n for k, n in enumerate(point.values(), 1))
        if node.dtype.startswith("float"):
            sums = (np.sum(x.astype("float64")) * k for k, x in enumerate(operands, 1))
            return np.asarray(np.sin(np.full(shape, place + sum(sums))), node.dtype)
        return np.full(shape, place % 2, node.dtype)

    return run


def check_runs(source: Pdg, extracted: Pdg, seed: int, rounds: int) -> str:
    """Compare two programs by the interpreter, in float64, at several drawn extents.

    Errors: Different.
    """
    sizes: list[str] = []
    for k in range(rounds):
        bound = drawn(source, seed + k)
        try:
            expected, found = interpreted(source, bound), interpreted(extracted, bound)
        except OstinatoError as problem:
            raise Different(f"a run at {_at(bound.extents)} fails: {problem.fact}") from problem
        for name, value in expected.items():
            _compare(f"the output `{name}` at {_at(bound.extents)}", found[name], value, EXACT)
        sizes.append(_at(bound.extents))
    return f"equal at {'; '.join(sizes)}"


def check_machine_code(
    source: Pdg, executable: Executable, seed: int, storage: str = "float32"
) -> str:
    """Compare machine code with the interpreter on the source; ``source`` is as users wrote it.

    ``storage`` is the type of values that are kept for later loops.

    Errors: Different.
    """
    bound = drawn(source, seed)
    artifact = executable.artifact
    exact, rounded = interpreted(source, bound), interpreted(source, bound, exact=False)
    inputs = {**bound.inputs, **artifact.constants}
    found = executable.run(Bound(bound.extents, inputs, bound.seed))
    for name, node in source.outputs:
        if name.startswith(UNSEEN):
            continue
        about = f"the output `{name}` of the machine code at {_at(bound.extents)}"
        slack = 16 * np.abs(exact[name].astype("float64") - rounded[name].astype("float64"))
        relative = ROUNDED.get(node.dtype, 0.0)
        if relative:
            relative = max(relative, ROUNDED[storage])
        _compare(about, found[name], exact[name], relative, slack)
    return f"machine code equal at {_at(bound.extents)}"


def _compare(
    about: str, found: Array, expected: Array, relative: float, slack: Array | float = 0.0
) -> None:
    """Refuse other shapes, and numbers that differ where the expected one is finite."""
    if found.shape != expected.shape:
        raise Different(f"{about} has shape {found.shape}, not {expected.shape}")
    left, right = found.astype("float64"), expected.astype("float64")
    with np.errstate(all="ignore"):
        near = np.abs(left - right) <= relative * (1 + np.abs(right)) + slack
        wrong = np.isfinite(right) & ~near
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise Different(f"{about} is {left[at]} instead of {right[at]} at {list(at)}")


def _at(extents: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in extents.items()) or "any size"
