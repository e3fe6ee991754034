"""What a test of an error's text needs: the line it must name, and the whole text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from ostinato.pdg.errors import OstinatoError


def here(further: int = 0) -> str:
    """Return ``file:line`` of the call, or of a line some lines further down."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return f"{Path(frame.f_back.f_code.co_filename).name}:{frame.f_back.f_lineno + further}"


def refusal(kind: type[OstinatoError], make: Callable[[], object]) -> str:
    """Return the whole text with which something is refused."""
    with pytest.raises(kind) as caught:
        make()
    assert type(caught.value) is kind
    return str(caught.value)
