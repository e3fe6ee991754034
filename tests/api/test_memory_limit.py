"""A limit of memory: what is kept for a later loop, and what is computed again."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ostinato as ot
from ostinato.pdg.errors import MemoryLimitError, OptionError

HINTS = {"B": 16, "T": 128}


@cache
def trained() -> ot.Program:
    """A gated recurrence through time, whose gradient reads every step again."""
    b, t = ot.dims("b t")
    x, weights = ot.input("x", (8,), over=(b, t)), [ot.input(f"w{k}", (16, 8)) for k in range(2)]
    h = ot.recurrent("h", (8,), over=(b, t))
    both = ot.concatenate([x, h])
    gate, new = ot.sigmoid(both @ weights[0]), ot.tanh(both @ weights[1])
    following = gate * h + (1.0 - gate) * new
    h[b, 0] = ot.zeros(8)
    h[b, t + 1] = following
    loss = ot.square(following[:, -1]).mean()
    return ot.Program(loss=loss, slope=ot.grad(loss, weights[0]))


@cache
def peak(limit: int | None = None) -> int:
    run = trained().compile(memory_limit=limit, hints=HINTS)
    return run.explain(**HINTS).memory.predicted_peak_bytes


def test_a_form_that_keeps_less_is_found() -> None:
    usual = peak()
    assert peak(usual) == usual
    assert peak(usual - 1) < usual


def test_a_form_within_a_limit_gives_the_same_results() -> None:
    rng = np.random.default_rng(3)
    given = {"x": rng.normal(size=(16, 128, 8)), "w0": rng.normal(size=(16, 8))}
    given["w1"] = rng.normal(size=(16, 8))
    usual = trained().compile(hints=HINTS)(**given)
    found = trained().compile(memory_limit=peak() - 1, hints=HINTS)(**given)
    for name, value in usual.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_a_limit_that_nothing_keeps_tells_the_least_that_would_do() -> None:
    with pytest.raises(MemoryLimitError) as caught:
        peak(1000)
    fact = "no form of the program fits in 1,000 bytes at B=16, T=128: the argument `x` ("
    assert caught.value.fact.startswith(fact) and caught.value.fact.endswith("takes 65,536")
    least = int(caught.value.remedy.split("memory_limit=")[1].split()[0])
    assert peak(least) == least
    with pytest.raises(MemoryLimitError):
        peak(least - 1)


def test_a_limit_needs_the_sizes_it_is_for() -> None:
    with pytest.raises(OptionError) as caught:
        trained().compile(memory_limit=10**6, hints={"B": 4})
    assert caught.value.fact == "`memory_limit` is given without a size for `T`"
    assert caught.value.remedy == "Say for which extents it holds: hints=dict(T=100)."


@pytest.mark.parametrize("limit", [-1, 1.5, "1 GB", True])
def test_a_limit_is_a_number_of_bytes(limit: object) -> None:
    with pytest.raises(OptionError, match="Pass a number of bytes"):
        trained().compile(memory_limit=limit, hints=HINTS)


def test_a_run_that_needs_more_is_refused_before_it_begins() -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    run = ot.Program(total=x[:].sum()).compile(memory_limit=8192, hints={"T": 1000})
    assert run(x=np.ones(1000))["total"] == 1000
    with pytest.raises(MemoryLimitError, match="more than its limit of 8,192"):
        run(x=np.ones(3000))


@cache
def deep(steps: int = 2) -> ot.Program:
    """A chain of functions of which the gradient reads every link at every step."""
    b, t = ot.dims("b t")
    x, w = ot.input("x", (8,), over=(b, t)), ot.input("w", (8, 8))
    h = ot.recurrent("h", (8,), over=(b, t))
    y = (x + h) @ w
    for _ in range(steps):
        y = ot.sin(y) * ot.sigmoid(y)
    h[b, 0] = ot.zeros(8)
    h[b, t + 1] = y
    loss = ot.square(y[:, -1]).mean()
    return ot.Program(loss=loss, slope=ot.grad(loss, w))


@cache
def least(program: ot.Program, **options: Any) -> int:
    """The smallest limit that the error for an impossible one tells."""
    with pytest.raises(MemoryLimitError) as caught:
        program.compile(memory_limit=1, hints=HINTS, **options)
    return int(caught.value.remedy.split("memory_limit=")[1].split()[0])


@cache
def bytes_of(program: ot.Program, **options: Any) -> int:
    run = program.compile(hints=HINTS, **options)
    return run.explain(**HINTS).memory.predicted_peak_bytes


@cache
def deep_given() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    return {"x": rng.normal(size=(16, 128, 8)), "w": rng.normal(size=(8, 8)) / 3}


@cache
def deep_expected() -> dict[str, Any]:
    return dict(deep().interpret(**deep_given()))


def test_a_deep_chain_is_computed_again_where_memory_is_short() -> None:
    assert least(deep()) < bytes_of(deep()) / 3
    assert least(deep(3)) < 1.1 * least(deep())  # longer chains keep no more


@pytest.mark.parametrize("share", [0.8, 0.4])
def test_what_is_computed_again_is_the_same(share: float) -> None:
    limit = int(share * bytes_of(deep()))
    run = deep().compile(memory_limit=limit, hints=HINTS)
    assert bytes_of(deep(), memory_limit=limit) <= limit
    assert "is computed again for later loops" in run.explain().schedule
    for name, value in deep_expected().items():
        np.testing.assert_allclose(run(**deep_given())[name], value, rtol=1e-4, atol=1e-6)


def test_rows_that_are_picked_are_computed_again() -> None:
    b, t, r = ot.dims("b t r")
    place = ot.recurrent("place", over=(b, t))
    place[b, 0] = ot.input("first", over=b)
    place[b, t + 1] = ot.cos(place + 1.0)
    image = ot.exp(-ot.square(ot.arange(64).cast("float32") / 32.0 - place[..., None]))
    row = ot.input("row", dtype="int32", over=r)
    seen = image.at(b=row % b.size, t=row // b.size)
    program = ot.Program(found=(seen * seen).sum(-1), all=image[:, :].sum((0, 1)))
    sizes = {"B": 4, "T": 100, "R": 300}
    rng = np.random.default_rng(0)
    given = {"first": rng.normal(size=4), "row": rng.permutation(400)[:300].astype("int32")}
    usual = program.compile(memory_limit=1 << 30, hints=sizes)
    small = program.compile(memory_limit=40_000, hints=sizes)
    use = [run.explain(**sizes).memory.predicted_peak_bytes for run in (usual, small)]
    assert use[1] <= 40_000 < 4 * 100 * 64 * 4 < use[0]
    wanted, found = (run(**given, T=100) for run in (usual, small))
    assert all(found[name].tobytes() == wanted[name].tobytes() for name in ("found", "all"))


def test_rows_that_are_picked_are_kept_in_16_bits_too() -> None:
    b, t, r = ot.dims("b t r")
    x = ot.recurrent("x", (64,), over=(b, t))
    x[b, 0] = ot.input("first", (64,), over=b)
    x[b, t + 1] = ot.cos(x + 1.0)
    row = ot.input("row", dtype="int32", over=r)
    program = ot.Program(found=x.at(b=row % b.size, t=row // b.size) * 2.0)
    sizes = {"B": 4, "T": 100, "R": 300}
    rng = np.random.default_rng(0)
    given = {"first": rng.normal(size=(4, 64)), "row": rng.permutation(400)[:300].astype("int32")}
    usual, narrow = (program.compile(hints=sizes, storage=s) for s in ("float32", "bfloat16"))
    peaks = [run.explain(**sizes).memory.predicted_peak_bytes for run in (usual, narrow)]
    assert peaks[0] - peaks[1] > 0.4 * (4 * 100 * 64 * 4)
    wide, near = (run(**given, T=100)["found"] for run in (usual, narrow))
    assert 0 < np.abs(wide - near).max() <= 2.0**-8 * np.abs(wide).max()


@pytest.mark.parametrize(("half", "error"), [("bfloat16", 2.0**-8), ("float16", 2.0**-11)])
def test_kept_values_may_take_16_bits(half: str, error: float) -> None:
    run = deep().compile(storage=half, hints=HINTS)
    assert bytes_of(deep(), storage=half) < 0.6 * bytes_of(deep())
    assert f"is kept as {half}" in run.explain().schedule
    found, slope = run(**deep_given())["slope"], deep_expected()["slope"]
    worst = np.abs(found - slope).max() / np.abs(slope).max()
    assert 0 < worst < 8 * error
    np.testing.assert_allclose(run(**deep_given())["loss"], deep_expected()["loss"], rtol=1e-5)


def test_with_a_limit_only_what_does_not_fit_takes_16_bits() -> None:
    within = least(deep())
    narrow = deep().compile(storage="bfloat16", memory_limit=within, hints=HINTS)
    assert "is kept as" not in narrow.explain().schedule
    assert least(deep(), storage="bfloat16") < within


def test_a_loop_that_reads_nothing_kept_stays_as_it_is() -> None:
    t = ot.dims("t")
    s = ot.recurrent("s", over=t)
    s[0] = 1.1
    s[t + 1] = s * 1.1
    program = ot.Program(last=s[-1])
    plain, half = program.compile(), program.compile(storage="bfloat16")
    assert plain(T=50)["last"] == half(T=50)["last"]


def test_certificates_of_smaller_programs_hold(tmp_path: Path) -> None:
    within = least(deep(), storage="bfloat16")
    run = deep().compile(storage="bfloat16", memory_limit=within, hints=HINTS)
    run.certificate(tmp_path / "small.json")
    assert ot.verify_certificate(tmp_path / "small.json").holds


# ------------------------------------------------------------ segments

NOISY = {"B": 3, "T": 300, "I": 2}


@cache
def noisy() -> ot.Program:
    """A recurrence of draws in every iteration of learning, which goes back through it."""
    i, b, t = ot.dims("i b t")
    theta = ot.recurrent("theta", (4, 4), over=i)
    h = ot.recurrent("h", (4,), over=(i, b, t))
    kept = ot.random.uniform((4,), over=(i, b, t)) < 0.8
    x = ot.random.normal((4,), over=(i, b, t))
    y = ot.tanh((ot.where(kept, h, 0.0) + x) @ theta)
    h[i, b, 0] = ot.zeros(4)
    h[i, b, t + 1] = y
    loss = ot.square(y[i, :, :]).mean((0, 1)).sum()
    theta[0] = ot.input("w", (4, 4))
    theta[i + 1] = theta - 0.1 * ot.grad(loss, theta)
    return ot.Program(loss=loss, theta=theta)


def test_what_one_product_reads_for_all_steps_is_read_step_by_step_if_nothing_else_fits() -> None:
    run = simple().compile(memory_limit=60_000, hints=HINTS)
    usual = simple().compile(hints=HINTS)
    given = {"w": np.random.default_rng(2).normal(size=(8, 8)) / 3, "seed": 1, **HINTS}
    assert usual.explain(**HINTS).memory.predicted_peak_bytes > 4 * 60_000
    assert "sums over all steps are taken step by step" in run.explain().schedule
    np.testing.assert_allclose(run(**given)["slope"], usual(**given)["slope"], 1e-4, 1e-7)


@cache
def simple() -> ot.Program:
    """A recurrence whose gradient is one product of two histories."""
    b, t = ot.dims("b t")
    w, x = ot.input("w", (8, 8)), ot.random.normal((8,), over=(b, t))
    h = ot.recurrent("h", (8,), over=(b, t))
    h[b, 0] = ot.zeros(8)
    h[b, t + 1] = ot.tanh(h @ w + x) * ot.sigmoid(x)
    return ot.Program(slope=ot.grad(ot.square(h[:, -1]).mean(), w))


@pytest.mark.parametrize(("share", "levels"), [(0.3, 1), (0.065, 2)])
def test_segments_repeat_the_same_draws_and_give_the_same_bits(share: float, levels: int) -> None:
    given = {"w": np.random.default_rng(5).normal(size=(4, 4)), "seed": 7, **NOISY}
    usual = noisy().compile(hints=NOISY, exact=True)
    limit = int(share * usual.explain(**NOISY).memory.predicted_peak_bytes)
    run = noisy().compile(hints=NOISY, exact=True, memory_limit=limit)
    assert run.explain().schedule.count("in segments of") == levels
    expected, found = usual(**given), run(**given)
    assert all(found[name].tobytes() == value.tobytes() for name, value in expected.items())


def test_exact_sums_are_not_taken_in_another_form_to_fit() -> None:
    b, s, t = ot.dims("b s t")
    x = ot.input("x", (2, 3), over=(b, s, t))
    past = x[b, : s + 1, t].transpose(1, 0, 2)
    scores = ot.tanh((2.0 * x).reshape(2, 1, 3) @ past.transpose(0, 2, 1)) * 3.0
    program = ot.Program(y=ot.softmax(scores, axis=-1) @ past)
    sizes = {"B": 3, "S": 3, "T": 3}
    usual = program.compile(hints=sizes, exact=True).explain(**sizes).memory.predicted_peak_bytes
    with pytest.raises(MemoryLimitError, match=f"memory_limit={usual} or more"):
        program.compile(hints=sizes, exact=True, memory_limit=usual - 1)


def test_exact_sums_keep_the_form_that_is_fastest_without_a_limit() -> None:
    """Found by fuzzing (seed 20261313): within a limit it was the one of the cheapest operators."""
    b, s = ot.dims("b s")
    x = ot.input("x", (1, 1), over=(b, s))
    values = ot.concatenate([x, ot.cos(x)], axis=-1)
    keys, seen = (ot.swapaxes(of[b, : s + 1], 0, 1) for of in (x, values))
    scores = ot.expand_dims(x, 1) @ ot.swapaxes(keys, -1, -2)
    program = ot.Program(y=(ot.softmax(scores, axis=-1) @ seen).sum())
    sizes = {"B": 1, "S": 67}
    given = {"x": np.random.default_rng(3).normal(size=(1, 67, 1, 1)).astype(np.float32)}
    usual = program.compile(hints=sizes, exact=True)
    forms = usual.explain().forms
    assert min(forms, key=forms.__getitem__) != "cheapest operators"
    limit = usual.explain(**sizes).memory.predicted_peak_bytes
    run = program.compile(hints=sizes, exact=True, memory_limit=limit)
    assert str(run.explain().schedule) == str(usual.explain().schedule)
    assert run(**given)["y"].tobytes() == usual(**given)["y"].tobytes()


def test_of_images_from_outside_as_many_are_kept_as_returns_have_steps() -> None:
    b, t = ot.dims("b t")

    def camera(push: Any) -> Any:
        return np.outer(push, np.arange(64.0)).astype("float32")

    pushed, w = ot.random.uniform(over=(b, t)), ot.input("w", (64,))
    value = ot.tanh(ot.host(camera, pushed, shape=(64,), over=b) @ w)
    gain = value.at(t=t + 3)
    for k in (1, 2):
        gain = gain + value.at(t=t + k)
    gain = ot.where(t + 3 < t.size, gain, 0.0)
    program = ot.Program(slope=ot.grad(ot.square(gain - value)[:, :].mean(), w))
    sizes, given = {"B": 4, "T": 200}, np.random.default_rng(0).normal(size=64) / 8
    usual = program.compile(hints=sizes)
    limit = usual.explain(**sizes).memory.predicted_peak_bytes // 20
    run = program.compile(hints=sizes, memory_limit=limit)
    assert "runs 3 steps of `t` later" in run.explain().schedule
    found, expected = (f(w=given, seed=1, **sizes)["slope"] for f in (run, usual))
    np.testing.assert_allclose(found, expected, 1e-4, 1e-6)
