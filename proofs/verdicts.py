"""Verdicts about rules of the table, which the processes of one test run share.

Proofs, and certificates of programs, ask for the same ones; each is found once in a run, by the
code that is tested. Rules of others, and the table beside folds or operators that a test added, are
decided anew.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ostinato.pdg.functions import FOLDS, FUNCTIONS
from ostinato.rewrite.engine.rule import Rule, texts_of
from ostinato.rewrite.prove.prover import Verdict, prove
from ostinato.rewrite.registry import every_rule

_FOUND: dict[Rule, Verdict] = {}
_SHARED: list[Path] = []  # at most one folder, of this test run
_GIVEN = (*FUNCTIONS, *FOLDS)


def share(folder: Path) -> None:
    """Read and write verdicts of this test run in a folder."""
    folder.mkdir(exist_ok=True)
    _SHARED[:] = [folder]


def decided(rule: Rule) -> Verdict:
    """What the prover says of a rule."""
    if rule not in every_rule().rules or (*FUNCTIONS, *FOLDS) != _GIVEN:
        return prove(rule)
    if rule not in _FOUND:
        _FOUND[rule] = _read(rule) or _written(rule, prove(rule))
    return _FOUND[rule]


def _files(rule: Rule) -> list[Path]:
    named = f"{rule.name.replace('/', ' ')} {zlib.crc32(repr(texts_of(rule)).encode())}"
    return [folder / f"{named}.json" for folder in _SHARED]


def _read(rule: Rule) -> Verdict | None:
    for file in _files(rule):
        if file.exists():
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            found["methods"] = tuple(found["methods"])
            return Verdict(**found)
    return None


def _written(rule: Rule, verdict: Verdict) -> Verdict:
    for file in _files(rule):
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(asdict(verdict)), encoding="utf-8")
        part.replace(file)
    return verdict
