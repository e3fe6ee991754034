"""Where the time of a run goes, without a word from the user."""

import numpy as np
import numpy.typing as npt
import pytest

import ostinato as ot
from ostinato import nn, optim, rl
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import ArgumentError
from ostinato.pdg.origin import Place
from ostinato.provenance.operations import key_of, operations


def training() -> ot.Program:
    """Policy gradients in a few lines."""
    b, i, t = ot.dims("b i t")
    env = rl.CartPole()
    policy = nn.Linear(4, 2, over=i)
    state = ot.recurrent("state", like=env.state, over=(b, i, t))
    state[b, i, 0] = env.reset(over=(b, i))
    action = rl.Categorical(policy(env.observe(state))).sample()
    following, reward, _, _ = env.step(state, action)
    state[b, i, t + 1] = following
    earned = ot.discounted_sum(reward[b, i, t:], 0.9)
    loss = -(rl.log_prob(action) * ot.stop_gradient(earned))[:, i, :].mean()
    optim.SGD(0.1).minimize(loss, policy.parameters)
    return ot.Program(loss=loss)


def by_line(program: ot.Program) -> dict[str, set[str]]:
    """The operations of the lines of `training`, by what stands in them."""
    import inspect

    lines, first = inspect.getsourcelines(training)
    out: dict[str, set[str]] = {}
    for (place, _, _), operation in operations(program.pdg).items():
        number = int(place.rpartition(":")[2] or 0) - first
        if 0 <= number < len(lines):
            out.setdefault(lines[number].strip(), set()).add(operation)
    return out


def test_operations_are_known_without_annotations() -> None:
    found = by_line(training())
    assert found["following, reward, _, _ = env.step(state, action)"] == {"environment"}
    assert found["action = rl.Categorical(policy(env.observe(state))).sample()"] >= {"policy"}
    assert "returns" in found["earned = ot.discounted_sum(reward[b, i, t:], 0.9)"]
    assert found["optim.SGD(0.1).minimize(loss, policy.parameters)"] >= {"optimizer"}


def test_an_ordinary_program_is_grouped_by_its_functions() -> None:
    def smoothed(x: ot.Tensor) -> ot.Tensor:
        return ot.tanh(x) * 0.5

    found = operations(ot.Program(y=smoothed(ot.input("x", over=ot.dims("t")))).pdg)
    assert any(name.endswith("smoothed") for name in found.values())


def test_an_environment_is_known_by_its_methods() -> None:
    class Walk:
        def reset(self) -> ot.Tensor:
            return ot.constant(0.0)

        def observe(self, x: ot.Tensor) -> ot.Tensor:
            return x

        def step(self, x: ot.Tensor) -> ot.Tensor:
            return ot.tanh(x) + 1.0

    stepped = Walk().step(ot.input("x"))
    assert isinstance(stepped.node.where, Place) and stepped.node.where.part == "environment"


def test_what_a_derivative_passes_through_is_learning() -> None:
    x = ot.input("x")
    loss = ot.tanh(x)
    slope = ot.grad(loss, x)
    found = operations(ot.Program(slope=slope).pdg)
    assert found[key_of(slope.node.where)] == "gradient"


def test_what_a_value_is_part_of_is_no_part_of_the_program() -> None:
    first = ot.Program(y=ot.exp(ot.input("x"))).pdg.outputs[0][1]
    assert first.where == str(first.where) and hash(first.where) == hash(str(first.where))


@pytest.fixture(scope="module")
def trained() -> Compiled:
    return training().compile(threads=2)


def test_parts_add_up_to_the_time_of_the_run(trained: Compiled) -> None:
    found = trained.profile(B=64, I=3, T=20, seed=1)
    assert sum(part.ns for part in found.operations) == pytest.approx(found.total_ns, rel=1e-6)
    names = {part.operation for part in found.operations}
    assert names >= {"environment", "policy", "gradient", "optimizer", "waiting", "arguments"}
    assert names.isdisjoint({"other"})


def test_a_profiled_run_gives_the_same_results(trained: Compiled) -> None:
    found = trained.profile(B=64, I=3, T=20, seed=1).results["loss"]
    np.testing.assert_array_equal(found, trained(B=64, I=3, T=20, seed=1)["loss"])


def test_measured_times_appear_in_the_explanation(trained: Compiled) -> None:
    sizes = {"B": 32, "I": 2, "T": 10}
    assert all(each.measured_ns is None for each in trained.explain(**sizes).records)
    trained.profile(**sizes, seed=1)
    assert all(each.measured_ns for each in trained.explain(**sizes).records if each.calls)
    assert trained.explain(B=16, I=2, T=10).records[0].measured_ns is None


def test_a_stream_can_be_profiled(trained: Compiled) -> None:
    stream, profile = trained.profiled_stream("i", B=32, I=4, T=10, seed=1)
    with stream:
        count = sum(1 for _ in stream)
    found = profile()
    assert count == 4 and found.total_ns > 0
    assert sum(part.ns for part in found.operations) == pytest.approx(found.total_ns, rel=1e-6)


def test_python_functions_are_a_part() -> None:
    def added(a: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return a + np.float32(1)

    program = ot.Program(y=ot.host(added, ot.input("x", over=ot.dims("t"))))
    found = program.compile().profile(x=np.ones(50))
    asked = next(part for part in found.operations if part.operation == "host")
    assert asked.ns > 0 and asked.measured_ns == pytest.approx(asked.ns)


def test_an_unknown_argument_is_refused(trained: Compiled) -> None:
    with pytest.raises(ArgumentError, match="`J`"):
        trained.profile(B=8, I=1, T=4, J=3)


def test_a_run_that_is_not_over_has_no_profile(trained: Compiled) -> None:
    stream, profile = trained.profiled_stream("i", B=32, I=4, T=10, seed=1)
    with stream, pytest.raises(ArgumentError, match="not over.*\n.*to the end, or close it"):
        profile()


def test_only_first_dimensions_can_be_streamed(trained: Compiled) -> None:
    with pytest.raises(ArgumentError, match="no output has `t` as its first dimension"):
        trained.profiled_stream("t", B=32, I=4, T=10)
