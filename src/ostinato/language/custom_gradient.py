"""Functions with a derivative of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import cast

from ostinato.language.definition import Definition, reachable
from ostinato.language.kinds import items_of
from ostinato.language.shown import is_a, shown
from ostinato.language.tensor import Tensor, as_tensor, merged
from ostinato.pdg.build import order
from ostinato.pdg.errors import GradientError
from ostinato.pdg.naming import called
from ostinato.pdg.node import Custom, Input, Node, intern
from ostinato.pdg.origin import Origin
from ostinato.provenance.place import place

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
        operands = (value.node, *(x.node for x in inputs))
        known = merged(value, *inputs)
        op = Custom("stop_gradient", _PullBack(pull_back, known))
        domain = order({d for x in operands for d in x.domain})
        key = (op, operands, domain, value.node.shape, value.dtype)
        return Tensor(intern(key, Origin(where, value.node.label)), known, value.over)

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
