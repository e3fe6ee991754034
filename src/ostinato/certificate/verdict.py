"""What the checks of a certificate found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: whether it holds, what it found, and the seconds it took."""

    check: str
    holds: bool
    about: str
    seconds: float

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'FAILS'}  {self.check}: {self.about}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a certificate after all checks.

    >>> Verdict((Finding("rules", True, "2 proved", 0.1),)).holds
    True
    """

    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(finding.holds for finding in self.findings)

    def __str__(self) -> str:
        last = "the certificate holds" if self.holds else "the certificate does NOT hold"
        return "\n".join([*map(str, self.findings), last])
