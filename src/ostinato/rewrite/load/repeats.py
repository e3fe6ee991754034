"""Parts of a program that occur several times: layers, their gradients, updates of parameters.

Loading follows the order in which a program was written, so that copies of a part stand one behind
another: the sequence of rows has a period there. What occurs at every layer, forwards, backwards
and in the optimizer, has a run of its own each; runs whose copies refer to each other are one part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ostinato.pdg.node import Affine, Const, Iota
from ostinato.rewrite.engine.egglog_session import Cell, Row
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.terms.signature import SIGNATURE

LEAST = 8  # rows of a part: smaller ones cost as much to tell apart as to rewrite
Fact = tuple[str, int, Row]  # a relation, the place of the node in its rows, and the other cells
Part = tuple[tuple[int, ...], ...]  # its copies: numbers of nodes, in the same order in each


@dataclass(frozen=True, slots=True)
class Operation:
    """The row of a node: its operator, the fields that copies have in common, and its operands."""

    op: str
    fields: tuple[Cell, ...]
    kids: tuple[int, ...]
    leaf: int = -1  # the leaf, recurrence or call that it names


@dataclass
class Names:
    """What the rows of a program name: operations by node, and rows by the number of their nodes.

    ``facts`` are what rows say of one node alone, ``others`` the rows about several nodes, or
    about recurrences and leaves.
    """

    operations: dict[int, Operation] = field(default_factory=dict[int, Operation])
    facts: dict[int, list[Fact]] = field(default_factory=dict[int, list[Fact]])
    others: list[tuple[str, Row]] = field(default_factory=list[tuple[str, Row]])


def kinds_of(relation: str) -> tuple[str, ...]:
    """What the cells of a row name."""
    op = relation.removeprefix("raw_")
    if relation == "raw_facts":
        return ("term", "mask", "shape")
    if op in SIGNATURE and op != relation:
        names = {"T": "term"}
        first = {"rec": "recurrence", "leaf": "leaf"}.get(op, "leaf" if op[:4] == "host" else "")
        fields = [names.get(letter, "") for letter in SIGNATURE[op]]
        return ("term", *([first, *fields[1:]] if first else fields))
    known = RELATIONS.get(relation) or RELATIONS.get(op)
    return known.kinds if known is not None else ()


def names_of(rows: Mapping[str, Sequence[Row]]) -> Names:
    """Sort the rows of a program by what they name."""
    out = Names()
    for relation, table in rows.items():
        kinds = kinds_of(relation)
        terms = [k for k, kind in enumerate(kinds) if kind == "term"]
        moved = [k for k, kind in enumerate(kinds) if kind in ("recurrence", "leaf")]
        op = relation.removeprefix("raw_")
        if relation.startswith("raw_") and op in SIGNATURE:
            plain = [k for k in range(1, len(kinds)) if k not in terms and k not in moved]
            for row in table:
                out.operations[int(row[0])] = Operation(
                    op,
                    tuple(row[k] for k in plain),
                    tuple(int(row[k]) for k in terms[1:]),
                    int(row[moved[0]]) if moved else -1,
                )
        elif len(terms) == 1 and not moved:
            (at,) = terms
            for row in table:
                said = relation, at, (*row[:at], *row[at + 1 :])
                out.facts.setdefault(int(row[at]), []).append(said)
        elif terms or moved:
            out.others += [(relation, row) for row in table]
    return out


def repeated_parts(loaded: Loaded, names: Names) -> tuple[Part, ...]:
    """The parts that occur at least twice, those with most rows first."""
    order = _order(loaded, names)
    known: dict[object, int] = {}
    tokens = [known.setdefault(_token(names, k), len(known)) for k in order]
    runs = [[tuple(order[k] for k in copy) for copy in run] for run in _runs(np.array(tokens))]
    return tuple(sorted(_joined(runs, names), key=lambda part: -sum(map(len, part))))


def _order(loaded: Loaded, names: Names) -> list[int]:
    """Nodes as they were loaded, but those of literals and indices first: copies share them."""
    is_open: dict[int, bool] = {}
    for root in sorted(names.operations):
        stack = [root]
        while stack:
            node = stack[-1]
            operation = names.operations[node]
            pending = [kid for kid in operation.kids if kid not in is_open]
            stack.extend(pending)
            if not pending:
                stack.pop()
                is_open[node] = _is_open(loaded, operation) or any(
                    is_open[kid] for kid in operation.kids
                )
    return sorted(names.operations, key=lambda node: (is_open[node], node))


def _is_open(loaded: Loaded, operation: Operation) -> bool:
    if operation.op == "leaf":
        return not isinstance(loaded.tables.leaves[operation.leaf].op, Const | Affine | Iota)
    return operation.leaf >= 0


def _token(names: Names, node: int) -> object:
    """What copies of a node have in common, whatever they are computed from."""
    operation = names.operations[node]
    facts = sorted(names.facts.get(node, ()), key=repr)
    return operation.op, operation.fields, len(operation.kids), tuple(facts)


def _runs(tokens: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[list[range]]:
    """Places at which copies of one part follow each other, chosen to cover the most."""
    found: list[tuple[int, int, int, int]] = []
    for period in range(LEAST, len(tokens) // 2 + 1):
        equal = np.concatenate(([False], tokens[period:] == tokens[:-period], [False]))
        edges = np.flatnonzero(equal[1:] != equal[:-1])
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            copies = (end - begin) // period + 1
            if copies > 1:
                found.append((-(copies - 1) * period, period, begin, end + period))
    out: list[list[range]] = []
    taken: list[tuple[int, int]] = []
    for _, period, begin, end in sorted(found):
        if any(begin < stop and start < end for start, stop in taken):
            continue
        taken.append((begin, end))
        last = end - (end - begin) % period
        out.append([range(k, k + period) for k in range(begin, last, period)])
    return out


def _joined(runs: Sequence[Sequence[tuple[int, ...]]], names: Names) -> list[Part]:
    """Runs whose copies refer to each other, copy by copy, as one part."""
    place = {node: (r, k) for r, run in enumerate(runs) for k, copy in enumerate(run) for node in copy}
    links: dict[tuple[int, int], Counter[tuple[int, int]]] = {}
    for node, (run, copy) in place.items():
        for kid in names.operations[node].kids:
            other, at = place.get(kid, (run, 0))
            if other != run:
                votes = links.setdefault((run, other), Counter())
                votes.update([(1, copy - at), (-1, copy + at)])
    out: list[Part] = []
    for numbers in _numbered(len(runs), links):
        copies = [
            {sign * k + shift: copy for k, copy in enumerate(runs[run])}
            for run, (sign, shift) in sorted(numbers.items())
        ]
        common = sorted(set.intersection(*map(set, copies)))
        if len(common) > 1:
            out.append(tuple(sum((each[k] for each in copies), ()) for k in common))
        else:
            out += [tuple(runs[run]) for run in sorted(numbers)]
    return out


def _numbered(
    count: int, links: Mapping[tuple[int, int], Counter[tuple[int, int]]]
) -> list[dict[int, tuple[int, int]]]:
    """Groups of runs that refer to each other: ``sign * k + shift`` is the number of copy ``k``.

    A reader's copy ``k`` reads copy ``k - offset`` of another run, or ``offset - k``; the strongest
    references decide.
    """
    strongest: list[tuple[int, tuple[int, int], tuple[int, int]]] = []
    for pair, votes in links.items():
        move, times = min(votes.items(), key=lambda vote: (-vote[1], vote[0]))
        strongest.append((-times, pair, move))
    strongest.sort()
    groups: list[dict[int, tuple[int, int]]] = []
    free = set(range(count))
    while free:
        group = {min(free): (1, 0)}
        groups.append(group)
        while True:
            free -= group.keys()
            near = ((p, m) for _, p, m in strongest if (p[0] in group) != (p[1] in group))
            found = next(near, None)
            if found is None:
                break
            (reader, read), (slope, offset) = found
            if reader in group:
                sign, shift = group[reader]
                group[read] = sign * slope, shift + sign * offset
            else:
                sign, shift = group[read]
                group[reader] = sign * slope, shift - sign * slope * offset
    return groups
