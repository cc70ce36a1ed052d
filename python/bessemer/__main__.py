"""``python -m bessemer``: the command line."""

from bessemer.cli.main import main

main()
