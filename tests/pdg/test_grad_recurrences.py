"""Gradients through equations: back-propagation through time, held points, policies, errors."""

import numpy as np
import pytest

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, at_least, equal, every
from ostinato.pdg.errors import GradientError
from ostinato.pdg.grad.reverse import gradient
from ostinato.pdg.index import Dim, Slice, expr, maximum
from ostinato.pdg.interpret import interpret
from ostinato.pdg.node import Equation, Node, Pdg
from tests.pdg.gradients import (
    B,
    T,
    at,
    check,
    f,
    mul,
    n,
    number,
    shifted,
    source,
    t,
    total,
    weighed,
    window,
)

y, z = source("y", over=(T,)), source("z", over=(T,))
w, u, start = source("w", 3, 3), source("u", 3, 3), source("start", 1, 3, over=(B,))
x = source("x", 1, 3, over=(B, T))


def rnn() -> tuple[Node, Equation]:
    """``h[0] = start; h[t + 1] = tanh(h[t] w + x[t] u)``."""
    h = build.rec("h", (expr(1), expr(3)), "float64", (B, T), "train.py:7")
    step = f("add", build.matmul(shifted(h, -1), w), build.matmul(shifted(x, -1), u))
    return h, Equation(h, ((equal(T, 0), start), (at_least(T, 1), f("tanh", step))))


def returns(gain: Node) -> tuple[Node, Equation]:
    """``v[T - 1] = y; v[t] = y + gain * v[t + 1]``."""
    v = build.rec("v", (), "float64", (T,))
    later = f("add", y, mul(gain, shifted(v, 1)))
    return v, Equation(v, ((equal(T, n - 1), y), (ALWAYS, later)))


@pytest.mark.parametrize("extents", [{"B": 1, "T": 1}, {"B": 2, "T": 2}, {"B": 2, "T": 5}])
def test_gradient_through_a_recurrent_network(extents: dict[str, int]) -> None:
    h, equation = rnn()
    check(weighed(h), [w, u, start, x], equation, extents=extents)


def test_gradient_of_the_last_state_goes_back_through_time() -> None:
    h, equation = rnn()
    last = build.read(h, [(T, n - 1), (B, Slice(expr(0), expr(B.extent)))])
    found = check(build.reduce_node("sum", mul(last, last), [-1, -2, -3]), [w, start], equation)
    assert list(found.equations) == ["d_loss/d_h"]


def test_gradient_through_a_backward_recurrence() -> None:
    gain = source("gain")
    v, equation = returns(gain)
    check(weighed(v), [gain, y], equation)


def test_gradient_through_a_recurrence_with_memory_of_two_steps() -> None:
    v = build.rec("v", (), "float64", (T,))
    later = f("add", mul(shifted(v, -1), y), mul(shifted(v, -2), z))
    check(weighed(v), [y, z], Equation(v, ((at_least(1, T), y), (ALWAYS, later))))


def test_gradient_through_a_recurrence_that_sums_its_whole_past() -> None:
    v = build.rec("v", (), "float64", (T,))
    past = build.reduce_node("sum", window(v, 0, t), [-1])
    check(weighed(v), [y], Equation(v, ((ALWAYS, f("add", y, f("tanh", past))),)))


def test_gradient_through_two_recurrences_that_read_each_other() -> None:
    p, q = (build.rec(name, (), "float64", (T,)) for name in "pq")
    first = Equation(p, ((equal(T, 0), y), (ALWAYS, f("sin", mul(y, shifted(q, -1))))))
    second = Equation(q, ((ALWAYS, f("add", z, mul(p, p))),))
    check(weighed(q), [y, z], first, second)


def test_a_tensor_off_all_cycles_is_reversed_where_it_is_read_only() -> None:
    v, weight = build.rec("v", (), "float64", (T,)), source("weight")
    equation = Equation(v, ((ALWAYS, mul(weight, shifted(y, 1))),))  # no y[T] for v[T - 1]
    found = check(weighed_sum(window(v, 0, n - 1)), [weight, y], equation)
    assert found.equations == {}


def weighed_sum(x: Node) -> Node:
    return build.reduce_node("sum", f("sin", x), range(-x.rank, 0))


def test_gradient_of_x_times_itself_and_its_clamped_past() -> None:
    pair = f("add", mul(y, z), mul(y, at(z, maximum(t - 1, 0))))
    check(weighed(pair), [y, z])


def test_second_derivative_through_a_recurrence() -> None:
    gain = source("gain")
    v, equation = returns(gain)
    first = gradient(total(mul(v, v)), [gain], {"v": equation})
    again = check(first.nodes[0], [gain, y], equation, *first.equations.values())
    assert not again.equations.keys() & first.equations.keys()


def test_second_derivative_through_a_prefix() -> None:
    e = f("exp", mul(y, window(y, 0, t + 1)))
    (first,) = gradient(total(build.reduce_node("sum", e, [-1])), [y], {}).nodes
    check(weighed(first), [y], extents={"T": 4})


