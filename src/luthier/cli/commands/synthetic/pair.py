"""Write a synthetic language pair, to train translation systems on.

  luthier synthetic pair corpus/ --train 20000 --tune 500 --heldout 500 --test 500

Two synthetic languages, spoken by two grammars from common meanings: ambiguous words, synonyms, local and
long-distance reordering, agreement, rare and unknown words (docs/language-pair.md). The same seed gives
the same bytes; a larger part begins with the smaller one.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.output import Output

PARTS = {"train": 20_000, "tune": 500, "heldout": 500, "test": 500}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier synthetic pair`, from the generator's own fields."""
    from luthier.synthetic.pair.pair import PairGenerator

    parser.add_argument("folder", metavar="FOLDER", help="where to write; it is made if need be")
    for part, size in PARTS.items():
        parser.add_argument(f"--{part}", type=int, default=size, metavar="N", help=f"sentences of this part ({size})")
    add_field_options(parser, PairGenerator)


def run(options: argparse.Namespace, output: Output) -> None:
    """Generate, write, and say what was written."""
    from luthier.report.console import table
    from luthier.synthetic.pair.pair import PairGenerator

    generator = PairGenerator(**field_values(PairGenerator, options))
    sizes = {part: getattr(options, part) for part in PARTS}
    files = generator.write(options.folder, **sizes, seed=options.seed)
    output.note(f"seed {options.seed}")
    rows = [(str(path), path.stat().st_size) for path in files]
    output.emit(
        {"seed": options.seed, "sizes": sizes, "files": [path for path, _ in rows]},
        lambda: table("written", ("file", "bytes"), rows),
    )
