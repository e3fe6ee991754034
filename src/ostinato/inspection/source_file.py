"""A user's file as a module."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType


class _Fresh(SourceFileLoader):
    """Compiles the text: what Python kept of a file counts as new for a second, at equal size."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def run_file(path: Path, name: str) -> ModuleType:
    """Return the module that a Python file is, under a name that is no module's.

    The file's folder comes first in ``sys.path``, as in a script that Python runs.
    Errors: those of the file.
    """
    spec = importlib.util.spec_from_file_location(name, path, loader=_Fresh(name, str(path)))
    assert spec is not None and spec.loader is not None, f"{path} has no loader"
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
