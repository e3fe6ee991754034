"""Instances of sums over what came before, with weights that decay with the distance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ostinato.pdg.build import ONE, affine, const, iota, map_node, matmul, reduce_node, reshape
from ostinato.pdg.build import transpose as permuted
from ostinato.pdg.index import expr
from ostinato.pdg.node import Node, Pdg
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_T = expr(T.extent)
_ZERO = const(0.0, "float32", (ONE,))
Make = Callable[[Sizes], Node]
Weights = Callable[[], Node]


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _power(distance: Node, moving: bool = False) -> Node:
    factor = tensor("g", (1,), (T,)) if moving else const([0.9], "float32", (ONE,))
    return _map("pow", factor, map_node("cast", [distance], "float32"))


def _past(x: Node) -> Node:
    return ranged(x, 0, expr(T) + 1)


def _weights(moving: bool = False, by_one: int = 0) -> Node:
    """``g ** (t - s)`` for all ``s <= t``."""
    return _power(_map("sub", affine(expr(T) + by_one), _past(affine(T))), moving)


def _wrong() -> tuple[Weights, ...]:
    """Weights with a factor that moves, and weights that begin with the factor."""
    return partial(_weights, moving=True), partial(_weights, by_one=1)


def _numbers(z: Sizes) -> Node:
    return tensor("x", (), (T,))


def _rows(z: Sizes) -> Node:
    return tensor("x", (z.k,), (T,))


def _keys(z: Sizes) -> Node:
    return _past(tensor("k", (z.k,), (T,)))


def _values(z: Sizes) -> Node:
    return _past(tensor("v", (z.n,), (T,)))


def _column(w: Node) -> Node:
    return reshape(w, (w.shape[0], ONE))


def _row(w: Node) -> Node:
    return reshape(w, (ONE, w.shape[0]))


def _tr(x: Node) -> Node:
    return permuted(x, (-1, -2))


def _times(a: Node, b: Node, last: bool) -> Node:
    return _map("mul", *((b, a) if last else (a, b)))


def _sum(z: Sizes, last: bool, weights: Weights) -> Node:
    return reduce_node("sum", _times(weights(), _past(_numbers(z)), last), [-1])


def _sums(z: Sizes, last: bool, weights: Weights) -> Node:
    return reduce_node("sum", _times(_column(weights()), _past(_rows(z)), last), [-2])


def _total(z: Sizes, weights: Weights) -> Node:
    return reduce_node("sum", weights(), [-1])


def _decayed_keys(z: Sizes, last: bool, weights: Weights) -> Node:
    return matmul(_tr(_times(_column(weights()), _keys(z), last)), _values(z))


def _decayed_values(z: Sizes, last: bool, weights: Weights) -> Node:
    return matmul(_tr(_keys(z)), _times(_column(weights()), _values(z), last))


def _query(z: Sizes) -> Node:
    return tensor("q", (z.k,), (T,))


def _scores(z: Sizes, last: bool, change: str = "") -> Node:
    """Scores of one query, as a row, with weights on them."""
    scores = matmul(_row(_query(z)), _tr(_keys(z)))
    scores = _map(change, scores) if change else scores
    return matmul(_times(_row(_weights()), scores, last), _values(z))


def _queried(z: Sizes, last: bool, change: str = "") -> Node:
    """The same, computed as a column."""
    column = matmul(_keys(z), _column(_query(z)))
    column = _map(change, column) if change else column
    scores = reshape(column, (column.shape[0],))
    return matmul(_row(_times(_weights(), scores, last)), _values(z))


def _made(z: Sizes, makes: tuple[Make, ...]) -> Pdg:
    return program(*(make(z) for make in makes))


def _pair(name: str, right: Make, *wrong: Make, beside: tuple[str, ...] = ()) -> list[Instance]:
    """Where a rule fires, and where it does not."""
    rule = f"incremental/decayed-{name}"
    return [
        Instance(f"decayed {name}", partial(_made, makes=(right,)), (rule,), beside=beside),
        Instance(f"not decayed {name}", partial(_made, makes=wrong), idle=(rule,), beside=beside),
    ]


def _both(name: str, make: Callable[..., Node]) -> list[Instance]:
    """Weights first and last."""
    out: list[Instance] = []
    for last in (False, True):
        wrong = (partial(make, last=last, weights=weights) for weights in _wrong())
        right = partial(make, last=last, weights=_weights)
        out += _pair(f"{name}{'-last' * last}", right, *wrong)
    return out


HISTORIES = (
    *_both("sum", _sum),
    *_both("sums", _sums),
    *_pair(
        "total", partial(_total, weights=_weights), *(partial(_total, weights=w) for w in _wrong())
    ),
    *_both("keys", _decayed_keys),
    *_both("values", _decayed_values),
)

SCORES = tuple(
    instance
    for name, make in (("scores", _scores), ("query", _queried))
    for last in (False, True)
    for instance in _pair(
        f"{name}{'-last' * last}",
        partial(make, last=last),
        partial(make, last=last, change="exp"),
    )
)


def _triangle(z: Sizes, compared: str, last: bool, wrong: str = "") -> Node:
    """A row of the lower triangle of powers, times a history."""
    here = affine(expr(T) + (1 if wrong == "begins later" else 0))
    distance = _map("sub", here, iota(_T))
    bound = const(1 if wrong == "is too short" else 0, "int32", (ONE,))
    condition = {
        "distance": ("ge", distance, bound),
        "index": ("le", iota(_T), here),
        "here": ("ge", here, iota(_T)),
    }[compared]
    beyond = const(1.0, "float32", (ONE,)) if wrong == "has a rest" else _ZERO
    powers = _power(distance, moving=wrong == "moves")
    weights = _map("where", _map(*condition), powers, beyond)
    history = ranged(_numbers(z), 0, _T)
    return reduce_node("sum", _times(weights, history, last), [-1])


def _triangles(compared: str, last: bool) -> list[Instance]:
    faults = ["begins later", "has a rest", "moves"]
    faults += ["is too short"] if compared == "distance" else []
    make = partial(_triangle, compared=compared, last=last)
    wrong = (partial(make, wrong=fault) for fault in faults)
    return _pair(f"triangle-by-{compared}{'-last' * last}", make, *wrong)


TRIANGLES = tuple(
    instance
    for compared in ("distance", "index", "here")
    for last in (False, True)
    for instance in _triangles(compared, last)
)
