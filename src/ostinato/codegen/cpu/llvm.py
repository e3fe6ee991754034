"""Instructions of LLVM: what elementary functions, products and accesses are written with.

Whole numbers, addresses and casts that were computed on every way to a place are not computed there
again: LLVM would find the same, later and more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Literal

from ostinato.codegen.cpu.llvm_text import (
    I1,
    I64,
    THIS,
    VOID,
    Block,
    Function,
    Instruction,
    Module,
    Phi,
    Type,
    Value,
    constant,
    i64,
    known,
    vector_type,
    zero,
)
from ostinato.codegen.loops.expression import Sign

ROW = 16  # turns of a loop from which on vectors are faster than numbers one after the other

Operation = Callable[["Builder", Value, Value], Value]
Writes = Callable[["Builder", Sequence[Value]], Value]  # what writes a function's value
Aside = Callable[[str, Value | None, Sequence[Value], Type, Writes], Value]
"""A name, where it is called (None: always), the arguments, the type, and what writes it."""
Cast = Callable[["Builder", Value, Type], Value]

_SIGNED = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
_UNSIGNED = {**_SIGNED, "<": "ult", "<=": "ule", ">": "ugt", ">=": "uge"}
_ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "one"}
_UNORDERED = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "ueq", "!=": "une"}


def _whole(op: str) -> Operation:
    """An operation on whole numbers."""

    def write(self: Builder, lhs: Value, rhs: Value) -> Value:
        return self.pure(lhs.type, f"{op} {lhs}, {rhs.ref}")

    return write


def _real(op: str) -> Operation:
    """An operation on floats."""

    def write(self: Builder, lhs: Value, rhs: Value) -> Value:
        return self.made(lhs.type, f"{op} {self.free}{lhs}, {rhs.ref}")

    return write


def _cast(op: str) -> Cast:
    """Another type for a value."""

    def write(self: Builder, value: Value, kind: Type) -> Value:
        if value.type.text == kind.text:
            return value if kind.text != "ptr" else Value(kind, value.ref)
        return self.pure(kind, f"{op} {value} to {kind.text}")

    return write


class Builder:
    """Writes instructions at the end of a block."""

    aside: Aside | None = None
    """How a function that runs seldom is called; None: as `vector_forms` has it."""

    def __init__(self, block: Block) -> None:
        self.block, self.function = block, block.parent
        self.module, self.free = block.parent.module, block.parent.module.free

    # ------------------------------------------------------------ lines

    def pure(self, kind: Type, text: str) -> Value:
        """What depends on its operands alone, and is the same each time."""
        found = self.block.find(text)
        if found is None:
            found = self.block.known[text] = self.made(kind, text)
            self.block.parent.computed.add(text)
        return found

    def made(self, kind: Type, text: str) -> Value:
        ref = self.function.number()
        self.block.lines.append(f"  {ref} = {text}")
        return Value(kind, ref)

    def told(self, kind: Type, text: str, ref: str = "") -> Instruction:
        made = Instruction(kind, ref, f"{ref} = {text}" if ref else text)
        self.block.lines.append(made)
        return made

    # ------------------------------------------------------------ blocks

    def append_basic_block(self, name: str = "") -> Block:
        return self.function.append_basic_block(name)

    def position_at_end(self, block: Block) -> None:
        self.block = block

    @contextmanager
    def goto_entry_block(self) -> Generator[None]:
        here, self.block = self.block, self.function.blocks[0]
        yield
        self.block = here

    @contextmanager
    def if_then(self, pred: Value, likely: bool | None = None) -> Generator[None]:
        then, end = self.append_basic_block("if"), self.append_basic_block("endif")
        self.cbranch(pred, then, end)
        if likely is not None:
            weights = "i32 99, i32 1" if likely else "i32 1, i32 99"
            node = self.module.node(f'!"branch_weights", {weights}')
            self.block.end += f", !prof {node}"
        self.position_at_end(then)
        yield
        self.branch(end)
        self.position_at_end(end)

    def _close(self, text: str, *targets: Block) -> None:
        assert not self.block.is_terminated, "a block ends once"
        self.block.end = text
        for target in targets:
            target.reached_from(self.block)

    def branch(self, target: Block) -> None:
        self._close(f"  br label %{target.name}", target)

    def cbranch(self, cond: Value, truebr: Block, falsebr: Block) -> None:
        ways = f"label %{truebr.name}, label %{falsebr.name}"
        self._close(f"  br i1 {cond.ref}, {ways}", truebr, falsebr)

    def ret_void(self) -> None:
        self._close("  ret void")

    def ret(self, value: Value) -> None:
        self._close(f"  ret {value}")

    def phi(self, kind: Type) -> Phi:
        made = Phi(kind, self.function.number())
        self.block.lines.append(made)
        return made

    # ------------------------------------------------------------ loops

    def turns(
        self,
        first: Value,
        end: Value,
        step: Value,
        body: Callable[[Value], object],
        is_rolled: bool = False,
    ) -> None:
        """Write ``for i in range(first, end, step): body(i)``; a literal step may be negative.

        LLVM leaves a loop that is rolled as it is.
        """
        head, inside, after = (
            self.append_basic_block(f"loop.{x}") for x in ("head", "body", "end")
        )
        before = self.block
        self.branch(head)
        self.position_at_end(head)
        index = self.phi(first.type)
        index.add_incoming(first, before)
        going_down = (known(step) or 0) < 0
        self.cbranch(self.icmp_signed(">" if going_down else "<", index, end), inside, after)
        self.position_at_end(inside)
        body(index)
        following = self.add(index, step, flags=("nsw",))
        index.add_incoming(following, self.block)
        self.branch(head)
        if is_rolled:
            self.block.end += f", !llvm.loop {self.module.rolled_loop()}"
        elif self.block is inside and _is_row(first, end, step):
            self.block.end += f", !llvm.loop {self.module.vector_loop()}"
        self.position_at_end(after)

    # ------------------------------------------------------------ numbers

    fadd, fsub, fmul, fdiv = map(_real, ("fadd", "fsub", "fmul", "fdiv"))
    sub, mul, sdiv, udiv = map(_whole, ("sub", "mul", "sdiv", "udiv"))
    srem, urem, shl, lshr, ashr = map(_whole, ("srem", "urem", "shl", "lshr", "ashr"))
    and_, or_, xor = map(_whole, ("and", "or", "xor"))
    trunc, zext, sext = map(_cast, ("trunc", "zext", "sext"))
    fpext, fptrunc, bitcast = map(_cast, ("fpext", "fptrunc", "bitcast"))
    uitofp, sitofp, fptosi, fptoui = map(_cast, ("uitofp", "sitofp", "fptosi", "fptoui"))
    inttoptr, ptrtoint = map(_cast, ("inttoptr", "ptrtoint"))

    def add(self, lhs: Value, rhs: Value, flags: Sequence[str] = ()) -> Value:
        return self.pure(lhs.type, f"{' '.join(('add', *flags))} {lhs}, {rhs.ref}")

    def fneg(self, arg: Value) -> Value:
        return self.made(arg.type, f"fneg {arg}")

    def not_(self, value: Value) -> Value:
        lanes = value.type.lanes
        return self.xor(value, constant(value.type, [-1] * lanes if lanes else -1))

    def icmp_signed(self, op: Sign, lhs: Value, rhs: Value) -> Value:
        return self.pure(_truths(lhs), f"icmp {_SIGNED[op]} {lhs}, {rhs.ref}")

    def icmp_unsigned(self, op: Sign, lhs: Value, rhs: Value) -> Value:
        return self.pure(_truths(lhs), f"icmp {_UNSIGNED[op]} {lhs}, {rhs.ref}")

    def fcmp_ordered(self, op: Sign, lhs: Value, rhs: Value) -> Value:
        return self.made(_truths(lhs), f"fcmp {self.free}{_ORDERED[op]} {lhs}, {rhs.ref}")

    def fcmp_unordered(self, op: Sign | Literal["uno"], lhs: Value, rhs: Value) -> Value:
        sign = _UNORDERED.get(op, op)
        return self.made(_truths(lhs), f"fcmp {self.free}{sign} {lhs}, {rhs.ref}")

    def select(self, cond: Value, lhs: Value, rhs: Value) -> Value:
        make = self.made if lhs.type.is_float else self.pure
        return make(lhs.type, f"select {cond}, {lhs}, {rhs}")

    # ------------------------------------------------------------ vectors

    def insert_element(self, vector: Value, value: Value, index: Value) -> Value:
        return self.made(vector.type, f"insertelement {vector}, {value}, {index}")

    def extract_element(self, vector: Value, index: Value) -> Value:
        return self.made(vector.type.element, f"extractelement {vector}, {index}")

    def shuffle_vector(self, lhs: Value, rhs: Value, mask: Value) -> Value:
        kind = vector_type(lhs.type.element, mask.type.lanes)
        return self.made(kind, f"shufflevector {lhs}, {rhs}, {mask}")

    # ------------------------------------------------------------ memory

    def alloca(self, kind: Type, count: int = 0, align: int = 0) -> Value:
        size = f", {i64(count)}" if count else ""
        made = self.told(kind.as_pointer(), f"alloca {kind.text}{size}", self.function.number())
        made.align = align
        return made

    def load(self, pointer: Value) -> Instruction:
        kind = pointer.type.element
        return self.told(kind, f"load {kind.text}, {pointer}", self.function.number())

    def store(self, value: Value, pointer: Value) -> Instruction:
        return self.told(VOID, f"store {value}, {pointer}")

    def gep(self, pointer: Value, index: Value) -> Value:
        of = pointer.type.element.text
        return self.pure(pointer.type, f"getelementptr {of}, {pointer}, {index}")

    def atomic_add(self, pointer: Value, value: Value) -> Value:
        return self.made(value.type, f"atomicrmw add {pointer}, {value} seq_cst")

    def compare_exchange(self, pointer: Value, old: Value, new: Value) -> Value:
        """Store an int64 if another one is found there; return whether it was."""
        both = self.made(I64, f"cmpxchg {pointer}, {old}, {new} seq_cst acquire")
        return self.made(I1, f"extractvalue {{i64, i1}} {both.ref}, 1")

    def load_acquire(self, pointer: Value) -> Value:
        kind = pointer.type.element
        return self.made(kind, f"load atomic {kind.text}, {pointer} acquire, align 8")

    def store_release(self, value: Value, pointer: Value) -> None:
        self.told(VOID, f"store atomic {value}, {pointer} release, align 8")

    def call(self, function: Value, args: Sequence[Value], fastmath: Sequence[str] = ()) -> Value:
        """Call a function or what an address leads to; a scalar float has the module's freedom."""
        result = function.type.element.element
        has_freedom = result.is_float and not result.lanes
        flags = sorted({*fastmath, *(self.module.freedom if has_freedom else ())})
        given = ", ".join(map(str, args))
        text = f"{' '.join(('call', *flags))} {result.text} {function.ref}({given})"
        return self.told(result, text) if result == VOID else self.made(result, text)


