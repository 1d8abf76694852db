"""Ordinary text: words and back, capitals, what is never cut, and what a model's folder says of it."""

import itertools
import json
import math
import unicodedata

import hypothesis
import pytest
from hypothesis import strategies as st

from luthier.core.errors import InputError, LuthierError
from luthier.corpus.raw_text import FILE, Casing, Compounds, Language, Stems, TextForm, TextSettings

GERMAN = [
    "Zwei junge Männer sitzen im Freien, und der Hund bellt.",
    "Der Hund (ein Dackel) kostet 3.500,50 Euro – nicht mehr!",
    "„Komm her“, sagte Anna zum Hund. Der Hund kam z.B. nie.",
    "Ein Hund von Anna sitzt im Garten, und zwei Katzen auch.",
]
ENGLISH = [
    "Two young men sit outside, and the dog barks.",
    "The dog (a dachshund) costs 3,500.50 euros, that's all!",
    '"Come here", said Anna to the dog. The dog never came.',
    "A dog of Anna's sits in the garden; so do two cats.",
]


def form(**settings):
    return TextForm.learned(TextSettings("de", "en", **settings), GERMAN, ENGLISH)


CZECH = ["Fotbalista má na sobě dres s číslem 4.", "Stojí 2,50 Kč, a ne 3,5."]


@pytest.mark.parametrize("code, lines", [("de", GERMAN), ("en", ENGLISH), ("cs", CZECH)])
def test_words_become_the_line_again(code, lines):
    language = Language(code)
    for line in lines:
        assert language.line(language.words(line)) == line


@pytest.mark.parametrize("sign", ["&", "<", ">", '"', "[", "]", "|", "'", "&amp;", "&#124;"])
def test_nothing_is_escaped(sign):
    assert sign in Language("en").words(f"this {sign} that")


@pytest.mark.parametrize("whole", ["https://example.org/a?b=c&d=1", "a.b+c@example.org", "&quot;"])
def test_addresses_stay_whole(whole):
    assert Language("de").words(f"Siehe {whole}, dann los.")[1] == whole


def test_blanks_of_all_kinds_separate_words():
    assert Language("en").words("one\u00a0two\tthree\u2003four \r") == ["one", "two", "three", "four"]
    assert Language("en").words("   ") == []


def test_capitals_that_only_begin_a_sentence_go():
    assert form().source_lines(["Zwei Hunde.", "Der Hund von Anna. Der Dackel!"])[0] == "zwei Hunde ."
    assert list(form().source_lines(["Der Hund von Anna. Der Dackel!"])) == ["der Hund von Anna . der Dackel !"]
    assert list(form().target_lines(["Anna and the dog.", '"The dog"'])) == ["Anna and the dog .", '" the dog "']


def test_a_line_in_capitals_is_read_as_it_is_usually_written():
    assert list(form().source_lines(["DER HUND VON ANNA SITZT"])) == ["der Hund von Anna sitzt"]


def test_capitals_come_back():
    lines = ["anna 's dog , and the cats", "the dog . the Dog"]
    assert list(form().restored(lines, ["", ""])) == ["Anna's dog, and the cats", "The dog. The Dog"]
    small = TextForm.learned(TextSettings("de", "en"), GERMAN, [line.lower() for line in ENGLISH])
    assert list(small.restored(["the dog ."], [""])) == ["the dog."]  # this language begins no sentence by a capital


def test_lower_case_is_recased_from_the_training_text_and_from_the_source():
    lower = form(case="lower")
    assert list(lower.source_lines(["Der Hund von Anna"])) == ["der hund von anna"]
    found = lower.restored(["said anna to the dog of xaver von qu ."], ["Hund des Xaver von QU."])
    assert list(found) == ["Said Anna to the dog of Xaver von QU."]


def test_as_is_only_cuts():
    assert list(form(case="as-is").source_lines(["DER Hund."])) == ["DER Hund ."]
    assert list(form(case="as-is").restored(["the DOG ."], [""])) == ["the DOG."]


def test_forms_of_unicode():
    apart = unicodedata.normalize("NFD", "Männer ﬁ")
    assert form().source_lines([apart])[0] == "Männer ﬁ"
    assert form(normalize="NFKC").source_lines([apart])[0] == "Männer fi"


