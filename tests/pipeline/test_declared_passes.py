"""No function of the stages changes programs unless a pass of the list does so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato.compiler.passes import PASSES

SOURCE = Path(__file__).parents[2] / "src" / "ostinato"
STAGES = (
    "rewrite/load",
    *(f"codegen/{n}" for n in ("lowering", "systems", "scheduling", "memory", "masks", "planning")),
    "codegen/emit",
)
# What a program is at some stage, as annotations have it.
FORMS = (r"\bPdg\b", r"\b(System|Tiled)\b", r"\[str, Statement\]", r"\bTree\b", r"\[str, Storage\]")
PARTS = {  # functions that are a part of passes
    "rewrite.load.merged_cases.merged": "merged cases",
    "codegen.planning.joined_nests.parts": "kernels",
    "codegen.planning.step_by_step.step_by_step": "segments",
    "codegen.scheduling.demanded_points.copied_where_read": "demanded points",
    "codegen.systems.axis_families.with_dim": "tiles of rows",
    "codegen.systems.matmul_form.as_folds": "products",
    "codegen.systems.prepare.needed": "tiles",
    "codegen.systems.tile_choice.in_steps": "tiles",
    "codegen.systems.tile_choice.without_lone_points": "tiles",
    "codegen.systems.split.with_cases": "cases apart",
    "codegen.systems.value_numbering.joined": "computing again",
    "codegen.systems.value_numbering.merged": "value numbering",
}


def changing(path: Path) -> Iterator[str]:
    """The public functions of a module that make of a program one of the same form."""
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns:
            takes = [ast.unparse(a.annotation) for a in node.args.args if a.annotation]
            gives = ast.unparse(node.returns)
            if any(re.search(f, gives) and any(re.search(f, x) for x in takes) for f in FORMS):
                yield f"{module}.{node.name}"


@pytest.mark.parametrize("stage", STAGES)
def test_what_changes_programs_is_a_pass(stage: str) -> None:
    found = {name for path in sorted((SOURCE / stage).glob("*.py")) for name in changing(path)}
    assert found <= {each.at for each in PASSES} | PARTS.keys()


def test_parts_belong_to_passes_and_are_still_there() -> None:
    found = {name for s in STAGES for path in (SOURCE / s).glob("*.py") for name in changing(path)}
    assert PARTS.keys() <= found and set(PARTS.values()) <= {each.name for each in PASSES}