def _truths(of: Value) -> Type:
    """The type of a condition for every lane."""
    return vector_type(I1, of.type.lanes)


def declare(builder: Builder, name: str, result: Type, args: Sequence[Type]) -> Value:
    """Return the external function or LLVM intrinsic of that name and type."""
    found = builder.module.globals.get(name)
    return Function(builder.module, name, result, args) if found is None else found


def alloca(builder: Builder, kind: Type) -> Value:
    """Return a pointer to a local variable, which LLVM turns into registers."""
    with builder.goto_entry_block():
        pointer = builder.alloca(kind)
        builder.store(zero(kind), pointer)  # it may be read before it is written
    return pointer


def local_array(builder: Builder, kind: Type, count: int, align: int) -> Value:
    """Return a pointer to so many local variables that start at a multiple of ``align`` bytes."""
    with builder.goto_entry_block():
        return builder.alloca(kind, count, align)


def emit_loop(builder: Builder, count: Value, body: Callable[[Value], None]) -> None:
    """Emit ``for i in range(count): body(i)`` with an int64 ``i``."""
    emit_range(builder, constant(count.type, 0), count, constant(count.type, 1), body)


def emit_range(
    builder: Builder, first: Value, end: Value, step: Value, body: Callable[[Value], object]
) -> None:
    """Emit ``for i in range(first, end, step): body(i)``; a literal step may be negative."""
    builder.turns(first, end, step, body)


