"""``compile(checks="addresses")``: the same bits, and no access outside of a tensor unnoticed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import numpy as np
import pytest

import ostinato as ot
from ostinato import nn, optim
from ostinato.codegen.emit import generated_module as emission
from ostinato.codegen.emit.function import Body
from ostinato.codegen.emit.index_arithmetic import expression
from ostinato.codegen.ir.system import Axis, Load, Statement
from ostinato.codegen.ir.tree import Contraction, Loop, Nest, Tree
from ostinato.codegen.loops.expression import Expression, binary
from ostinato.codegen.loops.statements import Function
from ostinato.codegen.planning.planned import Plan
from ostinato.compiler.compiled import Compiled
from ostinato.pdg.errors import AddressError, OptionError
from ostinato.pdg.functions import Array
from ostinato.pdg.index import product as product_of
from ostinato.runtime.machine_code.arena_layout import Layout
from ostinato.runtime.machine_code.ports import Area
from ostinato.runtime.run.callbacks import Calls
from ostinato.runtime.run.frame import Frame
from ostinato.runtime.run.tensor_bounds import REMEDY
from tests.errors.refusal import here, refusal
from tests.pipeline.programs import SMALL

Given = Mapping[str, Any]
CHECKED = "addresses"


def values(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def places() -> Any:
    """Positions of an axis of 50, with its first one in the first row, its last in the last."""
    found = np.random.default_rng(0).integers(0, 50, (64, 7)).astype(np.int32)
    found[0, 0], found[-1, -1] = 0, 49
    return found


def compiled(program: ot.Program, **options: Any) -> Compiled:
    return program.compile(checks=CHECKED, **options)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("threads", [1, 2])
def test_checked_code_computes_the_same_bits(name: str, threads: int) -> None:
    make, sizes = SMALL[name]
    expected = make().compile(threads=threads)(**sizes)
    found = compiled(make(), threads=threads)(**sizes)
    assert {n: v.tobytes() for n, v in found.items()} == {
        n: v.tobytes() for n, v in expected.items()
    }


# ---------------------------------------------------------------- every kind of access

b, t = ot.dims("b t")


def mapped() -> tuple[ot.Program, Given]:
    x = ot.input("x", (24,), over=t)
    return ot.Program(y=ot.tanh(x) * 2.0), {"x": values(64, 24)}


def folded() -> tuple[ot.Program, Given]:
    x = ot.input("x", (33,), over=t)
    return ot.Program(y=x[:].sum(0), z=x.max()), {"x": values(64, 33)}


def running() -> tuple[ot.Program, Given]:
    x = ot.input("x", (5,), over=t)
    h = ot.recurrent("h", (5,), over=t)
    h[0] = 0.0
    h[t + 1] = ot.tanh(h + x)
    return ot.Program(h=h), {"x": values(20, 5)}


def product() -> tuple[ot.Program, Given]:
    x, w = ot.input("x", (24,), over=t), ot.input("w", (24, 40))
    return ot.Program(y=ot.relu(x @ w + 1.0)), {"x": values(64, 24), "w": values(24, 40)}


def wide_product() -> tuple[ot.Program, Given]:
    """One whose second factor is copied in panels."""
    x, w = ot.input("x", (80,), over=t), ot.input("w", (80, 600))
    return ot.Program(y=x @ w), {"x": values(64, 80), "w": values(80, 600)}


def dots() -> tuple[ot.Program, Given]:
    x, w = ot.input("x", (33,), over=t), ot.input("w", (33,))
    return ot.Program(y=(x * w).sum()), {"x": values(64, 33), "w": values(33)}


def transposed() -> tuple[ot.Program, Given]:
    x = ot.input("x", (16, 32))
    return ot.Program(y=x.transpose() * 1.0), {"x": values(16, 32)}


def gathered() -> tuple[ot.Program, Given]:
    x, at = ot.input("x", (50,), over=t), ot.input("at", (7,), "int32", over=t)
    return ot.Program(y=x.take(at, axis=0)), {"x": values(64, 50), "at": places()}


def sorted_rows() -> tuple[ot.Program, Given]:
    x = ot.input("x", (37,), over=t)
    return ot.Program(y=ot.sort(x), z=ot.cumsum(x, axis=0)), {"x": values(64, 37)}


def summed_back() -> tuple[ot.Program, Given]:
    """The derivative of a gather adds at positions."""
    x, at = ot.input("x", (50,)), ot.input("at", (7,), "int32", over=t)
    loss = (x.take(at, axis=0) ** 2)[:].sum()
    return ot.Program(g=ot.grad(loss, x)), {"x": values(50), "at": places()}


def hosted() -> tuple[ot.Program, Given]:
    x = ot.input("x", (4,), over=t)
    called = ot.host(_doubled, x, shape=(4,))
    assert isinstance(called, ot.Tensor)
    return ot.Program(y=called + 1.0), {"x": values(64, 4)}


def _doubled(x: Any) -> Any:
    return 2 * x


def ragged() -> tuple[ot.Program, Given]:
    """Episodes that end: gradients of weights are sums over the rows that live."""
    u, v = ot.dims("u v")
    x, end = ot.input("x", (8,), over=(u, v)), ot.input("end", dtype="bool", over=(u, v))
    w = ot.input("w", (8, 8))
    ot.stop(v, when=end)
    loss = (ot.tanh(x @ w) ** 2).sum()[u, :].sum(0)[:].mean()
    chance = np.random.default_rng(1).random((70, 9)) < 0.2
    given = {"x": values(70, 9, 8), "end": chance, "w": values(8, 8)}
    return ot.Program(loss=loss, g=ot.grad(loss, w)), given


def local_slots() -> tuple[ot.Program, Given]:
    x = ot.input("x", (8,), over=(b, t))
    w = ot.input("w", (8, 8))
    h = ot.recurrent("h", (8,), over=(b, t))
    h[b, 0] = 0.0
    h[b, t + 1] = ot.tanh(h @ w + x)
    return ot.Program(y=h[b, t].sum()), {"x": values(70, 9, 8), "w": values(8, 8)}


KINDS: dict[str, Callable[[], tuple[ot.Program, Given]]] = {
    f.__name__: f
    for f in (
        *(mapped, folded, running, product, wide_product, dots, transposed, gathered),
        *(sorted_rows, summed_back, hosted, local_slots),
    )
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_access_computes_the_same_bits(kind: str) -> None:
    program, given = KINDS[kind]()
    expected, found = program.compile()(**given), compiled(program)(**given)
    assert {n: v.tobytes() for n, v in found.items()} == {
        n: v.tobytes() for n, v in expected.items()
    }


PLAIN = (
    *("joined products", "merged cases", "single steps", "choices in tiny axes", "products"),
    *("transposed copies", "masked sums", "epilogues", "hoisted steps", "shared places", "guards"),
    *("early exits", "dead rows", "first products", "work of one worker", "squares"),
)


def test_an_entry_may_be_one_of_several_by_the_way_to_where_it_is_read() -> None:
    # two blocks read words of the table, and the optimiser reads where they meet
    i, e, m = ot.dims("i e m")
    model = nn.MLP(3, [5], 2, over=ot.carried(i, e, m))
    x, y = ot.input("x", (3,), over=b), ot.input("y", (2,), over=b)
    loss = ot.square(model(x) - y).at(b=slice(None)).mean()
    model.update(optim.SGD(0.1), loss)
    program, given = ot.Program(loss=loss), {"x": values(5, 3), "y": values(5, 2)}
    options: dict[str, Any] = {"widths": {"b": 3}, "without": PLAIN, "threads": 1}
    run = program.compile(checks=CHECKED, **options)
    expected = program.compile(**options)(I=2, E=2, M=3, **given)["loss"]
    assert run(I=2, E=2, M=3, **given)["loss"].tobytes() == expected.tobytes()


# ---------------------------------------------------------------- seeded faults


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled wrongly is kept for nobody."""
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))


