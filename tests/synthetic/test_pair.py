"""The synthetic language pair: what it promises to those who train on it."""

import dataclasses
import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from luthier.core.params import ParameterError
from luthier.core.rng import make_rng
from luthier.corpus.lines import read_lines
from luthier.synthetic.pair.concepts import ANY_TOPIC
from luthier.synthetic.pair.draws import BLOCK, Bag, Draws
from luthier.synthetic.pair.forms import (
    ADJECTIVE_ENDINGS,
    DEFINITE,
    INDEFINITE,
    OF_DEFINITE,
    RELATIVES,
    SOURCE_PARTICLES,
    harmony,
)
from luthier.synthetic.pair.pair import PARTS, PairGenerator

SMALL = PairGenerator(vocabulary=400)


@pytest.fixture(scope="module")
def train():
    return list(SMALL.pairs("train", 400))


@pytest.fixture(scope="module")
def test():
    return list(SMALL.pairs("test", 80))


def concepts(side):
    """Return the content words' concepts by node."""
    found = set()
    for node, label in zip(side.nodes, side.labels, strict=True):
        concept = label.split(".")[0]
        if concept[-1:].isdigit() or concept in ("name", "number"):
            found.add((node, concept))
    return found


# ---- the same sentences, always -----------------------------------------------------------------------


def test_same_seed_same_sentences_other_seed_others(train):
    again = list(PairGenerator(vocabulary=400).pairs("train", 30))
    assert again == train[:30]
    assert [p.source for p in SMALL.pairs("train", 30, seed=1)] != [p.source for p in again]
    other = dataclasses.replace(SMALL, language=1)
    assert not {p.source for p in other.pairs("train", 30)} & {p.source for p in again}


def test_a_sentence_does_not_depend_on_how_many_there_are(train):
    assert list(SMALL.pairs("train", 7)) == train[:7]
    assert SMALL.pair("train", 123) == train[123]


def test_first_references_do_not_depend_on_how_many_there_are(test):
    few = dataclasses.replace(SMALL, references=2)
    for index in range(10):
        assert few.pair("test", index).references == test[index].references[:2]


def test_every_part_has_its_number_of_references():
    generator = dataclasses.replace(SMALL, references=3, tune_references=2)
    counts = {part: len(generator.pair(part, 0).references) for part in PARTS}
    assert counts == {"train": 1, "tune": 2, "heldout": 3, "test": 3}


def test_seeds_may_be_zero_or_huge_and_numpy_numbers():
    pairs = {SMALL.pair("tune", 0, seed=seed).source for seed in (0, 1, 2**32, 2**70)}
    assert len(pairs) == 4
    assert SMALL.pair("tune", np.int64(3), seed=np.int32(0)) == SMALL.pair("tune", 3)


def test_parts_have_no_sentence_in_common():
    # Bare clauses of few words: the same sentence is drawn again and again.
    terse = PairGenerator(vocabulary=200, elaboration=0.0, names=0.0)
    sizes = dict(zip(PARTS, (500, 100, 100, 100), strict=True))
    sources = {part: [str(p.source) for p in terse.pairs(part, size)] for part, size in sizes.items()}
    assert len(set(sources["train"])) < 500
    for one, two in itertools.combinations(PARTS, 2):
        assert not set(sources[one]) & set(sources[two])
    assert not {str(p.source) for p in terse.pairs("train", 100, seed=5)} & set(sources["test"])


# ---- the languages --------------------------------------------------------------------------------------


def test_references_differ_in_words_but_share_their_meaning(test):
    for pair in test:
        meanings = {frozenset(concepts(reference)) for reference in pair.references}
        assert len(meanings) == 1
    different = [len({str(r) for r in pair.references}) for pair in test]
    assert np.mean([d >= 3 for d in different]) > 0.6


def test_words_agree_with_their_noun(train, test):
    seen = Counter()
    for side in [r for p in [*train, *test] for r in p.references]:
        # A compound has a second noun at the same place; only its head has a number.
        nouns = {
            node: label.split(".")[1:]
            for node, label in zip(side.nodes, side.labels, strict=True)
            if label.startswith("noun") and "." in label
        }
        for word, label, head in zip(side.words, side.labels, side.heads, strict=True):
            kind, *features = label.split(".")
            if head < 0 or len(features) != 2:
                continue
            assert features == nouns[head]
            form = 2 * int(features[0]) + (features[1] == "PL")
            if kind == "article":
                assert word in (DEFINITE[form], INDEFINITE[form], OF_DEFINITE[form])
            elif kind == "relative":
                assert word in (RELATIVES[0][form], RELATIVES[1][form])
            else:
                assert kind.startswith("adjective")
                assert word.endswith(ADJECTIVE_ENDINGS[form])
            seen[kind.rstrip("0123456789")] += 1
    assert min(seen["article"], seen["relative"], seen["adjective"]) > 20


