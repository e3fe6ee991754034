"""The cache touches nothing that it did not write, believes nothing that is not its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import ostinato as ot
from ostinato.compiler.defined_before import LARGE
from ostinato.rewrite.engine import egglog_session
from ostinato.rewrite.optimize import RewriteOptions, optimize
from ostinato.runtime.cache import eviction, programs
from ostinato.runtime.disk import folder, sealed, trust
from ostinato.runtime.disk.folder import SIZE_VARIABLE
from ostinato.runtime.machine_code import objects
from ostinato.runtime.run import extent_choices
from tests.runtime.test_cache import artifact, stored

KEY, OTHER = programs.digest("one"), programs.digest("other")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv(programs.VARIABLE, str(place))
    trust.warn_once.cache_clear()
    return place


def of_the_user(root: Path, elsewhere: Path) -> list[Path]:
    """Files of a user's own in every directory of the cache, under names much like its own."""
    elsewhere.mkdir()
    names = (
        "js/thesis/chapter.tex", "ab/notes.txt", "ad/thesis", f"ab/{KEY}x/artifact.pickle",
        f"ff/{KEY}/artifact.pickle" if KEY[:2] != "ff" else f"00/{KEY}/artifact.pickle",
        f"{KEY[:2]}/{KEY}/thesis.tex", f"{KEY[:2]}/{KEY}/__pycache__/thesis.py",
        f"{OTHER[:2]}/{OTHER}/program.py/deep", f"objects/{KEY[:2]}/{KEY}.O", "objects/js/a.o",
        f"objects/{KEY[:2]}/paper.o", f"checks/{KEY[:2]}/paper", "profiles/mine", "thesis.tex",
    )  # fmt: skip
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("mine")
    for name in ("artifact.pickle", "program.py", f"{KEY}.o"):
        (elsewhere / name).write_text("mine")
    (root / "cd").mkdir()
    (root / "cd" / f"cd{KEY[2:]}").symlink_to(elsewhere)
    (root / "objects" / "ef").symlink_to(elsewhere)
    link = root / "objects" / KEY[:2] / f"{KEY[:2]}{OTHER[2:]}.o"
    link.symlink_to(elsewhere / f"{KEY}.o")
    return [*(root / name for name in names), *elsewhere.iterdir(), link]


