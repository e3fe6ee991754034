"""`Program`: outputs with all the equations they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ostinato.compiler.arguments import Signature, least_extents, signature
from ostinato.compiler.defined_before import once
from ostinato.compiler.ended_calls import ended
from ostinato.compiler.remarks import belonging
from ostinato.compiler.results import Beside, Results
from ostinato.language.definition import Definition, Remark, reachable, serial_of, user_name
from ostinato.language.record import Record
from ostinato.language.shown import is_a, shown
from ostinato.language.stop import padded
from ostinato.language.tensor import Tensor, as_tensor, is_like, merged
from ostinato.pdg.effects import in_order
from ostinato.pdg.errors import (
    ArgumentError,
    CoverageError,
    DomainError,
    EquationError,
    MemoryLimitError,
    OstinatoError,
    ShapeError,
)
from ostinato.pdg.host_functions import HostFunction
from ostinato.pdg.index import Dim
from ostinato.pdg.limits import check_limits
from ostinato.pdg.node import (
    UNSEEN,
    Affine,
    Const,
    Custom,
    Equation,
    Host,
    Iota,
    Node,
    Op,
    Pdg,
    Random,
    Rec,
    intern,
    postorder,
)
from ostinato.pdg.origins import origins
from ostinato.pdg.plaintext import plain, require_name
from ostinato.pdg.replace import rebuild
from ostinato.provenance.place import calling_place, place

if TYPE_CHECKING:
    from ostinato.compiler.compiled import Compiled
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
        for name in outputs:
            _require_output(name, where)
        made = {name: _output(name, x, where) for name, x in outputs.items()}
        tensors, self.lengths = _padded(made)
        found = reachable(merged(*tensors.values()))
        collected = _collect({name: x.node for name, x in tensors.items()}, found, where)
        self._pdg = once(collected.pdg, _checked)
        self.hosts, self.notes = collected.hosts, collected.notes
        self.signature: Signature = signature(self._pdg)

    @property
    def pdg(self) -> Pdg:
        """The graph: one node for each value, with the first place and all names that it has."""
        return self._pdg

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        hidden = set(self.lengths.values())
        return tuple(name for name, _ in self.pdg.results if name not in hidden)

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
        Errors: ArgumentError for unknown, missing and misshapen arguments; HostError; CheckError;
        MemoryLimitError.
        """
        where = calling_place()
        bound = self.signature.bind(arguments, where)
        from ostinato.compiler.watching import watch
        from ostinato.pdg.interpret import Interpreter
        from ostinato.pdg.limits import interpreted_bytes, require_memory

        try:
            require_memory(interpreted_bytes(self.pdg, bound.extents), bound.extents)
        except MemoryLimitError as error:
            raise error.at(where) from None
        run = Interpreter(self.pdg, bound.extents, bound.inputs, bound.seed, hosts=self.hosts)
        watch(run, self.notes)
        try:
            found = {name: run.everywhere(node) for name, node in self.pdg.outputs}
        except MemoryError as error:
            fact = f"interpreting takes more memory than there is: {error}"
            raise MemoryLimitError(fact, "Pass smaller extents.", calling_place()) from None
        return Results({name: found[name] for name, _ in self.pdg.results}, self.lengths)

    def compile(
        self,
        target: str = "cpu",
        rules: RuleSet | None = None,
        certificate: str | Path | None = None,
        extents: Mapping[str, int] | None = None,
        **options: object,
    ) -> Compiled:
        """Return the program as machine code, for any extents.

        ``rules`` are the rewrite rules that may be used (default: all), such as
        ``ot.rules.without("vectorize")``. ``certificate`` names a file to write, which
        ``ostinato verify`` checks. ``extents`` are those of a run to come, all of them: what that
        would be compiled for at its start, a variant for short extents, is compiled now.
        Errors: OptionError for an unknown target or option; ArgumentError for extents that a run
        would refuse; CycleError; CertificateError.
        """
        from ostinato.compiler.compiled import compile_program

        where = calling_place()
        try:
            beside = Beside(self.lengths, self.hosts, self.notes)
            given = {"target": target, **options}
            sizes = None if extents is None else self.signature.sized(extents, where)
            compiled = compile_program(self.pdg, beside, rules, given, sizes)
            if certificate is not None:
                compiled.certificate(certificate)
        except OstinatoError as error:
            if error.where:
                raise
            raise error.at(where) from None
        return compiled

    def dot(self) -> str:
        """Return the program as Graphviz text: a box per equation, a cluster per recurrence.

        Labels of edges say where a value is read, if not at the point; tooltips name the line.

        >>> import ostinato as ot
        >>> t = ot.dims("t")
        >>> x = ot.input("x", over=t)
        >>> "n0 -> n1" in ot.Program(y=x[: t + 1].sum(0)).dot()
        True
        """
        from ostinato.report.drawing.picture import dot, picture

        return dot(picture(self.pdg))

    def to_svg(self, path: str | Path | None = None) -> str:
        """Return the picture of `dot` as SVG, drawn without other programs; write it to a file.

        >>> import ostinato as ot
        >>> ot.Program(y=2.0 * ot.input("x")).to_svg().startswith("<svg")
        True
        """
        from ostinato.report.drawing.picture import picture
        from ostinato.report.drawing.svg import svg
        from ostinato.report.files import write

        text = svg(picture(self.pdg))
        if path is not None:
            write(path, text, "the picture")
        return text

    def to_onnx(self, path: str | Path, weights: Mapping[str, object] | None = None) -> None:
        """Write a program of one step as a model of ONNX.

        Inputs among the ``weights`` have these values in the file. A dimension, such as that of the
        rows of a batch, is a leading axis of any size.

        Errors: OptionError without the package onnx; ArgumentError for a program with recurrences,
        draws, or an operator that ONNX does not have.
        """
        from ostinato.export.onnx_graph import write_onnx

        try:
            write_onnx(self.pdg, path, weights or {})
        except OstinatoError as error:
            raise error.at(place()) from None

    def __str__(self) -> str:
        from ostinato.report.drawing.mathematics import equations

        derived = self.signature.derived.items()
        return "\n".join([equations(self.pdg), *(f"{name} = {of}" for name, of in derived)])


