"""Rates that change: functions of the index of an update, 0 at the first, as a tensor.

They are given to an optimizer in place of a number. Lengths count updates: they may be numbers,
extents such as ``i.size``, or tensors such as inputs.
"""

from __future__ import annotations

import math

from ostinato.language.dims import IndexExpression
from ostinato.language.functions.basic import cos, full, minimum, where
from ostinato.language.kinds import Finite, Positive
from ostinato.language.surface import declare
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.optim.optimizer import Schedule

Steps = Tensor | IndexExpression | Positive


def constant(rate: Tensor | Finite) -> Schedule:
    """Return the schedule that is always ``rate``.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> float(ot.Program(rate=optim.schedule.constant(0.5)(ot.index(3))).interpret()["rate"])
    0.5
    """
    return lambda update: full((), rate)


def linear(start: Tensor | Finite, end: Tensor | Finite, steps: Steps) -> Schedule:
    """Return the straight line from ``start`` to ``end``, which is reached after ``steps`` updates.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> rate = optim.schedule.linear(1.0, 0.0, i.size)(ot.index(i))
    >>> ot.Program(rate=rate).interpret(I=4)["rate"].tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    return lambda update: start + (end - start) * _progress(update, steps)


def cosine(start: Tensor | Finite, steps: Steps, end: Tensor | Finite = 0.0) -> Schedule:
    """Return half a cosine wave from ``start`` down to ``end``, which is reached after ``steps``.

    Source: Loshchilov and Hutter 2017, SGDR, equation 5, without restarts.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> rate = optim.schedule.cosine(1.0, 2)(ot.index(i))
    >>> ot.Program(rate=rate).interpret(I=3)["rate"].round(4).tolist()
    [1.0, 0.5, 0.0]
    """

    def rate(update: Tensor) -> Tensor:
        return end + (start - end) * (0.5 + 0.5 * cos(_progress(update, steps) * math.pi))

    return rate


def exponential(start: Tensor | Finite, factor: Tensor | Finite) -> Schedule:
    """Return ``start * factor**update``.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> rate = optim.schedule.exponential(1.0, 0.5)(ot.index(i))
    >>> ot.Program(rate=rate).interpret(I=3)["rate"].tolist()
    [1.0, 0.5, 0.25]
    """
    return lambda update: start * factor ** update.cast("float32")


def warmup(steps: Steps, after: Tensor | Finite | Schedule, start: Finite = 0.0) -> Schedule:
    """Return a linear rise for ``steps`` updates, then another schedule from its beginning.

    The first rate is ``start`` times the first rate of ``after``, which may be a number too.
    Source: Goyal et al. 2017, Accurate, large minibatch SGD, section 2.2.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> rate = optim.schedule.warmup(2, optim.schedule.exponential(1.0, 0.5))(ot.index(i))
    >>> ot.Program(rate=rate).interpret(I=5)["rate"].tolist()
    [0.0, 0.5, 1.0, 0.5, 0.25]
    """
    then = after if callable(after) else constant(after)

    def rate(update: Tensor) -> Tensor:
        length = as_tensor(steps)
        rising = then(as_tensor(0)) * (start + (1 - start) * _progress(update, steps))
        return where(update < length, rising, then(update - minimum(update, length)))

    return rate


def _progress(update: Tensor, steps: Steps) -> Tensor:
    """How much of ``steps`` updates is done, from 0 to 1."""
    return minimum(update.cast("float32") / steps, 1.0)


declare(__name__)
