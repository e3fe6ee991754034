"""Certificates: what a compilation did, written down so that others can check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.certificate.verdict import Verdict
from ostinato.pdg.errors import CertificateError
from ostinato.provenance.place import calling_place

if TYPE_CHECKING:
    from ostinato.compiler.program import Program


def verify_certificate(path: str | Path, program: Program | None = None) -> Verdict:
    """Check a certificate file and return what each check found.

    With ``program`` it must be about that program. Nothing is believed that an earlier check or
    compilation left on this machine.
    Errors: CertificateError if the file is no intact certificate.

    >>> import tempfile
    >>> import ostinato as ot
    >>> t = ot.dims("t")
    >>> program = ot.Program(total=ot.input("x", over=t)[: t + 1].sum(0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     compiled = program.compile(certificate=f"{folder}/total.json")
    ...     ot.verify_certificate(f"{folder}/total.json", program).holds
    True
    """
    from ostinato.certificate.document import read
    from ostinato.certificate.verify import check_certificate

    where = calling_place()
    try:
        return check_certificate(read(Path(path)), program)
    except CertificateError as error:
        raise error.at(where) from None
