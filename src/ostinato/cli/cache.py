"""``ostinato cache``: what is kept on disk so that nothing is compiled twice."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ostinato.cli.output import write_json
from ostinato.runtime.cache import eviction
from ostinato.runtime.disk.folder import SIZE_VARIABLE, VARIABLE, root, size_limit


def info(path: Path | None, console: Console) -> None:
    """Show the directory, what it holds and how large it may become.

    Errors: OptionError if the limit is none.
    """
    kinds, limit = eviction.kinds(), size_limit()
    table = Table("kept", "entries", "size", title=str(root()), title_justify="left")
    for kind in kinds:
        table.add_row(kind.name, f"{kind.entries:,}", size(kind.size_bytes))
    total = sum(kind.size_bytes for kind in kinds)
    table.add_row("together", f"{sum(k.entries for k in kinds):,}", size(total))
    console.print(table)
    console.print(
        f"at most {size(limit)}: what was not used for longest goes first "
        f"({VARIABLE} and {SIZE_VARIABLE} choose)"
    )
    found = {
        "directory": str(root()),
        "limit_bytes": limit,
        "kinds": [asdict(kind) for kind in kinds],
    }
    write_json(path, found)


def clear(path: Path | None, console: Console) -> None:
    """Remove every program and kernel; they are compiled again when they are needed."""
    gone = eviction.clear()
    console.print(f"removed {gone.entries:,} entries, {size(gone.size_bytes)}")
    write_json(path, asdict(gone))


def size(size_bytes: int) -> str:
    """A number of bytes for people.

    >>> size(512), size(3 * 2**20)
    ('512 B', '3.0 MiB')
    """
    for unit, one in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= one:
            return f"{size_bytes / one:,.1f} {unit}"
    return f"{size_bytes} B"
