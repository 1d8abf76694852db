"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np

from luthier.corpus.texts import Texts
from luthier.features.bins import cut_values
from luthier.features.counts import TARGET_WORDS, with_target_words
from luthier.features.fit_bins import bins_of_grammar
from luthier.features.rewrite_grammar import Rewriter, rewrite_grammar
from luthier.grammar.reading import read_grammar
from luthier.kbest.features import Features

RULES = "[X] ||| a ||| b c ||| p=1 ||| 0-0\n[X] ||| b ||| c ||| p=2 ||| 0-0\n"


def _bins() -> None:
    for exact in (False, True):
        cut_values(np.array([1, 2, 3]), 2, exact=exact)


def _rules() -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "grammar")
        path.write_text(RULES, encoding="utf-8")
        bins = bins_of_grammar(read_grammar(path), ["p", TARGET_WORDS])
        rewrite_grammar(path, Rewriter(bins), io.BytesIO())
    with_target_words(Features.from_dense((), np.zeros((1, 0))), Texts.from_strings(["[X] ||| a ||| b"]))


JOBS = (_bins, _rules)
