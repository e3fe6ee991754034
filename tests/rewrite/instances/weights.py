"""Instances of sums over ranges that gain a step at every point, and of their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ostinato.pdg.build import (
    ONE,
    affine,
    along,
    concat,
    const,
    iota,
    map_node,
    matmul,
    reduce_node,
    reshape,
)
from ostinato.pdg.build import transpose as permuted
from ostinato.pdg.index import expr
from ostinato.pdg.node import Dtype, Node, Pdg
from ostinato.rewrite.rules.weights import WEIGHTS as RULES
from tests.rewrite.instances.incremental import ranged
from tests.rewrite.instances.instance import Instance, Sizes, T, program, tensor

_T = expr(T.extent)
Make = Callable[[Sizes], Node | Sequence[Node]]


def _map(fn: str, *args: Node) -> Node:
    return map_node(fn, list(args))


def _number(value: float) -> Node:
    return const([value], "float32", (ONE,))


def _past(x: Node) -> Node:
    return ranged(x, 0, expr(T) + 1)


def _coming(x: Node) -> Node:
    return ranged(x, T, _T)


def _real(x: Node) -> Node:
    return map_node("cast", [x], "float32")


def _sum(x: Node) -> Node:
    return reduce_node("sum", x, [-x.rank])


def _column(x: Node) -> Node:
    return reshape(x, (x.shape[0], ONE))


def _row(x: Node) -> Node:
    return reshape(x, (ONE, x.shape[0]))


def _tr(x: Node) -> Node:
    return permuted(x, (-1, -2))


def _numbers(name: str = "x", dtype: Dtype = "float32") -> Node:
    return tensor(name, (), (T,), dtype)


AGE = _real(_map("sub", affine(T), _past(affine(T))))
LATER = _real(_map("sub", affine(expr(T) + 1), _past(affine(T))))
COUNT = _real(iota(_T - T))
_TWO, _FAR, _MOVING, _ANY = _number(2.0), _number(20.0), tensor("g", (1,), (T,)), tensor("w", (1,))
POWER = _map("pow", _number(0.9), AGE)
_POWERS, _OTHERS = (_map("pow", _number(g), COUNT) for g in (0.9, 0.8))
_X, _Y, _ZERO = _past(_numbers()), _coming(_numbers()), const(0.0, "float32", (ONE,))


def _of_others(factor: Node) -> Node:
    """Over all steps before the point."""
    age = _real(_map("sub", affine(T), ranged(affine(T), 0, T)))
    return _sum(_map("mul", _map("pow", factor, age), ranged(_numbers(), 0, T)))


def _from_here(weights: Node, last: bool) -> Node:
    """A step, and the weighted sum of what follows."""
    here, behind = _numbers(), ranged(_numbers(), expr(T) + 1, _T)
    total = _sum(_map("mul", *((behind, weights) if last else (weights, behind))))
    return _map("add", *((total, here) if last else (here, total)))


def _numbers_and(weights: Node) -> Node:
    """A step, and the weighted sum from that on."""
    return _map("add", _numbers(), _sum(_map("mul", weights, _Y)))


def _sums_of_sums(last: bool, weights: Node) -> Node:
    sums = along("sum", [_map("mul", _POWERS, _Y)], -1)
    return _sum(_map("mul", *((sums, weights) if last else (weights, sums))))


def _products(z: Sizes, factor: Node) -> tuple[Node, ...]:
    keys, values = (_past(tensor(name, (size,), (T,))) for name, size in (("k", z.k), ("v", z.n)))
    weights = _column(_map("pow", factor, AGE))
    return (
        matmul(_tr(_map("mul", weights, keys)), values),
        matmul(_tr(keys), _map("mul", weights, values)),
    )


def _chain(lo: int, hi: int) -> Node:
    return along("prod", [ranged(_numbers("c"), expr(T) + lo, _T + hi)], -1)


def _from(number: float) -> Node:
    return concat([_number(number), _chain(0, -1)], -1)


def _triangle(exponent: Node) -> Node:
    mask = _map("le", iota(_T), affine(T))
    return _sum(_map("where", mask, _map("pow", _number(0.9), exponent), _ZERO))


_MASKS = tuple(
    f"incremental/{name}"
    for name in (
        *("masked-fold", "tile-of-map1", "tile-of-map2"),
        *("tile-of-operand", "tile-of-one-element"),
    )
)
_LATER_ONES = _coming(_numbers()), ranged(_numbers(), expr(T) + 1, _T)
_NONE = _map("tanh", AGE)  # it is no weight that steps by a factor
_ALIVE = _past(_numbers("b", "bool"))

# What a rule must see, and what is like it and must not be seen.
_MADE: dict[str, tuple[Make, Make]] = {
    "ramp-of-counts": (lambda z: AGE, lambda z: _real(_past(affine(T)))),
    "ramp-of-part": (
        lambda z: _triangle(_real(_map("sub", affine(T), iota(_T)))),
        lambda z: (_triangle(_real(iota(_T))), POWER),
    ),
    "ramp-neg": (lambda z: _map("neg", AGE), lambda z: (_map("neg", _X), AGE)),
    "ramp-sum": (
        lambda z: (_map("add", AGE, LATER), _map("sub", AGE, LATER)),
        lambda z: _map("add", AGE, _X),
    ),
    "ramp-moved": (
        lambda z: (_map("sub", AGE, _TWO), _map("add", _TWO, AGE)),
        lambda z: (_map("add", AGE, _MOVING), _map("sub", _TWO, AGE)),
    ),
    "ramp-below": (lambda z: _map("sub", _TWO, AGE), lambda z: _map("sub", _MOVING, AGE)),
    "ramp-scaled": (
        lambda z: (_map("mul", AGE, _TWO), _map("mul", _TWO, AGE), _map("div", AGE, _ANY)),
        lambda z: (_map("mul", AGE, _MOVING), _map("mul", LATER, _TWO), _map("div", _ANY, AGE)),
    ),
    "ramp-moved-scaled": (
        lambda z: (_map("div", LATER, _TWO), _map("mul", _TWO, LATER)),
        lambda z: (
            *(_map("div", LATER, _ANY), _map("mul", _ANY, LATER), _map("div", _TWO, LATER)),
            _map("mul", LATER, _real(tensor("b", (1,), (T,), "bool"))),
        ),
    ),
    "decay-exp": (
        lambda z: _map("exp", _map("neg", AGE)),
        lambda z: (_map("exp", _map("add", AGE, _FAR)), _map("exp", _X)),
    ),
    "decay-power": (
        lambda z: (_map("pow", _TWO, LATER), POWER),
        lambda z: (_map("pow", _MOVING, AGE), _map("pow", _number(1000.0), AGE)),
    ),
    "decay-power-of-count": (
        lambda z: _map("pow", _ANY, AGE),
        lambda z: (_map("pow", _ANY, LATER), _map("pow", _MOVING, AGE)),
    ),
    "decay-neg": (lambda z: _map("neg", POWER), lambda z: (_map("neg", _NONE), POWER)),
    "decay-product": (
        lambda z: (_map("mul", POWER, POWER), _map("div", POWER, _map("exp", AGE))),
        lambda z: (_map("mul", POWER, _NONE), _map("add", POWER, POWER)),
    ),
    "decay-scaled": (
        lambda z: (_map("mul", POWER, _TWO), _map("mul", _TWO, POWER), _map("div", POWER, _ANY)),
        lambda z: (_map("mul", POWER, _MOVING), _map("div", _TWO, POWER)),
    ),
    "decay-inverse": (
        lambda z: _map("div", _TWO, POWER),
        lambda z: (_map("div", _MOVING, POWER), _map("div", POWER, _TWO)),
    ),
    "decay-of-values": (
        lambda z: tuple(
            _sum(_map(fn, *pair)) for fn in ("mul", "div") for pair in ((POWER, _X), (_X, POWER))
        ),
        lambda z: (_POWERS, _coming(tensor("w"))),
    ),
    "decay-reshaped": (lambda z: _column(POWER), lambda z: (_row(POWER), _column(_NONE))),
    "decay-where": (
        lambda z: _sum(_map("where", _ALIVE, _map("pow", _TWO, AGE), _ZERO)),
        lambda z: (_map("where", _ALIVE, POWER, _TWO), _map("where", _ALIVE, _NONE, _ZERO)),
    ),
    "decay-chain": (
        lambda z: _chain(0, 0),
        lambda z: (along("prod", [_X], -1), along("sum", [_Y], -1)),
    ),
    "decay-chain before": (
        lambda z: (_chain(0, -1), *_LATER_ONES),
        lambda z: (along("prod", [_LATER_ONES[1]], -1), *_LATER_ONES),
    ),
    "decay-chain-from-one": (
        lambda z: (_sum(_map("mul", _from(1.0), _LATER_ONES[0])), *_LATER_ONES),
        lambda z: (_from(2.0), *_LATER_ONES),
    ),
    "decaying-sum": (
        lambda z: (_sum(_map("mul", POWER, _X)), _sum(POWER), _sum(_map("mul", _POWERS, _Y))),
        lambda z: _sum(_map("pow", _MOVING, AGE)),
    ),
    "decaying-sum of others": (
        lambda z: _of_others(_number(0.9)),
        lambda z: _of_others(_MOVING),
    ),
    "decaying-sum-from-here": (
        lambda z: (_from_here(_chain(0, -1), False), _from_here(_chain(0, -1), True)),
        lambda z: (_from_here(_map("exp", _chain(0, -1)), False), _numbers_and(_chain(0, 0))),
    ),
    "decaying-sums": (
        lambda z: (_sums_of_sums(False, _OTHERS), _sums_of_sums(True, _OTHERS)),
        lambda z: _sums_of_sums(False, _map("pow", _MOVING, COUNT)),
    ),
    "decaying-products": (
        partial(_products, factor=_number(0.9)),
        partial(_products, factor=_MOVING),
    ),
}


def _program(z: Sizes, make: Make) -> Pdg:
    made = make(z)
    return program(made) if isinstance(made, Node) else program(*made)


def _beside(name: str) -> tuple[str, ...]:
    """What sees the parts of a weight: all but the rule itself, and what would say it otherwise."""
    other = {"decay-where": "decay-power"}.get(name, "")
    names = (rule.name for rule in RULES if not rule.name.endswith(f"/{name}"))
    more = _MASKS if name == "ramp-of-part" else ()
    kept = (n for n in names if n != f"incremental/{other}")
    return (*kept, "algebra/times-one", "algebra/reshape-fewer", *more)


SEEN = tuple(
    Instance(
        f"{name}{' of something else' * (not is_it)}",
        partial(_program, make=make),
        (f"incremental/{rule}",) if is_it else (),
        () if is_it else (f"incremental/{rule}",),
        _beside(rule),
    )
    for name, pair in _MADE.items()
    for rule in [name.partition(" ")[0]]
    for is_it, make in zip((True, False), pair, strict=True)
)


def _scored(z: Sizes, name: str, last: bool, change: str = "") -> Pdg:
    """Scores of one query as a row, or as a column, with weights on them."""
    keys, values = (_past(tensor(n, (size,), (T,))) for n, size in (("k", z.k), ("v", z.n)))
    query = tensor("q", (z.k,), (T,))
    if name == "scores":
        scores, weights = matmul(_row(query), _tr(keys)), _row(POWER)
    else:
        column = matmul(keys, _column(query))
        scores, weights = reshape(column, (column.shape[0],)), POWER
    scores = _map(change, scores) if change else scores
    product = _map("mul", *((scores, weights) if last else (weights, scores)))
    return program(matmul(product if name == "scores" else _row(product), values))


SCORES = tuple(
    Instance(
        f"weighted {name}{' last' * last}{' changed' * bool(change)}",
        partial(_scored, name=name, last=last, change=change),
        () if change else (rule,),
        (rule,) if change else (),
    )
    for name in ("scores", "query")
    for last in (False, True)
    for rule in [f"incremental/weighted-{name}"]
    for change in ("", "exp")
)


def _powers(z: Sizes, base: Node, root: bool) -> Pdg:
    power = _map("pow", base, _X)
    return program(_map("sqrt", power) if root else _map("pow", power, _number(3.0)), AGE)


def _undefined(_: Sizes) -> Pdg:
    """A quotient of nothing by nothing, which is no number: nothing may be concluded of it."""
    nothing = _number(0.0)
    return program(_map("mul", _map("div", nothing, nothing), _X), AGE)


POWERS = tuple(
    Instance(
        f"{name}{' of any number' * (base is _ANY)}",
        partial(_powers, base=base, root=name.startswith("root")),
        () if base is _ANY else (f"algebra/{name}",),
        (f"algebra/{name}",) if base is _ANY else (),
    )
    for name in ("power-of-power", "root-of-power")
    for base in (_TWO, _ANY)
)

UNDEFINED = (Instance("nothing by nothing", _undefined, (), ("algebra/times-one",)),)
