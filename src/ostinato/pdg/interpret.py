"""The judge: evaluate a graph point by point with NumPy, straight from the definitions.

Slow on purpose; it shares no code with rewriting, scheduling or emission. The meaning of an
operator is a short generator that yields the operands it needs as ``(node, point)`` and returns an
array; one loop with an explicit stack answers them, so recurrences may be arbitrarily long.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from ostinato.pdg.condition import holds
from ostinato.pdg.errors import ArgumentError, CoverageError, CycleError, DomainError
from ostinato.pdg.functions import FUNCTIONS, REPEATED, Array, fold_unit
from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.index import Dim, Extent, Slice, evaluate, symbols
from ostinato.pdg.meaning import (
    Env,
    check_elements,
    check_part,
    check_window,
    constant,
    draw,
    sizes,
    tensorial,
    widened,
)
from ostinato.pdg.naming import called, is_named
from ostinato.pdg.node import (
    MOVES,
    PURE,
    Affine,
    Along,
    Broadcast,
    Case,
    Concat,
    Const,
    Dtype,
    Gather,
    Host,
    Input,
    Iota,
    Linear,
    Map,
    Matmul,
    Node,
    Part,
    Pdg,
    Random,
    Read,
    Rec,
    Reduce,
    Reshape,
    Scan,
    Transpose,
)

Coordinates = tuple[int, ...]  # one per dimension of a node's domain, in its order
Request = tuple[Node, Coordinates]
Step = Generator[Request, Array, Array]
Noise = Callable[[Node, Array], Array]


def as_it_is(_: Node, value: Array) -> Array:
    """A value without noise."""
    return value


Extension = Callable[[str, Coordinates, tuple[int, ...], Dtype], Array]


def junk(salt: int) -> Extension:
    """Return an arbitrary but fixed total function for leaves outside their box.

    Rules are tested with two of them: an equality that holds under both needs no range guard.
    """

    def extension(name: str, at: Coordinates, shape: tuple[int, ...], dtype: Dtype) -> Array:
        words = [salt, zlib.crc32(name.encode()), *(p & 0xFFFFFFFF for p in at)]
        draws = np.random.default_rng(words).normal(size=shape)
        return draws > 0 if dtype == "bool" else np.asarray(draws * 4).astype(dtype)

    return extension


@dataclass(eq=False)
class _History:
    """Values of one node at the points of its box, so that a slice is read in one step."""

    values: Array
    known: Array

    def window(self, at: tuple[slice, ...]) -> Array | None:
        return self.values[at] if np.all(self.known[at]) else None

    def put(self, point: Coordinates, value: Array) -> None:
        if all(0 <= p < size for p, size in zip(point, self.known.shape, strict=True)):
            self.values[point] = value
            self.known[point] = True


@dataclass(eq=False)
class Interpreter:
    """Memoised values of one program for given extents, inputs and seed.

    ``exact`` computes float32 values in float64. With an ``extension``, inputs and recurrences are
    total: it gives their values outside the box, and everywhere for names that have none. ``noise``
    makes of what a node gives at a point what it might be after rounding. ``clamps`` moves computed
    steps into their windows, as compiled code does.
    """

    pdg: Pdg
    extents: Mapping[str, int]
    inputs: Mapping[str, Array]
    seed: int = 0
    exact: bool = False
    extension: Extension | None = None
    hosts: Mapping[int, HostFunction] = field(default_factory=dict[int, HostFunction])
    noise: Noise = as_it_is
    clamps: bool = False
    _memo: dict[Node, dict[Coordinates, Array]] = field(init=False)
    _histories: dict[Node, _History] = field(init=False)
    _env: Env = field(init=False)
    # Asked for at every point: what extents decide alone.
    _sizes: dict[Dim, int] = field(init=False)
    _shapes: dict[Node, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._env = {Extent(name): size for name, size in self.extents.items()}
        self._memo = {node: {} for node in _kept(self.pdg)}
        self._histories, self._sizes, self._shapes = {}, {}, {}
        for node in self.pdg.nodes():
            if isinstance(node.op, Read) and any(isinstance(i, Slice) for _, i in node.op.at):
                self._remember(node.args[0])

    def value(self, node: Node, point: Coordinates) -> Array:
        """Return the value of a node at a point, given in the order of its domain.

        Errors: DomainError, CoverageError, CycleError.
        """
        with np.errstate(all="ignore"):
            return self._run((node, point))

    def everywhere(self, node: Node) -> Array:
        """Return an array shaped (extents of the domain in order, then shape).

        Values whose shape depends on the point are padded with zeros at the end of each axis.
        """
        lead = tuple(self._size(d) for d in node.domain)
        np.empty(lead, "bool")  # a MemoryError comes now, not after a year
        points = itertools.product(*map(range, lead))
        values = {point: self.value(node, point) for point in points}
        ragged = any(size.dims for size in node.shape)
        if not ragged:
            shape = sizes(node.shape, self._env)
        else:
            shapes = [v.shape for v in values.values()] or [(0,) * node.rank]
            shape = tuple(max(column) for column in zip(*shapes, strict=True))
        out = np.zeros(lead + shape, widened(node.dtype, self.exact))
        for point, value in values.items():
            place: tuple[int | slice, ...] = (*point, *map(slice, value.shape))
            out[place] = value
        return out

    def _run(self, root: Request) -> Array:
        known = self._memo.get(root[0], {}).get(root[1])
        if known is not None:
            return known
        stack = [(root, self._step(root))]
        active, answer = {root}, None
        while True:
            key, step = stack[-1]
            try:
                request = step.send(answer) if answer is not None else next(step)
            except StopIteration as done:
                answer = self._finish(key, done.value)
                stack.pop()
                active.discard(key)
                if not stack:
                    return answer
                continue
            table = self._memo.get(request[0])
            answer = table.get(request[1]) if table is not None else None
            if answer is None:
                if request in active:
                    raise self._cycle([k for k, _ in stack], request)
                active.add(request)
                stack.append((request, self._step(request)))

    def _finish(self, key: Request, value: Array) -> Array:
        node, point = key
        value = self.noise(node, np.asarray(value, widened(node.dtype, self.exact)))
        expected = self._shapes.get(node)
        if expected is None:
            expected = self._shape(node, point)
        assert value.shape == expected, f"{node} has shape {value.shape}, declared {expected}"
        if node in self._memo:
            self._memo[node][point] = value
        if node in self._histories:
            self._histories[node].put(point, value)
        return value

    def _shape(self, node: Node, point: Coordinates) -> tuple[int, ...]:
        found = sizes(node.shape, self._at(node, point))
        if not any(each.dims for each in node.shape):
            self._shapes[node] = found
        return found

    def _step(self, key: Request) -> Step:
        node, point = key
        env = self._at(node, point)
        match node.op:
            case Const() | Affine() | Iota():
                return constant(node.op, node, env)
            case Random():
                return draw(node.op, node, env, self.seed)
            case Input(name):
                return self._input(name, key, env)
            case Rec(name):
                return (yield from self._rec(name, key, env))
            case Read():
                return (yield from self._read(node.op, node, env))
            case Case(cond):
                chosen = node.args[0] if holds(cond, env) else node.args[1]
                return (yield _restrict(chosen, env))
            case Scan():
                return (yield from self._scan(node.op, node, env))
            case Linear():
                return (yield from self._linear(node.op, node, env))
            case Host():
                return (yield from self._host(node.op, node, env))
            case (
                Map() | Reduce() | Matmul() | Reshape() | Transpose() | Broadcast() | Concat()
                | Part() | Gather() | Along()
            ):  # fmt: skip
                args: list[Array] = []
                for arg in node.args:
                    args.append((yield _restrict(arg, env)))
                if isinstance(node.op, Part) and self.extension is None:
                    check_part(node.op, args[0], node, env)
                if isinstance(node.op, Gather) and self.extension is None:
                    check_elements(node, env)
                    if not self.clamps:
                        check_window(node, args[1], env)
                return tensorial(node.op, node, args, env)
            case other:
                assert_never(other)

    def _input(self, name: str, key: Request, env: Env) -> Array:
        node, point = key
        if name in self.inputs and self._inside(node, point):
            found: Array = np.asarray(self.inputs[name])[point]
            return found
        return self._extend(name, key, env)

    def _rec(self, name: str, key: Request, env: Env) -> Step:
        node, point = key
        if name not in self.pdg.equations or not self._inside(node, point):
            return self._extend(name, key, env)
        equation = self.pdg.equations[name]
        for cond, right in equation.cases:
            if holds(cond, env):
                return (yield _restrict(right, env))
        fact = f"no equation of `{name}` covers the point {_show(node, point)}"
        raise CoverageError(fact, f"Add a case to `{name}` for this point.", node.where)

    def _read(self, op: Read, node: Node, env: Env) -> Step:
        (x,) = node.args
        fixed = dict(env)
        fixed.update((d, evaluate(i, env)) for d, i in op.at if not isinstance(i, Slice))
        ranges = {
            d: range(evaluate(i.lo, env), evaluate(i.hi, env), i.step)
            for d, i in op.at
            if isinstance(i, Slice)
        }
        own = {d: r for d, r in ranges.items() if d in x.domain}
        if not ranges:
            return (yield _restrict(x, fixed))
        inner = sizes(x.shape, fixed)
        stacked = self._window(x, own, fixed)
        if stacked is None:
            values: list[Array] = []
            for combination in itertools.product(*own.values()):
                fixed.update(zip(own, combination, strict=True))
                values.append((yield _restrict(x, fixed)))
            stacked = np.stack(values) if values else np.zeros((0, *inner))
        lead = tuple(len(r) for r in ranges.values())
        seen = tuple(len(r) if d in own else 1 for d, r in ranges.items())
        return np.broadcast_to(stacked.reshape(seen + inner), lead + inner)

    def _window(self, x: Node, own: Mapping[Dim, range], env: Env) -> Array | None:
        """The values at a product of ranges, if they are all known and inside the box."""
        history = self._histories.get(x)
        if history is None:
            return None
        at: list[slice] = []
        for d in x.domain:
            span = own[d] if d in own else range(env[d], env[d] + 1)
            if not span or span[0] < 0 or span[-1] >= self._size(d):
                return None
            at.append(slice(span.start, span.stop, span.step))
        return history.window(tuple(at))

    def _scan(self, op: Scan, node: Node, env: Env) -> Step:
        if (env[op.dim] >= self._size(op.dim)) if op.reverse else env[op.dim] < 0:
            return np.full(sizes(node.shape, env), fold_unit(op.fn, node.dtype))
        nearby = env[op.dim] + (1 if op.reverse else -1)
        others = yield _restrict(node, {**env, op.dim: nearby})
        one = yield _restrict(node.args[0], env)
        return FUNCTIONS[REPEATED[op.fn]].numpy(others, one)

    def _linear(self, op: Linear, node: Node, env: Env) -> Step:
        if not 0 <= env[op.dim] < self._size(op.dim):
            return np.zeros(sizes(node.shape, env))
        nearby = env[op.dim] + (1 if op.reverse else -1)
        if not 0 <= nearby < self._size(op.dim):
            first = yield _restrict(node.args[1], env)
            return np.array(np.broadcast_to(first, sizes(node.shape, env)))
        neighbour = yield _restrict(node, {**env, op.dim: nearby})
        g = yield _restrict(node.args[0], env)
        a = yield _restrict(node.args[1], env)
        return np.asarray(a + g * neighbour)

    def _host(self, op: Host, node: Node, env: Env) -> Step:
        """Call the function; the operand that orders a call is not for it."""
        args: list[Array] = []
        for arg in node.args:
            args.append(np.asarray((yield _restrict(arg, env)), arg.dtype))
        own = args if op.effects == PURE else args[1:]
        point = {d: env[d] for d in node.domain}
        return self.hosts[op.call](own, point, env)

    def _extend(self, name: str, key: Request, env: Env) -> Array:
        """The value of a leaf where the program does not define it."""
        node, point = key
        if self.extension is not None:
            return self.extension(name, point, sizes(node.shape, env), node.dtype)
        if self._inside(node, point):
            raise ArgumentError(f"input `{name}` is missing", f"Pass `{name}=...`.", node.where)
        box = " and ".join(f"0 <= {d} < {d.extent}" for d in node.domain)
        fact = f"`{name}` is read at {_show(node, point)}, outside its domain {box}"
        raise DomainError(fact, "Read inside the domain, or add a case for this point.", node.where)

    def _cycle(self, path: list[Request], again: Request) -> CycleError:
        """The error for a value that needs itself, in the user's names and places."""
        loop = path[path.index(again) :]
        named = [(n, p) for n, p in loop if is_named(n) and not isinstance(n.op, MOVES)] or loop
        values = [called(n) + (f" at {_show(n, p)}" if p else "") for n, p in named]
        places = [self._place(n, p) for n, p in named]
        texts = [v + (f" ({at})" if at else "") for v, at in zip(values, places, strict=True)]
        chain = ", which needs ".join([*texts[1:], "itself" if len(texts) == 1 else values[0]])
        remedy = f"Read an earlier step of {called(named[0][0])}, so that some order computes it."
        return CycleError(f"{texts[0]} needs {chain}", remedy, places[0])

    def _place(self, node: Node, point: Coordinates) -> str:
        """The user's line of a value; of a recurrence, that of the equation for the point."""
        if isinstance(node.op, Rec):
            equation, env = self.pdg.equations[node.op.name], self._at(node, point)
            for (cond, _), where in zip(equation.cases, equation.where, strict=False):
                if holds(cond, env):
                    return where
        return node.where

    def _size(self, dim: Dim) -> int:
        found = self._sizes.get(dim)
        if found is None:
            found = self._sizes[dim] = self._evaluated(dim)
        return found

    def _evaluated(self, dim: Dim) -> int:
        values: dict[Dim | Extent, int] = {}
        for symbol in symbols(dim.extent):
            assert isinstance(symbol, Extent), f"the extent of {dim} depends on {symbol}"
            if symbol.name not in self.extents:
                remedy = f"Pass `{symbol}=...`."
                raise ArgumentError(f"the extent `{symbol}` is missing", remedy)
            values[symbol] = self.extents[symbol.name]
        return evaluate(dim.extent, values)

    def _inside(self, node: Node, point: Coordinates) -> bool:
        return all(0 <= p < self._size(d) for d, p in zip(node.domain, point, strict=True))

    def _at(self, node: Node, point: Coordinates) -> Env:
        return {**self._env, **dict(zip(node.domain, point, strict=True))}

    def _remember(self, node: Node) -> None:
        """Keep a dense history of a node whose shape is the same at every point."""
        if not any(size.dims for size in node.shape):
            lead = tuple(self._size(d) for d in node.domain)
            shape = sizes(node.shape, self._env)
            values = np.empty(lead + shape, widened(node.dtype, self.exact))
            self._histories[node] = _History(values, np.zeros(lead, "bool"))


