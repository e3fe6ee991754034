"""``ostinato verify``: check what a compilation claims."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from ostinato.certificate import verify_certificate


def verify(path: Path, afresh: bool, written: Path | None, console: Console) -> int:
    """Show what each check of a certificate found; return 1 if one does not hold.

    The file ``written`` gets ``holds`` and the ``findings``: check, holds, about, seconds.
    Errors: CertificateError if the file is no intact certificate.
    """
    verdict = verify_certificate(path, afresh)
    console.print(str(verdict), markup=False, highlight=False, soft_wrap=True)
    if written is not None:
        found = {"holds": verdict.holds, "findings": [asdict(f) for f in verdict.findings]}
        written.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if verdict.holds else 1
