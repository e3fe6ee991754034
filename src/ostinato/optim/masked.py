"""Updates that happen at some steps only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.optimizer import Optimizer, only_where


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
