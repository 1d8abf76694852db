"""Which place of a line or a plane is the answer, and under what noise: options that two commands share."""

from __future__ import annotations

import argparse


def add_choice_options(parser: argparse.ArgumentParser, place: str, roomiest: str) -> None:
    """Declare --choose and --noise; `place` is a point or a place, `roomiest` says what `disc` takes."""
    parser.add_argument(
        "--choose", choices=("highest", "robust", "worst", "disc"), default="highest",
        help=f"which {place} is the answer: the highest score, the highest mean under noise of the weights, the "
        f"highest worst score within its deviation, {roomiest}",
    )  # fmt: skip
    parser.add_argument(
        "--noise", type=float, default=0.1, metavar="X",
        help="deviation of that noise, in units of a feature's mean effect (default: 0.1)",
    )  # fmt: skip
