"""Optimizers: they write the equations of the next iteration's parameters."""

from ostinato.optim.adam import Adam
from ostinato.optim.optimizer import Optimizer
from ostinato.optim.sgd import SGD

__all__ = ["SGD", "Adam", "Optimizer"]
