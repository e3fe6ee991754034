"""`Program`: outputs with all the equations they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ostinato.arguments import Signature, least_extents, signature
from ostinato.definition import Definition, reachable, serial_of, user_name
from ostinato.pdg.errors import (
    ArgumentError,
    CoverageError,
    DomainError,
    EquationError,
    OptionError,
    ShapeError,
)
from ostinato.pdg.index import Dim
from ostinato.pdg.node import (
    Affine,
    Const,
    Custom,
    Equation,
    Iota,
    Node,
    Pdg,
    Random,
    Rec,
    give_name,
    intern,
    postorder,
)
from ostinato.place import calling_place, place
from ostinato.rebuild import rebuild
from ostinato.results import Results
from ostinato.stopping import padded
from ostinato.tensor import Tensor, as_tensor, merged

if TYPE_CHECKING:
    from ostinato.compiler import Compiled
    from ostinato.rewrite.registry import RuleSet


class Program:
    """Named outputs, with the equations of every recurrent tensor that they need.

    It is checked when it is made: every demanded read falls inside its tensor, and the cases of
    every recurrent tensor cover what is demanded.

    Errors: ArgumentError, CoverageError, DomainError.

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> s = ot.recurrent("s", over=t)
    >>> s[0] = 1.0
    >>> s[t + 1] = 0.5 * s
    >>> ot.Program(s=s).interpret(T=3)["s"].tolist()
    [1.0, 0.5, 0.25]
    """

    def __init__(self, **outputs: object) -> None:
        where = place()
        if not outputs:
            raise ArgumentError("a program without outputs", "Write Program(name=tensor).", where)
        tensors, self.lengths = _padded({name: as_tensor(x) for name, x in outputs.items()})
        for name, tensor in tensors.items():
            # A literal may be shared with other programs: it keeps its own spelling.
            if not tensor.node.label and not isinstance(tensor.node.op, Const | Affine | Iota):
                give_name(tensor.node, name)
        found = reachable(merged(*tensors.values()))
        collected = _collect({name: x.node for name, x in tensors.items()}, found, where)
        self.pdg: Pdg = _checked(collected)
        self.signature: Signature = signature(self.pdg)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        hidden = set(self.lengths.values())
        return tuple(name for name, _ in self.pdg.outputs if name not in hidden)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the array arguments."""
        return tuple(self.signature.inputs)

    @property
    def extents(self) -> tuple[str, ...]:
        """The names of the extents; those that an input's shape fixes need not be given."""
        return self.signature.extents

    def interpret(self, **arguments: object) -> Results:
        """Return the outputs by the reference interpreter: the meaning itself, slowly.

        Shapes: arrays are (extents of the output's domain in declaration order, then its shape).
        Errors: ArgumentError for unknown, missing and misshapen arguments.
        """
        bound = self.signature.bind(arguments, calling_place())
        from ostinato.pdg.interpret import interpret

        found = interpret(self.pdg, bound.extents, bound.inputs, bound.seed)
        return Results(found, self.lengths)

    def compile(
        self, target: str = "cpu", rules: RuleSet | None = None, **options: object
    ) -> Compiled:
        """Return the program as machine code, for any extents.

        ``rules`` are the rewrite rules that may be used (default: all), such as
        ``ot.rules.without("vectorize")``.
        Errors: OptionError for an unknown target or option; CycleError.
        """
        from ostinato.compiler import compile_program

        where = calling_place()
        try:
            return compile_program(self.pdg, self.lengths, target, rules, options)
        except OptionError as error:
            raise error.at(where) from None

    def __str__(self) -> str:
        from ostinato.pdg.printer import show

        return show(self.pdg)


