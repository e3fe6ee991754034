"""``python -m ostinato``: the command line where its script is not on the path."""

from ostinato.cli import main

if __name__ == "__main__":
    main()
