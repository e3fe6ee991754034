"""Models of language and of sequences: generation, training, and compiling deep ones."""

from bench.harness.suite import Case, Entry, Size, Suite, Target

UNIT = "tokens/s"
HINTED = {"hinted": 1}


def entries(program: str, *forms: str) -> tuple[Entry, ...]:
    """Ours with its sizes as hints and without, and JAX in each of some forms."""
    ours = f"bench.ours.models:{program}"
    theirs = f"bench.peers.in_jax.models:{program}"
    peers = (Entry("jax", theirs, "jax", form, {"form": form}) for form in forms)
    return (
        Entry("ostinato", ours, form="any extents"),
        Entry("ostinato", ours, form="with hints", size=HINTED),
        *(peers if forms else (Entry("jax", theirs, "jax"),)),
    )


def case(program: str, *forms: str, **size: int) -> Case:
    return Case(program, size, UNIT, entries(program, *forms))


def compiling(layers: int) -> Case:
    size: Size = {"layers": layers}
    found = (
        Entry("ostinato", "bench.ours.model_compile:cold"),
        Entry("jax", "bench.peers.in_jax.model_compile:cold", "jax"),
    )
    return Case("compile", size, "processor_s", found, warm_up=False)


SUITE = Suite(
    name="models",
    title="transformers, LSTMs, linear attention and state spaces",
    text=(
        "*decode* generates the likeliest tokens, one by one, from a transformer of width\n"
        "128 with 4 heads; with a window, a step sees so many. *training* and *lstm* are\n"
        "language models of 256 words by Adam, *mamba* a layer of selective state spaces by\n"
        "gradient descent, *averages* linear attention forwards; a token is one step of one\n"
        "sequence, and all updates are one call. *compile* is a transformer in training, from its\n"
        "definition to machine code in a fresh process: seconds of the processor."
    ),
    cases=(
        *(
            case("decode", layers=4, batch=batch, steps=1024, window=window)
            for batch in (1, 4, 16)
            for window in (0, 64)
        ),
        *(case("training", layers=2, batch=8, steps=steps) for steps in (64, 512)),
        case("lstm", width=128, batch=32, steps=128),
        case("averages", "scan", "pairs", size=32, batch=8, steps=1024),
        case("mamba", "scan", "loop", width=64, states=16, batch=8, steps=256),
        *map(compiling, (1, 2, 4, 8)),
    ),
    targets=(
        Target("jax", 1.0, 1.5, UNIT),
        Target("jax", 0.67, 1.0, "processor_s"),
    ),
)
