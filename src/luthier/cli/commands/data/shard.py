"""Cut a pool into shards, so that no process need hold all of it.

  luthier data shard pool.arrow --shards 64 --metric bleu -o shards
  luthier tune shards/manifest.json --method mert --cluster local:4 -o weights.txt

Sentences keep their order, and all shards have about the same number of hypotheses. Statistics that the pool has, and
those of the metrics named here, go into the shards: commands that score shards take them from there. 'rerank',
'oracle', 'tune' and 'surface --raster' take a manifest, or its folder, in place of a pool. Their results are those of
the pool in one piece, byte for byte.
"""

from __future__ import annotations

import argparse
import dataclasses

from luthier.cli.options.lists import HELP, add_pool_options, pool_from
from luthier.cli.options.weights import add_metric_options, metrics_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier data shard`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--shards", type=int, required=True, metavar="N", help="how many shards")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="a folder for the shards: new, or empty")
    add_metric_options(parser, "none")
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Cut, write, say what was written."""
    from luthier.kbest.shards.shard import empty_folder, shard
    from luthier.metrics.pools import with_statistics
    from luthier.report.console import table

    metrics = {} if options.metric == "none" else metrics_from(options)
    empty_folder(options.output)
    pool = pool_from(options, options.pool)
    for metric in metrics.values():
        pool = with_statistics(pool, metric)
    manifest = shard(pool, options.shards, options.output)
    rows = [(part.file, part.sentences, part.hypotheses, part.size, part.digest) for part in manifest.parts]
    data = {
        "manifest": manifest.path,
        "pool": manifest.pool,
        "statistics": list(manifest.stats),
        "parts": [dataclasses.asdict(part) for part in manifest.parts],
    }
    kept = ", ".join(manifest.stats) or "no statistics: commands that score parts need some ('--metric')"
    headings = ("part", "sentences", "hypotheses", "bytes", "digest")
    output.emit(data, lambda: table(f"parts of {manifest.path}", headings, rows, caption=kept))
