"""Recurrent layers, attention, normalisation and dropout, against NumPy."""

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.pdg.errors import OptionError, ShapeError
from ostinato.pdg.functions import Array

X = np.random.default_rng(5).normal(size=(6, 3)).astype(np.float32)


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def values(module: nn.Module) -> dict[str, ot.Tensor]:
    return {str(p.node): p for p in module.parameters}


def gru_step(w: dict[str, Array], x: Array, h: Array) -> Array:
    entering = np.split(x @ w["gru_input_weight"] + w["gru_input_bias"], 3, -1)
    kept = np.split(h @ w["gru_hidden_weight"] + w["gru_hidden_bias"], 3, -1)
    r, z = sigmoid(entering[0] + kept[0]), sigmoid(entering[1] + kept[1])
    return np.asarray((1 - z) * np.tanh(entering[2] + r * kept[2]) + z * h)


def test_a_gru_carries_its_state() -> None:
    t = ot.dims("t")
    gru = nn.GRU(3, 4)
    out = ot.Program(h=gru(ot.input("x", (3,), over=t), t), **values(gru)).interpret(x=X)
    h = np.zeros(4, np.float32)
    for k in range(6):
        h = gru_step(out, X[k], h)
        np.testing.assert_allclose(out["h"][k], h, rtol=1e-4, atol=1e-6)


def test_a_reset_state_is_zero_whatever_it_started_from() -> None:
    t = ot.dims("t")
    gru, lstm = nn.GRU(3, 4), nn.LSTM(3, 4)
    x, first = ot.input("x", (3,), over=t), ot.input("first", dtype="bool", over=t)
    ones = ot.Record(hidden=ot.ones(4), cell=ot.ones(4))
    zero = ot.Record(hidden=ot.zeros(4), cell=ot.zeros(4))
    program = ot.Program(
        gru=gru(x, t, ot.ones(4), reset=first),
        lstm=lstm(x, t, ones, reset=first).hidden,
        gru_begun=gru.cell(x, ot.ones(4)),
        lstm_begun=lstm.cell(x, ones).hidden,
        gru_fresh=gru.cell(x, ot.zeros(4)),
        lstm_fresh=lstm.cell(x, zero).hidden,
    )
    begins = np.array([False, False, True, False, True, False])
    out = program.interpret(x=X, first=begins)
    for layer in ("gru", "lstm"):
        np.testing.assert_allclose(out[layer][0], out[f"{layer}_begun"][0], rtol=1e-5)
        for k in (2, 4):
            np.testing.assert_allclose(out[layer][k], out[f"{layer}_fresh"][k], rtol=1e-5)
        assert not np.allclose(out[layer][5], out[f"{layer}_fresh"][5])


def test_unroll_resets_to_the_start_or_to_another_state() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)

    def add(x: ot.Tensor, state: ot.Record) -> ot.Record:
        return ot.Record(total=state.total + x)

    def sums(fresh: ot.Record | None) -> ot.Tensor:
        start, first = ot.Record(total=ot.constant(10.0)), ot.index(t) == 2
        return nn.unroll(add, x, t, start, reset=first, fresh=fresh).total

    again, anew = sums(None), sums(ot.Record(total=ot.constant(0.0)))
    out = ot.Program(again=again, anew=anew).interpret(x=[1.0, 2.0, 3.0, 4.0])
    assert out["again"].tolist() == [11.0, 13.0, 13.0, 17.0]
    assert out["anew"].tolist() == [11.0, 13.0, 3.0, 7.0]


def test_a_reversed_layer_runs_from_the_last_step() -> None:
    t = ot.dims("t")
    lstm, x = nn.LSTM(3, 4), ot.input("x", (3,), over=t)
    ahead, back = lstm(x, t), lstm(x, t, reverse=True)
    program = ot.Program(ahead=ahead.hidden, back=back.hidden, cell=back.cell)
    out, mirrored = program.interpret(x=X), program.interpret(x=X[::-1])
    np.testing.assert_allclose(out["back"], mirrored["ahead"][::-1], rtol=1e-5)
    assert out["cell"].shape == (6, 4)


def test_a_recurrent_layer_takes_spatial_batches() -> None:
    t = ot.dims("t")
    gru = nn.GRU(3, 4)
    rows = gru(ot.input("x", (2, 3), over=t), t)
    one = gru(ot.input("x", (2, 3), over=t)[t, 1], t)
    out = ot.Program(rows=rows, one=one).interpret(x=X.reshape(3, 2, 3))
    np.testing.assert_allclose(out["rows"][:, 1], out["one"], rtol=1e-5)


def test_a_gru_learns_to_remember() -> None:
    i, t = ot.dims("i t")
    gru, head = nn.GRU(1, 8, over=i), nn.Linear(8, 1, over=i)
    x = ot.input("x", (1,), over=t)
    guess = head(gru(x, t)[i, -1])
    loss = ((guess - x[0]) ** 2).sum()
    optim.Adam(0.05).minimize(loss, [*gru.parameters, *head.parameters])
    out = ot.Program(loss=loss).interpret(x=np.array([[0.8], [0.0], [0.0]]), I=30)["loss"]
    assert out[-1] < 0.05 * out[0]


def test_attention_sees_the_steps_of_its_slice() -> None:
    t = ot.dims("t")
    layer = nn.Attention(3, 1)
    x = ot.input("x", (3,), over=t)
    y = layer(x, t, slice(ot.maximum(t - 1, 0), t + 1))
    out = ot.Program(y=y, **values(layer)).interpret(x=X)
    q, k, v = (X @ out[f"attention_{part}_weight"] for part in ("query", "key", "value"))
    for step in range(6):
        seen = slice(max(step - 1, 0), step + 1)
        mixed = softmax(q[step] @ k[seen].T / np.sqrt(np.float32(3))) @ v[seen]
        expected = mixed @ out["attention_output_weight"]
        np.testing.assert_allclose(out["y"][step], expected, rtol=1e-4, atol=1e-6)


