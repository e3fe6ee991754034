"""Which steps an update learns from: parts of what was just played, or draws from long ago."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.language import random
from ostinato.language.dims import Dimension, dim
from ostinato.language.functions.basic import arange
from ostinato.language.kinds import Count
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor


def minibatch(
    dims: Sequence[Dimension], part: Dimension, parts: Count, over: Over
) -> dict[str, Tensor]:
    """Return the positions of a part of all points of some dimensions, in a random order.

    The order is another one at every point of ``over``, and ``part`` counts its ``parts``, which
    are equally long: up to ``parts - 1`` points are left out. ``x.at(**positions)`` has the rows
    of a part along its first axis.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, e, t = ot.dims("b e t")
    >>> m = ot.dim("m", size=2)
    >>> rows = rl.minibatch((b, t), m, 2, over=e)
    >>> x = (4 * ot.index(b) + ot.index(t)).at(**rows)
    >>> found = ot.Program(x=x).interpret(E=1, B=2, T=4)["x"]
    >>> found.shape, sorted(found.ravel().tolist())
    ((1, 2, 4), [0, 1, 2, 3, 4, 5, 6, 7])
    """
    count = dims[0].size
    for each in dims[1:]:
        count = count * each.size
    rows = dim(f"{part.name}_row", size=count).size
    shuffled = random.permutation(rows, over=over)
    chosen = shuffled.take(parts * arange(rows // parts) + part, axis=0)
    found: dict[str, Tensor] = {}
    for each in reversed(dims[1:]):
        found[each.name] = chosen % each.size
        chosen = chosen // each.size
    return {dims[0].name: chosen, **found}
