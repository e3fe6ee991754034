"""What a user may choose of a compilation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

from ostinato.compiler.arguments import signature
from ostinato.compiler.passes import every_pass
from ostinato.language.dims import is_integer
from ostinato.language.shown import shown
from ostinato.machine.profile import TYPICAL_EXTENT, Profile
from ostinato.pdg.errors import OptionError, guess
from ostinato.pdg.functions import HALVES
from ostinato.pdg.index import Dim, Extent, evaluate
from ostinato.pdg.node import Pdg
from ostinato.pdg.pass_record import Passes

if TYPE_CHECKING:
    from ostinato.codegen.target import Target
    from ostinato.rewrite.registry import RuleSet


def _cpu() -> Target:
    from ostinato.codegen.cpu.cpu_target import CPU

    return CPU


def _cuda() -> Target:
    from ostinato.codegen.cuda.cuda_target import CUDA

    return CUDA


TARGETS: dict[str, Callable[[], Target]] = {"cpu": _cpu, "cuda": _cuda}


def target_of(name: str) -> Target:
    """Return the target of a name.

    Errors: OptionError.
    """
    if name not in TARGETS:
        raise OptionError(f"there is no target `{name}`", f"Targets: {', '.join(TARGETS)}.")
    return TARGETS[name]()


MOST_THREADS = 1024
LARGEST_SIZE = 2**31 - 1  # of a hint and of a tile

WITHOUT = "OSTINATO_WITHOUT"
"""The variable with the passes that every compilation leaves out, between commas."""

CHECKS = ("values", "addresses")
"""What a run may check: computed steps, positions and conditions; every access of memory."""


@dataclass(frozen=True)
class Options:
    """What a user may choose of a compilation; a result changes by rounding only."""

    target: str = "cpu"  # the kind of machine, by its name
    threads: int = 0  # workers; 0 means every core this process may use
    hints: Mapping[str, int] = field(default_factory=dict[str, int])  # typical extents, for costs
    widths: Mapping[str, int] = field(default_factory=dict[str, int])  # rows per tile, by dim
    verify: bool = False  # check every invariant after every stage
    checks: bool | tuple[str, ...] = False  # of every run: words of `CHECKS`; True for "values"
    profile: Profile | None = None  # what work takes; None: that of `machine.profile_store`
    exact: bool = False  # only rules that keep every bit, and no operation that rounds otherwise
    memory_limit: int = 0  # bytes of the arena, at the hinted extents and in every run; 0: none
    spill: bool = False  # histories that do not fit into the limit lie in a file
    storage: str = "float32"  # of values kept for later loops; a half rounds what those read
    without: tuple[str, ...] = ()  # optimisations that are left out, by the names of their passes
    seen: Callable[[str, object], None] | None = field(default=None, compare=False, repr=False)
    by_extents: bool = field(default=False, repr=False)  # a variant: threads decide nothing in it
    streamed: str = field(default="", repr=False)  # a variant for streams over this dimension

    @property
    def passes(self) -> Passes:
        """How the passes are run; ``seen`` is shown what they make."""
        return Passes(frozenset(self.without), self.seen)

    def does_check(self, word: str) -> bool:
        """Whether runs check what a word of `CHECKS` says."""
        if isinstance(self.checks, bool):
            return self.checks and word == "values"
        return word in self.checks


def options_from(given: Mapping[str, Any], pdg: Pdg) -> Options:
    """Return the record of the given options for a program.

    Errors: OptionError for an unknown option, dimension or extent, with the closest known one, and
    for a value of the wrong kind.
    """
    known = [f.name for f in fields(Options) if f.repr]
    for name in given:
        _require_known(name, known, "option of compile", "Options")
    target_of(given.get("target", "cpu"))
    threads = given.get("threads", 0)
    if not is_integer(threads) or not 0 <= threads <= MOST_THREADS:
        remedy = "Pass a number of threads, or 0 for every core."
        if is_integer(threads) and threads > MOST_THREADS:
            remedy = f"Pass at most {MOST_THREADS}, or 0 for every core."
        raise OptionError(f"`threads` is {shown(threads)}", remedy)
    for name in ("verify", "exact", "spill"):
        if not isinstance(given.get(name, False), bool):
            raise OptionError(f"`{name}` is {shown(given[name])}", "Pass True or False.")
    extents = signature(pdg).extents
    _require_counts("hints", given.get("hints", {}), extents, "extent")
    _require_counts("widths", given.get("widths", {}), [d.name for d in pdg.dims()], "dimension")
    limit = given.get("memory_limit")
    _check_limit(limit, given.get("hints", {}), extents)
    if given.get("spill", False) and given.get("target", "cpu") != "cpu":
        fact = f"`spill` is given, and target={given['target']!r} moves nothing to a file"
        raise OptionError(fact, 'Leave it out, or compile with target="cpu".')
    if given.get("spill", False) and limit is None:
        fact = "`spill` is given without a `memory_limit`"
        raise OptionError(fact, "Say how many bytes stay in memory: memory_limit=10**9.")
    _check_storage(given.get("storage", "float32"), given.get("exact", False))
    if not isinstance(given.get("profile"), Profile | None):
        remedy = "Leave it out: the profile of this machine is found by itself."
        raise OptionError(f"`profile` is {shown(given['profile'])}", remedy)
    checks, without = _checks(given.get("checks", False)), _without(given.get("without", ()))
    return replace(Options(**given), checks=checks, without=without, memory_limit=limit or 0)


def _without(given: object) -> tuple[str, ...]:
    """The names of the passes that are left out, each once, in the order of the list of passes.

    Errors: OptionError.
    """
    several = isinstance(given, list | tuple | set | frozenset)
    names = [*cast(Iterable[object], given)] if several else [given]
    always = [name.strip() for name in os.environ.get(WITHOUT, "").split(",") if name.strip()]
    known = [each.name for each in every_pass() if each.is_optimisation]
    for told, asked in (("without", names), (WITHOUT, always)):
        for name in asked:
            _require_optimisation(name, told, known)
    return tuple(each for each in known if each in names or each in always)


def _require_optimisation(name: object, told: str, known: Sequence[str]) -> None:
    """Refuse to leave out what is no pass, or is necessary."""
    if name in known:
        return
    reasons = {each.name: each.necessary for each in every_pass()}
    reason = reasons.get(name) if isinstance(name, str) else None
    fact = f"`{told}` names {shown(name)}, which is no pass of the compiler"
    if reason:
        fact = f"`{told}` names {shown(name)}, which is necessary: {reason}"
    raise OptionError(fact, f"{guess(str(name), known)}Optimisations: {', '.join(known)}.")


def _checks(given: object) -> bool | tuple[str, ...]:
    """The words of the checks in order; a truth where it says the same.

    Errors: OptionError.
    """
    if isinstance(given, bool):
        return given
    several = isinstance(given, list | tuple | set | frozenset)
    words = [*cast(Iterable[object], given)] if several else [given]
    for word in words:
        if word not in CHECKS:
            known = " or ".join(f'"{each}"' for each in CHECKS)
            raise OptionError(
                f"`checks` is {shown(given)}", f"Pass True, False, {known}, or a list."
            )
    chosen = tuple(each for each in CHECKS if each in words)
    return bool(chosen) if chosen in ((), ("values",)) else chosen


def _check_limit(limit: object, hints: Mapping[str, int], extents: Sequence[str]) -> None:
    """Refuse a limit that is no number of bytes, or is without the sizes that it is for."""
    if limit is None:
        return
    if not is_integer(limit) or limit < 1:
        remedy = "Pass a number of bytes above 0, or None for no limit."
        raise OptionError(f"`memory_limit` is {shown(limit)}", remedy)
    missing = [name for name in extents if name not in hints]
    if limit and missing:
        example = ", ".join(f"{name}=100" for name in missing)
        fact = f"`memory_limit` is given without a size for `{missing[0]}`"
        raise OptionError(fact, f"Say for which extents it holds: hints=dict({example}).")


def _check_storage(storage: object, exact: bool) -> None:
    """Refuse a type that kept values cannot have, and one that rounds where nothing may."""
    if not isinstance(storage, str) or storage not in ("float32", *HALVES):
        known = " or ".join(f'"{name}"' for name in HALVES)
        raise OptionError(f"`storage` is {shown(storage)}", f"Pass {known}, or leave it out.")
    if exact and storage != "float32":
        fact = f"`storage` is {storage!r}, which rounds, and `exact` is True"
        raise OptionError(fact, "Leave out one of them.")


def _require_counts(option: str, given: object, known: Sequence[str], what: str) -> None:
    """Refuse an option that is no mapping from known names to positive integers."""
    if not isinstance(given, Mapping):
        remedy = f"Pass a dictionary from {what} names to integers."
        raise OptionError(f"`{option}` is {shown(given)}", remedy)
    for name, size in cast(Mapping[object, object], given).items():
        if not isinstance(name, str):
            fact = f"`{option}` has the key {shown(name)}, which is no name"
            example = f": {option}=dict({known[0]}=...)" if known else ""
            raise OptionError(fact, f"Write the {what}'s name{example}.")
        _require_known(name, known, f"{what} of the program, but `{option}` has it", f"{what}s")
        if not is_integer(size) or size < 1:
            fact = f"`{option}` has {shown(size)} for `{name}`"
            raise OptionError(fact, "Pass a positive integer.")
        if size > LARGEST_SIZE:
            fact = f"`{option}` has {shown(size)} for `{name}`"
            raise OptionError(fact, f"Pass an integer up to {LARGEST_SIZE}.")


def _require_known(name: str, known: Sequence[str], what: str, several: str) -> None:
    if name not in known:
        remedy = f"{guess(name, known)}{several.capitalize()}: {', '.join(known)}."
        raise OptionError(f"`{name}` is no {what}", remedy)


@dataclass(frozen=True)
class Request:
    """What was compiled: a program, the rules that could be used (None: all), and the options."""

    pdg: Pdg
    rules: RuleSet | None
    options: Options


def typical_extents(pdg: Pdg, hints: Mapping[str, int]) -> dict[str, int]:
    """A size for every extent of a program: a hint, or one that nobody would wonder at."""
    takes = signature(pdg)
    sizes = {n: hints.get(n, TYPICAL_EXTENT) for n in takes.extents}
    sizes = {n: max(size, takes.least.get(n, 1)) for n, size in sizes.items()}
    env: dict[Dim | Extent, int] = {Extent(n): size for n, size in sizes.items()}
    return {**sizes, **{n: evaluate(of, env) for n, of in takes.derived.items()}}
