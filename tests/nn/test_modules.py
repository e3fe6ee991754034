"""Layers: shapes, initial values, parameters."""

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.pdg.errors import OptionError


def test_a_linear_layer_is_an_affine_map() -> None:
    i, t = ot.dims("i t")
    layer = nn.Linear(3, 2, over=i)
    optim.SGD(0.0).update(layer.parameters, layer.parameters)
    x = np.arange(6.0).reshape(2, 3)
    y = layer(ot.input("x", shape=(3,), over=t))
    out = ot.Program(y=y, w=layer.weight, b=layer.bias).interpret(x=x, I=2)
    np.testing.assert_allclose(out["y"][0], x @ out["w"][0] + out["b"][0], rtol=1e-6)
    assert np.array_equal(out["w"][0], out["w"][1])


def test_an_mlp_has_an_activation_between_its_layers_only() -> None:
    model = nn.MLP(3, [4], 2, activation="relu")
    names = [str(p.node) for p in model.parameters]
    assert names == ["mlp_0_weight", "mlp_0_bias", "mlp_1_weight", "mlp_1_bias"]
    x = np.array([1.0, -2.0, 0.5], np.float32)
    values = {name.replace("#", "_"): p for name, p in zip(names, model.parameters, strict=True)}
    out = ot.Program(y=model(ot.input("x", shape=(3,))), **values).interpret(x=x)
    hidden = np.maximum(x @ out["mlp_0_weight"] + out["mlp_0_bias"], 0)
    np.testing.assert_allclose(out["y"], hidden @ out["mlp_1_weight"], rtol=1e-5)


def test_the_output_scale_shrinks_the_last_layer() -> None:
    model = nn.MLP(8, [], 8, output_scale=0.01)
    out = ot.Program(w=model.layers[-1].weight).interpret()["w"]
    assert 0.001 < out.std() < 0.01


def test_parameters_of_several_dimensions_start_independently() -> None:
    s, i = ot.dims("s i")
    w = nn.parameter("w", (5,), nn.init.lecun_normal, over=(s, i))
    w[s, i + 1] = w * 0.5
    out = ot.Program(w=w).interpret(S=2, I=2)["w"]
    assert not np.array_equal(out[0], out[1])
    assert np.array_equal(out[:, 1], out[:, 0] * 0.5)


def test_a_layer_may_lack_a_bias() -> None:
    layer = nn.Linear(3, 2, bias=False)
    assert layer.bias is None and [str(p.node) for p in layer.parameters] == ["linear_weight"]


class Twins(nn.Module):
    """One layer under two names, and another in a dictionary."""

    def __init__(self, over: ot.Dimension) -> None:
        self.first = self.second = nn.Linear(1, 1, over, name="shared")
        self.rest = {"last": (nn.Linear(1, 1, over, bias=False, name="other"),)}


def test_a_shared_part_has_its_parameters_once() -> None:
    names = [str(p.node) for p in Twins(ot.dims("i")).parameters]
    assert names == ["shared_weight", "shared_bias", "other_weight"]


def test_a_mapped_module_keeps_what_it_shares() -> None:
    calls: list[ot.Tensor] = []

    def doubled(w: ot.Tensor) -> ot.Tensor:
        calls.append(w)
        return 2.0 * w

    twins = Twins(ot.dims("i"))
    found = twins.map(doubled)
    assert found.first is found.second and found.first is not twins.first
    assert len(calls) == 3 and found.parameters == ()


def test_a_mapped_module_computes_with_other_parameters() -> None:
    i = ot.dims("i")
    layer = nn.Linear(2, 1, over=i)
    layer.update(optim.SGD(1.0), layer(ot.constant([1.0, 2.0])).sum())
    old = layer.map(lambda w: w[ot.maximum(i - 1, 0)])
    y, before = layer(ot.constant([1.0, 1.0])), old(ot.constant([1.0, 1.0]))
    out = ot.Program(y=y, before=before).interpret(I=4)
    assert np.array_equal(out["before"][1:], out["y"][:-1])


def test_an_unknown_activation_lists_the_known_ones() -> None:
    with pytest.raises(OptionError, match="Use one of tanh, relu, sigmoid, silu, gelu"):
        nn.MLP(1, [1], 1, activation="tan")
