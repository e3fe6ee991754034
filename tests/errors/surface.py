"""The public surface as a list of calls, and the values that are wrong for most parameters."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, get_type_hints

import numpy as np

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.language.kinds import REFUSED as NOT_ACCEPTED
from ostinato.language.kinds import kind_of
from ostinato.rewrite.terms import Variable, tr
from ostinato.runtime.run.state import State
from tests.errors.agents import AGENTS, OF_AGENTS
from tests.errors.playing import NAMED, NO_FILE, OF_EVALUATION, PLAYERS, WRAPPED, ignore
from tests.errors.world import World

MODULES: tuple[ModuleType, ...] = (
    ot, ot.random, ot.debug, ot.linalg, ot.fft, nn, nn.init, optim, optim.schedule, rl,
)  # fmt: skip

_X = Variable("x")

WRONG: dict[str, Callable[[World], object]] = {
    "None": lambda s: None,
    "a text": lambda s: "zzz",
    "an empty text": lambda s: "",
    "a negative number": lambda s: -7,
    "zero": lambda s: 0,
    "a fraction": lambda s: 0.5,
    "NaN": lambda s: float("nan"),
    "infinity": lambda s: float("inf"),
    "a huge number": lambda s: 10**30,
    "a number beyond floats": lambda s: 10**400,
    "a size of 2**62": lambda s: 2**62,
    "True": lambda s: True,
    "an empty list": lambda s: [],
    "a list of texts": lambda s: ["a", "b"],
    "a ragged list": lambda s: [[1.0], [1.0, 2.0]],
    "a list of tensors": lambda s: [s.x, s.k],
    "negative sizes": lambda s: (-2, -3),
    "a tensor of integers": lambda s: s.k,
    "a tensor of booleans": lambda s: s.m,
    "a tensor of halves": lambda s: ot.input("h", (3,), "float16", over=s.t),
    "a tensor of another rank": lambda s: ot.input("y", (2, 3, 5), over=s.t),
    "a scalar": lambda s: ot.input("y", over=s.t),
    "a dimension": lambda s: s.t,
    "a dimension of another program": lambda s: ot.dims("t"),
    "an index expression": lambda s: s.t + 1,
    "a condition": lambda s: s.t > 0,
    "the class Tensor": lambda s: ot.Tensor,
    "an array": lambda s: np.ones((2, 3)),
    "an object array": lambda s: np.array([None, "a"]),
    "an array of texts": lambda s: np.array(["a", "b"]),
    "an array of dates": lambda s: np.array(["2020-01-01"], "datetime64[D]"),
    "a complex number": lambda s: 1j,
    "an array of complex numbers": lambda s: np.array([1j]),
    "a generator": lambda s: (n for n in (1, 2)),
    "a dictionary": lambda s: {"a": 1},
    "a set": lambda s: {1, 2},
    "a function": lambda s: ignore,
    "a function of tensors": lambda s: ot.tanh,
    "a slice": lambda s: slice(None, None, 0),
    "an Ellipsis": lambda s: ...,
    "a record": lambda s: s.record,
    "a program": lambda s: ot.Program(y=s.x),
    "an object": lambda s: object(),
    "bytes": lambda s: b"abc",
}


def total(x: ot.Tensor, state: ot.Record) -> ot.Record:
    """A cell."""
    return ot.Record(total=state.total + x)


def twice(x: ot.Tensor) -> tuple[ot.Tensor, Callable[[ot.Tensor], ot.Tensor]]:
    """A function with a derivative of its own."""
    return 2.0 * x, lambda upstream: upstream


def optimizer(name: str) -> Callable[[World], object]:
    return lambda s: getattr(optim, name)(0.1)


ENVIRONMENTS: dict[str, Callable[[], rl.Env[rl.Actions]]] = {
    **{"Acrobot": rl.Acrobot, "CartPole": rl.CartPole, "Catch": rl.Catch, "Pendulum": rl.Pendulum},
    **{"CliffWalking": rl.CliffWalking, "FrozenLake": rl.FrozenLake, "Taxi": rl.Taxi},
    **{"MountainCar": rl.MountainCar, "MountainCarContinuous": rl.MountainCarContinuous},
    **{
        "Game": rl.Catch,
        "Tabular": rl.FrozenLake,
        "_Car": rl.MountainCar,
        "MemoryChain": rl.MemoryChain,
    },
    **{"Asterix": rl.Asterix, "Breakout": rl.Breakout, "Freeway": rl.Freeway},
    **{"SpaceInvaders": rl.SpaceInvaders, "Sticky": lambda: rl.Sticky(rl.Catch())},
    **{
        "Bandit": lambda: rl.Bandit([1.0]),
        "PartiallyObserved": lambda: rl.PartiallyObserved(rl.CartPole(), [1]),
    },
    **WRAPPED,
}


PLAYED = ("observe", "step")
REAL = ("MountainCarContinuous", "Pendulum")  # their actions


def environment(name: str) -> Callable[[World], object]:
    return lambda s: ENVIRONMENTS[name]()


def state(name: str) -> Callable[[World], object]:
    return lambda s: ENVIRONMENTS[name]().state


def table() -> rl.Transitions:
    nothing = np.zeros((1, 1, 1))
    return rl.Transitions(
        nothing.astype(np.int32), nothing.astype(np.float32), nothing > 0, nothing + 1.0
    )


@cache
def moved() -> rl.Rollout:
    b, i, t = ot.dims("b i t")
    return rl.rollout(rl.CartPole(), stays, (b, i, t))


def stays(_: ot.Tensor) -> ot.Tensor:
    return ot.constant(0)


def part_of_moved(name: str) -> Callable[[World], object]:
    return lambda s: getattr(moved(), name)


def column(name: str) -> Callable[[World], object]:
    return lambda s: getattr(table(), name)


# What a required parameter gets in a call that works: by its function and its name, by its name, or
# by its annotation.
OF_LANGUAGE: dict[str, Callable[[World], object]] = {
    "CarriedRecord.fields": lambda s: s.carry(),
    "CarriedRecord.step.following": lambda s: ot.Record(c=ot.constant(1.0)),
    "Carry.step.following": lambda s: ot.index(s.i).cast("float32"),
    "Record.combine.fn": lambda s: ot.maximum,
    "Expression": lambda s: _X,
    "RuleSet.add.rules": lambda s: ot.Rule("my/transpose", "A.T.T = A", "", tr(tr(_X)), _X),
    "RuleSet.from_file.path": lambda s: __file__,
    "RuleSet.family.name": lambda s: "vectorize",
    "RuleSet.without.names": lambda s: "vectorize",
    "RuleSet.only.names": lambda s: "vectorize",
    "RuleSet.ablate.names": lambda s: "incremental",
    "RuleSet.prove.names": lambda s: "view/transpose-twice",
    "RuleSet.checked.rules": lambda s: [],
    "RuleSet.rules": lambda s: (),
    "Program.interpret.arguments": lambda s: 1.0,
    "Program.compile.options": lambda s: 1,
    "Tensor.named.name": lambda s: "x",
    "Tensor.cast.dtype": lambda s: "int32",
    "MLP.hidden": lambda s: (3,),
    "Module.update.loss": lambda s: s.layer(ot.zeros(3) + 1.0).sum(),
    "GRUCell.__call__.hidden": lambda s: ot.zeros(3),
    "constant.value": lambda s: 1.0,
    "eye.rows": lambda s: 3,
    "irfft.n": lambda s: 5,
    "top_k.k": lambda s: 3,
    "Tensor.reshape.shape": lambda s: (9,),
    "Carry.at.positions": lambda s: 0,
    "Categorical.log_prob.action": lambda s: ot.constant([0, 1, 2]),
    "Conv.__call__.x": lambda s: ot.zeros((3, 8)),
    "Embedding.__call__.symbol": lambda s: s.k,
    "LSTMCell.__call__.state": lambda s: ot.Record(hidden=ot.zeros(3), cell=ot.zeros(3)),
    **{f"{name}.{method}.state": state(name) for name in ENVIRONMENTS for method in PLAYED},
    **{f"{name}.step.action": lambda s: ot.constant(1) for name in ENVIRONMENTS},
    **{f"{name}.step.action": lambda s: ot.constant([0.5]) for name in REAL},
    "Distribution.kl.other": lambda s: rl.Categorical(s.x),
    "MultiDiscrete.sizes": lambda s: (1, 2),
    "MultiDiscrete.log_prob.action": lambda s: ot.constant([[0, 1]] * 3),
    "Tabular.start": lambda s: np.ones(1),
    "Tabular.max_steps": lambda s: 5,
    **{f"Transitions.{name}": column(name) for name in table().__slots__},
    "Transitions": lambda s: table(),
    "terminated": lambda s: s.x > 0,
    "truncated": lambda s: s.x < 0,
    "alive.t": lambda s: s.stopped,
    "attend.keys": lambda s: s.x,
    "avg_pool3d.x": lambda s: ot.zeros((3, 3, 3)),
    "carry.init": lambda s: 0.0,
    "concatenate.tensors": lambda s: [s.x, s.x],
    "conv1d.w": lambda s: ot.zeros((1, 3, 1)),
    "conv2d.x": lambda s: ot.zeros((1, 3, 3)),
    "conv2d.w": lambda s: ot.zeros((1, 1, 1, 1)),
    "conv3d.x": lambda s: ot.zeros((1, 3, 3, 3)),
    "conv3d.w": lambda s: ot.zeros((1, 1, 1, 1, 1)),
    "custom_gradient.fn": lambda s: twice,
    "einsum.spec": lambda s: "ij",
    "parameter": lambda s: s.w,
    "host.tensors": lambda s: s.x,
    "discounted_sum.gamma": lambda s: 0.9,
    "integers.low": lambda s: 0,
    "integers.high": lambda s: 3,
    "length.t": lambda s: s.stopped,
    "max_pool3d.x": lambda s: ot.zeros((3, 3, 3)),
    "meshgrid.vectors": lambda s: s.k,
    "print.x": lambda s: s.x,
    "reshape.shape": lambda s: (9,),
    "Bandit.means": lambda s: (1.0, 2.0),
    "PartiallyObserved.seen": lambda s: (0,),
    "rl.make.name": lambda s: "CartPole-v1",
    "rl.log_prob.action": lambda s: rl.Categorical(s.x).sample(),
    "rope.x": lambda s: ot.ones((3, 2)),
    "save.path": lambda s: "no/such/folder/state",
    "save.state": lambda s: State({}, "i", 0, 0, "", ""),
    "searchsorted.ordered": lambda s: s.k,
    "squeeze.x": lambda s: s.x[..., None],
    "stack.tensors": lambda s: [s.x, s.x],
    "take_along_axis.index": lambda s: s.k[:, None][..., 0, :, :],
    "unroll.cell": lambda s: total,
    "unroll.start": lambda s: ot.Record(total=ot.constant(0.0)),
    "vjp.v": lambda s: s.x,
    "where.cond": lambda s: s.x > 0,
    "after": lambda s: 0.1,
    "arguments": lambda s: {},
    "axes": lambda s: 0,
    "axis": lambda s: 0,
    "decay": lambda s: 0.9,
    "fn": lambda s: ot.tanh,
    "gradient": lambda s: s.w * 2.0,
    "gradients": lambda s: [s.w * 2.0],
    "hidden": lambda s: 3,
    "index": lambda s: s.k,
    "loss": lambda s: (s.w * s.w).sum(),
    "over": lambda s: s.i,
    "parameters": lambda s: [s.w],
    "path": lambda s: __file__,
    "positions": lambda s: 0,
    "program": lambda s: ot.Program(y=s.x),
    "shape": lambda s: (3, 3),
    "size": lambda s: 3,
    "tensors": lambda s: [s.x],
    "widths": lambda s: 1,
    "wrt": lambda s: s.w,
    "when": lambda s: s.x[..., 0, 0] > 0,
    "cond": lambda s: s.x > 0,
    "Dimension": lambda s: s.t,
    "Finite": lambda s: 0.5,
    "IndexExpression": lambda s: s.t,
    "Initializer": lambda s: nn.init.zeros,
    "Count": lambda s: 3,
    "Natural": lambda s: 1,
    "Operand": lambda s: s.x,
    "Optimizer": lambda s: optim.SGD(0.1),
    "Program": lambda s: ot.Program(y=s.x),
    "Rate": lambda s: 0.1,
    "Record": lambda s: s.record,
    "Recurrent": lambda s: s.w,
    "Sequence[Count]": lambda s: (3, 3),
    "Sequence[int]": lambda s: (3, 3),
    "Steps": lambda s: 10,
    "Tensor": lambda s: s.x,
    "float": lambda s: 0.5,
    "int": lambda s: 1,
    "object": lambda s: s.x,
    "str": lambda s: "text",
}

OBSERVED = ("Actor.__call__", "Critic.__call__")
OF_ALGORITHMS: dict[str, Callable[[World], object]] = {
    "Masked.when": lambda s: ot.constant(True),
    "rl.across.dims": lambda s: s.t,
    "Actor.hidden": lambda s: (3,),
    "Critic.hidden": lambda s: (3,),
    "rl.along.each": lambda s: s.t,
    "rl.rollout.dims": lambda s: ot.dims("b i t"),
    "env": lambda s: rl.CartPole(),
    "act": lambda s: stays,
    "games": lambda s: moved(),
    "Wrapper.begin.games": lambda s: s.t,
    "ChannelsFirst.unwrapped.observation": lambda s: ot.zeros(
        ENVIRONMENTS["ChannelsFirst"]().observation_shape
    ).reshape(-1),
    "rl.finished.others": lambda s: ot.index(moved().dims[1]),
    "trainings.settings": lambda s: s.x,
    "policy": lambda s: nn.Linear(3, 2, s.i),
    "steps_per_record": lambda s: 1,
    "Experiment.train.changes": lambda s: 3,
    **{f"{name}.observation": lambda s: ot.zeros(4) for name in OBSERVED},
    **{f"Rollout.{name}": part_of_moved(name) for name in rl.Rollout.__slots__},
}


GIVEN = {**OF_LANGUAGE, **OF_ALGORITHMS, **OF_EVALUATION, **OF_AGENTS}

# An object of each class with public methods; subclasses inherit those of their bases.
OBJECTS: dict[str, Callable[[World], object]] = {
    **AGENTS,
    "Actor": lambda s: rl.Actor(rl.CartPole(), (3,)),
    "Attention": lambda s: nn.Attention(3, 1),
    "Carry": lambda s: s.carry(),
    "CarriedRecord": lambda s: ot.CarriedRecord(c=s.carry()),
    **{name: environment(name) for name in ENVIRONMENTS},
    "Bernoulli": lambda s: rl.Bernoulli(s.x),
    "Beta": lambda s: rl.Beta(s.x * s.x + 1.0, s.x * s.x + 2.0),
    "Categorical": lambda s: rl.Categorical(s.x),
    "Critic": lambda s: rl.Critic(rl.CartPole(), (3,)),
    "Distribution": lambda s: rl.Categorical(s.x),
    "Experiment": lambda s: ot.Experiment(
        program=ot.Program(episode_return=1.0 * s.t), over=s.t, arguments={}, steps_per_record=1
    ),
    "MultiDiscrete": lambda s: rl.MultiDiscrete(s.x, (1, 2)),
    "Normal": lambda s: rl.Normal(s.x, s.x),
    "SquashedNormal": lambda s: rl.SquashedNormal(s.x, s.x),
    "Clipped": lambda s: optim.Clipped(optim.SGD(0.1), norm=1.0),
    "Masked": lambda s: optim.Masked(optim.SGD(0.1), ot.constant(True)),
    "Conv": lambda s: nn.Conv(3, 2, 1),
    "Embedding": lambda s: nn.Embedding(5, 3),
    "GRU": lambda s: nn.GRU(3, 2),
    "GRUCell": lambda s: nn.GRUCell(3, 3),
    **PLAYERS,
    "AtPoint": lambda s: s.t + 1,
    "LSTM": lambda s: nn.LSTM(3, 2),
    "LSTMCell": lambda s: nn.LSTMCell(3, 3),
    "LayerNorm": lambda s: nn.LayerNorm(3),
    "Linear": lambda s: nn.Linear(3, 2),
    "MLP": lambda s: nn.MLP(3, (4,), 2),
    "Module": lambda s: s.layer,
    "Optimizer": lambda s: optim.SGD(0.1),
    "Program": lambda s: ot.Program(y=ot.input("x")),
    "RMSNorm": lambda s: nn.RMSNorm(3),
    "Record": lambda s: s.record,
    "Recurrent": lambda s: s.w,
    "RuleSet": lambda s: ot.rules,
    "SwiGLU": lambda s: nn.SwiGLU(3, 4),
    "Tensor": lambda s: s.x,
    "Tensor.all": lambda s: s.m,
    "Tensor.any": lambda s: s.m,
    "Tensor.named": lambda s: s.x + 1.0,
    "Tensor.transpose": lambda s: s.k,
    **{name: optimizer(name) for name in "LAMB SGD Adagrad Adam AdamW Lion RMSProp".split()},
}

# The names of further arguments that are given by name.
FURTHER = {
    "Experiment.train.changes": "T",
    "rl.finished.others": "iteration",
    **NAMED,
    "Carry.at.positions": "t",
    "Module.at.positions": "i",
    "Program.compile.options": "threads",
    "Program.interpret.arguments": "x",
    "Record.at.positions": "t",
    "Tensor.at.positions": "t",
}

# Calls that are refused as they are: for want of a file, or outside of what they are for.
REFUSED = ("Clipped", "RuleSet.from_file", "load", "point", "save", "verify_certificate", *NO_FILE)

# Constructors that only the package calls: what they are refused with says what to call instead.
MADE = ("Carry", "Condition", "Dimension", "IndexExpression", "Recurrent", "Sample", "Tensor")


@dataclass
class Call:
    """A public function or method, with the arguments that it needs."""

    name: str
    fn: Callable[..., object]
    own: Callable[[World], object] | None = None  # the object, of a method
    by_place: dict[str, Callable[[World], object]] = field(default_factory=dict[str, Any])
    by_name: dict[str, Callable[[World], object]] = field(default_factory=dict[str, Any])
    optional: list[str] = field(default_factory=list[str])

    @property
    def parameters(self) -> list[str]:
        return [*self.by_place, *self.by_name, *self.optional]

    def is_tried(self, parameter: str, value: Callable[[World], object]) -> bool:
        """Whether a wrong value is tried: of algorithms only what their annotations refuse.

        What is accepted would be traced, a whole training for each value.
        """
        if "Training" not in str(inspect.signature(self.fn).return_annotation):
            return True
        hints = get_type_hints(self.fn, include_extras=True)
        try:
            return kind_of(hints[parameter]).accept(value(World())) is NOT_ACCEPTED
        except ot.OstinatoError:
            return True

    def __call__(self, wrong: str = "", value: Callable[[World], object] | None = None) -> object:
        """Call it in a world of its own, with another value for one parameter."""
        world = World()
        given = {**self.by_place, **self.by_name, **({wrong: value} if value else {})}
        made = {name: make(world) for name, make in given.items()}
        placed = [made.pop(name) for name in self.by_place]
        if self.own is not None:
            placed.insert(0, self.own(world))
        with contextlib.redirect_stdout(None):
            return self.fn(*placed, **made)


def _made(fn: str, name: str, annotation: str) -> Callable[[World], object]:
    for key in (f"{fn}.{name}", name, annotation, annotation.partition(" | ")[0]):
        if key in GIVEN:
            return GIVEN[key]
    raise AssertionError(f"say in GIVEN what `{fn}` gets for `{name}` ({annotation})")


def call_of(
    name: str, fn: Callable[..., object], own: Callable[[World], object] | None = None
) -> Call:
    """A call with all parameters that are required."""
    out = Call(name, fn, own)
    for k, (key, p) in enumerate(inspect.signature(fn).parameters.items()):
        if own is not None and k == 0:
            continue
        if p.default is not inspect.Parameter.empty:
            out.optional.append(key)
            continue
        make = _made(name, key, str(p.annotation))
        by_name = p.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        key = FURTHER.get(f"{name}.{key}", key)
        (out.by_name if by_name else out.by_place)[key] = make
    return out


def public() -> Iterator[tuple[str, object]]:
    """Every public function and class with the name under which a user has it."""
    for module in MODULES:
        mine = {n: v for n, v in vars(module).items() if not n.startswith("_")}
        own = [n for n, v in mine.items() if getattr(v, "__module__", "") == module.__name__]
        for name in getattr(module, "__all__", own):
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield name if module is not rl else f"rl.{name}", value


def calls() -> Iterator[Call]:
    """Every public function, constructor and method."""
    seen: set[object] = set()
    for name, value in public():
        if inspect.isfunction(value):
            yield call_of(name.removeprefix("ot."), value)
            continue
        assert inspect.isclass(value)
        if issubclass(value, Exception) or getattr(value, "_is_protocol", False):
            continue
        for each in value.__mro__:
            if not each.__module__.startswith("ostinato") or each in seen:
                continue
            seen.add(each)
            for method, fn in vars(each).items():
                if not inspect.isfunction(fn):
                    continue
                if method == "__init__" and inspect.isabstract(each):
                    continue
                if method == "__init__" and each.__name__ not in MADE:
                    yield call_of(each.__name__, each)
                elif not method.startswith("_") or method == "__call__":
                    spoken = f"{each.__name__}.{method}"
                    yield call_of(spoken, fn, OBJECTS.get(spoken) or OBJECTS[each.__name__])
