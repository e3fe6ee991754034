"""The printed program is what a person would write, with names, types and places."""

from ostinato.pdg import build
from ostinato.pdg.condition import ALWAYS, at_least, equal, every
from ostinato.pdg.index import Slice, expr, maximum
from ostinato.pdg.node import Equation, Random
from ostinato.pdg.text.printer import show
from tests.pdg.programs import (
    B,
    T,
    add,
    mul,
    n,
    program,
    running_sum,
    scalar,
    series,
    shifted,
    t,
    window,
)


def lines(text: str) -> list[str]:
    """The lines with runs of spaces made one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_recurrence_is_printed_case_by_case() -> None:
    s, equation = running_sum()
    later = build.case(at_least(t, 3), s, scalar(0.0))
    assert show(program(equation, s=s, later=later)) == (
        "later[b, t] = s[b, t] if t >= 3 else 0.0     f32 over (b, t)\n"
        "s[b, 0]     = init[b]                        f32 over (b, t)    train.py:4\n"
        "s[b, t]     = s[b, t-1] + r[t]  if t >= 1                       train.py:5"
    )


def test_slices_and_shared_values_are_named_and_indexed() -> None:
    squares = mul(series(), series())
    recent = build.reduce_node("sum", window(squares, maximum(t - 3, 0), t + 1), [-1])
    assert lines(show(program(recent=recent, first=build.read(squares, [(T, expr(0))])))) == [
        "v1[t] = r[t] * r[t] f32 over (t)",
        "recent[t] = sum(v1[max(0, t-3):t+1], axes=-1) f32 over (t)",
        "first = v1[0] f32",
    ]


def test_a_step_from_the_previous_one_is_printed_as_the_user_wrote_it() -> None:
    y = build.rec("y", (expr(2),), "float32", (T,))
    following = add(mul(scalar(0.5), y), series())
    cases = (
        (equal(t, 0), build.const(0.0, "float32", y.shape)),
        (at_least(t, 1), shifted(following, -1)),
    )
    assert lines(show(program(Equation(y, cases), first=build.part(y, -1, expr(0))))) == [
        "first[t] = y[t][0] f32 over (t)",
        "y[0] = 0.0 f32[2] over (t)",
        "y[t+1] = 0.5 * y[t] + r[t]",
    ]


def test_a_repeated_number_is_printed_as_the_number() -> None:
    halves = build.read(scalar(0.5), [(B, Slice(expr(0), expr(4)))])
    both = mul(halves, build.read(series(), [(B, Slice(expr(0), expr(4)))]))
    assert lines(show(program(y=both))) == ["y[t] = 0.5 * r[t, b=:4] f32[4] over (t)"]


def test_parentheses_stand_where_they_are_needed() -> None:
    r, one = series(), scalar(1.0)
    inner = mul(add(r, one), build.map_node("sub", (r, add(one, r))))
    text = lines(show(program(y=build.map_node("neg", (inner,)))))
    assert text == ["y[t] = -((r[t] + 1.0) * (r[t] - (1.0 + r[t]))) f32 over (t)"]


def test_every_operator_has_a_form() -> None:
    x = build.input_node("x", (expr(2), expr(3)), "float32", ())
    i = build.input_node("i", (expr(2), expr(1)), "int32", ())
    outputs = {
        "a": build.matmul(x, build.transpose(x, (-1, -2))),
        "c": build.concat((x, x), 0),
        "d": build.broadcast(build.reshape(build.part(x, 0, expr(1)), (expr(1), expr(3))), x.shape),
        "e": build.gather(x, i, -1),
        "f": build.random_node(Random("normal", 2), (expr(3),), "float32", (B,)),
        "g": build.scan("max", series(), T),
        "h": build.linear(scalar(0.9), series(), T, reverse=True),
        "k": build.map_node("cast", (build.iota(n),), "float32"),
        "l": build.const((1, 2, 3, 4, 5), "int32", (expr(5),)),
        "m": build.read(series(), [(B, Slice(expr(0), expr(4)))]),
        "n": build.scan("sum", series(), T, reverse=True),
    }
    assert lines(show(program(**outputs))) == [
        "a = x @ transpose(x, -1 -2) f32[2, 2]",
        "c = concat(x, x, axis=-2) f32[4, 3]",
        "d = broadcast(reshape(x[1, :], (1, 3)), (2, 3)) f32[2, 3]",
        "e = take(x, i, axis=-1) f32[2, 1]",
        "f[b] = normal#2[b] f32[3] over (b)",
        "g[t] = scan_max(r[t], t) f32 over (t)",
        "h[t] = linear(0.9, r[t], t backwards) f32 over (t)",
        "k = f32(iota(T)) f32[T]",
        "l = [1, 2, 3, 4, ...] i32[5]",
        "m[t] = r[t, b=:4] f32[4] over (t)",
        "n[t] = scan_sum(r[t], t backwards) f32 over (t)",
    ]


def test_the_condition_of_a_case_is_shown_unless_it_is_one_step() -> None:
    y = build.rec("y", (), "float32", (B, T))
    middle = every(equal(B, 0), at_least(T, 2))
    cases = ((equal(t, n - 1), series()), (middle, scalar(1.0)), (ALWAYS, shifted(y, 1)))
    assert lines(show(program(Equation(y, cases), y=y))) == [
        "y[b, T-1] = r[t] f32 over (b, t)",
        "y[b, t] = 1.0 if b == 0 and t >= 2",
        "y[b, t] = y[b, t+1]",
    ]


def test_a_long_expression_is_broken_into_named_values() -> None:
    x = series()
    for _ in range(30):
        x = build.map_node("tanh", (add(scalar(0.5), x),))
    text = lines(show(program(y=x)))
    assert len(text) > 3
    assert all(len(line) < 140 for line in text)


def test_two_outputs_of_one_value_are_both_printed() -> None:
    y = build.map_node("exp", (series(),))
    assert lines(show(program(a=y, b=y))) == ["a[t] = exp(r[t]) f32 over (t)", "b = a[t]"]


def test_the_text_is_the_same_every_time() -> None:
    s, equation = running_sum()
    graph = program(equation, y=mul(s, s), s=s)
    assert show(graph) == show(graph)
