"""Neural networks: parameters are recurrent tensors over the iterations of learning."""

from ostinato.language.surface import declare
from ostinato.nn import init
from ostinato.nn.attention import Attention, attend, rope
from ostinato.nn.cells import GRU, LSTM, GRUCell, LSTMCell, unroll
from ostinato.nn.layers import MLP, Conv, Embedding, LayerNorm, Linear, RMSNorm, SwiGLU, dropout
from ostinato.nn.module import Module, parameter
from ostinato.nn.state_dict import load_weights, save_weights

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "Attention",
    "Conv",
    "Embedding",
    "GRUCell",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "Module",
    "RMSNorm",
    "SwiGLU",
    "attend",
    "dropout",
    "init",
    "load_weights",
    "parameter",
    "rope",
    "save_weights",
    "unroll",
]

declare(__name__, __all__)
