"""`grad`: gradients as tensors, and functions with a derivative of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import cast, overload

from ostinato.language.definition import Definition, fresh_name, reachable, user_name
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import met, stop_gradient
from ostinato.language.kinds import items_of
from ostinato.language.ragged.ending import endings
from ostinato.language.ragged.mask import Mask
from ostinato.language.ragged.operators import dense
from ostinato.language.recurrent import recurrent
from ostinato.language.shown import is_a, shown
from ostinato.language.tensor import Tensor, as_tensor, merged, sources_of
from ostinato.pdg import build
from ostinato.pdg.build import order
from ostinato.pdg.errors import GradientError, ShapeError
from ostinato.pdg.extra_dims import twin
from ostinato.pdg.functions import FLOATS, has_derivative
from ostinato.pdg.index import Dim, expr
from ostinato.pdg.naming import called, show_shape, sized
from ostinato.pdg.node import Equation, Input, Node, Rec, intern, postorder
from ostinato.pdg.origin import Origin
from ostinato.pdg.replace import rebuild
from ostinato.provenance.place import place


@overload
def grad(loss: Tensor, wrt: Tensor) -> Tensor: ...
@overload
def grad(loss: Tensor, wrt: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def grad(loss: Tensor, wrt: Tensor | Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
    """Return the gradient of a scalar loss with respect to a tensor, or to each of several.

    The result is made of tensors, so it can be differentiated again. Gradients pass through the
    equations of recurrent tensors that are written before this call.

    Shapes: a gradient has the shape of what it is taken with respect to.
    Errors: GradientError if the loss is no float scalar, or if a tensor to differentiate by is no
    float.

    >>> import ostinato as ot
    >>> x = ot.input("x", shape=(2,))
    >>> ot.Program(g=ot.grad((x * x).sum(), x)).interpret(x=[1.0, 2.0])["g"].tolist()
    [2.0, 4.0]
    """
    where = place()
    several = [wrt] if isinstance(wrt, Tensor) else list(wrt)
    if loss.ndim or loss.dtype not in FLOATS:
        fact = f"the gradient of {sized(loss.node)}, which is {loss.dtype}"
        raise GradientError(fact, "Reduce the loss to one float, by `.mean()` or `.sum()`.", where)
    for x in several:
        if not has_derivative(x.dtype):
            fact = f"the gradient with respect to {called(x.node)}, which is {x.dtype}"
            remedy = "Only floats have derivatives: differentiate by a float, or cast it first."
            raise GradientError(fact, remedy, where)
    sources = sources_of(loss, *several)
    known = reachable(sources)
    alive = _alive([loss.node, *(x.node for x in several)], known.values())
    sources = sources_of(loss, *several, *alive)
    known = reachable(sources)
    from ostinato.pdg.grad.reverse import (
        gradient,  # imports isl, which programs without gradients need not
    )

    found = gradient(
        loss.node,
        [x.node for x in several],
        {name: definition.equation() for name, definition in known.items() if definition.cases},
        [x.node for x in alive],
    )
    nodes, made = _register(found.nodes, found.equations, frozenset(known.values()), where)
    noted = Definition(loss.node, fresh_name("gradient"), passed=found.passed)
    needed = frozenset((*sources, *made, noted))
    out = tuple(_masked(node, needed, x) for node, x in zip(nodes, several, strict=True))
    return out[0] if isinstance(wrt, Tensor) else out


def _alive(roots: Sequence[Node], known: Iterable[Definition]) -> list[Tensor]:
    """Where the steps end that a derivative can pass: nothing flows back from beyond."""
    rights = (right for definition in known for _, right in definition.cases)
    dims = {d for node in postorder((*roots, *rights)) for d in node.domain}
    return [ending.alive for ending in endings(order(dims))]


def _masked(node: Node, sources: frozenset[Definition], x: Tensor) -> Tensor:
    """The derivative by a ragged tensor, which has none where it has no elements."""
    found = Tensor(node, sources)
    if not x.mask.parts:
        return found
    live = Mask(x.mask.parts)
    return Tensor(dense(Tensor(node, sources, mask=live), 0), sources, mask=Mask(x.mask.parts, 0))


def _register(
    nodes: Sequence[Node],
    equations: Mapping[str, Equation],
    known: frozenset[Definition],
    where: str,
) -> tuple[list[Node], list[Definition]]:
    """Rename the recurrences of a gradient uniquely and make definitions of their equations."""
    replaced: dict[Node, Node] = {}
    for name, equation in equations.items():
        old = equation.rec
        key = (Rec(fresh_name(name)), (), old.domain, old.shape, old.dtype)
        replaced[old] = intern(key, Origin(old.where or where, user_name(old.label)))
    rights = [right for equation in equations.values() for _, right in equation.cases]
    moved = rebuild([*nodes, *rights], lambda node, _: replaced.get(node))
    made: list[Definition] = []
    for equation in equations.values():
        leaf = replaced[equation.rec]
        assert isinstance(leaf.op, Rec), f"{leaf} is no recurrent tensor"
        definition = Definition(leaf, leaf.op.name)
        places = equation.where or (where,) * len(equation.cases)
        for (cond, right), at in zip(equation.cases, places, strict=True):
            definition.add(cond, moved[right], (), at)
        made.append(definition)
    for definition in made:
        definition.sources.update(known, made)
    return [moved[node] for node in nodes], made


def vjp(y: Tensor, x: Tensor, v: object) -> Tensor:
    """Return the vector-Jacobian product ``v @ dy/dx``, the reverse derivative.

    As in `grad`, it is taken at one point of the dimensions of ``y``.

    Shapes: ``v`` has the shape of ``y``, the result that of ``x``.
    Errors: GradientError if ``y`` or ``x`` is no float, ShapeError if ``v`` does not fit.

    >>> import ostinato as ot
    >>> x = ot.input("x", shape=(2,))
    >>> y = ot.stack([x[0] * x[1], x[0] + x[1]])
    >>> ot.Program(g=ot.vjp(y, x, [1.0, 10.0])).interpret(x=[2.0, 3.0])["g"].tolist()
    [13.0, 12.0]
    """
    _require_float(y)
    vector = stop_gradient(met(y, v)[1])
    return grad(_paired(y, vector, "y", place(), y.node.domain + vector.node.domain), x)


def jvp(y: Tensor, x: Tensor, v: object) -> Tensor:
    """Return the Jacobian-vector product ``dy/dx @ v``, the forward derivative along ``v``.

    Every way from ``x`` to ``y`` counts, through recurrences and other points too. It is the
    derivative of the reverse derivative by its vector: its cost is a few times that of ``y``,
    whatever the size of ``x``.

    Shapes: ``v`` has the shape of ``x``, the result that of ``y``, at each point of ``y`` and of
    dimensions of ``v`` along which ``x`` is the same.
    Errors: GradientError if ``y`` or ``x`` is no float, ShapeError if ``v`` does not fit.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> growth, x = ot.input("growth"), ot.recurrent("x", over=t)
    >>> x[0] = 1.0
    >>> x[t + 1] = growth * x
    >>> ot.Program(g=ot.jvp(x, growth, 1.0)).interpret(growth=2.0, T=4)["g"].tolist()
    [0.0, 1.0, 4.0, 12.0]
    """
    where = place()
    _require_float(y)
    probe = recurrent("probe", y.shape, y.dtype, [Dimension(d) for d in y.node.domain])
    probe[True] = 0.0
    reverse, vector = grad(_paired(y, probe, "y", where, ()), x), stop_gradient(met(x, v)[1])
    apart = {d: twin(d) for d in _further(vector, x) if d in y.node.domain}
    vector = _at(vector, apart)  # steps of y have one of the vector each: the same, in the end
    found = grad(_paired(reverse, vector, "x", where, _further(vector, x)), probe)
    return _at(found, {second: d for d, second in apart.items()})


def hvp(loss: Tensor, x: Tensor, v: object) -> Tensor:
    """Return the Hessian-vector product: the derivative of the gradient of a loss along ``v``.

    Shapes: loss (), ``v`` and the result as ``x``, which is over the dimensions of ``v`` too.

    >>> import ostinato as ot
    >>> x = ot.input("x", shape=(2,))
    >>> loss = x[0] * x[0] * x[1]
    >>> ot.Program(h=ot.hvp(loss, x, [1.0, 0.0])).interpret(x=[3.0, 5.0])["h"].tolist()
    [10.0, 6.0]
    """
    vector = stop_gradient(met(x, v)[1])
    held = (*loss.node.domain, *_further(vector, x))
    return grad(_paired(grad(loss, x), vector, "x", place(), held), x)


def _require_float(y: Tensor) -> None:
    """Refuse to differentiate what is no float.

    Errors: GradientError.
    """
    if not has_derivative(y.dtype):
        fact = f"the derivative of {called(y.node)}, which is {y.dtype}"
        raise GradientError(
            fact, 'Only floats have derivatives: write `.cast("float32")`.', place()
        )


def _at(x: Tensor, steps: Mapping[Dim, Dim]) -> Tensor:
    """A tensor over other dimensions."""
    moved = build.read(x.node, tuple((d, expr(other)) for d, other in steps.items()), place())
    return Tensor(moved, merged(x))


def _further(vector: Tensor, x: Tensor) -> tuple[Dim, ...]:
    """The dimensions of a vector along which ``x`` is the same: there is a derivative for each."""
    return tuple(d for d in vector.node.domain if d not in x.node.domain)


def _paired(y: Tensor, v: object, name: str, where: str, held: tuple[Dim, ...]) -> Tensor:
    """The sum of ``y * v`` over all axes, and over the dimensions that are not held."""
    vector = as_tensor(v)
    if vector.node.shape != y.node.shape:
        fact = f"the vector has shape {show_shape(vector.node.shape)}, `{name}` has shape "
        remedy = f"Give the vector the shape of `{name}`."
        raise ShapeError(fact + show_shape(y.node.shape), remedy, where)
    out = (y * vector).sum()
    for dim in reversed(out.node.domain):
        if dim not in held:
            out = out.at(**{dim.name: slice(None)}).sum()
    return out


Gradients = Tensor | None | Sequence[Tensor | None]
Differentiable = Callable[..., tuple[Tensor, Callable[[Tensor], Gradients]]]


def custom_gradient(fn: Differentiable) -> Callable[..., Tensor]:
    """Return a function of tensors whose derivative is the one that it gives, not that of its code.

    ``fn(*tensors)`` returns its value and a pull-back: given the derivative of a loss by the value,
    the pull-back returns the derivative by each argument (None: no derivative). Tensors that ``fn``
    uses without having them as arguments are constants. A pull-back is made of operators only: it
    writes no equations.

    Shapes: the pull-back gets the shape of the value, and gives that of each argument.
    Errors: GradientError, when a gradient is asked for, if the pull-back's results do not fit.

    >>> import ostinato as ot
    >>> @ot.custom_gradient
    ... def straight_through(x):
    ...     return ot.round(x), lambda upstream: upstream
    >>> x = ot.input("x")
    >>> y = 3.0 * straight_through(x)
    >>> ot.Program(y=y, g=ot.grad(y, x)).interpret(x=1.4)
    {'y': array(3., dtype=float32), 'g': array(3., dtype=float32)}
    """

    @wraps(fn)
    def differentiable(*arguments: object) -> Tensor:
        where = place()
        inputs = [as_tensor(x) for x in arguments]
        made = cast(object, fn(*inputs))
        pair = cast(tuple[object, ...], made) if is_a(made, tuple) else ()
        if len(pair) != 2 or not isinstance(pair[0], Tensor) or not callable(pair[1]):
            fact = f"`{fn.__name__}` returns {shown(made)}"
            remedy = "Return its value, a tensor, and its pull-back, a function: `return y, pull`."
            raise GradientError(fact, remedy, where)
        value, pull_back = pair[0], cast(Callable[[Tensor], Gradients], pair[1])
        known = merged(value, *inputs)
        pull = _PullBack(pull_back, known)
        node = build.custom(value.node, [x.node for x in inputs], pull, where)
        return Tensor(node, known, value.over)

    return differentiable


class _PullBack:
    """A user's pull-back as a function of nodes."""

    def __init__(self, fn: Callable[[Tensor], Gradients], known: frozenset[Definition]) -> None:
        self.fn, self.known = fn, known
        self.last: tuple[Node, tuple[Node | None, ...]] | None = None

    def __call__(self, node: Node, upstream: Node) -> tuple[Node | None, ...]:
        if self.last is None or self.last[0] != upstream:
            self.last = (upstream, self._run(node, upstream))
        return self.last[1]

    def _run(self, node: Node, upstream: Node) -> tuple[Node | None, ...]:
        found = self.fn(Tensor(upstream, frozenset()))
        single = found is None or isinstance(found, Tensor)
        many = items_of(found)
        results = [found] if single or many is None else list(cast(Sequence[Tensor], many))
        strange = next((x for x in results if not isinstance(x, Tensor | None)), None)
        if strange is not None:
            fact = f"the pull-back of {called(node)} returns {shown(strange)}"
            raise GradientError(fact, "Return a tensor, or None, per argument.", node.where)
        read = {d for d in merged(*results) if not isinstance(d.rec.op, Input)}
        strangers = read - set(reachable(self.known).values())
        if strangers:
            names = ", ".join(sorted(f"`{d.rec}`" for d in strangers))
            fact = f"the pull-back of {called(node)} reads {names}, which its function does not"
            remedy = "Pass what it reads as an argument of the function."
            raise GradientError(fact, remedy, node.where)
        return tuple(x.node if isinstance(x, Tensor) else None for x in results)
