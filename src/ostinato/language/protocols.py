"""What Python asks of values that only a run knows: truth, numbers, items, attributes.

Every such question is refused with what to write instead, so that none is answered wrongly.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NoReturn

import numpy as np

from ostinato.pdg.errors import EquationError, MissingError, TruthError, guess
from ostinato.provenance.place import place

_WRITTEN = "while the program is written"
_VALUES = 'A run has values: ot.Program(y=y).interpret(...)["y"] is an array.'

_INTERNAL = ("definition", "expr", "mask", "node", "sources")

# What other libraries call what this one has under another name.
ELSEWHERE = {
    **dict.fromkeys(("numpy", "item", "tolist", "cpu", "data"), _VALUES),
    **dict.fromkeys(("backward", "grad", "requires_grad"), "Write ot.grad(loss, w)."),
    **dict.fromkeys(("detach", "no_grad"), "Use ot.stop_gradient(x)."),
    **dict.fromkeys(("astype", "to", "type"), 'Use x.cast("float32"), or another dtype.'),
    **dict.fromkeys(("float", "double", "half"), 'Use x.cast("float32").'),
    **dict.fromkeys(("int", "long", "bool"), 'Use x.cast("int32").'),
    **dict.fromkeys(("clone", "copy", "contiguous"), "Use it as it is: a tensor never changes."),
    **dict.fromkeys(("view", "flatten", "ravel", "resize"), "Use x.reshape(...)."),
    **dict.fromkeys(("unsqueeze", "newaxis"), "Use ot.expand_dims(x, axis), or x[..., None]."),
    **dict.fromkeys(("expand", "expand_as"), "Use ot.broadcast_to(x, shape)."),
    **dict.fromkeys(("mm", "bmm", "matmul"), "Write x @ y."),
    **dict.fromkeys(("size", "dim"), "Use x.shape and x.ndim."),
    "permute": "Use x.transpose(...).",
    "clamp": "Use ot.clip(x, low, high).",
    "gather": "Use ot.take_along_axis(x, index, axis).",
    "name": 'Give a name by x.named("y"); `repr` shows it.',
}


# What other libraries write as a function, and a program says in another way.
UNWRITTEN = {
    **dict.fromkeys(("scan", "while", "while_loop", "fori_loop"), "Define an ot.recurrent tensor."),
    **dict.fromkeys(("vmap", "pmap"), "Write the equations over one dimension more: ot.dims."),
    **dict.fromkeys(("jit", "compile"), "Write ot.Program(y=y).compile()."),
    **dict.fromkeys(("cond", "switch", "select"), "Use ot.where."),
    **dict.fromkeys(("array", "asarray", "tensor", "as_tensor"), "Use ot.constant(values)."),
    **dict.fromkeys(("concat", "cat", "hstack", "vstack"), "Use ot.concatenate(tensors, axis)."),
    **dict.fromkeys(("value_and_grad", "backward", "gradient"), "Write ot.grad(loss, w)."),
    **dict.fromkeys(
        ("int32", "int64", "float32", "float64", "bfloat16"),
        'Give types as texts: dtype="float32".',
    ),
    **dict.fromkeys(("scatter", "segment_sum", "bincount"), "Use ot.scatter_add(x, index, size)."),
    "gather": "Use ot.take, or ot.take_along_axis.",
}
FOLDS = ("sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin")


def no_name(name: str) -> AttributeError:
    """The error about a name that the package has not, with the one that is meant."""
    import ostinato

    if name.startswith("_"):
        return AttributeError(f"module 'ostinato' has no attribute {name!r}")
    remedy = f"{guess(name, ostinato.__all__)}docs/language.md lists all functions."
    if name in FOLDS:
        remedy = f"Write x.{name}(axis)."
    fact = f"`ostinato` has no `{name}`"
    return MissingError(fact, UNWRITTEN.get(name, remedy), place())


# The operators that NumPy asks for as functions, when its operand stands on the left.
REFLECTED = {
    **{f: f"__r{f[:3]}__" for f in ("add", "subtract", "multiply")},
    **{"divide": "__rtruediv__", "floor_divide": "__rfloordiv__", "remainder": "__rmod__"},
    **{"power": "__rpow__", "matmul": "__rmatmul__", "left_shift": "__rlshift__"},
    **{"right_shift": "__rrshift__", "bitwise_and": "__rand__", "bitwise_or": "__ror__"},
    **{"bitwise_xor": "__rxor__", "equal": "__eq__", "not_equal": "__ne__", "less": "__gt__"},
    **{"less_equal": "__ge__", "greater": "__lt__", "greater_equal": "__le__"},
}


class KnownAtRuns:
    """A value that a program computes: Python cannot decide, count or convert with it."""

    __slots__ = ()

    @abstractmethod
    def _spoken(self) -> str:
        """What errors call it."""

    def __bool__(self) -> NoReturn:
        fact = f"{self._spoken()} has no truth value {_WRITTEN}"
        raise TruthError(fact, "Use ot.where, and & | ~ instead of and, or, not.", place())

    def __float__(self) -> NoReturn:
        fact = f"{self._spoken()} is no number {_WRITTEN}"
        raise TruthError(fact, "Use functions of `ot`, such as ot.exp: a run has numbers.", place())

    __int__ = __complex__ = __float__

    def __round__(self, digits: int = 0) -> NoReturn:
        raise TruthError(f"{self._spoken()} is no number {_WRITTEN}", "Use ot.round(x).", place())

    def __index__(self) -> NoReturn:
        fact = f"{self._spoken()} is no integer {_WRITTEN}"
        remedy = "Write the equation of one step: a loop is made of it; ot.constant(list)[t] reads."
        raise TruthError(fact, remedy, place())

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise TruthError(f"{self._spoken()} has no values {_WRITTEN}", _VALUES, place())

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *of: object, **_: object) -> object:
        """An operator with a NumPy operand on the left; no other function of NumPy's."""
        name = REFLECTED.get(ufunc.__name__)
        if name is not None and method == "__call__" and len(of) == 2 and of[1] is self:
            return getattr(self, name)(of[0])
        fact = f"np.{ufunc.__name__} of {self._spoken()}, which has no values {_WRITTEN}"
        raise TruthError(fact, "Use functions of `ot`, such as ot.exp and ot.maximum.", place())

    def __getattr__(self, name: str) -> NoReturn:
        own = (slot for kind in type(self).__mro__ for slot in getattr(kind, "__slots__", ()))
        if name.startswith("_") or name in own:
            raise AttributeError(name)
        raise MissingError(f"{self._spoken()} has no `{name}`", _instead(self, name), place())

    def __format__(self, spec: str) -> str:
        if spec:
            fact = f"{self._spoken()} is formatted as a number ({spec!r}) {_WRITTEN}"
            raise TruthError(fact, "Use ot.debug.print(x), or print what a run returns.", place())
        return str(self)


class Unassigned(KnownAtRuns):
    """A tensor as Python sees it: it has no items to go through, and none to assign."""

    __slots__ = ()

    def __iter__(self) -> Iterator[NoReturn]:
        raise TruthError(f"iteration over {self._spoken()}", "Use ot.unstack(x).", place())

    def __len__(self) -> NoReturn:
        raise TruthError(f"length of {self._spoken()}", "Use x.shape[0].", place())

    def __setitem__(self, key: object, value: object) -> None:
        fact = f"{self._spoken()} is assigned to, which is no recurrent tensor"
        remedy = "Choose by ot.where, or define an ot.recurrent tensor by equations."
        raise EquationError(fact, remedy, place())

    def __contains__(self, item: object) -> NoReturn:
        fact = f"{self._spoken()} is searched {_WRITTEN}"
        raise TruthError(fact, "Compare and fold it: (x == item).any().", place())


def _instead(value: object, name: str) -> str:
    import ostinato

    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if name in ostinato.__all__:
        return f"Use ot.{name}(x)."
    known = [each for each in dir(value) if not each.startswith("_") and each not in _INTERNAL]
    return f"{guess(name, known)}It has: {', '.join(known)}."
