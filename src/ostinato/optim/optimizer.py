"""What every optimizer does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ostinato.language.carry import Carry, carry
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import index, where
from ostinato.language.gradient import grad
from ostinato.language.kinds import NonNegative
from ostinato.language.recurrent import Recurrent, define
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import ArgumentError, EquationError, GradientError
from ostinato.pdg.naming import called
from ostinato.pdg.node import Const
from ostinato.provenance.place import place

# A rate at each update: of the index of the update, 0 at first, as an int32 tensor.
Schedule = Callable[[Tensor], Tensor]
Rate = Tensor | NonNegative | Schedule


class Optimizer(ABC):
    """Writes ``parameter[..., i + 1] = step(parameter, gradient)`` for a list of parameters.

    A subclass says what `step` is. ``i`` is the last dimension of the parameter; along the others
    every point learns on its own. Parameters that are carried through nested loops
    (`ostinato.carry`) are updated at every step of these loops, and so is the optimizer's state.
    """

    @abstractmethod
    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        """Return the parameter of the next iteration, from the current one and its gradient."""

    def update(self, parameters: Sequence[Recurrent], gradients: Sequence[Tensor]) -> None:
        """Write the next iteration of every parameter.

        Several optimizers may share the parameters of a model between them: take the gradients
        once, and give each optimizer its part.

        Errors: EquationError if a parameter has no dimension, or a gradient more than its own;
        ArgumentError if there are not as many gradients as parameters.
        """
        if len(parameters) != len(gradients):
            fact = f"{len(parameters)} parameters are updated by {len(gradients)} gradients"
            raise ArgumentError(fact, "Give one gradient per parameter, in their order.", place())
        for parameter, gradient in zip(parameters, gradients, strict=True):
            advance(parameter, self.step(parameter, gradient))

    def minimize(self, loss: Tensor, parameters: Sequence[Recurrent]) -> None:
        """Write the next iteration of every parameter, against the gradient of a loss.

        >>> import ostinato as ot
        >>> from ostinato import optim
        >>> i = ot.dims("i")
        >>> w = ot.recurrent("w", over=i)
        >>> w[0] = 4.0
        >>> optim.SGD(0.25).minimize(w * w, [w])
        >>> ot.Program(w=w).interpret(I=3)["w"].tolist()
        [4.0, 2.0, 1.0]

        Errors: GradientError if no parameter has a part in the loss.
        """
        if not parameters:
            fact = f"`{type(self).__name__}` minimizes a loss by no parameters"
            raise ArgumentError(fact, "Give those of a model: model.parameters.", place())
        gradients = grad(loss, parameters)
        if all(isinstance(x.node.op, Const) and not any(x.node.op.values) for x in gradients):
            fact = (
                f"{called(loss.node)} is minimized, and no derivative by a parameter passes to it"
            )
            remedy = (
                "Compute it by the model whose parameters are given, without `ot.stop_gradient`, "
                "integers and comparisons between them."
            )
            raise GradientError(fact, remedy, place())
        self.update(parameters, gradients)


def iteration(parameter: Tensor) -> Dimension:
    """Return the dimension that counts updates: the last of ``over``."""
    if not parameter.over:
        fact = f"{called(parameter.node)} is over no dimension, so it has no next iteration"
        raise EquationError(fact, "Give it the dimension of the iterations: over=i.", place())
    return Dimension(parameter.over[-1])


@dataclass(slots=True)
class _Condition:
    """Where updates happen, and how many have happened: by the dimensions of parameters."""

    when: Tensor
    counts: dict[tuple[object, ...], Recurrent] = field(
        default_factory=dict[tuple[object, ...], Recurrent]
    )

    def count(self, parameter: Tensor) -> Tensor:
        if parameter.over not in self.counts:
            made = moment(parameter, "updates", like=as_tensor(0))
            self.counts[parameter.over] = made
            advance(made, made + 1)
        return self.counts[parameter.over]


_condition: ContextVar[_Condition | None] = ContextVar("_condition", default=None)


@contextmanager
def only_where(when: Tensor) -> Generator[None]:
    """Let the updates that are written inside happen only where a condition holds."""
    outer = _condition.get()
    token = _condition.set(_Condition(when if outer is None else outer.when & when))
    try:
        yield
    finally:
        _condition.reset(token)


@dataclass(eq=False, repr=False)
class Masked(Optimizer):
    """An optimizer that updates where a condition holds, and else leaves everything as it is.

    Its running values, such as momenta, rest with the parameters, and it counts the updates that
    were made: what it does is what it would do if the other steps were not there.

    Shapes: when is a boolean scalar over dimensions of the parameters.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 4.0
    >>> every_other = ot.index(i) % 2 == 1
    >>> optim.Masked(optim.SGD(0.25), every_other).minimize(w * w, [w])
    >>> ot.Program(w=w).interpret(I=5)["w"].tolist()
    [4.0, 4.0, 2.0, 2.0, 1.0]
    """

    optimizer: Optimizer
    when: Tensor

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        return self.optimizer.step(parameter, gradient)

    def update(self, parameters: Sequence[Recurrent], gradients: Sequence[Tensor]) -> None:
        with only_where(self.when):
            self.optimizer.update(parameters, gradients)


def updates(parameter: Tensor) -> Tensor:
    """Return how many updates a parameter has had at the current point, as an int32 tensor."""
    if (condition := _condition.get()) is not None:
        return condition.count(parameter)
    if not isinstance(parameter, Carry):
        return index(iteration(parameter))
    first, *inner = parameter.over_carried.dims
    count = index(first)
    for dim in inner:
        count = count * index(dim.size) + index(dim)
    return count


def rate_of(rate: Rate, parameter: Recurrent) -> Tensor | float:
    """Return a rate at the current update of a parameter."""
    return rate(updates(parameter)) if callable(rate) else rate


def is_zero(value: Tensor | float) -> bool:
    """Whether a hyper-parameter is the number 0, so that its term need not be written."""
    return not isinstance(value, Tensor) and value == 0


def decayed(gradient: Tensor, parameter: Recurrent, weight_decay: Tensor | float) -> Tensor:
    """Return the gradient of the loss plus ``weight_decay / 2 * parameter**2``."""
    return gradient if is_zero(weight_decay) else gradient + weight_decay * parameter


def advance(parameter: Recurrent, following: Tensor) -> None:
    """Write the equation of the next iteration."""
    if (condition := _condition.get()) is not None:
        following = where(condition.when, following, parameter)
    if isinstance(parameter, Carry):
        parameter.step(following)
        return
    outer = [Dimension(dim) for dim in parameter.over[:-1]]
    parameter[(*outer, iteration(parameter) + 1)] = following


def moment(
    parameter: Tensor, name: str, start: Tensor | float = 0, like: Tensor | None = None
) -> Recurrent:
    """Return a running value over the dimensions of a parameter, and its start.

    Its shape and type are those of the parameter, or of ``like``.
    """
    kind = parameter if like is None else like
    if isinstance(parameter, Carry):
        return carry(f"{parameter.node}_{name}", start, parameter.over_carried, like=kind)
    over = [Dimension(dim) for dim in parameter.over]
    iteration(parameter)
    out = define(f"{parameter.node}_{name}", over=over, like=kind)
    out[(*over[:-1], 0)] = start
    return out
