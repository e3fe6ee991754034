"""All blocks of a grid together, in Python: what the generated kernels do, with its races.

Numba's own simulator runs one block after the other. Here every thread is a generator that stops at
each barrier: the text of a module is changed so that its barriers, and all functions that reach
one, yield. Between two barriers threads run in any order, each to its end. An access that another
thread could have made first is a race, and trapped; so is one outside of memory.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ostinato.codegen.loops.expression import ITEM_BYTES
from ostinato.pdg.philox import seed_key
from tests.cuda.device_functions import FUNCTIONS, THREADS

BARRIERS = ("block_barrier", "grid_barrier")
Way = Literal["reads", "writes", "exchanges"]
Accesses = dict[tuple[int, int], tuple[int, int]]  # the last one of each thread: after what
Thread = Generator[str, None, None]
Byte = int | tuple[int, int]  # of the arena, or of what a block shares


class Fault(Exception):
    """What a device would do without a word."""


# ---------------------------------------------------------------- the text


def simulated(source: str) -> dict[str, Any]:
    """The functions of a module, of which those that reach a barrier are generators."""
    tree = ast.parse(source)
    tree.body = [s for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom)]
    waiting = _waiting(tree)
    made = ast.fix_missing_locations(_Waits(waiting).visit(tree))
    scope: dict[str, Any] = {"np": np, **FUNCTIONS}
    exec(compile(made, "<simulated>", "exec"), scope)
    scope.update(FUNCTIONS)  # numbers that wrap, as those of the device do
    return scope


def _calls(of: ast.AST) -> set[str]:
    found = (x.func for x in ast.walk(of) if isinstance(x, ast.Call))
    return {x.id for x in found if isinstance(x, ast.Name)}


def _waiting(tree: ast.Module) -> set[str]:
    """The functions that reach a barrier."""
    functions = {s.name: _calls(s) for s in tree.body if isinstance(s, ast.FunctionDef)}
    found: set[str] = {*BARRIERS}
    while more := {n for n, called in functions.items() if called & found} - found:
        found |= more
    return found


class _Waits(ast.NodeTransformer):
    def __init__(self, waiting: set[str]) -> None:
        self.waiting = waiting

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A kernel that reaches no barrier is a generator too."""
        self.generic_visit(node)
        if any(isinstance(x, ast.Name) and x.id == "kernel" for x in node.decorator_list):
            node.body += ast.parse("def _():\n    return\n    yield").body[0].body  # type: ignore[attr-defined]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        match node.value:
            case ast.Call(ast.Name(name)) if name in BARRIERS:
                node.value = ast.Yield(ast.Constant(name))
            case ast.Call(ast.Name(name)) if name in self.waiting:
                node.value = ast.YieldFrom(node.value)
            case _:
                pass
        return node


# ---------------------------------------------------------------- memory


@dataclass
class Memory:
    """An arena in which every access is checked: by which thread, after which barriers."""

    arena: npt.NDArray[np.uint8]
    thread: tuple[int, int] = (0, 0)  # its block, and its place there
    grid_epoch: int = 0
    epochs: dict[int, int] = field(default_factory=dict[int, int])  # barriers of each block
    written: dict[Byte, Any] = field(default_factory=dict[Byte, Any])
    read: dict[Byte, Accesses] = field(default_factory=dict[Byte, Any])  # since it was written
    exchanged: dict[Byte, Accesses] = field(default_factory=dict[Byte, Any])  # likewise
    shared: list[npt.NDArray[np.uint8]] = field(default_factory=list[npt.NDArray[np.uint8]])
    shared_bytes: int = 0  # of each block

    def views(self) -> SimpleNamespace:
        size = self.arena.size // 8 * 8
        whole = self.arena[:size]
        return SimpleNamespace(
            **{
                name: View(self, whole.view("uint8" if name == "bool" else name))
                for name in ITEM_BYTES
            }
        )

    def of_block(self, _: int, kind: Callable[[int], Any]) -> Shared:
        """What a block shares, as an array of one type."""
        return Shared(self, np.asarray(kind(0)).dtype)

    def now(self) -> tuple[int, int]:
        return self.grid_epoch, self.epochs.get(self.thread[0], 0)

    def is_ordered(self, other: tuple[int, int], at: tuple[int, int]) -> bool:
        """Whether a barrier stands between another thread's access and this one."""
        if other == self.thread or at[0] < self.grid_epoch:
            return True
        return other[0] == self.thread[0] and at[1] < self.epochs.get(other[0], 0)

    def note(self, byte: Byte, way: Way) -> None:
        """Threads may exchange the value of a place in any order; they do nothing else with it."""
        last = self.written.get(byte)
        if last is not None and not self.is_ordered(*last):
            raise Fault(f"byte {byte}: {self.thread} after {last[0]} wrote it, without a barrier")
        if way != "reads":
            self.require_order(byte, way, self.read, "reads")
        if way != "exchanges":
            self.require_order(byte, way, self.exchanged, "exchanges")
        if way == "writes":
            self.read.pop(byte, None)
            self.exchanged.pop(byte, None)
            self.written[byte] = self.thread, self.now()
        else:
            found = self.read if way == "reads" else self.exchanged
            found.setdefault(byte, {})[self.thread] = self.now()

    def require_order(self, byte: Byte, way: Way, of: dict[Byte, Accesses], other_way: Way) -> None:
        for other, at in of.get(byte, {}).items():
            if not self.is_ordered(other, at):
                raise Fault(f"byte {byte}: {self.thread} {way} what {other} {other_way}")


