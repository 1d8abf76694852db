"""Draw which weights select what: polytope and normal fan of a list.

  luthier geometry fan pool.arrow --sentence 3 --axis lm --axis length -o fan.png
  luthier geometry fan pool.arrow --sentence 3 --sentence 7 --axis lm --axis length --metric bleu -o sum.png
  luthier geometry fan pool.arrow --sentence 3 --axis lm --axis length --weights weights.txt --regularize -o near.png
  luthier geometry fan --example table1 -o fan.png

Sentences and hypotheses are numbered from 0. One sentence is drawn step by step, two with their Minkowski sum
and common refinement. --regularize compares a penalised line search through the weights with the nearest good
cone by angle; it takes any number of sentences. An axis is a feature by its name or a file of 'name value'
lines; other directions of the weights count 0, so give the weights themselves as an axis to keep them.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.landscape import add_picture_options, picture_width
from luthier.cli.options.weights import add_metric_options, metric_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier geometry fan`."""
    parser.add_argument("pool", nargs="?", metavar="POOL")
    parser.add_argument("--sentence", type=int, action="append", default=[], metavar="N", help="a sentence, from 0")
    parser.add_argument("--axis", action="append", default=[], metavar="A", help="a feature, or a file of a direction")
    parser.add_argument("--weights", metavar="W", help="weights to mark: their part along the two axes")
    parser.add_argument("--example", metavar="NAME", help="table1, figure3 or figure5 of the paper, in place of a pool")
    parser.add_argument(
        "--regularize", action="store_true", help="show what a penalty on the distance from the weights chooses"
    )
    parser.add_argument(
        "--strength",
        type=float,
        metavar="B",
        help="penalty of a step of length 1 on the line (default: from the scores)",
    )
    parser.add_argument("--tolerance", type=float, metavar="E", help="scores this close to the best are good (0)")
    parser.add_argument("-o", "--output", required=True, metavar="F", help="the picture: a PNG, PDF or SVG file")
    add_picture_options(parser, None)
    add_metric_options(parser, "none; bleu where --regularize needs one")
    parser.set_defaults(metric=None)


def run(options: argparse.Namespace, output: Output) -> None:
    """Find the fan, print its cones and draw it."""
    from pathlib import Path

    from luthier.core.errors import LuthierError
    from luthier.core.files.written import Written
    from luthier.jobs.fan import fan
    from luthier.report.figures.fan import draw_scene
    from luthier.report.tables.geometry import fan_tables

    if (options.pool is None) == (options.example is None):
        raise LuthierError("expected a pool or --example, found both or neither")
    width = picture_width(options, options.output)
    if options.example and (options.sentence or options.axis or options.weights or options.metric):
        raise LuthierError(
            "--example has sentences, axes, weights and scores of its own. hint: leave those options out"
        )
    found = fan(
        options.pool,
        sentence=options.sentence,
        axis=options.axis,
        weights=options.weights,
        metric=metric_from(options) if options.metric else None,
        example=options.example,
        regularize=options.regularize,
        strength=options.strength,
        tolerance=options.tolerance,
    )
    written = Written()
    with written.answer(options.output):
        draw_scene(found.scene, found.near, Path(options.output), width)
    data = found.as_dict() | {"written": options.output}
    output.emit(data, lambda: fan_tables(found.scene, found.near, options.output))
    written.check()
