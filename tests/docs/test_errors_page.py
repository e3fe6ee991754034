"""The catalogue of errors: every class has an entry, and every text is what is raised."""

import pytest

import ostinato as ot
from ostinato.pdg import errors
from tests.docs.page import read, runs, sections

ENTRIES = {title: text for title, text in sections(read("errors.md")).items() if title}
PREAMBLE, *_ = runs(read("errors.md"))
CLASSES = {
    name: found
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, ot.OstinatoError)
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("title", ENTRIES)
def test_every_example_of_an_entry_raises_the_text_below_it(title: str) -> None:
    names: dict[str, object] = {}
    exec(PREAMBLE.source, names)
    for example in runs(ENTRIES[title]):
        code = compile(example.source, "example.py", "exec")
        if example.text is None:
            exec(code, names)
            continue
        with pytest.raises(ot.OstinatoError) as caught:
            exec(code, names)
        assert type(caught.value) is CLASSES[title]
        assert str(caught.value) == example.text


def test_every_class_has_an_entry_with_an_example_and_a_line_of_the_table() -> None:
    assert {"OstinatoError", *ENTRIES} == CLASSES.keys()
    assert [title for title, entry in ENTRIES.items() if not any(r.text for r in runs(entry))] == []
    table = sections(read("errors.md"))[""]
    assert [title for title in ENTRIES if f"[{title}](#{title.lower()})" not in table] == []


def test_no_error_of_a_program_is_defined_elsewhere() -> None:
    known, todo = set[type](), [ot.OstinatoError]
    while todo:
        todo += (found := todo.pop()).__subclasses__()
        known.add(found)
    assert known == set(CLASSES.values())
