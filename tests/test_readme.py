"""What the README shows is what the repository has."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_program_of_the_readme_is_the_example() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    example = (ROOT / "examples" / "reinforce_cartpole.py").read_text()
    missing = [line for line in shown.splitlines() if line not in example.splitlines()]
    assert missing == []


def test_every_link_of_the_readme_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^make (\w+)", README, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()
    assert {"demo", "test"} <= targets
    assert [name for name in targets if f"\n{name}:" not in makefile] == []


def test_its_figures_are_those_of_the_results() -> None:
    results = (ROOT / "bench" / "RESULTS.md").read_text()
    section = results.partition("<!-- ppo: generated from")[2].partition("<!-- ppo: generated up")[
        0
    ]
    size = r"\| ppo_cartpole \| envs 64, steps 128 \|"
    row = rf"^{size} (\w+) \| ([\d.]+ [Mk]) .*? \| ([\d.]+ x)? ?\|"
    measured = {row[0]: row[1:] for row in re.findall(row, section, re.MULTILINE)}
    table = re.findall(r"^\| (.*) \| ([\d.]+ [Mk]) \| ([\d.]+ x)? ?\|$", README, re.MULTILINE)
    names = [re.sub(r".*`(\w+)`.*", r"\1", row[0]) for row in table]
    assert {name: row[1:] for name, row in zip(names, table, strict=True)} == measured
