"""The convolution layer: shapes, refusals, and ten updates that are PyTorch's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.pdg.errors import ShapeError

Array = npt.NDArray[Any]
UPDATES, BATCH, RATE = 10, 3, 0.1
RNG = np.random.default_rng(11)


@dataclass(frozen=True)
class Case:
    """A layer of 4 to 2 channels on a small image."""

    kernel: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    @property
    def image(self) -> tuple[int, ...]:
        return (4, *(6, 5, 4)[: len(self.kernel)])


CASES = {
    "one axis": Case((3,), padding=1),
    "two axes": Case((3, 2), stride=2, padding=1),
    "three axes": Case((2, 2, 1)),
    "dilated groups": Case((2, 2), dilation=2, groups=2),
}


def trained(case: Case) -> ot.Program:
    b, i = ot.dims("b i")
    layer = nn.Conv(
        4, 2, case.kernel, i, stride=case.stride, padding=case.padding, dilation=case.dilation,
        groups=case.groups,
    )  # fmt: skip
    out = layer(ot.input("x", case.image, over=b))
    target = ot.input("target", out.shape, over=b)
    layer.update(optim.SGD(RATE), ((out - target) ** 2)[:, i].mean())
    return ot.Program(weight=layer.weight, bias=layer.parameters[1], out=out)


def arguments(case: Case) -> dict[str, Array]:
    spans = [case.dilation * (k - 1) + 1 for k in case.kernel]
    sizes = zip(case.image[1:], spans, strict=True)
    out = [(n + 2 * case.padding - s) // case.stride + 1 for n, s in sizes]
    shapes = {"x": (BATCH, *case.image), "target": (BATCH, 2, *out)}
    return {name: RNG.normal(size=s).astype(np.float32) for name, s in shapes.items()}


def assert_matches(case: Case, given: dict[str, Array], found: dict[str, Array]) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch, the reference, is not installed")
    weight, bias = (torch.tensor(found[n][0], requires_grad=True) for n in ("weight", "bias"))
    optimizer = torch.optim.SGD([weight, bias], RATE)
    conv = getattr(torch.nn.functional, f"conv{len(case.kernel)}d")
    x, target = (torch.tensor(given[name]) for name in ("x", "target"))
    for update in range(UPDATES + 1):
        for name, leaf in (("weight", weight), ("bias", bias)):
            expected = leaf.detach().numpy()
            np.testing.assert_allclose(found[name][update], expected, rtol=1e-4, atol=5e-6)
        optimizer.zero_grad()
        out = conv(x, weight, bias, case.stride, case.padding, case.dilation, case.groups)
        np.testing.assert_allclose(found["out"][:, update], out.detach(), rtol=1e-4, atol=1e-5)
        ((out - target) ** 2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("name", CASES)
def test_ten_updates_are_pytorchs(name: str) -> None:
    given = arguments(CASES[name])
    found = trained(CASES[name]).interpret(**given, I=UPDATES + 1)
    assert_matches(CASES[name], given, found)


@pytest.mark.parametrize("name", ["one axis", "two axes"])
def test_machine_code_does_the_same_ten_updates(name: str) -> None:
    given = arguments(CASES[name])
    found = trained(CASES[name]).compile()(**given, I=UPDATES + 1)
    assert_matches(CASES[name], given, found)


@pytest.mark.parametrize("name", CASES)
def test_machine_code_equals_the_interpreter(name: str) -> None:
    given = arguments(CASES[name])
    program = trained(CASES[name])
    expected, found = program.interpret(**given, I=4), program.compile()(**given, I=4)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-5)


def test_learning_lowers_the_error() -> None:
    given = arguments(CASES["two axes"])
    found = trained(CASES["two axes"]).interpret(**given, I=UPDATES + 1)
    errors = ((found["out"] - given["target"][:, None]) ** 2).mean((0, 2, 3, 4))
    assert np.all(np.diff(errors) < 0)


def test_the_initializer_sees_what_goes_into_an_output() -> None:
    layer = nn.Conv(300, 50, (2, 1), init=nn.init.lecun_normal)
    weight = ot.Program(w=layer.weight).interpret()["w"]
    assert weight.shape == (50, 300, 2, 1) and abs(weight.std() * np.sqrt(600) - 1) < 0.02


def test_channels_that_groups_do_not_divide_are_refused() -> None:
    with pytest.raises(ShapeError, match="channels that the groups divide"):
        nn.Conv(4, 3, 3, groups=2)
    with pytest.raises(ShapeError, match="1 to 3 kernel sizes"):
        nn.Conv(4, 4, (1, 1, 1, 1))