def caught(run: Callable[[], object]) -> str:
    with pytest.raises(AddressError) as error:
        run()
    return error.value.fact


@pytest.mark.parametrize("shift", [-1, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_of_the_table_that_is_one_off_is_found(kind: str, shift: int) -> None:
    program, given = KINDS[kind]()
    run = compiled(program, threads=1)
    interface = run.executable.artifact.interface
    ends = {each.tensor for each in (*interface.inputs, *interface.outputs)}
    clear = Frame.clear
    for k, area in enumerate(interface.areas):
        if area.tensor not in ends:
            continue  # of a tile with fewer rows than slots the last ones are not touched

        def shifted(self: Frame, k: int = k) -> None:
            clear(self)
            self.table[k] += shift

        with mock.patch.object(Frame, "clear", shifted), small_results():
            fact = caught(lambda: run(**given))
        assert f"`{area.label}`" in fact
        assert " would be " in fact
    run(**given)


def small_results() -> Any:
    """All arguments and results are copied into the arena and out of it."""

    def nothing(*_: object) -> dict[str, Array]:
        return {}

    return mock.patch.object(Frame, "direct", nothing)


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("kind", [k for k in KINDS if k != "hosted"])
def test_a_loop_with_one_turn_too_many_is_found(kind: str) -> None:
    program, given = KINDS[kind]()
    functions = emission.functions

    def wrong(plan: Plan) -> Iterator[Function]:
        kernels = tuple(replace(k, body=tuple(map(longer, k.body))) for k in plan.kernels)
        statements = {n: longer_along(s) for n, s in plan.statements.items()}
        return functions(replace(plan, kernels=kernels, statements=statements))

    with mock.patch.object(emission, "functions", wrong):
        run = compiled(program, threads=1)
    assert " would be " in caught(lambda: run(**given))


def longer(tree: Tree) -> Tree:
    match tree:
        case Loop():
            return replace(tree, body=tuple(map(longer, tree.body)))
        case Nest():
            return replace(tree, axes=tuple(map(more, tree.axes)))
        case Contraction():
            return replace(tree, k=more(tree.k))
        case _:
            return tree


def longer_along(s: Statement) -> Statement:
    return replace(s, axes=tuple(map(more, s.axes))) if s.kind == "along" else s


def more(axis: Axis) -> Axis:
    return replace(axis, size=axis.size + 1, pad=axis.size + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_access_of_the_neighbour_is_found(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, given = KINDS[kind]()
    offset = Body.offset
    areas = compiled(program, threads=1).executable.artifact.interface.areas
    tensors = [a for a in areas if a.label in {*given, *program.outputs}]
    assert len(tensors) > 1
    for area in tensors:
        monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path / area.tensor))

        def wrong(self: Body, load: Load, scope: Any = None, area: Area = area) -> Expression:
            found = offset(self, load, scope)
            if load.tensor != area.tensor:
                return found
            size = expression(product_of(area.shape), self.function.dims)
            return binary("+", found, size)

        with mock.patch.object(Body, "offset", wrong):
            run = compiled(program, threads=1)
        assert f"`{area.label}`" in caught(partial(run, **given))


def test_a_list_of_living_rows_stays_in_its_bounds() -> None:
    """A stop makes lists of the rows that live, which products follow."""
    program, given = ragged()
    expected, found = program.compile(threads=1)(**given), compiled(program, threads=1)(**given)
    assert {n: v.tobytes() for n, v in found.items()} == {
        n: v.tobytes() for n, v in expected.items()
    }


@pytest.mark.parametrize("shift", [4, 64])
def test_a_layout_in_which_tensors_meet_is_refused(shift: int) -> None:
    program, given = product()
    run = compiled(program, threads=1)
    place = run.executable.layout

    def wrong(extents: Mapping[str, int], records: int | None = None) -> Layout:
        found = place(extents, records)
        moved = {n: at - shift if at else shift for n, at in found.offsets.items()}
        return cast(Layout, replace(cast(Any, found), offsets=moved))

    with mock.patch.object(run.executable, "layout", wrong):
        fact = caught(lambda: run(**given))
    assert re.search("lies in bytes|lies where|does not lie", fact)


# ---------------------------------------------------------------- what a user sees


def test_the_error_names_the_tensor_the_line_the_offset_and_the_bounds() -> None:
    x, place = ot.input("x", (24,), over=t), here()
    run = ot.Program(y=ot.tanh(x) * 2.0).compile(checks=CHECKED, threads=1)
    clear = Frame.clear

    def shifted(self: Frame) -> None:
        clear(self)
        self.table[[a.label for a in run.executable.artifact.interface.areas].index("x")] -= 2

    with mock.patch.object(Frame, "clear", shifted):
        text = refusal(AddressError, lambda: run(x=np.ones((4, 24))))
    assert text.startswith(f"{place}: `x` would be read at element -2")
    assert text.endswith(f" and has 96 elements\n  {REMEDY}")


def test_what_is_outside_is_not_touched() -> None:
    """A store that would lie before its tensor changes nothing, and the run ends."""
    x = ot.input("x", (24,), over=t)
    run = ot.Program(y=ot.tanh(x) * 2.0).compile(checks=CHECKED, threads=1)
    clear, seen = Frame.clear, list[Any]()

    def shifted(self: Frame) -> None:
        clear(self)
        self.arena[:] = 7
        k = [a.label for a in run.executable.artifact.interface.areas].index("y")
        self.table[k] = len(self.arena) + 100  # far behind the arena
        seen.append(self.arena)

    with mock.patch.object(Frame, "clear", shifted):
        caught(lambda: run(x=np.zeros((4, 24))))
    untouched = seen[0] == 7
    assert untouched.sum() == len(seen[0]) - 4 * 24 * 4  # `x` alone was copied there


def test_a_stream_ends_with_the_error() -> None:
    program, given = running()
    run = compiled(program, threads=1)
    clear = Frame.clear

    def shifted(self: Frame) -> None:
        clear(self)
        self.table[:] += 10_000

    with mock.patch.object(Frame, "clear", shifted), pytest.raises(AddressError):
        for _ in run.stream(t, **given):
            pass


def test_large_arguments_and_results_have_bounds_where_they_are() -> None:
    x = ot.input("x", (1024,), over=t)
    program, given = ot.Program(y=ot.tanh(x) * 2.0), {"x": values(100, 1024)}
    run = compiled(program)
    assert np.array_equal(run(**given)["y"], program.compile()(**given)["y"])
    redirect = Frame.redirect

    def shifted(self: Frame, tensor: str, array: Any) -> None:
        redirect(self, tensor, array)
        self.table += 1

    with mock.patch.object(Frame, "redirect", shifted):
        assert "and has 102400 elements" in caught(lambda: run(**given))


def test_a_host_call_is_given_no_memory_of_others() -> None:
    program, given = hosted()
    run = compiled(program, threads=1)
    view = Calls._view  # pyright: ignore[reportPrivateUsage]

    def wrong(self: Calls, of: Any, offset: int, env: Any, way: str) -> Any:
        return view(self, of, offset - (of.view.tensor == "x"), env, way)

    with mock.patch.object(Calls, "_view", wrong):
        assert caught(lambda: run(**given)).startswith("`x` would be read at element -1")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (False, False),
        (True, True),
        ("values", True),
        ("addresses", ("addresses",)),
        (["addresses", "values"], ("values", "addresses")),
        ([], False),
    ],
)
def test_the_words_of_checks(given: object, kept: object) -> None:
    run = ot.Program(y=ot.input("x", over=t) * 2.0).compile(checks=given)
    assert run._request.options.checks == kept  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("wrong", ["address", 3, ["values", "no"], None])
def test_other_words_of_checks_are_refused(wrong: object) -> None:
    program = ot.Program(y=ot.input("x", over=t) * 2.0)
    text = refusal(OptionError, lambda: program.compile(checks=wrong))
    remedy = 'Pass True, False, "values" or "addresses", or a list.'
    assert text == f"{here(-2)}: `checks` is {wrong!r}\n  {remedy}"


def test_checked_and_unchecked_programs_are_kept_apart() -> None:
    program = ot.Program(y=ot.input("x", over=t) * 2.0)
    keys = {program.compile(checks=c).executable.key for c in (False, True, "addresses")}
    assert len(keys) == 3
