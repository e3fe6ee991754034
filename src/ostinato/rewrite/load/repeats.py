"""Parts of a program that occur several times: layers, their gradients, updates of parameters.

Loading follows the order in which a program was written, so that copies of a part stand one behind
another: the sequence of rows has a period there. What occurs at every layer, forwards, backwards
and in the optimizer, has a run of its own each; runs whose copies refer to each other are one part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ostinato.pdg.node import Affine, Const, Iota
from ostinato.rewrite.engine.egglog_session import Cell, Row
from ostinato.rewrite.load.tables import Loaded
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.terms.signature import SIGNATURE

MANY = 8  # copies, of which one may be left as it is
LEAST = 4  # nodes of a part: even smaller ones are no layers
SAMPLES = (1, 8)  # of a period: what is no period is seen at few places
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
    about recurrences and leaves; ``naming`` are those that name one thing, by its kind and number.
    """

    operations: dict[int, Operation] = field(default_factory=dict[int, Operation])
    facts: dict[int, list[Fact]] = field(default_factory=dict[int, list[Fact]])
    others: dict[tuple[str, Row], None] = field(default_factory=dict[tuple[str, Row], None])
    naming: dict[tuple[str, int], list[tuple[str, Row]]] = field(
        default_factory=dict[tuple[str, int], list[tuple[str, Row]]]
    )


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
            out.others.update({(relation, tuple(row)): None for row in table})
            for row in table:
                for k in {*terms, *moved}:
                    known = out.naming.setdefault((kinds[k], int(row[k])), [])
                    known.append((relation, tuple(row)))
    return out


def repeated_parts(loaded: Loaded, names: Names) -> tuple[Part, ...]:
    """The parts that occur at least twice, those with most rows first."""
    order = _order(loaded, names)
    known: dict[object, int] = {}
    tokens = [known.setdefault(_token(names, k), len(known)) for k in order]
    pairs = _pairs(loaded, names)
    runs: list[list[tuple[int, ...]]] = []
    for run in _runs(np.array(tokens)):
        runs.append(_cut(run, order, pairs, runs))
    return tuple(sorted(_joined(runs, pairs), key=lambda part: -sum(map(len, part))))


def _pairs(loaded: Loaded, names: Names) -> list[tuple[int, int]]:
    """Nodes and their operands; recurrences and their equations, and these with each other."""
    out = [(node, kid) for node, x in names.operations.items() for kid in x.kids]
    node_of = {x.leaf: node for node, x in names.operations.items() if x.op == "rec"}
    equations: dict[int, list[int]] = {}
    for rec, _, root in loaded.rows.get("raw_define", ()):
        equations.setdefault(int(rec), []).append(int(root))
    for rec, roots in equations.items():
        out += zip(roots, roots[1:], strict=False)
        out += [(node_of[rec], root) for root in roots if rec in node_of]
    return out


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