def _restrict(node: Node, env: Env) -> Request:
    return node, tuple([env[d] for d in node.domain])


def _show(node: Node, point: Coordinates) -> str:
    return ", ".join(f"{d} = {p}" for d, p in zip(node.domain, point, strict=True))


def _kept(pdg: Pdg) -> set[Node]:
    """Nodes whose values are worth keeping: all but those read once, at the same point."""
    users: dict[Node, list[Node | None]] = {x: [*by] for x, by in pdg.users().items()}
    for _, node in pdg.outputs:
        users.setdefault(node, []).append(None)

    def passes(node: Node) -> bool:
        (user,) = users[node]
        same = user is not None and user.domain == node.domain and not isinstance(user.op, Read)
        return same and not isinstance(node.op, Rec | Scan | Linear | Host)

    return {node for node, by in users.items() if len(by) > 1 or not passes(node)}


def interpret(
    pdg: Pdg,
    extents: Mapping[str, int],
    inputs: Mapping[str, Array],
    seed: int = 0,
    exact: bool = False,
    hosts: Mapping[int, HostFunction] | None = None,
) -> dict[str, Array]:
    """Evaluate every output at every point of its domain.

    Shapes: inputs and results are (extents of the domain in declaration order, then shape).
    Errors: ArgumentError, DomainError, CoverageError, CycleError, HostError.
    """
    run = Interpreter(pdg, extents, inputs, seed, exact, hosts=hosts or {})
    return {name: run.everywhere(node) for name, node in pdg.outputs}
