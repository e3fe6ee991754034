"""Neural networks: parameters are recurrent tensors over the iterations of learning."""

from ostinato.language.surface import declare
from ostinato.nn import init
from ostinato.nn.attention import Attention, attend
from ostinato.nn.conv import Conv
from ostinato.nn.dropout import dropout
from ostinato.nn.embedding import Embedding
from ostinato.nn.gru import GRU, GRUCell
from ostinato.nn.linear import Linear
from ostinato.nn.lstm import LSTM, LSTMCell
from ostinato.nn.mlp import MLP
from ostinato.nn.module import Module, parameter
from ostinato.nn.normalization import LayerNorm, RMSNorm
from ostinato.nn.rope import rope
from ostinato.nn.swiglu import SwiGLU
from ostinato.nn.unroll import unroll

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
    "parameter",
    "rope",
    "unroll",
]

declare(__name__, __all__)
