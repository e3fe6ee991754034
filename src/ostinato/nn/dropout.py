"""Dropout."""

from __future__ import annotations

from ostinato.language import random
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import where
from ostinato.language.kinds import Fraction
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor


def dropout(x: Tensor, rate: Tensor | Fraction, over: Over | None = None) -> Tensor:
    """Return ``x`` with elements set to 0 with probability ``rate``, and the others scaled up.

    Draws are independent at every point of ``over`` (default: the dimensions of ``x``) and in every
    element, and belong to this call: a gradient sees the same ones. Use the value without dropout
    where nothing is learnt, or a tensor ``rate`` that is 0 there.

    Shapes: x (...) -> (...).
    Source: Srivastava et al. 2014, Dropout, section 10 (the scaling at training time).

    >>> import ostinato as ot
    >>> from ostinato import nn
    >>> x = ot.ones(1000)
    >>> y = ot.Program(y=nn.dropout(x, 0.5)).interpret()["y"]
    >>> sorted(set(y.tolist())), 400 < sum(y.tolist()) / 2 < 600
    ([0.0, 2.0], True)
    """
    dims = [Dimension(dim) for dim in x.over] if over is None else over
    kept = random.uniform(x.shape, over=dims) >= rate
    return where(kept, x / (1.0 - rate), 0.0)
