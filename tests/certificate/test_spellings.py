"""The equality of advantages in every spelling is shown, whichever affine form is found first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ostinato as ot
from ostinato.certificate.equality import check_equality
from ostinato.certificate.make import Compilation, certify
from ostinato.certificate.planned import planned
from ostinato.options import Options
from ostinato.pdg.half import encoded
from ostinato.rewrite.registry import every_rule
from ostinato.stages import optimize_pdg
from tests.rewrite.test_spellings import SPELLINGS


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda make: make.__name__)
def test_the_equality_of_every_spelling_is_shown(spelling: Callable[[], ot.Program]) -> None:
    program, options = spelling(), Options(threads=2)
    optimized = optimize_pdg(encoded(program.pdg), every_rule(), options)
    schedule = planned(optimized, options, "0" * 32)
    made = certify(Compilation(program.pdg, every_rule(), optimized, schedule))
    assert made.rules
    assert "roots equal" in check_equality(made, made.prepared or encoded(made.source))
