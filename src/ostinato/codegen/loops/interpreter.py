"""The meaning of the loop IR: a program run statement by statement, with traps.

It traps what machine code does without a word: a read of what was never written, an access outside
of a tensor, and two items of one phase of which one writes what the other one accesses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ostinato.codegen.loops import primitives
from ostinato.codegen.loops.expression import (
    FLOATS,
    SUFFIX,
    Binary,
    Call,
    Compare,
    Constant,
    Expression,
    Item,
    Logic,
    Name,
    Negative,
    Not,
    Tuple,
    common,
    promoted,
)
from ostinato.codegen.loops.memory import POISON, Memory, Poison, Trap, is_integer, unwritten
from ostinato.codegen.loops.numba_source import show
from ostinato.codegen.loops.shared_words import SQUARE
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    Break,
    Definition,
    Do,
    For,
    Function,
    If,
    Let,
    Nothing,
    Remark,
    Return,
    Statement,
    While,
    Write,
)

Names = dict[str, Any]
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}
_COMPUTE: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
}


_NAMES: Mapping[type, str] = {
    type(np.zeros((), name)[()]): name for name in (*SUFFIX, "uint64", "bool")
}


class _Left(Exception):
    """A loop or a function is left."""


class _Broken(_Left):
    pass


class _Returned(_Left):
    pass


@dataclass
class Machine:
    """Kernels and their driver, one arena, and workers that take the items of a phase in any order.

    ``table`` holds the offset of every entry, in elements.
    """

    functions: Sequence[Function]
    memory: Memory
    table: list[int]
    workers: int = 2
    order: random.Random = field(default_factory=random.Random)
    python: Callable[[int], None] | None = None
    phase: int = 0
    waiting: dict[int, list[int]] = field(default_factory=dict[int, list[int]])  # not claimed yet

    def __post_init__(self) -> None:
        self.kernels = [each for each in self.functions if not each.is_driver]
        (self.driver,) = (each for each in self.functions if each.is_driver)
        self.control = [0] * 64
        self.shared: Mapping[str, Callable[..., Any]] = {
            "enter": lambda *_: None,
            "claim": self._claim,
            "finish": lambda *_: 1,
            "open_next": self._open,
            "rest": self._rest,
            "invoke": self._invoke,
            "load_acquire": self._look,
            "store_release": self._publish,
            "call_python": self._python,
            "arrive": lambda *_: None,
        }

    def run(self, extents: Mapping[str, int], seed: int = 0) -> None:
        """Run the driver.

        Errors: Trap, which names the kernel and the statement.
        """
        given: Names = {
            **{"tid": 0, "nt": self.workers, "bar": self, "arena": self.memory, "at": self.table},
            **{"kernels": range(len(self.kernels)), "stride": 0, "seed": seed},
            **{"control": self.control, **extents},
        }
        self._call(self.driver, [given[name] for name, _ in self.driver.parameters])

    # ------------------------------------------------------------ what workers share

    def _claim(self, _: object, phase: int, *rest: int) -> int:
        if phase not in self.waiting:
            self.waiting[phase] = list(range(int(rest[2])))
            self.order.shuffle(self.waiting[phase])
        if not self.waiting[phase]:
            return -1
        self.memory.next_item()
        return self.waiting[phase].pop()

    def _open(self, *_: object) -> None:
        self.phase += 1

    def _rest(self, _: object, phase: int, *__: object) -> None:
        if left := sum(map(len, self.waiting.values())):
            raise Trap(f"a phase ends with {left} items that nobody did")
        self.memory.barrier()

    def _look(self, words: object, index: int) -> int:
        return self.phase if words is self else self.control[index]

    def _publish(self, words: object, index: int, value: int) -> None:
        self.control[index] = int(value)

    def _invoke(self, kernel: int, arena: Memory, table: list[int], args: Sequence[Any]) -> None:
        self._call(self.kernels[kernel], [arena, table, *args])

    def _python(self, _: object, number: int) -> None:
        assert self.python is not None, "the program calls Python, which was not given"
        self.python(int(number))

    # ------------------------------------------------------------ functions

    def _call(self, function: Function, args: Sequence[Any]) -> None:
        names: Names = dict(zip((name for name, _ in function.parameters), args, strict=True))
        running = _Running(self, function, names)
        try:
            running.body(function.body)
        except _Returned:
            pass


@dataclass
class _Running:
    """One call of a function."""

    machine: Machine
    function: Function
    names: Names
    lists: dict[int, Any] = field(default_factory=dict[int, Any])  # of living rows
    is_sure: bool = True  # that the statement is reached

    def __post_init__(self) -> None:
        self.made: Names = {}
        for each in self.function.definitions:
            found = self._defined(each)
            self.made |= dict(zip(each.names, found, strict=True))

    def _defined(self, of: Definition) -> tuple[Any, ...]:
        args: list[Any] = [self.made[x.id] if isinstance(x, Name) else x for x in of.args]
        memory, tensors = self.machine.memory, self.function.tensors
        match of.maker, args:
            case "access", [int(scope), _, str(dtype)]:
                tensor = tensors[scope]
                return partial(_load, tensor, dtype), partial(_store, tensor, dtype)
            case "matmul", [spec]:
                return (primitives.Multiplier(spec, memory, tensors, self.lists),)
            case "living", [_]:
                return (self._living,)
            case "partials", [str(dtype), int(count)]:
                return partial(primitives.Partials, dtype, count), _part, _keep_part
            case "halves", [str(dtype), int(count), str(fn)]:
                return (primitives.halves(dtype, count, fn),)
            case "argsort", _:
                return (primitives.argsort(*args),)
            case "top", _:
                return (primitives.top(*args),)
            case "shuffle", _:
                return (primitives.shuffle(*args),)
            case "linked_shuffle", _:
                return (primitives.linked_shuffle(*args),)
            case ("searchleft" | "searchright") as fn, _:
                return (primitives.search(fn)(*args),)
            case _:
                raise AssertionError(f"no meaning of {of.maker}")

    def _living(self, memory: Memory, start: int, stride: int, size: int) -> int:
        places = [start + k * stride for k in range(size)]
        found = [memory.read(memory.at(p, self.function.tensors), p, "bool") for p in places]
        self.lists[-1 - len(self.lists)] = [k for k, lives in enumerate(found) if lives]
        return -len(self.lists)

    # ------------------------------------------------------------ statements

    def body(self, body: Body) -> None:
        for statement in body:
            try:
                self.statement(statement)
            except Trap as trap:
                if self.function.name in str(trap):
                    raise
                line = next(iter(show((statement,))), "")
                raise Trap(f"{self.function.name}: `{line}` {trap}") from None

    def statement(self, statement: Statement) -> None:
        match statement:
            case Let((name,), value):
                self.names[name] = self.value(value)
            case Let(names, value):
                self.names.update(zip(names, self.value(value), strict=True))
            case Add(name, value):
                self.names[name] = compute("+", self.names[name], self.value(value))
            case Write(array, index, value):
                self.value(array)[int(self.value(index))] = int(self.value(value))
            case Do(call):
                self.do(call)
            case For(index, bounds, body):
                self.loop(index, bounds, body)
            case While(test, body):
                self.repeat(test, body)
            case If(test, then, other):
                self.body(then if self.value(test) else other)
            case Break():
                raise _Broken
            case Return():
                raise _Returned
            case Remark() | Nothing():
                pass
            case _:
                raise AssertionError(f"no meaning of {statement}")

    def loop(self, index: str, bounds: Sequence[Expression], body: Body) -> None:
        found = [self.value(bound) for bound in bounds]
        if any(isinstance(x, Poison) for x in found):
            self.unsure_loop(index, found, body)
            return
        for k in range(*map(int, found)):
            self.names[index] = k
            try:
                self.body(body)
            except _Broken:
                return

    def unsure_loop(self, index: str, bounds: Sequence[Any], body: Body) -> None:
        """Take every turn that there may be: what they leave is as good as never written."""
        *first, end = bounds[:2]
        ends = [x.least if isinstance(x, Poison) else x for x in first]
        ends.append(end.most if isinstance(end, Poison) else end)
        before, was_sure, self.is_sure = dict(self.names), self.is_sure, False
        for k in range(*(int(POISON if x is None else x) for x in ends), *bounds[2:]):
            self.names[index] = k
            try:
                self.body(body)
            except _Broken:
                bool(POISON)
        self.is_sure = was_sure
        changed = (name for name, x in before.items() if self.names[name] is not x)
        self.names.update(dict.fromkeys(changed, POISON))

    def do(self, call: Call) -> None:
        """A call for what it stores."""
        store: Any = self.made.get(call.function)
        if self.is_sure:
            self.value(call)
        elif getattr(store, "func", store) in (_store, _keep_part):
            store(*map(self.value, call.args[:-1]), POISON)
        else:
            int(POISON)

    def repeat(self, test: Expression, body: Body) -> None:
        while self.value(test):
            try:
                self.body(body)
            except _Broken:
                return

    # ------------------------------------------------------------ expressions

    def value(self, of: Expression) -> Any:
        match of:
            case Constant(value):
                return value
            case Name(name):
                return self.names[name] if name in self.names else self.made[name]
            case Tuple(parts):
                return tuple(map(self.value, parts))
            case Binary(op, left, right):
                return compute(op, self.value(left), self.value(right))
            case Negative(x):
                found = self.value(x)
                if isinstance(found, Poison):
                    return POISON
                return compute("-", 0, found) if is_integer(found) else -found
            case Not(x):
                found = self.value(x)
                return POISON if isinstance(found, Poison) else not found
            case Compare(sign, left, right):
                both = self.value(left), self.value(right)
                missing = any(isinstance(x, Poison) for x in both)
                return POISON if missing else bool(_COMPARE[sign](*both))
            case Logic(word, parts):
                found = [bool(self.value(each)) for each in parts]
                return all(found) if word == "and" else any(found)
            case Item(array, index):
                return self.value(array)[int(self.value(index))]
            case Call(function, args):
                return self.call(function, args)
            case _:
                raise AssertionError(f"no meaning of {of}")

    def call(self, function: str, args: Sequence[Expression]) -> Any:
        given = [self.value(each) for each in args]
        if function == "carray":
            return given[0]
        if function.startswith("transpose_"):
            return self.transpose(primitives.TYPES[function[-3:]], *given)
        known: Any = self.made.get(function) or self.machine.shared.get(function)
        meaning = known or primitives.scalar(function)
        assert meaning is not None, f"no meaning of {function}"
        return meaning(*given)

    def transpose(
        self, dtype: str, memory: Memory, to: int, to_step: int, source: int, step: int
    ) -> None:
        """Copy a square, rows becoming columns."""
        width = np.dtype(dtype).itemsize
        left, right = (memory.at(x * width, self.function.tensors) for x in (to, source))
        for row in range(SQUARE):
            for column in range(SQUARE):
                value = memory.read(right, source + row * step + column, dtype)
                memory.write(left, to + column * to_step + row, dtype, value)


def _load(tensor: str, dtype: str, memory: Memory, offset: int) -> Any:
    return memory.read(tensor, offset, dtype)


def _store(tensor: str, dtype: str, memory: Memory, offset: int, value: object) -> None:
    memory.write(tensor, offset, dtype, value)


def _part(memory: primitives.Partials, lane: int) -> Any:
    return memory.read(lane)


def _keep_part(memory: primitives.Partials, lane: int, value: object) -> None:
    memory.write(lane, value)


def dtype_of(x: object) -> str:
    """The type of a value: that of Python's numbers is bool, int64 or float64."""
    return _NAMES.get(type(x)) or str(np.asarray(x).dtype.name)


