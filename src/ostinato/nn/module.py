"""Parameters and the things that have them."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.dims import Dimension
from ostinato.nn.init import Initializer
from ostinato.optim.optimizer import Optimizer
from ostinato.recurrent import Over, Recurrent, recurrent
from ostinato.tensor import Tensor


def parameter(name: str, shape: Sequence[int], init: Initializer, over: Over = ()) -> Recurrent:
    """Return a recurrent tensor with its initial value.

    The last dimension of ``over`` counts the updates: there the value at 0 is drawn, independently
    at every point of the other dimensions, and an optimizer writes the equation of ``i + 1``.

    >>> import ostinato as ot
    >>> from ostinato.nn import init, parameter
    >>> parameter("w", (4, 2), init.lecun_normal, over=ot.dims("i"))
    <w: float32[4, 2] over (i)>
    """
    dims = (over,) if isinstance(over, Dimension) else tuple(over)
    out = recurrent(name, shape, over=dims)
    if dims:
        out[(*dims[:-1], 0)] = init(shape, dims[:-1])
    else:
        out[True] = init(shape, ())
    return out


class Module:
    """Something with parameters."""

    @property
    def parameters(self) -> tuple[Recurrent, ...]:
        """All parameters, in a fixed order."""
        raise NotImplementedError

    def update(self, optimizer: Optimizer, loss: Tensor) -> None:
        """Write the equations of the next iteration: one step of the optimizer against the loss.

        Write all equations that the loss needs before.
        """
        optimizer.minimize(loss, self.parameters)
