"""Write synthetic outputs of a language model, with five scores each.

  luthier synthetic outputs outputs.jsonl --inputs 300 --k 16

Inputs are short notes. Outputs are English sentences with random mistakes. The five scorers are of unequal worth
(docs/first-steps.md). The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse

from luthier.cli.options.fields import add_field_options, field_values
from luthier.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `luthier synthetic outputs`, from the generator's own fields."""
    from luthier.synthetic.english.outputs import SyntheticOutputs

    parser.add_argument("file", metavar="JSONL", help="where to write, as JSON Lines")
    add_field_options(parser, SyntheticOutputs)


def run(options: argparse.Namespace, output: Output) -> None:
    """Generate, write, and say what was written."""
    from luthier.core.files.io import check_writable
    from luthier.report.console import as_text
    from luthier.synthetic.english.outputs import SCORERS, SyntheticOutputs

    check_writable(options.file)
    generator = SyntheticOutputs(**field_values(SyntheticOutputs, options))
    count = generator.write(options.file, options.seed)
    about = {
        "seed": options.seed,
        "inputs": generator.inputs,
        "outputs": count,
        "scorers": SCORERS,
        "file": options.file,
    }
    told = f"{options.file}: {count:,} outputs of {generator.inputs:,} inputs, scored by {', '.join(SCORERS)}"
    output.emit(about, lambda: as_text(told))
