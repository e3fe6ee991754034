"""Every meaningful alteration of a certificate is refused, and the text names what does not hold.

The sum is made to fit again after each: it is there against damage, not against forgery.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.certificate.programs import Data, Edit, altered, certificate, refusal

CERTIFICATE = certificate()
Find = Callable[[Any], bool]


def place(table: str, find: Find) -> int:
    """Return the number of the first node or term of a table for which a claim holds."""
    found = {
        "source": CERTIFICATE["source"]["nodes"],
        "extracted": CERTIFICATE["extracted"]["program"]["nodes"],
        "terms": CERTIFICATE["terms"],
    }[table]
    return next(k for k, entry in enumerate(found) if find(entry))


def nodes(data: Data, table: str) -> list[Data]:
    found: list[Data] = (data["source"] if table == "source" else data[table]["program"])["nodes"]
    return found


def op(kind: str, **fields: object) -> Find:
    """A node of a kind with these fields."""
    return lambda n: kind in n["op"] and fields.items() <= n["op"][kind].items()


def on(table: str, find: Find, **about: object) -> Edit:
    """Alter what a node says about itself."""
    k = place(table, find)
    return lambda data: nodes(data, table)[k].update(about)


def within(table: str, find: Find, **fields: object) -> Edit:
    """Alter the fields of a node's operator."""
    k = place(table, find)
    (kind,) = nodes(CERTIFICATE, table)[k]["op"]
    return lambda data: nodes(data, table)[k]["op"][kind].update(fields)


def term(find: Find, **about: object) -> Edit:
    k = place("terms", find)
    return lambda data: data["terms"][k].update(about)


def named(name: str, *fields: object) -> Find:
    """A term of an operator that begins with these fields."""
    return lambda t: t["op"] == name and t["with"][: len(fields)] == list(fields)


def swapped(data: Data, table: str, find: Find) -> None:
    nodes(data, table)[place(table, find)]["args"].reverse()


def rule(name: str, /, **about: object) -> Edit:
    k = next(k for k, r in enumerate(CERTIFICATE["rules"]) if r["name"] == name)
    return lambda data: data["rules"][k].update(about)


def dropped_rule(name: str) -> Edit:
    """Drop a rule, also from what is said of the terms."""

    def edit(data: Data) -> None:
        data["rules"] = [r for r in data["rules"] if r["name"] != name]

    return edit


def line(old: str, new: str) -> Edit:
    """Alter the first line of the schedule that has a text."""
    plan = CERTIFICATE["schedule"]["plan"]
    k = next(k for k, text in enumerate(plan) if old in text)
    return lambda data: data["schedule"]["plan"].__setitem__(k, plan[k].replace(old, new))


def moved_line(old: str) -> Edit:
    """Exchange a line of the schedule with the next one."""

    def edit(data: Data) -> None:
        plan = data["schedule"]["plan"]
        k = next(k for k, text in enumerate(plan) if text.strip().startswith(old))
        plan[k], plan[k + 1] = plan[k + 1], plan[k]

    return edit


def tensor(name: str, **about: object) -> Edit:
    """Alter what the schedule says of the place of a tensor."""
    tensors = CERTIFICATE["schedule"]["order"]["tensors"]
    k = next(k for k, found in enumerate(tensors) if found["name"] == name)
    return lambda data: data["schedule"]["order"]["tensors"][k].update(about)


def offset(name: str, other: str) -> Edit:
    """Give a tensor the place of another one."""

    def edit(data: Data) -> None:
        for layout in data["schedule"]["layouts"]:
            layout["offsets"][name] = layout["offsets"][other]

    return edit


