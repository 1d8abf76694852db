"""Whole jobs with language models: text to ARPA file, and the perplexity of a text."""

from __future__ import annotations

import dataclasses

from luthier.core.files.io import check_apart, check_writable, display_name
from luthier.core.files.tables import check_table_path, write_table
from luthier.core.files.written import Written
from luthier.corpus.lines import read_lines
from luthier.lm.arpa import write_arpa
from luthier.lm.estimate import Estimate, EstimateOptions, estimate_lm
from luthier.lm.model import Perplexity, perplexity, sentence_columns
from luthier.lm.storage import open_lm


@dataclasses.dataclass(frozen=True)
class EstimateJob:
    """Estimate a model of `text` and write it to `output`."""

    text: str
    output: str
    options: EstimateOptions

    def run(self) -> Estimate:
        """Do it; return what was written."""
        check_writable(self.output)
        check_apart(self.output, self.text)
        made = estimate_lm(read_lines(self.text), self.options, path=display_name(self.text))
        write_arpa(made.model, self.output)
        return made


@dataclasses.dataclass(frozen=True)
class PerplexityJob:
    """Score `text` by the model at `model`; `per_line` is a table to write of every line, where it is wanted."""

    model: str
    text: str
    per_line: str | None = None
    skip_symbols: bool = False

    def run(self, written: Written) -> Perplexity:
        """Do it; what became of the table is known to `written`."""
        if self.per_line:
            check_table_path(self.per_line)
            check_apart(self.per_line, self.model, self.text)
        model = open_lm(self.model)
        texts = read_lines(self.text)
        tokens = model.tokens(texts, display_name(self.text), skip_symbols=self.skip_symbols)
        scores = model.score_tokens(tokens)
        result = perplexity(scores)
        if self.per_line:
            about = {"model": display_name(self.model), "text": display_name(self.text)}
            with written.answer(self.per_line):
                write_table(self.per_line, sentence_columns(scores), {**about, **dataclasses.asdict(result)})
        return result
