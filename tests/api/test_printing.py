"""A printed program reads as mathematics, in the user's names."""

# A lambda that a host call is given has arguments without types.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

import importlib.util
from collections.abc import Callable
from pathlib import Path

import ostinato as ot
from ostinato import rl

Golden = Callable[[str, str], None]
EXAMPLES = Path(__file__).parents[2] / "examples"


def advantage() -> ot.Program:
    """Generalised advantage estimation."""
    b, t = ot.dims("b t")
    reward, value = ot.input("reward", over=(b, t)), ot.input("value", over=(b, t))
    done = ot.input("done", dtype="bool", over=(b, t))
    following = ot.where(t < t.size - 1, value[b, ot.minimum(t + 1, t.size - 1)], 0.0)
    delta = (reward + 0.99 * following - value).named("delta")
    estimate = ot.recurrent("advantage", over=(b, t))
    estimate[b, -1] = delta[b, -1]
    estimate[b, t] = delta + 0.99 * 0.95 * ot.where(done, 0.0, estimate[b, t + 1])
    return ot.Program(advantage=estimate, mean=estimate[:, :].mean())


def attention() -> ot.Program:
    """One causal head over all earlier tokens."""
    t = ot.dims("t")
    x = ot.input("x", shape=(8,), over=t)
    query, key, content = (
        (x @ ot.input(f"{name}_weight", shape=(8, 8))).named(name)
        for name in ("query", "key", "content")
    )
    score = ((key[: t + 1] * query[t]).sum(-1) / 8**0.5).named("score")
    weight = ot.softmax(score).named("weight")
    return ot.Program(head=(weight[..., None] * content[: t + 1]).sum(0))


def reinforce() -> ot.Program:
    """The example, from its file."""
    place = EXAMPLES / "reinforce_cartpole.py"
    spec = importlib.util.spec_from_file_location("reinforce_cartpole", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.reinforce(rl.CartPole())
    assert isinstance(made, ot.Program)
    return made


def test_advantage_estimation_is_known(golden: Golden) -> None:
    golden("advantage.equations.txt", f"{advantage()}\n")


def test_attention_is_known(golden: Golden) -> None:
    golden("attention.equations.txt", f"{attention()}\n")


def test_reinforce_is_known(golden: Golden) -> None:
    golden("reinforce.equations.txt", f"{reinforce()}\n")


def shown(**outputs: object) -> list[str]:
    """The lines of a program without places."""
    return [line.partition("#")[0].rstrip() for line in str(ot.Program(**outputs)).splitlines()]


def test_sums_bind_their_steps() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    assert shown(y=x[b, : t + 1].sum(0)) == ["y[b, t] = ∑[t′ = 0 … t] x[t′]"]
    assert shown(y=x[:, :].max()) == ["y = max[b, t] x"]
    assert shown(y=(x[b, ::2] ** 2).sum(0)) == ["y[b] = ∑[t′ = 0 … T-1, step 2] x[t′]·x[t′]"]


def test_a_discounted_sum_shows_its_powers() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    assert shown(y=ot.discounted_sum(x[t:], 0.9)) == ["y[t] = ∑[t′ = t … T-1] x[t′]·0.9^(t′-t)"]


def test_cases_by_conditions_stand_in_a_brace() -> None:
    t = ot.dims("t")
    x = ot.recurrent("x", over=t)
    x[t % 4 == 0] = 1.0
    x[t >= 6] = 2.0
    x[True] = 0.5 * x[t - 1]
    assert shown(x=x) == [
        "x[t] = ⎧ 1           if (t mod 4) = 0",
        "       ⎨ 2           if t ≥ 6",
        "       ⎩ 0.5·x[t-1]  otherwise",
    ]


def test_draws_calls_and_elements_have_signs() -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", shape=(3,), over=(b, t))
    spread = ot.host(lambda v: v.std(), x, name="spread", effects="env")
    assert isinstance(spread, ot.Tensor)
    assert shown(y=spread + x[..., 0] * ot.random.normal(over=b)) == [
        "y[b, t] = spread + x₀·normal",
        "",
        "where",
        "",
        "spread[b, t] = spread(x)",
        "normal[b] ~ normal(0, 1)",
    ]
