"""What recognizers leave: NeMo's beams, Kaldi's archives, folders of ESPnet and SRILM, and manifests."""

from __future__ import annotations

import gzip
import json

import pytest

from luthier.core.errors import InputError, LuthierError
from luthier.kbest.building.lists import ReadOptions, read_pool
from luthier.kbest.building.speech_manifest import read_manifest

BEAMS = "play some music\t-5.1\nplay sum music\t-5.0\nstop\t-1.0\nstopped\t-1.5\n"
MANIFEST = [
    {"audio_filepath": "wavs/a1.wav", "duration": 1.5, "text": "play some music"},
    {"audio_filepath": "wavs/a2.wav", "duration": 0.75, "text": "stop"},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows_of(pool):
    """Return id, text and features of every row."""
    ids = [pool.sentence_ids[i] for i in range(pool.n_sentences) for _ in range(pool.list_lengths[i])]
    names = pool.features.names
    return [
        (ids[m], pool.texts[m], dict(zip(names, pool.features.dense[m].tolist(), strict=True)))
        for m in range(pool.n_hypotheses)
    ]


@pytest.fixture
def write(tmp_path):
    """Write files of a folder by their names; return the folder."""

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_beams_of_nemo_with_their_manifest(write):
    home = write(beams=BEAMS, manifest=lines(MANIFEST))
    pool = read_pool(home / "beams", options=ReadOptions(manifest=str(home / "manifest")))
    assert rows_of(pool) == [
        ("a1", "play some music", {"score": -5.1}), ("a1", "play sum music", {"score": -5.0}),
        ("a2", "stop", {"score": -1.0}), ("a2", "stopped", {"score": -1.5}),
    ]  # fmt: skip
    assert [pool.references.of(i) for i in range(2)] == [["play some music"], ["stop"]]
    assert pool.columns["duration"].tolist() == [1.5, 1.5, 0.75, 0.75]


def test_beams_of_nemo_without_a_manifest(write):
    home = write(beams=BEAMS.replace("\t-", "\t-2\t-"))
    options = ReadOptions(format="nemo", format_options={"beams": 2, "columns": "am,lm"})
    pool = read_pool(home / "beams", options=options)
    assert list(pool.sentence_ids) == ["0", "1"]
    assert rows_of(pool)[3] == ("1", "stopped", {"am": -2.0, "lm": -1.5})
    with pytest.raises(InputError, match="neither a manifest nor beams"):
        read_pool(home / "beams")
    with pytest.raises(InputError, match="3 fields in"):
        read_pool(write(beams=BEAMS + "x\t1\t2\n") / "beams", options=ReadOptions("nemo", {"beams": 5}))


def test_beams_that_do_not_fit_the_manifest(write):
    home = write(beams=BEAMS + "more\t-1\n", manifest=lines(MANIFEST))
    with pytest.raises(InputError, match="a multiple of 2 lines, one set for each utterance of the manifest, found 5"):
        read_pool(home / "beams", options=ReadOptions(manifest=str(home / "manifest")))
    options = ReadOptions("nemo", {"beams": 3}, manifest=str(home / "manifest"))
    with pytest.raises(InputError, match=r"expected 6 lines \(3 for each utterance\), found 4"):
        read_pool(write(beams=BEAMS) / "beams", options=options)
    with pytest.raises(LuthierError, match="not both"):
        read_pool(home / "beams", refs=["r"], options=ReadOptions(manifest=str(home / "manifest")))


def test_a_manifest_gives_references_to_other_formats(write):
    home = write(list="a2 -1 stop\na2 -2 stopped\n", manifest=lines(MANIFEST))
    with pytest.warns(match="have no hypotheses"):
        pool = read_pool(home / "list", options=ReadOptions(manifest=str(home / "manifest")))
    assert list(pool.sentence_ids) == ["a1", "a2"]
    assert pool.columns["duration"].tolist() == [0.75, 0.75]


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ("[1]\n", "expected a JSON object, found an array"),
        ("{oops\n", "expected JSON"),
        ('\x00{"text": "x"}\n', "expected JSON"),  # two bytes a letter, one would think
        (lines([MANIFEST[0], MANIFEST[0]]), "expected each utterance once, found 'wavs/a1.wav', which line 1 has"),
        (lines([MANIFEST[0], {"audio_filepath": "b"}]), r"a text \(text\) for every utterance"),
        (lines([{"duration": "long"}]), "a duration in seconds, found the string 'long'"),
        (lines([{"duration": -1}]), "a duration in seconds, found the number -1"),
        (lines([{"text": 3}]), 'a string as "text"'),
        ('{"text": "\\ud800"}\n', "half a surrogate pair"),
    ],
)
def test_complaints_about_manifests(write, manifest, complaint):
    with pytest.raises(InputError, match=complaint):
        read_manifest(str(write(manifest=manifest) / "manifest"))


def test_names_in_manifests(write):
    rows = [{"audio_filepath": "x/1.wav"}, {"audio_filepath": "y/1.wav"}]
    assert read_manifest(str(write(m=lines(rows)) / "m")).ids == ("x/1.wav", "y/1.wav")
    assert read_manifest(str(write(m=lines([{"id": 7}, {"id": "b"}])) / "m")).ids == ("7", "b")
    assert read_manifest(str(write(m=lines([{"text": "b"}, {"text": "c"}])) / "m")).ids == ("0", "1")


WORDS = "u1-1 the cat\nu1-2 the hat\nu2-1\n"
ACOUSTIC = "u2-1 7.5\nu1-2 101\nu1-1 100.5\n"
LANGUAGE = "u1-1 2\nu1-2 3\nu2-1 1\n"


