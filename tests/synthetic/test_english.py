"""Synthetic outputs in English: sentences that say their notes, mistakes that show, scorers of unequal worth."""

import json

import numpy as np
import pytest

import luthier
from luthier.core.params import ParameterError
from luthier.core.rng import make_rng
from luthier.synthetic.english.lexicon import ALIKE, VERBS
from luthier.synthetic.english.outputs import SCORERS, SyntheticOutputs
from luthier.synthetic.english.sentence import MISTAKES, Meaning, article, draw_meaning, possible

FULL = Meaning("baker", "young", VERBS[0], "letter", "expensive", "nurse", "at the market", "yesterday")
BARE = Meaning("cook", "", VERBS[-1], "apple", "", "", "", "")
RIGHT = "The young baker sent an expensive letter to the nurse at the market yesterday."


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    path = tmp_path_factory.mktemp("english") / "outputs.jsonl"
    SyntheticOutputs().write(path, 20150531)
    return luthier.read_pool(path)


def test_a_note_becomes_a_sentence():
    assert FULL.note == "young baker / send / expensive letter / to nurse / at the market / yesterday"
    assert FULL.say() == RIGHT
    assert BARE.note == "cook / taste / apple"
    assert BARE.say() == "The cook tasted an apple."


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("tense", RIGHT.replace("sent", "sends")),
        ("agreement", RIGHT.replace("sent", "send")),
        ("article", RIGHT.replace("an expensive", "expensive")),
        ("repetition", RIGHT.replace("at the market", "at the market at the market")),
        ("person", RIGHT.replace("baker", "cook")),
        ("place lost", RIGHT.replace(" at the market", "")),
        ("time lost", RIGHT.replace(" yesterday", "")),
        ("adjective lost", RIGHT.replace("young ", "")),
        ("exchange", "The young nurse sent an expensive letter to the baker at the market yesterday."),
        ("time first", "Yesterday the young baker sent an expensive letter to the nurse at the market."),
        ("preamble", f"Sure, here you go: {RIGHT}"),
    ],
)
def test_a_mistake_shows(mistake, said):
    assert FULL.say([mistake]) == said


def test_every_possible_mistake_changes_the_sentence_and_no_other_does():
    rng = make_rng(3)
    for _ in range(100):
        meaning = draw_meaning(rng)
        for mistake in MISTAKES:
            assert (meaning.say([mistake], rng) != meaning.say()) == (mistake in possible(meaning)), (mistake, meaning)


def test_words_are_taken_for_others_of_their_line():
    assert set(ALIKE["baker"]) == {"cook", "waiter"}
    assert all(word in ALIKE[other] for word, others in ALIKE.items() for other in others)
    assert [article(word) for word in ("apple", "old map", "pear", "expensive hat")] == ["an", "an", "a", "an"]


def test_the_same_seed_gives_the_same_bytes_and_more_inputs_begin_with_fewer(tmp_path):
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    for path, inputs, seed in zip(paths, (5, 8, 5), (1, 1, 2), strict=True):
        assert SyntheticOutputs(inputs=inputs, k=4).write(path, seed) == inputs * 4
    short, long, other = (path.read_bytes() for path in paths)
    assert long.startswith(short)
    assert other != short
    assert set(json.loads(short.splitlines()[0])) == {"id", "source", "ref", "hyp", *SCORERS}


def test_lists_are_full_and_no_output_stands_twice(lists):
    assert lists.features.names == SCORERS
    assert (lists.n_sentences, lists.n_hypotheses) == (300, 4800)


def test_scorers_are_of_unequal_worth_and_one_of_none(lists):
    problem = luthier.ListProblem.of(lists, luthier.load_metric("chrf"))
    own = problem.metric.score(problem.stats)
    lists_of = np.repeat(np.arange(lists.n_sentences), lists.list_lengths)
    values = lists.features.dense
    center = [np.bincount(lists_of, column) / lists.list_lengths for column in (own, *values.T)]
    worth = {
        name: float(np.corrcoef(own - center[0][lists_of], values[:, d] - center[d + 1][lists_of])[0, 1])
        for d, name in enumerate(SCORERS)
    }
    assert worth["qe"] > worth["judge"] > 0.2
    assert abs(worth["noise"]) < 0.05
    perfect = np.maximum.reduceat(own, lists.offsets[:-1]) == 100.0
    assert 0.2 < perfect.mean() < 0.9  # there is something to find, and not always


def test_too_few_outputs_are_refused():
    with pytest.raises(ParameterError, match="inputs"):
        SyntheticOutputs(inputs=0)
