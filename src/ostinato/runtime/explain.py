"""What the compiler did, for people: rules, kernels, schedule, source, memory, cost."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of the arena at some extents: what the plan takes and what no plan can go below."""

    predicted_peak_bytes: int = 0
    lower_bound_bytes: int = 0
    extents: Mapping[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        at = ", ".join(f"{name}={n}" for name, n in sorted(self.extents.items())) or "any size"
        peak, bound = f"{self.predicted_peak_bytes:,}", f"{self.lower_bound_bytes:,}"
        return f"peak {peak} bytes, lower bound {bound} bytes, at {at}"


@dataclass(frozen=True)
class Explanation:
    """The stages of one compilation in printable form."""

    rules: Mapping[str, int] = field(default_factory=dict[str, int])  # name -> times fired
    kernels: tuple[str, ...] = ()
    schedule: str = ""
    source: str = ""
    memory: MemoryUse = field(default_factory=MemoryUse)
    cost: Mapping[str, float] = field(default_factory=dict[str, float])
    profile: str = "default"  # the name of the profile that priced it
    notes: tuple[str, ...] = ()  # what the compiler could not do, and why

    def sections(self) -> dict[str, str]:
        """Return the parts as titled text."""
        counts = sorted(self.rules.items(), key=lambda rule: (-rule[1], rule[0]))
        fired = [(name, count) for name, count in counts if count]
        costs = (f"{name} {value:g}" for name, value in self.cost.items())
        notes = {"notes": "\n".join(self.notes)} if self.notes else {}
        return {
            **notes,
            "rules": "\n".join(f"{count:6d}  {name}" for name, count in fired) or "none fired",
            "schedule": self.schedule,
            "memory": str(self.memory),
            "cost": "\n".join([*costs, f"priced by the profile: {self.profile}"]),
            "kernels": "\n\n".join(self.kernels),
        }

    def __str__(self) -> str:
        return "\n\n".join(f"== {title} ==\n{text}" for title, text in self.sections().items())

    def to_html(self, path: str | Path) -> None:
        """Write one page that needs no other file."""
        parts = {**self.sections(), "source": self.source}
        body = "\n".join(
            f"<details open><summary>{title}</summary><pre>{html.escape(text)}</pre></details>"
            for title, text in parts.items()
        )
        Path(path).write_text(_PAGE.format(body=body), encoding="utf-8")


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>ostinato: what was compiled</title>
<style>
body {{ font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; }}
summary {{ font-weight: 600; cursor: pointer; }}
pre {{ background: #f6f6f6; padding: 1rem; overflow-x: auto; font-size: 12px; }}
</style>
<h1>What was compiled</h1>
{body}
</html>
"""
