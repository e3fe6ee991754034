"""Optimizers: they write the equations of the next iteration's parameters."""

from ostinato.language.surface import declare
from ostinato.optim import schedule
from ostinato.optim.adaptive import LAMB, Adagrad, Adam, AdamW, RMSProp
from ostinato.optim.average import exponential_average, running_average
from ostinato.optim.clip import Clipped, clip_norm, clip_value, global_norm
from ostinato.optim.momentum import SGD, Lion
from ostinato.optim.optimizer import Masked, Optimizer, Schedule

__all__ = [
    "LAMB",
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Clipped",
    "Lion",
    "Masked",
    "Optimizer",
    "RMSProp",
    "Schedule",
    "clip_norm",
    "clip_value",
    "exponential_average",
    "global_norm",
    "running_average",
    "schedule",
]

declare(__name__, __all__)