def log_softmax(logits: Node) -> Node:
    best = build.reshape(build.reduce_node("max", logits, [-1]), (expr(1),))
    shifted_ = f("sub", logits, f("stop_gradient", best))
    norm = f("log", build.reduce_node("sum", f("exp", shifted_), [-1]))
    return f("sub", shifted_, build.reshape(norm, (expr(1),)))


def test_gradient_of_a_policy_times_returns() -> None:
    observation, noise = source("o", 1, 4, over=(B, T)), source("noise", 2, over=(B, T))
    hidden, head = source("hidden", 4, 5), source("head", 5, 2)
    logits = build.matmul(f("tanh", build.matmul(observation, hidden)), head)
    logits = build.reshape(logits, (expr(2),))
    action = build.reduce_node("argmax", f("add", f("stop_gradient", logits), noise), [-1])
    chosen = build.gather(log_softmax(logits), build.reshape(action, (expr(1),)), -1)
    score = mul(build.reshape(chosen, ()), f("stop_gradient", source("g", over=(B, T))))
    check(f("neg", total(score)), [hidden, head])


def learner() -> Pdg:
    """``theta[i + 1] = theta[i] - 0.1 d loss[i]``, where the loss also reads ``theta[i - 1]``."""
    i = Dim("i")
    theta = build.rec("theta", (), "float64", (i,))
    before = build.read(theta, [(i, maximum(expr(i) - 1, 0))])
    loss = f("add", mul(theta, theta), mul(theta, before))
    (g,) = gradient(loss, [theta], {}).nodes
    earlier = [(i, expr(i) - 1)]
    step = f("sub", build.read(theta, earlier), build.read(mul(number(0.1), g), earlier))
    equation = Equation(theta, ((equal(i, 0), source("start")), (ALWAYS, step)))
    return Pdg((("theta", theta), ("g", g)), {"theta": equation})


def test_a_read_of_another_point_of_the_loss_is_held_constant() -> None:
    found = interpret(learner(), {"I": 3}, {"start": np.array(1.0)})
    theta, g = found["theta"], found["g"]
    assert g[0] == pytest.approx(4 * theta[0])  # there both reads are the same point
    assert g[1:] == pytest.approx(2 * theta[1:] + theta[:-1])
    assert theta[1:] == pytest.approx(theta[:-1] - 0.1 * g[:-1])


def test_state_carried_across_the_points_of_the_loss_is_held_constant() -> None:
    i = Dim("i")
    h = build.rec("h", (), "float64", (T, i))
    carried = build.read(h, [(i, expr(i) - 1), (T, n - 1)])
    cases = (
        (every(equal(T, 0), equal(i, 0)), number(0.5)),
        (equal(T, 0), carried),
        (ALWAYS, mul(w0 := source("w0"), build.read(h, [(T, t - 1)]))),
    )
    loss = build.read(h, [(T, n - 1)])
    found = gradient(loss, [w0], {"h": Equation(h, cases)})
    outputs = (("g", found.nodes[0]), ("h", build.read(h, [(T, expr(0))])))
    graph = Pdg(outputs, {"h": Equation(h, cases), **found.equations})
    got = interpret(graph, {"I": 3, "T": 4}, {"w0": np.array(0.7)})
    np.testing.assert_allclose(got["g"], 3 * 0.7**2 * got["h"])


def test_a_node_between_is_an_independent_variable() -> None:
    hidden = f("exp", y)
    g = gradient(total(mul(hidden, z)), [hidden, y], {}).nodes
    assert g[0] == z
    assert interpret(Pdg((("g", g[1]),), {}), {}, {})["g"] == 0


def test_equations_that_no_derivative_passes_are_not_reversed() -> None:
    h, equation = rnn()
    v, other = returns(number(0.5))
    loss = f("add", total(h), total(mul(v, z)))
    found = gradient(loss, [z], {"h": equation, "v": other})
    assert found.equations == {}


def test_names_of_adjoints_are_not_used_twice() -> None:
    h, equation = rnn()
    first = gradient(total(h), [w], {"h": equation})
    known = {"h": equation, **first.equations}
    assert gradient(total(h), [w], known).equations == first.equations
    second = gradient(total(mul(h, h)), [w], known)
    assert list(second.equations) == ["d_loss_1/d_h"]


def test_gradient_of_a_vector_says_how_to_make_a_scalar() -> None:
    with pytest.raises(GradientError, match=r"which is 3 float64.*\n  A loss is one float"):
        gradient(source("v", 3), [y], {})


def test_gradient_by_an_integer_is_an_error() -> None:
    k = build.input_node("k", (), "int32", (), "train.py:3")
    with pytest.raises(GradientError, match=r"train.py:3: .*respect to `k`, which is int32"):
        gradient(total(y), [k], {})


def test_gradient_through_a_tensor_without_equations_is_an_error() -> None:
    h, _ = rnn()
    text = r"train.py:7: `h`, which the gradient of .* needs, has no equations yet"
    with pytest.raises(GradientError, match=text):
        gradient(total(h), [w], {})


def test_running_maximum_has_no_gradient() -> None:
    with pytest.raises(GradientError, match="running max over t"):
        gradient(total(build.scan("max", y, T)), [y], {})
