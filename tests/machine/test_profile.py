import json
import warnings
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.machine.cost_model import CostModel
from ostinato.machine.profile import Profile, from_json
from ostinato.machine.profile_store import current, forget, profile_in_use, store
from ostinato.pdg.errors import OptionError


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache of its own, in which a measured profile would be used."""
    monkeypatch.setenv("OSTINATO_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("OSTINATO_PROFILE")
    forget()


def test_a_profile_survives_its_file() -> None:
    profile = Profile(name="mine", leaf_ns=7.5, level_bytes=(1, 2, 3))
    assert from_json(profile.to_json()) == profile


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("leaf_ns", -1.0, "`leaf_ns` is -1.0"),
        ("byte_ns", [1.0], r"`byte_ns` is \[1.0\]"),
        ("speed", 1.0, "`speed` is unknown"),
        ("wide", True, "`wide` is True"),
    ],
)
def test_a_file_that_is_no_profile_says_why(name: str, value: object, said: str) -> None:
    table = json.loads(Profile().to_json()) | {name: value}
    with pytest.raises(ValueError, match=said):
        from_json(json.dumps(table))


def test_a_number_that_is_missing_is_named() -> None:
    table = json.loads(Profile().to_json())
    del table["wide"]
    with pytest.raises(ValueError, match="`wide` is missing"):
        from_json(json.dumps(table))


def test_levels_are_found_by_size() -> None:
    cost = CostModel(Profile(byte_ns=(1.0, 2.0, 3.0, 4.0), level_bytes=(10, 100, 1000)))
    assert [cost.move_ns(size) for size in (10, 11, 1000, 1001)] == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.usefixtures("stored")
def test_a_stored_profile_is_used_and_shown() -> None:
    assert "ostinato calibrate" in str(current())
    path = store(Profile(name="measured here"))
    forget()
    assert profile_in_use().name == "measured here"
    assert str(current()) == f"measured here (measured: {path})"


@pytest.mark.usefixtures("stored")
def test_a_broken_profile_is_said_with_a_remedy() -> None:
    store(Profile()).write_text('{"name"')
    forget()
    with pytest.warns(UserWarning, match="cannot be read .* Run `ostinato calibrate` again"):
        assert profile_in_use() == Profile()


def test_the_environment_chooses_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(Profile(name="given").to_json())
    monkeypatch.setenv("OSTINATO_PROFILE", str(path))
    assert current().profile.name == "given"


def test_a_file_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTINATO_PROFILE", "nowhere.json")
    with pytest.raises(OptionError, match="no profile, `nowhere.json`: No such file"):
        current()


@pytest.mark.usefixtures("stored")
def test_a_new_profile_compiles_the_program_anew() -> None:
    x = ot.input("x", over=ot.dims("t"))
    program = ot.Program(y=2.0 * x)
    before = program.compile(threads=1).executable.artifact.explanation
    store(Profile(name="new"))
    forget()
    after = program.compile(threads=1).executable.artifact.explanation
    assert (before.profile, after.profile) == ("default", "new")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is found again
        assert program.compile(threads=1).executable.artifact.explanation.profile == "new"
