"""The table of all rules with their laws and proofs, for the folder of proofs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ostinato.rewrite.engine.rule import Rule
from ostinato.rewrite.prove.prover import Verdict
from ostinato.rewrite.prove.said import assumptions

_HEAD = """# Proofs

One machine-checked proof per rewrite rule; `pytest proofs` and `ostinato rules prove` run them.

The prover (`ostinato.rewrite.prove`) reads a rule as it stands in the table, both sides and all its
facts, and reduces both to one element: an expression over applications of the leaves at symbolic
points and positions, with folds over symbolic ranges. A law is proved when both expressions have
one normal form in every reading of the rule; otherwise numbers are tried, and a counterexample is
printed.

- **For all** sizes, extents, points (also outside the box, where a rule says *everywhere*), values
  of the leaves, index expressions, conditions and elementwise functions: these stay symbols.
- **Case by case**: ranks, axis numbers, which axes repeat (size 1), which fold. Operators treat the
  axes that they do not name pointwise, and neighbouring axes that a law does not name can be read
  as one (their index is a tuple); so one such axis in every gap stands for any number, and a law
  that names n axes is decided by ranks up to 2 n + 1.
- **Exact** rules must agree with every rounding: floating-point operations are symbols with the few
  laws that hold bit for bit. *Zero signs*: the same, up to the sign of a zero. All others are
  proved over the real numbers; what they promise beside stands in `rewrite/engine/rule.py`.
- Folds along a dimension are proved by induction over its steps (`induction.py`), identities of
  elementary functions by sympy, and the index sets behind the facts (prefix, suffix, window, shift,
  cut) by isl for all extents in `test_index_sets.py`.
- Over the real numbers every value is finite. So both sides of every law are computed too, as NumPy
  does, in every type that its operators accept, for every choice of special values for the elements
  of some steps (`special_values.py`): infinities, NaN, zeros of both signs, large and small ones,
  the ends of the integers; ranges may be empty there, and points lie outside the box where a rule
  holds *everywhere*. What a law keeps of them is the promise of its class.
- Facts that a rule asserts (`also`) are equations, which are proved as its sides are, or follow
  from the facts that it asks for (`asserted.py`).
- Taken as given: the analyses of the e-graph (which dimensions a term depends on, ranks, shapes),
  which `tests/rewrite` checks against the interpreter on every instance.

- **Bounded**: a law that computes with masks of axes, or names a permutation, is decided for all
  sizes and values, but for every mask or order of a few axes only; the last column says so.

*Method* is what showed that both sides are equal, in any of the readings. *Rests on* names the
numbers, the points, and the analyses whose answers the law uses. How many readings a proof has, and
its seconds, change with the prover and the machine: `ostinato rules prove --json FILE` has them.

This file is generated: `pytest tests/rewrite/test_proofs_overview.py --update-golden` decides the
rules that are new in it or were changed, and `pytest proofs` checks the method of every rule.

{summary}

| rule | law | numbers | holds | method | rests on | proof |
|---|---|---|---|---|---|---|
"""


def method(verdict: Verdict) -> str:
    """How a rule was decided, in words.

    >>> method(Verdict("mine/rule", "proved", 37, methods=("normal form", "induction")))
    'normal form, induction'
    """
    return ", ".join(verdict.methods)


def overview(rules: Iterable[Rule], methods: Mapping[str, str]) -> str:
    """Return the text of ``proofs/README.md``."""
    listed = list(rules)
    proved = sum(rule.is_proved for rule in listed)
    share = 100 * proved // len(listed)
    summary = (
        f"Of {len(listed)} rules {proved} ({share} %) are proved for all sizes and values; "
        f"{len(listed) - proved} for all sizes and values of a few axes."
    )
    rows = (row(rule, methods[rule.name]) for rule in listed)
    return _HEAD.format(summary=summary) + "".join(rows)


def row(rule: Rule, decided: str) -> str:
    """The line of a rule that was decided by a method."""
    file = rule.proof.removeprefix("proofs/")
    proof = f"[{file}]({file})" if rule.is_proved else rule.proof
    rests = "; ".join(assumptions(rule))
    cells = (f"`{rule.name}`", rule.law, rule.exact, rule.valid, decided)
    return "| " + " | ".join(c.replace("|", "\\|") for c in (*cells, rests, proof)) + " |\n"


def methods_in(text: str) -> dict[str, str]:
    """The methods that a table names, by rule."""
    rows = (_CELL.split(line) for line in text.splitlines() if line.startswith("| `"))
    return {cells[1].strip(" `"): cells[5].strip() for cells in rows}


_CELL = re.compile(r"(?<!\\)\|")