def test_attention_to_a_memory_reads_another_dimension() -> None:
    s, t = ot.dims("s t")
    layer = nn.Attention(4, 2)
    memory = ot.input("memory", (4,), over=s)
    y = layer(ot.input("x", (4,), over=t), s, slice(None), memory=memory)
    program = ot.Program(y=y)
    x, m = np.ones((2, 4)), np.random.default_rng(0).normal(size=(5, 4))
    out = program.interpret(x=x, memory=m)["y"]
    assert np.allclose(out, program.interpret(x=x, memory=m[::-1])["y"], rtol=1e-4)
    assert out.shape == (2, 4)


def test_a_hidden_step_changes_nothing() -> None:
    t = ot.dims("t")
    layer = nn.Attention(4, 2, groups=1)
    x, visible = ot.input("x", (4,), over=t), ot.input("visible", dtype="bool", over=t)
    program = ot.Program(y=layer(x, t, slice(None), mask=visible[:]))
    given = np.random.default_rng(1).normal(size=(4, 4))
    mask = np.array([True, False, True, True])
    one = program.interpret(x=given, visible=mask)["y"]
    given[1] = 9.0
    other = program.interpret(x=given, visible=mask)["y"]
    np.testing.assert_allclose(one[[0, 2, 3]], other[[0, 2, 3]], rtol=1e-5)


def test_rotated_products_depend_on_the_distance_only() -> None:
    t = ot.dims("t")
    q, k = (ot.constant(np.random.default_rng(n).normal(size=8)) for n in (0, 1))
    for interleaved in (False, True):
        turned = nn.rope(q, t + 3, interleaved=interleaved), nn.rope(k, t, interleaved=interleaved)
        out = ot.Program(y=(turned[0] * turned[1]).sum()).interpret(T=5)["y"]
        np.testing.assert_allclose(out, out[0], rtol=1e-5)


def test_dropout_draws_anew_at_every_point() -> None:
    i = ot.dims("i")
    out = ot.Program(y=nn.dropout(ot.ones(1000), 0.25, over=i)).interpret(I=2)["y"]
    assert np.unique((0.75 * out).round(4)).tolist() == [0, 1]
    assert abs(out.mean() - 1) < 0.05 and not np.array_equal(out[0], out[1])


def test_the_gradient_of_dropout_sees_the_same_draws() -> None:
    x = ot.input("x", (50,))
    y = nn.dropout(x, 0.5)
    out = ot.Program(y=y, g=ot.grad(y.sum(), x)).interpret(x=np.ones(50))
    assert np.array_equal(out["y"], out["g"])


def test_dropout_at_rate_zero_is_nothing() -> None:
    y = nn.dropout(ot.input("x", (50,)), ot.input("rate"))
    assert ot.Program(y=y).interpret(x=np.ones(50), rate=0.0)["y"].tolist() == [1.0] * 50


def test_normalised_features_have_mean_zero_and_length_one() -> None:
    t = ot.dims("t")
    x = ot.input("x", (3,), over=t)
    out = ot.Program(layer=nn.LayerNorm(3)(x), rms=nn.RMSNorm(3)(x)).interpret(x=10 * X)
    np.testing.assert_allclose(out["layer"].mean(-1), 0, atol=1e-6)
    np.testing.assert_allclose((out["rms"] ** 2).mean(-1), 1, rtol=1e-4)


def test_an_embedding_moves_only_the_symbols_it_read() -> None:
    i = ot.dims("i")
    embedding = nn.Embedding(4, 2, over=i)
    embedding.update(optim.SGD(1.0), embedding(ot.constant([1, 3, 1])).sum())
    w = ot.Program(w=embedding.weight).interpret(I=2)["w"]
    np.testing.assert_allclose((w[0] - w[1])[:, 0], [0, 2, 0, 1], atol=1e-6)


def test_heads_fill_their_groups() -> None:
    with pytest.raises(OptionError, match="6 heads in 4 groups"):
        nn.Attention(12, 6, groups=4)


def test_a_memory_has_no_rotary_positions() -> None:
    s, t = ot.dims("s t")
    layer = nn.Attention(4, 2, rotary=10_000.0)
    with pytest.raises(OptionError, match="along two dimensions"):
        layer(ot.input("x", (4,), over=t), s, memory=ot.input("m", (4,), over=s))


def test_rotation_needs_pairs() -> None:
    with pytest.raises(ShapeError, match="even, constant number of features"):
        nn.rope(ot.ones(3), 0)


def test_layers_that_run_both_ways_compile_with_small_hints() -> None:
    t = ot.dims("t")
    lstm, x = nn.LSTM(3, 4), ot.input("x", (3,), over=t)
    ahead, back = lstm(x, t), lstm(x, t, reverse=True)
    program = ot.Program(ahead=ahead.hidden, back=back.hidden)
    expected = program.interpret(x=X)
    found = program.compile(hints={"T": 4})(x=X)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_attention_and_draws_take_a_number_of_features_that_is_an_extent() -> None:
    t = ot.dims("t")
    row = ot.input("x", over=t)[:]
    assert nn.attend(row[None, :], row[None, :], row[None, :]).ndim == 2
    assert ot.random.categorical(row).ndim == 0
