"""Layers: shapes, initial values, parameters."""

import math

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


@pytest.mark.parametrize(
    ("name", "variance"),
    [
        ("lecun_normal", 1 / 64),
        ("he_normal", 2 / 64),
        ("glorot_uniform", 2 / 128),
        ("fan_in_uniform", 1 / (3 * 64)),
    ],
)
def test_initial_values_have_the_stated_variance(name: str, variance: float) -> None:
    out = ot.Program(w=getattr(nn.init, name)((64, 64))).interpret()["w"]
    assert math.isclose(float(out.var()), variance, rel_tol=0.1)


def test_an_unknown_activation_lists_the_known_ones() -> None:
    with pytest.raises(OptionError, match="Use one of tanh, relu, sigmoid"):
        nn.MLP(1, [1], 1, activation="tan")
