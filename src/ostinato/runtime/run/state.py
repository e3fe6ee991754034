"""The state of a run after a step: what the published loop carries to the next one.

Draws are a function of the seed and the point, so the place in the random stream is the step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ostinato.pdg.errors import CheckpointError, MissingError, guess
from ostinato.pdg.functions import Array
from ostinato.runtime.machine_code.source_module import load_driver
from ostinato.runtime.run.arrays import Exit, sizes

if TYPE_CHECKING:
    from ostinato.runtime.machine_code.ports import Carried, Paused
    from ostinato.runtime.run.frame import Frame


@dataclass(frozen=True, eq=False)
class State(Mapping[str, Array]):
    """All that the next step of a run reads of the steps before it, as arrays by name.

    ``step`` steps of the dimension ``over`` are done; draws of later ones depend on ``seed`` and
    the step. An array with one value for several steps has these as its first axis, the last step
    last. ``program`` and ``arguments`` stand for what was run: only that can be continued.
    """

    arrays: Mapping[str, Array]
    over: str
    step: int
    seed: int
    program: str
    arguments: str

    def __getitem__(self, name: str) -> Array:
        if name not in self.arrays:
            remedy = f"{guess(name, self.arrays)}It has: {', '.join(self.arrays) or 'none'}."
            raise MissingError(f"the state has no `{name}`", remedy)
        return self.arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        return f"<state after {self.step} steps of {self.over}: {len(self)} arrays>"


@dataclass(frozen=True)
class Identity:
    """What a run is a run of: digests of the program and of the arguments, and the seed."""

    over: str
    program: str
    arguments: str
    seed: int

    def state(self, arrays: Mapping[str, Array], step: int) -> State:
        """The state of this run after a step."""
        return State(arrays, self.over, step, self.seed, self.program, self.arguments)

    def accepted(self, state: State) -> State:
        """The state, if it is one of this run.

        Errors: CheckpointError.
        """
        if state.over != self.over:
            fact = f"the state is one between steps of `{state.over}`, not of `{self.over}`"
            raise CheckpointError(fact, f"Stream over `{state.over}`.")
        if state.program != self.program:
            fact = "the state is one of another program, compiler or kind of machine"
            raise CheckpointError(fact, "Go on with the program and the version that saved it.")
        if state.seed != self.seed:
            fact = f"the state is one of a run with seed {state.seed}, not {self.seed}"
            raise CheckpointError(fact, f"Pass seed={state.seed}.")
        if state.arguments != self.arguments:
            fact = "the state is one of a run with other arguments"
            raise CheckpointError(fact, "Pass the same extents and inputs as to that run.")
        return state


def arguments_digest(extents: Mapping[str, int], inputs: Mapping[str, Array]) -> str:
    """Hex digits that stand for the extents and inputs of a run."""
    total = hashlib.sha256(repr(sorted(extents.items())).encode())
    for name, array in sorted(inputs.items()):
        total.update(repr((name, str(array.dtype), array.shape)).encode())
        total.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return total.hexdigest()[:32]


@dataclass
class Keeper:
    """Copies what a loop carries out of the memory of a run, and back."""

    carried: tuple[Carried, ...]
    found: dict[str, Array] = field(default_factory=dict[str, Array])

    def taken(self, frame: Frame, step: int) -> dict[str, Array]:
        """The arrays after so many steps; none before the first one."""
        return {c.name: _taken(c, frame, step) for c in self.carried} if step else {}

    def put(self, frame: Frame, arrays: Mapping[str, Array], step: int) -> None:
        """Let a run go on after so many steps.

        Errors: CheckpointError if the arrays are not those that the loop carries.
        """
        expected = {c.name for c in self.carried} if step else set[str]()
        if arrays.keys() != expected:
            odd = sorted(arrays.keys() ^ expected)[0]
            fact = f"the state {'lacks' if odd in expected else 'has a strange'} `{odd}`"
            raise CheckpointError(fact, "Take one that a stream of this program gave.")
        for c in self.carried if step else ():
            _put(c, frame, step, arrays[c.name])


@dataclass(frozen=True)
class Pausing:
    """A driver that runs in parts, ready to run; its words are those of `Paused`."""

    entry: Callable[..., None]
    keeper: Keeper
    start: int
    limit: int
    part: int
    before: int
    from_loop: int


def load_pausing(made: Paused) -> Pausing:
    """Compile the driver, or load it from the cache."""
    return Pausing(load_driver(made.units), Keeper(tuple(made.carried)), *made.words)


class _Stretch(NamedTuple):
    """Rows of an array and the way between them and memory."""

    rows: slice
    way: Exit


def _parts(of: Sequence[_Stretch]) -> Iterator[Array]:
    """The memory of some stretches."""
    return (each.way.view for each in of)


def _stretches(c: Carried, frame: Frame, step: int) -> tuple[tuple[int, ...], list[_Stretch]]:
    """The shape of a carried tensor as an array, and where its parts lie."""
    view = frame.view(c)
    shape = sizes(c.shape, frame.extents)
    if c.steps is None:
        view = _at_first(view, c.single)
        return shape, [_Stretch(slice(None), Exit(view, c.axes, shape))]
    slots, before = view.shape[c.steps], frame.first(c.tensor)
    reach = slots if c.kind == "circular" else step if c.back is None else c.back
    first = max(0, step - reach)
    view = np.moveaxis(view, c.steps, 0)
    single = [k + (k < c.steps) for k in c.single]
    view = _at_first(view, single)
    axes = ((0,), *(tuple(k + 1 for k in group) for group in c.axes))
    out: list[_Stretch] = []
    at = first
    while at < step:
        here = (at - before) % slots
        end = min(step, at - here + slots)
        part = view[here : here + end - at]
        way = Exit(part, axes, (end - at, *shape))
        out.append(_Stretch(slice(at - first, end - first), way))
        at = end
    return (step - first, *shape), out


def _at_first(view: Array, axes: Sequence[int]) -> Array:
    """A view without some axes; with `...` it is one even where no axis is left."""
    return view[(*(0 if k in axes else slice(None) for k in range(view.ndim)), ...)]


def _taken(c: Carried, frame: Frame, step: int) -> Array:
    shape, parts = _stretches(c, frame, step)
    out: Array = np.empty(shape, c.dtype)
    frame.offload(_parts(parts))
    for part in parts:
        part.way.take(out[part.rows] if out.ndim else out)
    return out


def _put(c: Carried, frame: Frame, step: int, array: Array) -> None:
    shape, parts = _stretches(c, frame, step)
    if array.shape != shape or array.dtype != np.dtype(c.dtype):
        fact = f"`{c.name}` of the state is {array.dtype}{[*array.shape]}"
        remedy = f"The program carries {c.dtype}{[*shape]}: take a state that it gave."
        raise CheckpointError(fact, remedy)
    frame.offload(_parts(parts))  # with their padding, which stays as it is
    for part in parts:
        part.way.put(array[part.rows] if array.ndim else array)
    frame.fetch(_parts(parts))
