"""Places that stay during a loop of one thread are its variables, and no others are."""

from collections.abc import Callable

import pytest

from ostinato.codegen.cuda.kept import MOST_READ, Kept, Steps, has_turns
from ostinato.codegen.cuda.touches import Access
from ostinato.codegen.loops.expression import Call, Name, binary, call, compare
from ostinato.codegen.loops.statements import Block, For
from tests.cuda.programs import PROGRAMS

ACCESSES = {
    f"{kind}_{tensor}": Access(tensor, "float32", kind == "st")
    for kind in ("ld", "st")
    for tensor in ("x", "y", "z")
}
t, i, n, T = map(Name, ("t", "i", "n", "T"))


def load(tensor: str, place: object) -> Call:
    return call(f"ld_{tensor}", "arena", place)  # type: ignore[arg-type]  # a name or a sum


def store(tensor: str, place: object, value: object) -> Call:
    return call(f"st_{tensor}", "arena", place, value)  # type: ignore[arg-type]


def kept(write: Callable[[Block], None], is_alone: bool = True) -> dict[str, Kept]:
    """The variables of a loop with a body, by name."""
    out = Block()
    with out.loop("t", T):
        write(out)
    (made,) = out.body
    assert isinstance(made, For)
    looked = Steps(ACCESSES, {})
    assert looked.look(made)
    return {x.name: x for x in looked.kept({"own_y_0"}, is_alone)}


def test_what_is_written_is_written_back() -> None:
    def body(out: Block) -> None:
        out.do(store("x", Name("at_x"), load("y", Name("at_y"))))

    found = kept(body)
    assert {name: x.is_written for name, x in found.items()} == {"own_x_0": True, "own_y_0_": False}
    assert [*kept(body, is_alone=False)] == ["own_y_0_"]


def test_a_place_that_may_be_another_one_stays_in_memory() -> None:
    def body(out: Block) -> None:
        out.do(store("x", i, load("x", n)))
        out.do(store("y", i, load("y", t)))
        out.do(store("z", i + 1, load("z", i)))

    assert [*kept(body)] == ["own_z_0", "own_z_1"]


def test_a_place_that_is_loaded_stays_in_memory() -> None:
    def body(out: Block) -> None:
        out.do(store("x", i, load("y", call("i64", load("x", i)))))
        out.let("place", call("i64", load("x", i)))
        out.do(store("z", Name("place"), Name("place")))

    assert [*kept(body)] == ["own_x_0"]


def test_one_text_for_two_places_is_no_variable() -> None:
    def body(out: Block) -> None:
        out.let("place", i)
        out.do(store("x", Name("place"), t))
        out.let("place", i + 1)
        out.do(store("x", Name("place"), t))

    assert not kept(body)


def test_a_place_is_read_by_names_that_have_a_value_before_the_loop() -> None:
    def body(out: Block) -> None:
        out.let("place", i + 1)
        out.let("x_", load("x", call("max", binary("//", Name("place"), 2), 0) * n))

    (found,) = kept(body).values()
    assert str(found.index) == "(max((i + 1) // 2, 0)) * n"


def test_a_place_is_read_where_it_is_in_use() -> None:
    def body(out: Block) -> None:
        with out.when(compare("<", i, n)):
            out.do(store("x", i, t))
        with out.when(compare("==", t, 0)):
            out.do(store("y", i, t))
        with out.loop("k", n):
            out.do(store("z", i, t))

    assert [str(x.under) for x in kept(body).values()] == ["i < n", "None", "0 < n"]


def test_few_places_that_are_only_read_are_variables() -> None:
    def body(out: Block) -> None:
        for k in range(MOST_READ + 3):
            out.let(f"x_{k}", load("x", i + k))

    assert len(kept(body)) == MOST_READ


@pytest.mark.parametrize(
    ("bounds", "test"),
    [
        ((T,), "0 < T"),
        ((3,), "None"),
        ((1, 1), "1 < 1"),
        ((T, -1, -1), "-1 < T"),
        ((3, -1, -1), "None"),
        ((i, n, T), "i != n"),
    ],
)
def test_a_loop_without_turns_touches_nothing(bounds: tuple[Name | int, ...], test: str) -> None:
    out = Block()
    with out.loop("t", *bounds):
        pass
    (made,) = out.body
    assert isinstance(made, For)
    assert str(has_turns(made)) == test


@pytest.mark.cuda_sim
@pytest.mark.parametrize("name", ["logistic", "ended", "nested"])
def test_steps_of_one_number_leave_memory_alone(name: str, simulate: Callable[..., None]) -> None:
    simulate()
    program, _ = PROGRAMS[name]()
    text = program.compile(target="cuda").explain().kernels[0]
    steps = text[text.index("while t < ") : text.index("] = own_")]
    assert "barrier" not in steps
    assert "= arena." not in steps
    assert "elif" not in steps