def test_compounds_become_words_of_the_training_text():
    german = ["Die Kinder sehen ein Fußball Spiel.", "Das Spiel am Abend und die Freiheit.", "Eine Statue am Abend."]
    split = TextForm.learned(TextSettings("de", "en", compounds=True), german, ENGLISH[:3])
    found = split.source_lines(["Das Kinderfußballspiel und die Freiheitsstatue am Abend."])
    assert list(found) == ["Das Kinder Fußball Spiel und die Freiheit Statue am Abend ."]
    lower = TextForm.learned(TextSettings("de", "en", case="lower", compounds=True), german, ENGLISH[:3])
    assert list(lower.source_lines(["Spielabend, Xyzabend"])) == ["spiel abend , xyzabend"]


def test_unknown_words_are_read_as_known_ones_that_end_otherwise():
    settings = TextSettings("de", "en", stems=True, compounds=True)
    german = ["Die ruhigen Kinder sehen ruhige Bälle.", "Das Spiel am Abend, am Abend."]
    stemmed = TextForm.learned(settings, german, ENGLISH[:2])
    kept = ["Die ruhigen Kinder sehen ruhige Bälle .", "Das Spiel am Abend , am Abend ."]
    assert list(stemmed.source_lines(german)) == kept
    found = stemmed.source_lines(["Ruhiger Kindern, Abends, Bällen 3,5 Abo Spielabend Anna"])
    assert list(found) == ["ruhige Kinder , Abend , Bälle 3,5 Abo Spiel Abend Anna"]


def letters_apart(one, other):
    """Return how many letters two words have behind what they share, each; none of their case counts."""
    pairs = zip(one.lower(), other.lower(), strict=False)
    shared = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return len(one) - shared, len(other) - shared, shared


@hypothesis.given(
    st.lists(st.text("abAB", min_size=3, max_size=7), unique=True), st.text("abB", min_size=3, max_size=8)
)
def test_no_known_word_is_nearer(words, word):
    found = Stems(tuple(words)).nearest(word)
    far = {known: letters_apart(word, known) for known in words}
    near = [known for known, (mine, other, shared) in far.items() if max(mine, other) <= 2 and shared >= 4]
    if word in words or not near:
        assert found == word
    else:
        least = min(sum(far[known][:2]) for known in near)
        assert sum(far[found][:2]) == least
        assert found in near


def mean_of(counts, parts):
    return math.prod(counts[part] for part in parts) ** (1 / len(parts))


@hypothesis.given(
    st.dictionaries(st.text("ab", min_size=4, max_size=6), st.integers(1, 9), max_size=6),
    st.text("abs", min_size=8, max_size=16),
)
def test_no_split_into_known_words_is_better(counts, word):
    """Against all splits into two or three known parts, with a filler between them or none."""
    every = [(word,)] if word in counts else []
    for n in (2, 3):
        for parts in itertools.product(counts, repeat=n):
            for fillers in itertools.product(("", "s", "es"), repeat=n - 1):
                if parts[0] + "".join(f + p for f, p in zip(fillers, parts[1:], strict=True)) == word:
                    every.append(parts)
    found = Compounds(counts).parts(word)
    if not every:
        assert found == (word,)
    else:
        assert mean_of(counts, found) == max(mean_of(counts, parts) for parts in every)


def test_the_most_frequent_form_is_the_first_and_ties_have_an_order():
    casing = Casing.learned([["x", "May", "may", "may"], ["x", "US", "us"]])
    assert casing.forms["may"] == ("may", "May")
    assert casing.forms["us"] == ("US", "us")


def test_a_folder_keeps_it(tmp_path):
    whole = form(case="lower", stems=True, compounds=True)
    whole.save(tmp_path)
    assert TextForm.read(tmp_path) == whole


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"kind": "luthier text 1", "settings": {"source": "de"}}', None])
def test_damage_is_one_sentence(tmp_path, damage):
    if damage is not None:
        (tmp_path / FILE).write_text(damage)
    with pytest.raises(InputError, match="what 'luthier train' writes about its text"):
        TextForm.read(tmp_path)


@pytest.mark.parametrize("value", [{"forms": {"a": 3}, "capitals": True}, {"forms": [], "capitals": True}, 3])
def test_damaged_casing_is_one_sentence(tmp_path, value):
    form().save(tmp_path)
    about = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps({**about, "source": value}))
    with pytest.raises(InputError, match="something else"):
        TextForm.read(tmp_path)


@pytest.mark.parametrize(
    "settings, found",
    [
        ({"source": "de"}, "language of the target side in two or three letters"),
        ({"source": "German", "target": "en"}, "found 'German'"),
        ({"source": "de", "target": "en", "case": "upper"}, "'case'"),
        ({"source": "de", "target": "en", "normalize": "NFX"}, "'normalize'"),
    ],
)
def test_wrong_settings_are_said(settings, found):
    with pytest.raises(LuthierError, match=found):
        TextSettings(**settings)
