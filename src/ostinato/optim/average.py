"""Averages of parameters over the updates: often better than the last ones, and steadier targets.

Average a whole model by `Module.map`: ``slow = model.map(lambda w: exponential_average(w, 0.99))``.
"""

from __future__ import annotations

from ostinato.language.carry import Carry
from ostinato.language.functions.basic import maximum, where
from ostinato.language.kinds import Natural, Probability
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.optim.optimizer import advance, iteration, moment, updates


def exponential_average(parameter: Tensor, decay: Tensor | Probability) -> Recurrent:
    """Return ``a`` with ``a[i + 1] = decay * a[i] + (1 - decay) * parameter[i + 1]``.

    It starts at the parameter itself. Target networks of reinforcement learning are this with a
    decay such as 0.995.

    Shapes: those of the parameter, over its dimensions; ``i`` is the last one.
    Units: the decay is per update, in [0, 1].
    Errors: EquationError if the parameter has no dimension.
    Source: Polyak and Juditsky 1992, Acceleration of stochastic approximation by averaging.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.input("w", over=i)
    >>> program = ot.Program(a=optim.exponential_average(w, 0.5))
    >>> program.interpret(w=[0.0, 4.0, 4.0])["a"].tolist()
    [0.0, 2.0, 3.0]
    """
    average = moment(parameter, "average", _start(parameter))
    following = _following(parameter)
    advance(average, decay * average + (1 - decay) * following)
    return average


def running_average(parameter: Tensor, start: Natural = 0) -> Recurrent:
    """Return the mean of a parameter over its updates from ``start`` to the current one.

    Before ``start`` it is the parameter itself.

    Shapes: those of the parameter, over its dimensions; the last one is averaged over.
    Units: ``start`` counts updates.
    Errors: EquationError if the parameter has no dimension.
    Source: Polyak and Juditsky 1992; with a late start, Izmailov et al. 2018, Averaging weights
    leads to wider optima.

    >>> import ostinato as ot
    >>> from ostinato import optim
    >>> i = ot.dims("i")
    >>> w = ot.input("w", over=i)
    >>> ot.Program(a=optim.running_average(w)).interpret(w=[0.0, 4.0, 5.0])["a"].tolist()
    [0.0, 2.0, 3.0]
    """
    average = moment(parameter, "average", _start(parameter))
    following, count = _following(parameter), updates(parameter) + 1
    averaged = maximum(count + 1 - start, 1).cast(parameter.dtype)
    mean = average + (following - average) / averaged
    advance(average, where(count <= start, following, mean))
    return average


def _start(parameter: Tensor) -> Tensor:
    over = parameter.over_carried.dims if isinstance(parameter, Carry) else (iteration(parameter),)
    return parameter.at(**{d.name: 0 for d in over})


def _following(parameter: Tensor) -> Tensor:
    if isinstance(parameter, Carry):
        return parameter.after
    i = iteration(parameter)
    return parameter.at(**{i.name: i + 1})
