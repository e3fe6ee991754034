"""Looking at a program while it runs: prints, checks, and the point where it is."""

from __future__ import annotations

from ostinato.language.definition import Remark
from ostinato.language.surface import declare
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg.errors import CheckError, DtypeError, HostError
from ostinato.pdg.host_functions import current_point
from ostinato.pdg.naming import called, is_named
from ostinato.pdg.node import Affine
from ostinato.provenance.place import place


def print(x: object, label: str | None = None) -> None:  # noqa: A001  # the word for it
    """Show a value at every point where it is defined, whenever the interpreter runs a program.

    It belongs to every program, made later, that contains the inputs and recurrent tensors that it
    is computed from. Points come in the order of steps, the outermost dimension slowest. Compiled
    programs leave it out, with a warning.
    Errors: CheckError if it is computed from no input and no recurrent tensor.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> ot.debug.print(x * x, "square")
    >>> _ = ot.Program(total=x[:].sum()).interpret(x=[1, 2])
    square[t=0] = 1.0
    square[t=1] = 4.0
    """
    tensor = as_tensor(x)
    node = tensor.node
    plain = str(node.op.of) if isinstance(node.op, Affine) else "value"
    _remark("print", tensor, label or (str(node) if is_named(node) else plain))


def check(cond: object, message: str) -> None:
    """Demand that a condition holds at every point where it is defined.

    It belongs to the same programs as a `print`. The interpreter checks it; compiled programs do
    with ``compile(checks=True)``, at the points at which they compute all that it reads, and leave
    it out otherwise, with a warning.
    Errors: CheckError while running, with the first point where the condition is false; DtypeError
    if it is no bool.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> x = ot.input("x", over=t)
    >>> ot.debug.check(x[t + 1] > x, "x grows")
    >>> ot.Program(total=x[:].sum()).interpret(x=[1, 2])["total"].item()
    3.0
    """
    tensor = as_tensor(cond)
    if tensor.dtype != "bool":
        fact = f"{called(tensor.node)}, which is checked, is {tensor.dtype}"
        raise DtypeError(fact, "Compare it with something, such as `x > 0`.", place())
    _remark("check", tensor, message)


def point() -> dict[str, int]:
    """Return where the program is, inside a function that it calls: ``{"b": 0, "t": 3}``.

    Errors: HostError outside a function given to `ot.host`.
    """
    try:
        return current_point()
    except HostError as error:
        raise error.at(place()) from None


def _remark(kind: str, tensor: Tensor, text: str) -> None:
    where = place()
    if not tensor.sources:
        fact = f"the {kind} of {called(tensor.node)} is about no program"
        remedy = "Use a tensor that is computed from an input or a recurrent tensor."
        raise CheckError(fact, remedy, where)
    remark = Remark("print" if kind == "print" else "check", tensor.node, text, where,
                    tensor.sources)  # fmt: skip
    for definition in tensor.sources:
        definition.remarks.append(remark)


declare(__name__)
