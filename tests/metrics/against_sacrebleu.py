"""Random small texts, and sacrebleu's word on them."""

import numpy as np
import sacrebleu
from hypothesis import strategies as st

# Few words, so that they repeat; some with capitals, punctuation and letters of more than one byte.
WORDS = ("a", "b", "c", "ab", "Ba", "ÄΣ", "ß,", "(x)", "x.", ".", "𝒳y", "İ")
SPACES = (" ", " ", " ", "  ", "\u00a0", "\u3000 ", "\t")


@st.composite
def lines(draw, words=WORDS, max_words=9):
    chosen = draw(st.lists(st.sampled_from(words), max_size=max_words))
    gaps = draw(st.lists(st.sampled_from(SPACES), min_size=len(chosen) + 1, max_size=len(chosen) + 1))
    padded = draw(st.booleans())
    text = "".join(gap + word for gap, word in zip(gaps, chosen, strict=False))
    return text + gaps[-1] if padded else text.strip()


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
