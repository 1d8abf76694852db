"""Links: what is read, what is written, what is refused."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.alignment.links import Links, read_links, write_links
from luthier.core.errors import InputError, LuthierError

SENTENCES = st.lists(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 200_000))), min_size=1, max_size=6)


def links_of(*sentences):
    """Return links from one sequence of (source, target) for each pair."""
    offsets = np.cumsum([0, *map(len, sentences)])
    flat = [link for sentence in sentences for link in sentence]
    return Links.from_unordered(offsets, [s for s, _ in flat], [t for _, t in flat])


@settings(max_examples=50)
@given(SENTENCES)
def test_what_is_written_is_read(tmp_path_factory, sentences):
    path = tmp_path_factory.mktemp("links") / "l.gz"
    links = links_of(*sentences)
    write_links(links, path)
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    assert lines == [" ".join(f"{s}-{t}" for s, t in sorted(sentence)) for sentence in sentences]
    assert read_links(path) == links
    assert [links[k] for k in range(len(links))] == [sorted(sentence) for sentence in sentences]


@pytest.mark.compiled
def test_many_sentences_are_written_in_several_pieces(tmp_path):
    links = links_of(*([(0, 0), (1, k % 7)] for k in range(70_000)))
    write_links(links, tmp_path / "l")
    assert read_links(tmp_path / "l") == links


def test_order_and_repetition_do_not_matter(tmp_path):
    (tmp_path / "l").write_text("2-1 0-0\t0-0  1-7 \n\n0-1 0-0")
    assert read_links(tmp_path / "l", [3, 0, 1], [8, 5, 2]) == links_of([(0, 0), (1, 7), (2, 1)], [], [(0, 0), (0, 1)])


def test_reading_the_other_way():
    links = links_of([(0, 3), (1, 0), (2, 0)], [], [(4, 1)])
    assert links.reversed() == links_of([(0, 1), (0, 2), (3, 0)], [], [(1, 4)])
    assert links.reversed().reversed() == links


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (
            b"0-0\n1-x\n",
            2,
            "expected links such as 0-0 1-2: two numbers from 0 to 999999, a hyphen between, found '1-x'",
        ),
        (b"0-0 12\n", 1, "found '12'"),
        (b"0-0 -1-2\n", 1, "found '-1-2'"),
        (b"0-0 1-2-3\n", 1, "found '1-2-3'"),
        (b"1-\n2-0\n", 1, "found '1-'"),
        (b"0-1000000\n", 1, "found '0-1000000'"),
        (b"\n0-\xff\n", 2, "found '0-\\\\xff'"),
        (b"0-0\r\n", 1, "Windows line end"),
        (b"\r\n", 1, "Windows line end"),
        (b"\xef\xbb\xbf0-0\n", 1, "byte-order mark"),
        (b"", None, "an empty file"),
        (b"0-0\n0-3\n", 2, "expected a target word from 0 to 2, found 3"),
        (b"0-0\n2-1\n", 2, "expected a source word from 0 to 1, found 2"),
        (b"0-0\n1-1\n0-0\n", 3, "expected no link, for there is no target word, found 0"),
        (b"0-0\n1-1\n", None, "expected a line of links for each of the 3 sentence pairs, found 2"),
        (b"0-0\n1-1\n\n0-0\n", 4, "expected a line of links for each of the 3 sentence pairs, found a line 4"),
    ],
)
def test_complaints_name_the_line(tmp_path, content, line, words):
    (tmp_path / "l").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_links(tmp_path / "l", [1, 2, 1], [1, 3, 0])
    assert words in str(caught.value)
    assert caught.value.line == line
    assert str(caught.value).startswith(str(tmp_path / "l"))


def test_arrays_must_fit_together():
    with pytest.raises(LuthierError, match="expected 2 links, found 1 sources and 2 targets"):
        Links(np.array([0, 2]), np.array([0]), np.array([0, 1]))
    with pytest.raises(LuthierError, match="begin at 0 and never descend"):
        Links(np.array([0, 3, 2]), np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(LuthierError, match="found a negative one"):
        Links(np.array([0, 1]), np.array([0]), np.array([-1]))
