"""Limits on gradients."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.language.functions.basic import clip, minimum, sqrt, square
from ostinato.language.kinds import Limit
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.optim.optimizer import Optimizer
from ostinato.pdg.errors import OptionError
from ostinato.provenance.place import place


def global_norm(tensors: Sequence[Tensor]) -> Tensor:
    """Return the Euclidean length of all elements of several tensors together, at each point.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> x = [ot.constant([3.0, 0.0]), ot.constant(4.0)]
    >>> float(ot.Program(norm=optim.global_norm(x)).interpret()["norm"])
    5.0
    """
    total = as_tensor(0.0)
    for k, tensor in enumerate(tensors):
        squares = square(tensor).sum()
        total = squares if k == 0 else total + squares
    return sqrt(total)


def clip_norm(gradients: Sequence[Tensor], limit: Tensor | Limit) -> tuple[Tensor, ...]:
    """Return gradients scaled by one factor so that their global norm is at most ``limit``.

    The factor is ``min(1, limit / (norm + 1e-6))``, as in PyTorch.
    Source: Pascanu et al. 2013, On the difficulty of training recurrent neural networks.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> (x,) = optim.clip_norm([ot.constant([6.0, 8.0])], 5.0)
    >>> ot.Program(x=x).interpret()["x"].round(4).tolist()
    [3.0, 4.0]
    """
    factor = minimum(limit / (global_norm(gradients) + 1e-6), 1.0)
    return tuple(gradient * factor for gradient in gradients)


def clip_value(gradients: Sequence[Tensor], limit: Tensor | Limit) -> tuple[Tensor, ...]:
    """Return gradients with every element between ``-limit`` and ``limit``.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> (x,) = optim.clip_value([ot.constant([3.0, -0.5])], 1.0)
    >>> ot.Program(x=x).interpret()["x"].tolist()
    [1.0, -0.5]
    """
    return tuple(clip(gradient, -limit, limit) for gradient in gradients)


class Clipped(Optimizer):
    """An optimizer that sees clipped gradients: by value first, then by global norm.

    The norm is taken over all parameters of one `update` or `minimize`.

    Errors: OptionError if there is no limit.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.recurrent("w", over=i)
    >>> w[0] = 4.0
    >>> optim.Clipped(optim.SGD(1.0), value=0.5).minimize(w * w, [w])
    >>> ot.Program(w=w).interpret(I=3)["w"].tolist()
    [4.0, 3.5, 3.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        norm: Tensor | Limit | None = None,
        value: Tensor | Limit | None = None,
    ) -> None:
        if norm is None and value is None:
            raise OptionError("gradients clipped by nothing", "Give norm= or value=.", place())
        self.optimizer = optimizer
        self.norm = norm
        self.value = value

    def step(self, parameter: Recurrent, gradient: Tensor) -> Tensor:
        return self.optimizer.step(parameter, *self._clip([gradient]))

    def update(self, parameters: Sequence[Recurrent], gradients: Sequence[Tensor]) -> None:
        self.optimizer.update(parameters, self._clip(gradients))

    def _clip(self, gradients: Sequence[Tensor]) -> Sequence[Tensor]:
        if self.value is not None:
            gradients = clip_value(gradients, self.value)
        return gradients if self.norm is None else clip_norm(gradients, self.norm)