@pytest.mark.parametrize("evict", [False, True])
def test_only_what_the_cache_wrote_is_removed(
    evict: bool, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = stored(KEY)
    objects.store(KEY, b"code")
    mine = of_the_user(root, tmp_path / "elsewhere")
    before = {path: path.read_text() for path in mine}
    if evict:
        monkeypatch.setenv(SIZE_VARIABLE, "1")
        monkeypatch.setattr(eviction, "TRIM_EVERY_S", 0.0)
        stored(programs.digest("a third"))
    else:
        assert eviction.clear().entries == 2
    assert {path: path.read_text() for path in mine} == before
    assert not (place / programs.ARTIFACT).exists() and not objects.path_of(KEY).exists()


def test_a_program_is_removed_with_its_directory() -> None:
    place = stored(KEY)
    for name in ("kernels.json", "layouts.json", "threads.json", ".layouts.json.ab12cd_8"):
        trust.write(place / name, b"")
    (place / "__pycache__").mkdir(exist_ok=True)
    (place / "__pycache__" / "program.main-5.py313.1.nbc").write_bytes(b"what Numba keeps")
    assert eviction.clear().entries == 1
    assert not place.exists()


def test_a_directory_of_others_gets_one_of_its_own_for_the_cache(root: Path) -> None:
    (root / "js").mkdir(parents=True)
    place = stored(KEY)
    assert place == root / folder.BESIDE / KEY[:2] / KEY
    assert sorted(path.name for path in root.iterdir()) == ["js", folder.BESIDE]


def test_a_directory_of_that_name_that_is_not_ours_is_not_used(root: Path) -> None:
    (root / folder.BESIDE / "sources").mkdir(parents=True)
    with pytest.warns(UserWarning, match="nothing is cached: .* are not this cache's"):
        assert programs.store(KEY, artifact()) is None
    assert eviction.clear().entries == 0


def test_a_cache_of_an_earlier_version_is_used_on(root: Path) -> None:
    for name in ("ab", "objects", "checks", "profiles"):
        (root / name).mkdir(parents=True)
    assert stored(KEY) == root / KEY[:2] / KEY


def swapped(one: Path, other: Path) -> None:
    for name in (programs.ARTIFACT, "program.py"):
        (one / name).replace(other / name)


def linked(path: Path, to: Path) -> None:
    """Put a link where something stands, to where that goes."""
    path.replace(to)
    path.symlink_to(to)


DAMAGES: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "swapped": (lambda one, other: swapped(other, one), f"it belongs to {OTHER}"),
    "cut": (lambda one, _: os.truncate(one / programs.ARTIFACT, 200), "its digest is wrong"),
    "emptied": (lambda one, _: os.truncate(one / programs.ARTIFACT, 0), "no file of this version"),
    "altered": (
        lambda one, _: (one / programs.ARTIFACT).write_bytes(
            (one / programs.ARTIFACT).read_bytes()[:-1] + b"\0"
        ),
        "its digest is wrong",
    ),
    "another source": (
        lambda one, _: (one / "program.py").write_text("import os"),
        "its program.py was changed",
    ),
    "another form": (
        lambda one, _: (one / programs.ARTIFACT).write_bytes(b"\xff\0 a b\n"),
        "no file of this version",
    ),
    "a link": (
        lambda one, other: linked(one / programs.ARTIFACT, other / programs.ARTIFACT),
        "is a link to another place",
    ),
    "a link to a directory": (
        lambda one, _: linked(one, one.with_name("x")),
        "is a link to another place",
    ),
    "a directory that others may write": (
        lambda one, _: one.parent.chmod(0o770),
        "other users may write",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_program_that_is_not_what_its_key_says_is_refused_with_one_reason(name: str) -> None:
    one, other = stored(KEY), stored(OTHER)
    damage, reason = DAMAGES[name]
    damage(one, other)
    with pytest.warns(UserWarning, match=reason) as warned:
        assert programs.load(KEY) is None and programs.load(KEY) is None
    assert len(warned) == 1


def test_a_program_under_another_key_is_compiled_again(root: Path) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    one, other = ot.Program(y=x + 1.0), ot.Program(y=x - 1.0)
    places = [programs.directory_of(p.compile().executable.key) for p in (one, other)]
    swapped(places[1], places[0])
    with pytest.warns(UserWarning, match="is damaged .it belongs to .*: rebuilt"):
        assert one.compile()(x=[1.0])["y"].tolist() == [2.0]
    assert one.compile()(x=[1.0])["y"].tolist() == [2.0]


@pytest.mark.parametrize("name", ["layouts.json", "kernels.json"])
def test_what_stands_beside_another_program_is_made_again(name: str, root: Path) -> None:
    t = ot.dims("t")
    x, z = ot.input("x", over=t), ot.input("z", over=t)
    one, other = ot.Program(y=x[: t + 1].sum(0)), ot.Program(y=x * z, v=x + z)
    one.compile()(x=[1.0, 2.0])
    other.compile()(x=[1.0, 2.0], z=[3.0, 4.0])
    here, there = (programs.directory_of(p.compile().executable.key) / name for p in (one, other))
    here.write_bytes(there.read_bytes())
    with pytest.warns(UserWarning, match=f"{name} is not used .it belongs to .*: made again"):
        assert one.compile()(x=[1.0, 2.0])["y"].tolist() == [1.0, 3.0]


def test_a_proof_of_another_program_is_made_again(root: Path) -> None:
    def chain(ahead: int) -> ot.Program:
        t = ot.dims("t")
        y = x = ot.input("x", over=t)
        for _ in range(LARGE):
            y = y * 1.5 + x
        return ot.Program(y=y[ahead])

    assert chain(3).pdg.minimum_extents == {"T": 4}
    (one,) = (path for path in (root / "checks").rglob("*") if path.is_file())
    chain(5)
    (other,) = (path for path in (root / "checks").rglob("*") if path.is_file() and path != one)
    other.write_bytes(one.read_bytes())
    with pytest.warns(UserWarning, match="it belongs to"):
        assert chain(5).pdg.minimum_extents == {"T": 6}


def shared(_: int) -> bool:
    """Whether a group is private, where each has many members."""
    return False


def private(_: int) -> bool:
    """Whether a group is private, where each has one member."""
    return True


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_a_cache_below_a_directory_that_others_may_write_is_not_used(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(KEY)
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "open" / "cache"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    monkeypatch.setattr(trust, "_is_private", shared)
    with pytest.warns(UserWarning, match="other users may write .*open .run `chmod go-w` on it."):
        assert programs.store(KEY, artifact()) is None


def test_a_sticky_directory_and_that_of_a_private_group_may_hold_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, mode in (("sticky", 0o1777), ("private", 0o775)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
        monkeypatch.setenv(programs.VARIABLE, str(tmp_path / name / "cache"))
        monkeypatch.setattr(trust, "_is_private", private)
        assert stored(KEY) == tmp_path / name / "cache" / KEY[:2] / KEY
        assert programs.load(KEY) is not None


def test_a_link_to_the_cache_is_the_users_choice(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(root)
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "link"))
    assert stored(KEY) == root / KEY[:2] / KEY


COMPILING = """
import resource, signal, sys, warnings
import ostinato as ot
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
t = ot.dims("t")
program = ot.Program(y=ot.input("x", over=t)[: t + 1].sum(0))
def full():
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    {limit}
    try:
        print(program.compile()(x=[1.0, 2.0])["y"].tolist())
    except Exception as failure:
        print(type(failure).__name__, failure)
print(len(said), *(str(each.message) for each in said))
"""


def compiling(limit: str, place: Path) -> str:
    """What a process prints that compiles a program where this is done before."""
    code = COMPILING.format(limit=limit)
    env = {**os.environ, programs.VARIABLE: str(place)}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert not run.stderr, run.stderr
    return run.stdout


def test_where_the_cache_cannot_be_written_programs_are_compiled_with_one_warning(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "cache", Path("/proc/ostinato")):
        found = compiling("pass", place).splitlines()
        assert found[0] == "[1.0, 3.0]"
        assert found[1].startswith("1 nothing is cached: ")


FULL = """
    import errno, os
    from ostinato.runtime.disk import trust
    import tempfile
    original = tempfile.mkstemp
    def mkstemp(*args, **kwargs):
        handle, name = original(*args, **kwargs)
        os.close(handle)
        return os.open("/dev/full", os.O_WRONLY), name
    tempfile.mkstemp = mkstemp
"""


def test_a_full_disk_is_told_once_and_the_program_runs(tmp_path: Path) -> None:
    found = compiling(FULL, tmp_path / "cache").splitlines()
    assert found == ["[1.0, 3.0]", "1 nothing is cached: No space left on device"]
    left = [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left == [folder.MARK]


def test_where_no_file_at_all_can_be_written_the_error_says_what_to_do(tmp_path: Path) -> None:
    kind, remedy = compiling("full()", tmp_path / "cache").splitlines()[:2]
    assert kind.startswith("OptionError") and "no temporary file can be written" in kind
    assert remedy == "  Free some space, or set TMPDIR to a directory that can be written."


def test_where_memory_takes_no_files_rows_go_through_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    t = ot.dims("t")
    program = ot.Program(y=ot.input("x", over=t)[: t + 1].sum(0))
    usual = str(optimize(program.pdg, RewriteOptions()).pdg)
    for place in (Path("/proc"), Path("/missing")):  # no directory can be made there, or none is
        monkeypatch.setattr(egglog_session, "MEMORY", place)
        assert str(optimize(program.pdg, RewriteOptions()).pdg) == usual


def test_a_cache_that_can_only_be_read_serves_programs(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(KEY)
    objects.store(KEY, b"code")

    def refused(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refused)
    assert programs.load(KEY) is not None and objects.load(KEY) == b"code"


def test_a_layout_is_refused_in_another_program(tmp_path: Path) -> None:
    sealed.write(tmp_path / extent_choices.LAYOUTS, "one", b"{}")
    assert sealed.read(tmp_path / extent_choices.LAYOUTS, "one") == b"{}"
    with pytest.raises(sealed.Unsealed, match="it belongs to one"):
        sealed.read(tmp_path / extent_choices.LAYOUTS, "two")
