"""The cache stays within its size, and trusts nobody else's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ostinato.pdg.errors import OptionError
from ostinato.runtime.cache import eviction, programs
from ostinato.runtime.disk import trust
from ostinato.runtime.disk.folder import SIZE_VARIABLE, size_limit
from ostinato.runtime.machine_code import objects
from tests.runtime.test_cache import artifact, stored


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "cache"))
    trust.warn_once.cache_clear()


def objects_of(*ages: int) -> list[str]:
    """Kernels of 1000 bytes that were last used so many seconds ago."""
    keys = [programs.digest(str(age)) for age in ages]
    for key, age in zip(keys, ages, strict=True):
        objects.store(key, bytes(1000))
        used = objects.path_of(key).stat().st_mtime - age
        os.utime(objects.path_of(key), (used, used))
    return keys


def test_what_was_not_used_for_longest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = objects_of(30, 10, 40, 20)
    assert objects.load(keys[2]) is not None  # reading is use
    monkeypatch.setenv(SIZE_VARIABLE, "3K")
    assert eviction.trim(Path("none")) == 2
    assert [objects.load(key) is not None for key in keys] == [False, True, True, False]


def test_a_new_program_makes_room_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    old = stored(programs.digest("old"))
    for path in old.iterdir():
        os.utime(path, (1, 1))
    monkeypatch.setenv(SIZE_VARIABLE, "100")
    at_once = stored(programs.digest("at once"))
    assert old.exists() and at_once.exists()  # everything was looked at a moment ago
    monkeypatch.setattr(eviction, "TRIM_EVERY_S", 0.0)
    new = stored(programs.digest("new"))
    assert (old.exists(), at_once.exists(), new.exists()) == (False, False, True)


def test_profiles_and_proofs_are_not_cleared(tmp_path: Path) -> None:
    objects_of(1, 2)
    programs.store(programs.digest("program"), artifact())
    trust.write(tmp_path / "cache" / "proofs" / "x", b"proved")
    assert [kind.entries for kind in eviction.kinds()] == [1, 2, 0]
    assert eviction.clear().entries == 3
    assert [kind.entries for kind in eviction.kinds()] == [0, 0, 0]
    assert (tmp_path / "cache" / "proofs" / "x").is_file()


@pytest.mark.parametrize("text", ["much", "1.5G", "-1", "3 M"])
def test_a_limit_that_is_no_size_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SIZE_VARIABLE, text)
    with pytest.raises(OptionError, match=f"OSTINATO_CACHE_SIZE is `{text}`") as failure:
        size_limit()
    assert "such as 500M or 2G" in failure.value.remedy


def test_a_limit_has_units(monkeypatch: pytest.MonkeyPatch) -> None:
    assert size_limit() == 2**30
    monkeypatch.setenv(SIZE_VARIABLE, "2M")
    assert size_limit() == 2 * 2**20


def test_a_cache_that_others_may_write_is_not_used(tmp_path: Path) -> None:
    key = programs.digest("x")
    place = stored(key)
    (tmp_path / "cache").chmod(0o777)
    with pytest.warns(UserWarning, match="other users may write .*chmod go-w"):
        assert programs.load(key) is None
    trust.warn_once.cache_clear()
    with pytest.warns(UserWarning, match="nothing is cached: other users may write"):
        assert programs.store(key, artifact()) != place


@pytest.mark.parametrize("name", [programs.ARTIFACT, "program.py"])
def test_a_file_that_others_may_write_is_not_executed(name: str) -> None:
    key = programs.digest("x")
    (stored(key) / name).chmod(0o666)
    with pytest.warns(UserWarning, match=f"is not used .other users may write .*{name}"):
        assert programs.load(key) is None


def test_a_file_of_another_user_is_not_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    key = programs.digest("x")
    programs.store(key, artifact())
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert programs.load(key) is None


def test_a_kernel_that_others_may_write_is_compiled_again() -> None:
    (key,) = objects_of(1)
    objects.path_of(key).chmod(0o622)
    with pytest.warns(UserWarning, match="compiled again .other users may write"):
        assert objects.load(key) is None


def test_a_kernel_under_another_name_is_damaged() -> None:
    one, other = objects_of(1, 2)
    objects.path_of(one).replace(objects.path_of(other))
    with pytest.warns(UserWarning, match="its digest is wrong"):
        assert objects.load(other) is None


def test_nobody_else_may_read_what_is_made() -> None:
    (key,) = objects_of(1)
    places = [objects.path_of(key), *objects.path_of(key).parents[:3]]
    assert all(place.stat().st_mode & 0o077 == 0 for place in places)
