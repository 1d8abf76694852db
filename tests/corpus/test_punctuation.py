"""Texts that look raw, or tokenised otherwise than what they are compared with."""

import warnings

import pytest

from luthier.core.errors import LuthierWarning
from luthier.corpus.texts import Texts
from luthier.corpus.tokenizers import tokenization_warning
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric

RAW = [f"It rains on day {i}." for i in range(20)]
SPLIT = [f"It rains on day {i} ." for i in range(20)]
SPEECH = [f"it rains on day {i}" for i in range(20)]


@pytest.mark.parametrize(
    "hyps, refs, told",
    [
        (RAW, RAW, "the texts look untokenised"),
        (RAW, SPLIT, "the hypotheses have punctuation glued to words and the other side has not"),
        (SPLIT, RAW, "the references have punctuation glued"),
        (SPLIT, SPLIT, ""),
        (SPEECH, SPEECH, ""),
        (SPEECH, RAW, "the texts look untokenised"),  # one side has no punctuation: 'day.' is no 'day'
        (RAW, SPEECH, "the texts look untokenised"),
        (SPEECH, SPLIT, ""),
        (RAW[:5], RAW[:5], ""),  # too few to tell
    ],
)
def test_what_is_said_of_texts(hyps, refs, told):
    said = tokenization_warning(hyps, refs)
    assert said.startswith(told) if told else said == ""


def test_words_of_raw_text_are_warned_of_once_and_not_with_a_tokenizer():
    batch = Batch.from_lines(Texts.from_strings(RAW), [Texts.from_strings(RAW)])
    with pytest.warns(LuthierWarning, match="look untokenised .* hint: `tokenize` 13a"):
        load_metric("bleu").stats(batch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_metric("wer").stats(batch)  # it was said already
        fresh = Batch.from_lines(Texts.from_strings(RAW), [Texts.from_strings(RAW)])
        load_metric("bleu", defaults={"tokenizer": "13a"}).stats(fresh)
        load_metric("chrf").stats(fresh)
