"""The set of rules as users have it: choosing, adding, and looking at what rules do.

Examples are printed from the instances that the tests of every rule run
(`tests/rewrite/instances`), by ``pytest tests/rewrite/test_rule_examples.py --update-golden``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.pdg.errors import OptionError
from ostinato.provenance.place import calling_place
from ostinato.rewrite import registry
from ostinato.rewrite.registry import every_rule

if TYPE_CHECKING:
    from ostinato.compiler.experiment import Experiment
    from ostinato.compiler.program import Program
    from ostinato.inspection.proofs import Proofs
    from ostinato.inspection.rule_questions import Ablations, By, Stats, Trace
import json
from functools import cache
from importlib import resources

Hints = Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class RuleSet(registry.RuleSet):
    """An ordered set of rewrite rules, by name; `ostinato.rules` holds all of the compiler's.

    ``hints`` of the methods are the extents that predictions are for (default: those of an
    experiment, or 64 for each).

    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> program = ot.Program(total=ot.input("x", over=t)[: t + 1].sum(0))
    >>> ot.rules.stats(program).matches["incremental/running"]
    1
    >>> round(ot.rules.ablate(program, "incremental").ablations[0].ratio) > 1
    True
    """

    def trace(self, program: Program | Experiment, hints: Hints = None, by: By = "rule") -> Trace:
        """Return each kernel with the rules (or families) that made it and what these save.

        A saving is that of the whole program: it is compiled again without the rule.
        Errors: OptionError for a hint that is no extent.
        """
        from ostinato.inspection.rule_questions import trace
        from ostinato.inspection.stages import subject

        return trace(subject(program, hints), self, by)

    def ablate(self, program: Program | Experiment, *names: str, hints: Hints = None) -> Ablations:
        """Return the predicted time and memory without each named rule or family, one at a time.

        Without names: each family. Errors: OptionError for an unknown name or hint.
        """
        from ostinato.inspection.rule_questions import ablate
        from ostinato.inspection.stages import subject

        return ablate(subject(program, hints), self, names)

    def stats(self, program: Program | Experiment, hints: Hints = None) -> Stats:
        """Return how rewriting a program goes: e-nodes, rounds, matches, search, time per phase.

        Errors: OptionError for a hint that is no extent.
        """
        from ostinato.inspection.rule_questions import stats
        from ostinato.inspection.stages import subject

        return stats(subject(program, hints), self)

    def from_file(self, path: str | Path) -> RuleSet:
        """Return this set with the rules of a Python file, each of them checked and proved.

        The file assigns `Rule`s, lists of them, or the set that `add` returns to names at its top;
        a set is taken as it is. Errors: OptionError with file and line of a rule that is refused.

        >>> import tempfile
        >>> from pathlib import Path
        >>> import ostinato as ot
        >>> text = '''import ostinato as ot
        ... from ostinato.rewrite.terms import Variable, tr
        ... x = Variable("x")
        ... turned = ot.Rule("mine/turned", "A.T.T = A", "", tr(tr(x)), x)'''
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "mine.py").write_text(text)
        ...     ot.rules.from_file(Path(folder, "mine.py"))["mine/turned"].is_proved
        True
        """
        from ostinato.inspection.rule_file import read_rules

        where = calling_place()
        try:
            return RuleSet(read_rules(Path(path)).added(self).rules)
        except OptionError as error:
            raise error.at(where) from None

    def prove(self, *names: str) -> Proofs:
        """Run the proofs of the named rules and families, or of all, again.

        Errors: OptionError for an unknown name.
        """
        from ostinato.inspection.proofs import proofs

        return proofs(self, names)


def every() -> RuleSet:
    """All rules of the compiler."""
    return RuleSet(every_rule().rules)


FILE = "examples.json"


def examples_of(rule: str) -> Mapping[str, str]:
    """The text of a program by "fires" and "does not fire"; nothing for a rule that a user adds."""
    return _all().get(rule, {})


@cache
def _all() -> Mapping[str, Mapping[str, str]]:
    text = resources.files("ostinato.inspection").joinpath(FILE).read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, str]] = json.loads(text)
    return found
