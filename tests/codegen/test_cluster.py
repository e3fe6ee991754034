from types import SimpleNamespace
from typing import Any

from ostinato.codegen.scheduling.cluster import Edge, Rules, cluster
from ostinato.codegen.scheduling.deps import Dep

SIZES = {"x": 0.5, "spread": 0.0, "scale": 0.0, "wide": 2.0, "narrow": 1.0}


def edge(source: int, target: int, tensor: str) -> Edge:
    dep: Any = SimpleNamespace(tensor=tensor)
    return Edge(source, target, dep)


def together(a: str, b: str) -> list[str]:
    return [a] if a == b else []


def anything(_header: str, _dep: Dep) -> bool:
    return True


def test_a_chain_moves_as_a_whole_to_where_its_end_is_needed() -> None:
    """Item 5 needs a whole sum over rows; the chain 3, 4 that it reads does not."""
    headers = ["rows", "rows", "whole", "rows", "rows", "rows"]
    edges = [
        *(edge(0, 1, "x"), edge(1, 2, "spread"), edge(2, 5, "scale")),
        *(edge(0, 3, "x"), edge(3, 4, "wide"), edge(4, 5, "narrow")),
    ]
    rules = Rules[str](together, anything, SIZES.__getitem__)
    assert [items for _, items in cluster(headers, edges, rules)] == [[0, 1], [2], [3, 4, 5]]


def merges_asked(layers: int) -> int:
    """How often headers are compared when layers of two kinds of loops follow each other."""
    asked = 0

    def counted(a: str, b: str) -> list[str]:
        nonlocal asked
        asked += 1
        return together(a, b)

    def none(_header: str, _dep: Dep) -> bool:
        return False

    headers = ["rows", "whole"] * layers
    edges = [edge(k, k + 1, "narrow") for k in range(2 * layers - 1)]
    assert len(cluster(headers, edges, Rules[str](counted, none, SIZES.__getitem__))) == 2 * layers
    return asked


def test_two_kinds_of_groups_are_compared_once() -> None:
    assert merges_asked(40) == merges_asked(20)
