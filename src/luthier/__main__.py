"""`python -m luthier`, where the command is not on the path."""

import sys

from luthier.cli.start import command

sys.exit(command())
