"""Weights under the names and in the layout of PyTorch, in files, programs and states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ostinato.language.carry import Carry
from ostinato.language.dims import Dimension
from ostinato.language.functions.basic import swapaxes
from ostinato.language.recurrent import Recurrent
from ostinato.language.tensor import Tensor
from ostinato.pdg.errors import ArgumentError, CheckpointError, guess, to_write
from ostinato.pdg.functions import Array
from ostinato.pdg.naming import called
from ostinato.provenance.place import place


class Weight(NamedTuple):
    """A parameter, its name in PyTorch, and whether PyTorch has its last two axes exchanged."""

    name: str
    tensor: Tensor
    turned: bool = False

    def array(self, array: Array) -> Array:
        """An array of ours in the layout of PyTorch, and one of PyTorch in ours."""
        return np.ascontiguousarray(np.swapaxes(array, -1, -2)) if self.turned else array

    @property
    def laid_out(self) -> Tensor:
        """The parameter in the layout of PyTorch."""
        return swapaxes(self.tensor, -1, -2) if self.turned else self.tensor

    def argument(self, name: str) -> str:
        """What it is called among the inputs of a program."""
        return f"{name}_{self.name.replace('.', '_')}"


def below(name: str, found: Iterator[Weight]) -> Iterator[Weight]:
    """Weights of a part that has a name: `body` and `0.weight` are `body.0.weight`."""
    for weight in found:
        yield weight._replace(name=f"{name}.{weight.name}") if name else weight


def arrays(weights: Iterable[Weight], values: Mapping[str, Array]) -> dict[str, Array]:
    """The parameters among values by the user's names, as PyTorch has them."""
    names: dict[str, Weight] = {}
    for weight in weights:
        if not isinstance(weight.tensor, Recurrent):
            fact = f"{called(weight.tensor.node)} is no parameter with a value in a state"
            raise ArgumentError(fact, "Take the module that is trained.", place())
        name = str(weight.tensor.node)
        if name in names and names[name].tensor is not weight.tensor:
            fact = f"two parameters are called `{name}`: a state has them by their names"
            raise ArgumentError(fact, "Give the layers different names: name=...", place())
        names[name] = weight
    missing = sorted(names.keys() - values.keys())
    if missing:
        fact = f"there is no `{missing[0]}` among the values"
        remedy = f"{guess(missing[0], values)}Give the state of a program with this module."
        raise ArgumentError(fact, remedy, place())
    return {w.name: w.array(_last(np.asarray(values[name]), w.tensor)) for name, w in names.items()}


def _last(array: Array, tensor: Tensor) -> Array:
    """The last of several steps: a state has all that a program looks back to."""
    return array[-1] if array.ndim > tensor.ndim + len(independent(tensor)) else array


def independent(parameter: Tensor) -> tuple[Dimension, ...]:
    """The dimensions along which a parameter is one of independent ones."""
    if isinstance(parameter, Carry):
        return parameter.over_carried.each
    return tuple(Dimension(dim) for dim in parameter.over[:-1])


def fitting(
    own: Iterable[Weight],
    weights: Mapping[str, object],
    leading: Callable[[Tensor], int] = lambda _: 0,
) -> dict[int, Array]:
    """Arrays in the place of a module's ``own`` tensors, which are found by their identity.

    Each has so many ``leading`` axes before those of its tensor.

    Errors: ArgumentError for a weight that is missing or has another shape, and a strange one.
    """
    found = {weight.name: weight for weight in own}
    odd = sorted(found.keys() ^ weights.keys())
    if odd:
        which, others = ("lack", weights) if odd[0] in found else ("have a strange", found)
        remedy = f"{guess(odd[0], others)}Known: {', '.join(others) or 'none'}."
        raise ArgumentError(f"the weights {which} `{odd[0]}`", remedy, place())
    out: dict[int, Array] = {}
    for name, weight in found.items():
        array, first = np.asarray(weights[name]), leading(weight.tensor)
        turned = weight.array(array) if array.ndim > 1 else array
        if turned.shape[first:] != weight.tensor.shape:
            expected = weight.array(np.empty(weight.tensor.shape)).shape
            fact = f"the weight `{name}` has shape {list(array.shape)}, not {list(expected)}"
            raise ArgumentError(fact, "Give the weights of a module of the same sizes.", place())
        out[id(weight.tensor)] = turned
    return out


def save_weights(path: str | Path, weights: Mapping[str, object]) -> None:
    """Write weights by name to a file, in the format safetensors.

    Errors: CheckpointError if the file cannot be written; ArgumentError for what is no array of
    numbers, and for what is no name.

    >>> import numpy as np, tempfile
    >>> from ostinato import nn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nn.save_weights(f"{folder}/w.safetensors", {"0.bias": np.ones(2)})
    ...     nn.load_weights(f"{folder}/w.safetensors")
    {'0.bias': array([1., 1.])}
    """
    from safetensors.numpy import save

    arrays = {name: _numbers(name, weight) for name, weight in weights.items()}
    try:
        Path(path).write_bytes(save(arrays))
    except OSError as failure:
        fact = f"the weights cannot be written to `{path}`: {failure.strerror}"
        raise CheckpointError(fact, to_write(failure), place()) from None


def _numbers(name: object, weight: object) -> Array:
    """A weight as it lies in a file.

    Errors: ArgumentError.
    """
    array = np.asarray(weight)
    if not isinstance(name, str) or array.dtype.name not in KINDS.values():
        fact = f"the weight {name!r} is of type {array.dtype}"
        raise ArgumentError(fact, "Give arrays of numbers by names.", place())
    return np.ascontiguousarray(array).reshape(array.shape)  # of no axes: it would get one


# What real numbers are called in the format safetensors; PyTorch often keeps BF16.
KINDS: Mapping[str, str] = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32",
    "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16",
    "F32": "float32", "F64": "float64",
}  # fmt: skip


def load_weights(path: str | Path) -> dict[str, Array]:
    """Return the weights of a file in the format safetensors, by name.

    PyTorch writes such a file by ``safetensors.torch.save_file(module.state_dict(), path)``.
    Errors: CheckpointError if it cannot be read or is damaged.
    """
    import safetensors
    from safetensors import SafetensorError

    package: Any = safetensors  # its function has no types
    try:
        found: dict[str, Any] = dict(package.deserialize(Path(path).read_bytes()))
    except (OSError, SafetensorError) as failure:
        why = failure.strerror if isinstance(failure, OSError) else failure
        fact = f"the weights in `{path}` cannot be read: {why}"
        raise CheckpointError(fact, "Give a safetensors file of real numbers.", place()) from None
    for name, part in found.items():
        if part["dtype"] not in KINDS:
            fact = f"the weight `{name}` in `{path}` is of the type {part['dtype']}"
            raise CheckpointError(fact, "Give a safetensors file of real numbers.", place())
    return {
        name: np.frombuffer(part["data"], KINDS[part["dtype"]]).reshape(part["shape"])
        for name, part in found.items()
    }
