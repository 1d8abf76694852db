"""Options of commands that read weights."""

from __future__ import annotations

import argparse


def add_strict_option(parser: argparse.ArgumentParser) -> None:
    """Add --strict."""
    parser.add_argument(
        "--strict", action="store_true", help="refuse weights for features that the lists lack (default: they count 0)"
    )
