"""The table of all rules with their laws and proofs, for the folder of proofs."""

from __future__ import annotations

from collections.abc import Iterable

from ostinato.rewrite.registry import Rule

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
  laws that hold bit for bit. *Zero signs*: the same, up to the sign of a zero. *Reassociates*: over
  the real numbers.
- Folds along a dimension are proved by induction over its steps (`induction.py`), identities of
  elementary functions by sympy, and the index sets behind the facts (prefix, suffix, window, shift,
  cut) by isl for all extents in `test_index_sets.py`.
- Taken as given: the analyses of the e-graph (which dimensions a term depends on, ranks, shapes),
  which `tests/rewrite` checks against the interpreter on every instance.

This file is generated: `pytest tests/rewrite/test_proofs_overview.py --update-golden`.

| rule | law | numbers | holds | proof |
|---|---|---|---|---|
"""


def overview(rules: Iterable[Rule]) -> str:
    """Return the text of ``proofs/README.md``."""
    return _HEAD + "".join(map(_row, rules))


def _row(rule: Rule) -> str:
    file = rule.proof.removeprefix("proofs/")
    proof = rule.proof if rule.proof.startswith("unproved: ") else f"[{file}]({file})"
    cells = (f"`{rule.name}`", rule.law, rule.exact, rule.valid, proof)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
