"""Certificates of programs hold; what is damaged or from elsewhere is refused before any check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ostinato as ot
from bench.rewriting.untuned import biquad
from ostinato.certificate.document import from_data, to_data, to_text
from ostinato.certificate.egraph_rows import Rows, add_program
from ostinato.certificate.equality import Unequal, check_relations
from ostinato.certificate.index_facts import Numbers
from ostinato.pdg.errors import CertificateError
from ostinato.rewrite.registry import every_rule
from ostinato.rewrite.relations import RELATIONS
from ostinato.rewrite.terms.term import read_fact
from tests.certificate.programs import certificate, refusal
from tests.certificate.test_every_field import original
from tests.pipeline.programs import SMALL
from tests.pipeline.test_spread import judged
from tests.rewrite.instances import every_instance
from tests.rewrite.instances.instance import Sizes
from tests.rewrite.sums import VARIANCES

FORBIDDEN = (
    *("engine.saturate", "extract.choose", "extract.improve", "extract.legal_terms"),
    *("extract.rebuild", "load.program_rows", "optimize"),
)


def test_the_certificate_holds() -> None:
    assert refusal(certificate()) == ""


@pytest.mark.parametrize("make", [make for make, _ in SMALL.values()])
def test_certificates_of_small_programs_hold(
    make: Callable[[], ot.Program], tmp_path: Path
) -> None:
    make().compile(certificate=tmp_path / "c.json")
    verdict = ot.verify_certificate(tmp_path / "c.json")
    assert verdict.holds, str(verdict)


def moved_parts() -> ot.Program:
    """Return values that read the next step, but for the last one: a part of a slice, moved."""
    b, t = ot.dims("b t")
    x = ot.input("x", (3,), over=(b, t))
    y = ot.recurrent("y", (3,), over=(b, t))
    y[t <= t.size - 2] = ot.tanh(x[b, t + 1]) * 2.0
    y[True] = ot.tanh(x) * 2.0
    return ot.Program(y=y, sum=(y * 0.5)[b, :].sum(0))


def derivative_of_attention() -> ot.Program:
    """Return a derivative that needs a second index: whose past holds a step."""
    t = ot.dims("t")
    x = ot.input("x", (3,), over=t)
    past = x[: t + 1]
    return ot.Program(slope=ot.grad((ot.softmax(past @ x) @ past)[:].sum(), x))


def affine_steps() -> ot.Program:
    """Return an average and an advantage in steps of the user's own."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    average, gain = ot.recurrent("average", over=(b, t)), ot.recurrent("gain", over=(b, t))
    average[b, 0] = x[b, 0]
    average[b, t + 1] = 0.9 * average + 0.1 * x[b, t + 1]
    gain[b, t.size - 1] = x[b, t.size - 1]
    gain[b, t] = x + 0.99 * gain[b, t + 1]
    return ot.Program(average=average, gain=gain)


def halves_and_calls() -> ot.Program:
    """Return a product of halves, and what a Python function makes of it."""
    t = ot.dims("t")
    x = ot.input("x", (2,), dtype="bfloat16", over=t)
    total = (x.cast("float32") * 2.0)[:, :].sum(0)
    return ot.Program(total=total, kept=x, squared=ot.host(np.square, total, shape=(2,)))


def rounded_on_the_way() -> ot.Program:
    """Return a sum of what a recurrence rounds to 16 bits, which one more rounding may change."""
    b, t = ot.dims("b t")
    x = ot.input("x", (3,), dtype="float16", over=(b, t))
    memory = ot.recurrent("memory", (3,), dtype="bfloat16", over=(b, t))
    memory[b, 0] = x[b, 0].cast("float32").cast("bfloat16")
    memory[b, t + 1] = (memory * 0.9 + x[b, t + 1]).cast("bfloat16")
    return ot.Program(total=memory[b, :].sum(0), given=x[b, :].sum(0))


def variances() -> ot.Program:
    """Return variances of all that came before, and of a window that comes."""
    t = ot.dims("t")
    x = ot.input("x", over=t)
    return ot.Program(past=x[:t].var(0), coming=x[t : ot.minimum(t + 9, t.size)].var(0))


def discounts() -> ot.Program:
    """Return discounted sums of windows, by a matrix, and by products of factors."""
    t = ot.dims("t")
    x, g = ot.input("x", over=t), ot.input("g", over=t)
    coming = x[t : ot.minimum(t + 300, t.size)]
    ahead = ot.arange(t.size)[None, :] - ot.arange(t.size)[:, None]
    lasting = ot.cumprod(ot.where(ahead < 0, g[:][:, None], 1.0), 0)
    return ot.Program(
        window=(0.9 ** ot.arange(coming.shape[0]).cast("float32") * coming).sum(0),
        matrix=ot.triu(0.9 ** ahead.cast("float32")) @ x[:],
        lasting=ot.tril(lasting) @ x[:],
        chain=x + (ot.cumprod(g[t : t.size - 1], 0) * x[t + 1 :]).sum(0),
    )


def means_of_many() -> ot.Program:
    """Return a training on means, whose rows are multiplied at a time."""
    i, t = ot.dims("i t")
    x, w = ot.input("x", (4,), over=(i, t)), ot.recurrent("w", (4, 1), over=i)
    w[0] = ot.full((4, 1), 0.1)
    w[i + 1] = w + 0.1 * ot.tanh(x @ w)[i, :].mean(0)
    return ot.Program(w=w)


def layers_in_parts() -> ot.Program:
    """Return a network of the narrowest layers of which workers compute parts."""
    return judged(96)