def _padded(outputs: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Outputs with zeros beyond every end, and the outputs that have their lengths, by name."""
    out: dict[str, Tensor] = {}
    lengths: dict[str, Tensor] = {}
    for name, x in outputs.items():
        out[name], found = padded(x)
        if found is not None:
            lengths[name] = found
    names: dict[Node, str] = {}
    for name, x in lengths.items():
        wanted = x.node.label or f"length_of_{name}"
        while wanted in out and x.node not in names:
            wanted += "_"
        out[names.setdefault(x.node, wanted)] = x
    return out, {name: names[x.node] for name, x in lengths.items()}


def _checked(pdg: Pdg) -> Pdg:
    """The program, proved to be defined for all extents, or from the least that it reads."""
    # isl is loaded by the first program, not by the import of the package.
    from ostinato.pdg.check import check

    try:
        check(pdg)
    except (DomainError, ShapeError):
        bounded = replace(pdg, minimum_extents=least_extents(pdg))
        check(bounded)
        return bounded
    return pdg


def _collect(outputs: Mapping[str, Node], found: Mapping[str, Definition], where: str) -> Pdg:
    """Gather the equations that outputs reach, under the user's names and with streams 0, 1, ..."""
    needed = _needed(outputs, found)
    roots = [*outputs.values(), *(right for d in needed for _, right in d.cases)]
    names = _names([d.name for d in needed])
    streams = _streams(roots)

    def replaced(node: Node, args: tuple[Node, ...]) -> Node | None:
        match node.op:
            case Custom():
                return args[0]
            case Rec(name):
                op: Rec | Random = Rec(names[name])
            case Random(fn, stream):
                op = Random(fn, streams[stream])
            case _:
                return None
        return intern((op, (), node.domain, node.shape, node.dtype), node.where, node.label)

    moved = rebuild([*roots, *(d.rec for d in needed)], replaced)
    equations = {
        names[d.name]: Equation(
            moved[d.rec], tuple((cond, moved[right]) for cond, right in d.cases), tuple(d.where)
        )
        for d in needed
    }
    _check_dims(moved.values(), where)
    return Pdg(tuple((name, moved[node]) for name, node in outputs.items()), equations)


def _needed(outputs: Mapping[str, Node], found: Mapping[str, Definition]) -> list[Definition]:
    """The definitions that are read, in order of creation."""
    needed: dict[str, Definition] = {}
    todo = list(outputs.values())
    while todo:
        reached = list(postorder(tuple(todo)))
        todo.clear()
        for node in reached:
            if not isinstance(node.op, Rec) or node.op.name in needed:
                continue
            definition = needed[node.op.name] = found[node.op.name]
            if definition.missing:
                fact = f"`{node}` is read, but not all of its equations are written"
                raise CoverageError(fact, definition.missing, node.where)
            if not definition.cases:
                fact = f"`{node}` is read, but has no equation"
                remedy = f"Write {node}[...] = ... before the program."
                raise CoverageError(fact, remedy, node.where)
            todo += [right for _, right in definition.cases]
    return sorted(needed.values(), key=lambda d: serial_of(d.name))


def _names(unique: Sequence[str]) -> dict[str, str]:
    """The user's names, numbered from the second on where several are equal."""
    out: dict[str, str] = {}
    seen: dict[str, int] = {}
    for name in unique:
        wanted = user_name(name)
        seen[wanted] = seen.get(wanted, 0) + 1
        out[name] = wanted if seen[wanted] == 1 else f"{wanted}#{seen[wanted]}"
    return out


def _streams(roots: Sequence[Node]) -> dict[int, int]:
    """The stream numbers that are used, as 0, 1, ... in order of creation."""
    used = {node.op.stream for node in postorder(tuple(roots)) if isinstance(node.op, Random)}
    return {stream: k for k, stream in enumerate(sorted(used))}


def _check_dims(nodes: Iterable[Node], where: str) -> None:
    """Two dimensions of one name would share an extent and be confused in every report."""
    seen: dict[str, Dim] = {}
    for node in nodes:
        for dim in node.domain:
            if seen.setdefault(dim.name, dim) != dim:
                fact = f"two dimensions of the program are called `{dim.name}`"
                remedy = "Declare it once with ot.dims and pass it on, or rename one."
                raise EquationError(fact, remedy, node.where or where)
