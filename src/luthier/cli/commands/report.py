"""Write the explorer's views into one file for any browser.

  luthier report pool.arrow --weights start.txt tuned.txt --pair lm length -o report.html

The file needs no server. For each of the named weights it holds the metric, the curve along every weight, the changed
sentences and why each of them won. It compares all with the first, and has a surface for every --pair of features
about the first weights.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.session import add_session_arguments, session_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier report`."""
    add_session_arguments(parser)
    parser.add_argument(
        "--pair", nargs=2, action="append", default=[], metavar=("A", "B"), help="two features to show a surface over"
    )
    parser.add_argument("-o", "--output", required=True, metavar="HTML", help="the file")


def run(options: argparse.Namespace, output: Output) -> None:
    """Open the lists, record the answers, write the page."""
    from pathlib import Path

    from luthier.core.files.io import check_apart, check_writable
    from luthier.explorer.report_file import write_report

    check_writable(options.output)
    check_apart(options.output, options.pool)
    session = session_from(options)
    pairs = [(session.problem.index(a), session.problem.index(b)) for a, b in options.pair]
    write_report(session, options.output, pairs)
    if options.output != "-":
        size = Path(options.output).stat().st_size
        told = {"written": options.output, "bytes": size, "weights": len(session.named), "surfaces": len(pairs)}
        output.emit(told, lambda: f"{options.output}: {size / 1e6:.1f} MB, opens in any browser")
