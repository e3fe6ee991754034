"""Small programs, one for each kind of kernel, with the extents at which they are simulated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import ostinato as ot
from ostinato import rl
from ostinato.cli.program_file import load_function
from tests.pipeline.programs import EXAMPLE, ROOT, crowd, normalised, shared_weight

Made = tuple[ot.Program, dict[str, object]]


def values(*shape: int, seed: int = 0) -> object:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


def between_dims() -> Made:
    b, u, v = ot.dims("b u v")
    x, y, w = ot.input("x", over=(b, u)), ot.input("y", over=(b, v)), ot.input("w", (5,), over=b)
    rows = (x[:, u].reshape(b.size, 1) * w[:]).sum(0)
    return ot.Program(z=x[:, :].T @ y[:, :], rows=rows), {
        "x": values(33, 31), "y": values(33, 35, seed=1), "w": values(33, 5, seed=2)
    }  # fmt: skip


def elementwise() -> Made:
    b, t = ot.dims("b t")
    x = ot.input("x", (3,), over=(b, t))
    return ot.Program(y=ot.tanh(x * 2.0 - 0.5) + ot.exp(-x)), {"x": values(37, 4, 3)}


def recurrence() -> Made:
    b, t = ot.dims("b t")
    x, h = ot.input("x", over=(b, t)), ot.recurrent("h", over=(b, t))
    h[b, 0] = 0.0
    h[b, t + 1] = 0.9 * h + ot.tanh(x)
    return ot.Program(h=h), {"x": values(35, 6)}


def scans() -> Made:
    b = ot.dims("b")
    x = ot.input("x", (7,), over=b)
    return ot.Program(total=x.cumsum(-1), most=ot.cummax(x, -1)), {"x": values(5, 7)}


def folds() -> Made:
    b, t = ot.dims("b t")
    x = ot.input("x", (5,), over=(b, t))
    whole = x[:, :]
    return ot.Program(
        mean=whole.mean(), most=x.max(-1), place=x.argmax(-1), spread=x[:, t].var(0)
    ), {"x": values(67, 3, 5)}


def extremes() -> Made:
    b = ot.dims("b")
    y = ot.exp(ot.input("x", (32,), over=b))
    found = {"most": y[:].max(0), "total": y[:].sum(0), "least": y[:].min(0)}
    return ot.Program(**found), {"x": values(70, 32)}


def draws() -> Made:
    b, t = ot.dims("b t")
    return ot.Program(
        u=ot.random.uniform((2,), over=(b, t)),
        n=ot.random.normal(over=(b, t)),
        k=ot.random.integers(0, 10, over=(b, t)),
    ), {"B": 33, "T": 3}


def gathers() -> Made:
    b = ot.dims("b")
    table = ot.input("table", (9, 2))
    index = ot.input("index", (4,), dtype="int32", over=b)
    picked = np.random.default_rng(1).integers(0, 9, (5, 4)).astype(np.int32)
    return ot.Program(y=table[index]), {"table": values(9, 2), "index": picked}


def orders() -> Made:
    b = ot.dims("b")
    x = ot.input("x", (21,), over=b)
    return ot.Program(place=x.argsort(-1), row=ot.sort(x, -1)), {"x": values(3, 21)}


def permutations() -> Made:
    """Orders of rows of several sizes: by all threads of a block, and where there are many rows."""
    b, g, n, t = ot.dims("b g n t")
    x = ot.input("x", (53,), over=b)
    h, k = ot.recurrent("h", (53,), over=t), ot.recurrent("k", (n.size,), over=(g, t))
    h[0], k[g, 0] = ot.arange(53).cast("float32"), ot.zeros(n.size)
    h[t + 1] = h.take(ot.random.permutation(53, over=t), axis=0)
    k[g, t + 1] = (k + h.sum()).take(ot.random.permutation(n.size, over=(g, t)), axis=0)
    return ot.Program(
        none=ot.random.permutation(n.size - 21),
        one=ot.random.permutation(n.size - 20, over=t),
        two=ot.random.permutation(2, over=(b, t)),
        few=ot.random.permutation(n.size, shape=2),
        more=ot.random.permutation(n.size, over=b, shape=3),
        drawn=x.take(ot.random.permutation(53, over=(b, t)), axis=0)[b, :].sum(0),
        whole=ot.random.permutation(257),
        h=h,
        k=k,
    ), {"x": values(5, 53), "G": 2, "T": 3, "N": 21}


def products() -> Made:
    b = ot.dims("b")
    x, w = ot.input("x", (6,), over=b), ot.input("w", (6, 10))
    bias = ot.input("bias", (10,))
    given = {"x": values(35, 6), "w": values(6, 10, seed=1), "bias": values(10, seed=2)}
    return ot.Program(y=ot.tanh(x @ w + bias)), given


def convolution() -> Made:
    """A product that sums over several axes, and its gradients."""
    x, w = ot.input("x", (2, 3, 6, 7)), ot.input("w", (4, 3, 3, 2))
    y = ot.conv2d(x, w)
    slope = ot.grad((y**2).sum(), w)
    return ot.Program(y=y, slope=slope), {"x": values(2, 3, 6, 7), "w": values(4, 3, 3, 2, seed=1)}


def network() -> Made:
    b, i = ot.dims("b i")
    x = ot.random.normal((4,), over=b)
    first, last = ot.recurrent("first", (4, 8), over=i), ot.recurrent("last", (8,), over=i)
    loss = ((ot.tanh(x @ first) @ last - x.sum()) ** 2)[:, i].mean()
    first[0], last[0] = 0.1 * ot.random.normal((4, 8)), 0.1 * ot.random.normal((8,))
    first[i + 1] = first - 0.1 * ot.grad(loss, first)
    last[i + 1] = last - 0.1 * ot.grad(loss, last)
    return ot.Program(loss=loss, last=last), {"B": 35, "I": 3}


def reinforce() -> Made:
    made = load_function(f"{EXAMPLE}:reinforce")(rl.CartPole())
    assert isinstance(made, ot.Program)
    return made, {"B": 2, "T": 3, "I": 2}


def ppo() -> Made:
    made = load_function(f"{ROOT / 'examples' / 'ppo_cartpole.py'}:ppo")
    program = made(rl.CartPole(), hidden=(8, 8))
    assert isinstance(program, ot.Program)
    return program, {"B": 2, "I": 2, "E": 1, "T": 4}


def ragged() -> Made:
    """Episodes that end: products leave out rows that are over, and loops end early."""
    made = load_function(f"{ROOT / 'examples' / 'reinforce_ragged.py'}:reinforce")(rl.CartPole())
    assert isinstance(made, ot.Program)
    return made, {"B": 3, "T": 4, "I": 2}


def environment() -> Made:
    """Steps of CartPole under random actions: the state of a game belongs to one row."""
    b, t = ot.dims("b t")
    env = rl.CartPole()
    state = ot.carry("state", env.reset(over=b), over=t, each=b)
    following, reward, ended, cut = env.step(state, ot.random.integers(0, 2, over=(b, t)))
    state.step(ot.where(ended | cut, env.reset(over=(b, t)), following))
    return ot.Program(total=reward[:, :].sum(), end=(ended | cut)[b, :].sum(0)), {"B": 35, "T": 12}


def logistic() -> Made:
    """Steps of one number, which one thread takes; what they are begun with has no step."""
    t = ot.dims("t")
    x, n = ot.recurrent("x", over=t), ot.recurrent("n", dtype="int32", over=t)
    x[0], n[0] = ot.input("first"), 3
    x[t + 1] = 3.7 * x * (1.0 - x)
    n[t + 1] = n + ot.where(x > 0.5, 2, -1)
    return ot.Program(last=x[-1], count=n[-1], flag=n[-1] > 4), {"first": 0.3, "T": 9}


def ended() -> Made:
    """Steps of one number that end early."""
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[0] = ot.input("first")
    x[t + 1] = 1.5 * x + 0.25
    ot.stop(t, when=x > 6.0)
    return ot.Program(total=x[:].sum(), x=x), {"first": 0.3, "T": 40}


def nested() -> Made:
    """Steps inside of steps, of one number each."""
    i, t = ot.dims("i t")
    x, w = ot.recurrent("x", over=(i, t)), ot.recurrent("w", over=i)
    w[0] = ot.input("first")
    x[i, 0] = w
    x[i, t + 1] = 0.5 * x + ot.sin(x) * w
    w[i + 1] = 0.9 * w + 0.1 * x[i, -1]
    return ot.Program(last=w[-1], end=x[-1, -1]), {"first": 0.3, "T": 5, "I": 4}


def sums() -> Made:
    """Folds of long rows: over all points, over rows of rows, and over elements."""
    b, t, k = ot.dims("b t k")
    x, y, z = ot.input("x", over=(b, t)), ot.input("y", over=k), ot.input("z", (70,))
    whole, long = x[:, :], y[:]
    return ot.Program(
        total=whole.sum(), mean=(x * x)[:, :].mean(), most=long.max(), least=long.min(),
        long=long.sum(), spread=long.var(), elements=z.sum(-1), squares=(z * z).sum(-1),
    ), {"x": values(5, 70), "y": values(2500, seed=1), "z": values(70, seed=2)}  # fmt: skip


def steered() -> Made:
    """Steps of a vector, each of which needs the sum of the one before."""
    i = ot.dims("i")
    h = ot.recurrent("h", (100,), over=i)
    h[0] = ot.input("first", (100,))
    h[i + 1] = 0.5 * h + 0.01 * (h * h).sum(-1)
    return ot.Program(last=h[-1]), {"first": values(100), "I": 4}


def counts() -> Made:
    """Folds of whole numbers, which have their bits in any order."""
    k = ot.dims("k")
    n, m = ot.input("n", dtype="int32", over=k), ot.input("m", (90,), dtype="int32")
    drawn = np.random.default_rng(3)
    return ot.Program(
        total=n[:].sum(), most=n[:].max(), least=n[:].min(), place=n[:].argmax(),
        elements=m.sum(-1), highest=m.max(-1), flags=(m > 0).any(-1), where=m.argmin(-1),
    ), {
        "n": drawn.integers(-(2**31), 2**31, 2500).astype(np.int32),
        "m": drawn.integers(-(2**31), 2**31, 90).astype(np.int32),
    }  # fmt: skip


def orders_of_many() -> Made:
    """What all threads of a grid do: draws and shuffles of thousands, between phases in tiles."""
    i, k = ot.dims("i k")
    order = ot.random.permutation(2100, over=i)
    x, total = ot.input("x", (2100,)), ot.recurrent("total", over=i)
    total[0] = 0.0
    total[i + 1] = total + (x[order] * ot.input("w", (2100,))).sum(-1)
    noise = ot.random.normal(over=(i, k))
    given = {"x": values(2100), "w": values(2100, seed=1), "I": 2, "K": 70}
    once = ot.random.permutation(2100)
    return ot.Program(total=total, order=order, once=once, noise=noise[i, :].sum()), given


def edits() -> Made:
    """The distance of two words: positions before the first are clamped, in every row."""
    b, u, v = ot.dims("b u v")
    i, j = ot.dim("i", size=u.size + 1), ot.dim("j", size=v.size + 1)
    one, other = (ot.input(n, dtype="int32", over=(b, d)) for n, d in (("one", u), ("other", v)))
    least = ot.recurrent("least", dtype="int32", over=(b, i, j))
    least[i == 0] = ot.index(j)
    least[j == 0] = ot.index(i)
    differs = (one[b, i - 1] != other[b, j - 1]).cast("int32")
    changed = least[b, i - 1, j - 1] + differs
    least[True] = ot.minimum(ot.minimum(least[b, i - 1, j], least[b, i, j - 1]) + 1, changed)
    letters = np.random.default_rng(0).integers(0, 3, (2, 35, 4))
    return ot.Program(least=least[b, -1, -1]), {"one": letters[0], "other": letters[1, :, :3]}


PROGRAMS: dict[str, Callable[[], Made]] = {
    **{f.__name__: f for f in (elementwise, recurrence, scans, folds, draws, gathers)},
    "between_dims": between_dims,
    **{f.__name__: f for f in (orders, permutations, products, extremes)},
    **{f.__name__: f for f in (convolution, network, reinforce, ppo, ragged, environment)},
    **{f.__name__: f for f in (logistic, ended, nested, sums, steered, counts, orders_of_many)},
    "edits": edits,
    "normalised": lambda: (normalised(), {"B": 35, "T": 5}),
    "shared_weight": lambda: (shared_weight(), {"B": 35, "T": 3, "I": 3}),
    "crowd": lambda: (crowd(), {"B": 70, "T": 4}),
}