def _is_place(x: object) -> bool:
    """Whether a value has the type of most values of a kernel, those of addresses."""
    return type(x) is int or type(x) is np.int64


def _converted(x: object, dtype: str) -> Any:
    return x if _NAMES.get(type(x)) == dtype else np.asarray(x).astype(dtype)[()]


def compute(op: str, x: Any, y: Any) -> Any:
    """Arithmetic on two numbers, in the type that they have in common; integers wrap."""
    if isinstance(x, Poison) or isinstance(y, Poison):
        return unwritten(op, x, y)
    if _is_place(x) and _is_place(y) and op in "+-*":
        return np.int64(_signed(_COMPUTE[op](int(x), int(y))))
    left, right = dtype_of(x), dtype_of(y)
    if op == "/":
        dtype = common(left, right)
        dtype = dtype if dtype in FLOATS else "float64"
    elif op in "&|^" and left == right == "bool":
        dtype = "bool"
    else:
        dtype = promoted(left, right)
    a, b = _converted(x, dtype), _converted(y, dtype)
    with np.errstate(all="ignore"):
        if op == "/":
            return a / b
        if op in ("//", "%"):
            return _divided(op, int(a), int(b))
        return _COMPUTE[op](a, b)


def _signed(x: int) -> int:
    """What is left of an integer in 64 bits."""
    return (x + 2**63) % 2**64 - 2**63


def _divided(op: str, x: int, y: int) -> Any:
    """Quotient and remainder of int64, rounded down; both are 0 where there is no quotient."""
    if y == 0 or (x == -(2**63) and y == -1):
        return np.int64(0)
    return np.int64(x // y if op == "//" else x % y)
