"""How many processors there are: affinity and quotas of cgroups, of both versions."""

from pathlib import Path

import pytest

from ostinato.runtime.run import cores

SECOND = "31 23 0:28 / {at} rw - cgroup2 cgroup2 rw\n"
FIRST = "32 31 0:29 {of} {at} rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"


def process(folder: Path, groups: str, mounts: str, files: dict[str, str]) -> float | None:
    """The quota of a process with these groups, mounts, and files of them."""
    own = folder / "self"
    own.mkdir()
    (own / "cgroup").write_text(groups)
    (own / "mountinfo").write_text(mounts)
    for name, text in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return cores.quota(own, folder / "root")


@pytest.mark.parametrize(
    ("text", "limit"),
    [("150000 100000\n", 1.5), ("max 100000\n", None), ("50000 100000", 0.5), ("", None)],
)
def test_the_quota_of_a_group_is_what_it_may_use_per_period(
    tmp_path: Path, text: str, limit: float | None
) -> None:
    files = {"sys/cg/a/cpu.max": text}
    assert process(tmp_path, "0::/a\n", SECOND.format(at="/sys/cg"), files) == limit


def test_the_least_quota_of_the_groups_around_counts(tmp_path: Path) -> None:
    files = {"cg/a/b/cpu.max": "300000 100000", "cg/a/cpu.max": "200000 100000", "cg/x": ""}
    assert process(tmp_path, "0::/a/b\n", SECOND.format(at="/cg"), files) == 2.0


def test_quotas_of_the_first_version_are_two_files(tmp_path: Path) -> None:
    files = {"cg/cpu/j/cpu.cfs_quota_us": "250000", "cg/cpu/j/cpu.cfs_period_us": "100000"}
    mounts = FIRST.format(of="/", at="/cg/cpu") + SECOND.format(at="/cg/unified")
    groups = "3:memory:/m\n2:cpu,cpuacct:/j\n0::/other\n"
    assert process(tmp_path, groups, mounts, files) == 2.5


def test_a_quota_of_minus_one_is_none(tmp_path: Path) -> None:
    files = {"cg/cpu.cfs_quota_us": "-1", "cg/cpu.cfs_period_us": "100000"}
    assert process(tmp_path, "2:cpu:/\n", FIRST.format(of="/", at="/cg"), files) is None


def test_a_group_in_a_container_lies_where_it_is_mounted(tmp_path: Path) -> None:
    files = {"cg/cpu.cfs_quota_us": "100000", "cg/cpu.cfs_period_us": "100000"}
    mounts = FIRST.format(of="/docker/7", at="/cg")
    assert process(tmp_path, "2:cpu:/docker/7\n", mounts, files) == 1.0


def test_a_group_outside_of_what_is_mounted_counts_as_the_mounted_one(tmp_path: Path) -> None:
    files = {"cg/cpu.max": "100000 50000"}
    mounts = "31 23 0:28 /here /cg rw - cgroup2 cgroup2 rw\n"
    assert process(tmp_path, "0::/elsewhere/b\n", mounts, files) == 2.0


def test_no_quota_where_the_system_tells_of_none(tmp_path: Path) -> None:
    assert cores.quota(tmp_path / "none", tmp_path) is None
    assert process(tmp_path, "", "a line that is no mount\n- cgroup\n", {}) is None


@pytest.mark.parametrize(
    ("limit", "count"), [(None, 4), (8.0, 4), (2.4, 2), (1.5, 2), (1.2, 1), (0.1, 1)]
)
def test_a_quota_bounds_the_processors_of_the_affinity(
    monkeypatch: pytest.MonkeyPatch, limit: float | None, count: int
) -> None:
    affinity = {0, 1, 2, 3}

    def allowed(process: int) -> set[int]:
        return affinity

    monkeypatch.setattr("os.sched_getaffinity", allowed, raising=False)
    monkeypatch.setattr(cores, "quota", lambda: limit)
    monkeypatch.setattr(cores, "_known", [])
    assert cores.available_cores() == count
    affinity -= {1, 2, 3}
    assert cores.available_cores() == count  # nobody asks again at once
    monkeypatch.setattr(cores, "_known", [])
    assert cores.available_cores() == 1
