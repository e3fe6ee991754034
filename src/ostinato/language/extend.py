"""New operators and folds: names for what a program computes often, and that rules can match."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ostinato.language.array import reduction
from ostinato.language.surface import declare
from ostinato.language.tensor import Tensor, apply, elementwise
from ostinato.pdg.build import input_node
from ostinato.pdg.errors import ArgumentError, DtypeError, OptionError
from ostinato.pdg.expansion import expanding, operands, spelled_out
from ostinato.pdg.functions import FLOATS, FOLDS, FUNCTIONS, Fold, add_fold
from ostinato.pdg.node import (
    Broadcast,
    Const,
    Dtype,
    HasGraph,
    Input,
    Map,
    Node,
    Reshape,
    postorder,
)
from ostinato.pdg.pass_record import ADDED, GraphPass, Pass, add
from ostinato.provenance.place import place

Operator: TypeAlias = Callable[..., Tensor]


def operator(code: Operator, accepts: Sequence[Dtype] = FLOATS) -> Operator:
    """Return an elementwise operator with the name and the meaning of a Python function.

    ``code`` computes a tensor from one or two tensors of a type out of ``accepts``, by elementwise
    functions and numbers alone; its result has their type, or is bool. In the graph of a program
    the operator is one node, which rules may match by its name; the interpreter, gradients and
    compiled programs have the value of its code. A name has one meaning for the whole process.
    Errors: ArgumentError if the code is no such function, or the name means something else.

    >>> import ostinato as ot
    >>> @ot.extend.operator
    ... def soft_step(x):
    ...     return x / (1.0 + ot.abs(x))
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> program = ot.Program(y=soft_step(x), slope=ot.grad(soft_step(x)[:].sum(), x))
    >>> found = program.compile()(x=[-3.0, 1.0])
    >>> found["y"].tolist(), found["slope"].tolist()
    ([-0.75, 0.5], [0.0625, 0.25])
    """
    name, taken = code.__name__, tuple(inspect.signature(code).parameters.values())
    arity = len(taken)
    _require_operands(name, taken)
    _require_types(name, accepts)
    codes: dict[Dtype, Node] = {
        dtype: _code(code, dtype, [each.name for each in taken]) for dtype in accepts
    }
    known = FUNCTIONS.get(name)
    if known is not None and known.code != codes:
        raise ArgumentError(f"`{name}` is an operator already", "Choose another name.", place())
    kinds = {node.dtype == dtype for dtype, node in codes.items()}
    if len(kinds) != 1 or (kinds == {False} and {n.dtype for n in codes.values()} != {"bool"}):
        shown = ", ".join(f"{node.dtype} of {dtype}" for dtype, node in codes.items())
        fact = f"`{name}` gives {shown}"
        raise ArgumentError(fact, "Give the type of its operands, or bool, for each.", place())
    FUNCTIONS[name] = expanding(name, codes, arity)

    def applied(*args: object) -> Tensor:
        if len(args) != arity:
            raise ArgumentError(f"`{name}` of {len(args)} operands", f"It takes {arity}.", place())
        return elementwise(name, *args)

    applied.__name__, applied.__doc__ = name, code.__doc__
    return applied


def _require_operands(name: str, taken: Sequence[inspect.Parameter]) -> None:
    """Refuse code that is not of one or two operands, each given by its place."""
    fact = ""
    if not name.isidentifier() or len(taken) not in (1, 2):
        fact = f"the code of an operator is {name}, of {len(taken)} operands"
    for each in taken:
        by_place = each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        if not by_place or each.default is not each.empty:
            what = "has a default" if by_place else "is not one tensor"
            fact = fact or f"the operand `{each.name}` of `{name}` {what}"
    if fact:
        remedy = "Write it as `def name(x)` or `def name(x, y)`, of tensors."
        raise ArgumentError(fact, remedy, place())


def _require_types(name: str, accepts: Sequence[Dtype]) -> None:
    if not accepts:
        raise ArgumentError(f"`{name}` accepts no types", "Name at least one.", place())


def _code(code: Operator, dtype: Dtype, names: Sequence[str]) -> Node:
    """The graph of an operator over operands without axes; those with an axis give the same."""
    try:
        _traced(code, [input_node(name, (), dtype, ()) for name in names])  # errors have the names
        several = _traced(code, operands(dtype, len(names), (2,)))
        single = _traced(code, operands(dtype, len(names)))
    except DtypeError as problem:
        name = code.__name__
        remedy = f'Name the types that it takes: operator({name}, accepts=["int32"]), say.'
        raise ArgumentError(f"`{name}` of {dtype}: {problem.fact}", remedy, place()) from None
    if _elements(single) != _elements(several):
        fact = f"`{code.__name__}` depends on the shape of its operands"
        raise ArgumentError(fact, "Compute each element from the operands' alone.", place())
    return spelled_out(single)


def _elements(node: Node) -> list[object]:
    """The operators that compute an element."""
    moves = Broadcast | Reshape
    return [n.op for n in postorder((node,)) if not isinstance(n.op, moves)]


def _traced(code: Operator, args: Sequence[Node]) -> Node:
    name = code.__name__
    found = cast(object, code(*(Tensor(arg, frozenset()) for arg in args)))
    if not isinstance(found, Tensor):
        fact = f"`{name}` returns {type(found).__name__}"
        raise ArgumentError(fact, "Return a tensor.", place())
    nodes = list(postorder((found.node,)))
    known = Map | Const | Broadcast | Reshape
    foreign = next((n for n in nodes if not isinstance(n.op, known) and n not in args), None)
    if foreign is not None:
        what = foreign.op.name if isinstance(foreign.op, Input) else type(foreign.op).__name__
        fact = (
            f"`{name}` contains `{what.lower()}`, which is no elementwise function of its operands"
        )
        raise ArgumentError(fact, "Compute it outside, and give it as an operand.", place())
    if not {*args} <= {*nodes}:
        fact = f"`{name}` does not use all of its operands"
        raise ArgumentError(fact, "Leave out what it does not use.", place())
    return found.node


def fold(name: str, repeats: str, unit: bool | int, accepts: Sequence[Dtype] = FLOATS) -> Operator:
    """Return a fold that repeats an elementwise function of two operands, from ``unit`` on.

    The function must be associative and commutative on the values of each type out of ``accepts``,
    with ``unit`` as its neutral element, exactly but for the rounding of sums and products of
    floats: this is tried on some values, infinities and the ends of integers among them. The fold
    takes a tensor and an axis (default: all axes).
    Errors: ArgumentError if the function is unknown or is no such function, or the name is taken.

    >>> import ostinato as ot
    >>> parity = ot.extend.fold("parity", "bitxor", unit=0, accepts=["int32"])
    >>> t = ot.dims("t")
    >>> x = ot.input("x", dtype="int32", over=t)
    >>> ot.Program(y=parity(x[: t + 1], 0)).compile()(x=[1, 3, 6])["y"].tolist()
    [1, 2, 4]
    """
    function = FUNCTIONS.get(repeats)
    if function is None or function.arity != 2 or not isinstance(function.numpy, np.ufunc):
        known = [f.name for f in FUNCTIONS.values() if isinstance(f.numpy, np.ufunc) and f.commutes]
        fact = f"a fold repeats `{repeats}`"
        raise ArgumentError(fact, f"Name one out of {', '.join(known)}.", place())
    if not name.isidentifier():
        fact = f"a fold is called `{name}`"
        raise ArgumentError(fact, "Choose a name that Python could give.", place())
    _require_types(name, accepts)
    rounds = any(f.rounds for f in FOLDS.values() if f.repeats == repeats)
    new = Fold(name, tuple(accepts), unit, repeats, rounds=rounds)
    if FOLDS.get(name, new) != new or name in FUNCTIONS:
        raise ArgumentError(f"`{name}` is a fold already", "Choose another name.", place())
    _require_monoid(new, function.numpy)
    add_fold(new)

    def folded(x: object, axis: reduction.Axes = None, keepdims: bool = False) -> Tensor:
        return apply(reduction.reduce, name, x, axis, keepdims)

    folded.__name__ = name
    return folded


def _require_monoid(fold: Fold, repeated: np.ufunc) -> None:
    """Try on some values that a function is a commutative monoid with the unit of a fold."""
    for dtype in fold.accepts:
        x = _values(dtype)
        a, b, c = np.meshgrid(x, x, x)
        unit = np.asarray(fold.unit).astype(dtype)
        with np.errstate(all="ignore"):
            pairs = (
                (unit, np.asarray(fold.unit)),
                (repeated(a, b), repeated(b, a)),
                (repeated(repeated(a, b), c), repeated(a, repeated(b, c))),
                (repeated(unit, x), x),
            )
        nan = x.dtype.kind == "f"
        if not all(np.array_equal(left, right, equal_nan=nan) for left, right in pairs):
            fact = f"`{fold.repeats}` with the unit {fold.unit} is no fold of {dtype}"
            remedy = "It must be associative and commutative, and the unit must change nothing."
            raise ArgumentError(fact, remedy, place())


def _values(dtype: Dtype) -> npt.NDArray[np.generic]:
    """Values of a type: those whose sums and products are exact, and its ends."""
    kind = np.dtype(dtype).kind
    some: list[float] = [False, True] if kind == "b" else [0, 1, 2, 3, 5, 12, 100]
    if kind in "if":
        some += [-x for x in some]
    ends = [np.inf, -np.inf, np.nan] if kind == "f" else []
    if kind in "iu":
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    return np.array([np.asarray(x).astype(dtype) for x in (*some, *ends)])


def graph_pass(change: GraphPass, name: str, about: str, tried_on: Sequence[HasGraph]) -> None:
    """Add a pass that changes programs as they are written, before all passes of the compiler.

    ``change`` takes and returns an `ostinato.pdg.node.Pdg`. Programs that are compiled afterwards
    go through it, unless they are compiled with ``without=[name]``; ``ostinato passes`` lists it.
    Its values are compared on the programs ``tried_on``, which call no Python function, by the
    interpreter; in every compilation the outputs must keep their domains, shapes and types.
    Errors: OptionError for a pass that changes a value, or whose name is taken.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> program = ot.Program(y=ot.input("x", over=t) * 2.0)
    >>> ot.extend.graph_pass(lambda pdg: pdg, "mine/nothing", "Changes nothing.", [program])
    >>> "mine/nothing" in program.compile(without="mine/nothing").explain().without
    True
    """
    if name in ADDED or "/" not in name:
        fact = f"`{name}` is a pass already" if name in ADDED else f"a pass is called `{name}`"
        raise OptionError(fact, "Call it family/pass, such as mine/doubled.", place())
    what = f"{change.__module__}.{change.__qualname__}"
    record = Pass(name, what, about, "a program as it is written", "the same values")
    try:
        add(record, change, [program.pdg for program in tried_on])
    except OptionError as error:
        raise error.at(place()) from None


declare(__name__)
