"""Strongly connected components."""

from hypothesis import given
from hypothesis import strategies as st

from ostinato.pdg.scc import components

GRAPHS = st.dictionaries(st.integers(0, 7), st.lists(st.integers(0, 7)))


@given(GRAPHS)
def test_every_edge_stays_inside_or_points_to_a_later_component(
    graph: dict[int, list[int]],
) -> None:
    found = components(range(8), graph)
    place = {v: k for k, group in enumerate(found) for v in group}
    assert sorted(place) == list(range(8))
    assert all(place[a] <= place[b] for a, after in graph.items() for b in after)


@given(GRAPHS)
def test_members_reach_each_other(graph: dict[int, list[int]]) -> None:
    for group in components(range(8), graph):
        assert all(set(group) <= reached(graph, v) for v in group)


def reached(graph: dict[int, list[int]], start: int) -> set[int]:
    seen = {start}
    open_ = [start]
    while open_:
        for w in graph.get(open_.pop(), ()):
            if w not in seen:
                seen.add(w)
                open_.append(w)
    return seen


def test_without_edges_the_order_is_kept() -> None:
    assert components("cab", {}) == [["c"], ["a"], ["b"]]