def _require_output(name: str, where: str) -> None:
    """An output's name prints, and does not begin as those of outputs that nobody sees."""
    if require_name(name, "an output", where).startswith(UNSEEN):
        remedy = f"Begin the name with another character than `{UNSEEN}`, which marks hidden ones."
        raise ArgumentError(f"an output is called `{plain(name)}`", remedy, where)


def _output(name: str, value: object, where: str) -> Tensor:
    """An output as a tensor; ArgumentError for what is none."""
    parts = cast(Sequence[object], value) if is_a(value, list, tuple) else ()
    if is_like(value) or (parts and not any(isinstance(x, Tensor | Record) for x in parts)):
        return as_tensor(value)
    fact, remedy = f"the output `{name}` is {shown(value)}", "Give a tensor, a number or an array."
    if isinstance(value, Record):
        remedy = "Give its fields: ot.Program(**record.fields)."
    elif is_a(value, list, tuple, dict):
        remedy = "Give each tensor a name of its own, or join them by ot.stack."
    raise ArgumentError(fact, remedy, where)


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
    from ostinato.pdg.demand.check import check
    from ostinato.pdg.demand.inside import straying

    check_limits(pdg)
    try:
        demand = check(pdg)
    except (DomainError, ShapeError):
        pdg = replace(pdg, minimum_extents=least_extents(pdg))
        demand = check(pdg)
    return replace(pdg, reads_outside=True) if straying(demand) else pdg


@dataclass(frozen=True)
class _Collected:
    """A program's graph, the functions that it calls by number, its prints and checks."""

    pdg: Pdg
    hosts: dict[int, HostFunction]
    notes: tuple[Remark, ...]


