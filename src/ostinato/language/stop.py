"""Episodes that end: `stop` gives a dimension a length of its own at each outer point."""

from __future__ import annotations

from ostinato.language.dims import Condition, Dimension
from ostinato.language.ragged.ending import Ending, endings, steps_of
from ostinato.language.recurrent import recurrent
from ostinato.language.tensor import Tensor, as_tensor
from ostinato.pdg import build
from ostinato.pdg.errors import DomainError, DtypeError, EquationError, ShapeError
from ostinato.pdg.naming import called, sized
from ostinato.provenance.place import place


def stop(t: Dimension, when: Tensor | Condition) -> None:
    """End a dimension, at each point of the other dimensions of ``when``, after it is first true.

    That step is the last one. Slices and reductions leave out the steps beyond the end, a read of
    one step there is 0, and an output is padded with 0, with its length in ``result.lengths``.
    It holds for every tensor over these dimensions, in what is written after it; what ``when`` is
    computed from may read the steps up to the current one.

    Errors: DtypeError if ``when`` is no boolean, ShapeError if it has axes, DomainError if it does
    not depend on the dimension, EquationError if the dimension has an end already, or if later
    steps of a tensor over these dimensions were read before.

    >>> import ostinato as ot
    >>> b, t = ot.dims("b t")
    >>> x = ot.input("x", over=(b, t))
    >>> ot.stop(t, when=x < 0)
    >>> program = ot.Program(total=x[b, :].sum(), x=x)
    >>> result = program.interpret(x=[[1, 2, -1, 5], [3, 4, 5, 6]])
    >>> result["total"].tolist(), result.lengths["x"].tolist()
    ([2.0, 18.0], [3, 4])
    """
    where = place()
    dim = _dimension(t, where).dim
    done = as_tensor(when)
    if done.dtype != "bool":
        fact = f"`{dim}` stops when {called(done.node)} is true, but that is {done.dtype}"
        raise DtypeError(fact, "Compare it: ot.stop(t, when=x > 0).", where)
    if done.ndim or done.mask.parts:
        fact = f"`{dim}` stops when {sized(done.node)} is true, which is no scalar"
        raise ShapeError(fact, "Reduce it with `.any()` or `.all()`.", where)
    if dim not in done.over:
        over = ", ".join(f"`{d}`" for d in done.over) or "nothing"
        fact = f"`{dim}` stops when {called(done.node)} is true, which is over {over}"
        raise DomainError(fact, f"Give a condition that depends on `{dim}`.", where)
    known = steps_of(dim)
    if known.ending is not None:
        fact = f"`{dim}` is stopped twice, first at {known.ending.where}"
        raise EquationError(fact, "Join the conditions with `|` in one ot.stop.", where)
    ending = Ending(dim, frozenset(done.over) - {dim}, _alive(t, done), where)
    early = known.met_before(ending)
    if early is not None:
        fact = (
            f"later steps of {called(early[0])} are read at {early[1]}, before `{dim}` is stopped"
        )
        raise EquationError(fact, "Write ot.stop before that line.", where)
    known.ending = ending


def _dimension(t: object, where: str) -> Dimension:
    if isinstance(t, Dimension):
        return t
    raise DomainError(f"{t!r} is no dimension", "Give a dimension of ot.dims.", where)


def _alive(t: Dimension, done: Tensor) -> Tensor:
    dims = [Dimension(d) for d in build.order(done.over)]
    alive = recurrent("alive", dtype="bool", over=dims)
    alive[tuple(0 if d.dim == t.dim else d for d in dims)] = True
    alive[tuple(t + 1 if d.dim == t.dim else d for d in dims)] = alive & ~done
    return alive


def _ending(t: Dimension) -> Ending:
    where = place()
    found = steps_of(_dimension(t, where).dim).ending
    if found is None:
        fact = f"`{t}` has no end but its extent"
        raise EquationError(fact, "Write ot.stop(t, when=...) before.", where)
    return found


def alive(t: Dimension) -> Tensor:
    """Return whether the step belongs to the episode, over the dimensions of `stop`'s condition.

    Errors: EquationError if the dimension is not stopped.

    >>> import ostinato as ot
    >>> b, t = ot.dims("b t")
    >>> x = ot.input("x", over=(b, t))
    >>> ot.stop(t, when=x < 0)
    >>> ot.Program(alive=ot.alive(t)).interpret(x=[[1, -1, 2]])["alive"].tolist()
    [[True, True, False]]
    """
    return _ending(t).alive


def length(t: Dimension) -> Tensor:
    """Return the number of steps of a stopped dimension, int32, at each outer point.

    Errors: EquationError if the dimension is not stopped.

    >>> import ostinato as ot
    >>> b, t = ot.dims("b t")
    >>> x = ot.input("x", over=(b, t))
    >>> ot.stop(t, when=x < 0)
    >>> last = x.at(t=ot.length(t) - 1)
    >>> ot.Program(last=last).interpret(x=[[1, -1, 2], [3, 4, 5]])["last"].tolist()
    [-1.0, 5.0]
    """
    return length_of(_ending(t))


def length_of(ending: Ending) -> Tensor:
    """Return the number of live steps."""
    steps = ending.alive.at(**{ending.dim.name: slice(None)}).sum(0)
    return steps if steps.node.label else steps.named(f"length_{ending.dim}")


def padded(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return an output with zeros beyond every end, and its lengths if it has one.

    They are those of the innermost dimension that ends, or of its one ragged axis.
    """
    found = endings(x.over)
    lengths = length_of(found[-1]) if found else _axis_lengths(x)
    out = x.filled(0)
    for ending in found:
        if ending.alive.node != x.node:
            out = _where_alive(ending, out)
    return out, lengths


def _where_alive(ending: Ending, x: Tensor) -> Tensor:
    from ostinato.language.functions.basic import where

    return where(ending.alive, x, 0)


def _axis_lengths(x: Tensor) -> Tensor | None:
    if len(x.mask.parts) != 1 or len(x.mask.parts[0].ragged) != 1:
        return None
    live = x.mask.parts[0]
    (axis,) = live.ragged
    count = Tensor(live.node, x.sources).sum(axis)
    return count.reshape(tuple(s for s in count.shape if not (isinstance(s, int) and s == 1)))
