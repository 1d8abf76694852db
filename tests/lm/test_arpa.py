"""ARPA files: what other tools write is read, what is broken is told with its line, what we write comes back."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from luthier.core.errors import InputError
from luthier.lm.arpa import Arpa, Level, write_arpa
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import LanguageModel
from plain_models import arpa_text, random_model, random_words, sentence_score

PLAIN = """\\data\\
ngram 1=5
ngram 2=3

\\1-grams:
-2\t<unk>\t0
-99\t<s>\t-0.5
-1\t</s>
-0.75\ta\t-0.25
-1.5\tb\t0.125

\\2-grams:
-0.25\t<s> a
-0.5\ta b
-1e-1\tb </s>

\\end\\
"""


@pytest.fixture
def reading(tmp_path):
    """Return a function that reads a text as an ARPA file."""

    def read(text):
        path = tmp_path / "lm.arpa"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_arpa(path)

    return read


def numbers_of(arpa):
    return {
        arpa.text_of(level, row): (float(level.probs[row]), float(level.backoffs[row]))
        for level in arpa.levels
        for row in range(len(level.probs))
    }


EXPECTED = {
    "<unk>": (-2.0, 0.0), "<s>": (-99.0, -0.5), "</s>": (-1.0, 0.0), "a": (-0.75, -0.25), "b": (-1.5, 0.125),
    "<s> a": (-0.25, 0.0), "a b": (-0.5, 0.0), "b </s>": (pytest.approx(-0.1), 0.0),
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("\t", " "),  # separated by spaces
        PLAIN.replace("\t", "  \t "),
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        "a comment\nngram 1=77\n\n" + PLAIN,  # whatever stands before \data\
        PLAIN.replace("ngram 1=5", "ngram  1=       5"),  # IRSTLM sets counts in columns
        PLAIN.replace("\n\\end", "\n\n\n\\end").replace("\n-0.5\ta b", "\n\n-0.5\ta b"),
        PLAIN + "trailing words\n",
        PLAIN.replace("-1e-1\tb </s>", "-1e-1\tb </s>\t-3"),  # a back-off where none can be used
        PLAIN[:-1],  # no line feed at the end
        PLAIN.replace("<unk>", "<UNK>"),
    ],
    ids=range(12),
)
def test_what_tools_write_is_read(reading, text):
    found = numbers_of(reading(text))
    assert found.pop("<UNK>", (-2.0, 0.0)) == (-2.0, 0.0)
    assert found == EXPECTED


def test_a_packed_file_and_a_word_with_odd_white_space_are_read(tmp_path):
    path = tmp_path / "lm.arpa.gz"
    path.write_bytes(gzip.compress(PLAIN.replace("a", "\u00a0").replace("\\d\u00a0t\u00a0", "\\data").replace(
        "ngr\u00a0m", "ngram").encode().replace("gr\u00a0ms".encode(), b"grams")))  # fmt: skip
    assert "\u00a0" in list(read_arpa(path).words)


def test_a_model_without_unknown_words_gives_them_minus_100_and_says_so(run_cli, tmp_path):
    text = PLAIN.replace("ngram 1=5", "ngram 1=4").replace("-2\t<unk>\t0\n", "")
    (tmp_path / "lm").write_text(text)
    (tmp_path / "text").write_text("a z\n")
    code, out, err = run_cli("engine", "perplexity", tmp_path / "lm", tmp_path / "text", "--json")
    assert code == 0
    assert "no <unk>: unknown words get log10 p = -100" in err
    # <s> a: −0.25; z after a: −0.25 − 100; </s> after z: −1
    assert '"log10_prob": -101.5' in out


BROKEN = {
    "a line with too few fields": ("-0.5\ta b", "-0.5\tb", 14, "expected log10 probability, 2 words and"),
    "a line with too many fields": ("-0.5\ta b", "-0.5\ta b a -1 -1", 14, "found '-0.5\\ta b a -1 -1'"),
    "no number": ("-0.75\ta", "x\ta", 9, "expected a log10 probability, found 'x'"),
    "not finite": ("-0.75\ta", "-inf\ta", 9, "expected a log10 probability, found '-inf'"),
    "beyond any meaning": ("-0.75\ta", "-1e30\ta", 9, "expected a log10 probability, found '-1e30'"),
    "a probability above 1": ("-0.75\ta", "0.75\ta", 9, "expected a log10 probability, at most 0, found '0.75'"),
    "a back-off that is no number": ("\t-0.25\n", "\tnan\n", 9, "expected a log10 back-off weight, found 'nan'"),
    "a word that is no unigram": (
        "-0.5\ta b",
        "-0.5\ta c",
        14,
        "expected a word that stands among the 1-grams, found 'c'",
    ),
    "too few n-grams": ("ngram 2=3", "ngram 2=4", 17, "expected 4 2-grams, as the head of the file says, found 3"),
    "too many n-grams": ("ngram 1=5", "ngram 1=4", 12, "expected 4 1-grams, as the head of the file says, found 5"),
    "a word twice": ("-1.5\tb", "-1.5\ta", 10, "expected every n-gram once, found 'a' a second time"),
    "a section missing": ("\\2-grams:", "\\3-grams:", 12, "expected the line '\\\\\\\\2-grams:'"),
    "a section too many": ("ngram 2=3\n", "", 11, "expected the line '\\\\\\\\end\\\\\\\\'"),
    "the end too early": ("\\2-grams:", "\\end\\", 12, "expected the line '\\\\\\\\2-grams:'"),
    "a count that is none": ("ngram 2=3", "ngram 2=many", 3, "expected a line such as 'ngram 2=1000'"),
    "an order left out": ("ngram 2=3", "ngram 3=3", 3, "expected a line such as 'ngram 2=1000'"),
    "no counts": ("ngram 1=5\nngram 2=3\n", "", 3, "expected a line such as 'ngram 1=1000', found none"),
    "cut off": ("\n\\end\\\n", "", 15, "expected the line '\\\\\\\\end\\\\\\\\', found the end of the file"),
    "no model": ("\\data\\", "data", 17, "expected the line '\\\\\\\\data\\\\\\\\', found the end of the file"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_told_with_its_line(reading, tmp_path, kind):
    old, new, line, message = BROKEN[kind]
    assert old in PLAIN
    with pytest.raises(InputError) as caught:
        reading(PLAIN.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path / 'lm.arpa'}:{line}: ")
    assert message.replace("\\\\\\\\", "\\\\") in str(caught.value)


def test_an_ngram_twice_is_told_with_its_line(reading):
    with pytest.raises(InputError, match=r"lm.arpa:15: expected every n-gram once, found 'a b' a second time"):
        LanguageModel.from_arpa(reading(PLAIN.replace("-1e-1\tb </s>", "-1\ta b")))


def test_bytes_that_are_not_utf_8_are_told_with_their_line(reading):
    with pytest.raises(InputError, match=r"lm.arpa:9: expected UTF-8 text"):
        reading(PLAIN.encode().replace(b"\ta\t", b"\t\xff\t"))


@pytest.mark.parametrize(
    "head, found",
    [(b"mmap lm http://kheafield.com/code format", "KenLM"), (b"iARPA\n", "iARPA"), (b"blmt 5", "IRSTLM")],
)
def test_files_of_another_kind_are_named(reading, head, found):
    with pytest.raises(InputError, match=f"expected an ARPA file, found .*{found}.* hint: "):
        reading(head + PLAIN.encode())


@pytest.mark.parametrize("order", [11, 12])
def test_an_order_too_high_is_refused(reading, order):
    counts = "".join(f"ngram {n}=1\n" for n in range(1, order + 1))
    with pytest.raises(InputError, match="expected a model of order 1 to 10, found n-grams of 11 words"):
        reading(f"\\data\\\n{counts}\n\\1-grams:\n")


def test_an_order_without_ngrams_is_read(reading):
    text = PLAIN.replace("ngram 2=3\n", "ngram 2=3\nngram 3=0\n").replace("\n\\end", "\n\\3-grams:\n\n\\end")
    arpa = reading(text)
    assert arpa.counts == (5, 3, 0)
    assert LanguageModel.from_arpa(arpa).score(["a b"]).totals[0] == pytest.approx(-0.25 - 0.5 - 0.1)


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_what_is_written_comes_back(reading, tmp_path, order, ending):
    model = random_model(np.random.default_rng(order), order, odd=True)
    arpa = reading(arpa_text(model))
    path = tmp_path / f"back.arpa{ending}"
    write_arpa(arpa, path)
    assert numbers_of(read_arpa(path)) == numbers_of(arpa)
    first = path.read_bytes()
    write_arpa(arpa, path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    "value, text",
    [(0.0, "0"), (-0.0, "0"), (-1.5, "-1.5"), (-100.0, "-100"), (-1e-7, "-0.0000001"), (-4e-8, "0"),
     (-0.99999999, "-1"), (12.25, "12.25"), (-4.8954325, "-4.8954325"), (-1e30, "-10000000000")],
)  # fmt: skip
def test_numbers_are_written_with_seven_decimals(reading, tmp_path, value, text):
    arpa = reading(PLAIN)
    unigrams = arpa.levels[0]
    backoffs = np.full(len(unigrams.probs), value, dtype=np.float32)
    write_arpa(Arpa(arpa.words, (Level(unigrams.ids, unigrams.probs, backoffs), arpa.levels[1])), tmp_path / "out")
    line = (tmp_path / "out").read_text().splitlines()[5]
    assert line.split("\t")[-1] == text


def test_missing_backoffs_are_nothing(reading):
    rng = np.random.default_rng(5)
    model = random_model(rng, 3)
    opened = LanguageModel.from_arpa(reading(arpa_text(model, missing_backoffs=True)))
    for _ in range(20):
        words = random_words(rng, 7, 6)
        assert opened.score([" ".join(words)]).probs == pytest.approx(sentence_score(model, words), abs=1e-6)


def test_a_packed_file_cut_off_is_told(tmp_path):
    path = tmp_path / "lm.arpa.gz"
    path.write_bytes(gzip.compress(PLAIN.encode())[:-20])
    with pytest.raises(InputError, match=r"lm.arpa.gz:\d+: expected a whole compressed file, found damaged"):
        read_arpa(path)
