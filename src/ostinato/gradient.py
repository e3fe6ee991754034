"""`grad`: gradients as tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from ostinato.definition import Definition, fresh_name, reachable
from ostinato.pdg.errors import GradientError
from ostinato.pdg.naming import called, sized
from ostinato.pdg.node import Equation, Node, Rec, intern
from ostinato.place import place
from ostinato.rebuild import rebuild
from ostinato.tensor import Tensor, merged


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
    if loss.ndim or not loss.dtype.startswith("float"):
        fact = f"the gradient of {sized(loss.node)}, which is {loss.dtype}"
        raise GradientError(fact, "Reduce the loss to one float, by `.mean()` or `.sum()`.", where)
    for x in several:
        if not x.dtype.startswith("float"):
            fact = f"the gradient with respect to {called(x.node)}, which is {x.dtype}"
            remedy = "Only floats have derivatives: differentiate by a float, or cast it first."
            raise GradientError(fact, remedy, where)
    sources = merged(loss, *several)
    known = reachable(sources)
    from ostinato.pdg.grad import gradient  # imports isl, which programs without gradients need not

    found = gradient(
        loss.node,
        [x.node for x in several],
        {name: definition.equation() for name, definition in known.items()},
    )
    nodes, made = _register(found.nodes, found.equations, frozenset(known.values()), where)
    out = tuple(Tensor(node, frozenset((*sources, *made))) for node in nodes)
    return out[0] if isinstance(wrt, Tensor) else out


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
        replaced[old] = intern(key, old.where or where, old.label)
    rights = [right for equation in equations.values() for _, right in equation.cases]
    moved = rebuild([*nodes, *rights], lambda node: replaced.get(node))
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
