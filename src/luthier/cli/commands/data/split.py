"""Cut a pool by sentence into disjoint parts.

luthier data split pool.arrow --into tune.arrow=0.8 --into heldout.arrow=0.2
"""

from __future__ import annotations

import argparse

from luthier.cli.options.lists import HELP, add_pool_options, pairs, pool_from
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier data split`."""
    parser.add_argument("pool", metavar="POOL", help=HELP)
    parser.add_argument("--into", action="append", required=True, metavar="POOL=X", help="a part and its share")
    add_pool_options(parser)


def run(options: argparse.Namespace, output: Output) -> None:
    """Draw the parts and save them."""
    from luthier.core.files.io import check_writable
    from luthier.kbest.merge import split
    from luthier.kbest.storage.pool_file import save_pool
    from luthier.report.console import table

    shares = pairs(options.into, float, "--into")
    for path in shares:
        check_writable(path)
    parts = split(pool_from(options, options.pool), shares, seed=options.seed)
    for path, part in parts.items():
        save_pool(part, path)
    rows = [(path, part.n_sentences, part.n_hypotheses) for path, part in parts.items()]
    output.note(f"seed {options.seed}")
    output.emit(
        {"seed": options.seed, "parts": [{"path": p, "sentences": n, "hypotheses": m} for p, n, m in rows]},
        lambda: table("parts", ("pool", "sentences", "hypotheses"), rows),
    )
