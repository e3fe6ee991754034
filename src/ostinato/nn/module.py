"""Parameters and the things that have them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

from ostinato.language.carry import Carried, Carry, carry
from ostinato.language.dims import Dimension, IndexExpression
from ostinato.language.functions.basic import zeros
from ostinato.language.kinds import Count
from ostinato.language.recurrent import Over, Recurrent, define, input
from ostinato.language.tensor import Tensor, constant
from ostinato.nn.init import Initializer
from ostinato.nn.state_dict import Weight, arrays, below, fitting, independent
from ostinato.optim.optimizer import Optimizer
from ostinato.pdg.errors import EquationError
from ostinato.pdg.functions import Array
from ostinato.pdg.naming import called
from ostinato.provenance.place import place


def parameter(name: str, shape: Sequence[Count], init: Initializer, over: Over = ()) -> Recurrent:
    """Return a recurrent tensor with its initial value.

    The last dimension of ``over`` counts the updates: there the value at 0 is drawn, independently
    at every point of the other dimensions, and an optimizer writes the equation of ``i + 1``. With
    ``over=ot.carried(i, e, m)`` there is an update at every step of these nested loops.

    >>> import ostinato as ot
    >>> from ostinato.nn import init, parameter
    >>> parameter("w", (4, 2), init.lecun_normal, over=ot.dims("i"))
    <w: float32[4, 2] over (i)>
    """
    if isinstance(over, Carried):
        like = zeros(tuple(shape))
        return carry(name, init(shape, over.each), over, like=like)
    dims = (over,) if isinstance(over, Dimension) else tuple(over)
    out = define(name, shape, over=dims)
    if dims:
        out[(*dims[:-1], 0)] = init(shape, dims[:-1])
    else:
        out[True] = init(shape, ())
    return out


class Module:
    """Something with parameters: the recurrent tensors among its attributes, and in its parts.

    Parts are other modules, alone or in tuples, lists and dictionaries.

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> class Residual(nn.Module):
    ...     def __init__(self, size: int, over: ot.Dimension) -> None:
    ...         self.scale = nn.parameter("scale", (size,), nn.init.zeros, over)
    ...         self.inner = nn.Linear(size, size, over)
    ...
    ...     def __call__(self, x: ot.Tensor) -> ot.Tensor:
    ...         return x + self.scale * self.inner(x)
    >>> [str(p.node) for p in Residual(4, ot.dims("i")).parameters]
    ['scale', 'linear_weight', 'linear_bias']
    """

    @property
    def parameters(self) -> tuple[Recurrent, ...]:
        """All parameters in the order of the attributes, each once."""
        found = {id(x): x for x in _tensors(self) if isinstance(x, Recurrent)}
        return tuple(found.values())

    def map(self, fn: Callable[[Tensor], Tensor]) -> Self:
        """Return the module with a function of every parameter in its place.

        It computes with parameters of other iterations, with averaged or with frozen ones.

        >>> import ostinato as ot
        >>> from ostinato import nn, optim
        >>> i, t = ot.dims("i t")
        >>> policy = nn.Linear(4, 2, over=i)
        >>> target = policy.map(lambda w: optim.exponential_average(w, 0.99))
        >>> delayed = policy.map(lambda w: w[i - i % 100])
        >>> delayed(ot.input("x", shape=(4,), over=t))
        <float32[2] over (i, t)>
        """
        return cast(Self, _mapped(self, fn, {}))

    def at(self, **positions: IndexExpression | int) -> Self:
        """Return the module with its parameters at other points, by the names of dimensions.

        Parameters over ``ot.carried(i, e, m)`` have at ``e=0, m=0`` the values with which an
        iteration begins: those it acts with. Gradients by the module's own parameters count them as
        constants.

        >>> import ostinato as ot
        >>> from ostinato import nn
        >>> i, e, m, t = ot.dims("i e m t")
        >>> policy = nn.Linear(4, 2, over=ot.carried(i, e, m))
        >>> policy.at(e=0, m=0)(ot.input("x", shape=(4,), over=t))
        <float32[2] over (i, t)>
        """
        return self.map(lambda parameter: parameter.at(**positions))

    @property
    def final(self) -> Self:
        """The module with its parameters after all updates.

        Errors: EquationError if they are not over ``ot.carried(...)``.
        """
        return self.map(_final)

    def named_weights(self) -> Iterator[Weight]:
        """Its parameters with the names and the layout that PyTorch has for them.

        The names are those of the attributes, if a class does not say otherwise.
        """
        for name, value in vars(self).items():
            yield from _weights(value, name)

    def state_dict(self, values: Mapping[str, Array] | None = None) -> dict[str, Any]:
        """Return its parameters as PyTorch has them: by path, a matrix as outputs by inputs.

        Without values they are tensors, such as outputs of a program; from a state of a stream, or
        from arrays by the names of the parameters, they are arrays. `MLP` has the names of a
        ``Sequential``, so that PyTorch's ``load_state_dict`` takes them as they are. Where a
        program reads parameters of earlier steps, a state has those with which its last step began.

        Errors: ArgumentError if a parameter is not among the values.

        >>> import ostinato as ot
        >>> from ostinato import nn
        >>> model = nn.MLP(3, [8], 2)
        >>> found = ot.Program(**model.state_dict()).interpret()
        >>> {name: array.shape for name, array in found.items()}
        {'0.weight': (8, 3), '0.bias': (8,), '2.weight': (2, 8), '2.bias': (2,)}
        """
        if values is not None:
            return arrays(self.named_weights(), values)
        return {w.name: w.laid_out for w in self.named_weights()}

    def as_inputs(self, name: str = "weights") -> Self:
        """Return the module with inputs of a program in the place of its parameters.

        The weights are then arguments, which `arguments` makes of weights as PyTorch has them.
        Parameters of independent trainings are inputs along the dimensions of these.

        >>> import numpy as np
        >>> import ostinato as ot
        >>> from ostinato import nn
        >>> layer = nn.Linear(3, 2)
        >>> run = ot.Program(y=layer.as_inputs()(ot.input("x", (3,)))).compile()
        >>> weights = {"weight": np.eye(2, 3), "bias": [0, 10]}
        >>> run(x=[1, 2, 3], **layer.arguments(weights))["y"].tolist()
        [1.0, 12.0]
        """
        made = {
            id(w.tensor): input(
                w.argument(name), w.tensor.shape, w.tensor.dtype, independent(w.tensor)
            )
            for w in self.named_weights()
        }
        return self.map(lambda tensor: made[id(tensor)])

    def arguments(self, weights: Mapping[str, object], name: str = "weights") -> dict[str, Array]:
        """Return weights as PyTorch has them as the arguments for `as_inputs`.

        Errors: ArgumentError for a weight that is missing or has another shape, and a strange one.
        """
        found = fitting(self.named_weights(), weights, lambda tensor: len(independent(tensor)))
        return {w.argument(name): found[id(w.tensor)] for w in self.named_weights()}

    def with_weights(self, weights: Mapping[str, object]) -> Self:
        """Return the module with given weights in the place of its parameters: it learns no more.

        They are arrays by the names and in the layout of PyTorch, such as `nn.load_weights` gives.

        Errors: ArgumentError for a weight that is missing or has another shape, and a strange one.

        >>> import numpy as np
        >>> import ostinato as ot
        >>> from ostinato import nn
        >>> layer = nn.Linear(2, 1).with_weights({"weight": np.array([[3, 4]]), "bias": [1]})
        >>> ot.Program(y=layer(ot.constant([1.0, 1.0]))).interpret()["y"].tolist()
        [8.0]
        """
        found = fitting(self.named_weights(), weights)
        return self.map(lambda tensor: constant(found[id(tensor)], tensor.dtype))

    def update(self, optimizer: Optimizer, loss: Tensor) -> None:
        """Write the equations of the next iteration: one step of the optimizer against the loss.

        Write all equations that the loss needs before.
        """
        optimizer.minimize(loss, self.parameters)


def _final(parameter: Tensor) -> Tensor:
    if isinstance(parameter, Carry):
        return parameter.final
    fact = f"{called(parameter.node)} has no value after all updates"
    remedy = "Carry it: over=ot.carried(i) keeps what the last update leaves."
    raise EquationError(fact, remedy, place())


def _weights(value: object, name: str) -> Iterator[Weight]:
    """The weights in a module, in containers, or of a single tensor."""
    match value:
        case Tensor():
            yield Weight(name, value)
        case Module():
            yield from below(name, value.named_weights())
        case dict():
            for key, part in cast(dict[object, object], value).items():
                yield from below(name, _weights(part, str(key)))
        case tuple() | list():
            for k, part in enumerate(cast(Sequence[object], value)):
                yield from below(name, _weights(part, str(k)))
        case _:
            pass


def _tensors(value: object) -> Iterable[Tensor]:
    """The tensors in a module, a container or a single value."""
    match value:
        case Tensor():
            yield value
        case Module():
            yield from _tensors(vars(value))
        case dict():
            for part in cast(dict[object, object], value).values():
                yield from _tensors(part)
        case tuple() | list():
            for part in cast(Sequence[object], value):
                yield from _tensors(part)
        case _:
            pass


def _mapped(value: object, fn: Callable[[Tensor], Tensor], done: dict[int, object]) -> object:
    """The value with its tensors replaced; what is shared inside it stays shared."""
    key = id(value)
    if key in done:
        return done[key]
    match value:
        case Tensor():
            out: object = fn(value)
        case Module():
            out = copy.copy(value)
            vars(out).update(cast(dict[str, object], _mapped(vars(value), fn, done)))
        case dict():
            parts = cast(dict[object, object], value)
            out = {name: _mapped(part, fn, done) for name, part in parts.items()}
        case tuple() | list():
            found = [_mapped(part, fn, done) for part in cast(Sequence[object], value)]
            out = tuple(found) if isinstance(value, tuple) else found
        case _:
            return value
    done[key] = out
    return out
