"""A program as plain data comes back as the same program, and nothing else is read."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

import ostinato as ot
from ostinato.pdg.half_storage import encoded
from ostinato.pdg.text.fingerprint import describe
from ostinato.pdg.text.serial import program_data, read_program
from ostinato.pdg.text.spelling import Spelling, Unreadable
from tests.certificate.programs import policy_gradient
from tests.pipeline.programs import SMALL, reinforce

Data = dict[str, Any]


def data_of(made: Any) -> Data:
    """Return the dims and the program as JSON makes them."""
    names = Spelling()
    program = program_data(made.pdg, names)
    found: Data = json.loads(json.dumps({"dims": names.dims(), "program": program}))
    return found


def refusal(edit: Callable[[Data], object]) -> str:
    """Return the text with which an edited program is refused."""
    data = copy.deepcopy(data_of(policy_gradient()))
    edit(data)
    with pytest.raises(Unreadable) as caught:
        read_program(data["program"], Spelling.read_dims(data["dims"]))
    return str(caught.value)


def two_names() -> ot.Program:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(y=(x * 2.0).named("alpha") - (x * 2.0).named("beta"))


PROGRAMS = [policy_gradient, reinforce, two_names, *(make for make, _ in SMALL.values())]


@pytest.mark.parametrize("make", PROGRAMS)
def test_a_program_comes_back_the_same(make: Callable[[], Any]) -> None:
    program = make()
    data = data_of(program)
    names = Spelling.read_dims(data["dims"])
    again = read_program(data["program"], names)
    assert describe(again) == describe(program.pdg)
    assert program_data(again, names) == data["program"]
    assert encoded(again) is again


def test_places_name_files_without_their_folders() -> None:
    text = json.dumps(data_of(reinforce()))
    assert "reinforce_cartpole.py:" in text
    assert "/" not in text


def test_a_node_without_an_origin_is_refused() -> None:
    text = refusal(lambda d: d["program"]["nodes"][3].update(origins=[]))
    assert text == "the origins of node 3 of the program are [], not pairs of a place and a name"


def test_an_unknown_field_is_refused() -> None:
    text = refusal(lambda d: d["program"]["nodes"][3].update(color="red"))
    assert text.startswith("node 3 of the program has the fields")


def test_a_type_that_the_operands_do_not_give_is_refused() -> None:
    text = refusal(lambda d: d["program"]["nodes"][4].update(dtype="float64"))
    assert "dtype float64, inferred float32" in text


def test_an_expression_in_another_spelling_is_refused() -> None:
    text = refusal(lambda d: d["program"]["nodes"][8].update(shape=[{"sum": [], "plus": 1}]))
    assert "which is not the canonical form of 1" in text


def test_an_operand_must_stand_before() -> None:
    assert "does not stand before it" in refusal(
        lambda d: d["program"]["nodes"][1].update(args=[1])
    )


def test_a_number_of_the_wrong_kind_is_refused() -> None:
    text = refusal(lambda d: d["program"]["nodes"][2]["op"]["const"].update(values=[0]))
    assert text == "node 2 of the program of type float32 holds 0"
