"""Open the explorer in the browser: drag weights, see what they do.

  luthier explore pool.arrow
  luthier explore pool.arrow --weights tuned.txt start.txt --metric bleu --trace trace.jsonl
  luthier explore experiments/

A folder is looked through for runs: what 'tune', 'loop' and 'train' wrote, to sort, compare and open. The page comes
from this machine and stays on it: nothing is loaded from the network, and only the printed address opens it. The page
begins with the first file of --weights. Ctrl-C ends it. From another machine, use ssh -L PORT:127.0.0.1:PORT with
--port PORT.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.session import add_session_arguments, session_from, workspace_from
from luthier.cli.output import Output

HIGHEST_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier explore`."""
    add_session_arguments(parser, folders=True)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="of this machine (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")


def run(options: argparse.Namespace, output: Output) -> None:
    """Open the lists, listen, open the browser, answer until Ctrl-C."""
    import sys

    from luthier.core.errors import LuthierError
    from luthier.explorer.app import open_in_background
    from luthier.explorer.server import Server, open_browser

    if not 0 <= options.port <= HIGHEST_PORT:
        raise LuthierError(f"expected --port from 1 to {HIGHEST_PORT}, found {options.port}")
    place = workspace_from(options)
    if place is None:
        session = session_from(options)
        for trace in session.followed:
            trace.look()  # a file that is no trace is refused here; one that is not there yet is waited for
        place = open_in_background(session, output.note)
    server = Server(place, options.port, say=output.note)
    output.emit({"address": server.address}, lambda: server.address)
    sys.stdout.flush()
    if options.no_browser or not open_browser(server.address):
        output.note("open this address in a browser of this machine; Ctrl-C ends the explorer")
    else:
        output.note("the page opens in your browser; Ctrl-C ends the explorer")
    server.run()
    output.note("the explorer has ended")
