"""The page in a real browser: it loads without a network, boxes open, and nothing is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ostinato as ot
from ostinato.provenance.place import line_at
from ostinato.report.graph import graph
from ostinato.report.memory_map import Stored
from ostinato.report.page import Page, page

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Error, Request
    from playwright.sync_api import Page as Shown

    Opened = tuple[Shown, list[str]]

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")
ALONE = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def write(path: Path) -> Path:
    t = ot.dims("t")
    x, s = ot.input("x", over=t), ot.recurrent("s", over=t)
    s[0] = 0.0
    s[t + 1] = ot.tanh(s) + x[t + 1]
    pdg = ot.Program(s=s).pdg
    graphs = [graph(f"stage {p}", p, pdg, {}, line_at) for p in ("before", "after")]
    stored = [Stored("s", 0, 64, 0, 1)]
    made = Page("walk", equations="s", graphs=graphs, stored=stored, total_bytes=64)
    path.write_text(page(made), encoding="utf-8")
    return path


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """The page without a network, and what the browser complained of."""
    from playwright.sync_api import sync_playwright

    problems: list[str] = []

    def said(found: ConsoleMessage | Error | Request) -> None:
        problems.append(str(found))

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=ALONE)
        shown = browser.new_context(offline=True).new_page()
        shown.on("console", said)
        shown.on("pageerror", said)
        shown.on("requestfailed", said)
        shown.goto(write(tmp_path / "page.html").as_uri())
        yield shown, problems
        browser.close()


def test_it_loads_without_a_network_and_without_errors(opened: Opened) -> None:
    shown, problems = opened
    assert shown.locator("h1").inner_text() == "walk"
    assert problems == []


def test_a_click_on_a_box_opens_it(opened: Opened) -> None:
    shown, problems = opened
    shown.locator('[id="before-s"] rect').click()
    assert "s[t+1] = tanh(s) + x[t+1]" in shown.locator("#about").inner_text()
    assert "s[t + 1] = ot.tanh(s) + x[t + 1]" in shown.locator("#about").inner_text()
    assert problems == []


def test_a_box_opens_from_the_keyboard_too(opened: Opened) -> None:
    shown, _ = opened
    shown.locator('[id="before-x"]').focus()
    shown.keyboard.press("Enter")
    assert shown.locator("#about h3").inner_text().startswith("x[t]")


def test_tabs_switch_between_stages(opened: Opened) -> None:
    shown, _ = opened
    shown.get_by_role("tab", name="stage after").click()
    assert shown.locator('[id="after-s"] rect').is_visible()
    assert not shown.locator('[id="before-s"] rect').is_visible()


def test_the_wheel_zooms_where_the_pointer_is(opened: Opened) -> None:
    shown, _ = opened
    svg = shown.locator('[data-pane="0"] svg')
    svg.hover()
    before = svg.evaluate("s => s.viewBox.baseVal.width")
    shown.mouse.wheel(0, -200)
    shown.wait_for_function(
        "w => document.querySelector('[data-pane=\"0\"] svg').viewBox.baseVal.width < w",
        arg=before,
    )
