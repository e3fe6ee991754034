import importlib
import importlib.util
from pathlib import Path

import pytest

from ostinato.cli.run import RunOptions, begun
from ostinato.cli.run_directory import events
from ostinato.cli.training import Row
from ostinato.pdg.errors import OptionError

ROW = Row(iteration=0, env_steps=32_000, wall_s=0.1, metric=21.5, others=(0.25,))


def test_each_column_becomes_a_scalar_over_environment_steps(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is an optional extra")
    with events(tmp_path, ["episode_return", "loss"]) as write:
        write(ROW)
    module = "tensorboard.backend.event_processing.event_accumulator"
    found = importlib.import_module(module).EventAccumulator(str(tmp_path))
    found.Reload()
    assert sorted(found.Tags()["tensors"]) == ["episode_return", "loss"]
    assert found.Tensors("loss")[0].step == 32_000


def test_without_the_package_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> None: ...

    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    with pytest.raises(OptionError, match=r"pip install 'ostinato\[tensorboard\]'"):
        with events(tmp_path, []):
            raise AssertionError("nothing to write to")
    options = RunOptions(place="ppo.py", tensorboard=True, out=tmp_path)
    with pytest.raises(OptionError, match="--tensorboard needs the package"):
        begun(options)  # nothing of an earlier run is touched yet
