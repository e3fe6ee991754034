"""`host`: Python functions that a program calls while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ostinato.language.array.dtypes import DtypeName, check_dtype
from ostinato.language.definition import Definition, Remark, fresh_name, serial_of
from ostinato.language.recurrent import Over, as_dims
from ostinato.language.tensor import ShapeLike, Tensor, as_shape, as_tensor, merged
from ostinato.pdg import build
from ostinato.pdg.errors import HostError, ShapeError
from ostinato.pdg.functions import HALVES
from ostinato.pdg.host_functions import HostFunction, Result, parts
from ostinato.pdg.index import Slice, expr, product
from ostinato.pdg.node import PURE, Host, Node, intern
from ostinato.pdg.origin import Origin
from ostinato.pdg.plaintext import plain
from ostinato.provenance.place import place

MOST_OPERANDS = 12
Declared = Sequence[tuple[ShapeLike, str]]


def host(
    fn: Callable[..., object],
    *tensors: object,
    shape: ShapeLike | Declared | None = (),
    dtype: DtypeName = "float32",
    effects: str = PURE,
    over: Over = (),
    name: str = "",
) -> Tensor | tuple[Tensor, ...] | None:
    """Return what a Python function makes of tensors, at every point.

    ``fn`` gets NumPy arrays, which it must copy if it keeps them, and returns an array of ``shape``
    and ``dtype``. A tuple of pairs ``((shape, dtype), ...)`` declares several results: then a tuple
    of arrays is returned, and a tuple of tensors made. With ``shape=None`` there is no result, as
    for a logger.

    A function without effects ("pure") runs once at every point that is needed, in any order. With
    ``effects="ordered"``, or any other word, it runs once at every point of its box, in the order
    of its dimensions, the first declared one slowest. Calls with the same word take turns: at a
    point in the order in which they were written, calls over the same outer dimensions as if in one
    loop. Beyond the end of a dimension (see `stop`) no function runs, and results are 0.

    ``over`` gives a function all points of some dimensions at once: as leading axes of its
    arguments and results.
    Errors: HostError while running, with the point, if the function fails or returns something
    else; GradientError for a derivative through the call.

    >>> import ostinato as ot
    >>> b, t = ot.dims("b t")
    >>> x = ot.input("x", over=(b, t))
    >>> ranks = ot.host(lambda row: row.argsort(), x, dtype="int32", over=b)
    >>> ot.Program(ranks=ranks).interpret(x=[[3.0, 1.0], [2.0, 5.0]])["ranks"].tolist()
    [[1, 0], [0, 1]]
    """
    where = place()
    called = _refuse(fn, tensors, shape, effects, name, where)
    operands = [as_tensor(x) for x in tensors]
    dims = build.order(as_dims(over, where))
    declared = _results(shape, dtype, called, where)
    function = HostFunction(fn, called, where, declared, dims)
    unique = fresh_name(called)
    op = Host(serial_of(unique), called, effects)
    kinds = (*(x.dtype for x in operands), *(r.dtype for r in declared))
    halves = [kind for kind in kinds if kind in HALVES]
    if halves:
        fact = f"`{called}` is called with {halves[0]}, which only stores numbers"
        raise HostError(fact, "Pass and return float32: `x.cast('float32')`.", where)
    args = [build.read(x.node, [(d, d.whole) for d in dims], where) for x in operands]
    node = _call(op, args, function, where)
    return _made(node, Definition(node, unique, sources=set(merged(*operands)), host=function))


def _made(node: Node, own: Definition) -> Tensor | tuple[Tensor, ...] | None:
    """The tensors of a call, which keep its function."""
    function, sources = own.host, frozenset(own.sources)
    assert function is not None, f"{node} calls nothing"
    if not function.results:
        _keep(node, function, sources, own)
        return None
    made = [Tensor(n, sources | {own}) for n in unpacked(node, function, function.where)]
    return tuple(made) if function.is_packed else made[0]


def _refuse(
    fn: object, tensors: Sequence[object], shape: object, effects: object, name: str, where: str
) -> str:
    """The name of a call, or an error that says what is wrong with it."""
    name = plain(name or str(getattr(fn, "__name__", type(fn).__name__)))
    if not callable(fn):
        raise HostError(f"{fn!r} is no function", "Give a function of arrays first.", where)
    if not isinstance(effects, str) or not effects:
        remedy = 'Use "pure", "ordered", or a word that names what the calls share.'
        raise HostError(f"`effects` of `{name}` is {effects!r}", remedy, where)
    if len(tensors) >= MOST_OPERANDS:
        fact = f"`{name}` is called with {len(tensors)} tensors"
        raise HostError(fact, f"Stack some of them: at most {MOST_OPERANDS - 1} are passed.", where)
    if shape is None and effects == PURE:
        fact = f"`{name}` has no result and no effects, so it would never run"
        raise HostError(fact, 'Write effects="ordered", or declare a result.', where)
    return name


def _results(
    shape: ShapeLike | Declared | None, dtype: DtypeName, name: str, where: str
) -> tuple[Result, ...]:
    """The declared results; a single one is no pair."""
    if shape is None:
        return ()
    pairs = cast(Declared, shape) if _is_several(shape) else [(cast(ShapeLike, shape), dtype)]
    out = tuple(Result(as_shape(s), check_dtype(d, where)) for s, d in pairs)
    for size in (size for r in out for size in r.shape):
        if size.dims or (size.is_const and size.const < 1):
            fact = f"`{name}` is declared with an axis of size {size}"
            raise ShapeError(fact, "Use sizes of at least 1, of numbers and extents.", where)
    return out


def _is_several(shape: object) -> bool:
    if not isinstance(shape, tuple | list) or not shape:
        return False
    pairs = cast(Sequence[object], shape)
    return all(isinstance(p, tuple) and len(cast(Sequence[object], p)) == 2 for p in pairs) and all(
        isinstance(cast(tuple[object, object], p)[1], str) for p in pairs
    )


def _call(op: Host, args: Sequence[Node], function: HostFunction, where: str) -> Node:
    """The node of a call: its one result, or all results in one row."""
    domain = build.union_domain(args)
    made = (op, tuple(args), domain, function.shape, function.dtype)
    return intern(made, Origin(where, function.name))


def unpacked(node: Node, function: HostFunction, where: str) -> list[Node]:
    """Every result at a point of the call's dimensions and of those it gets at once."""
    for dim in function.over:
        node = build.part(node, 0, expr(dim), where)
    if not function.is_packed:
        return [node]
    out: list[Node] = []
    start = expr(0)
    for result in function.results:
        if not result.shape and parts(result, node.dtype) == 1:
            number = build.part(node, -1, start, where)
            out.append(build.map_node("cast", [number], result.dtype))
            start += 1
            continue
        rows: list[Node] = []
        for _ in range(parts(result, node.dtype)):
            stop = start + product(result.shape)
            rows.append(build.part(node, -1, Slice(start, stop), where))
            start = stop
        out.append(build.reshape(_joined(rows, result), result.shape, 1, where))
    return out


def _joined(rows: Sequence[Node], result: Result) -> Node:
    """The numbers of a result in its type; an int64 from its two halves."""
    typed = [build.map_node("cast", [row], result.dtype) for row in rows]
    if len(typed) == 1:
        return typed[0]
    high = build.map_node("mul", [typed[0], build.const(2**32, "int64")])
    return build.map_node("add", [high, typed[1]])


def _keep(
    node: Node, function: HostFunction, sources: frozenset[Definition], own: Definition
) -> None:
    """Make a call without a result belong to the programs that have what it is given."""
    if not sources:
        fact = f"`{function.name}` is given nothing of a program, so no program calls it"
        remedy = "Pass it a tensor that is computed from an input or a recurrent tensor."
        raise HostError(fact, remedy, function.where)
    remark = Remark("call", node, function.name, function.where, sources | {own})
    for definition in sources:
        definition.remarks.append(remark)
