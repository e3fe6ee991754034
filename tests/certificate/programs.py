"""A program with most of what a certificate spells, its certificate, and altered ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ostinato as ot
from ostinato.certificate.document import from_data, sum_of
from ostinato.certificate.verify import checks_of, findings
from ostinato.pdg.errors import CertificateError

Data = dict[str, Any]  # a parsed certificate
Edit = Callable[[Data], object]


def policy_gradient() -> ot.Program:
    """Return a recurrent cell over episodes, discounted returns, and a loss over all of them."""
    b, t = ot.dims("b t")
    weight = ot.input("weight", (3, 2))
    x = ot.random.normal((3,), over=(b, t))
    h = ot.recurrent("h", (2,), over=(b, t))
    h[b, 0] = 0.1
    h[b, t + 1] = ot.tanh(h + (x @ weight))
    reward = ot.where(h[..., 0] > 0, h.sum(), 0.5)
    gain = ot.discounted_sum(reward[b, t:], 0.9)
    return ot.Program(loss=-gain[:, 0].mean(), gain=gain, h=h)


@cache
def _written() -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        policy_gradient().compile(threads=2, certificate=path)
        return path.read_text(encoding="utf-8")


def certificate() -> Data:
    """Return the certificate of `policy_gradient` as data that may be altered."""
    found: Data = json.loads(_written())
    return found


def altered(edit: Edit) -> Data:
    """Return the certificate after an edit, with a sum that fits again."""
    data = copy.deepcopy(certificate())
    edit(data)
    data["sum"] = sum_of(data)
    return data


DEAREST = ("equality", "loops", "runs")  # of the checks, the dearest last


def is_refused(data: Data) -> bool:
    """Whether any check of a certificate fails; the cheap ones come first."""
    try:
        checks = checks_of(from_data(data))
    except CertificateError:
        return True
    dear = {name: k for k, name in enumerate(DEAREST, 1)}
    ordered = sorted(checks, key=lambda check: dear.get(check[0], 0))
    return not all(f.holds for f in findings(tuple(ordered)))


def refusal(data: Data) -> str:
    """Return why a certificate is refused: the first check that fails; "" if all hold."""
    try:
        checks = checks_of(from_data(data))
    except CertificateError as problem:
        return f"intact: {problem.fact}"
    return next((f"{f.check}: {f.about}" for f in findings(checks) if not f.holds), "")


def place_of(data: Data, op: str) -> int:
    """Return the number of the first term with an operator."""
    return next(k for k, term in enumerate(data["terms"]) if term["op"] == op)
