"""The one debug switch: ``OSTINATO_DEBUG=rules,source,verify``."""

import os
from dataclasses import dataclass, fields
from functools import cache

from ostinato.pdg.errors import OptionError

VARIABLE = "OSTINATO_DEBUG"


@dataclass(frozen=True, slots=True)
class Debug:
    """Switches read once from OSTINATO_DEBUG, e.g. ``OSTINATO_DEBUG=rules,source``."""

    rules: bool = False  # each rule that fired, how often, and why the run stopped
    source: bool = False  # each emitted kernel, with the PDG nodes it came from
    verify: bool = False  # every invariant again after every pass


def parse(text: str) -> Debug:
    """Return the switches that a comma-separated list of words turns on.

    Errors: OptionError for a word that is no switch.

    >>> parse("rules, verify")
    Debug(rules=True, source=False, verify=True)
    """
    known = [field.name for field in fields(Debug)]
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise OptionError(
            f"{VARIABLE} holds the unknown word `{unknown[0]}`.",
            f"Known words: {', '.join(known)}.",
        )
    return Debug(**dict.fromkeys(words, True))


@cache
def debug() -> Debug:
    """Return the switches of this process; the environment is read at the first call only."""
    return parse(os.environ.get(VARIABLE, ""))