def test_verbs_agree_with_their_subject(train):
    checked = 0
    for side in [p.references[0] for p in train]:
        numbers = {}
        for node, label in zip(side.nodes, side.labels, strict=True):
            if label.startswith(("noun", "pronoun")) and "." in label:
                numbers[node] = label.rsplit(".", 1)[1]
        for label, head in zip(side.labels, side.heads, strict=True):
            if head in numbers and label.startswith(("verb", "AUX")):
                assert label.endswith(numbers[head])
                checked += 1
    assert checked > 200


def test_endings_of_the_source_language_follow_the_last_vowel():
    assert [harmony(stem) for stem in ("taxo", "tixe", "kush", "yöm", "rr")] == [0, 1, 0, 1, 0]


def test_senses_of_a_noun_are_told_apart_by_topic():
    nouns = {noun for bags in SMALL.lexicon.nouns for bag in bags for noun in bag.items}
    by_stem = {}
    for noun in nouns:
        by_stem.setdefault(noun.stems.items[0].text, []).append(noun)
    shared = [group for group in by_stem.values() if len(group) > 1]
    assert len(shared) > 10
    for group in shared:
        topics = [noun.topic for noun in group]
        assert ANY_TOPIC not in topics
        assert len(set(topics)) == len(topics)


def test_without_ambiguity_and_synonyms_there_are_none():
    plain = PairGenerator(vocabulary=300, ambiguity=0.0, synonymy=0.0).lexicon
    nouns = {noun for bags in plain.nouns for bag in bags for noun in bag.items}
    stems = [stem.text for noun in nouns for stem in noun.stems.items]
    assert len(stems) == len(set(stems))
    assert all(len(bag) == 1 for noun in nouns for bag in noun.words)


def test_words_move_near_and_far(train):
    jumps, parted = Counter(), 0
    for pair in train:
        links = pair.links
        jumps.update(min(5, abs(b[1] - a[1] - 1)) for a, b in itertools.pairwise(links) if b[0] == a[0] + 1)
        words, nodes = pair.source.words, pair.source.nodes
        for i, (word, node) in enumerate(zip(words, nodes, strict=True)):
            if word in SOURCE_PARTICLES and node >= 0 and node in nodes[: max(0, i - 2)]:
                parted += 1
    assert parted > 10
    assert jumps[2] > 100
    assert jumps[5] > 100


def test_links_join_words_of_one_meaning(train):
    linked = 0
    for pair in train:
        target = pair.references[0]
        assert list(pair.links) == sorted(set(pair.links))
        for i, j in pair.links:
            assert pair.source.nodes[i] == target.nodes[j] != -1
        linked += len({j for _, j in pair.links})
    # Definite articles and commas have no counterpart.
    assert 0.75 < linked / sum(len(p.references[0]) for p in train) < 0.95


def test_names_and_numbers_are_copied(test):
    names = numbers = 0
    for pair in test:
        source = Counter(w for w in pair.source.words if w[0].isupper() or w[0].isdigit())
        for reference in pair.references:
            assert source == Counter(w for w in reference.words if w[0].isupper() or w[0].isdigit())
        names += sum(w[0].isupper() for w in source)
        numbers += sum(w[0].isdigit() for w in source)
    assert names > 5
    assert numbers > 5


def test_sentences_are_as_long_as_real_ones(train):
    for lengths in (
        np.array([len(p.source) for p in train]),
        np.array([len(p.references[0]) for p in train]),
    ):
        assert 11 < lengths.mean() < 22
        assert lengths.min() >= 2
        assert np.percentile(lengths, 95) > 2 * np.median(lengths)
    assert {p.source.words[-1] for p in train} == {".", "?", "!"}


def test_the_gloss_has_a_label_for_each_word(train):
    for pair in train[:50]:
        assert len(pair.gloss.split()) == len(pair.source)


