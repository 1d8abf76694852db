"""Write synthetic K-best lists with references, sources and weights.

  luthier synthetic lists lists/ --sentences 200 --k 100

The lists come from a noisy channel: a synthetic language, a channel that garbles it, and a decoder whose scorers are
of unequal worth (docs/synthetic-lists.md). The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier synthetic lists`, from the generator's own fields."""
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    parser.add_argument("folder", metavar="FOLDER", help="where to write; it is made if need be")
    add_field_options(parser, SyntheticLists)


def run(options: argparse.Namespace, output: Output) -> None:
    """Generate, write, and say what was written."""
    from luthier.report.console import table
    from luthier.synthetic.lists.noisy_channel import SyntheticLists, write

    pool = SyntheticLists(**field_values(SyntheticLists, options)).generate(options.seed)
    files = write(pool, options.folder)
    output.note(f"seed {options.seed}: {pool.n_sentences:,} sentences, {pool.n_hypotheses:,} hypotheses")
    rows = [(str(path), path.stat().st_size) for path in files]
    output.emit(
        {
            "seed": options.seed,
            "sentences": pool.n_sentences,
            "hypotheses": pool.n_hypotheses,
            "files": [path for path, _ in rows],
        },
        lambda: table("written", ("file", "bytes"), rows),
    )
