"""Neural networks: parameters are recurrent tensors over the iterations of learning."""

from ostinato.nn import init
from ostinato.nn.linear import Linear
from ostinato.nn.mlp import MLP
from ostinato.nn.module import Module, parameter

__all__ = ["MLP", "Linear", "Module", "init", "parameter"]
