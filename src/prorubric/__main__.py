"""`python -m prorubric`: the same as the command `prorubric`."""

from prorubric.cli.app import main

main()
