"""Tune in a loop around a decoder: decode, merge, tune, and again.

  luthier loop loop.toml
  luthier loop loop.toml --resume

The file names the decoder (a command of your own, a trained model, recorded lists), scorers of its hypotheses, the
sentences, the tuner and when to stop; docs/loop.md explains it. Every turn is kept in a folder. --resume continues a
loop that was stopped at any moment.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier loop`."""
    parser.add_argument("config", metavar="CONFIG", help="the loop's settings, in TOML")
    parser.add_argument("--resume", action="store_true", help="resume the loop that was begun in the folder")
    parser.add_argument("--data", metavar="DIR", help="where relative paths start (default: beside the settings)")
    parser.add_argument("-o", "--output", metavar="DIR", help="where the turns go (default: beside the settings)")


def run(options: argparse.Namespace, output: Output) -> None:
    """Run the loop, show its turns."""
    from pathlib import Path

    from luthier.jobs.loop import PICTURE, TABLE, loop, loop_folder
    from luthier.report.tables.training import loop_tables
    from luthier.tuning.loops.folder import ANSWER

    result = loop(
        options.config,
        options.output,
        data=options.data,
        resume=options.resume,
        seed=options.seed,
        threads=options.threads,
    )
    folder = loop_folder(options.config, options.output)
    written = [str(Path(folder, name)) for name in (ANSWER, TABLE, PICTURE)]
    output.emit({**result.as_dict(), "written": written}, lambda: loop_tables(result, written))
