"""Random small texts, and sacrebleu's word on them."""

import numpy as np
import sacrebleu
from hypothesis import strategies as st

# Few words, so that they repeat; some with capitals, punctuation, letters of more than one byte, other
# white space, and none, which joins neighbours.
PIECES = (
    "a ", "b ", "c ", "a ", "b ", "ab\u3000", "Ba ", "ÄΣ ", "ß, ", "(x) ", "x.\t", ". ", "𝒳y\u00a0", "İ",
)  # fmt: skip


def lines(max_pieces=9):
    return st.lists(st.sampled_from(PIECES), max_size=max_pieces).map("".join)


@st.composite
def corpora(draw, max_sentences=4, max_refs=4):
    """Draw (hypotheses, reference streams)."""
    n = draw(st.integers(1, max_sentences))
    r = draw(st.integers(1, max_refs))
    column = st.lists(lines(), min_size=n, max_size=n)
    return draw(column), [draw(column) for _ in range(r)]


def sentence_values(metric, hyps, streams):
    """Return sacrebleu's value of every sentence alone."""
    return np.array(
        [metric.corpus_score([hyp], [[stream[i]] for stream in streams]).score for i, hyp in enumerate(hyps)]
    )


def sentence_stats(metric, hyps, streams):
    """Return sacrebleu's statistics of every sentence, (N, S)."""
    return np.array(metric._extract_corpus_statistics(hyps, streams))


__all__ = ["corpora", "lines", "sentence_values", "sentence_stats", "sacrebleu"]