def elements_and_entropies() -> ot.Program:
    """Return elements of softmaxes over ranges, and an entropy."""
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    past, to_come = ot.softmax(x[b, : t + 1], 0), ot.softmax(x[b, t:], 0)
    return ot.Program(
        last=past[b, t, -1], first=to_come[b, t, 0], entropy=-(past * ot.log(past)).sum(0)
    )


def decaying_variance() -> ot.Program:
    over, make = VARIANCES["of powers"]
    return over(make)


def settings_and_seeds() -> ot.Program:
    """Return the same work for every point of two dimensions, of which one may become an axis."""
    j, k, t = ot.dims("j k t")
    x, rate = ot.input("x", (3,), over=(j, k, t)), ot.input("rate", over=k)
    h = ot.recurrent("h", (3,), over=(j, k, t))
    h[j, k, 0] = x[j, k, 0]
    h[j, k, t + 1] = ot.tanh(rate * h) + x[j, k, t + 1]
    return ot.Program(h=h, total=h[j, k, : t + 1].sum(0))


FURTHER = (
    moved_parts, derivative_of_attention, affine_steps, halves_and_calls, variances, discounts,
    means_of_many, layers_in_parts, elements_and_entropies, decaying_variance, rounded_on_the_way,
    settings_and_seeds, biquad,
)  # fmt: skip


@pytest.mark.parametrize("make", FURTHER)
def test_certificates_of_further_programs_hold(
    make: Callable[[], ot.Program], tmp_path: Path
) -> None:
    program = make()
    compiled = program.compile(certificate=tmp_path / "c.json", hints={"T": 4096}, threads=2)
    in_parts = "item % parts" in compiled.executable.artifact.source
    assert in_parts == (make is layers_in_parts)
    verdict = ot.verify_certificate(tmp_path / "c.json", program)
    assert verdict.holds, str(verdict)


@pytest.mark.parametrize("checks", [True, "addresses", ["values", "addresses"]])
def test_certificates_of_checked_programs_hold(checks: object, tmp_path: Path) -> None:
    t = ot.dims("t")
    x = ot.input("x", over=t)
    program = ot.Program(y=x[: t + 1].sum(0), z=ot.take(x[:], ot.index(2 * t), axis=0))
    program.compile(certificate=tmp_path / "c.json", checks=checks)
    verdict = ot.verify_certificate(tmp_path / "c.json", program)
    assert verdict.holds, str(verdict)


def test_a_program_without_rules_has_a_certificate_too(tmp_path: Path) -> None:
    b, t = ot.dims("b t")
    x = ot.input("x", over=(b, t))
    program = ot.Program(y=x[b, : t + 1].sum(0))
    program.compile(rules=ot.rules.only(), certificate=tmp_path / "c.json")
    verdict = ot.verify_certificate(tmp_path / "c.json")
    assert verdict.holds, str(verdict)
    assert verdict.findings[0].about == "no rules"


def test_the_verifier_knows_all_that_rules_ask_for() -> None:
    check_relations(list(every_rule()))


# By the hints of the certificate.
HINTED = {"batch", "define", "inside", "joint", "want", "innermost", "free"}


def test_the_verifier_finds_the_rows_of_every_relation_itself() -> None:
    found = set(HINTED)
    for instance in every_instance():
        pdg = instance.build(Sizes())
        rows = Rows(Numbers(pdg.dims()))
        add_program(rows, pdg)
        found |= {name.removeprefix("raw_") for name in rows.everything()}
    loaded = {r.name.removeprefix("raw_") for r in RELATIONS.values() if r.made == "loading"}
    assert loaded - found == {"gone"}  # no instance has a step that is nothing but 0


def test_only_elements_that_are_asked_for_are_ranges_of_one_index() -> None:
    for make, is_asked in ((discounts, False), (elements_and_entropies, True)):
        pdg = make().pdg
        rows = Rows(Numbers(pdg.dims()))
        add_program(rows, pdg)
        assert bool(rows.everything()["alone"]) == is_asked


def test_a_rule_that_asks_for_something_else_is_named() -> None:
    rule = replace(every_rule()["view/transpose-twice"], when=(read_fact("(green x)"),))
    with pytest.raises(Unequal, match="`view/transpose-twice` asks for `green`"):
        check_relations((rule,))


def test_what_is_read_is_written_again_alike() -> None:
    data = certificate()
    assert json.loads(to_text(to_data(from_data(data)))) == data


def test_a_certificate_written_twice_is_the_same_file(tmp_path: Path) -> None:
    x = ot.input("x", over=ot.dims("t"))
    compiled = ot.Program(y=2.0 * x).compile(certificate=tmp_path / "one.json")
    compiled.certificate(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()


def test_damage_is_found_by_the_sum() -> None:
    data = certificate()
    data["schedule"]["workers"] = 1
    assert refusal(data) == (
        "intact: this is no intact certificate: its sum does not fit its contents"
    )


@pytest.mark.parametrize("text", ["", "[", '{"format": 1}', "[1]", '{"a": 1, "a": 2}', "\x00"])
def test_what_is_no_certificate_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError, match=r"`.*/c\.json` is no intact certificate: "):
        ot.verify_certificate(tmp_path / "c.json")


def test_the_checks_use_none_of_the_code_that_rewrites(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(original()))  # of few rules: all are proved anew
    code = (
        "import sys, ostinato as ot\n"
        f"print(ot.verify_certificate({str(tmp_path / 'c.json')!r}), file=sys.stderr)\n"
        "print(*(m for m in sys.modules if m.startswith('ostinato.')))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "the certificate holds" in found.stderr
    loaded = set(found.stdout.split())
    assert "ostinato.certificate.equality" in loaded
    assert loaded.isdisjoint(f"ostinato.rewrite.{name}" for name in FORBIDDEN)
