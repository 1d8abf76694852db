"""Serve a trained model over HTTP on this machine.

  luthier serve model
  luthier serve model --port 8080 --token secret

  curl -H 'content-type: application/json' -d '{"text": "ein Mann"}' http://127.0.0.1:8080/translate

Only this machine can ask. /translate takes {"text": "…"} or {"lines": ["…", …]}, and "best": N; /explain a text, and
says why its translation won; /load has counts and times. Requests wait in a queue; when it is full they are answered by
429 and Retry-After. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse

from luthier.cli.output import Output

HIGHEST_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier serve`."""
    parser.add_argument("model", metavar="MODEL", help="a folder that 'luthier train' made")
    parser.add_argument("--weights", metavar="W", help="weights in place of the model's own")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="of this machine (default: any that is free)")
    parser.add_argument("--token", metavar="T", help="what callers must send as the header x-luthier-token")
    parser.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        metavar="S",
        help="most time for one line, once it is begun (default: 10)",
    )


def run(options: argparse.Namespace, output: Output) -> None:
    """Open the model, translate once so that all is compiled, answer until Ctrl-C."""
    import math
    import sys

    from luthier.core.errors import LuthierError
    from luthier.jobs.opening import cores
    from luthier.jobs.trained_model import TranslationModel
    from luthier.jobs.translate import Wanted
    from luthier.serving.service import Service
    from luthier.serving.translator import Translator

    if not 0 <= options.port <= HIGHEST_PORT:
        raise LuthierError(f"expected --port from 1 to {HIGHEST_PORT}, found {options.port}")
    if options.token is not None and not (options.token.isascii() and options.token.isprintable() and options.token):
        raise LuthierError("expected --token in printable ASCII, found other characters, or nothing")
    if not 0 < options.seconds < math.inf:
        raise LuthierError(f"expected --seconds above 0, found {options.seconds:g}")
    model = TranslationModel.open(options.model, options.weights)
    translator = Translator(model, threads=cores(options.threads), seconds=options.seconds)
    service = Service(translator, options.port, token=options.token, say=output.note)
    for explain in (False, True):
        translator.ask(["."], Wanted(explain=explain)).result()
    output.emit({"address": service.address}, lambda: service.address)
    sys.stdout.flush()
    output.note("open this address in a browser of this machine, or ask it by a program; Ctrl-C ends the service")
    service.run()
    output.note("the service has ended")
