"""A program without time as a graph of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostinato.pdg.errors import ArgumentError, OptionError, optional, to_write
from ostinato.pdg.functions import FLOATS, Array
from ostinato.pdg.index import Expr, Slice
from ostinato.pdg.interpret import Interpreter
from ostinato.pdg.naming import called
from ostinato.pdg.node import (
    Affine,
    Broadcast,
    Concat,
    Dtype,
    Gather,
    Host,
    Input,
    Map,
    Matmul,
    Node,
    Part,
    Pdg,
    Random,
    Reduce,
    Reshape,
    Transpose,
    postorder,
)

SAME: Mapping[str, str] = {
    "abs": "Abs", "add": "Add", "and": "And", "ceil": "Ceil", "cos": "Cos", "div": "Div",
    "eq": "Equal", "erf": "Erf", "exp": "Exp", "floor": "Floor", "ge": "GreaterOrEqual",
    "gt": "Greater", "le": "LessOrEqual", "log": "Log", "lt": "Less", "maximum": "Max",
    "minimum": "Min", "mul": "Mul", "neg": "Neg", "not": "Not", "or": "Or", "pow": "Pow",
    "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sqrt": "Sqrt",
    "stop_gradient": "Identity", "sub": "Sub", "tan": "Tan", "tanh": "Tanh", "where": "Where",
}  # fmt: skip
FOLDS: Mapping[str, str] = {
    "sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
    "any": "ReduceMax", "all": "ReduceMin", "argmax": "ArgMax", "argmin": "ArgMin",
}  # fmt: skip


Made = Callable[["_Graph", Node, list[str]], str]


def _log1p(w: _Graph, node: Node, args: list[str]) -> str:
    return w.op("Log", w.op("Add", args[0], w.number(1.0, node.dtype)))


def _expm1(w: _Graph, node: Node, args: list[str]) -> str:
    return w.op("Sub", w.op("Exp", args[0]), w.number(1.0, node.dtype))


def _exp2(w: _Graph, node: Node, args: list[str]) -> str:
    return w.op("Pow", w.number(2.0, node.dtype), args[0])


def _log2(w: _Graph, node: Node, args: list[str]) -> str:
    return w.op("Div", w.op("Log", args[0]), w.number(float(np.log(2.0)), node.dtype))


def _erfc(w: _Graph, node: Node, args: list[str]) -> str:
    return w.op("Sub", w.number(1.0, node.dtype), w.op("Erf", args[0]))


def _ne(w: _Graph, node: Node, args: list[str]) -> str:
    return w.op("Not", w.op("Equal", *args))


def _isfinite(w: _Graph, node: Node, args: list[str]) -> str:
    return w.op("Not", w.op("Or", w.op("IsInf", args[0]), w.op("IsNaN", args[0])))


def _left_over(w: _Graph, node: Node, args: list[str]) -> tuple[str, str]:
    """What is left over with the sign of the dividend, and whether that is not the divisor's."""
    zero = w.number(0, node.dtype)
    rest = w.op("Mod", *args, fmod=1)
    other = w.op("Xor", w.op("Less", rest, zero), w.op("Less", args[1], zero))
    return rest, w.op("And", w.op("Not", w.op("Equal", rest, zero)), other)


def _floordiv(w: _Graph, node: Node, args: list[str]) -> str:
    """The quotient rounded down, by way of what is left over, which is exact."""
    if node.dtype not in FLOATS:
        return w.op("Div", w.op("Sub", args[0], w.op("Mod", *args)), args[1])
    rest, is_other = _left_over(w, node, args)
    whole = w.op("Div", w.op("Sub", args[0], rest), args[1])
    below = w.op("Sub", whole, w.number(1, node.dtype))
    found = w.op("Round", w.op("Where", is_other, below, whole))
    is_zero = w.op("Equal", args[1], w.number(0, node.dtype))
    return w.op("Where", is_zero, w.op("Div", *args), found)


def _mod(w: _Graph, node: Node, args: list[str]) -> str:
    """What is left over, with the sign of the divisor."""
    if node.dtype not in FLOATS:
        return w.op("Mod", *args)
    rest, is_other = _left_over(w, node, args)
    return w.op("Where", is_other, w.op("Add", rest, args[1]), rest)


def _cast(w: _Graph, node: Node, args: list[str]) -> str:
    return w.cast(args[0], node.dtype)


COMPOSED: Mapping[str, Made] = {
    "cast": _cast, "erfc": _erfc, "exp2": _exp2, "expm1": _expm1, "floordiv": _floordiv,
    "isfinite": _isfinite, "log1p": _log1p, "log2": _log2, "mod": _mod, "ne": _ne,
}  # fmt: skip


OPSET, VERSION = 18, 9  # of ONNX 1.14: what runtimes of the last years read


