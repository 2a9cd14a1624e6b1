"""`python -m reasongym` is the `reasongym` command."""

from reasongym.cli import main

main()