def test_kaldi_archives_by_key(write):
    home = write(words=WORDS, ac=ACOUSTIC, lm=LANGUAGE)
    options = ReadOptions("kaldi-archives", {"archives": f"ac={home / 'ac'},lm={home / 'lm'}"})
    expected = [
        ("u1", "the cat", {"ac": 100.5, "lm": 2.0}), ("u1", "the hat", {"ac": 101.0, "lm": 3.0}),
        ("u2", "", {"ac": 7.5, "lm": 1.0}),
    ]  # fmt: skip
    assert rows_of(read_pool(home / "words", options=options)) == expected
    folder = write(archives__words_text=WORDS, archives__acwt=ACOUSTIC, **{"archives__lmwt.nolm": LANGUAGE})
    assert [(i, t, list(f.values())) for i, t, f in rows_of(read_pool(folder / "archives"))] == [
        (i, t, list(f.values())) for i, t, f in expected
    ]


@pytest.mark.parametrize(
    ("acoustic", "complaint"),
    [
        ("u1-1 1\nu1-2 2\n", "words:3: expected a number for 'u2-1' in .*ac, found none"),
        (ACOUSTIC + "u1-1 3\n", "ac:4: expected each key once, found 'u1-1' again"),
        ("u1-1 x\n", "ac:1: expected a number, found 'x'"),
        (ACOUSTIC.replace("u1-1 100.5", "u1-1 100.5 2"), r"ac:3: expected a key and a number, .*found 'u1-1 100.5 2'"),
        ("u1-1\n", "ac:1: expected a key and a number, separated by white space, found 'u1-1'"),
    ],
)
def test_complaints_about_archives(write, acoustic, complaint):
    home = write(words=WORDS, ac=acoustic)
    with pytest.raises(InputError, match=complaint):
        read_pool(home / "words", options=ReadOptions("kaldi-archives", {"archives": f"ac={home / 'ac'}"}))


def test_archives_must_be_named(write):
    for wrong in ("", "ac", "=x", "a=x,a=y"):
        with pytest.raises(LuthierError, match="needs the files of the numbers"):
            read_pool(write(words=WORDS) / "words", options=ReadOptions("kaldi-archives", {"archives": wrong}))


def test_folders_of_espnet(write):
    home = write(
        d__1best_recog__text="u1 THE CAT\nu2\n",
        d__1best_recog__score="u1 tensor(-1.5)\nu2 tensor(-2., device='cuda:0')\n",
        d__2best_recog__text="u1 THE HAT\n", d__2best_recog__score="u1 -1.75\n",
    )  # fmt: skip
    assert rows_of(read_pool(home / "d")) == [
        ("u1", "THE CAT", {"score": -1.5}), ("u1", "THE HAT", {"score": -1.75}), ("u2", "", {"score": -2.0})
    ]  # fmt: skip
    jobs = {
        f"logdir__output.{job}__1best_recog__{file}": f"w{job} {text}\n"
        for job in (2, 10, 1) for file, text in (("text", "a"), ("score", "tensor(1)"))
    }  # fmt: skip
    assert list(read_pool(write(**jobs) / "logdir").sentence_ids) == ["w1", "w2", "w10"]
    with pytest.raises(InputError, match=r"expected a number for 'u1' in .*score"):
        read_pool(write(e__1best_recog__text="u1 x\n", e__1best_recog__score="u9 1\n") / "e")
    gap = write(**{f"g__{n}best_recog__{file}": "u1 1\n" for n in (1, 3) for file in ("text", "score")})
    with pytest.raises(InputError, match="g: expected the folder 2best_recog, since there is 3best_recog, found none"):
        read_pool(gap / "g")
    with pytest.raises(InputError, match="expected a folder of lists of ESPnet"):
        read_pool(write(f__nothing="oops oops oops oops\n") / "f")


def test_folders_of_srilm(write):
    plain = "-10.5 -3.25 3 <s> the small cat </s>\n-11 -3 2 small cat\n"
    first = "NBestList1.0\n(-120) the cat\n(-121) \n"
    second = "NBestList2.0\n(-9) the ( st: 0.1 et: 0.2 g: -3 a: -4 ) cat ( st: 0.2 et: 0.5 g: -1 a: -2 )\n"
    home = write(plain__u1=plain, headed__v1=first, headed__v2=second)
    (home / "plain" / "u2.gz").write_bytes(gzip.compress(b"-1 -2 0\n"))
    assert rows_of(read_pool(home / "plain")) == [
        ("u1", "the small cat", {"ac": -10.5, "lm": -3.25, "nwords": 3.0}),
        ("u1", "small cat", {"ac": -11.0, "lm": -3.0, "nwords": 2.0}),
        ("u2", "", {"ac": -1.0, "lm": -2.0, "nwords": 0.0}),
    ]  # fmt: skip
    assert rows_of(read_pool(home / "headed")) == [
        ("v1", "the cat", {"score": -120.0}), ("v1", "", {"score": -121.0}), ("v2", "the cat", {"score": -9.0})
    ]  # fmt: skip
    assert read_pool(home / "headed" / "v1").n_hypotheses == 2
    with pytest.raises(InputError, match="u1:3: expected ac, lm, nwords before the words, found 'oops'"):
        read_pool(write(plain__u1=plain + "oops\n") / "plain")
    with pytest.raises(
        InputError,
        match=r"v1: expected lines that begin as those of u2 do, with ascore lscore nwords, "
        r"found \(score\)",
    ):
        read_pool(write(mixed__u1=plain, mixed__u2=plain, mixed__v1=first) / "mixed")
    with pytest.raises(InputError, match="v1:3: expected a number, found 'x'"):
        read_pool(write(headed__v1="NBestList1.0\n(-120) the\n(x) the\n") / "headed")