FLOORED = {"floordiv": [{"extent": "B"}, 32]}
SLOT_B: Data = {"dim": "b_o", "kind": "one", "extent": 1}
SLOT_T: Data = {"dim": "t", "kind": "one", "extent": 1}
T_BACK = {"sum": [[1, "t"]], "plus": -1}
T_ON = {"sum": [[1, "t"]], "plus": 1}
WHOLE_B = {"from": 0, "to": {"extent": "B"}, "step": 1}
SHORT_B = {"from": 1, "to": {"extent": "B"}, "step": 1}
RANDOM, GAMMA, START = op("random"), op("const", values=[0.9]), op("const", values=[0.1])
CASES: dict[str, tuple[Edit, str]] = {
    # constants
    "a constant of the source": (within("source", GAMMA, values=[0.99]), "equality"),
    "a constant of the extracted program": (within("extracted", GAMMA, values=[0.99]), "terms"),
    "the first value of a recurrence": (within("source", START, values=[0.2]), "equality"),
    "a constant among the terms": (
        lambda d: d["terms"][place("terms", lambda t: "0.9" in str(t["with"]))]["with"][0][
            "op"
        ].update(const={"values": [0.99]}),
        "equality",
    ),
    "a constant as an integer": (within("source", GAMMA, values=[1]), "intact"),
    "a constant with more values": (within("source", GAMMA, values=[0.9, 0.9]), "intact"),
    # operators and operands
    "an operator of the source": (within("source", op("map", fn="tanh"), fn="sin"), "equality"),
    "an operator of the result": (within("extracted", op("map", fn="tanh"), fn="sin"), "terms"),
    "an operator of a term": (term(named("map1", "tanh"), **{"with": ["sin"]}), "equality"),
    "a fold of the source": (within("source", op("reduce"), fn="max"), "equality"),
    "a fold of a term": (term(named("red", "sum"), **{"with": ["max", 1]}), "equality"),
    "a comparison": (within("source", op("map", fn="gt"), fn="ge"), "equality"),
    "operands of a division": (lambda d: swapped(d, "source", op("map", fn="div")), "equality"),
    "operands of a product": (lambda d: swapped(d, "extracted", op("matmul")), "intact"),
    "operands of a comparison": (lambda d: swapped(d, "extracted", op("map", fn="gt")), "terms"),
    "an operand of a term": (
        lambda d: d["terms"][place("terms", named("map2", "add"))]["args"].reverse(),
        "equality",
    ),
    "an unknown operator": (term(named("lin"), op="scam"), "intact"),
    "an operand that stands later": (term(named("lin"), args=[90, 91]), "intact"),
    "the direction of a recurrence": (term(named("lin"), **{"with": ["t", 0]}), "equality"),
    "the direction in the result": (within("extracted", op("linear"), reverse=False), "terms"),
    # conditions
    "a condition of the source": (
        lambda d: d["source"]["equations"]["h"]["cases"][1].update(when={"every": []}),
        "terms",
    ),
    "a condition of the result": (
        lambda d: d["extracted"]["program"]["equations"]["h"]["cases"][0].update(
            when={"equal 0": {"sum": [[1, "t"]], "plus": -1}}
        ),
        "terms",
    ),
    "the order of cases": (
        lambda d: d["extracted"]["program"]["equations"]["h"]["cases"].reverse(),
        "terms",
    ),
    "a case less": (
        lambda d: d["extracted"]["program"]["equations"]["h"]["cases"].pop(),
        "intact",
    ),
    # slices and reads
    "a slice of the source": (
        within("source", op("read", at={"t": T_BACK}), at={"t": T_ON}),
        "equality",
    ),
    "a slice of a term": (term(named("sl", "b", WHOLE_B), **{"with": ["b", SHORT_B]}), "equality"),
    "a read of a term": (term(named("at", "t", T_BACK), **{"with": ["t", "t"]}), "equality"),
    "an index of the result": (
        within("extracted", op("part", at="b"), at=0),
        "intact",
    ),
    "a dimension of a read": (
        term(named("at", "t", T_BACK), **{"with": ["b", T_BACK]}),
        "equality",
    ),
    # rules
    "a rule's right side": (rule("matmul/shared-right", right="(mm x w)"), "rules"),
    "a condition of a rule": (rule("vectorize/lin", when=["(= r (rank x))"]), "rules"),
    "the exactness of a rule": (rule("incremental/decaying-sum", exact="exact"), "rules"),
    "a rule's name": (rule("matmul/shared-right", name="matmul/shared"), "rules"),
    "a rule less": (dropped_rule("incremental/decaying-sum"), "equality"),
    "another rule less": (dropped_rule("matmul/shared-right"), "equality"),
    "a wrong rule of the forger's": (
        lambda d: d["rules"].append(
            {**d["rules"][0], "name": "mine/one", "left": "(tr x)", "right": "x", "when": []}
            | {"also": [], "phase": "rewrite"}
        ),
        "rules",
    ),
    "a rule with a command behind it": (
        rule("matmul/shared-right", name="mine/two", right='x) (panic "no"'),
        "intact",
    ),
    "the claim that every bit is kept": (lambda d: d["schedule"].update(exact=True), "rules"),
    # cases
    "cases drawn anew that are not": (
        lambda d: d.update(prepared=_prepared(d, {"every": []})),
        "cases",
    ),
    # outputs, extents, types
    "outputs renamed": (
        lambda d: d["source"].update(
            outputs={f"{name}x": k for name, k in d["source"]["outputs"].items()}
        ),
        "equality",
    ),
    "outputs exchanged": (
        lambda d: d["roots"].update(outputs=_exchanged(d["roots"]["outputs"], "gain", "h")),
        "equality",
    ),
    "an output of the result": (
        lambda d: d["extracted"]["program"].update(
            outputs=_exchanged(d["extracted"]["program"]["outputs"], "gain", "h")
        ),
        "terms",
    ),
    "the extent of a dimension": (lambda d: d["dims"][0].update(steps="T"), "equality"),
    "a size of a dimension": (lambda d: d["dims"][0].update(size=3), "equality"),
    "the order of dimensions": (lambda d: d["dims"].reverse(), "intact"),
    "the least extents": (
        lambda d: d["extracted"]["program"].update(minimum_extents={"T": 5}),
        "terms",
    ),
    "a type": (on("extracted", op("map", fn="tanh"), dtype="float64"), "intact"),
    "the type of an input": (on("source", op("input"), dtype="float64"), "intact"),
    "the shape of an input": (on("source", op("input"), shape=[3, 4]), "intact"),
    "the domain of a draw": (on("source", RANDOM, domain=["b"]), "intact"),
    # draws
    "the number of a draw": (within("source", RANDOM, stream=1), "equality"),
    "the number of a draw in the result": (within("extracted", RANDOM, stream=1), "terms"),
    "the law of a draw": (within("extracted", RANDOM, fn="uniform"), "terms"),
    "an unknown law": (within("source", RANDOM, fn="cauchy"), "intact"),
    # axes of recurrences
    "the axes of a recurrence": (lambda d: d["extracted"].update(batched={}), "equality"),
    "an axis along the recurrence": (
        lambda d: d["extracted"]["batched"].update(h=["t"]),
        "equality",
    ),
    # schedule
    "the order of the schedule": (moved_line("for t = T-1 .. 0"), "schedule"),
    "the direction of a loop": (line("for t = T-1 .. 0", "for t = 0 .. T-1"), "schedule"),
    "a loop that is parallel": (line("for t = 0", "parallel t = 0"), "schedule"),
    "a serial kernel": (line("k1 serial", "k1 parallel b_o = 0 .. B-1"), "schedule"),
    "a barrier less": (lambda d: d["schedule"]["plan"].remove("barrier"), "schedule"),
    "a tile": (line("b_i < min(-32*b_o+B, 32)", "b_i < min(-64*b_o+B, 64)"), "schedule"),
    "a storage slot": (line("[b_o: (B+31) // 32, t: T, 2, 32]", "[t: last 1, 2, 32]"), "schedule"),
    "a place": (line("local     float32  [t: T, 32]", "global    float32  [t: T, 32]"), "schedule"),
    "the time of a statement": (
        lambda d: d["schedule"]["order"]["steps"][0]["time"].__setitem__(0, 9),
        "order",
    ),
    # storage
    "a barrier less between workers": (
        lambda d: d["schedule"]["order"]["barriers"].pop(),
        "storage",
    ),
    "a barrier that comes too late": (
        lambda d: d["schedule"]["order"]["barriers"].__setitem__(0, [3]),
        "storage",
    ),
    "one slot for a history": (tensor("where", slots=[SLOT_B, SLOT_T]), "storage"),
    "a circular slot for a history": (
        tensor("where", slots=[SLOT_B, {"dim": "t", "kind": "circular", "extent": 2}]),
        "storage",
    ),
    "fewer slots than tiles": (
        tensor("sum_2_part", slots=[{"dim": "b_o", "kind": "full", "extent": FLOORED}]),
        "storage",
    ),
    "fewer slots than steps": (
        tensor("where", slots=[SLOT_B, {"dim": "t", "kind": "full", "extent": 3}]),
        "storage",
    ),
    "one slot for a result": (tensor("gain", slots=[SLOT_B, SLOT_T]), "storage"),
    "a value of all workers in one place": (tensor("normal", place="global"), "storage"),
    "a value of all workers in the memory of one": (tensor("sum_2_part", place="local"), "storage"),
    "a history in a variable": (tensor("where", place="register"), "storage"),
    "a tensor without a place": (
        lambda d: d["schedule"]["order"]["tensors"].pop(),
        "storage",
    ),
    "an unknown kind of slot": (
        tensor("where", slots=[SLOT_B, {**SLOT_T, "kind": "some"}]),
        "storage",
    ),
    "an accumulator that is set late": (
        lambda d: d["schedule"]["order"]["fills"][0].update(time=[2, 3]),
        "storage",
    ),
    "an accumulator that is never set": (
        lambda d: d["schedule"]["order"]["fills"].clear(),
        "schedule",
    ),
    "smaller elements": (tensor("loss", item=2), "schedule"),
    "an offset in another tensor": (offset("sum_2", "sum_2_part"), "storage"),
    "an offset in a result": (offset("sum_2_part", "h"), "storage"),
    "an offset in an input": (offset("loss", "weight"), "storage"),
    "an offset in the memory of a worker": (offset("loss", "normal"), "storage"),
    "two values of a worker in one place": (offset("tanh", "normal"), "storage"),
    "an offset behind the arena": (
        lambda d: d["schedule"]["layouts"][1]["offsets"].update(loss=1 << 20),
        "storage",
    ),
    "no room for a second worker": (
        lambda d: d["schedule"]["layouts"][0].update(stride=64),
        "storage",
    ),
    "a smaller arena": (lambda d: d["schedule"]["layouts"][0].update(total=64), "storage"),
    "no arena": (lambda d: d["schedule"].update(layouts=[]), "storage"),
    "a place for a scalar that is free": (
        lambda d: (places := d["schedule"]["layouts"][0]["offsets"]).update(
            loss=places["gain"] + 64 * 64 * 4  # behind it, before what starts elsewhere in its page
        ),
        "schedule",
    ),
    "the reads of a statement": (
        lambda d: d["schedule"]["order"]["steps"][-1].update(reads=[]),
        "schedule",
    ),
    "the widths of tiles": (lambda d: d["schedule"].update(widths={"b": 16}), "schedule"),
    "the kernels": (lambda d: d["schedule"].update(source_sha256="0" * 64), "schedule"),
    # the frame
    "the format": (lambda d: d.update(version=2), "intact"),
    "a field more": (lambda d: d["schedule"].update(order=[]), "intact"),
    "a field less": (lambda d: d["source"].pop("minimum_extents"), "intact"),
}


def _prepared(data: Data, cond: Data) -> Data:
    """The source with another condition of the first case."""
    found: Data = copy.deepcopy(data["source"])
    found["equations"]["h"]["cases"][0]["when"] = cond
    return found


def _exchanged(outputs: Data, one: str, other: str) -> Data:
    names = {one: other, other: one}
    return {name: outputs[names.get(name, name)] for name in outputs}


@pytest.mark.parametrize("name", CASES)
def test_an_alteration_is_refused_by_the_check_it_breaks(name: str) -> None:
    edit, check = CASES[name]
    data = altered(edit)
    assert data != CERTIFICATE
    assert refusal(data).startswith(f"{check}: ")