def write_onnx(pdg: Pdg, path: str | Path, weights: Mapping[str, object]) -> None:
    """Write a program to a file; inputs among the ``weights`` have these values in it.

    Errors: OptionError without ONNX; ArgumentError for what has no form there, and for a weight
    that is no input.
    """
    onnx = optional("onnx", "onnx")
    strange = sorted(weights.keys() - {n.op.name for n in pdg.nodes() if isinstance(n.op, Input)})
    if strange:
        fact = f"`{strange[0]}` is no input of the program"
        raise ArgumentError(fact, "Give weights under the names of inputs.")
    graph = _Graph(pdg, weights, onnx)
    try:
        Path(path).write_bytes(graph.model().SerializeToString())
    except OSError as failure:
        fact = f"`{path}` cannot be written: {failure.strerror}"
        raise OptionError(fact, to_write(failure)) from None


class _Graph:
    """The nodes, inputs and initializers so far; `names` are those of values."""

    def __init__(self, pdg: Pdg, weights: Mapping[str, object], onnx: Any) -> None:
        self.pdg, self.onnx, self.helper = pdg, onnx, onnx.helper
        self.weights = {name: np.asarray(array) for name, array in weights.items()}
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.initializers: list[Any] = []
        self.names: dict[Node, str] = {}
        self.sizes = ""  # of the leading axes, as a value
        self.free = _free(pdg)

    def model(self) -> Any:
        """The whole model."""
        outputs: list[Any] = []
        for name, node in self.pdg.results:
            self.add("Identity", [self.value(node)], name)
            outputs.append(self.info(name, node))
        read = {name for node in self.nodes for name in node.input}
        kept = [each for each in self.initializers if each.name in read]
        made = self.helper.make_graph(self.nodes, "ostinato", self.inputs, outputs, kept)
        opset = [self.helper.make_opsetid("", OPSET)]
        model = self.helper.make_model(made, opset_imports=opset, producer_name="ostinato")
        model.ir_version = VERSION
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def value(self, node: Node) -> str:
        """The name of a value, which is written with all that it needs."""
        for each in postorder((node,)):
            if each not in self.names:
                self.names[each] = self.written(each)
        return self.names[node]

    def written(self, node: Node) -> str:
        """Write one node, whose operands are written."""
        if isinstance(node.op, Input):
            return self.input(node.op.name, node)
        if node in self.free:
            return self.constant(self.free[node])
        args = [self.names[arg] for arg in node.args]
        if any(arg.domain not in ((), node.domain) for arg in node.args):
            raise _formless(node)
        match node.op:
            case Affine(of) if of.is_const:
                return self.constant(np.array(of.const, node.dtype))
            case Map(fn) if fn in SAME:
                return self.op(SAME[fn], *args)
            case Map(fn) if fn in COMPOSED:
                return COMPOSED[fn](self, node, args)
            case Reduce(fn, axes):
                return self.fold(fn, axes, node, args[0])
            case Matmul():
                return self.op("MatMul", *args)
            case Reshape(rank, shape):
                kept = len(node.args[0].shape) - rank + len(node.args[0].domain)
                return self.op("Reshape", args[0], self.whole([0] * kept + _sizes(shape, node)))
            case Transpose(perm):
                return self.transposed(perm, node, args[0])
            case Broadcast(shape):
                return self.op("Expand", args[0], self.whole(_sizes(shape, node)))
            case Concat(axis):
                spread = [self.along_all(n, node, a) for n, a in zip(node.args, args, strict=True)]
                return self.op("Concat", *spread, axis=axis)
            case Part(axis, at):
                return self.part(axis, at, node, args[0])
            case Gather(axis):
                return self.gathered(axis, node, args)
            case _:
                raise _formless(node)

    def input(self, name: str, node: Node) -> str:
        """An input of the graph, or its values where these are given."""
        if name in self.weights:
            array, wanted = self.weights[name], _sizes(node.shape, node)
            if node.domain or [*array.shape] != wanted:
                fact = f"the weight `{name}` has shape {[*array.shape]}, not {wanted}"
                raise ArgumentError(fact, "Give one value: the weights of one training.")
            return self.constant(array.astype(node.dtype), name)
        self.inputs.append(self.info(name, node))
        if node.domain and not self.sizes:
            self.sizes = self.op("Shape", name, start=0, end=len(node.domain))
        return name

    def fold(self, fn: str, axes: Sequence[int], node: Node, x: str) -> str:
        """A fold over some axes."""
        if fn not in FOLDS:
            raise _formless(node)
        if fn in ("argmax", "argmin"):
            (axis,) = axes
            return self.cast(self.op(FOLDS[fn], x, axis=axis, keepdims=0), node.dtype)
        if node.dtype == "bool":
            x = self.cast(x, "int32")
        found = self.op(FOLDS[fn], x, self.whole(axes), keepdims=0)
        return self.cast(found, "bool") if node.dtype == "bool" else found

    def transposed(self, perm: Sequence[int], node: Node, x: str) -> str:
        """Some of the last axes in another order."""
        rank = len(node.shape) + len(node.domain)
        order = [*range(rank - len(perm)), *(rank + axis for axis in perm)]
        return self.op("Transpose", x, perm=order)

    def along_all(self, operand: Node, node: Node, x: str) -> str:
        """An operand at every point of the result's dimensions."""
        if operand.domain == node.domain:
            return x
        ones = self.whole([1] * len(operand.shape))
        return self.op("Expand", x, self.op("Concat", self.sizes, ones, axis=0))

    def part(self, axis: int, at: Expr | Slice, node: Node, x: str) -> str:
        """An element or a range of one axis."""
        if isinstance(at, Slice):
            lo, hi = _sizes((at.lo, at.hi), node)
            bounds = (self.whole([lo]), self.whole([hi]), self.whole([axis]))
            return self.op("Slice", x, *bounds, self.whole([at.step]))
        (position,) = _sizes((at,), node)
        return self.op("Gather", x, self.constant(np.array(position, np.int64)), axis=axis)

    def gathered(self, axis: int, node: Node, args: Sequence[str]) -> str:
        """Elements by computed positions, which are kept inside of the axis."""
        source, index = node.args
        (size,) = _sizes((source.shape[axis],), node)
        known = self.free.get(index)
        if known is not None and known.size == known.shape[axis]:
            flat = np.clip(known.ravel(), 0, size - 1).astype(np.int64)
            return self.op("Gather", args[0], self.constant(flat), axis=axis)
        place = self.op("Max", self.cast(args[1], "int64"), self.number(0, "int64"))
        place = self.op("Min", place, self.number(size - 1, "int64"))
        shape = _sizes(node.shape, node)
        wide = self.op("Expand", self.along_all(index, node, place), self.whole(shape))
        shape[axis] = size
        whole = self.op("Expand", self.along_all(source, node, args[0]), self.whole(shape))
        return self.op("GatherElements", whole, wide, axis=axis)

    def op(self, kind: str, *args: str, **attributes: object) -> str:
        """Write an operator, and return the name of its result."""
        return self.add(kind, args, f"v{len(self.nodes)}", **attributes)

    def add(self, kind: str, args: Sequence[str], name: str, **attributes: object) -> str:
        """Write an operator under a name."""
        self.nodes.append(self.helper.make_node(kind, args, [name], **attributes))
        return name

    def cast(self, value: str, dtype: Dtype) -> str:
        """Write a conversion."""
        return self.op("Cast", value, to=self.kind(dtype))

    def number(self, value: float, dtype: Dtype) -> str:
        """Write a number."""
        return self.constant(np.array(value, dtype))

    def whole(self, values: Sequence[int]) -> str:
        """Write whole numbers, such as a shape."""
        return self.constant(np.array(values, np.int64))

    def constant(self, array: Array, name: str = "") -> str:
        """Write an array."""
        name = name or f"c{len(self.initializers)}"
        whole = np.ascontiguousarray(array).reshape(array.shape)
        self.initializers.append(self.onnx.numpy_helper.from_array(whole, name))
        return name

    def kind(self, dtype: Dtype) -> int:
        """The number of a type in ONNX."""
        found: int = self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return found

    def info(self, name: str, node: Node) -> Any:
        """Type and shape of an input or an output; sizes of dimensions have their names."""
        shape = [*(dim.name for dim in node.domain), *_sizes(node.shape, node)]
        return self.helper.make_tensor_value_info(name, self.kind(node.dtype), shape)


def _free(pdg: Pdg) -> dict[Node, Array]:
    """The values that need no input, no dimension and no extent."""
    needs: dict[Node, bool] = {}
    for node in pdg.nodes():
        own = isinstance(node.op, Input | Random | Affine | Host) or bool(node.domain)
        own = own or any(not size.is_const for size in node.shape)
        needs[node] = own or any(needs.get(arg, True) for arg in node.args)
    free = [node for node, is_not in needs.items() if not is_not]
    run = Interpreter(Pdg(tuple((str(k), node) for k, node in enumerate(free)), {}), {}, {})
    return {node: np.asarray(run.everywhere(node)) for node in free}


def _sizes(shape: Sequence[Expr], node: Node) -> list[int]:
    if any(not size.is_const for size in shape):
        fact = f"{called(node)} has an axis whose size is no number"
        raise ArgumentError(fact, "Give the program constant sizes.", node.where)
    return [size.const for size in shape]


def _formless(node: Node) -> ArgumentError:
    kind = getattr(node.op, "fn", "") or type(node.op).__name__.lower()
    fact = f"{called(node)} ({kind}) has no form in ONNX"
    remedy = "Export one step, with states and draws as inputs, or what is computed before."
    return ArgumentError(fact, remedy, node.where)
