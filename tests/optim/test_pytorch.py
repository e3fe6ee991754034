"""Ten updates of every optimizer are those of PyTorch, to float32 rounding."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import optim
from ostinato.optim import schedule

torch: Any = pytest.importorskip("torch", reason="PyTorch, the reference here, is not installed")

Path = dict[str, npt.NDArray[Any]]
Make = Callable[[list[Any]], Any]
UPDATES = 10
RNG = np.random.default_rng(7)
START = {
    "w": RNG.normal(size=(3, 2)).astype(np.float32),
    "b": RNG.normal(size=(2,)).astype(np.float32),
}
X = RNG.normal(size=(5, 3)).astype(np.float32)
RTOL, ATOL = 2e-5, 2e-6  # ten updates of float32 rounding


def program(optimizer: optim.Optimizer) -> ot.Program:
    """Two parameters of different sizes on a loss that is no quadratic."""
    i = ot.dims("i")
    w, b = (ot.recurrent(name, value.shape, over=i) for name, value in START.items())
    w[0], b[0] = ot.constant(START["w"]), ot.constant(START["b"])
    optimizer.minimize((ot.tanh(ot.constant(X) @ w + b) ** 2).sum(), [w, b])
    return ot.Program(w=w, b=b)


def by_pytorch(make: Make, clip: Callable[[list[Any]], Any], rate: Make | None = None) -> Path:
    parameters = {name: torch.tensor(value, requires_grad=True) for name, value in START.items()}
    w, b = parameters.values()
    optimizer = make([w, b])
    scheduler = None if rate is None else rate(optimizer)
    path: dict[str, list[Any]] = {"w": [], "b": []}
    for _ in range(UPDATES + 1):
        for name, parameter in parameters.items():
            path[name].append(parameter.detach().numpy().copy())
        optimizer.zero_grad()
        (torch.tanh(torch.tensor(X) @ w + b) ** 2).sum().backward()
        clip([w, b])
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return {name: np.stack(values) for name, values in path.items()}


def assert_same(ours: Path, theirs: Path) -> None:
    for name, expected in theirs.items():
        np.testing.assert_allclose(ours[name], expected, err_msg=name, rtol=RTOL, atol=ATOL)


def unclipped(parameters: list[Any]) -> None:
    pass


PAIRS: dict[str, tuple[optim.Optimizer, Make]] = {
    "sgd": (optim.SGD(0.1), lambda p: torch.optim.SGD(p, 0.1)),
    "momentum": (
        optim.SGD(0.05, momentum=0.9, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=0.1),
    ),
    "nesterov": (
        optim.SGD(0.05, momentum=0.9, nesterov=True, weight_decay=0.1),
        lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, nesterov=True, weight_decay=0.1),
    ),
    "adam": (optim.Adam(0.1), lambda p: torch.optim.Adam(p, 0.1)),
    "adam with decay and a large eps": (
        optim.Adam(0.1, (0.8, 0.95), 0.1, weight_decay=0.1),
        lambda p: torch.optim.Adam(p, 0.1, (0.8, 0.95), 0.1, weight_decay=0.1),
    ),
    "adamw": (
        optim.AdamW(0.1, weight_decay=0.2),
        lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.2),
    ),
    "rmsprop": (optim.RMSProp(0.05), lambda p: torch.optim.RMSprop(p, 0.05)),
    "rmsprop with everything": (
        optim.RMSProp(0.02, 0.9, 1e-3, momentum=0.5, centered=True, weight_decay=0.1),
        lambda p: torch.optim.RMSprop(
            p, 0.02, 0.9, 1e-3, momentum=0.5, centered=True, weight_decay=0.1
        ),
    ),
    "adagrad": (optim.Adagrad(0.2), lambda p: torch.optim.Adagrad(p, 0.2)),
    "adagrad with everything": (
        optim.Adagrad(0.2, 1e-3, rate_decay=0.1, start=0.5, weight_decay=0.1),
        lambda p: torch.optim.Adagrad(
            p, 0.2, 0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3
        ),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_ten_updates_are_pytorchs(name: str) -> None:
    ours, theirs = PAIRS[name]
    assert_same(program(ours).interpret(I=UPDATES + 1), by_pytorch(theirs, unclipped))


@pytest.mark.parametrize(("norm", "value"), [(0.5, None), (None, 0.2), (0.3, 0.2), (1e3, None)])
def test_clipped_updates_are_pytorchs(norm: float | None, value: float | None) -> None:
    def clip(parameters: list[Any]) -> None:
        if value is not None:
            torch.nn.utils.clip_grad_value_(parameters, value)
        if norm is not None:
            torch.nn.utils.clip_grad_norm_(parameters, norm)

    ours = optim.Clipped(optim.SGD(0.5, momentum=0.5), norm, value)
    theirs = by_pytorch(lambda p: torch.optim.SGD(p, 0.5, momentum=0.5), clip)
    assert_same(program(ours).interpret(I=UPDATES + 1), theirs)


RATE = 0.05  # steps that overshoot would magnify rounding


def sequence(optimizer: Any) -> Any:
    rise = torch.optim.lr_scheduler.LinearLR(optimizer, 0.25, 1.0, 4)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6, 0.01)
    return torch.optim.lr_scheduler.SequentialLR(optimizer, [rise, fall], milestones=[4])


SCHEDULES: dict[str, tuple[optim.Schedule, Make]] = {
    "constant": (
        schedule.constant(RATE),
        lambda o: torch.optim.lr_scheduler.ConstantLR(o, 1.0),
    ),
    "linear": (
        schedule.linear(RATE, RATE / 10, 6),
        lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.1, 6),
    ),
    "cosine": (
        schedule.cosine(RATE, UPDATES, 0.01),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, UPDATES, 0.01),
    ),
    "exponential": (
        schedule.exponential(RATE, 0.8),
        lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.8),
    ),
    "warmup": (schedule.warmup(4, schedule.cosine(RATE, 6, 0.01), 0.25), sequence),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_scheduled_updates_are_pytorchs(name: str) -> None:
    ours, theirs = SCHEDULES[name]
    expected = by_pytorch(lambda p: torch.optim.SGD(p, RATE), unclipped, theirs)
    assert_same(program(optim.SGD(ours)).interpret(I=UPDATES + 1), expected)


def test_machine_code_does_the_same_ten_updates() -> None:
    ours = optim.Clipped(optim.AdamW(schedule.linear(0.1, 0.01, UPDATES)), norm=0.5)
    theirs = by_pytorch(
        lambda p: torch.optim.AdamW(p, 0.1),
        lambda p: torch.nn.utils.clip_grad_norm_(p, 0.5),
        lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.1, UPDATES),
    )
    assert_same(program(ours).compile()(I=UPDATES + 1), theirs)


def averaged(average: Callable[[ot.Tensor], ot.Tensor]) -> Path:
    i = ot.dims("i")
    w = ot.recurrent("w", (3, 2), over=i)
    w[0] = ot.constant(START["w"])
    optim.SGD(0.1).minimize((ot.tanh(ot.constant(X) @ w) ** 2).sum(), [w])
    return ot.Program(w=w, average=average(w)).interpret(I=UPDATES + 1)


@pytest.mark.parametrize("decay", [None, 0.8])
def test_averaged_parameters_are_pytorchs(decay: float | None) -> None:
    def average(w: ot.Tensor) -> ot.Tensor:
        return optim.running_average(w) if decay is None else optim.exponential_average(w, decay)

    out = averaged(average)
    swa = torch.optim.swa_utils
    fn = None if decay is None else swa.get_ema_multi_avg_fn(decay)
    linear = torch.nn.Linear(2, 3, bias=False)
    model = swa.AveragedModel(linear, multi_avg_fn=fn)
    for w, expected in zip(out["w"], out["average"], strict=True):
        linear.weight.data[:] = torch.tensor(w)
        model.update_parameters(linear)
        np.testing.assert_allclose(model.module.weight.detach(), expected, rtol=RTOL, atol=ATOL)
