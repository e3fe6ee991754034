"""Mistakes of who compiles and runs a program: line, fact and remedy."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ostinato
from ostinato.pdg import errors
from ostinato.pdg.errors import OstinatoError
from tests.errors.refusal import refusal

# As those write it who use no type checker, which would find many of these.
ot: Any = ostinato

b, t = ot.dims("b t")
x = ot.input("x", (3,), over=t)
k = ot.input("k", dtype="int32", over=t)
program = ot.Program(y=x * 2.0)
counts = ot.Program(y=k + 1)
X = np.ones((4, 3), np.float32)


@cache
def run() -> Any:
    return program.compile()


@cache
def draw() -> Any:
    return ot.Program(u=ot.random.uniform(over=t)).compile()


def fails(row: object) -> object:
    raise ValueError("no")


def shorter(row: Any) -> object:
    return row[:2]


def nothing(row: object) -> None:
    """Forget to return."""


def texts(row: object) -> object:
    return np.array(["a"] * 3)


def ragged(row: object) -> object:
    return [[1.0], [1.0, 2.0]]


MISTAKES: dict[str, tuple[Callable[[], object], type[OstinatoError], str]] = {
    "an argument by place": (
        lambda: run()(X),
        errors.ArgumentError,
        "`check_finite`, the first argument of a compiled program, is an array of"
        " float32 and shape (4, 3)\n"
        "  Pass arguments by name: run(x=...).",
    ),
    "an argument by place of the interpreter": (
        lambda: program.interpret(X),
        errors.ArgumentError,
        "`interpret` gets 1 argument by place, it takes none\n"
        "  Give them by name: interpret(name=...).",
    ),
    "ragged lists": (
        lambda: run()(x=[[1.0, 2.0, 3.0], [1.0]]),
        errors.ArgumentError,
        "the input `x` is [a list of 3, a list of 1], which is no array of "
        "numbers\n"
        "  Pass an array of float32, with rows of equal lengths.",
    ),
    "a text as an array": (
        lambda: run()(x="abc"),
        errors.ArgumentError,
        "the input `x` is 'abc', which is no array of numbers\n"
        "  Pass an array of float32, with rows of equal lengths.",
    ),
    "None as an array": (
        lambda: run()(x=None),
        errors.ArgumentError,
        "the input `x` is None, which is no array of numbers\n"
        "  Pass an array of float32, with rows of equal lengths.",
    ),
    "a tensor as an array": (
        lambda: run()(x=x),
        errors.TruthError,
        "`x` has no values while the program is written\n"
        '  A run has values: ot.Program(y=y).interpret(...)["y"] is an array.',
    ),
    "an array of objects": (
        lambda: run()(x=np.array([[None] * 3])),
        errors.ArgumentError,
        "the input `x` is an array of object and shape (1, 3), which is no array "
        "of numbers\n"
        "  Pass an array of float32, with rows of equal lengths.",
    ),
    "a masked array": (
        lambda: run()(x=np.ma.masked_greater(X, 0.0)),
        errors.ArgumentError,
        "the input `x` is a masked array, which hides 12 of its elements\n"
        "  Pass x.filled(0), or another number.",
    ),
    "a masked literal": (
        lambda: x + np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]),
        errors.DtypeError,
        "a masked array hides 1 of its elements\n"
        "  Give x.filled(value): a tensor has a number everywhere.",
    ),
    "a date as a literal": (
        lambda: x + np.datetime64("2020"),
        errors.DtypeError,
        "2020 is no tensor\n  Use tensors, index expressions, numbers or arrays.",
    ),
    "an input called like an option of a stream": (
        lambda: ot.Program(y=ot.input("keep", over=t)),
        errors.ArgumentError,
        "the input `keep` has the name of another argument\n  Rename it.",
    ),
    "an output called like a part of every record": (
        lambda: ot.Program(index=x * 2.0).compile().stream(t, x=X),
        errors.ArgumentError,
        "the output `index` has the name of what every record has\n  Rename the output.",
    ),
    "a compiled program that is pickled": (
        lambda: pickle.dumps(run()),
        errors.ArgumentError,
        "a compiled program cannot be pickled\n"
        "  Pickle the program, and compile it there: the cache on disk has its code.",
    ),
    "complex numbers": (
        lambda: run()(x=X.astype(complex)),
        errors.ArgumentError,
        "the input `x` has type complex128, declared is float32\n  Pass x.astype('float32').",
    ),
    "a missing axis": (
        lambda: run()(x=X[0]),
        errors.ArgumentError,
        "the input `x` has shape (3,), declared is (T, 3)\n  Pass an array with 2 axes.",
    ),
    "an axis of another size": (
        lambda: run()(x=X[:, :2]),
        errors.ArgumentError,
        "the input `x` has shape (4, 2), declared is (T, 3) = (4, 3)\n"
        "  Pass an array of shape (4, 3).",
    ),
    "an array of no steps": (
        lambda: run()(x=X[:0]),
        errors.ArgumentError,
        "the extent `T` is 0 (`x` has 0 at axis 0)\n  Pass an array of at least 1 step.",
    ),
    "a missing input": (
        lambda: run()(),
        errors.ArgumentError,
        "the input `x` is missing\n  Pass x=... of shape (T, 3) and type float32.",
    ),
    "an unknown input": (
        lambda: run()(x=X, z=1),
        errors.ArgumentError,
        "the program has no argument `z`\n  It takes: x, T, seed.",
    ),
    "an unknown input of a program with steps of its own": (
        lambda: ot.Program(y=ot.linalg.solve(ot.input("a", (3, 3)), ot.ones(3))).interpret(z=1),
        errors.ArgumentError,
        "the program has no argument `z`\n  It takes: a, seed.",
    ),
    "a misspelt input": (
        lambda: run()(X=X),
        errors.ArgumentError,
        "the program has no argument `X`\n  Did you mean `x`? It takes: x, T, seed.",
    ),
    "floats for integers": (
        lambda: counts.interpret(k=[1.5]),
        errors.ArgumentError,
        "the input `k` has type float64, declared is int32\n  Pass k.astype('int32').",
    ),
    "NaN for integers": (
        lambda: counts.interpret(k=[math.nan]),
        errors.ArgumentError,
        "the input `k` has type float64, declared is int32\n  Pass k.astype('int32').",
    ),
    "integers beyond 32 bits": (
        lambda: counts.interpret(k=[2**40]),
        errors.ArgumentError,
        "the input `k` has values outside int32\n"
        "  Pass values inside its range, or declare a wider type.",
    ),
    "integers beyond 64 bits": (
        lambda: counts.interpret(k=[2**70]),
        errors.ArgumentError,
        "the input `k` is [an integer of 71 bits], which is no array of numbers\n"
        "  Pass an array of int32, with rows of equal lengths.",
    ),
    "an extent of 0": (
        lambda: draw()(T=0),
        errors.ArgumentError,
        "`T` is 0\n  Pass an integer of at least 1.",
    ),
    "a negative extent": (
        lambda: draw()(T=-1),
        errors.ArgumentError,
        "`T` is -1\n  Pass an integer of at least 1.",
    ),
    "a fraction as an extent": (
        lambda: draw()(T=0.5),
        errors.ArgumentError,
        "`T` is 0.5\n  Pass an integer of at least 1.",
    ),
    "a boolean as an extent": (
        lambda: draw()(T=True),
        errors.ArgumentError,
        "`T` is True\n  Pass an integer of at least 1.",
    ),
    "a text as an extent": (
        lambda: draw()(T="3"),
        errors.ArgumentError,
        "`T` is '3'\n  Pass an integer of at least 1.",
    ),
    "an extent beyond 64 bits": (
        lambda: draw()(T=10**30),
        errors.ArgumentError,
        "`T` is an integer of 100 bits\n  Pass an integer of at most 1,073,741,824.",
    ),
    "a missing extent": (
        lambda: draw()(),
        errors.ArgumentError,
        "the extent `T` is missing\n  Pass T=..., the number of steps of `t`.",
    ),
    "an extent that contradicts an array": (
        lambda: run()(x=X, T=5),
        errors.ArgumentError,
        "the extent `T` is 5 (T=5) and 4 (`x` has 4 at axis 0)\n"
        "  Pass arrays and extents of equal sizes.",
    ),
    "a seed that is a text": (
        lambda: draw()(T=3, seed="a"),
        errors.ArgumentError,
        "`seed` is 'a'\n  Pass an integer of at least 0.",
    ),
    "a negative seed": (
        lambda: draw()(T=3, seed=-1),
        errors.ArgumentError,
        "`seed` is -1\n  Pass an integer of at least 0.",
    ),
    "a seed of 201 bits": (
        lambda: draw()(T=3, seed=2**200),
        errors.ArgumentError,
        "`seed` is an integer of 201 bits\n  Pass an integer of at most 2**64 - 1.",
    ),
    "a seed of 201 bits for the interpreter": (
        lambda: ot.Program(u=ot.random.uniform()).interpret(seed=2**200),
        errors.ArgumentError,
        "`seed` is an integer of 201 bits\n  Pass an integer of at most 2**64 - 1.",
    ),
    "a stream over an unknown dimension": (
        lambda: run().stream("z", x=X),
        errors.ArgumentError,
        "no output has `z` as its first dimension\n  Stream over one of: t.",
    ),
    "a stream over another dimension": (
        lambda: run().stream(b, x=X),
        errors.ArgumentError,
        "no output has `b` as its first dimension\n  Stream over one of: t.",
    ),
    "a stream over a number": (
        lambda: run().stream(3, x=X),
        errors.ArgumentError,
        "`stream` gets 3 for `over`\n  Give a dimension of ot.dims or a text.",
    ),
    "a stream over nothing": (
        lambda: run().stream(x=X),
        errors.ArgumentError,
        "`stream` is called without `over`\n  Write stream(over).",
    ),
    "an explanation for an unknown extent": (
        lambda: run().explain(Z=3),
        errors.ArgumentError,
        "the program has no extent `Z`\n  It has: T.",
    ),
    "an explanation for a negative extent": (
        lambda: run().explain(T=-1),
        errors.ArgumentError,
        "`T` is -1\n  Pass an integer of at least 1.",
    ),
    "an explanation by place": (
        lambda: run().explain(3),
        errors.ArgumentError,
        "`explain` gets 1 argument by place, it takes none\n"
        "  Give them by name: explain(name=...).",
    ),
    "a result that there is not": (
        lambda: run()(x=X)["z"],
        errors.MissingError,
        "the results have no `z`\n  It has: y.",
    ),
    "a result as an attribute": (
        lambda: run()(x=X).y,
        errors.MissingError,
        'the results have no attribute `y`\n  Write result["y"].',
    ),
    "lengths of what does not end": (
        lambda: run()(x=X).lengths["y"],
        errors.MissingError,
        "the results have no `y`\n  It has: none.",
    ),
    "an array as check_finite": (
        lambda: run()(check_finite=X, x=X),
        errors.ArgumentError,
        "`check_finite`, the first argument of a compiled program, is an array of"
        " float32 and shape (4, 3)\n"
        "  Pass arguments by name: run(x=...).",
    ),
    "a number as check_finite": (
        lambda: run()(check_finite=1, x=X),
        errors.ArgumentError,
        "`check_finite`, the first argument of a compiled program, is 1\n"
        "  Pass True or False, and arguments by name: run(x=...).",
    ),
    "a certificate without a path": (
        lambda: run().certificate(None),
        errors.ArgumentError,
        "`certificate` gets None for `path`\n  Give a path.",
    ),
    "a certificate that is a folder": (
        lambda: run().certificate("/"),
        errors.CertificateError,
        "the certificate `/` cannot be written: Is a directory\n"
        "  Give the path of a file in a folder that exists.",
    ),
    "a certificate that is missing": (
        lambda: ot.verify_certificate("no/such.json"),
        errors.CertificateError,
        "the certificate `no/such.json` cannot be read: No such file or directory\n"
        "  Give the path of a certificate file.",
    ),
    "a picture in a missing folder": (
        lambda: program.to_svg("no/such/folder/p.svg"),
        errors.ArgumentError,
        "the picture cannot be written to `no/such/folder/p.svg`: No such file or"
        " directory\n"
        "  Give the path of a file in a folder that exists.",
    ),
    "a hint below 1": (
        lambda: program.compile(hints={"T": -1}),
        errors.OptionError,
        "`hints` has -1 for `T`\n  Pass a positive integer.",
    ),
    "a hint for no name": (
        lambda: program.compile(hints={1: 2}),
        errors.OptionError,
        "`hints` has the key 1, which is no name\n  Write the extent's name: hints=dict(T=...).",
    ),
    "a width of a dimension itself": (
        lambda: program.compile(widths={t: 8}),
        errors.OptionError,
        "`widths` has the key `t`, which is no name\n"
        "  Write the dimension's name: widths=dict(t=...).",
    ),
    "a hint for a dimension": (
        lambda: program.compile(hints={"t": 2}),
        errors.OptionError,
        "`t` is no extent of the program, but `hints` has it\n  Did you mean `T`? Extents: T.",
    ),
    "a hint that is a tensor": (
        lambda: program.compile(hints={"T": x}),
        errors.OptionError,
        "`hints` has `x` for `T`\n  Pass a positive integer.",
    ),
    "a hint beyond 31 bits": (
        lambda: program.compile(hints={"T": 10**30}),
        errors.OptionError,
        "`hints` has an integer of 100 bits for `T`\n  Pass an integer up to 2147483647.",
    ),
    "a tile beyond 31 bits": (
        lambda: program.compile(widths={"t": 10**30}),
        errors.OptionError,
        "`widths` has an integer of 100 bits for `t`\n  Pass an integer up to 2147483647.",
    ),
    "a thousand million threads": (
        lambda: program.compile(threads=10**9),
        errors.OptionError,
        "`threads` is 1000000000\n  Pass at most 1024, or 0 for every core.",
    ),
    "threads that are a tensor": (
        lambda: program.compile(threads=x),
        errors.OptionError,
        "`threads` is `x`\n  Pass a number of threads, or 0 for every core.",
    ),
    "half a byte": (
        lambda: program.compile(memory_limit=1.5),
        errors.OptionError,
        "`memory_limit` is 1.5\n  Pass a number of bytes above 0, or None for no limit.",
    ),
    "exact by a tensor": (
        lambda: program.compile(exact=x),
        errors.OptionError,
        "`exact` is `x`\n  Pass True or False.",
    ),
    "an unknown target": (
        lambda: program.compile("gpu"),
        errors.OptionError,
        "there is no target `gpu`\n  Targets: cpu, cuda.",
    ),
    "a target that is a tensor": (
        lambda: program.compile(target=x),
        errors.ArgumentError,
        "`compile` gets `x` for `target`\n"
        "  Give a text: what a tensor holds is known only when a program runs.",
    ),
    "rules by name": (
        lambda: program.compile(rules="vectorize"),
        errors.ArgumentError,
        "`compile` gets 'vectorize' for `rules`\n"
        '  Give a set of rules, such as ot.rules.without("vectorize") or None.',
    ),
    "an unknown option": (
        lambda: program.compile(optimize=True),
        errors.OptionError,
        "`optimize` is no option of compile\n"
        "  Options: target, threads, hints, widths, verify, checks, profile, exact, "
        "memory_limit, spill, storage, without.",
    ),
    "a storage in a list": (
        lambda: program.compile(storage=["bfloat16"]),
        errors.OptionError,
        '`storage` is [\'bfloat16\']\n  Pass "float16" or "bfloat16", or leave it out.',
    ),
    "a profile that is a text": (
        lambda: program.compile(profile="fast"),
        errors.OptionError,
        "`profile` is 'fast'\n  Leave it out: the profile of this machine is found by itself.",
    ),
    "a misspelt rule": (
        lambda: ot.rules.only("vectorise"),
        errors.OptionError,
        "no rule or family is called `vectorise`\n"
        "  Did you mean `vectorize`? Families: affine, algebra, domain, fuse, "
        "incremental, matmul, vectorize, view; `ostinato rules list` shows every "
        "rule.",
    ),
    "rules traced of a tensor": (
        lambda: ot.rules.trace(x),
        errors.ArgumentError,
        "`trace` gets `x` for `program`\n  Give an ot.Program or an ot.Experiment.",
    ),
    "a function that raises": (
        lambda: ot.Program(y=ot.host(fails, x, shape=(3,), name="f")).interpret(x=X),
        errors.HostError,
        "`f` failed at t = 0: ValueError: no\n  The error that it raised is shown above this one.",
    ),
    "a function that returns another shape": (
        lambda: ot.Program(y=ot.host(shorter, x, shape=(3,), name="f")).interpret(x=X),
        errors.HostError,
        "`f` returned an array of shape (2,) at t = 0\n"
        "  Return an array of shape (3,) and type float32, as declared.",
    ),
    "a function that returns another type": (
        lambda: ot.Program(y=ot.host(texts, x, shape=(3,), name="f")).interpret(x=X),
        errors.HostError,
        "`f` returned an array of type <U1 at t = 0\n"
        "  Return an array of shape (3,) and type float32, as declared.",
    ),
    "a function that returns nothing": (
        lambda: ot.Program(y=ot.host(nothing, x, shape=(3,), name="f")).interpret(x=X),
        errors.HostError,
        "`f` returned None at t = 0\n"
        "  Return an array of shape (3,) and type float32, as declared.",
    ),
    "a function that returns ragged lists": (
        lambda: ot.Program(y=ot.host(ragged, x, shape=(3,), name="f")).interpret(x=X),
        errors.HostError,
        "`f` returned rows of different lengths at t = 0\n"
        "  Return an array of float32, as declared.",
    ),
}


@pytest.mark.parametrize(("make", "kind", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_with_place_fact_and_remedy(
    make: Callable[[], object], kind: type[OstinatoError], text: str
) -> None:
    where, _, rest = refusal(kind, make).partition(": ")
    assert where == f"test_mistakes_of_runs.py:{make.__code__.co_firstlineno}"
    assert rest == text
