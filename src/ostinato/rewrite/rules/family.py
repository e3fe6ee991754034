"""What the rules of one kind share."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.rewrite.engine.rule import Exactness, Phase, Rule, Validity
from ostinato.rewrite.terms import Expression, Fact


@dataclass(frozen=True, slots=True)
class Family:
    """Makes rules: what one does not say of itself, its family says.

    ``name``: what the names of the rules begin with; ``end``: what they end with; ``when``: the
    first facts that all of them ask for.
    """

    name: str
    proof: str
    reason: str = ""
    exact: Exactness = "exact"
    valid: Validity = "everywhere"
    phase: Phase = "rewrite"
    when: tuple[Fact, ...] = ()
    end: str = ""

    def __call__(
        self,
        name: str,
        law: str,
        left: Expression,
        right: Expression,
        *when: Fact,
        also: tuple[Fact, ...] = (),
        reason: str = "",
        exact: Exactness | None = None,
        valid: Validity | None = None,
        proof: str = "",
        phase: Phase | None = None,
        bits: tuple[Fact, ...] = (),
    ) -> Rule:
        """The law that ``left`` is ``right`` where all facts of ``when`` hold."""
        return Rule(
            name=f"{self.name}{name}{self.end}",
            law=law,
            reason=reason or self.reason,
            left=left,
            right=right,
            when=(*self.when, *when),
            also=also,
            exact=exact or self.exact,
            valid=valid or self.valid,
            proof=proof or self.proof,
            phase=phase or self.phase,
            bits=bits,
        )
