"""CUDA as a target. What writes its code is imported when it is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.codegen.cpu.cpu_target import CPU
from ostinato.codegen.cuda.shares import SHARED_LANES
from ostinato.codegen.target import Tiles, Writer
from ostinato.machine.profile import Profile
from ostinato.runtime.machine_code.ports import Unit

if TYPE_CHECKING:
    from ostinato.codegen.loops.statements import Function


def _names() -> frozenset[str]:
    from ostinato.codegen.cuda.cuda_module import NAMES

    return NAMES


def _text(function: Function) -> str:
    from ostinato.codegen.cuda.cuda_module import text

    return text(function)


def _module(
    title: str, extents: Sequence[str], functions: Sequence[Function], _: Sequence[str]
) -> str:
    from ostinato.codegen.cuda.cuda_module import module

    return module(title, extents, functions)


def _writer() -> Writer:
    def write(functions: Iterable[Function]) -> Iterator[Unit]:
        for each in functions:
            yield Unit(each.name, _text(each), "driver" if each.is_driver else "kernel")

    return write


@cache
def digest() -> str:
    """What stands for the intrinsics of a module and for the compiler of Numba CUDA."""
    try:
        package = version("numba-cuda")
    except PackageNotFoundError:
        package = "none"
    text = (Path(__file__).parent / "intrinsics.py").read_bytes()
    return f"{package} {sha256(text).hexdigest()[:16]}"


PROFILE = Profile(
    name="cuda, a multiprocessor of an H200",
    run_ns=35_000.0,  # measured, as are barriers: a launch by Numba
    kernel_ns=20.0,
    joining_ns=5_000.0,
    barrier_ns=1_100.0,  # of a grid of as many blocks as multiprocessors
    passed_ns=0.02,
    leaf_ns=50.0,  # a barrier of a block
    point_ns=4.0,  # one thread alone waits for every operation
    serial_ns=10.0,  # measured: a step of a logistic map
    fold_ns=4.0,
    alone=256.0,  # the threads of a block
    step_ns=0.012,
    draw_ns=2.0,
    normal_ns=4.0,
    dots=2.0,
    plain=2.0,
    product_ns=150.0,
    multiply_ns=(0.1, 0.02, 0.01, 0.01),
    byte_ns=(0.0046, 0.012, 0.024, 0.028),
    level_bytes=(192 << 10, 1 << 20, 50 << 20),
    vector_bytes=128,
)
"""What work takes on one multiprocessor of an H200; by data sheets where nothing is said."""

_EXACT = replace(
    CPU,  # with its vectors and tiles: exact sums add up as they do there
    name="cuda",
    line_bytes=128,
    page_bytes=1 << 62,  # no load waits for a store to another page
    near_bytes=1 << 17,
    far_bytes=1 << 25,
    names=_names,
    text=_text,
    module=_module,
    writer=_writer,
    digest=digest,
    keeps_parts=False,
    deals_out_rows=True,
    shared_lanes=SHARED_LANES,
    takes_whole_tiles=True,
    profile=PROFILE,
    calls_python=False,
    checks_addresses=False,
    runtime="device",
)
CUDA = replace(
    _EXACT,
    usual_workers=132,
    tiles=Tiles(
        usual=32,
        narrow=256,
        narrowest=1,
        block=1,
        beside=((1 << 8, 32),),
        beside_more=64,
        adding=64,
        unit=8,
    ),
    spread=128,
    adds_as=_EXACT,
)
"""Devices of the kind of an H100; another one runs the same code."""
