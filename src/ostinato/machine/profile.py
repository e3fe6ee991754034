"""What elementary work takes on a machine: the numbers that turn work into time.

The defaults describe one core of a recent x86-64 with vectors of 512 bits. `ostinato calibrate`
measures the same numbers on the machine at hand.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import cast

LEVELS = ("L1", "L2", "L3", "DRAM")
PRODUCTS = ("row", "small", "medium", "large")  # classes of matrix products: see `CostModel`
TYPICAL_EXTENT = 64  # what is assumed of an extent that nobody gives

_FUNCTIONS = {
    "div": 0.13, "sqrt": 0.16, "exp": 0.35, "exp2": 0.34, "log": 0.4, "log2": 0.36, "log1p": 0.48,
    "expm1": 0.44, "tanh": 0.22, "sigmoid": 0.38, "sin": 0.36, "cos": 0.37, "tan": 0.43,
    "pow": 2.6, "erf": 0.9, "erfc": 0.9, "lgamma": 6.0, "digamma": 6.0, "arcsinh": 0.95,
    "arctan2": 0.61, "mod": 0.94, "floordiv": 0.94,
}  # fmt: skip


_WAITS = {
    "add": 0.57, "mul": 1.1, "maximum": 1.6, "where": 0.9, "div": 3.2, "sqrt": 3.3, "exp": 15.0,
    "tanh": 11.5,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Profile:
    """Nanoseconds per unit of work on one core, and bytes per level of memory.

    Functions and steps are of float32 in a vector loop; float64 takes ``wide`` times as long.
    ``waits`` are the times from operand to result of operations that depend on each other.
    """

    name: str = "default"
    run_ns: float = 20_000.0  # one call of a compiled program that does nothing
    host_ns: float = 5_000.0  # a call of a Python function
    kernel_ns: float = 18.0  # calling a kernel
    joining_ns: float = 20_000.0  # until other workers have begun a run, and found its memory
    barrier_ns: float = 500.0  # all workers wait for each other
    passed_ns: float = 0.0703  # a byte of many from the cache of another core; up to 0.22 was seen
    leaf_ns: float = 5.5  # starting a vector loop
    point_ns: float = 0.24  # one point of a loop without vectors
    serial_ns: float = 3.0  # a step that waits for the one before
    waits: Mapping[str, float] = field(default_factory=lambda: dict(_WAITS))
    alone: float = 5.5  # elements of a vector that take as long as one number alone
    step_ns: float = 0.0066  # an elementwise operation
    functions: Mapping[str, float] = field(default_factory=lambda: dict(_FUNCTIONS))
    fold_ns: float = 0.5  # adding one element to a number, in order
    wide: float = 2.0  # float64 over float32
    product_ns: float = 2.3  # starting a matrix product
    dots: float = 1.5  # how much slower products of rows with rows are: sums across lanes end them
    plain: float = 8.0  # how much slower a product is whose operands are read in strides
    multiply_ns: tuple[float, ...] = (0.024, 0.015, 0.011, 0.0115)  # a multiply-add, by `PRODUCTS`
    byte_ns: tuple[float, ...] = (0.0019, 0.0087, 0.035, 0.064)  # moving a byte, by `LEVELS`
    level_bytes: tuple[int, ...] = (48 << 10, 2 << 20, 32 << 20)  # what each level holds
    vector_bytes: int = 64
    strided_ns: float = 0.82  # reading an element whose neighbour lies elsewhere
    transposed_ns: float = 0.045  # an element of a matrix that is transposed, square by square
    copy_ns: float = 0.56  # returning an element of a result that lies in another order
    draw_ns: float = 1.4  # a uniform draw
    normal_ns: float = 3.3  # a normal draw
    order_ns: float = 4.1  # a comparison of a sort or a search, with its mispredicted branch

    def to_json(self) -> str:
        """The profile as a file holds it."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"


def from_json(text: str) -> Profile:
    """Read a profile.

    Errors: ValueError if the text is no profile, saying what is wrong.
    """
    found: object = json.loads(text)  # its error is a ValueError
    if not isinstance(found, dict):
        raise ValueError("it holds no table")
    given = cast(dict[str, object], found)
    known = {f.name: f for f in fields(Profile)}
    wrong = sorted(given.keys() ^ known.keys())
    if wrong:
        raise ValueError(f"`{wrong[0]}` is {'unknown' if wrong[0] in given else 'missing'}")
    default = Profile()
    return Profile(**{n: _read(n, given[n], getattr(default, n)) for n in known})  # type: ignore[arg-type]  # _read checks the types


def _read(name: str, value: object, default: object) -> object:
    """A value of the kind of its default; numbers are positive."""
    match default, value:
        case str(), str():
            return value
        case float(), int() | float() if not isinstance(value, bool) and value > 0:
            return float(value)
        case tuple(), list():
            items = cast(list[object], value)
            usual = cast(tuple[object, ...], default)
            if len(items) == len(usual):
                return tuple(_read(name, v, d) for v, d in zip(items, usual, strict=True))
        case int(), int() if not isinstance(value, bool) and value > 0:
            return value
        case dict(), dict():
            table = cast(dict[str, object], value)
            return {fn: _read(name, ns, 1.0) for fn, ns in sorted(table.items())}
        case _:
            pass
    raise ValueError(f"`{name}` is {value!r}")
