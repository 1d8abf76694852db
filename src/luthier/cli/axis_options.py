"""Options of every command that looks at a line, a plane or a space of weights."""

from __future__ import annotations

import argparse

from luthier.cli.pool_options import HELP, add_pool_options


def add_axis_options(parser: argparse.ArgumentParser) -> None:
    """Add the pool, the weights it is looked at from, and the axes along which."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--weights", metavar="W", help="w0, a file of weights (default: equal ones)")
    parser.add_argument("--axis", action="append", default=[], metavar="A", help="a feature, or a file of a direction")
    add_pool_options(parser)
