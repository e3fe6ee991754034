"""Steps along a running mean of the gradient: SGD, and Lion, which takes its sign."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from ostinato.language.functions.basic import sign
from ostinato.language.kinds import Fraction, NonNegative
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.adaptive import shrunk
from ostinato.optim.optimizer import Optimizer, Rate, advance, decayed, moment, rate_of
from ostinato.pdg.errors import OptionError
from ostinato.provenance.place import place


class SGD(Optimizer):
    """``w - rate * v`` with ``v = momentum * v + gradient``, as in PyTorch.

    With ``nesterov`` the step looks ahead: ``w - rate * (gradient + momentum * v)``. The gradient
    includes ``weight_decay * w``. The rate may be a tensor, such as an input, or a schedule.

    Errors: OptionError for ``nesterov`` without momentum.
    Source: Sutskever et al. 2013, On the importance of initialization and momentum.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 0.0
    >>> optim.SGD(1.0, momentum=0.5).minimize(w, [w])
    >>> ot.Program(w=w).interpret(I=4)["w"].tolist()
    [0.0, -1.0, -2.5, -4.25]
    """

    def __init__(
        self,
        learning_rate: Rate,
        momentum: Fraction = 0.0,
        *,
        nesterov: bool = False,
        weight_decay: Tensor | NonNegative = 0.0,
    ) -> None:
        if nesterov and momentum == 0.0:
            fact = "SGD looks ahead (nesterov) without momentum"
            raise OptionError(fact, "Give a momentum, such as 0.9.", place())
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.nesterov = nesterov
        self.weight_decay = weight_decay

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        change = decayed(gradient, parameter, self.weight_decay)
        if self.momentum != 0.0:
            velocity = moment(parameter, "velocity")
            following = self.momentum * velocity + change
            advance(velocity, following)
            change = change + self.momentum * following if self.nesterov else following
        return parameter - rate_of(self.learning_rate, parameter) * change


@dataclass(eq=False, repr=False)
class Lion(Optimizer):
    """``w - rate * sign(beta1 * m + (1 - beta1) * g)``, one running mean ``m`` per parameter.

    ``m`` decays by ``beta2``. Every element moves by the rate, so rates are three to ten times
    smaller than for Adam. Weight decay is decoupled, as in `AdamW`. The rate may be a tensor, such
    as an input, or a schedule.

    Source: Chen et al. 2023, Symbolic discovery of optimization algorithms, program 1.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 1.0
    >>> optim.Lion(0.25).minimize(100 * w, [w])
    >>> ot.Program(w=w).interpret(I=3)["w"].tolist()
    [1.0, 0.75, 0.5]
    """

    learning_rate: Rate = 1e-4
    betas: tuple[Fraction, Fraction] = (0.9, 0.99)
    _: KW_ONLY
    weight_decay: Tensor | NonNegative = 0.0

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        (beta1, beta2), mean = self.betas, moment(parameter, "mean")
        advance(mean, beta2 * mean + (1 - beta2) * gradient)
        rate = rate_of(self.learning_rate, parameter)
        direction = sign(beta1 * mean + (1 - beta1) * gradient)
        return shrunk(parameter, rate, self.weight_decay) - rate * direction