def _may_reign(tokens: np.ndarray[tuple[int], np.dtype[np.int64]], period: int, parts: int) -> bool:
    """Whether as many samples in a row are equal as a stretch of one period has at least."""
    step = max(1, period // parts)
    other = np.flatnonzero(tokens[period::step] != tokens[:-period:step])
    if not len(other):
        return True
    samples = (len(tokens) - period - 1) // step + 1
    inner = int(np.diff(other).max(initial=0)) - 1
    return max(int(other[0]), samples - 1 - int(other[-1]), inner) >= min(parts, period)


def _runs(tokens: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[tuple[int, range]]:
    """Periods, and where they reign, chosen to cover the most."""
    found: list[tuple[int, int, int, int]] = []
    for period in range(LEAST, len(tokens) // 2 + 1):
        if not all(_may_reign(tokens, period, parts) for parts in SAMPLES):
            continue
        equal = np.concatenate(([False], tokens[period:] == tokens[:-period], [False]))
        edges = np.flatnonzero(equal[1:] != equal[:-1])
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - begin >= period:
                saved = (end - begin) // period * period
                found.append((-saved, period, begin, end + period))
    out: list[tuple[int, range]] = []
    for _, period, begin, end in sorted(found):
        if all(end <= taken.start or taken.stop <= begin for _, taken in out):
            out.append((period, range(begin, end)))
    return out


def _cut(
    run: tuple[int, range],
    order: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    others: Sequence[Sequence[tuple[int, ...]]],
) -> list[tuple[int, ...]]:
    """The copies of a run, which begin where the fewest nodes refer to those before.

    That may leave out one copy of many. References to the copies of other runs count where they
    are not from one copy to the other as most of them are.
    """
    period, places = run
    at = {order[k]: k - places.start for k in places}
    crossing = np.zeros(period, dtype=np.int64)
    for one, other in pairs:
        low, high = sorted((at.get(one, -1), at.get(other, -1)))
        if 0 <= low and high - low < period:
            crossing[[k % period for k in range(low + 1, high + 1)]] += 1
    for copies in others:
        crossing += _apart(period, at, copies, pairs)
    spare = len(places) % period
    most = period if len(places) > MANY * period else spare + 1
    enough = 2 * int(crossing.min()) + LEAST  # among few, the place where the run begins is best
    begin = min(range(most), key=lambda k: (int(crossing[k]) > enough, k > spare, k))
    last = len(places) - period + 1
    return [
        tuple(order[places.start + k + n] for n in range(period))
        for k in range(begin, last, period)
    ]


def _apart(
    period: int,
    at: Mapping[int, int],
    copies: Sequence[Sequence[int]],
    pairs: Sequence[tuple[int, int]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each place where copies may begin, references to another run that go elsewhere."""
    copy = {node: k for k, nodes in enumerate(copies) for node in nodes}
    links = [
        (at[one], copy[other])
        for pair in pairs
        for one, other in (pair, pair[::-1])
        if one in at and other in copy
    ]
    out = np.zeros(period, dtype=np.int64)
    if links:
        places, numbers = np.array(links).T
        for begin in range(period):
            own = (places - begin) // period
            most = max(
                int(np.unique(m, return_counts=True)[1].max())
                for m in (own - numbers, own + numbers)
            )
            out[begin] = len(links) - most
    return out


def _joined(
    runs: Sequence[Sequence[tuple[int, ...]]], pairs: Sequence[tuple[int, int]]
) -> list[Part]:
    """Runs whose copies refer to each other, copy by copy, as one part."""
    place = {
        node: (r, k) for r, run in enumerate(runs) for k, copy in enumerate(run) for node in copy
    }
    links: dict[tuple[int, int], Counter[tuple[int, int]]] = {}
    for node, kid in pairs:
        if node in place and kid in place:
            (run, copy), (other, at) = place[node], place[kid]
            if run != other:
                votes = links.setdefault((run, other), Counter())
                votes.update([(1, copy - at), (-1, copy + at)])
    out: list[Part] = []
    free = set(range(len(runs)))
    while free:
        numbers = _numbered(min(free), free, links)
        part, used = _largest(
            {
                run: {sign * k + shift: copy for k, copy in enumerate(runs[run])}
                for run, (sign, shift) in numbers.items()
            }
        )
        out.append(part)
        free -= used
    return out


def _largest(copies: Mapping[int, Mapping[int, tuple[int, ...]]]) -> tuple[Part, set[int]]:
    """The copies of some runs by number, as one part, and these runs: what saves most.

    Runs may have fewer copies in common than each has by itself.
    """
    order = iter(sorted(copies, key=lambda run: (-sum(map(len, copies[run].values())), run)))
    used = [next(order)]
    common = sorted(copies[used[0]])

    def saved(runs: Sequence[int], numbers: Sequence[int]) -> int:
        return (len(numbers) - 1) * sum(len(next(iter(copies[run].values()))) for run in runs)

    for run in order:
        shared = [k for k in common if k in copies[run]]
        apart = saved(used, common) + saved([run], list(copies[run]))
        if 5 * saved([*used, run], shared) >= 4 * apart:
            used.append(run)
            common = shared
    return tuple(sum((copies[run][k] for run in used), ()) for k in common), set(used)


def _numbered(
    first: int, free: Collection[int], links: Mapping[tuple[int, int], Counter[tuple[int, int]]]
) -> dict[int, tuple[int, int]]:
    """Free runs that refer to each other: ``sign * k + shift`` is the number of copy ``k``.

    A reader's copy ``k`` reads copy ``k - offset`` of another run, or ``offset - k``; the strongest
    references decide.
    """
    strongest: list[tuple[int, tuple[int, int], tuple[int, int]]] = []
    for pair, votes in links.items():
        move, times = min(votes.items(), key=lambda vote: (-vote[1], vote[0]))
        if pair[0] in free and pair[1] in free:
            strongest.append((-times, pair, move))
    strongest.sort()
    group = {first: (1, 0)}
    while True:
        near = ((p, m) for _, p, m in strongest if (p[0] in group) != (p[1] in group))
        found = next(near, None)
        if found is None:
            return group
        (reader, read), (slope, offset) = found
        if reader in group:
            sign, shift = group[reader]
            group[read] = sign * slope, shift + sign * offset
        else:
            sign, shift = group[read]
            group[reader] = sign * slope, shift - sign * slope * offset
