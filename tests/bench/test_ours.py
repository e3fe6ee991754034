import numpy as np
import pytest

from bench.ours.compiled import possible
from ostinato.results import Results


def test_the_speed_of_an_impossible_result_is_no_figure() -> None:
    run = possible(lambda count: Results({"episode_return": np.array([21.0, 6e22])}, {}), 500)
    with pytest.raises(ValueError, match=r"outside 0 \.\. 500"):
        run(1)