@dataclass
class View:
    """The arena as an array of one type."""

    memory: Memory
    array: npt.NDArray[Any]

    def place(self, index: int, way: Way) -> int:
        at = int(index)
        if not 0 <= at < self.array.size:
            raise Fault(f"element {at} of {self.array.size}")
        self.memory.note(at * self.array.itemsize, way)
        return at

    def __getitem__(self, index: int) -> Any:
        return self.array[self.place(index, "reads")]

    def __setitem__(self, index: int, value: Any) -> None:
        at = self.place(index, "writes")
        self.array[at] = np.asarray(value).astype(self.array.dtype)

    def exchange(self, index: int, value: Any) -> Any:
        """Give a place another value, and return what it had."""
        at = self.place(index, "exchanges")
        before = self.array[at]
        self.array[at] = value
        return before


@dataclass
class Shared:
    """The memory of the block whose thread runs now, as an array of one type."""

    memory: Memory
    dtype: np.dtype[Any]

    def place(self, index: int, way: Way) -> slice:
        first, size = int(index) * self.dtype.itemsize, self.dtype.itemsize
        words = self.memory.shared[self.memory.thread[0]]
        if not 0 <= first <= words.size - size:
            raise Fault(f"byte {first} of {words.size} that a block shares")
        block = self.memory.thread[0]
        for byte in range(first, first + size):
            self.memory.note((block, byte), way)
        return slice(first, first + size)

    def __getitem__(self, index: int) -> Any:
        where = self.place(index, "reads")
        return self.memory.shared[self.memory.thread[0]][where].view(self.dtype)[0]

    def __setitem__(self, index: int, value: Any) -> None:
        where = self.place(index, "writes")
        words = self.memory.shared[self.memory.thread[0]][where].view(self.dtype)
        words[0] = np.asarray(value).astype(self.dtype)


# ---------------------------------------------------------------- the grid


def launch(
    kernel: Callable[..., Any],
    blocks: int,
    threads: int,
    memory: Memory,
    args: Sequence[Any],
    order: random.Random,
) -> None:
    """Run a kernel on all threads of a grid.

    Errors: Fault.
    """
    memory.grid_epoch += 1
    memory.shared = [np.full(memory.shared_bytes, 0xFF, np.uint8) for _ in range(blocks)]
    waiting: dict[tuple[int, int], Thread] = {}
    for block in range(blocks):
        for thread in range(threads):
            THREADS.set(thread, threads, block, blocks)
            started = kernel(*args)
            assert started is not None, "a kernel reaches a barrier"
            waiting[block, thread] = started
    groups = [[(b, t) for t in range(threads)] for b in range(blocks)]
    while waiting:
        order.shuffle(groups)
        for group in groups:
            _to_the_grid(group, waiting, memory, order, (threads, blocks))
        if waiting and len(waiting) < blocks * threads:
            raise Fault("some blocks wait for others, which have ended")
        memory.grid_epoch += 1


def _to_the_grid(
    group: Sequence[tuple[int, int]],
    waiting: dict[tuple[int, int], Thread],
    memory: Memory,
    order: random.Random,
    sizes: tuple[int, int],
) -> None:
    """Run the threads of a block to the next barrier of the grid, or to their end."""
    while True:
        found = {_step(each, waiting, memory, sizes) for each in order.sample(group, len(group))}
        if len(found) > 1:
            raise Fault(f"threads of a block wait for different things: {sorted(found)}")
        if found != {"block_barrier"}:
            return
        block = group[0][0]
        memory.epochs[block] = memory.epochs.get(block, 0) + 1


def _step(
    who: tuple[int, int],
    waiting: dict[tuple[int, int], Thread],
    memory: Memory,
    sizes: tuple[int, int],
) -> str:
    memory.thread = who
    THREADS.set(who[1], sizes[0], who[0], sizes[1])
    with np.errstate(all="ignore"):
        try:
            return next(waiting[who])
        except StopIteration:
            del waiting[who]
            return "end"


@dataclass
class Grid:
    """A module that is run by simulation, in one of its two forms."""

    source: str
    is_cooperative: bool = True
    threads: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        self.scope = simulated(self.source)
        self.scope["THREADS"] = self.threads
        self.order = random.Random(self.seed)

    def run(
        self,
        arena: npt.NDArray[np.uint8],
        table: Iterable[int],
        control: npt.NDArray[np.int64],
        stride: int,
        seed: int,
        blocks: int,
        sizes: Sequence[int],
        noted: Callable[[str, Callable[[], None]], None] | None = None,
    ) -> None:
        """Run the whole driver; who notes what a phase takes is given its name and its launch."""
        memory = Memory(arena, shared_bytes=self.scope["SHARED"])
        self.scope["cuda"] = SimpleNamespace(shared=SimpleNamespace(array=memory.of_block))
        views, at = memory.views(), list(map(int, table))
        if self.is_cooperative:
            args = (views, at, control, stride, seed, *sizes)
            launch(self.scope["main"], blocks, self.threads, memory, args, self.order)
            return

        def each(kernel: Callable[..., Any], items: int, args: Sequence[Any]) -> None:
            given = (views, at, stride, *args)
            grid = max(1, min(blocks, items))
            how = grid, self.threads, memory, given, self.order
            if noted is None:
                launch(kernel, *how)
            else:
                noted(kernel.__name__, partial(launch, kernel, *how))

        key = (seed_key(seed) + 2**63) % 2**64 - 2**63
        self.scope["run"](each, lambda: None, control, blocks, key, *sizes)