def _is_row(first: Value, end: Value, step: Value) -> bool:
    """Whether a loop has a fixed number of turns that is worth vectors."""
    match known(first), known(end), known(step):
        case int(start), int(stop), int(each):
            return len(range(start, stop, each)) >= ROW
        case _:
            return False


def emit_if(builder: Builder, condition: Value, body: Callable[[], object]) -> None:
    """Emit ``if condition: body()``."""
    with builder.if_then(condition, likely=True):
        body()


Body = Callable[[Builder, list[Value]], object]


def define(
    module: Module, name: str, result: Type, args: Sequence[Type], body: Body, *attributes: str
) -> Function:
    """Write a function; ``body`` writes it, up to what it returns if that is anything."""
    made = Function(module, name, result, args, *attributes)
    builder = Builder(made.append_basic_block("entry"))
    body(builder, made.args)
    if result == VOID and not builder.block.is_terminated:
        builder.ret_void()
    return made


def internal_function(
    module: Module, name: str, result: Type, args: Sequence[Type], body: Body, *attributes: str
) -> Function:
    """Return a function of this module, written by ``body`` when first asked for.

    The name decides: two bodies must not share one.
    """
    made = module.globals.get(name)
    if made is None:
        made = define(module, name, result, args, body, *attributes)
        made.linkage = "internal"
    return made


def function_apart(module: Module, name: str, args: Sequence[Type], body: Body) -> Function:
    """Return a void function that is compiled by itself, so that kernels can share it.

    Writes as `internal_function` is.
    """
    symbol = module.apart(name, lambda inner: define(inner, THIS, VOID, args, body))
    return module.globals.get(symbol) or Function(module, symbol, VOID, args)


def words(module: Module, name: str, values: Sequence[int]) -> Value:
    """Return a pointer to the first of constant int64 numbers; the name decides which."""
    module.words[name] = values
    return Value(I64.as_pointer(), f"@{name}")
