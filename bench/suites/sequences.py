"""Programs over sequences: decoders, alignments, filters, and what is found along rows."""

from bench.harness.suite import Case, Entry, Size, Suite, Target

UNITS = {
    "viterbi": "steps/s",
    "hmm": "steps/s",
    "ctc": "steps/s",
    "beam": "steps/s",
    "edit_distance": "cells/s",
    "smith_waterman": "cells/s",
    "kalman": "steps/s",
    "particle": "particles/s",
    "q_learning": "steps/s",
    "tile_coding": "steps/s",
    "along_rows": "elements/s",
    "searched": "values/s",
    "drawn": "elements/s",
}


def peers(module: str, function: str, *forms: str) -> tuple[Entry, ...]:
    factory = f"bench.peers.in_jax.{module}:{function}"
    if not forms:
        return (Entry("jax", factory, "jax"),)
    return tuple(Entry("jax", factory, "jax", form, {"form": form}) for form in forms)


def case(module: str, function: str, size: Size, *others: Entry) -> Case:
    ours = Entry("ostinato", f"bench.ours.{module}:{function}")
    return Case(function, size, UNITS[function], (ours, *others))


def by_hand(module: str, function: str) -> Entry:
    return Entry("numba", f"bench.handwritten.{module}:{function}")


def hmm(form: str) -> Case:
    size: Size = {"form": form, "states": 64, "batch": 16, "steps": 500}
    return case("decoders", "hmm", size, *peers("decoders", "hmm"))


def found(function: str, rows: int, length: int) -> Case:
    size: Size = {"function": function, "rows": rows, "length": length}
    return case("selections", "along_rows", size, *peers("selections", "along_rows"))


PATHS = peers("decoders", "viterbi", "pointers", "scores")
ROWS = ((512, 4096), (20000, 64))
TABLES = ({"batch": 1, "length": 1000}, {"batch": 32, "length": 300})
FUNCTIONS = ("sum", "max", "var", "argmax", "logsumexp", "softmax", "cumsum", "top_k")

CASES = (
    *(
        case("decoders", "viterbi", {"states": s, "batch": b, "steps": 500}, *PATHS)
        for s, b in ((16, 64), (64, 16), (256, 4))
    ),
    *map(hmm, ("logarithms", "products")),
    *(
        case("decoders", "ctc", size, *peers("decoders", "ctc"))
        for size in (
            {"classes": 64, "labels": 30, "batch": 16, "steps": 200},
            {"classes": 1000, "labels": 50, "batch": 16, "steps": 200},
        )
    ),
    *(
        case("decoders", "beam", size, *peers("decoders", "beam"))
        for size in (
            {"words": 1000, "width": 8, "batch": 4, "steps": 100},
            {"words": 10000, "width": 4, "batch": 1, "steps": 50},
        )
    ),
    *(
        case(
            "alignments",
            name,
            size,
            by_hand("alignments", name),
            *peers("alignments", name, "rows", "diagonals"),
        )
        for name in ("edit_distance", "smith_waterman")
        for size in TABLES
    ),
    *(
        case("filters", "kalman", size, *peers("filters", "kalman", "adjugate", "lapack"))
        for size in ({"batch": 1, "steps": 1000}, {"batch": 64, "steps": 200})
    ),
    *(
        case("filters", "particle", size, *peers("filters", "particle", "scan", "scan_unrolled"))
        for size in (
            {"particles": 100, "batch": 32, "steps": 100},
            {"particles": 1000, "batch": 4, "steps": 100},
        )
    ),
    *(
        case(
            "tables",
            "q_learning",
            {"places": places, "steps": 10000},
            by_hand("tables", "q_learning"),
            *peers("tables", "q_learning"),
        )
        for places in (500, 100_000)
    ),
    *(
        case(
            "tables",
            "tile_coding",
            {"weights": weights, "steps": 10000},
            by_hand("tables", "tile_coding"),
            *peers("tables", "tile_coding"),
        )
        for weights in (4096, 1 << 20)
    ),
    *(
        found(name, rows, length)
        for name in FUNCTIONS
        for rows, length in ((512, 4096), (20000, 64))
    ),
    *(
        case("selections", "searched", size, *peers("selections", "searched", "scan", "sort"))
        for size in ({"length": 100, "values": 100000}, {"length": 4096, "values": 100000})
    ),
    *(
        case("selections", "drawn", size, *peers("selections", "drawn", "noise", "cumulative"))
        for size in ({"rows": 8, "words": 50000}, {"rows": 512, "words": 1000})
    ),
)

SUITE = Suite(
    name="sequences",
    title="programs over sequences",
    text=(
        "Decoders: best paths of a hidden Markov model, the probabilities of its states in\n"
        "logarithms or as scaled products, the loss of connectionist temporal classification\n"
        "with its gradient, beams of a bigram model. Alignments: edit distances, Smith-Waterman\n"
        "scores. Filters: Kalman's on four states, and particles with systematic resampling.\n"
        "Tables: Q-learning, of which a step changes one value of six for each of its places,\n"
        "and TD(0) with tile coding, of which a step changes a weight of each of eight tilings.\n"
        "Rows: what is found along the last axis, places in an order, draws of one of many words.\n"
        "A call takes arrays and returns results; JAX's arrays are on its device before, time\n"
        "first. ostinato has the equations as they are in textbooks; the peers have one jitted\n"
        "function each, in the forms that people write."
    ),
    cases=CASES,
    targets=(
        *(Target("jax", 1.0, 1.5, unit) for unit in sorted({*UNITS.values()})),
        *(Target("numba", 1.0, 1.5, unit) for unit in ("cells/s", "steps/s")),
    ),
)
