"""Prove how far weights are from the best there are in a window.

  luthier certify pool.arrow --weights w.txt --axis lm --axis wp --axis glue --window lm=-3:3
  luthier certify pool.arrow --weights w.txt --axis lm --axis wp --whole -w best.txt

The weights are w0 + γ1·a1 + γ2·a2 + …. w0 is read from a file. An axis is a feature by its name or a file of 'name
value' lines. Boxes of γ are bounded and split until no weights in the window can score better than the best found by
more than --gap. If --limit ends the search first, the answer says what is proven so far. --checkpoint keeps the
search, --resume continues it.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.options.landscape import add_axis_options, show_certificate
from luthier.cli.options.lists import pool_from
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output

INTERRUPTED = 130
COLD = 32, 28  # kernels, seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier certify`."""
    from luthier.landscape.certified.certify import CertifyOptions
    from luthier.landscape.certified.windows import WindowOptions

    add_axis_options(parser)
    parser.add_argument("--span", metavar="W", help="other weights: the window holds them and w0, with a margin")
    parser.add_argument("--margin", type=float, metavar="X", help="how far beyond them (with --span; default: 0.1)")
    parser.add_argument("-w", "--weights-out", metavar="F", help="write the best weights found")
    add_metric_options(parser, "bleu")
    add_field_options(parser, WindowOptions, "the window")
    add_field_options(parser, CertifyOptions, "the search")


def run(options: argparse.Namespace, output: Output) -> int:
    """Search, say what is proven, write what was asked for."""
    from luthier.core.errors import Interrupted, LuthierError
    from luthier.core.files.io import check_apart, check_distinct, check_writable
    from luthier.jobs.certify import certify
    from luthier.landscape.certified.certify import CertifyOptions
    from luthier.landscape.certified.windows import WindowOptions

    metric = metric_from(options)
    window, settings = (field_values(kind, options) for kind in (WindowOptions, CertifyOptions))
    place, checkpoint = (
        WindowOptions(**window),
        CertifyOptions(**settings).checkpoint,
    )  # wrong ones before lists are read
    if options.span and (place.window or place.reach or place.whole):
        raise LuthierError("expected --span or a window of another kind, found both")
    if options.margin is not None and (not options.span or not options.margin > 0):
        raise LuthierError("--margin is a number above 0, and needs --span")
    check_distinct(options.weights_out, checkpoint)
    for path in filter(None, [options.weights_out, checkpoint]):
        check_writable(path)
        check_apart(path, options.pool, options.weights, options.span, *options.axis)
    pool = pool_from(options, options.pool)
    try:
        found = certify(
            pool,
            metric,
            weights=options.weights,
            axis=options.axis,
            span=options.span or None,
            margin=options.margin,
            **window,
            **settings,
        )
    except Interrupted as stopped:
        found = stopped.result
    show_certificate(found, options.weights_out, output)
    return INTERRUPTED if found.certificate.stopped else 0