def test_the_samples_of_the_page_are_what_the_snippet_prints(capsys):
    page = (Path(__file__).parents[2] / "docs" / "language-pair.md").read_text(encoding="utf-8")
    samples = page[page.index("## Samples") :]
    snippet = samples.split("```python\n")[1].split("```")[0]
    exec(compile(snippet, "language-pair.md", "exec"), {})
    printed = samples.split("```text\n")[1].split("```")[0]
    assert capsys.readouterr().out.strip() == printed.strip()


@pytest.mark.slow
def test_test_parts_have_unknown_words():
    generator = PairGenerator()
    known = {word for pair in generator.pairs("train", 5000) for word in pair.source.words}
    words = [word for pair in generator.pairs("test", 200) for word in pair.source.words]
    assert 0.01 < np.mean([word not in known for word in words]) < 0.08


# ---- files ----------------------------------------------------------------------------------------------


def test_written_files_have_equal_line_counts_and_come_back(tmp_path, train):
    SMALL.write(tmp_path / "new", train=12, tune=5, heldout=0, test=6, seed=0)
    folder = tmp_path / "new"
    files = {path.name: len(read_lines(path)) for path in folder.glob("*.txt")}
    expected = {f"train.{kind}.txt": 12 for kind in ("source", "links", "refs.0")}
    expected |= {f"tune.{kind}.txt": 5 for kind in ("source", "links", "refs.0")}
    expected |= {f"test.{kind}.txt": 6 for kind in ("source", "links", *(f"refs.{r}" for r in range(4)))}
    assert files == expected
    assert list(read_lines(folder / "train.source.txt")) == [str(p.source) for p in train[:12]]
    assert list(read_lines(folder / "train.refs.0.txt")) == [str(p.references[0]) for p in train[:12]]
    links = [
        tuple(tuple(map(int, link.split("-"))) for link in line.split())
        for line in read_lines(folder / "train.links.txt")
    ]
    assert links == [p.links for p in train[:12]]
    signature = json.loads((folder / "pair.json").read_text(encoding="utf-8"))
    assert signature["sizes"] == {"train": 12, "tune": 5, "heldout": 0, "test": 6}
    assert signature["seed"] == 0
    assert PairGenerator(**signature["parameters"]) == SMALL


def test_the_same_call_writes_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        SMALL.write(tmp_path / name, train=5, tune=2, heldout=2, test=2, seed=3)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in ("one", "two"))
    assert one == two


# ---- complaints -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(PairGenerator)])
@pytest.mark.parametrize("value", ["many", None, -1, float("nan"), [3], True])
def test_garbage_parameters_are_refused(field, value):
    with pytest.raises(ParameterError, match=f"the '{field}' parameter of pair must be"):
        PairGenerator(**{field: value})


@pytest.mark.parametrize("value", [-1, 2.5, "ten", None, True])
def test_garbage_sizes_and_seeds_are_refused(tmp_path, value):
    for name in (*PARTS, "seed"):
        sizes = {"train": 1, "tune": 1, "heldout": 1, "test": 1, "seed": 0, name: value}
        with pytest.raises(ParameterError, match=f"the '{name}' parameter of pair must be an int"):
            SMALL.write(tmp_path / "none", **sizes)
    assert not (tmp_path / "none").exists()
    with pytest.raises(ParameterError, match="'index'"):
        SMALL.pair("train", value)


def test_unknown_parts_are_refused():
    with pytest.raises(ParameterError, match="one of train, tune, heldout, test, got 'dev'"):
        SMALL.pair("dev", 0)


# ---- the choices ------------------------------------------------------------------------------------------


def test_a_bag_gives_things_as_often_as_their_weights_say():
    draws, bag = Draws(make_rng(0)), Bag("abc", [1.0, 2.0, 7.0])
    counts = Counter(bag.draw(draws) for _ in range(5000))
    assert counts["a"] / 5000 == pytest.approx(0.1, abs=0.02)
    assert counts["c"] / 5000 == pytest.approx(0.7, abs=0.03)


def test_draws_go_on_behind_a_block():
    draws = Draws(make_rng(0))
    values = [draws.unit() for _ in range(3 * BLOCK)]
    assert values == make_rng(0).random(3 * BLOCK).tolist()
    assert np.mean([draws.erlang(4) for _ in range(4000)]) == pytest.approx(1.0, abs=0.05)
