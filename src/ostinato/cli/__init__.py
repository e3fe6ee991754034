"""The ``ostinato`` command; each command imports what it needs when it runs."""

import sys


def main() -> None:
    """Run the command line; an error about the user's program is shown as its text, exit code 1."""
    from ostinato.cli.app import app
    from ostinato.cli.output import console, written
    from ostinato.pdg.errors import OstinatoError

    try:
        written(app)
    except OstinatoError as error:
        console(stderr=True).print(str(error), style="red", soft_wrap=True)
        sys.exit(1)
