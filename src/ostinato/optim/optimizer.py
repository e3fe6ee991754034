"""What every optimizer does."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.dims import Dimension
from ostinato.gradient import grad
from ostinato.pdg.errors import EquationError
from ostinato.place import place
from ostinato.recurrent import Recurrent, recurrent
from ostinato.tensor import Tensor


class Optimizer:
    """Writes ``parameter[..., i + 1] = step(parameter, gradient)`` for a list of parameters."""

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        """Return the parameter of the next iteration, from the current one and its gradient."""
        raise NotImplementedError

    def update(self, parameters: Sequence[Recurrent], gradients: Sequence[Tensor]) -> None:
        """Write the next iteration of every parameter.

        Errors: EquationError if a parameter has no dimension, or a gradient more than its own.
        """
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
        """
        self.update(parameters, grad(loss, parameters))


def iteration(parameter: Recurrent) -> Dimension:
    """Return the dimension that counts updates: the last of ``over``."""
    if not parameter.over:
        fact = f"`{parameter.node}` is over no dimension, so it has no next iteration"
        raise EquationError(fact, "Give it the dimension of the iterations: over=i.", place())
    return Dimension(parameter.over[-1])


def advance(parameter: Recurrent, following: Tensor) -> None:
    """Write the equation of the next iteration."""
    outer = [Dimension(dim) for dim in parameter.over[:-1]]
    parameter[(*outer, iteration(parameter) + 1)] = following


def moment(parameter: Recurrent, name: str) -> Recurrent:
    """Return a running value with the shape and dimensions of a parameter, 0 at the start."""
    over = [Dimension(dim) for dim in parameter.over]
    iteration(parameter)
    out = recurrent(f"{parameter.node}_{name}", over=over, like=parameter)
    out[(*over[:-1], 0)] = 0
    return out
