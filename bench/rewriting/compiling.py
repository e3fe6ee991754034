"""The first phase: every form of every program as machine code in the cache, and a list of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.rewriting.corpus import Case
from bench.rewriting.forms import CHOSEN, candidates
from ostinato.compiler.code_digest import code_digest
from ostinato.compiler.options import Options
from ostinato.compiler.pipeline import assemble, optimize_pdg
from ostinato.machine.profile import Profile
from ostinato.machine.profile_store import profile_in_use
from ostinato.pdg.demand.check import check
from ostinato.pdg.errors import OstinatoError
from ostinato.pdg.half_storage import encoded
from ostinato.rewrite.optimize import RewriteOptions, Rewriting
from ostinato.rewrite.registry import RuleSet, every_rule
from ostinato.runtime.cache import programs
from ostinato.runtime.run.artifact import Artifact
from ostinato.runtime.run.executor import Executable

LONGEST_NS = 2.5e8  # forms that are predicted to take longer are not run
Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FormRecord:
    """A compiled form: its key in the cache, and its price in the e-graph."""

    program: str
    form: str
    key: str
    rewritten_ns: float


def manifest(threads: int) -> Path:
    """The file that lists what was compiled last."""
    return programs.root() / "bench-rewriting" / f"{threads}-threads.json"


def compile_forms(cases: Sequence[Case], alternatives: int, threads: int, show: Show) -> None:
    """Compile the chosen form of every program and at most so many others; write the list."""
    records: list[FormRecord] = []
    profile = profile_in_use()
    for case in cases:
        found = _forms(case, alternatives, threads, profile)
        for record, artifact in found:
            directory: Path | None = programs.directory_of(record.key)
            if programs.load(record.key) is None:
                directory = programs.store(record.key, artifact)
            Executable(artifact, directory, record.key, threads)
        records += [record for record, _ in found]
        show(f"{case.name}: {len(found)} forms")
    path = manifest(threads)
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = {"code": code_digest(), "forms": [asdict(r) for r in records]}
    path.write_text(json.dumps(listed, indent=1) + "\n")


def compiled_forms(threads: int, show: Show) -> list[FormRecord]:
    """What the first phase has compiled; says so if that was another version of the compiler.

    Errors: FileNotFoundError if it did not run.
    """
    listed = json.loads(manifest(threads).read_text())
    if listed["code"] != code_digest():
        show("the forms were compiled by another version of the compiler")
    return [FormRecord(**r) for r in listed["forms"]]


def _forms(
    case: Case, alternatives: int, threads: int, profile: Profile
) -> list[tuple[FormRecord, Artifact]]:
    """Forms whose texts differ, the chosen one first."""
    pdg = case.build().pdg
    options = Options(threads=threads, hints=dict(case.extents), profile=profile)
    right = RewriteOptions(every_rule(), dict(case.extents), profile=profile)
    texts: set[str] = set()
    found: list[tuple[FormRecord, Artifact]] = []
    saturated: dict[RuleSet, Rewriting] = {}
    for candidate in candidates(right, [d.name for d in pdg.dims()]):
        name = candidate.name
        try:
            rules = candidate.rewriting.rules
            if rules not in saturated:
                saturated[rules] = Rewriting(encoded(pdg), replace(right, rules=rules))
            optimized = saturated[rules].best(candidate.rewriting.pricing)
            if name == CHOSEN:
                optimized = optimize_pdg(encoded(pdg), None, options)
            check(optimized.pdg, pdg.minimum_extents)
            artifact = assemble(pdg, optimized, replace(options, widths=candidate.widths), 0.0)
        except OstinatoError:
            if name == CHOSEN:
                raise
            continue  # without some rules a program may have no order
        text = re.sub(r" *#.*", "", artifact.source)  # lines of the user's code are comments
        too_long = artifact.price(case.extents, threads)["predicted_ns"] > LONGEST_NS
        if text in texts or (too_long and name != CHOSEN):
            continue
        texts.add(text)
        key = programs.digest("bench", artifact.source, str(threads), code_digest(), repr(profile))
        price = optimized.report.after.total
        found.append((FormRecord(case.name, name, key, price), artifact))
        if len(found) > alternatives:
            break
    return found
