"""The perceptron 4-64-64-n by hand: micro-kernels on one worker's flat workspace.

Everything a worker touches in its inner loops lies in one array at literal offsets: a copy of the
parameters, its gradient, and the activations of one tile of samples, row after row. The matrix
products are the compiler's own micro-kernels; what is done by hand is everything around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.codegen.cpu.numba_door import njit
from ostinato.codegen.cpu.prelude import KERNEL, Matmul, Operand, Step, matmul

Floats = npt.NDArray[np.float32]

HIDDEN = 64
TILE = 64  # samples: their activations, 100 KB, stay in the second level of memory
MOST = 2  # outputs of the largest network

# Where the parameters of one network start, from its first one.
W1, B1 = 0, 4 * HIDDEN
W2 = B1 + HIDDEN
B2 = W2 + HIDDEN * HIDDEN
W3 = B2 + HIDDEN  # one row per output
B3 = W3 + MOST * HIDDEN
NETWORK = B3 + 16

ACC = ("name", "acc")
COLUMNS = (Operand("bias", 0, 1), Operand("y", HIDDEN, 1))
TANH = (Step("h", ("tanh", ACC), "y"),)
# Times the derivative of tanh, which is 1 - h * h.
SLOPE = ("sub", ("const", 1.0), ("mul", ("name", "h"), ("name", "h")))
BACK = (Step("d", ("mul", ACC, SLOPE), "y"),)
BOTH = (Operand("h", HIDDEN, 1), Operand("y", HIDDEN, 1))
KEEP = (Step("z", ACC, "y"),)
ROWS = (HIDDEN, 1)


def layer(inputs: int) -> Any:
    """Return ``mm(view, (x, weight, bias, y), (samples,))``: a dense layer with tanh."""
    return matmul(Matmul("float32", "m", HIDDEN, inputs, (inputs, 1), ROWS, COLUMNS, TANH, "bias"))


def head(outputs: int) -> Any:
    """Return the last layer; output ``j`` of sample ``s`` stands at ``y + j * TILE + s``."""
    places = (Operand("bias", 0, 1), Operand("y", 1, TILE))
    return matmul(Matmul("float32", "m", outputs, HIDDEN, ROWS, (1, HIDDEN), places, KEEP, "bias"))


def head_back(outputs: int) -> Any:
    """Return ``mm(view, (dy, weight, h, y), (samples,))``: through the last layer and a tanh."""
    return matmul(Matmul("float32", "m", HIDDEN, outputs, (1, TILE), ROWS, BOTH, BACK))


def outer(rows: int, a: tuple[int, int]) -> Any:
    """Return ``mm(view, (a, b, y), (samples,))``, which adds the sum over samples of a * b."""
    to = (Operand("y", HIDDEN, 1),)
    return matmul(Matmul("float32", rows, HIDDEN, "k", a, ROWS, to, KEEP, "y"))


first, second = layer(4), layer(HIDDEN)
head_1, head_2, head_back_1, head_back_2 = head(1), head(2), head_back(1), head_back(2)
back = matmul(Matmul("float32", "m", HIDDEN, HIDDEN, ROWS, ROWS, BOTH, BACK))
outer_x, outer_h = outer(4, (1, 4)), outer(HIDDEN, (1, HIDDEN))
outer_1, outer_2 = outer(1, (TILE, 1)), outer(2, (TILE, 1))
total = outer(1, (0, 0))  # of rows, with a 1 in the place of a


@njit(**KERNEL)
def forward(w: Any, net: int, outputs: int, x: int, h1: int, h2: int, y: int, n: int) -> None:
    """Compute both hidden layers and the outputs of ``n`` samples."""
    first(w, (x, net + W1, net + B1, h1), (n,))
    second(w, (h1, net + W2, net + B2, h2), (n,))
    if outputs == 1:
        head_1(w, (h2, net + W3, net + B3, y), (n,))
    else:
        head_2(w, (h2, net + W3, net + B3, y), (n,))


@njit(**KERNEL)
def transpose(w: Any, net: int, to: int) -> None:
    """Copy the second layer's weights, transposed: the way back reads them in rows."""
    for i in range(HIDDEN):
        for j in range(HIDDEN):
            w[to + j * HIDDEN + i] = w[net + W2 + i * HIDDEN + j]


@njit(**KERNEL)
def backward(w: Any, places: Any, outputs: int, x: int, h1: int, h2: int, dy: int, n: int) -> None:
    """Add the gradient of ``n`` samples, from that of the outputs.

    ``places`` are those of the network, its gradient, the transposed weights, two rooms for the
    gradients of the hidden layers, and a 1.
    """
    net, grad, turned, d2, d1, one = places
    if outputs == 1:
        outer_1(w, (dy, h2, grad + W3), (n,))
        head_back_1(w, (dy, net + W3, h2, d2), (n,))
    else:
        outer_2(w, (dy, h2, grad + W3), (n,))
        head_back_2(w, (dy, net + W3, h2, d2), (n,))
    for j in range(outputs):
        added = np.float32(0)
        for s in range(n):
            added += w[dy + j * TILE + s]
        w[grad + B3 + j] += added
    outer_h(w, (h1, d2, grad + W2), (n,))
    total(w, (one, d2, grad + B2), (n,))
    back(w, (d2, turned, h1, d1), (n,))
    outer_x(w, (x, d1, grad + W1), (n,))
    total(w, (one, d1, grad + B1), (n,))


def initial(outputs: tuple[int, ...], scales: tuple[float, ...], seed: int) -> Floats:
    """Return the parameters of some networks, weights of the variance of their inputs."""
    rng = np.random.default_rng(seed)
    params = np.zeros(len(outputs) * NETWORK, np.float32)
    for k, (count, scale) in enumerate(zip(outputs, scales, strict=True)):
        net = params[k * NETWORK : (k + 1) * NETWORK]
        net[W1:B1] = rng.normal(0, 0.5, 4 * HIDDEN)
        net[W2:B2] = rng.normal(0, HIDDEN**-0.5, HIDDEN * HIDDEN)
        net[W3 : W3 + count * HIDDEN] = scale * rng.normal(0, HIDDEN**-0.5, count * HIDDEN)
    return params


def aligned(*shape: int) -> Floats:
    """Return zeros that start at a multiple of 64 bytes."""
    count = int(np.prod(shape)) * 4
    room = np.zeros(count + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + count].view(np.float32).reshape(shape)
