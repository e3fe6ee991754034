"""Every public function answers every wrong value with an error of ours, or takes it."""

from __future__ import annotations

import operator
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from ostinato.pdg.errors import OstinatoError
from tests.errors.surface import REFUSED, WRONG, Call, calls
from tests.errors.world import World

CALLS = list(calls())
LONGEST_S = 20  # of processor time, of all calls of one function
MOST_BYTES = 4 << 30  # of further address space


@pytest.fixture(autouse=True)
def bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No call hangs or takes much memory, and what it writes goes to a folder of its own."""
    monkeypatch.chdir(tmp_path)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_BYTES, hard))
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _too_long(*_: object) -> None:
    pytest.fail(f"the calls of one function take more than {LONGEST_S} s")


@pytest.mark.parametrize("call", CALLS, ids=[call.name for call in CALLS])
def test_a_call_with_right_arguments_works(call: Call) -> None:
    if call.name in REFUSED:
        with pytest.raises(OstinatoError):
            call()
    else:
        call()


@pytest.mark.parametrize("call", CALLS, ids=[call.name for call in CALLS])
def test_a_wrong_argument_is_refused_by_line_and_remedy(call: Call) -> None:
    wrong: list[str] = []
    for parameter in call.parameters:
        for what, value in WRONG.items():
            if not call.is_tried(parameter, value):
                continue
            failure = _failure(call, parameter, what)
            if failure:
                wrong.append(f"{what} for `{parameter}`: {failure} ({value})")
    assert wrong == []


BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le gt ge eq ne"
TEXTS = ("a text", "an empty text", "bytes")
OPERANDS: dict[str, Callable[[World], object]] = {
    "a tensor": lambda s: s.x,
    "an integer tensor": lambda s: s.k,
    "a dimension": lambda s: s.t,
    "a condition": lambda s: s.t > 0,
}


@pytest.mark.parametrize("name", [*BINARY.split(), "divmod", "getitem", "contains"])
@pytest.mark.parametrize("own", OPERANDS)
def test_an_operator_refuses_a_wrong_operand_by_line_and_remedy(name: str, own: str) -> None:
    operate = cast(Callable[[object, object], object], getattr(operator, name, divmod))
    if own in ("a dimension", "a condition") and name in ("getitem", "contains"):
        pytest.skip("Python itself says that it has no items")
    wrong: list[str] = []
    for what, value in WRONG.items():
        for turned in (False, True):
            pair = (OPERANDS[own], value)
            call = Operation(operate, *(reversed(pair) if turned else pair))
            if turned and (name in ("getitem", "contains") or (name == "mod" and what in TEXTS)):
                continue  # the operator of something else: `"text" % x` formats it
            failure = _failure(call)
            if failure:
                wrong.append(f"{what}{', on the left' if turned else ''}: {failure}")
    assert wrong == []


@dataclass(frozen=True)
class Operation:
    """An operator with its operands."""

    operate: Callable[[object, object], object]
    left: Callable[[World], object]
    right: Callable[[World], object]

    def __call__(self, *_: object) -> object:
        world = World()
        return self.operate(self.left(world), self.right(world))


def _failure(call: Call | Operation, parameter: str = "", what: str = "None") -> str:
    """What is wrong with the answer to one wrong value, or ""."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(parameter, WRONG[what])
    except OstinatoError as error:
        named = re.fullmatch(PLACE, error.where) is not None
        return "" if named and error.remedy else f"{error} has no place or remedy"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


PLACE = r"(test_)?surface\.py:\d+"