def _collect(
    outputs: Mapping[str, Node], found: Mapping[str, Definition], where: str
) -> _Collected:
    """Gather the equations that outputs reach, under the user's names and with streams 0, 1, ..."""
    needed = _needed(outputs, found)
    remarks = belonging(tuple(outputs.values()), found)
    calls = [r.node for r in remarks if r.kind == "call"]
    found = {**found, **reachable(d for r in remarks for d in r.sources)}
    roots = [*outputs.values(), *(right for d in needed for _, right in d.cases), *calls]
    said = [r for r in remarks if r.kind != "call"]
    names = _names([d.name for d in needed])
    numbers = _numbers(roots, [r.node for r in said])
    all_ = [*roots, *(d.rec for d in needed), *(r.node for r in said)]
    passed = {node for d in found.values() for node in d.passed}
    known = origins(all_, _names_of(outputs), passed)

    def replaced(node: Node, args: tuple[Node, ...]) -> Node:
        match node.op:
            case Custom():
                return args[0]
            case Rec(name):
                op: Op = Rec(names[name])
            case Random(fn, stream):
                op = Random(fn, numbers[Random][stream])
            case Host(call):
                op = replace(node.op, call=numbers[Host][call])
            case _:
                op = node.op
        return intern((op, args, node.domain, node.shape, node.dtype), known[node])

    functions = _functions(found, numbers[Host])
    moved, functions = ended(rebuild(all_, replaced), functions)
    equations = {
        names[d.name]: Equation(
            moved[d.rec], tuple((cond, moved[right]) for cond, right in d.cases), tuple(d.where)
        )
        for d in needed
    }
    _check_dims(moved.values(), where)
    collected = Pdg(tuple((name, moved[node]) for name, node in outputs.items()), equations)
    ordered, values = in_order(
        collected, [moved[node] for node in calls], [moved[r.node] for r in said]
    )
    pairs = zip(said, values, strict=True)
    notes = tuple(replace(r, node=node, sources=frozenset()) for r, node in pairs)
    return _Collected(ordered, functions, notes)


def _functions(
    found: Mapping[str, Definition], numbers: Mapping[int, int]
) -> dict[int, HostFunction]:
    """The Python functions that a program calls, by the numbers of the calls."""
    return {
        numbers[serial_of(d.name)]: d.host
        for d in found.values()
        if d.host is not None and serial_of(d.name) in numbers
    }


def _names_of(outputs: Mapping[str, Node]) -> dict[Node, str]:
    """The names that outputs give to what has none; a literal keeps its own spelling."""
    named = (p for p in outputs.items() if not isinstance(p[1].op, Const | Affine | Iota))
    out: dict[Node, str] = {}
    for name, node in named:
        out.setdefault(node, name)
    return out


def _numbers(
    roots: Sequence[Node], extra: Sequence[Node]
) -> dict[type[Random] | type[Host], dict[int, int]]:
    """Streams and calls as 0, 1, ... in order of creation; those of ``extra`` come after."""
    out: dict[type[Random] | type[Host], dict[int, int]] = {Random: {}, Host: {}}
    for group in (roots, extra):
        used: dict[type[Random] | type[Host], set[int]] = {Random: set(), Host: set()}
        for node in postorder(tuple(group)):
            match node.op:
                case Random(stream=number):
                    used[Random].add(number)
                case Host(call=number):
                    used[Host].add(number)
                case _:
                    pass
        for kind, found in used.items():
            for number in sorted(found - out[kind].keys()):
                out[kind][number] = len(out[kind])
    return out


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


def _check_dims(nodes: Iterable[Node], where: str) -> None:
    """Two dimensions of one name would share an extent and be confused in every report."""
    seen: dict[str, Dim] = {}
    for node in nodes:
        for dim in node.domain:
            if seen.setdefault(dim.name, dim) != dim:
                fact = f"two dimensions of the program are called `{dim.name}`"
                remedy = "Declare it once with ot.dims and pass it on, or rename one."
                raise EquationError(fact, remedy, node.where or where)
